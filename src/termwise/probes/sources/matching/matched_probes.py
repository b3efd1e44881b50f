"""Measure-and-match probes: judged texts of a query that agree in a control and differ in a variable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from termwise.probes.core.probe import Probe, Strategy
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample
from termwise.probes.sources.matching.measurements import (
    LENGTH,
    OVERLAP,
    RELEVANCE,
    SUM_TERM_FREQUENCY,
    TERM_FREQUENCY,
    CountedQuery,
    CountedTexts,
    Measurement,
    PublishedTerms,
    Values,
)

Places = npt.NDArray[np.int64]

PUBLISHED = (RELEVANCE, LENGTH, TERM_FREQUENCY, OVERLAP)
"""In the order of the published table."""


def matched_pairs(variable: Values, control: Values) -> tuple[Places, Places]:
    """Find all pairs that agree in the control and differ in the variable.

    Two rows agree if all entries are equal. A row is larger if no entry is smaller and at least one is larger.

    Parameters
    ----------
    variable, control : ndarray of shape (n, k) and (n, m)
        A row per text.

    Returns
    -------
    higher, lower : ndarray of shape (p,), int64
        Positions of the text with the larger variable and of the other text, sorted. Two texts make at most one pair.

    Examples
    --------
    >>> grade, length = np.array([[2], [0], [1], [1]]), np.array([[7], [7], [9], [7]])
    >>> higher, lower = matched_pairs(grade, length)
    >>> list(zip(higher.tolist(), lower.tolist()))
    [(0, 1), (0, 3), (3, 1)]
    """
    _, labels = np.unique(control, axis=0, return_inverse=True)
    labels = labels.reshape(-1)
    higher, lower = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for position, row in enumerate(variable):
        candidates = np.flatnonzero(labels == labels[position])
        others = variable[candidates]
        smaller = candidates[(row >= others).all(axis=1) & (row > others).any(axis=1)]
        higher.append(np.full(len(smaller), position, dtype=np.int64))
        lower.append(smaller.astype(np.int64))
    return np.concatenate(higher), np.concatenate(lower)


class MatchedProbe(Probe):
    """Judged texts of a query that agree in the control; the first has the larger value of the variable.

    Examples
    --------
    >>> from termwise.probes.core.judged_texts import JudgedTexts
    >>> judged = JudgedTexts("toy", {"q": "cat"}, {"a": "A cat.", "b": "A dog."}, {"q": {"a": 2, "b": 0}}, 0)
    >>> probe = MatchedProbe(RELEVANCE, LENGTH, CountedTexts(judged, PublishedTerms(frozenset())))
    >>> probe.name, probe.title
    ('relevance-by-length@toy', 'Relevance | Length')
    >>> probe.definition
    'Two judged texts of a query, of equal length in terms; the first has the higher grade.'
    >>> [(sample.first, sample.second) for sample in probe.samples(0)]
    [('A cat.', 'A dog.')]
    """

    strategy: Strategy = "measure-and-match"

    def __init__(self, variable: Measurement, control: Measurement, counted: CountedTexts) -> None:
        self.name = f"{variable.name}-by-{control.name}@{counted.judged.name}"
        self.title = f"{variable.title} | {control.title}"
        self.definition = f"Two judged texts of a query, {control.alike}; the first {variable.more}."
        self._variable, self._control = variable, control
        self._counted = counted

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; nothing is random."""
        for query_id in sorted(self._counted.judged.grades):
            yield from self._of_query(self._counted.of(query_id))

    def _of_query(self, counted: CountedQuery) -> Iterator[Sample]:
        measurements = (self._variable, self._control)
        values = [measurement.values(counted) for measurement in measurements]
        is_used = np.ones(len(counted.texts), dtype=bool)
        for measurement, rows in zip(measurements, values, strict=True):
            if measurement.above_zero:
                is_used &= rows[:, 0] > 0
        positions = np.flatnonzero(is_used)
        variable, control = (rows[positions] for rows in values)
        texts = [counted.texts[position] for position in positions]
        higher, lower = matched_pairs(variable, control)
        facts = {
            measurement.name: [row[0] if len(row) == 1 else row for row in rows.tolist()]
            for measurement, rows in zip(measurements, (variable, control), strict=True)
        }
        for one, other in zip(higher.tolist(), lower.tolist(), strict=True):
            first, second = texts[one], texts[other]
            yield Sample(
                sample_id=f"{first.query_id}/{first.doc_id} > {second.doc_id}",
                query=first.query,
                first=first.text,
                second=second.text,
                query_id=first.query_id,
                facts={
                    "documents": [first.doc_id, second.doc_id],
                    **{name: [rows[one], rows[other]] for name, rows in facts.items()},
                },
            )


def matched_probes(inputs: ProbeInputs) -> list[Probe]:
    """Make the 12 published probes for each judged collection."""
    return _probes(inputs, list(permutations(PUBLISHED, 2)))


def sum_tf_probes(inputs: ProbeInputs) -> list[Probe]:
    """Make the 7 probes with the sum of term frequencies, which are not published.

    The vector of term frequencies is not a control, because two texts with equal vectors also have equal sums.
    """
    choices = [
        pair for other in PUBLISHED for pair in ((SUM_TERM_FREQUENCY, other), (other, SUM_TERM_FREQUENCY))
    ]
    return _probes(inputs, [pair for pair in choices if pair[1] != TERM_FREQUENCY])


def _probes(inputs: ProbeInputs, choices: Sequence[tuple[Measurement, Measurement]]) -> list[Probe]:
    probes: list[Probe] = []
    for judged in inputs.judged:
        counted = CountedTexts(judged, PublishedTerms(inputs.stop_words))
        probes += [MatchedProbe(variable, control, counted) for variable, control in choices]
    return probes


FAMILY = Family(
    "matched",
    "preference among judged texts that agree in one measurement and differ in another",
    matched_probes,
)

FAMILY_SUM_TF = Family("matched-sum-tf", "the same with the total count of all query terms", sum_tf_probes)
