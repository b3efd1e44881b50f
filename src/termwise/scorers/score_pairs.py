"""Scores of many pairs of query and text: each distinct pair once, with a cache and progress reports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import error_text, shown
from termwise.errors import DataError, WeightError
from termwise.progress import Progress, no_progress
from termwise.scorers.protocol import Pair, PairScorer, TextScorer, fingerprint_of
from termwise.scorers.score_cache import ScoreCache


def as_scores(name: str, result: object, count: int) -> npt.NDArray[np.float64]:
    """Return what a scorer returned, an array, a list or a torch tensor on the CPU, as `count` values of float64.

    `DataError` if the values are not real numbers in the range of float64, or not so many.

    Examples
    --------
    >>> as_scores("mine", [1, 2.5], 2)
    array([1. , 2.5])
    """
    scores, problem = _numbers(result)
    fixes = ["return a list or an array of floats, one for each text"]
    if scores is None:
        raise DataError(
            "the scorer returned scores that are not numbers",
            facts=[
                ("scorer", name),
                ("returned", f"{type(result).__name__}, {shown(result)}"),
                ("reason", problem),
            ],
            fixes=fixes,
        )
    if scores.shape != (count,):
        raise DataError(
            "the scorer did not return one score for each text",
            facts=[("scorer", name), ("texts", count), ("scores", f"shape {scores.shape}")],
            fixes=fixes,
        )
    return scores


def _numbers(result: object) -> tuple[npt.NDArray[np.float64] | None, str]:
    """Return the result as numbers, or None and the reason why it cannot be converted."""
    try:
        if np.ma.is_masked(result):
            return None, "the array has masked values"
        array = np.asarray(result)
        if array.dtype.kind in "biuf" or all(isinstance(value, int | float) for value in array.flat):
            with np.errstate(over="raise"):
                return array.astype(np.float64), ""
    except Exception as error:
        return None, error_text(error)
    return None, f"{array.dtype} is not a type of real numbers"


def score_pairs_with(
    scorer: TextScorer, queries: Sequence[str], texts: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Score pairs with any scorer: all at once if it is a `PairScorer`, else query by query; scores may be NaN."""
    if isinstance(scorer, PairScorer):
        return as_scores(scorer.name, scorer.score_pairs(queries, texts), len(texts))
    positions: dict[str, list[int]] = {}
    for position, query in enumerate(queries):
        positions.setdefault(query, []).append(position)
    scores = np.empty(len(texts))
    for query, selected in positions.items():
        result = scorer.score(query, [texts[position] for position in selected])
        scores[selected] = as_scores(scorer.name, result, len(selected))
    return scores


_FIRST_BATCH = 64
"""Pairs of the first batch."""

_BATCH_SECONDS = 2.0
"""Target duration of a batch; an interrupted run loses at most one batch."""


def score_pairs(
    scorer: TextScorer,
    pairs: Iterable[Pair],
    stage: str = "score",
    *,
    cache: ScoreCache | None = None,
    progress: Progress = no_progress,
) -> dict[Pair, float]:
    """Score pairs of a query and a text.

    Parameters
    ----------
    scorer : TextScorer
        A `PairScorer` gets the pairs ordered by text length, so that a batch has texts of similar length.
    pairs : iterable of (str, str)
        Query and text; duplicates are scored once.
    stage : str, optional
        Stage name for `progress`; the name of the scorer is appended.
    cache : ScoreCache, optional
        Known scores. New scores are added if the scorer has a fingerprint.
    progress : callable, optional
        Called with the stage, the number of scored pairs and the number of pairs.

    Returns
    -------
    dict of (str, str) to float

    Raises
    ------
    WeightError
        If a score is NaN.
    DataError
        If the number of scores differs from the number of texts.
    """
    distinct = sorted(set(pairs), key=lambda pair: (len(pair[1]), pair[1], pair[0]))
    fingerprint = fingerprint_of(scorer)
    scores: dict[Pair, float] = {}
    if cache is not None and fingerprint and distinct:
        cached = cache.find(fingerprint, *_columns(distinct))
        scores = {
            distinct[position]: float(cached[position]) for position in np.flatnonzero(~np.isnan(cached))
        }
    missing = [pair for pair in distinct if pair not in scores]
    stage = f"{stage}: {scorer.name}"
    if missing:
        progress(stage, len(scores), len(distinct))
    for batch, values in _scored_batches(scorer, missing):
        scores.update(zip(batch, values.tolist(), strict=True))
        if cache is not None and fingerprint:
            cache.add(fingerprint, *_columns(batch), values)
        progress(stage, len(scores), len(distinct))
    return scores


def _scored_batches(
    scorer: TextScorer, pairs: Sequence[Pair]
) -> Iterator[tuple[Sequence[Pair], npt.NDArray[np.float64]]]:
    """Yield batches of pairs with their scores: one query at a time, or batches of a few seconds."""
    if not isinstance(scorer, PairScorer):
        by_query: dict[str, list[Pair]] = {}
        for pair in pairs:
            by_query.setdefault(pair[0], []).append(pair)
        for query, batch in by_query.items():
            yield batch, _valid_scores(scorer, batch, scorer.score(query, [text for _, text in batch]))
        return
    begin, size = 0, _FIRST_BATCH
    while begin < len(pairs):
        batch = list(pairs[begin : begin + size])
        started = time.perf_counter()
        scores = _valid_scores(scorer, batch, scorer.score_pairs(*_columns(batch)))
        seconds = time.perf_counter() - started
        yield batch, scores
        begin += len(batch)
        size = max(1, int(size * min(4.0, _BATCH_SECONDS / max(seconds, 1e-9))))


def _columns(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [query for query, _ in pairs], [text for _, text in pairs]


def _valid_scores(scorer: TextScorer, pairs: Sequence[Pair], returned: object) -> npt.NDArray[np.float64]:
    scores = as_scores(scorer.name, returned, len(pairs))
    undefined = np.flatnonzero(np.isnan(scores))
    if len(undefined):
        query, text = pairs[int(undefined[0])]
        raise WeightError(
            "the scorer returned NaN",
            facts=[("scorer", scorer.name), ("query", shown(query)), ("text", shown(text)), ("score", "NaN")],
            fixes=["return a number for every text: the lowest possible score or -inf if nothing matches"],
        )
    return scores
