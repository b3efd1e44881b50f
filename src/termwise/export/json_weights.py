"""Fast writing of rows of term weights as JSON objects of token and weight."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import final

from termwise.export.source import Batch, ExportPart
from termwise.index.reader import ImpactRows
from termwise.text.vocabulary import BACKGROUND


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

    def lines(self, batch: Batch, *, bias_unit: float, without_text: str) -> str:
        """Return a line for each row: ``{"id": ..., "contents": ..., "vector": {token: weight}}``.

        A document bias above 0, in units of `bias_unit`, is the weight of the background token. `without_text` takes
        the place of the text if none is stored.
        """
        (found,) = batch.rows
        assert isinstance(found, ImpactRows), "the index has no vectors"
        lines = []
        for row, vector in enumerate(self.rows(found)):
            if found.biases[row]:
                bias = f"{json.dumps(BACKGROUND)}:{found.biases[row].item() * bias_unit:.9g}"
                vector = f"{vector[:-1]}{',' if len(vector) > 2 else ''}{bias}}}"
            text = (
                without_text
                if batch.texts is None
                else f'"contents": {json.dumps(batch.texts[row], ensure_ascii=False)}, '
            )
            doc_id = json.dumps(batch.ids[row], ensure_ascii=False)
            lines.append(f'{{"id": {doc_id}, {text}"vector": {vector}}}\n')
        return "".join(lines)
