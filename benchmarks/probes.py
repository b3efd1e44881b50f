r"""How fast texts that no index holds are scored, pair by pair, as probes ask for them.

    pip install -e .
    python benchmarks/probes.py

Queries are the questions that ship, texts what BM25 ranks first for each in ``python:stdlib``, which every reader has;
``--judged FOLDER`` takes the queries and documents of a collection in BEIR layout instead. Every pair is scored by each
model in one call, on one thread:

==========  ==========================================================================================================
whole way   from texts to scores: texts and queries cut into terms, weighed, and multiplied. A text that several queries
            have is cut once
opened      the same with the time to open the model, which a table of translations takes
plain       the same formula as it stands, in Python: tokens of every text counted once, a loop over the query's terms
known       texts were cut or read before, as when several probes have them; for networks beside scipy's product of the
            same sparse rows
==========  ==========================================================================================================

What reading the texts costs with a network is told apart, beside the network alone: onnxruntime on the same texts in
batches by length, each cut at the window. To be reached: 50,000 pairs a second, of networks where texts are known.
Before the clock runs, both ways have to give the same scores. Results are printed and appended, one JSON object, to
``benchmarks/results/probes.jsonl``.
"""

from __future__ import annotations

import argparse
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
sys.path.insert(0, str(HERE))

from encoding import run  # noqa: E402
from measuring import RESULTS, about, append, passes, say, show_rates, speedup, version  # noqa: E402

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
"""Pairs a second."""

K1, B, LAMBDA, MU = 0.9, 0.4, 0.1, 2000.0
COUNTED = ("bm25", "jm", "dirichlet", "model1")
NETWORKS = ("tilde", "tildev2")
TOLERANCE = 1e-4

READ, READING_ROUNDS = 300, 3
"""Texts that are read with the clock running, and how often: networks are slow."""

Pairs = tuple[list[str], list[str]]


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judged", type=Path, help="a collection in BEIR layout")
    parser.add_argument("--depth", type=int, default=100, help="texts of each query")
    parser.add_argument("--queries", type=int, default=0, help="queries; 0 for all")
    parser.add_argument("--models", nargs="+", default=[*COUNTED, *NETWORKS])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
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
        "about": about() | {"packages": {name: version(name) for name in ("numpy", "scipy", "onnxruntime")}},
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
    unread = iter([model_scorer(model, background) for _ in range(rounds + 1)])  # one is for warming up
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
    reading = _reading(model, sorted(set(pairs[1]))[:READ])
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
    return {**found, "reading": reading}


def _reading(model: str, texts: list[str]) -> dict[str, Any]:
    """Measure texts a second of the encoder, beside its network alone, in the precision that it takes here."""
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
        READING_ROUNDS,
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
    """A formula over counts, as it stands; tokens of every distinct text are counted once."""

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
