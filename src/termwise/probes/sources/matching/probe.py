"""The probe of a variable where a control is held."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from termwise.probes.core.probe import Probe, Strategy
from termwise.probes.core.sample import Sample
from termwise.probes.sources.matching.counting import Counted, CountedTexts
from termwise.probes.sources.matching.measurements import Measurement
from termwise.probes.sources.matching.pairs import check_tolerance, matched_pairs
from termwise.validation import wrong


class MatchedProbe(Probe):
    """Judged texts of one query that agree in the control; the first has the larger value of the variable.

    Parameters
    ----------
    variable, control : Measurement
        Two different ones.
    counted : CountedTexts
        The judged texts; probes of one collection share them.
    tolerance : float, optional
        How far apart two values of the control may be, and still agree. As published they are equal.

    Raises
    ------
    ParameterError
        If variable and control are the same, or the tolerance is negative.

    Examples
    --------
    >>> from termwise.probes.core.judged_texts import JudgedTexts
    >>> from termwise.probes.sources.matching.measurements import Length, Relevance
    >>> from termwise.text import make_analyzer
    >>> judged = JudgedTexts("toy", {"q": "cat"}, {"a": "A cat.", "b": "A dog."}, {"q": {"a": 2, "b": 0}}, 0)
    >>> probe = MatchedProbe(Relevance(), Length(), CountedTexts(judged, make_analyzer("standard")))
    >>> probe.name, probe.title
    ('relevance-by-length@toy', 'Relevance | Length')
    >>> probe.definition
    'Two judged texts of a query, of equally many terms; the first is judged more relevant.'
    >>> [(sample.first, sample.second) for sample in probe.samples(0)]
    [('A cat.', 'A dog.')]
    """

    strategy: Strategy = "measure-and-match"

    def __init__(
        self, variable: Measurement, control: Measurement, counted: CountedTexts, *, tolerance: float = 0.0
    ) -> None:
        if variable.name == control.name:
            raise wrong("control", control.name, "another measurement than the variable")
        check_tolerance(tolerance)
        near = f"-within-{tolerance:g}" if tolerance else ""
        self.name = f"{variable.name}-by-{control.name}{near}@{counted.judged.name}"
        self.title = f"{variable.title} | {control.title}" + (f" ± {tolerance:g}" if tolerance else "")
        within = f", give or take {tolerance:g}" if tolerance else ""
        self.definition = f"Two judged texts of a query, {control.alike}{within}; the first {variable.more}."
        self._variable, self._control = variable, control
        self._counted = counted
        self._tolerance = tolerance

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; nothing is drawn."""
        for query_id in sorted(self._counted.judged.grades):
            yield from self._of_query(self._counted.of(query_id))

    def _of_query(self, counted: Counted) -> Iterator[Sample]:
        variable, control = self._variable.values(counted), self._control.values(counted)
        said = np.ones(len(counted.texts), dtype=bool)
        for measurement, values in ((self._variable, variable), (self._control, control)):
            if measurement.above_zero:
                said &= values[:, 0] > 0
        places = np.flatnonzero(said)
        higher, lower = matched_pairs(variable[places], control[places], tolerance=self._tolerance)
        of_variable, of_control = (
            [row[0] if len(row) == 1 else row for row in values[places].tolist()]
            for values in (variable, control)
        )
        texts = [counted.texts[place] for place in places]
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
                    self._variable.name: [of_variable[one], of_variable[other]],
                    self._control.name: [of_control[one], of_control[other]],
                },
            )
