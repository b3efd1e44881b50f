"""``termwise inspect``: contents of an index or a mixture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from termwise.cli.options import IndexFolder, JsonFlag
from termwise.cli.terminal import counted, print_json, stdout
from termwise.display.safe_text import human_bytes, legible_line
from termwise.storage.safe_read import regular_size

if TYPE_CHECKING:
    from termwise.index import Index, Manifest
    from termwise.index.encoder_description import AnalyzerRecord, EncoderDescription, NetworkRecord
    from termwise.search.mixture import Mixture


def command(folder: IndexFolder, as_json: JsonFlag = False) -> None:
    """Show model, analyzer and sizes of an index or a mixture.

    For example:

    termwise inspect docs.tw
    """
    from rich.text import Text

    from termwise.index import Index
    from termwise.search.mixture import Mixture
    from termwise.search.mixture_folder import is_mixture

    if is_mixture(folder):
        mixture = Mixture.open(folder)
        facts = _mixture_facts(mixture)
        rows = [("mixture", facts["mixture"]), ("documents", f"{facts['documents']:,}")]
        rows += [("candidates", f"the first {facts['depth']:,} of each part"), ("normalisation", "z")]
        if mixture.feedback is not None:
            moved = f"{counted(mixture.feedback.documents, 'document')}, weight {mixture.feedback.weight:g}"
            rows += [("feedback", moved)]
        for part, described in zip(mixture.parts, facts["parts"], strict=True):
            rows += [("", ""), ("part", f"{part.weight:g} × {part.name}")]
            rows += [] if part.retrieves else [("candidates", "those of the other parts")]
            rows += _rows(described, part.index)
    else:
        index = Index.open(folder)
        facts = _facts(index)
        rows = _rows(facts, index)
    if as_json:
        print_json(facts)
        return
    console = stdout()
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        line = Text.assemble((label.ljust(width), "bold"), f"  {legible_line(value)}") if label else Text()
        console.print(line, soft_wrap=True)


def _mixture_facts(mixture: Mixture) -> dict[str, Any]:
    return {
        "mixture": str(mixture.path),
        "documents": mixture.index.documents,
        "depth": mixture.depth,
        "normalisation": "z",
        "feedback": None if mixture.feedback is None else asdict(mixture.feedback),
        "parts": [
            {
                "name": part.name,
                "weight": part.weight,
                "retrieves": part.retrieves,
                "scale": part.scale,
                **_facts(part.index),
            }
            for part in mixture.parts
        ],
    }


def _facts(index: Any) -> dict[str, Any]:
    from termwise.index.vector_graph import graph_files

    manifest = index.manifest
    sections: dict[str, int] = {}
    for segment in index.segments:
        for name, size in segment.section_bytes.items():
            kinds = {"documents.order": "order", "forward": "forward", "counts": "counts"}
            view = kinds.get(name) or kinds.get(name.split(".")[0], "inverted")
            sections[view] = sections.get(view, 0) + size
    for segment in index.segments:
        if segment.vectors is not None:
            sections["vectors"] = sections.get("vectors", 0) + sum(segment.vectors.section_bytes.values())
    sections["graph"] = sum(regular_size(graph.path) for graph in graph_files(index) if graph.exists)
    sections["ids"] = sum(segment.ids.length for segment in manifest.segments)
    sections["texts"] = sum(segment.texts.length for segment in manifest.segments if segment.texts)
    sections["terms"] = manifest.terms_file.length + sum(added.file.length for added in manifest.added_terms)
    sections["attributes"] = sum(
        segment.attributes.length for segment in manifest.segments if segment.attributes
    )
    sections["deletions"] = sum(segment.deleted.length for segment in manifest.segments if segment.deleted)
    sections["attachments"] = sum(file.length for file in manifest.attachments.values())
    return {
        "index": str(index.path),
        "written_by": manifest.written_by,
        "documents": index.documents,
        **({"chunks": manifest.documents} if manifest.chunk else {}),
        "terms": manifest.terms,
        "postings": manifest.postings,
        "segments": len(manifest.segments),
        "deleted": sum(segment.deletions for segment in manifest.segments),
        "generation": manifest.generation,
        "schema": dict(manifest.schema),
        "stores_text": index.stores_text,
        "keeps_counts": index.keeps_counts,
        "background": manifest.background,
        "vocabulary": manifest.vocabulary,
        "idf": None if manifest.idf is None else asdict(manifest.idf),
        "encoder": manifest.encoder_json(),
        "quantiser": asdict(manifest.quantiser),
        **_vector_facts(index),
        "bytes": sections,
    }


def _vector_facts(index: Any) -> dict[str, Any]:
    """Return the number and size of the vectors, or nothing for an index without vectors."""
    if index.term_vectors is None:
        return {}
    return {
        "vectors": {
            "windows": sum(len(segment.vectors.rows) for segment in index.segments),
            "terms": int(index.term_vectors.known.sum()),
            "dimensions": index.term_vectors.dimensions,
        }
    }


def _rows(facts: dict[str, Any], index: Index) -> list[tuple[str, str]]:
    manifest, encoder = index.manifest, index.manifest.encoder
    quantiser = facts["quantiser"]
    if quantiser["kind"] == "uint8":
        quantisation = (
            f"uint8, scale {quantiser['scale']:.6g}; error at most {quantiser['max_error']:.3g}, "
            f"mean {quantiser['mean_error']:.3g}"
        )
        if quantiser["raised"]:
            quantisation += f"; {quantiser['raised']:,} weights raised to 1"
    else:
        quantisation = "float32, unquantised"
    if quantiser["dropped"]:
        quantisation += f"; {quantiser['dropped']:,} zero weights removed"
    rows = [
        ("index", facts["index"]),
        ("written by", facts["written_by"]),
        *_model_rows(encoder),
        *([] if encoder.table is None else [("table", f"{encoder.table.name} ({encoder.table.id})")]),
        *([("analyzer", "unknown")] if encoder.analyzer is None else _analyzer_rows(encoder.analyzer, index)),
        *_field_rows(manifest),
        ("documents", f"{facts['documents']:,}"),
        *_chunk_rows(facts, manifest.chunk),
        *([("texts", "plain text of HTML")] if manifest.html else []),
        ("terms", f"{facts['terms']:,}"),
        *([] if "vectors" in facts else [("postings", f"{facts['postings']:,}")]),
        ("segments", f"{facts['segments']}"),
        *_change_rows(facts, encoder.statistics),
        *_schema_rows(facts["schema"]),
        ("texts", "stored" if facts["stores_text"] else "not stored"),
        *(_vector_rows(facts) or [("quantiser", quantisation)]),
    ]
    of_postings = ("forward", "inverted") if "vectors" in facts else ()
    rows += [
        (f"{name} bytes", human_bytes(size))
        for name, size in facts["bytes"].items()
        if size and name not in of_postings
    ]
    return rows


def _analyzer_rows(analyzer: AnalyzerRecord, index: Index) -> list[tuple[str, str]]:
    """Return the rows of an analyzer: its name, its analyzers by attribute value, and the package that it needs."""
    from termwise.engine.query_encoder import languages_of
    from termwise.text.analyzer_by_attribute import NAME, OTHER

    text, used = analyzer.name, [analyzer.options]
    specs = analyzer.options.get("analyzers")
    if analyzer.name == NAME and isinstance(specs, Mapping):
        names = {value: spec.get("name") for value, spec in specs.items() if isinstance(spec, Mapping)}
        found = languages_of(index, names)
        each = [f"{value} {names[value]}" for value in found if value != OTHER]
        each += [f"other documents {names[OTHER]}"] if OTHER in found else []
        unused = len(specs.keys() - {*found, OTHER})
        each += [f"{unused} more without documents"] if unused else []
        text = f"{NAME}:{analyzer.options.get('attribute')}: {', '.join(each)}"
        used = [specs[value] for value in found]
    needed = any("simplemma" in json.dumps(options) for options in used)
    return [("analyzer", text), *([("needs", "the package simplemma, also in searches")] if needed else [])]


def _chunk_rows(facts: dict[str, Any], words: int) -> list[tuple[str, str]]:
    """Return a row for the chunks of the documents, if they are cut."""
    if "chunks" not in facts:
        return []
    return [("chunks", f"{facts['chunks']:,} of at most {counted(words, 'word')}")]


def _change_rows(facts: dict[str, Any], statistics: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return rows for the changes since the build, if any, and for the statistics of the weights."""
    rows = [("changes", f"{facts['generation']:,} since the build")] if facts["generation"] else []
    unit = "chunk" if "chunks" in facts else "document"
    if facts["deleted"]:
        rows.append(("deleted", f"{counted(facts['deleted'], unit)}, removed by termwise merge"))
    if "documents" in statistics and (
        facts["generation"] or ("tokens" in statistics and not facts["keeps_counts"])
    ):
        idf = "idf of the current documents; " if facts["idf"] else ""
        others = f"{'others ' if idf else ''}of {counted(statistics['documents'], unit)}"
        follow = (
            "computed again if they drift" if facts["keeps_counts"] else "of the build: no counts are kept"
        )
        rows.append(("statistics", f"{idf}{others}, {follow}"))
    return rows


def _schema_rows(schema: Mapping[str, str]) -> list[tuple[str, str]]:
    if not schema:
        return []
    return [("attributes", ", ".join(f"{legible_line(name)} ({kind})" for name, kind in schema.items()))]


def _field_rows(manifest: Manifest) -> list[tuple[str, str]]:
    """Return the row for the fields that the build chose, if any."""
    if manifest.field_weights:
        each = ", ".join(
            f"{legible_line(name)} × {weight}" for name, weight in manifest.field_weights.items()
        )
        return [("fields", f"{each}: words count as often as the weight of their field")]
    if manifest.fields:
        return [("fields", ", ".join(map(legible_line, manifest.fields)))]
    return []


def _vector_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return rows for the vectors, if any."""
    if "vectors" not in facts:
        return []
    vectors = facts["vectors"]
    documents = facts["documents"]
    each = f", {facts['bytes']['vectors'] / documents:,.0f} bytes per document" if documents else ""
    return [
        ("vectors", f"{vectors['windows']:,} windows of {vectors['dimensions']:,} dimensions{each}"),
        ("quantiser", "int8, with a scale for each window"),
        ("query table", f"{vectors['terms']:,} of {facts['terms']:,} terms have a vector"),
    ]


def _model_rows(encoder: EncoderDescription) -> list[tuple[str, str]]:
    """Return rows for the model, or for the parts of a fused index, with their encoders."""
    from termwise.index.encoder_description import FUSION

    fused = encoder.model.name == FUSION
    rows = [("model", FUSION)] if fused else []
    for part in encoder.parts:
        settings = ", ".join(
            f"{name} {value}" for name, value in part.model.parameters.items() if value is not None
        )
        label = f"{part.model.name or 'unknown'}{f' ({settings})' if settings else ''}"
        rows.append(("part", f"{part.weight:.6g} × {label}") if fused else ("model", label))
        rows += [] if part.network is None else _network_rows(part.network)
    return rows


def _network_rows(network: NetworkRecord) -> list[tuple[str, str]]:
    """Return rows for the encoder that computed the weights."""
    settings = (f"{name} {value}" for name, value in network.settings.items() if value is not None)
    run = f"{network.precision or 'unknown precision'} on {network.processor or 'an unknown processor'}"
    rows = [
        ("encoder", f"{network.name or 'unknown'} ({network.id or 'unknown'})"),
        ("network", "none" if network.settings.get("documents") == "table" else run),
        ("encoded with", ", ".join(settings)),
        ("times", f"idf to the power {network.idf_power:g}" if network.idf_power else ""),
    ]
    return [row for row in rows if row[1]]
