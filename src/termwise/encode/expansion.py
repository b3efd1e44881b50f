"""Passage expansion: the terms a TILDE encoder finds most likely, appended for a TILDEv2 encoder to weigh.

Which terms may be appended, and in what order, follows the published code of TILDEv2 [1]_.

.. [1] https://github.com/ielab/TILDE, commit 9751709.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt

from termwise.kernels.likelihood import log_sigmoid
from termwise.models.tildev2 import Counting, check_lift
from termwise.text.vocabulary import Vocabulary
from termwise.text.vocabulary_cleaning import clean_vocabulary
from termwise.validation import check, check_count


@dataclass(frozen=True)
class Expansion:
    """Which encoder expands passages, and how.

    Parameters
    ----------
    encoder : str or Path
        An encoder of kind ``tilde``, see `EncoderFolder.open`.
    terms : int
        How many terms, 1 or more.
    counting : {"new", "raw"}, optional
        What that number counts, see `expand`.
    lift : float, optional
        See `TildeV2.expansion_lift`.

    Raises
    ------
    ParameterError
        If a value is of the wrong type, or out of range.
    """

    encoder: str | Path
    terms: int
    counting: Counting = "new"
    lift: float = 0.0

    def __post_init__(self) -> None:
        check("encoder", self.encoder, isinstance(self.encoder, str | Path), "a name or a folder")
        check_count("terms", self.terms)
        check("counting", self.counting, self.counting in get_args(Counting), "new or raw")
        object.__setattr__(self, "lift", check_lift("tildev2", self.lift))


NEVER_APPENDED = frozenset({"how", "what", "when", "which", "why", "who", "where", "definition"})
"""Words that queries ask with but that say nothing about a passage."""


def expandable(vocabulary: Vocabulary) -> npt.NDArray[np.bool_]:
    """Mark the terms that may be appended to a passage.

    Stop words, symbols, special pieces and ``##s`` may not (`clean_vocabulary`, mode ``repo``, whatever mode the
    encoder was trained with), nor may question words and *definition*. Other pieces that continue a word may.

    Parameters
    ----------
    vocabulary : Vocabulary of V terms
        Of the encoder.

    Returns
    -------
    ndarray of shape (V,), bool
        For the vocabulary of uncased BERT, true for 28,394 of 30,522 terms.

    Examples
    --------
    >>> expandable(Vocabulary(["[SEP]", "the", "how", "merge", "##s", "##ing", "definition", "…"])).tolist()
    [False, False, False, True, False, True, False, False]
    """
    allowed = clean_vocabulary(vocabulary, "repo")
    for word in NEVER_APPENDED:
        number = vocabulary.number(word)
        if number is not None:
            allowed[number] = False
    return allowed


def expand(
    logits: npt.NDArray[np.float32],
    passages: Sequence[npt.NDArray[np.integer]],
    *,
    allowed: npt.NDArray[np.bool_],
    terms: int,
    counting: Counting = "new",
    usual: npt.NDArray[np.float32] | None = None,
) -> list[npt.NDArray[np.int32]]:
    """Choose the terms to append to each of several passages.

    Parameters
    ----------
    logits : ndarray of shape (n, V), float32
        Output of a TILDE encoder for each passage; finite.
    passages : sequence of n ndarrays of integers
        The pieces that it read; none of them is appended.
    allowed : ndarray of shape (V,), bool
        See `expandable`.
    terms : int
        How many terms, 1 or more.
    counting : {"new", "raw"}
        ``new``: the `terms` likeliest of those that may be appended (fewer only if there are fewer).
        ``raw``: of the `terms` likeliest overall, those that may be appended, as in the published code.
    usual : ndarray of shape (V,), float32, optional
        What is taken off ln P(t|d) of each term before terms are compared, see `TildeV2.expansion_lift`; finite.
        Without it they are compared as they are.

    Returns
    -------
    list of n ndarrays, int32
        Likeliest first; of equally likely ones the smaller term number first.

    Examples
    --------
    >>> logits = np.array([[4.0, 3.0, 2.0, 1.0, 0.0]], dtype=np.float32)
    >>> allowed = np.array([False, True, True, True, True])
    >>> passage = [np.array([2])]
    >>> expand(logits, passage, allowed=allowed, terms=2)
    [array([1, 3], dtype=int32)]
    >>> expand(logits, passage, allowed=allowed, terms=2, counting="raw")
    [array([1], dtype=int32)]
    >>> usual = np.array([0.0, -0.1, -0.1, -5.0, -0.5], dtype=np.float32)
    >>> expand(logits, passage, allowed=allowed, terms=2, usual=usual)
    [array([3, 1], dtype=int32)]
    """
    if usual is not None:
        logits = log_sigmoid(logits) - usual
    expansions = []
    for scores, passage in zip(logits, passages, strict=True):
        usable = allowed.copy()
        usable[passage] = False
        if counting == "new":
            found = _likeliest(np.where(usable, scores, np.float32(-np.inf)), terms)
        else:
            found = _likeliest(scores, terms)
        expansions.append(found[usable[found]])
    return expansions


def _likeliest(scores: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int32]:
    """Return the numbers of the `count` largest scores, largest first, equal ones by number."""
    count = min(count, len(scores))
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    candidates = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[candidates], kind="stable")
    return candidates[order[:count]].astype(np.int32)
