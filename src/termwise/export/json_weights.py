"""Rows of term weights as JSON objects of token and weight, written fast."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import final

from termwise.export.source import ExportPart
from termwise.index.reader import ImpactRows


@final
class JsonWeights:
    """Writes the rows of a sparse part as JSON objects.

    Parameters
    ----------
    part : ExportPart
    written : callable
        Returns the JSON of a weight for an impact.
    keys : sequence of str, optional
        Names of the terms in place of their tokens.
    """

    def __init__(
        self, part: ExportPart, written: Callable[[int | float], str], keys: Sequence[str] | None = None
    ) -> None:
        self._keys = [json.dumps(key) + ":" for key in (part.tokens if keys is None else keys)]
        self._written: dict[int | float, str] = {}
        self._write = written

    def rows(self, found: ImpactRows) -> list[str]:
        """Return the JSON of each row."""
        terms, impacts, indptr = found.terms.tolist(), found.impacts.tolist(), found.indptr.tolist()
        known = self._written
        for impact in {*impacts}.difference(known):
            known[impact] = self._write(impact) + ","
        pieces = list(
            chain.from_iterable(
                zip(map(self._keys.__getitem__, terms), map(known.__getitem__, impacts), strict=True)
            )
        )
        return ["{" + "".join(pieces[2 * begin : 2 * end])[:-1] + "}" for begin, end in pairwise(indptr)]
