"""Demands on a ranker that a machine can check: ``typos<-0.3`` fails where a score is below -0.3."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from termwise.errors import UnknownNameError, UsageError

_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_WRITTEN = re.compile(r"\s*(?P<probe>[^<>=\s][^<>=]*?)\s*(?P<sign><=|>=|<|>)\s*(?P<value>[-+−]?\d*\.?\d+)\s*")


@dataclass(frozen=True)
class Demand:
    """What must not be: the score of a probe on one side of a number.

    Attributes
    ----------
    text : str
        As it was written.
    probe : str
        A name of a probe, or a pattern with ``*``. A name without ``@`` is the probe on whatever texts.
    scorer : str
        A name or pattern; ``*`` for every one.
    sign : str
        ``<``, ``<=``, ``>`` or ``>=``.
    value : float
    """

    text: str
    probe: str
    scorer: str
    sign: str
    value: float

    @classmethod
    def read(cls, text: str) -> Demand:
        """Read ``[SCORER:]PROBE<NUMBER``.

        Raises
        ------
        UsageError
            If it is written otherwise.

        Examples
        --------
        >>> demand = Demand.read("bm25:typos<-0.3")
        >>> demand.scorer, demand.probe, demand.sign, demand.value
        ('bm25', 'typos', '<', -0.3)
        """
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise UsageError(
                "a demand is a probe, a sign and a number",
                facts=[("given", text)],
                fixes=["--fail-if 'typos<-0.3'", "--fail-if 'bm25:shuffle-*>=0.1'"],
            )
        scorer, colon, probe = found["probe"].rpartition(":")
        return cls(
            text, probe, scorer if colon else "*", found["sign"], float(found["value"].replace("−", "-"))
        )

    def fits(self, cell: Mapping[str, Any]) -> bool:
        """Whether a cell is one that is spoken of."""
        name = cell["probe"]
        short = name if "@" in self.probe else name.partition("@")[0]
        return fnmatchcase(short, self.probe) and fnmatchcase(cell["scorer"], self.scorer)


def unmet(demands: Iterable[Demand], report: Mapping[str, Any]) -> list[tuple[Demand, dict[str, Any]]]:
    """Return the cells that are as they must not be.

    A cell without a score, because the probe has no sample, is none of them.

    Raises
    ------
    UnknownNameError
        If a demand speaks of no cell: a check that nothing can fail is a mistake.
    """
    found = []
    for demand in demands:
        cells = [cell for cell in report["cells"] if demand.fits(cell)]
        if not cells:
            names = {cell["probe"].partition("@")[0] for cell in report["cells"]}
            raise UnknownNameError.of(
                f"probe of {demand.text!r} among those asked", demand.probe, sorted(names)
            )
        found += [
            (demand, cell)
            for cell in cells
            if cell["score"] is not None and _SIGNS[demand.sign](cell["score"], demand.value)
        ]
    return found
