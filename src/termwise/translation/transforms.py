"""Transformations of a trained translation table; each function returns a new table.

The published pipeline [1]_ cuts the vocabulary, drops small probabilities and, for scoring, multiplies every row by
1 - p and adds p to the diagonal, so rows with dropped entries sum to less than 1: ``for_scoring(mode="add")``. In the
paper [2]_ rows sum to 1 and the diagonal is p: ``for_scoring(mode="set", renormalise=True)``.

References
----------
.. [1] FlexNeuART, https://github.com/oaqa/FlexNeuART
.. [2] L. Boytsov and Z. Kolter, Exploring classic and neural lexical translation models for information retrieval,
   ECIR 2021, arXiv 2102.06815.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError, UnknownNameError
from termwise.fixes import Code, Fix
from termwise.translation.table import TranslationTable

SelfTranslation = Literal["add", "set"]

SELF_TRANSLATIONS: tuple[SelfTranslation, ...] = get_args(SelfTranslation)


def cut_vocabulary(
    table: TranslationTable, frequencies: npt.NDArray[np.int64], most: int
) -> TranslationTable:
    """Keep the most frequent terms, as sources and as targets.

    The numbering does not change; other terms get empty rows and columns, and 0 occurrences.

    Parameters
    ----------
    table : TranslationTable
    frequencies : ndarray of shape (V,), int64
        Document frequency of each term.
    most : int
        Number of terms to keep; terms tied with the last one are kept as well.
    """
    if most >= len(table):
        return table
    frequent = frequencies >= np.partition(frequencies, len(table) - most)[len(table) - most]
    cut = _kept(table, frequent[table.sources] & frequent[table.targets], table.probabilities)
    return replace(cut, occurrences=np.where(frequent, table.occurrences, 0))


def above(table: TranslationTable, least: float) -> TranslationTable:
    """Drop the probabilities below a threshold; rows then sum to less than 1.

    Raises
    ------
    ParameterError
        If the threshold is not a number from 0 to 1.
    """
    if not 0 <= least <= 1:
        raise ParameterError(
            "the threshold for probabilities is a number from 0 to 1", facts=[("given", least)]
        )
    return _kept(table, table.probabilities.astype(np.float64) >= least, table.probabilities)


def renormalised(table: TranslationTable) -> TranslationTable:
    """Scale each row to a sum of 1; empty rows stay empty."""
    return _kept(
        table, np.ones(table.nnz, dtype=np.bool_), table.probabilities / table.row_sums[table.sources]
    )


def for_scoring(
    table: TranslationTable, *, least: float, mode: SelfTranslation, renormalise: bool
) -> TranslationTable:
    """Return the factor of (1 - p_self) in the scoring formula: the table without self-translation.

    Parameters
    ----------
    table : TranslationTable
    least : float
        Threshold for the trained probabilities.
    mode : {"add", "set"}
        ``set`` drops the diagonal, so that it becomes p_self.
    renormalise : bool
        Scale each remaining row to a sum of 1.

    Raises
    ------
    ParameterError
        If `least` is not a number from 0 to 1, or removes every entry.
    UnknownNameError
        If there is no such mode.
    """
    if mode not in SELF_TRANSLATIONS:
        raise UnknownNameError.of("mode of self-translation", str(mode), SELF_TRANSLATIONS)
    scaled = above(table, least)
    if table.nnz and not scaled.nnz:
        raise ParameterError(
            "no probability of the table reaches the threshold",
            facts=[("least", least), ("largest of the table", float(table.probabilities.max()))],
            fixes=[Fix.use("set a smaller one, such as {}, or omit it for the default", least=0.001)],
        )
    if mode == "set":
        scaled = _kept(scaled, scaled.sources != scaled.targets, scaled.probabilities)
    return renormalised(scaled) if renormalise else scaled


def refuse_empty(table: TranslationTable, *, least: float) -> None:
    """Raise an error if the settings removed every entry of a trained table."""
    if not table.nnz:
        raise ParameterError(
            "the table is empty: no probability reaches the threshold",
            facts=[("least", least)],
            fixes=[
                Fix.use("keep the estimate and lower the threshold: {}", resume=True, least=Code("NUMBER"))
            ],
        )


def _kept(
    table: TranslationTable, kept: npt.NDArray[np.bool_], probabilities: npt.NDArray[np.floating[Any]]
) -> TranslationTable:
    """Return the table with other probabilities, restricted to the kept entries."""
    return replace(
        table,
        indptr=np.concatenate(([0], np.cumsum(kept)))[table.indptr],
        targets=table.targets[kept],
        probabilities=probabilities[kept].astype(np.float32),
    )
