"""What can be done to a translation table once it is trained; each function returns a new one.

The published pipeline [1]_ cuts the vocabulary, drops small probabilities and, when it scores, multiplies every row by
1 - p and adds p to the diagonal. Its rows then sum to less than 1 where something was dropped::

    with_self_translation(above(cut_vocabulary(table, frequencies, 1_000_000), 1e-3), 0.3, "add")

The paper [2]_ speaks of rows that sum to 1 and of a diagonal that is p::

    with_self_translation(renormalised(without_self_translation(above(table, 1e-3))), 0.3, "set")

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

from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError
from termwise.translation.table import TranslationTable

SelfTranslation = Literal["add", "set"]

SELF_TRANSLATIONS: tuple[SelfTranslation, ...] = get_args(SelfTranslation)


def cut_vocabulary(
    table: TranslationTable, frequencies: npt.NDArray[np.int64], most: int
) -> TranslationTable:
    """Keep the most frequent terms, as sources and as targets.

    The numbering stays; the others get empty rows and columns, and do not count as occurrences.

    Parameters
    ----------
    table : TranslationTable
    frequencies : ndarray of shape (V,), int64
        Documents that hold each term.
    most : int
        How many; terms as frequent as the last of them stay as well.

    Raises
    ------
    ParameterError
        If that is fewer than one.
    VocabularyMismatchError
        If there is not one frequency for each term.
    """
    if most < 1:
        raise ParameterError("at least one term must be kept", facts=[("given", most)])
    if len(frequencies) != len(table):
        raise VocabularyMismatchError(
            "the frequencies are not those of the terms of the table",
            facts=[("frequencies", len(frequencies)), ("terms", len(table))],
        )
    if most >= len(table):
        return table
    frequent = frequencies >= np.partition(frequencies, len(table) - most)[len(table) - most]
    made = _kept(table, frequent[table.sources] & frequent[table.targets], table.probabilities)
    return replace(made, occurrences=np.where(frequent, table.occurrences, 0))


def above(table: TranslationTable, least: float) -> TranslationTable:
    """Drop the probabilities below a threshold; rows then sum to less than 1.

    Raises
    ------
    ParameterError
        If the threshold is not a number from 0 to 1.
    """
    if not 0 <= least <= 1:
        raise ParameterError("the least probability is from 0 to 1", facts=[("given", least)])
    return _kept(table, table.probabilities.astype(np.float64) >= least, table.probabilities)


def renormalised(table: TranslationTable) -> TranslationTable:
    """Scale each row to a sum of 1; empty rows stay empty."""
    return _kept(
        table, np.ones(table.nnz, dtype=np.bool_), table.probabilities / table.row_sums[table.sources]
    )


def without_self_translation(table: TranslationTable) -> TranslationTable:
    """Drop the diagonal, T(u|u)."""
    return _kept(table, table.sources != table.targets, table.probabilities)


def with_self_translation(table: TranslationTable, p_self: float, mode: SelfTranslation) -> TranslationTable:
    """Let each term translate to itself: all terms, also those without a row.

    Parameters
    ----------
    table : TranslationTable
    p_self : float
        From 0 to 1.
    mode : {"add", "set"}
        ``add``: T'(t|u) = (1 - p_self) T(t|u), plus p_self where t is u; a row of sum S becomes one of
        (1 - p_self) S + p_self. ``set``: the same after T(u|u) was dropped, so that T'(u|u) is p_self.

    Raises
    ------
    ParameterError
        If p_self is not a number from 0 to 1.
    UnknownNameError
        If there is no such mode.
    """
    if mode not in SELF_TRANSLATIONS:
        raise UnknownNameError.of("mode of self-translation", str(mode), SELF_TRANSLATIONS)
    if not 0 <= p_self <= 1:
        raise ParameterError("a probability of self-translation is from 0 to 1", facts=[("given", p_self)])
    base = without_self_translation(table) if mode == "set" else table
    sources, targets = base.sources, base.targets
    missing = np.ones(len(table), dtype=np.bool_)
    missing[sources[sources == targets]] = False
    new = np.flatnonzero(missing)
    all_sources, all_targets = np.concatenate((sources, new)), np.concatenate((targets, new))
    values = np.concatenate((base.probabilities.astype(np.float64), np.zeros(len(new))))
    values = (1 - p_self) * values + np.where(all_sources == all_targets, p_self, 0.0)
    order = np.lexsort((all_targets, all_sources))
    kept = order[values[order].astype(np.float32) > 0]
    return replace(
        table,
        indptr=np.concatenate(([0], np.cumsum(np.bincount(all_sources[kept], minlength=len(table))))),
        targets=all_targets[kept].astype(np.int32),
        probabilities=values[kept].astype(np.float32),
    )


def for_scoring(
    table: TranslationTable, *, least: float, mode: SelfTranslation, renormalise: bool
) -> TranslationTable:
    """Return what (1 - p_self) multiplies when a table scores: all that p_self has no part in.

    Parameters
    ----------
    table : TranslationTable
    least : float
        Smaller raw probabilities are left out.
    mode : {"add", "set"}
        ``set`` leaves the diagonal out, so that p_self is all of it.
    renormalise : bool
        Scale what is left of each row to a sum of 1.

    Raises
    ------
    ParameterError
        If `least` is not a number from 0 to 1, or leaves nothing of the table.
    UnknownNameError
        If there is no such mode.
    """
    if mode not in SELF_TRANSLATIONS:
        raise UnknownNameError.of("mode of self-translation", str(mode), SELF_TRANSLATIONS)
    made = above(table, least)
    if table.nnz and not made.nnz:
        raise ParameterError(
            "no probability of the table is as large as the least that counts",
            facts=[("least", least), ("largest of the table", float(table.probabilities.max()))],
            fixes=["choose a smaller one, as in --set least=0.001, or leave it out for the default"],
        )
    if mode == "set":
        made = without_self_translation(made)
    return renormalised(made) if renormalise else made


def refuse_empty(table: TranslationTable, *, least: float) -> None:
    """Refuse a table that was trained, and of which its settings leave nothing.

    Raises
    ------
    ParameterError
        If it has no entry.
    """
    if not table.nnz:
        raise ParameterError(
            "nothing is left of the table: no probability is as large as the least that is kept",
            facts=[("least", least)],
            fixes=[
                "go on from what was trained: the same command with --resume, and a smaller --set least=…"
            ],
        )


def _kept(
    table: TranslationTable, kept: npt.NDArray[np.bool_], probabilities: npt.NDArray[np.floating[Any]]
) -> TranslationTable:
    """Return the table with these probabilities in the place of those there are, and only the entries that are kept."""
    return replace(
        table,
        indptr=np.concatenate(([0], np.cumsum(kept)))[table.indptr],
        targets=table.targets[kept],
        probabilities=probabilities[kept].astype(np.float32),
    )
