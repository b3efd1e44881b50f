"""Shared by the targets that are file forms of one index: refusals, statements, order of terms, sums of rows."""

from __future__ import annotations

from typing import cast, final

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, refuse_float, refuse_several, refuse_vectors
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index.reader import ImpactRows
from termwise.text.vocabulary import BACKGROUND


def refuse_all_but_impacts(title: str, source: ExportSource) -> None:
    """Raise `ParameterError` unless the source is one index of impacts, which are whole numbers."""
    refuse_several(title, source)
    refuse_vectors(title, source)
    refuse_float(title, source)


def scale_of(source: ExportSource) -> dict[str, float]:
    """Return the description of the scale of the impacts of one index."""
    return {"scale": source.parts[0].index.manifest.quantiser.scale}


def integer_statements(source: ExportSource) -> list[Statement]:
    """Return the statements of a form with whole numbers and identifiers only."""
    lines = [
        Statement(
            "weights",
            True,
            "frequencies are the impacts of the index, which are whole numbers; query weights are in the query kit",
        )
    ]
    if source.parts[0].has_bias:
        lines.append(Statement("document bias", True, f"it is the frequency of the token {BACKGROUND}"))
    if source.schema or source.has_texts:
        lines.append(Statement("texts and attributes", False, "the form has none"))
    return lines


def no_changes(title: str) -> ParameterError:
    """Return the error for changes of a form that is written as a whole."""
    return ParameterError(
        f"{title}: the form has no changes; it is written as a whole",
        fixes=[Fix.use("export the index anew with {}", overwrite=True)],
    )


def no_filters(title: str) -> ParameterError:
    """Return the error for a filter in a form without attributes."""
    return ParameterError(
        f"{title}: there are no attributes, and no filters",
        fixes=["choose a target with filters, such as sqlite or opensearch"],
    )


def byte_order(source: ExportSource) -> tuple[npt.NDArray[np.int32], list[int]]:
    """Sort the terms by the UTF-8 bytes of their tokens; return the rank of each term, and the sorted terms.

    The order of code points is that of the bytes.
    """
    tokens = source.parts[0].tokens
    order = sorted(range(len(tokens)), key=tokens.__getitem__)
    ranks = np.empty(len(tokens), dtype=np.int32)
    ranks[order] = np.arange(len(tokens), dtype=np.int32)
    return ranks, order


@final
@dataclass(frozen=True, eq=False)
class RowSums:
    """Sum of the impacts of each row, and its bias, of an index that is read batch by batch.

    Attributes
    ----------
    impacts, biases : ndarray of shape (rows,), int64
    """

    impacts: npt.NDArray[np.int64]
    biases: npt.NDArray[np.int64]

    @classmethod
    def for_rows(cls, rows: int) -> RowSums:
        """Return sums of 0 for a number of rows."""
        return cls(np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64))

    def add(self, batch: Batch) -> None:
        """Set the sums of the rows of a batch."""
        found = cast(ImpactRows, batch.rows[0])
        sums = np.concatenate([[0], np.cumsum(found.impacts)])
        self.impacts[batch.positions] = sums[found.indptr[1:]] - sums[found.indptr[:-1]]
        self.biases[batch.positions] = found.biases  # 0 without a background term
