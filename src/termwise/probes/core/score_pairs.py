"""Scores of many pairs: each distinct one is asked for once, and what is known already is not asked for again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import WeightError
from termwise.progress import Progress, no_progress
from termwise.scorers import ScoreCache
from termwise.scorers.adapt import as_scores
from termwise.scorers.fingerprint import fingerprint_of
from termwise.scorers.protocol import PairScorer, TextScorer

Pair = tuple[str, str]

_FIRST_CHUNK, _LONG = 64, 2.0
"""Pairs asked for at first, and seconds that a chunk should take: what is interrupted loses no more."""


def ask(
    scorer: TextScorer,
    pairs: Iterable[Pair],
    *,
    store: ScoreCache | None = None,
    progress: Progress = no_progress,
    stage: str = "score",
) -> dict[Pair, float]:
    """Score pairs of a query and a text.

    Parameters
    ----------
    scorer : TextScorer
        One that takes pairs gets them ordered by the length of their texts, so that what it reads together is of one
        length.
    pairs : iterable of (str, str)
        Query and text; they may repeat themselves.
    store : ScoreCache, optional
        Scores that are known, and where new ones are kept, if the scorer has a fingerprint.
    progress : callable, optional
        Called with a stage, distinct pairs that are scored, and how many there are.
    stage : str, optional
        What the stage is called, before the name of the scorer.

    Returns
    -------
    dict of (str, str) to float

    Raises
    ------
    WeightError
        If the scorer gives NaN.
    DataError
        If it gives another number of scores than there are texts.
    """
    wanted = sorted(set(pairs), key=lambda pair: (len(pair[1]), pair[1], pair[0]))
    fingerprint = fingerprint_of(scorer)
    found: dict[Pair, float] = {}
    if store is not None and fingerprint and wanted:
        known = store.find(fingerprint, *_sides(wanted))
        found = {wanted[place]: float(known[place]) for place in np.flatnonzero(~np.isnan(known))}
    missing = [pair for pair in wanted if pair not in found]
    told = f"{stage}: {scorer.name}"
    if missing:
        progress(told, len(found), len(wanted))
    for chunk, scores in _answers(scorer, missing):
        found.update(zip(chunk, scores.tolist(), strict=True))
        if store is not None and fingerprint:
            store.add(fingerprint, *_sides(chunk), scores)
        progress(told, len(found), len(wanted))
    return found


def _answers(
    scorer: TextScorer, pairs: Sequence[Pair]
) -> Iterator[tuple[Sequence[Pair], npt.NDArray[np.float64]]]:
    """Yield pairs with their scores, some at a time."""
    if not isinstance(scorer, PairScorer):
        by_query: dict[str, list[Pair]] = {}
        for pair in pairs:
            by_query.setdefault(pair[0], []).append(pair)
        for query, chunk in by_query.items():
            yield chunk, _checked(scorer, chunk, scorer.score(query, [text for _, text in chunk]))
        return
    begin, size = 0, _FIRST_CHUNK
    while begin < len(pairs):
        chunk = list(pairs[begin : begin + size])
        started = time.perf_counter()
        scores = _checked(scorer, chunk, scorer.score_pairs(*_sides(chunk)))
        spent = time.perf_counter() - started
        yield chunk, scores
        begin += len(chunk)
        size = max(1, int(size * min(4.0, _LONG / max(spent, 1e-9))))


def _sides(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [query for query, _ in pairs], [text for _, text in pairs]


def _checked(scorer: TextScorer, pairs: Sequence[Pair], given: object) -> npt.NDArray[np.float64]:
    scores = as_scores(scorer.name, given, len(pairs))
    wrong = np.flatnonzero(np.isnan(scores))
    if len(wrong):
        query, text = pairs[int(wrong[0])]
        raise WeightError(
            "the scorer gave a score that is no number",
            facts=[
                ("scorer", scorer.name),
                ("query", shown(query)),
                ("text", shown(text)),
                ("score", "NaN"),
            ],
            fixes=["give a text that nothing is known of a number: the lowest there is, or -inf"],
        )
    return scores
