"""Paired comparison of two or more runs.

All statistics come from the n per-query differences d = run - baseline of one measure.

=====================  ===================================================================================
difference             mean of d; relative: divided by the baseline's mean, None if that is 0
t, p, interval, d_z    see :mod:`termwise.evaluate.paired_tests`
wins, ties, losses     queries with d > 0, = 0, < 0
=====================  ===================================================================================

The family of the corrections is all comparisons of one measure, separately for each of the two tests: runs - 1 against
a baseline, runs·(runs - 1)/2 for all pairs. Comparisons with an undefined p are included; measures are not pooled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain, combinations
from typing import Literal, final

from termwise.display.safe_text import shown
from termwise.errors import DataError, DuplicateIdError, ParameterError, UnknownNameError
from termwise.evaluate.contrast import DEFAULT_CRITERION, Contrast, Criterion
from termwise.evaluate.evaluation import Evaluation
from termwise.evaluate.formats import json_line, shortlist
from termwise.evaluate.multiple_testing import bonferroni, holm
from termwise.evaluate.paired_tests import (
    MAX_RESAMPLES,
    mean_interval,
    paired_differences,
    paired_t,
    sign_flip_p,
)
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Several runs over the same queries, and the contrasts between them.

    Attributes
    ----------
    evaluations : tuple of Evaluation
        One per run, in the order given, all over `query_ids`.
    baseline : str
        Name of the baseline run.
    pairs : {"baseline", "all"}
        Each run against the baseline, or all pairs of runs.
    contrasts : tuple of Contrast
        By measure, then in the order of the runs.
    confidence : float
        Level of the intervals.
    resamples : int
        Number of sign flips and of bootstrap samples.
    seed : int
        Seed of the sign flips and the bootstrap samples.
    """

    evaluations: tuple[Evaluation, ...]
    baseline: str
    pairs: Literal["baseline", "all"]
    contrasts: tuple[Contrast, ...]
    confidence: float
    resamples: int
    seed: int

    def __repr__(self) -> str:
        runs = ", ".join(map(repr, self.runs))
        return f"Comparison(runs=[{runs}], measures={list(self.measures)}, queries={len(self.query_ids)})"

    def _repr_html_(self) -> str:
        from termwise.display.html import notebook_frame
        from termwise.evaluate.html import comparison_html

        return notebook_frame(comparison_html(self), "Comparison of runs")

    @property
    def query_ids(self) -> tuple[str, ...]:
        """Compared queries, in the order of the judgments."""
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
        """Number of comparisons per measure, the size of the family in the corrections."""
        return len(self.contrasts) // len(self.measures)

    def of(self, measure: str) -> tuple[Contrast, ...]:
        """Return the contrasts of one measure, by its canonical name."""
        if measure not in self.measures:
            raise UnknownNameError.of("measure of this comparison", measure, self.measures)
        return tuple(contrast for contrast in self.contrasts if contrast.measure == measure)

    def to_json_lines(
        self, *, per_query: bool = False, criterion: Criterion = DEFAULT_CRITERION
    ) -> Iterator[str]:
        """Yield JSON objects, one per line: the runs, the contrasts, and optionally the queries.

        Parameters
        ----------
        per_query : bool, optional
            Also yield the values of each run and the differences of each contrast, query by query.
        criterion : Criterion, optional
            Criterion of the verdicts.

        Yields
        ------
        str
            For each run the lines of :meth:`Evaluation.to_json_lines`; for each contrast ``{"kind": "contrast", …,
            "confidence": …, "resamples": …, "seed": …, "test": …, "correction": …, "level": …, "verdict": …}`` with the
            fields of :class:`Contrast`, and optionally ``{"kind": "difference", "measure": …, "baseline": …, "run": …,
            "query_id": …, "difference": …}``. Undefined statistics are null.
        """
        for evaluation in self.evaluations:
            yield from evaluation.to_json_lines(per_query=per_query)
        settings = {"confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}
        for contrast in self.contrasts:
            verdict = {**asdict(criterion), "verdict": criterion.verdict(contrast)}
            yield json_line({"kind": "contrast", **contrast.row(), **settings, **verdict})
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
    evaluations: Sequence[Evaluation],
    *,
    baseline: str | None = None,
    pairs: Literal["baseline", "all"] = "baseline",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare evaluated runs query by query.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least two, of runs with distinct names, with the same measures. Only queries in all evaluations are compared,
        and all averages are over these queries.
    baseline : str, optional
        Name of the baseline run; the first run by default.
    pairs : {"baseline", "all"}, optional
        Compare each run with the baseline, or all pairs of runs (the earlier run is the baseline of a pair).
    confidence : float, optional
        Level of the intervals, between 0 and 1.
    resamples : int, optional
        Number of sign flips and of bootstrap samples, 100 to 10,000,000.
    seed : int, optional
        At least 0. Every test has its own generator with this seed, so a contrast does not depend on the
        other runs or their order.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError, UnknownNameError, DuplicateIdError
        If there are fewer than two runs, two runs have the same name, the measures differ, or an argument is out of
        range.
    DataError
        If no query is in all evaluations, which can occur with ``missing="skip"``.

    Examples
    --------
    >>> from termwise.evaluate import Evaluator
    >>> from termwise.records import Qrel, Ranking, Run
    >>> evaluator = Evaluator([Qrel(q, "a", 1) for q in ("q1", "q2", "q3")], ["RR"])
    >>> def evaluated(name, orders):
    ...     rankings = [Ranking(list(o), [2, 1], query_id=f"q{i}") for i, o in enumerate(orders, 1)]
    ...     return evaluator.evaluate(Run(rankings, name))
    >>> result = compare([evaluated("old", ["ba", "ba", "ab"]), evaluated("new", ["ab", "ab", "ab"])])
    >>> contrast = result.contrasts[0]
    >>> round(contrast.difference, 4), contrast.wins, contrast.ties, contrast.losses
    (0.3333, 2, 1, 0)
    >>> contrast.p_permutation
    0.5
    """
    names = [evaluation.run for evaluation in evaluations]
    chosen = _checked_baseline(names, baseline, pairs, confidence, resamples, seed)
    first = evaluations[0]
    for evaluation in evaluations:
        if evaluation.measures != first.measures:
            raise ParameterError(
                "compared runs need the same measures",
                facts=[(e.run, ", ".join(e.measures)) for e in (first, evaluation)],
            )
    shared = _over_shared_queries(evaluations)
    comparison = Comparison(shared, chosen, pairs, (), confidence, resamples, seed)
    contrasts = chain.from_iterable(_contrasts(comparison, measure) for measure in comparison.measures)
    return replace(comparison, contrasts=tuple(contrasts))


def _contrasts(comparison: Comparison, measure: str) -> Iterator[Contrast]:
    """Yield the contrasts of one measure, with the p-values corrected for their number."""
    values = {evaluation.run: evaluation.values[measure] for evaluation in comparison.evaluations}
    run_pairs = list(combinations(comparison.runs, 2))
    if comparison.pairs == "baseline":
        run_pairs = [(comparison.baseline, run) for run in comparison.runs if run != comparison.baseline]
    seed, resamples = comparison.seed, comparison.resamples
    differences = [paired_differences(values[baseline], values[run]) for baseline, run in run_pairs]
    t_tests = [paired_t(values[baseline], values[run]) for baseline, run in run_pairs]
    p_t = [p for _, p, _ in t_tests]
    p_permutation = [sign_flip_p(d, resamples=resamples, seed=seed) for d in differences]
    corrected = (bonferroni(p_t), holm(p_t), bonferroni(p_permutation), holm(p_permutation))
    for number, ((baseline, run), d) in enumerate(zip(run_pairs, differences, strict=True)):
        baseline_mean, difference = float(values[baseline].mean()), float(d.mean())
        low, high = mean_interval(d, confidence=comparison.confidence, resamples=resamples, seed=seed)
        t, _, effect_size = t_tests[number]
        yield Contrast(
            measure=measure,
            baseline=baseline,
            run=run,
            queries=len(d),
            baseline_mean=baseline_mean,
            run_mean=float(values[run].mean()),
            difference=difference,
            relative=difference / baseline_mean if baseline_mean != 0 else None,
            ci_low=low,
            ci_high=high,
            t=t,
            p_t=p_t[number],
            p_t_bonferroni=corrected[0][number],
            p_t_holm=corrected[1][number],
            p_permutation=p_permutation[number],
            p_permutation_bonferroni=corrected[2][number],
            p_permutation_holm=corrected[3][number],
            effect_size=effect_size,
            wins=int((d > 0).sum()),
            ties=int((d == 0).sum()),
            losses=int((d < 0).sum()),
            differences=d,
        )


def _checked_baseline(
    names: Sequence[str], baseline: str | None, pairs: str, confidence: float, resamples: int, seed: int
) -> str:
    """Check the arguments of a comparison and return the name of the baseline."""
    if len(names) < 2:
        raise ParameterError(
            "a comparison needs at least two runs",
            facts=[("runs", ", ".join(names) or "none")],
            fixes=["add a second run, or evaluate the run alone"],
        )
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise DuplicateIdError(
            "two runs have the same name",
            facts=[("name", shortlist(duplicates))],
            fixes=[Fix.python("Run(rankings, name=…)", "give each run a different name: {}")],
        )
    if baseline is not None and baseline not in names:
        raise UnknownNameError.of("run", baseline, names)
    if pairs not in ("baseline", "all"):
        raise ParameterError(
            f"pairs cannot be {pairs!r}", facts=[("given", repr(pairs)), ("expected", "baseline or all")]
        )
    _check_number("confidence", confidence, "a number between 0 and 1", 0 < confidence < 1, 0.95)
    in_range = 100 <= resamples <= MAX_RESAMPLES
    _check_number("resamples", resamples, f"a whole number from 100 to {MAX_RESAMPLES}", in_range, 10_000)
    _check_number("seed", seed, "a whole number from 0", seed >= 0, 0)
    return names[0] if baseline is None else baseline


def _check_number(name: str, value: float, expected: str, holds: bool, default: float) -> None:
    if not holds or not (name == "confidence" or isinstance(value, int)):
        raise ParameterError(
            f"{name} is out of range",
            facts=[("given", shown(value)), ("expected", expected)],
            fixes=[Fix.use(**{name: default})],
        )


def _over_shared_queries(evaluations: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
    """Return the evaluations reduced to their common queries, in the same order."""
    shared = set(evaluations[0].query_ids).intersection(*(e.query_ids for e in evaluations[1:]))
    if not shared:
        raise DataError(
            "no judged query is in every run, so there is nothing to compare",
            facts=[("queries of " + e.run, e.counts.queries) for e in evaluations],
            fixes=[Fix.use("count missing queries as 0: {}, the default", missing="zero")],
        )
    query_ids = [query_id for query_id in evaluations[0].query_ids if query_id in shared]
    rows = (
        {query_id: row for row, query_id in enumerate(evaluation.query_ids)} for evaluation in evaluations
    )
    return tuple(
        evaluation.at_rows([row_of[query_id] for query_id in query_ids])
        for evaluation, row_of in zip(evaluations, rows, strict=True)
    )
