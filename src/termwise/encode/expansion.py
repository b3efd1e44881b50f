"""Passage expansion for TILDEv2: the most likely terms of a passage by a TILDE encoder.

The choice of terms and their order follow the published code of TILDEv2 [1]_.

.. [1] https://github.com/ielab/TILDE, commit 9751709.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt

from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.fast_dataclass import dataclass
from termwise.kernels.likelihood import log_sigmoid
from termwise.models.checks import UNIT, check_parameter
from termwise.models.tildev2 import Counting
from termwise.text.cleaned_analyzer import clean_vocabulary
from termwise.text.vocabulary import Vocabulary
from termwise.validation import check, check_count


@dataclass(frozen=True)
class Expansion:
    """Expansion of training passages.

    Parameters
    ----------
    encoder : str or Path
        Encoder of kind ``tilde``, see `EncoderFolder.open`.
    terms : int
        Number of terms, 1 or more.
    counting : {"new", "raw"}, optional
        What `terms` counts, see `expand`.
    lift : float, optional
        See `TildeV2.expansion_lift`.
    precision : {"float32", "int8"}, optional
        Precision of its network; by default that of a resumed run, or see
        `termwise.encode.onnx_session.choose_precision`.
    providers : sequence of str, optional
        Execution providers of its network, see `OnnxSession`; the CPU by default.

    Raises
    ------
    ParameterError
        If a value has the wrong type or is out of range.
    """

    encoder: str | Path
    terms: int
    counting: Counting = "new"
    lift: float = 0.0
    precision: NetworkPrecision | None = None
    providers: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check("encoder", self.encoder, isinstance(self.encoder, str | Path), "a name or a folder")
        check_count("terms", self.terms)
        check("counting", self.counting, self.counting in get_args(Counting), "new or raw")
        lift = check_parameter("tildev2", "expansion_lift", self.lift, float, UNIT)
        object.__setattr__(self, "lift", lift)


QUESTION_WORDS = frozenset({"how", "what", "when", "which", "why", "who", "where", "definition"})
"""Words that are common in questions and never appended to a passage."""


def expandable(vocabulary: Vocabulary) -> npt.NDArray[np.bool_]:
    """Return which terms of the vocabulary of an encoder may be appended to a passage: shape (V,), bool.

    These are the terms that `clean_vocabulary` keeps in mode ``repo``, for every mode of the encoder, except
    `QUESTION_WORDS`: 28,394 of 30,522 terms of uncased BERT. The mode removes stop words, symbols, special tokens and
    ``##s``.

    Examples
    --------
    >>> expandable(Vocabulary(["[SEP]", "the", "how", "merge", "##s", "##ing", "definition", "…"])).tolist()
    [False, False, False, True, False, True, False, False]
    """
    allowed = clean_vocabulary(vocabulary, "repo")
    for word in QUESTION_WORDS:
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
    baseline: npt.NDArray[np.float32] | None = None,
) -> list[npt.NDArray[np.int32]]:
    """Choose the terms to append to passages.

    Parameters
    ----------
    logits : ndarray of shape (n, V), float32
        Output of a TILDE encoder for each passage; finite.
    passages : sequence of n ndarrays of integers
        Pieces of each passage; these terms are not appended.
    allowed : ndarray of shape (V,), bool
        See `expandable`.
    terms : int
        Number of terms, 1 or more.
    counting : {"new", "raw"}
        ``new``: append the `terms` most likely terms that are allowed and not in the passage.
        ``raw``: take the `terms` most likely terms, and append those that are allowed and not in the passage, as the
        published code does.
    baseline : ndarray of shape (V,), float32, optional
        Subtracted from ln P(t|d) before terms are compared, see `TildeV2.expansion_lift`; finite. By default logits
        are compared.

    Returns
    -------
    list of n ndarrays, int32
        Most likely first; ties by term number.

    Examples
    --------
    >>> logits = np.array([[4.0, 3.0, 2.0, 1.0, 0.0]], dtype=np.float32)
    >>> allowed = np.array([False, True, True, True, True])
    >>> passage = [np.array([2])]
    >>> expand(logits, passage, allowed=allowed, terms=2)
    [array([1, 3], dtype=int32)]
    >>> expand(logits, passage, allowed=allowed, terms=2, counting="raw")
    [array([1], dtype=int32)]
    >>> baseline = np.array([0.0, -0.1, -0.1, -5.0, -0.5], dtype=np.float32)
    >>> expand(logits, passage, allowed=allowed, terms=2, baseline=baseline)
    [array([3, 1], dtype=int32)]
    """
    if baseline is not None:
        logits = log_sigmoid(logits) - baseline
    expansions = []
    for scores, passage in zip(logits, passages, strict=True):
        usable = allowed.copy()
        usable[passage] = False
        if counting == "new":
            chosen = _largest(np.where(usable, scores, np.float32(-np.inf)), terms)
        else:
            chosen = _largest(scores, terms)
        expansions.append(chosen[usable[chosen]])
    return expansions


def _largest(scores: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int32]:
    """Return the positions of the `count` largest scores, largest first, ties by position."""
    count = min(count, len(scores))
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    candidates = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[candidates], kind="stable")
    return candidates[order[:count]].astype(np.int32)
