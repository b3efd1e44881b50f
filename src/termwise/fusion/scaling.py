"""Normalisation of scores that makes runs of different systems comparable.

================  ========================================================================================
name              a score x becomes
================  ========================================================================================
``z``             ``(x - mean) / std``, with the population standard deviation; 0 if all scores are equal
``minmax``        ``(x - min) / (max - min)``; 0 if all scores are equal
``global``        as ``z``, with mean and deviation of all scores of the run, over all its queries
``raw``           x
``idf``           x divided by the sum of the idf of the distinct query terms in the index
``query-length``  x divided by the number of words of the query
================  ========================================================================================

``z`` and ``minmax`` use mean, deviation, minimum and maximum of one query, over its fused documents, with missing
scores filled in.

Sources: z-scores are in Abolghasemi, Askari & Verberne (ICTIR 2022, arXiv 2210.05512), who do not state whether they
scale per query (``z``) or over all queries (``global``). Query likelihoods grow with the length of the query, so
``global`` gives long queries larger differences. ``idf`` for BM25 and ``query-length`` for Model 1 are in Boytsov &
Kolter (ECIR 2021, arXiv 2102.06815).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from termwise.engine.query_encoder import analyzer_of
from termwise.errors import ParameterError, UnknownIdError, UnknownNameError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Call, Code, Fix
from termwise.index import Index
from termwise.kernels.weighting import lucene_idf
from termwise.records import Query, Run

Scaling = Literal["z", "minmax", "global", "raw", "idf", "query-length"]
"""Scaling of the scores of a run."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class QueryScales:
    """Divisors for the normalisations ``idf`` and ``query-length``.

    Attributes
    ----------
    idf : mapping of str to float
        Per query, by identifier, the sum of ``ln(1 + (N - df + 0.5) / (df + 0.5))`` over its distinct terms in the
        index; 0 without such terms.
    words : mapping of str to float
        Per query, the number of tokens, with repetitions and unknown tokens.
    """

    idf: Mapping[str, float]
    words: Mapping[str, float]

    @classmethod
    def of(cls, index: Index, queries: Iterable[Query]) -> QueryScales:
        """Compute the divisors with the statistics of an index.

        Parameters
        ----------
        index : Index
            Its analyzer and document frequencies are used. For ``idf`` it should hold the terms of the texts without
            expansions, as an index of BM25 does.
        queries : iterable of Query
            The queries.

        Raises
        ------
        UnknownNameError
            If the index has no analyzer for queries.
        """
        analyzer, number = analyzer_of(index), index.vocabulary.number
        idf = lucene_idf(index.document_frequencies, len(index))
        sums: dict[str, float] = {}
        words: dict[str, float] = {}
        for query in queries:
            tokens = analyzer.tokens(query.text)
            terms = sorted({term for token in tokens if (term := number(token)) is not None})
            sums[query.query_id] = float(idf[terms].sum())
            words[query.query_id] = float(len(tokens))
        return cls(sums, words)


@dataclass(frozen=True)
class Scaler:
    """Scaling of one run, with its statistics over all queries.

    `moments` are mean and deviation for ``global``, or None if all scores of the run are equal; `divisors` are those of
    the queries for ``idf`` and ``query-length``.
    """

    scaling: Scaling
    run: str
    moments: tuple[float, float] | None = None
    divisors: Mapping[str, float] | None = None

    @classmethod
    def of(cls, run: Run, scaling: Scaling, queries: QueryScales | None) -> Scaler:
        """Return the scaler of a run."""
        if scaling == "global":
            return cls(scaling, run.name, moments=_moments_of_all(run))
        if scaling in ("idf", "query-length"):
            if queries is None:
                raise ParameterError(
                    f"the normalisation {scaling} needs the texts of the queries and an index",
                    facts=[("run", run.name)],
                    fixes=[
                        Fix.use("give {}", queries=Call.of("QueryScales.of", Code("index"), Code("queries")))
                    ],
                )
            return cls(scaling, run.name, divisors=queries.idf if scaling == "idf" else queries.words)
        return cls(scaling, run.name)

    def scaled(self, values: Floats, query_id: str) -> Floats:
        """Scale the scores of the fused documents of one query, shape (n,)."""
        if self.scaling == "raw" or len(values) == 0:
            return values
        if self.divisors is not None:
            return self._divided(values, self.divisors, query_id)
        moments = self.moments if self.scaling == "global" else _moments(values, self.scaling == "minmax")
        return np.zeros_like(values) if moments is None else self._standardised(values, moments, query_id)

    def _standardised(self, values: Floats, moments: tuple[float, float], query_id: str) -> Floats:
        centre, spread = moments
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            scaled: Floats = (values - centre) / np.float64(spread)
        if not (math.isfinite(spread) and np.isfinite(scaled).all()):
            raise WeightError(
                "the scores are too far apart, or too near, to be normalised",
                facts=[
                    ("run", self.run),
                    ("query", query_id),
                    ("lowest", float(values.min())),
                    ("highest", float(values.max())),
                ],
            )
        return scaled

    def _divided(self, values: Floats, divisors: Mapping[str, float], query_id: str) -> Floats:
        if query_id not in divisors:
            raise UnknownIdError(
                "the text of a query of a run is missing",
                facts=[("run", self.run), ("query", query_id), ("texts", len(divisors))],
                fixes=["give all queries of the run"],
            )
        divisor = divisors[query_id]
        if divisor > 0:
            return values / divisor
        if values.min() == values.max():
            return np.zeros_like(values)
        raise WeightError(
            "a run has different scores for a query without a term in the index",
            facts=[("run", self.run), ("query", query_id), ("normalisation", self.scaling)],
            fixes=["give the index of the run", "choose another normalisation"],
        )


def _moments_of_all(run: Run) -> tuple[float, float] | None:
    """Return mean and deviation of all scores of a run; None if all are equal."""
    moments = _moments(np.concatenate([np.zeros(0), *(ranking.scores for ranking in run)]))
    if moments is not None and not (math.isfinite(moments[1]) and moments[1] > 0):
        lowest = min((ranking for ranking in run if len(ranking)), key=lambda ranking: ranking.scores.min())
        highest = max((ranking for ranking in run if len(ranking)), key=lambda ranking: ranking.scores.max())
        raise WeightError(
            "the scores are too far apart, or too near, to be normalised",
            facts=[
                ("run", run.name),
                ("lowest", f"{float(lowest.scores.min())}, query {lowest.query_id}"),
                ("highest", f"{float(highest.scores.max())}, query {highest.query_id}"),
            ],
        )
    return moments


def deviation_of(run: Run) -> float:
    """Return the standard deviation of all scores of a run, the divisor of ``global``; 0 if all are equal."""
    moments = _moments_of_all(run)
    return 0.0 if moments is None else moments[1]


def _moments(values: Floats, extremes: bool = False) -> tuple[float, float] | None:
    """Return mean and deviation, or minimum and range; None if all values are equal."""
    if len(values) == 0 or values.min() == values.max():
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if extremes:
            return float(values.min()), float(values.max() - values.min())
        return float(values.mean()), float(values.std())


def scalings_of(scaling: Scaling | Sequence[Scaling], runs: int) -> tuple[Scaling, ...]:
    """Return one normalisation per run, from one for all or one per run.

    Examples
    --------
    >>> scalings_of("z", 2), scalings_of(["idf", "query-length"], 2)
    (('z', 'z'), ('idf', 'query-length'))
    """
    scalings = (scaling,) * runs if isinstance(scaling, str) else tuple(scaling)
    for name in scalings:
        if name not in get_args(Scaling):
            raise UnknownNameError.of("normalisation", str(name), get_args(Scaling))
    if len(scalings) != runs:
        raise ParameterError(
            "the normalisation is one for all runs, or one for each run",
            facts=[("normalisations", len(scalings)), ("runs", runs)],
        )
    return scalings
