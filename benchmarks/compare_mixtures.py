r"""Build speed, query time and quality of the three mixtures, beside bm25s and a dense encoder.

    pip install -e '.[cross-encoder]' -r benchmarks/requirements.txt
    python benchmarks/compare_mixtures.py --collection COLLECTION --dense MINILM --work SCRATCH      # about ten minutes

COLLECTION is a BEIR folder with judgments, such as nfcorpus; MINILM a folder with all-MiniLM-L6-v2, the document
encoder of ``best``. The contestants take turns in each round:

=====================  =========================================================================================
bm25s                  the library bm25s, Lucene's form, its English stop words and Snowball's stemmer
bm25                   `termwise.build_index` with BM25
instant, best,         `termwise.build_index` with the mixture of that name
best-large
dense                  sentence-transformers in float32, all vectors in memory; it runs its network for each query
dense + bm25s          both, fused by reciprocal ranks
=====================  =========================================================================================

A build is timed from texts to an index that can be searched: over all documents, or over the first ``--read`` of them
if a network reads them, whose speed does not depend on their number. A query is timed from its text to ten documents,
on one thread. Before that, all documents are indexed once, and the queries are evaluated.

Results are printed and appended as one JSON object to ``benchmarks/results/mixtures.jsonl``; ``--figure FILE`` draws
the last one, with the means over eleven collections of ``experiments/results/zero_shot.jsonl`` as quality.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

THREADS = len(os.sched_getaffinity(0))
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

import numpy as np  # noqa: E402
from charts import line_chart  # noqa: E402
from judged_collection import Judged  # noqa: E402
from record import RESULTS as EXPERIMENTS  # noqa: E402
from record import need, parser, script  # noqa: E402
from timing import RESULTS, about, append, each, say, timed  # noqa: E402

from termwise import BuildOptions, Document, build_index  # noqa: E402
from termwise.records import Ranking, Run  # noqa: E402

DEPTH = 100
RRF_K = 60
WORDS, NETWORKS = ("bm25", "instant"), ("best", "best-large")
SYSTEMS = {
    "bm25s": "bm25",
    "bm25": "bm25",
    "instant": "instant",
    "best": "best",
    "best-large": "best-large",
    "dense": "dense",
    "dense + bm25s": "dense+bm25",
}
"""Systems of the zero-shot experiment by contestant, for the figure."""

Search = Callable[[str, int], Sequence[str]]


class Bm25s:
    """Index of the library bm25s."""

    def __init__(self, documents: Sequence[Document]) -> None:
        bm25s: Any = need("bm25s", "bm25s", "the benchmark")
        stemmer: Any = need("Stemmer", "PyStemmer", "the benchmark")
        self._stem, self._library = stemmer.Stemmer("english"), bm25s
        self._doc_ids = [document.doc_id for document in documents]
        tokens = self._tokens([document.text for document in documents])
        self._index = bm25s.BM25(k1=0.9, b=0.4)
        self._index.index(tokens, show_progress=False)

    def _tokens(self, texts: Sequence[str]) -> Any:
        return self._library.tokenize(list(texts), stopwords="en", stemmer=self._stem, show_progress=False)

    def search(self, query: str, k: int) -> list[str]:
        """Return the first documents."""
        places, scores = self._index.retrieve(
            self._tokens([query]), k=min(k, len(self._doc_ids)), show_progress=False, n_threads=0
        )
        found = zip(places[0].tolist(), scores[0].tolist(), strict=True)
        return [self._doc_ids[place] for place, score in found if score > 0]


class Dense:
    """Vectors of a dense encoder in memory."""

    def __init__(self, folder: Path) -> None:
        library: Any = need("sentence_transformers", "sentence-transformers", "the benchmark")
        self._torch: Any = need("torch", "torch", "the benchmark")
        self._model = library.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        self._doc_ids: list[str] = []
        self._vectors = np.empty((0, 0), dtype=np.float32)

    def index(self, documents: Sequence[Document]) -> None:
        """Return the vectors of texts."""
        self._torch.set_num_threads(THREADS)
        self._doc_ids = [document.doc_id for document in documents]
        self._vectors = self._encoded([document.text for document in documents])

    def _encoded(self, texts: list[str]) -> Any:
        return self._model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)

    def search(self, query: str, k: int) -> list[str]:
        """Return the first documents."""
        self._torch.set_num_threads(1)
        scores = self._vectors @ self._encoded([query])[0]
        return [self._doc_ids[place] for place in np.argsort(-scores, kind="stable")[:k].tolist()]


def fused(first: Search, second: Search) -> Search:
    """Fuse two rankings by reciprocal ranks."""

    def search(query: str, k: int) -> list[str]:
        scores: dict[str, float] = {}
        for one in (first, second):
            for rank, doc_id in enumerate(one(query, DEPTH), 1):
                scores[doc_id] = scores.get(doc_id, 0.0) + 1 / (RRF_K + rank)
        return sorted(scores, key=scores.__getitem__, reverse=True)[:k]

    return search


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def build_rates(
    documents: Sequence[Document], arguments: argparse.Namespace, dense: Dense
) -> dict[str, dict[str, float]]:
    """Return the documents per second of each build: median, minimum and maximum over the rounds."""
    few = documents[: arguments.read]

    def built(model: str, some: Sequence[Document]) -> Callable[[], object]:
        options = BuildOptions(threads=THREADS)
        return lambda: build_index(
            some, arguments.work / f"timed-{model}.tw", model=model, overwrite=True, options=options
        )

    contestants: dict[str, tuple[int, Callable[[], object]]] = {
        "bm25s": (len(documents), lambda: Bm25s(documents)),
        **{name: (len(documents), built(name, documents)) for name in WORDS},
        **{name: (len(few), built(name, few)) for name in NETWORKS},
        "dense": (len(few), lambda: dense.index(few)),
    }
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(arguments.rounds + 1):
        for name, (count, work) in contestants.items():
            rate = count / seconds(work)
            if number:  # the first round loads libraries and networks
                rates[name].append(rate)
        say(f"builds: round {number} of {arguments.rounds}")
    return {
        name: {"median": float(np.median(found)), "least": min(found), "most": max(found)}
        for name, found in rates.items()
    }


def measure(judged: Judged, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all contestants on one collection."""
    documents = list(judged.documents.documents())
    dense = Dense(arguments.dense)
    rates = build_rates(documents, arguments, dense)
    words = Bm25s(documents)
    dense.index(documents)
    searches: dict[str, Search] = {
        "bm25s": words.search,
        "dense": dense.search,
        "dense + bm25s": fused(dense.search, words.search),
    }
    bytes_of = {}
    for name in (*WORDS, *NETWORKS):
        searcher = build_index(
            documents, arguments.work / f"{name}.tw", model=name, overwrite=True,
            options=BuildOptions(threads=THREADS),
        )  # fmt: skip
        searches[name] = lambda query, k, searcher=searcher: searcher.rank(query, k=k).doc_ids
        files = [file for part in searcher.parts for file in part.index.manifest.files()]
        bytes_of[name] = sum(file.length for file in files) / len(documents)
    quality = {}
    for name, search in searches.items():
        rankings = []
        for query in judged.queries:
            doc_ids = search(query.text, DEPTH)
            rankings.append(Ranking(doc_ids, -np.arange(len(doc_ids), dtype=np.float64), query.query_id))
        quality[name] = judged.evaluate(Run(rankings, name), ["nDCG@10"]).means["nDCG@10"]
        say(f"{name}: nDCG@10 {quality[name]:.4f}")
    texts = [query.text for query in judged.queries[: arguments.queries]]
    latency = timed(
        "queries, k = 10, ms",
        {
            name: each(texts, lambda query, search=search: search(query, 10))
            for name, search in searches.items()
        },
        arguments.rounds,
        "best",
    )
    return {
        "collection": judged.name,
        "documents": len(documents),
        "words of a document": float(np.mean([len(document.text.split()) for document in documents])),
        "documents a second": rates,
        "nDCG@10": quality,
        "bytes of a document": bytes_of,
        "queries": latency,
    }


def figure(report: Mapping[str, Any], experiment: Mapping[str, Any]) -> str:
    """Plot the mean quality of each system against its build speed."""
    systems = experiment["macro"]["systems"]
    rates = {name: found["median"] for name, found in report["documents a second"].items()}
    rates["dense + bm25s"] = 1 / (1 / rates["dense"] + 1 / rates["bm25s"])
    latency = report["queries"]
    points = {}
    for name, system in SYSTEMS.items():
        if system in systems and name in rates:
            title = f"{name}, {latency[name]['ms']['p50']:.2g} ms"  # longer titles are cut off
            points[title] = [(float(f"{rates[name]:.2g}"), systems[system]["ratio"]["ratio"])]
    return line_chart(
        points,
        title="Quality, speed of building, and median time of a query",
        x=f"documents a second, of {report['words of a document']:.0f} words, on {THREADS} processors",
        y="nDCG@10 in the mean of eleven collections, BM25 = 1",
        logarithmic=True,
    )


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work")
    command.add_argument("--collection", type=Path)
    command.add_argument("--split", default="test")
    command.add_argument("--dense", type=Path, help="folder of the dense encoder")
    command.add_argument("--read", type=int, default=500, help="documents of a timed build with a network")
    command.add_argument("--queries", type=int, default=100)
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--out", type=Path, default=RESULTS)
    command.add_argument("--figure", type=Path, help="draw the last result instead of measuring")
    arguments = command.parse_args(given)
    if arguments.figure is not None:
        last = json.loads((arguments.out / "mixtures.jsonl").read_text().splitlines()[-1])
        experiment = json.loads((EXPERIMENTS / "zero_shot.jsonl").read_text().splitlines()[-1])
        arguments.figure.write_text(figure(last, experiment), encoding="utf-8")
        return
    if arguments.collection is None or arguments.dense is None:
        command.error("measuring needs --collection and --dense")
    arguments.work.mkdir(parents=True, exist_ok=True)
    judged = Judged.read(arguments.collection.name, arguments.collection, arguments.split)
    report = {**about(), **measure(judged, arguments)}
    append(report, "mixtures", arguments.out)


if __name__ == "__main__":
    script(main)
