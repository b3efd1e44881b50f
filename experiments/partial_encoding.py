r"""A mixture of which only some documents were read by the network: nDCG@10 on dev splits.

Question
    If the network reads a tenth of the documents, and the query table gives the vectors of the others, how much of the
    gain of ``best`` over ``instant`` is there already?
Ways
    *as they are*: the vector of another document is the sum of the rows of its terms, with the mean length that the
    vectors of the network have less their mean, plus this mean. *fitted*: the rows are first fitted to the sample, by
    ridge regression of what the sums leave of its vectors.
Run
    ``partial_encoding.py --work WORK``, with the work folder of ``zero_shot.py choose``, whose encoded documents are
    used.
Quality
    nDCG@10 of the mixture with BM25, by the weights of ``best`` and of ``instant``, with feedback.
Result
    ``results/partial_encoding.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from indexes import index_counts, index_encoded
from judged_collection import Judged, documents_folder
from macro_means import macro_ratios
from scipy import sparse

from termwise import BuildOptions, Document, build_index
from termwise.encode import DocumentEncoder, EncoderFolder, open_document_encoder
from termwise.encode.network_inputs import cut_windows, window_sizes
from termwise.indexing.recipes import RECIPES
from termwise.kernels.counting import count_rows
from termwise.models import Lookup
from termwise.search import Searcher
from termwise.vectors import DocumentVectors

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "scipy", "onnxruntime", "tokenizers", "ir-measures")
WAYS = ("as they are", "fitted")

Matrix = npt.NDArray[np.float64]


class Windows:
    """Windows of the documents of a collection: their vectors by the network, and their terms.

    Parameters
    ----------
    documents : sequence of Document
    vectors : DocumentVectors
        By the network.
    encoder : EncoderFolder
    """

    def __init__(
        self, documents: Sequence[Document], vectors: DocumentVectors, encoder: EncoderFolder
    ) -> None:
        size, overlap = window_sizes(
            length=encoder.manifest.length, overlap=None, positions=encoder.manifest.positions
        )
        pieces: list[npt.NDArray[np.int32]] = []
        owners: list[int] = []
        for position, document in enumerate(documents):
            numbers = encoder.analyzer.numbers(document.text)
            for start, stop in cut_windows(len(numbers), size=size, overlap=overlap):
                pieces.append(numbers[start:stop])
                owners.append(position)
        indptr = np.cumsum([0, *map(len, pieces)])
        indptr, terms, counts = count_rows(indptr, np.concatenate(pieces))
        self.owners = np.array(owners)
        self.vectors = vectors
        self.matrix = vectors.matrix().astype(np.float64)
        table = encoder.term_vectors.matrix().astype(np.float64)
        terms_of = sparse.csr_array((1 + np.log(counts), terms, indptr), shape=(len(owners), len(table)))
        norms = np.linalg.norm(terms_of @ table, axis=1)
        self.terms = sparse.csr_array(sparse.diags_array(1 / np.maximum(norms, 1e-9)) @ terms_of)
        self.sums = self.terms @ table

    def mixed(self, sample: npt.NDArray[np.bool_], ridge: float | None) -> DocumentVectors:
        """Return the vectors of the network for a sample of documents, and those of the table for the others."""
        known = sample[self.owners]
        mean = self.matrix[known].mean(axis=0)
        wanted, given = self.matrix[known] - mean, self.sums
        if ridge is not None:
            gain = float((wanted * given[known]).sum() / (given[known] ** 2).sum())
            features = self.terms[known]
            kernel = (features @ features.T).toarray()
            kernel[np.diag_indices_from(kernel)] *= 1 + ridge
            shares = np.linalg.solve(kernel, wanted - gain * given[known])
            given = gain * given + self.terms @ (features.T @ shares)
        length = np.linalg.norm(wanted, axis=1).mean()
        lengths = np.maximum(np.linalg.norm(given, axis=1), 1e-9)
        others = mean + given * (length / lengths)[:, None]
        rows = np.where(known[:, None], self.matrix, others).astype(np.float32)
        return DocumentVectors.of(self.vectors.indptr, rows)


class Given:
    """Encoder whose rows were computed before; other attributes are those of a `DocumentEncoder`."""

    def __init__(self, encoder: DocumentEncoder, rows: DocumentVectors) -> None:
        self._encoder, self._rows, self._next = encoder, rows, 0

    def encode_documents(self, texts: Sequence[str], *, advance: Any = None) -> DocumentVectors:
        """Return the rows of the next documents."""
        bounds = self._rows.indptr[self._next : self._next + len(texts) + 1]
        self._next += len(texts)
        part = slice(bounds[0], bounds[-1])
        return DocumentVectors(bounds - bounds[0], self._rows.rows[part], self._rows.scales[part])

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the encoder."""
        return getattr(self._encoder, name)


def indexed(documents: Sequence[Document], rows: DocumentVectors, folder: Path) -> Searcher:
    """Index documents with given vectors."""
    encoder: Any = Given(open_document_encoder(Lookup(), load=False), rows)
    options = BuildOptions(encoder=encoder, encoding=folder / "rows")
    return build_index(documents, folder / "index", model=Lookup(), options=options)


def values_of(plan: Mapping[str, Any], judged: Judged, work: Path, threads: int) -> dict[str, Any]:
    """Return the values of the queries for each system."""
    words = index_counts(
        judged.documents, work / "bm25", model="bm25", settings={}, analyzer="english"
    ).searcher
    full = index_encoded(judged.documents, work / "lookup", model=Lookup(), threads=threads).searcher
    table = index_encoded(judged.documents, work / "table", model=Lookup(documents="table")).searcher
    documents = list(judged.documents.documents())
    windows = Windows(
        documents, full.index.document_vectors(np.arange(len(documents))), EncoderFolder.open("lookup")
    )
    found: dict[str, Any] = {"bm25": words}
    found |= {name: mixture(words, dense, name) for name, dense in (("instant", table), ("best", full))}
    values = {}
    with TemporaryDirectory() as place:
        for share in plan["shares"]:
            sample = np.zeros(len(documents), dtype=np.bool_)
            drawn = np.random.default_rng(plan["seed"]).permutation(len(documents))
            sample[drawn[: max(1, round(share * len(documents)))]] = True
            for way, ridge in zip(WAYS, (None, plan["ridge"]), strict=True):
                folder = Path(place) / f"{share}-{way}"
                folder.mkdir()
                partly = indexed(documents, windows.mixed(sample, ridge), folder)
                for recipe in ("best", "instant"):
                    found[f"{share:.0%} read, others {way}, weights of {recipe}"] = mixture(
                        words, partly, recipe
                    )
        for name, searcher in found.items():
            run = searcher.rank_many(judged.queries, k=plan["depth"], exclude=judged.seeds or None)
            values[name] = judged.evaluate(run, [plan["measure"]]).values[plan["measure"]]
    return values


def mixture(words: Searcher, dense: Searcher, name: str) -> Searcher:
    """Mix BM25 and vectors as a recipe does."""
    recipe = RECIPES[name]
    weights = [part.weight for part in recipe.parts]
    return Searcher.mix(
        {"bm25": words, "dense": dense}, weights, depth=recipe.depth, feedback=recipe.feedback
    )


def page(result: Mapping[str, Any]) -> str:
    """Write the table."""
    plan, systems = result["config"], result["macro"]["systems"]
    low, high = (systems[name]["mean"] for name in ("instant", "best"))
    rows = [
        [
            name,
            record.number(one["mean"], digits=4),
            record.number(one["ratio"]["ratio"]),
            record.interval(one["ratio"]["interval"]),
            "" if name == "bm25" or high == low else f"{(one['mean'] - low) / (high - low) + 0.0:.0%}",
        ]
        for name, one in systems.items()
    ]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/partial_encoding.py` on the dev splits of {', '.join(result['macro']['collections'])}. "
        f"Macro mean {plan['measure']}. The last column is the share of the gain of best over instant.",
        record.table(("system", plan["measure"], "ratio to BM25", "95 %", "share of the gain"), rows),
        record.about(dict(result)),
    ]
    return "\n\n".join(parts)


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out", "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "partial_encoding.toml")
    arguments: argparse.Namespace = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    values = {}
    for name in record.selected("collection", arguments.only, plan["collections"]):
        source = arguments.collections / name
        judged = Judged.read(name, source, plan["collections"][name])
        values[name] = values_of(plan, judged, documents_folder(arguments.work, source), arguments.threads)
        record.say(f"{name}: ranked, {record.seconds()} s")
    names = list(next(iter(values.values())))
    result = {
        "experiment": plan["name"],
        "config": plan,
        "macro": macro_ratios(values, names, "bm25", counted=list(values)),
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, plan["name"] + ("_partial" if arguments.only else ""))


if __name__ == "__main__":
    record.script(main)
