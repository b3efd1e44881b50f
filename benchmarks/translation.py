r"""Speed of lexical translation (IBM Model 1): training, scoring of given passages, and the first stage.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/translation.py --work SCRATCH --pairs FOLDER

==============  ======================================================================================================
training        cell updates a second of expectation maximisation, on one thread and on two, in comparison with ``nltk``
                on a small bitext; on a larger one termwise alone, with its memory beside the bytes of the cells
scoring         1,000 given passages per query: columns of the table gathered at query time, and indexes compiled from
                the table, with all weights and with 256 per passage. In comparison with the rankers of
                `translation_peers`, pyserini 0.22.1 among them
first stage     the best k of all passages from the compiled indexes, in comparison with BM25 on the same passages;
                bytes a posting, time to build
==============  ======================================================================================================

A cell update is one source token or NULL with one target token: the sum of (source tokens + 1) x target tokens over
all pairs, swapped ones included, in each iteration. Both programs train on the same pairs. The time of termwise is
import termwise
from the bitext to the counts, including the search for cells; that of nltk is ``IBMModel1.train`` alone, without its
preparation and its alignments.

``--pairs`` are training pairs as for ``termwise train model1``; by default the names of the entries of Python's
standard library, each with its documentation. All pairs train the table. ``--documents`` of their passages, drawn at
random, are indexed, and ``--queries`` of their queries searched. Candidates are the best of BM25, filled up with random
passages to 1,000.

Training may use two processors. Scoring and the first stage are bound to one, including the Java virtual machine.
Contestants take turns, round after round; shown are mean, median and 99th percentile over the queries of the median
round. Before timing, scores are compared with the gathered ones: rankers with the same formula must agree to 1e-3.
Results are printed and appended as one JSON object to ``benchmarks/results/translation.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from indexes import view_bytes  # noqa: E402
from record import parser, script  # noqa: E402
from timing import (  # noqa: E402
    RESULTS,
    Timer,
    about,
    append,
    each,
    held,
    passes,
    pinned,
    say,
    separate_process,
    show_rates,
    show_verdicts,
    speedup,
    timed,
    with_random,
)
from translation_peers import (  # noqa: E402
    LAMBDA,
    LEAST,
    SELF_TRANSLATION,
    PlainNumpy,
    PlainPython,
    Pyserini,
    Question,
    Reranker,
    Task,
)

import termwise  # noqa: E402
from termwise import BuildOptions, build_index  # noqa: E402
from termwise.collection import open_collection  # noqa: E402
from termwise.collection.training_pairs import PairSource, read_sources  # noqa: E402
from termwise.engine.query_vector import query_vector  # noqa: E402
from termwise.engine.retrieval import first_stage, score_documents  # noqa: E402
from termwise.errors import CheckFailedError, TermwiseError  # noqa: E402
from termwise.index import Index  # noqa: E402
from termwise.models import Model1, make_model  # noqa: E402
from termwise.progress import Execution  # noqa: E402
from termwise.records import Document  # noqa: E402
from termwise.search import Searcher  # noqa: E402
from termwise.search.translation_scorer import TranslationScorer  # noqa: E402
from termwise.text import Analyzer, analyzer_from_spec, make_analyzer  # noqa: E402
from termwise.translation import (  # noqa: E402
    Bitext,
    Model1Settings,
    TranslationTable,
    estimate,
    make_bitext,
    open_table,
    train_model1,
)

PARTS = ("training", "pyserini", "first stage")
DEPTHS = (10, 1000)
CANDIDATES = 1000
COMPARED = 10
"""Queries whose scores are compared before timing."""

FORM: Mapping[str, Any] = {
    "least": LEAST,
    "self_mode": "add",
    "renormalise": False,
    "background": "collection",
}
"""Form of the model in the other rankers."""

TOLERANCE = 1e-3
"""Largest difference between scores gathered in float64 and those of other rankers, partly in float32."""

ITERATIONS = 3
RATE = 20e6
"""Target rate on two threads, cell updates a second."""

KEPT = 256
GATHERED, ALL, SOME = "termwise, gathered", "termwise, compiled", f"termwise, compiled, {KEPT} a passage"
LIMITS = {GATHERED: 2.0, ALL: 0.5, SOME: 0.5}
"""Limits of the medians in milliseconds, for 1,000 passages."""


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work")
    command.add_argument("--pairs", type=Path, help="training pairs (default: of the standard library)")
    command.add_argument("--table", type=Path, help="a table trained on the pairs (default: train one)")
    command.add_argument("--documents", type=int, default=20_000)
    command.add_argument("--queries", type=int, default=100)
    command.add_argument("--small", type=int, default=1000, help="pairs of the bitext for nltk")
    command.add_argument("--large", type=int, default=100_000, help="maximum pairs of the larger bitext")
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument(
        "--skip", nargs="*", default=[], choices=PARTS, metavar="PART", help=", ".join(PARTS)
    )
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    arguments.work.mkdir(parents=True, exist_ok=True)

    pairs = arguments.pairs or stdlib_pairs(arguments.work / "stdlib.jsonl")
    sources = read_sources(pairs)
    report: dict[str, Any] = {
        "about": about(("numpy", "numba", "nltk")),
        "settings": {
            "pairs": pairs.name,
            "rounds": arguments.rounds,
            "iterations": ITERATIONS,
            "p": SELF_TRANSLATION,
            "lambda": LAMBDA,
            **FORM,
        },
        "wanted": {"cell updates a second, 2 threads": RATE, "ms": LIMITS},
    }
    if "training" not in arguments.skip:
        report["training"] = training_report(sources, arguments)
    collection = Prepared.of(pairs, sources, arguments)
    report["indexes"] = collection.facts()
    report["about"]["pinned to"] = pinned()
    report["scoring"] = scoring_report(collection, arguments)
    if "first stage" not in arguments.skip:
        report["first stage"] = first_stage_report(collection, arguments.rounds)
    scored = f"{report['scoring']['candidates']:,.0f} passages"
    show_verdicts({f"{scored}: {name}": row for name, row in report["scoring"]["verdicts"].items()})
    append(report, "translation", arguments.out)


def stdlib_pairs(path: Path) -> Path:
    """Write names of entries of the standard library with their documentation as training pairs; return the file."""
    with path.open("w", encoding="utf-8") as file:
        for document in open_collection("python:stdlib").documents():
            name, _, text = document.text.partition("\n")
            if text.strip():
                words = name.partition("(")[0].replace(".", " ").replace("_", " ")
                file.write(json.dumps({"query": words, "passage": text}) + "\n")
    return path


# --- training ---------------------------------------------------------------------------------------------------


def training_report(sources: Sequence[PairSource], arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare with nltk on a small bitext, and train on a larger one."""
    analyzer = make_analyzer(Model1Settings().analyzer)
    small, large = (
        make_bitext(drawn(sources, count, arguments.seed), analyzer)
        for count in (arguments.small, arguments.large)
    )

    def ours(bitext: Bitext, threads: int) -> Callable[[], object]:
        return partial(estimate, bitext, iterations=ITERATIONS, tolerance=0, threads=threads)

    cost = separate_process(ours(large, 2), before=ours(small, 2))
    report: dict[str, Any] = {}
    for name, bitext, rounds in (
        ("small", small, arguments.rounds),
        ("large", large, min(3, arguments.rounds)),
    ):
        model = estimate(bitext, iterations=1)
        updates = model.updates * ITERATIONS
        contestants = {f"termwise, {threads} threads": ours(bitext, threads) for threads in (1, 2)}
        if name == "small" and (theirs := nltk_pass(bitext)) is not None:
            contestants["nltk"] = theirs
        seconds = passes(contestants, rounds)
        title = f"cell updates a second, {updates / 1e6:.1f} million"
        fastest = "termwise, 2 threads"
        report[name] = {
            "pairs": bitext.sequences,
            "cells": len(model.sources),
            "updates an iteration": model.updates,
            "bytes of the cells": model.starts.nbytes + model.sources.nbytes + model.counts.nbytes,
            "updates a second": show_rates(title, seconds, updates),
            "times as fast as": {
                other: speedup(seconds[fastest], seconds[other]) for other in seconds if other != fastest
            },
        }
        for other, found in report[name]["times as fast as"].items():
            say(f"  {fastest}: {found['median']:.3g} times as fast as {other}")
    rate = report["large"]["updates a second"]["termwise, 2 threads"]["median"]
    report["large"] |= {
        "peak memory above the bitext, bytes": cost.bytes,
        "verdict": {"wanted": RATE, "reached": rate >= RATE},
    }
    say(
        f"peak memory above the bitext {cost.bytes / 1e6:.0f} MB, cells "
        f"{report['large']['bytes of the cells'] / 1e6:.0f} MB; 20 million updates a second "
        f"{'reached' if rate >= RATE else 'NOT REACHED'}"
    )
    return report


def drawn(sources: Sequence[PairSource], count: int, seed: int) -> list[PairSource]:
    """Return sources with `count` pairs between them, drawn at random."""
    chosen = np.random.default_rng(seed).permutation(sum(map(len, sources)))[:count]
    ends = np.cumsum([len(source) for source in sources])
    return [
        replace(
            source, pairs=source.pairs[np.sort(chosen[(chosen >= end - len(source)) & (chosen < end)]) - end]
        )
        for source, end in zip(sources, ends.tolist(), strict=True)
    ]


def sentences(bitext: Bitext) -> list[tuple[list[str], list[str]]]:
    """Return the target and the source of each pair of a bitext, including swapped pairs."""
    token = bitext.vocabulary.token
    found = []
    for row in range(len(bitext.queries.first)):
        query = _words(bitext.queries, row, token)
        for piece in range(bitext.chunks.starts[row], bitext.chunks.starts[row + 1]):
            chunk = _words(bitext.chunks, piece, token)
            found.append((query, chunk))
            if bitext.symmetrised:
                found.append((chunk, query))
    return found


def _words(side: Any, piece: int, token: Callable[[int], str]) -> list[str]:
    first = int(side.first[piece])
    return [token(number) for number in side.tokens[first : first + int(side.length[piece])].tolist()]


def nltk_pass(bitext: Bitext) -> Callable[[], object] | None:
    """Return a function that trains a model of nltk on a bitext; None if nltk is not installed."""
    try:
        from nltk.translate import AlignedSent, IBMModel1
    except ImportError:
        return None
    pairs = [AlignedSent(target, source) for target, source in sentences(bitext)]
    model = IBMModel1(pairs, 0)

    def run() -> None:
        for _ in range(ITERATIONS):
            model.train(pairs)

    return run


# --- table and indexes ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prepared:
    """Passages, queries, table and indexes.

    Attributes
    ----------
    folder : Path
        Work folder of these passages.
    passages, queries : list of str
        Texts with one token or more.
    table : TranslationTable
    analyzer : Analyzer
        Analyzer of the table.
    documents : Index
        Index of the passages with the model ``ml``.
    searchers : mapping of str to Searcher
        ``BM25``, and the compiled tables `ALL` and `SOME`.
    """

    folder: Path
    passages: list[str]
    queries: list[str]
    table: TranslationTable
    analyzer: Analyzer
    documents: Index
    searchers: Mapping[str, Searcher]

    @classmethod
    def of(cls, pairs: Path, sources: Sequence[PairSource], arguments: argparse.Namespace) -> Prepared:
        """Train and index, except for what the work folder contains."""
        trained = arguments.table or arguments.work / f"table-{pairs.stem}"
        if not trained.is_dir():
            say(f"training on {sum(map(len, sources)):,} pairs")
            facts = train_model1(pairs, trained, execution=Execution(threads=2))
            say(f"{facts['entries']:,} probabilities in {facts['seconds']['total']} s")
        table = open_table(trained)
        analyzer = analyzer_from_spec(table.analyzer)
        passages, queries = chosen(sources, analyzer, arguments)
        folder = arguments.work / f"{pairs.stem}-{trained.name}-{arguments.documents}-{arguments.seed}"
        folder.mkdir(exist_ok=True)

        def compiled(keep: int) -> Model1:
            return Model1(
                table=str(trained), self_translation=SELF_TRANSLATION, lambda_=LAMBDA, keep=keep, **FORM
            )

        plain = made(passages, folder / "ml", model=make_model("ml", {}), analyzer=analyzer, exact=True)
        searchers = {
            "BM25": made(passages, folder / "bm25", analyzer="english"),
            ALL: made(passages, folder / "all", model=compiled(0)),
            SOME: made(passages, folder / "some", model=compiled(KEPT)),
        }
        return cls(folder, passages, queries, table, analyzer, plain.index, searchers)

    def facts(self) -> dict[str, Any]:
        """Return and print sizes and build times of the indexes."""
        say(
            f"\n{len(self.passages):,} passages{'':24}{'postings each':>14}{'bytes a posting':>17}{'built in, s':>13}"
        )
        report = {}
        for name, searcher in self.searchers.items():
            index = searcher.index
            postings = sum(len(segment.terms) for segment in index.segments)
            views = view_bytes(index)
            row = {
                "postings a passage": postings / len(index),
                "bytes a posting": {view: size / postings for view, size in views.items() if view != "all"},
                "bytes": views["all"],
                "build seconds": float(seconds_of(index.path).read_text()),
            }
            report[name] = row
            say(
                f"{name:40}{row['postings a passage']:14.1f}{row['bytes a posting']['inverted']:17.2f}"
                f"{row['build seconds']:13.1f}"
            )
        return report


def chosen(
    sources: Sequence[PairSource], analyzer: Analyzer, arguments: argparse.Namespace
) -> tuple[list[str], list[str]]:
    """Draw distinct passages and queries with one token or more."""
    random = np.random.default_rng(arguments.seed)
    found = []
    for column, count in ((1, arguments.documents), (0, arguments.queries)):
        texts = dict.fromkeys(
            (source.passages if column else source.queries)[number]
            for source in sources
            for number in np.unique(source.pairs[:, column]).tolist()
        )
        given = list(texts)
        taken: list[str] = []
        for place in random.permutation(len(given)).tolist():
            if len(taken) == count:
                break
            if analyzer.tokens(given[place]):
                taken.append(given[place])
        found.append(taken)
    return found[0], found[1]


def seconds_of(path: Path) -> Path:
    """Return the file beside an index with the seconds of its build."""
    return path.with_suffix(".seconds")


def made(passages: Sequence[str], path: Path, *, exact: bool = False, **settings: Any) -> Searcher:
    """Build or open an index of the passages."""
    seconds = seconds_of(path)
    if not seconds.exists():
        say(f"indexing {len(passages):,} passages: {path.name}")
        documents = [Document(str(number), text) for number, text in enumerate(passages)]
        begin = time.perf_counter()
        options = BuildOptions(threads=2, quantiser="float32" if exact else None)
        build_index(documents, path, overwrite=True, **settings, options=options)
        seconds.write_text(f"{time.perf_counter() - begin}\n")
    return termwise.open(path)


# --- scoring ----------------------------------------------------------------------------------------------------


def scoring_report(collection: Prepared, arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare and time all rankers on given passages."""
    scorer = TranslationScorer(
        collection.documents, collection.table, self_translation=SELF_TRANSLATION, lambda_=LAMBDA, **FORM
    )
    candidates = [candidates_of(collection.searchers["BM25"], query) for query in collection.queries]
    identifiers = [[str(number) for number in one.tolist()] for one in candidates]
    asked = list(zip(collection.queries, identifiers, strict=True))
    contestants: dict[str, Timer] = {
        GATHERED: each(asked, lambda one: scorer.rank(one[0], candidates=one[1], k=CANDIDATES))
    }
    gathered = [
        scorer.parts(query, names).scores(SELF_TRANSLATION, LAMBDA) for query, names in asked[:COMPARED]
    ]
    report: dict[str, Any] = {
        "queries": len(asked),
        "tokens a query": float(
            np.mean([len(collection.analyzer.tokens(text)) for text in collection.queries])
        ),
        "candidates": float(np.mean([len(names) for names in identifiers])),
        "agreement with gathered": {},
    }
    for name in (ALL, SOME):
        searcher = collection.searchers[name]
        prepared = [
            (searcher.encode(query), numbers)
            for query, numbers in zip(collection.queries, candidates, strict=True)
        ]
        contestants[name] = each(prepared, partial(compiled_scores, searcher.index))
        contestants[f"{name}, from text and identifiers to a ranking"] = each(
            asked, partial(ranked, searcher)
        )
        scores = [compiled_scores(searcher.index, one) for one in prepared[:COMPARED]]
        report["agreement with gathered"][name] = agreement(gathered, scores)
    task = Task.of([collection.analyzer.tokens(text) for text in collection.passages], collection.table)
    questions = [
        Question(collection.analyzer.tokens(query), one)
        for query, one in zip(collection.queries, candidates, strict=True)
    ]
    rerankers, report["left out"] = peers(
        task, collection.folder, packages=arguments.work, skip="pyserini" in arguments.skip
    )
    for reranker in rerankers:
        prepared_questions = [reranker.prepare(question) for question in questions]
        contestants[reranker.name] = each(prepared_questions, reranker.score)
        if reranker.exact is not None:
            scores = [reranker.score(one) for one in prepared_questions[:COMPARED]]
            report["agreement with gathered"][reranker.name] = found = agreement(gathered, scores)
            if reranker.exact:
                check(reranker.name, found)
    for name, row in report["agreement with gathered"].items():
        say(
            f"{name}: scores {row['largest difference']:.2g} apart, {row['same best 10']:.3f} of the best 10 the same"
        )
    times = timed(
        f"scoring {report['candidates']:,.0f} passages, ms", contestants, arguments.rounds, GATHERED
    )
    report |= {
        "times": times,
        "verdicts": {name: held(times[name]["ms"], limit) for name, limit in LIMITS.items()},
    }
    return report


def candidates_of(searcher: Searcher, query: str) -> npt.NDArray[np.int64]:
    """Return the numbers of the best passages of BM25, filled up with random ones."""
    best = np.array([int(name) for name in searcher.rank(query, k=CANDIDATES).doc_ids], dtype=np.int64)
    return with_random(best, len(searcher.index), CANDIDATES, np.random.default_rng(0))


def compiled_scores(index: Index, prepared: tuple[Any, npt.NDArray[np.int64]]) -> npt.NDArray[np.float64]:
    """Return the scores of given documents in a compiled index."""
    row, numbers = prepared
    scores, _ = score_documents(index, query_vector(index, row), numbers)
    return scores


def ranked(searcher: Searcher, one: tuple[str, Sequence[str]]) -> object:
    """Return the ranking of given documents."""
    return searcher.rank(one[0], candidates=one[1], k=CANDIDATES)


def agreement(
    expected: Sequence[npt.NDArray[np.float64]], found: Sequence[npt.NDArray[np.float64]]
) -> dict[str, float]:
    """Return the largest difference of scores, and the mean share of common documents among the best ten."""
    same = []
    for one, other in zip(expected, found, strict=True):
        best, theirs = (set(np.argsort(-scores, kind="stable")[:10].tolist()) for scores in (one, other))
        same.append(len(best & theirs) / len(best))
    largest = max(float(np.abs(one - other).max()) for one, other in zip(expected, found, strict=True))
    return {"largest difference": largest, "same best 10": float(np.mean(same))}


def check(name: str, found: Mapping[str, float]) -> None:
    """Check that another ranker computes the scores of termwise.

    Raises
    ------
    CheckFailedError
        If scores differ by more than `TOLERANCE`.
    """
    if not found["largest difference"] <= TOLERANCE:
        raise CheckFailedError(
            "the scores differ from those of the gathered columns",
            facts=[
                ("scored by", name),
                ("largest difference", found["largest difference"]),
                ("allowed", TOLERANCE),
            ],
            fixes=["use an empty work folder: --work FOLDER"],
        )


def peers(task: Task, folder: Path, *, packages: Path, skip: bool) -> tuple[list[Reranker], dict[str, str]]:
    """Return the other rankers, and the reasons of those that are left out."""
    found: list[Reranker] = [PlainPython(task), PlainNumpy(task)]
    left_out: dict[str, str] = {}
    if skip:
        return found, {"pyserini": "--skip pyserini"}
    try:
        pyserini = Pyserini.of(task, folder, packages=packages)
    except (ImportError, TermwiseError) as error:
        left_out["pyserini"] = str(error)
    else:
        found += [pyserini.ibm_model1(), pyserini.only_reading()]
        try:
            found.append(pyserini.irst())
        except ImportError as error:
            left_out["LuceneIrstSearcher"] = str(error)
    for name, why in left_out.items():
        say(f"left out: {name}: {why}")
    return found, left_out


# --- first stage ------------------------------------------------------------------------------------------------


def first_stage_report(collection: Prepared, rounds: int) -> dict[str, Any]:
    """Time the best k of all passages, with query rows made before."""
    rows = {
        name: (searcher.index, [searcher.encode(query) for query in collection.queries])
        for name, searcher in collection.searchers.items()
    }
    report = {}
    for k in DEPTHS:
        contestants: dict[str, Timer] = {
            name: each(encoded, partial(best, index, k)) for name, (index, encoded) in rows.items()
        }
        report[f"k = {k}"] = timed(
            f"first stage, {len(collection.passages):,} passages, k = {k}, ms", contestants, rounds, SOME
        )
    return report


def best(index: Index, k: int, row: Any) -> object:
    """Return the best k of an index."""
    return first_stage(index, query_vector(index, row), k)


if __name__ == "__main__":
    script(main)
