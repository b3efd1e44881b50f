r"""Speed of pair scores for texts that no index contains, as probes need them.

    pip install -e .
    python benchmarks/probes.py

Queries are the shipped questions, and texts the best of BM25 for each in ``python:stdlib``; ``--judged FOLDER`` takes
queries and documents of a collection in BEIR layout instead. Each model scores all pairs in one call on one thread:

==========  ==========================================================================================================
whole way   from texts to scores: analysis, weights and products. A text of several queries is analysed once
opened      the same with the time to open the model, such as its translation table
plain       the same formula in plain Python: token counts of each text, and a loop over the terms of the query
known       texts are analysed or encoded before, as for several probes with the same texts; for networks in comparison
            with scipy's product of the same sparse rows
==========  ==========================================================================================================

The time of networks to encode the texts is measured separately, in comparison with onnxruntime alone on the same texts
in batches by length, cut at the window. The target is 50,000 pairs a second, for networks with known texts. Before
timing, both ways must compute the same scores. Results are printed and appended as one JSON object to
``benchmarks/results/probes.jsonl``.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from encoding import run  # noqa: E402
from record import parser  # noqa: E402
from timing import RESULTS, about, append, passes, say, show_rates, speedup  # noqa: E402

from termwise.collection import open_collection, read_queries  # noqa: E402
from termwise.encode import EncoderFolder, open_document_encoder  # noqa: E402
from termwise.encode.batches import PIECES, plan_batches  # noqa: E402
from termwise.encode.network_inputs import framed  # noqa: E402
from termwise.encode.onnx_session import OnnxSession  # noqa: E402
from termwise.models import make_model  # noqa: E402
from termwise.probes.bm25_rankings import bm25_rankings  # noqa: E402
from termwise.probes.core.judged_texts import python_judged  # noqa: E402
from termwise.scorers import Background, TokenStatistics, model_scorer  # noqa: E402
from termwise.text import make_analyzer  # noqa: E402

WANTED = 50_000
"""Target rate, pairs a second."""

K1, B, LAMBDA, MU = 0.9, 0.4, 0.1, 2000.0
COUNTED = ("bm25", "jm", "dirichlet", "model1")
NETWORKS = ("tilde", "tildev2")
TOLERANCE = 1e-4

ENCODED_TEXTS, ENCODING_ROUNDS = 300, 3
"""Texts and rounds of the timing of encoders, which are slow."""

Pairs = tuple[list[str], list[str]]


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__)
    command.add_argument("--judged", type=Path, help="a collection in BEIR layout")
    command.add_argument("--depth", type=int, default=100, help="texts per query")
    command.add_argument("--queries", type=int, default=0, help="number of queries; 0 for all")
    command.add_argument("--models", nargs="+", default=[*COUNTED, *NETWORKS])
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    collection = open_collection(arguments.judged or "python:stdlib")
    queries = (
        {query.query_id: query.text for query in read_queries(arguments.judged)}
        if arguments.judged
        else dict(python_judged().queries)
    )
    if arguments.queries:
        queries = dict(list(queries.items())[: arguments.queries])
    lists = bm25_rankings(queries, collection.documents, depth=arguments.depth)
    pairs: Pairs = ([], [])
    for query_id, texts in lists.candidates.items():
        pairs[0].extend([lists.queries[query_id]] * len(texts))
        pairs[1].extend(texts)
    background = Background(collection.documents)
    words = sum(len(text.split()) for text in set(pairs[1])) / len(set(pairs[1]))
    report: dict[str, Any] = {
        "about": about(("numpy", "scipy", "onnxruntime")),
        "pairs": {
            "pairs": len(pairs[0]),
            "queries": len(lists.queries),
            "texts": len(set(pairs[1])),
            "words of a text": round(words, 1),
        },
        "wanted, pairs a second": WANTED,
        "models": {},
    }
    say(f"{len(pairs[0]):,} pairs, {len(set(pairs[1])):,} distinct texts of {words:.0f} words")
    for model in arguments.models:
        measured = _network if model in NETWORKS else _counted
        report["models"][model] = measured(model, background, pairs, arguments.rounds)
    append(report, "probes", arguments.out)


def _counted(model: str, background: Background, pairs: Pairs, rounds: int) -> dict[str, Any]:
    scorer = model_scorer(model, background)
    unread = iter(
        [model_scorer(model, background) for _ in range(rounds + 1)]
    )  # one more for the untimed pass
    contestants: dict[str, Callable[[], object]] = {
        "termwise, whole way": lambda: next(unread).score_pairs(*pairs),
        "termwise, whole way, opened": lambda: model_scorer(model, background).score_pairs(*pairs),
        "termwise, texts known": lambda: scorer.score_pairs(*pairs),
    }
    plain = PLAIN.get(model)
    if plain is not None:
        counted = background.tokens(make_analyzer("english"))
        contestants["the formula as it stands, whole way"] = lambda: plain(counted, pairs)
        _compare(scorer.score_pairs(*pairs), plain(counted, pairs))
    return _measured(model, contestants, pairs, rounds)


def _network(model: str, background: Background, pairs: Pairs, rounds: int) -> dict[str, Any]:
    scorer = model_scorer(model, background)
    rates = _encoding_rates(model, sorted(set(pairs[1]))[:ENCODED_TEXTS])
    expected = scorer.score_pairs(*pairs)
    weighed = scorer._weigher.weigh(pairs[0], pairs[1])
    rows, asked = (
        csr_matrix((part.weights, part.terms, part.indptr), shape=(len(part), (2**15)))
        for part in (weighed.texts, weighed.queries)
    )
    floors = weighed.floors

    def product() -> npt.NDArray[np.float64]:
        found = np.asarray(rows.multiply(asked).sum(axis=1)).ravel()
        return found if floors is None else found + asked[:, : len(floors)] @ floors

    _compare(expected, product())
    found = _measured(
        model,
        {
            "termwise, texts known": lambda: scorer.score_pairs(*pairs),
            "scipy, rows known and repeated": product,
        },
        pairs,
        rounds,
    )
    return {**found, "reading": rates}


def _encoding_rates(model: str, texts: list[str]) -> dict[str, Any]:
    """Time the encoder of a model, and its network alone in the same precision, in texts a second."""
    encoder = open_document_encoder(make_model(model, {}))
    folder = EncoderFolder.open(model)
    special = folder.manifest.special
    session = OnnxSession(folder, precision=encoder.description["network"]["precision"], threads=1)
    cut = [folder.analyzer.numbers(text)[: folder.manifest.length - 2] for text in texts]
    inputs = [framed(special.cls, pieces, sep=special.sep) for pieces in cut]
    batches = plan_batches([len(one) for one in inputs], pieces=PIECES)
    seconds = passes(
        {
            "termwise, from texts to rows": lambda: encoder.encode_documents(texts),
            "onnxruntime, the network alone": lambda: run(session.run, batches, inputs, special.pad),
        },
        ENCODING_ROUNDS,
    )
    return show_rates(f"texts a second, one thread, {model}", seconds, len(texts))


def _measured(
    model: str, contestants: dict[str, Callable[[], object]], pairs: Pairs, rounds: int
) -> dict[str, Any]:
    seconds = passes(contestants, rounds)
    rates = show_rates(f"pairs a second, one thread, {model}", seconds, len(pairs[0]))
    found: dict[str, Any] = {"pairs a second": rates, "reached": {}, "times as fast": {}}
    for name, times in seconds.items():
        if name.startswith("termwise") and not name.endswith("opened"):
            rate = len(pairs[0]) / float(np.median(times))
            found["reached"][name] = rate >= WANTED
            said = "reached" if rate >= WANTED else "NOT REACHED"
            say(f"  {name}: {rate:,.0f} pairs a second, {WANTED:,} wanted: {said}")
    ours, *_, theirs = seconds
    if not theirs.startswith("termwise"):
        found["times as fast"] = {theirs: speedup(seconds[ours], seconds[theirs])}
    return found


def _compare(ours: npt.NDArray[np.float64], others: npt.NDArray[np.float64]) -> None:
    apart = float(np.abs(ours - others).max())
    if apart > TOLERANCE * max(1.0, float(np.abs(others).max())):
        raise SystemExit(f"the two ways differ by {apart:.2g}")


class _Plain:
    """A formula over counts in plain Python; the tokens of each distinct text are counted once."""

    def __init__(self, term: Callable[..., float], background: Callable[..., float] = lambda *_: 0.0) -> None:
        self._term, self._background = term, background

    def __call__(self, counted: TokenStatistics, pairs: Pairs) -> npt.NDArray[np.float64]:
        analyzer = make_analyzer("english")
        numbers = {token: number for number, token in enumerate(counted.tokens)}
        known = counted.counts
        held = {text: Counter(analyzer.tokens(text)) for text in dict.fromkeys(pairs[1])}
        asked = {query: Counter(analyzer.tokens(query)) for query in dict.fromkeys(pairs[0])}
        scores = []
        for query, text in zip(*pairs, strict=True):
            counts = held[text]
            length = counts.total()
            total = self._background(asked[query].total(), length)
            for token, times in asked[query].items():
                number = numbers.get(token)
                df = 1 if number is None else int(known.document_frequencies[number])
                share = (1 if number is None else int(known.collection_frequencies[number])) / known.n_tokens
                total += times * self._term(counts[token], length, df, share, known)
            scores.append(total)
        return np.array(scores)


def _bm25(tf: int, length: int, df: int, share: float, known: Any) -> float:
    idf = math.log(1 + (known.n_documents - df + 0.5) / (df + 0.5))
    return idf * tf / (tf + K1 * (1 - B + B * length / known.avgdl))


def _jm(tf: int, length: int, df: int, share: float, known: Any) -> float:
    return math.log((1 - LAMBDA) * (tf / length if length else 0.0) + LAMBDA * share)


def _dirichlet(tf: int, length: int, df: int, share: float, known: Any) -> float:
    return math.log((tf + MU * share) / (length + MU))


PLAIN = {"bm25": _Plain(_bm25), "jm": _Plain(_jm), "dirichlet": _Plain(_dirichlet)}

if __name__ == "__main__":
    main()
