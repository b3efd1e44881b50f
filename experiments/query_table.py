r"""Variants of the query table of ``lookup``: nDCG@10 alone and mixed with BM25, on dev splits.

Question
    Which settings of the closed form matter: the ridge, the steps, the mean of the vectors, stop words, the number of
    texts?
Run
    ``query_table.py --work WORK --texts MADE`` with the work folder of ``shipped_models/make_lookup.py``, which keeps
    the texts and their vectors. The shipped encoder encodes each document once; encoded documents stay in WORK.
Quality
    nDCG@10 of an index of vectors whose query table is replaced, and of its mixture with BM25.
Result
    ``results/query_table.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from indexes import index_counts, index_encoded
from judged_collection import Judged, documents_folder
from macro_means import macro_ratios

from termwise.encode import EncoderFolder
from termwise.index import Index
from termwise.models import Lookup
from termwise.models.count_query_encoder import CountQueryEncoder
from termwise.search import Searcher
from termwise.text import CleanedAnalyzer
from termwise.train import LookupSettings
from termwise.train.lookup.fit import query_vocabulary
from termwise.train.lookup.query_table import fit_query_table
from termwise.train.lookup.tokenised_texts import TokenisedTexts
from termwise.vectors import TermVectors

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "scipy", "onnxruntime", "tokenizers", "ir-measures")
SHIPPED, BM25 = "as shipped", "bm25"
WAYS = ("alone", "with BM25")

Values = dict[str, npt.NDArray[np.float64]]


class Texts:
    """Texts of the shipped table with their vectors.

    Parameters
    ----------
    made : Path
        Work folder of ``make_lookup.py``.
    encoder : EncoderFolder
        The shipped encoder, of which the tokenizer is used.
    """

    def __init__(self, made: Path, encoder: EncoderFolder) -> None:
        lines = (made / "texts.jsonl").read_text(encoding="utf-8").splitlines()
        trained = encoder.manifest.trained["settings"]
        self.settings = LookupSettings(**trained)
        self._analyzer = encoder.analyzer
        texts = [json.loads(line)["text"] for line in lines]
        self._tokenised = TokenisedTexts.of(texts, encoder.analyzer, most=self.settings.length - 2)
        files = sorted((made / "lookup" / "training" / "vectors").glob("*.npy"))
        self._vectors = [np.load(file, mmap_mode="r") for file in files]

    def table(self, variant: Mapping[str, Any]) -> tuple[TermVectors, CleanedAnalyzer, dict[str, Any]]:
        """Fit the table of a variant; return it with the analyzer of queries and facts on the fit."""
        settings = replace(self.settings, **{name: each for name, each in variant.items() if name != "share"})
        vocabulary = self._analyzer.vocabulary
        kept = query_vocabulary(self._analyzer, settings.cleaning)
        files = max(1, round(variant.get("share", 1.0) * len(self._vectors)))
        vectors = self._vectors[:files]
        counts = self._tokenised.counts(kept)[: sum(map(len, vectors))]
        table = fit_query_table(counts, vectors, settings=settings)
        facts = {"texts": table.texts, "residual": table.residuals[-1], "cosine": table.cosine}
        analyzer = CleanedAnalyzer.of(self._analyzer, cleaning=settings.cleaning)
        return TermVectors.of(table.rows, vocabulary.id), analyzer, facts


def with_table(searcher: Searcher, table: TermVectors, analyzer: CleanedAnalyzer) -> Searcher:
    """Open the index of a searcher again, with another query table."""
    index = Index.open(searcher.index.path)
    index.term_vectors = table
    return Searcher.of_index(index, CountQueryEncoder(analyzer, index.vocabulary))


def evaluated(
    plan: Mapping[str, Any], judged: Judged, words: Searcher, tables: Mapping[str, Searcher]
) -> Values:
    """Return the values of the queries for BM25, and for each table alone and with BM25."""
    measure, depth = plan["measure"], plan["depth"]
    searchers: dict[str, Searcher] = {BM25: words}
    for name, alone in tables.items():
        first, second = plan["weights"]
        mixed = Searcher.mix({"bm25": words, "lookup": alone}, [first, second], depth=depth)
        searchers |= dict(zip((f"{name}, {way}" for way in WAYS), (alone, mixed), strict=True))
    found = {}
    for system, searcher in searchers.items():
        run = searcher.rank_many(judged.queries, k=depth, exclude=judged.seeds or None)
        found[system] = judged.evaluate(run, [measure]).values[measure]
    return found


def quality_tables(result: Mapping[str, Any], *, reference: str, label: str) -> list[str]:
    """Return the table of ``variants``, and their differences from one of them."""
    head = (label, "texts", "cosine", *WAYS, "ratio to BM25", "95 %")
    systems = result["macro"]["systems"]
    rows = [["BM25", "", "", record.number(systems[BM25]["mean"], digits=4), "", "1.000", ""]]
    for name, facts in result["variants"].items():
        alone, mixed = (systems[f"{name}, {way}"] for way in WAYS)
        rows.append(
            [
                name,
                f"{facts['texts']:,}",
                record.number(facts["cosine"]),
                record.number(alone["mean"], digits=4),
                record.number(mixed["mean"], digits=4),
                record.number(mixed["ratio"]["ratio"]),
                record.interval(mixed["ratio"]["interval"]),
            ]
        )
    differences = [
        [
            one["system"],
            record.number(one["difference"], digits=4, signed=True),
            record.interval(one["interval"], digits=4, signed=True),
        ]
        for one in result["macro"]["contrasts"]
    ]
    return [
        record.table(head, rows),
        f"Difference from {reference}, with intervals over the queries within each collection:\n\n"
        f"{record.table(('system', 'difference', '95 %'), differences)}",
    ]


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan, collections = result["config"], result["macro"]["collections"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/query_table.py` on the dev splits of {', '.join(collections)}. Macro mean "
        f"{plan['measure']} of the table alone and mixed with BM25 by {plan['weights'][0]:g} and "
        f"{plan['weights'][1]:g}. Cosine: of held-out texts, less the mean vector, with the sum of their rows; it does "
        "not measure ranking. Settings that are not named are those of the shipped table.",
        *quality_tables(result, reference="the shipped table", label="query table"),
        record.about(dict(result)),
    ]
    return "\n\n".join(parts)


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out", "precision", "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "query_table.toml")
    parser.add_argument("--texts", type=Path, required=True, help="work folder of make_lookup.py")
    parser.add_argument("--encoder", default="lookup", help="shipped encoder or folder, of kind lookup")
    arguments: argparse.Namespace = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    encoder = EncoderFolder.open(arguments.encoder)
    texts = Texts(arguments.texts, encoder)
    variants: dict[str, dict[str, Any]] = {SHIPPED: {}, **plan["variants"]}
    tables = {}
    for variant, changes in variants.items():
        tables[variant] = texts.table(changes)
        record.say(f"{variant}: fitted, {record.seconds()} s")
    values: dict[str, Values] = {}
    for name in record.selected("collection", arguments.only, plan["collections"]):
        source = arguments.collections / name
        judged = Judged.read(name, source, plan["collections"][name])
        work = documents_folder(arguments.work, source)
        words = index_counts(
            judged.documents, work / "bm25", model="bm25", settings={}, analyzer="english"
        ).searcher
        built = index_encoded(
            judged.documents,
            work / "lookup",
            model=Lookup(encoder=arguments.encoder),
            threads=arguments.threads,
            precision=arguments.precision,
        )
        replaced = {
            variant: with_table(built.searcher, table, analyzer)
            for variant, (table, analyzer, _) in tables.items()
        }
        values[name] = evaluated(plan, judged, words, replaced)
        record.say(f"{name}: ranked, {record.seconds()} s")
    names = list(next(iter(values.values())))
    others = [(f"{one}, {way}", f"{SHIPPED}, {way}") for one in plan["variants"] for way in WAYS]
    result = {
        "experiment": plan["name"],
        "config": plan,
        "encoder": encoder.id,
        "variants": {name: {**variants[name], **facts} for name, (_, _, facts) in tables.items()},
        "macro": macro_ratios(values, names, BM25, counted=list(values), contrasts=others),
        "provenance": provenance | {"seconds": record.seconds()},
    }
    name = plan["name"] + ("_partial" if arguments.only else "")
    record.save(result, page(result), arguments.out, name)


if __name__ == "__main__":
    record.script(main)
