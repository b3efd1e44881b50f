"""Two or more runs against each other, query by query.

Everything is computed from the per-query differences d = run - baseline of one measure, n of them.

=====================  ===================================================================================
difference             mean of d; relative: divided by the baseline's mean, None where that is 0
t, p, interval, d_z    see :mod:`termwise.evaluate.paired_tests`
wins, ties, losses     queries with d > 0, = 0, < 0 as seen from the run
=====================  ===================================================================================

The family of the corrections is all comparisons made for one measure, separately for each of the two tests:
runs - 1 against a baseline, runs·(runs - 1)/2 for all pairs, those with an undefined p among them. Measures
are not pooled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError, DuplicateIdError, ParameterError, UnknownNameError
from termwise.evaluate.correction import bonferroni, holm
from termwise.evaluate.criterion import MOST_RESAMPLES, USUAL, Correction, Criterion, Test, check_names
from termwise.evaluate.evaluation import Evaluation, Evaluator, MissingRule
from termwise.evaluate.number_format import json_line, shortlist
from termwise.evaluate.paired_tests import mean_interval, paired_differences, paired_t, sign_flip_p
from termwise.records import Exclusion, Qrel, Run

if TYPE_CHECKING:
    from ir_measures import Measure


@final
@dataclass(frozen=True, eq=False)
class Contrast:
    """One run against another under one measure; the module says how each number is made.

    Attributes
    ----------
    measure, baseline, run : str
        What is compared; differences are `run` minus `baseline`.
    queries : int
        Number n of queries.
    baseline_mean, run_mean, difference : float
        Averages over the queries, and the difference of the two.
    relative : float or None
        ``difference / baseline_mean``, 0.1 for ten percent more.
    ci_low, ci_high : float or None
        Bounds of the confidence interval of the mean difference.
    t, p_t, p_t_bonferroni, p_t_holm : float or None
        Paired t-test: statistic, p-value, corrected p-values.
    p_permutation, p_permutation_bonferroni, p_permutation_holm : float or None
        Sign-flip test: p-value in (0, 1], corrected p-values.
    effect_size : float or None
        Cohen's d_z.
    wins, ties, losses : int
        Queries on which the run is better, equal, worse.
    differences : ndarray of shape (n,), float64
        Per query, in the order of ``Comparison.query_ids``; read-only.
    """

    measure: str
    baseline: str
    run: str
    queries: int
    baseline_mean: float
    run_mean: float
    difference: float
    relative: float | None
    ci_low: float | None
    ci_high: float | None
    t: float | None
    p_t: float | None
    p_t_bonferroni: float | None
    p_t_holm: float | None
    p_permutation: float | None
    p_permutation_bonferroni: float | None
    p_permutation_holm: float | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    differences: npt.NDArray[np.float64]

    def p(self, test: Test, correction: Correction) -> float | None:
        """Return the p-value of one test under one correction."""
        check_names(test, correction)
        name = f"p_{test}" if correction == "none" else f"p_{test}_{correction}"
        value: float | None = getattr(self, name)
        return value

    def row(self) -> dict[str, str | int | float | None]:
        """Return all fields but the per-query differences, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "differences"}


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Several runs over the same queries, and the contrasts between them.

    Attributes
    ----------
    evaluations : tuple of Evaluation
        One a run, in the order given, all over `query_ids`.
    baseline : str
        Name of the run that the others are held against.
    pairs : {"baseline", "all"}
        Which contrasts were made.
    contrasts : tuple of Contrast
        By measure, then in the order of the runs.
    confidence : float
        Of the intervals.
    resamples : int
        Of the permutation test and the bootstrap.
    seed : int
        With which both were drawn.
    """

    evaluations: tuple[Evaluation, ...]
    baseline: str
    pairs: Literal["baseline", "all"]
    contrasts: tuple[Contrast, ...]
    confidence: float
    resamples: int
    seed: int

    @property
    def query_ids(self) -> tuple[str, ...]:
        """The queries compared on, in the order of the judgments."""
        return self.evaluations[0].query_ids

    @property
    def measures(self) -> tuple[str, ...]:
        """Canonical names of the measures."""
        return self.evaluations[0].measures

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs, in the order given."""
        return tuple(evaluation.run for evaluation in self.evaluations)

    @property
    def family(self) -> int:
        """Number of comparisons for one measure: the size the corrections start from."""
        return len(self.contrasts) // len(self.measures)

    def of(self, measure: str) -> tuple[Contrast, ...]:
        """Return the contrasts of one measure, by its canonical name."""
        if measure not in self.measures:
            raise UnknownNameError.of("measure of this comparison", measure, self.measures)
        return tuple(contrast for contrast in self.contrasts if contrast.measure == measure)

    def to_json_lines(self, *, per_query: bool = False, criterion: Criterion = USUAL) -> Iterator[str]:
        """Yield JSON objects, one a line: the runs, the contrasts, on request the queries.

        Parameters
        ----------
        per_query : bool, optional
            Whether to add the values of each run, and the differences of each contrast, query by query.
        criterion : Criterion, optional
            When a run is called better or worse.

        Yields
        ------
        str
            For each run what :meth:`Evaluation.to_json_lines` gives; for each contrast ``{"kind": "contrast",
            …, "confidence": …, "resamples": …, "seed": …, "test": …, "correction": …, "level": …,
            "verdict": …}`` with the fields of :class:`Contrast`, and on request ``{"kind": "difference",
            "measure": …, "baseline": …, "run": …, "query_id": …, "difference": …}``. Undefined statistics
            are null.
        """
        for evaluation in self.evaluations:
            yield from evaluation.to_json_lines(per_query=per_query)
        settings = {"confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}
        for contrast in self.contrasts:
            judged = {**asdict(criterion), "verdict": criterion.verdict(contrast)}
            yield json_line({"kind": "contrast", **contrast.row(), **settings, **judged})
            if not per_query:
                continue
            for query_id, difference in zip(self.query_ids, contrast.differences.tolist(), strict=True):
                yield json_line(
                    {
                        "kind": "difference",
                        "measure": contrast.measure,
                        "baseline": contrast.baseline,
                        "run": contrast.run,
                        "query_id": query_id,
                        "difference": difference,
                    }
                )


def compare(
    runs: Sequence[Run],
    qrels: Iterable[Qrel],
    measures: Iterable[str | Measure],
    *,
    baseline: str | None = None,
    pairs: Literal["baseline", "all"] = "baseline",
    missing: MissingRule = "zero",
    exclude: Exclusion = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare runs query by query.

    Parameters
    ----------
    runs : sequence of Run
        At least two, with distinct names.
    qrels : iterable of Qrel
        The judgments.
    measures : iterable of str or ir_measures.Measure
        As :func:`~termwise.evaluate.parse_measures` reads them.
    baseline : str, optional
        Name of the run to hold the others against; the first unless named.
    pairs : {"baseline", "all"}, optional
        Compare each run with the baseline, or every two runs (the earlier one as the baseline of the pair).
    missing, exclude
        As in :func:`~termwise.evaluate.evaluate`. With ``missing="skip"`` only the queries that every run
        holds are compared, and all averages are over these: otherwise they would be about different queries.
    confidence : float, optional
        Of the intervals, between 0 and 1.
    resamples : int, optional
        Sign flips and bootstrap samples, 100 to 10,000,000.
    seed : int, optional
        At least 0. Every test is drawn from a generator newly seeded with it, so that a contrast depends
        neither on the other runs nor on their order.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError, UnknownNameError, DuplicateIdError
        If there are fewer than two runs, two have one name, or an option cannot be used.
    DataError
        As in :func:`~termwise.evaluate.evaluate`, or if with ``missing="skip"`` no query is in every run.

    Examples
    --------
    >>> from termwise.records import Qrel, Ranking, Run
    >>> qrels = [Qrel(q, "a", 1) for q in ("q1", "q2", "q3")]
    >>> def run(name, orders):
    ...     return Run([Ranking(list(o), [2, 1], query_id=f"q{i}") for i, o in enumerate(orders, 1)], name)
    >>> result = compare([run("old", ["ba", "ba", "ab"]), run("new", ["ab", "ab", "ab"])], qrels, ["RR"])
    >>> contrast = result.contrasts[0]
    >>> round(contrast.difference, 4), contrast.wins, contrast.ties, contrast.losses
    (0.3333, 2, 1, 0)
    >>> contrast.p_permutation
    0.5
    """
    plan = _Plan.checked([run.name for run in runs], baseline, pairs, confidence, resamples, seed)
    evaluator = Evaluator(qrels, measures, missing=missing, exclude=exclude)
    return plan.carried_out(_over_shared_queries([evaluator.evaluate(run) for run in runs]))


def compare_evaluations(
    evaluations: Sequence[Evaluation],
    *,
    baseline: str | None = None,
    pairs: Literal["baseline", "all"] = "baseline",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare runs that are measured already, query by query.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least two, of runs with distinct names, under the same measures. Only the queries that all of them hold are
        compared.
    baseline, pairs, confidence, resamples, seed
        As in :func:`compare`.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError, UnknownNameError, DuplicateIdError
        If there are fewer than two, two have one name, their measures differ, or an option cannot be used.
    DataError
        If no query is in all of them.

    Examples
    --------
    >>> from termwise.evaluate import evaluate
    >>> from termwise.records import Qrel, Ranking, Run
    >>> qrels = [Qrel("q1", "a", 1), Qrel("q2", "a", 1)]
    >>> def measured(name, order):
    ...     rankings = [Ranking(list(order), [2, 1], query_id=query_id) for query_id in ("q1", "q2")]
    ...     return evaluate(Run(rankings, name), qrels, ["RR"])
    >>> compare_evaluations([measured("old", "ba"), measured("new", "ab")]).contrasts[0].difference
    0.5
    """
    plan = _Plan.checked([one.run for one in evaluations], baseline, pairs, confidence, resamples, seed)
    measures = evaluations[0].measures
    for one in evaluations:
        if one.measures != measures:
            raise ParameterError(
                "runs that are compared have to be measured alike",
                facts=[(other.run, ", ".join(other.measures)) for other in (evaluations[0], one)],
            )
    return plan.carried_out(_over_shared_queries(evaluations))


@dataclass(frozen=True)
class _Plan:
    """Which runs are held against which, and how, checked."""

    baseline: str
    pairs: Literal["baseline", "all"]
    couples: tuple[tuple[str, str], ...]
    confidence: float
    resamples: int
    seed: int

    @classmethod
    def checked(
        cls,
        names: Sequence[str],
        baseline: str | None,
        pairs: Literal["baseline", "all"],
        confidence: float,
        resamples: int,
        seed: int,
    ) -> _Plan:
        chosen = _check_names(names, baseline)
        _check_choice("pairs", pairs, ("baseline", "all"))
        _check_number("confidence", confidence, "a number between 0 and 1", 0 < confidence < 1, 0.95)
        enough = 100 <= resamples <= MOST_RESAMPLES
        _check_number("resamples", resamples, f"a whole number from 100 to {MOST_RESAMPLES}", enough, 10_000)
        _check_number("seed", seed, "a whole number from 0", seed >= 0, 0)
        couples = (
            tuple(combinations(names, 2))
            if pairs == "all"
            else tuple((chosen, name) for name in names if name != chosen)
        )
        return cls(chosen, pairs, couples, confidence, resamples, seed)

    def carried_out(self, evaluations: tuple[Evaluation, ...]) -> Comparison:
        by_name = {evaluation.run: evaluation for evaluation in evaluations}
        contrasts: list[Contrast] = []
        for measure in evaluations[0].measures:
            family = [
                _contrast(measure, by_name[one], by_name[other], self.confidence, self.resamples, self.seed)
                for one, other in self.couples
            ]
            contrasts += _corrected(family)
        return Comparison(
            evaluations,
            self.baseline,
            self.pairs,
            tuple(contrasts),
            self.confidence,
            self.resamples,
            self.seed,
        )


def _check_names(names: Sequence[str], baseline: str | None) -> str:
    if len(names) < 2:
        raise ParameterError(
            "a comparison needs at least two runs",
            facts=[("runs", ", ".join(names) or "none")],
            fixes=["add a second run, or evaluate the one alone"],
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DuplicateIdError(
            "two runs have the same name, and a table could not tell them apart",
            facts=[("name", shortlist(twice))],
            fixes=["give each run a name of its own: Run(rankings, name=…)"],
        )
    if baseline is not None and baseline not in names:
        raise UnknownNameError.of("run", baseline, names)
    return names[0] if baseline is None else baseline


def _check_choice(label: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(
            f"{label} cannot be {value!r}", facts=[("given", repr(value)), ("expected", " or ".join(choices))]
        )


def _check_number(label: str, value: float, expected: str, holds: bool, usual: float) -> None:
    whole = label == "confidence" or isinstance(value, int)
    if not (holds and whole):
        raise ParameterError(
            f"{label} is out of range",
            facts=[("given", shown(value)), ("expected", expected)],
            fixes=[f"--{label} {usual} (in Python {label}={usual})"],
        )


def _over_shared_queries(evaluations: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
    shared = set(evaluations[0].query_ids).intersection(*(e.query_ids for e in evaluations[1:]))
    if not shared:
        raise DataError(
            "no judged query is in every run, so there is nothing to compare",
            facts=[("queries of " + e.run, e.counts.queries) for e in evaluations],
            fixes=["count missing queries as 0 (missing='zero', the default)"],
        )
    first = evaluations[0].select(shared)
    return (first, *(_in_order(evaluation.select(shared), first.query_ids) for evaluation in evaluations[1:]))


def _in_order(evaluation: Evaluation, query_ids: tuple[str, ...]) -> Evaluation:
    """Return the same with its queries in another order."""
    if evaluation.query_ids == query_ids:
        return evaluation
    row = {query_id: number for number, query_id in enumerate(evaluation.query_ids)}
    rows = [row[query_id] for query_id in query_ids]
    values = {name: column[rows] for name, column in evaluation.values.items()}
    for column in values.values():
        column.setflags(write=False)
    return replace(evaluation, query_ids=query_ids, values=values)


def _contrast(
    measure: str,
    one: Evaluation,
    other: Evaluation,
    confidence: float,
    resamples: int,
    seed: int,
) -> Contrast:
    before, after = one.values[measure], other.values[measure]
    differences = paired_differences(before, after)
    baseline_mean, run_mean = float(before.mean()), float(after.mean())
    difference = float(differences.mean())
    t, p_t, effect_size = paired_t(before, after)
    low, high = mean_interval(differences, confidence=confidence, resamples=resamples, seed=seed)
    return Contrast(
        measure=measure,
        baseline=one.run,
        run=other.run,
        queries=len(differences),
        baseline_mean=baseline_mean,
        run_mean=run_mean,
        difference=difference,
        relative=difference / baseline_mean if baseline_mean != 0 else None,
        ci_low=low,
        ci_high=high,
        t=t,
        p_t=p_t,
        p_t_bonferroni=None,
        p_t_holm=None,
        p_permutation=sign_flip_p(differences, resamples=resamples, seed=seed),
        p_permutation_bonferroni=None,
        p_permutation_holm=None,
        effect_size=effect_size,
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
        differences=differences,
    )


def _corrected(family: Sequence[Contrast]) -> list[Contrast]:
    by_t = [contrast.p_t for contrast in family]
    by_flips = [contrast.p_permutation for contrast in family]
    return [
        replace(
            contrast,
            p_t_bonferroni=t_bonferroni,
            p_t_holm=t_holm,
            p_permutation_bonferroni=flips_bonferroni,
            p_permutation_holm=flips_holm,
        )
        for contrast, t_bonferroni, t_holm, flips_bonferroni, flips_holm in zip(
            family, bonferroni(by_t), holm(by_t), bonferroni(by_flips), holm(by_flips), strict=True
        )
    ]
