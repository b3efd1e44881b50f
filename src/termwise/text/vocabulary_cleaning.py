"""Which pieces of a WordPiece vocabulary take part in scoring: the vocabulary cleaning of TILDE."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import UnknownNameError
from termwise.text.stop_lists import stop_list
from termwise.text.vocabulary import Vocabulary

CleanMode = Literal["paper", "repo", "none"]

_MODES = ("paper", "repo", "none")
_QUESTION_WORDS = frozenset({"how", "what", "when", "which", "why", "who", "where"})
_PLAIN = re.compile("[A-Za-z0-9_-]*")
_POSSESSIVE = "##s"


def clean_vocabulary(vocabulary: Vocabulary, mode: CleanMode) -> npt.NDArray[np.bool_]:
    """Mark the tokens that are kept when stop words and symbols are cleaned away.

    The rule is that of TILDE [1]_ and of its code [2]_. Left out are: the words of the NLTK stop list that
    are one token of the vocabulary, without the question words (how, what, when, which, why, who, where); and
    each token that has a character other than an ASCII letter, a digit, ``_`` or ``-``, unless it begins with
    ``#`` and is longer than that. So pieces that continue a word (``##ing``) are kept whatever is in them;
    special and unknown tokens go.

    Parameters
    ----------
    vocabulary : Vocabulary of n tokens
        A reserved background term is not looked at.
    mode : {"paper", "repo", "none"}
        ``paper``: the rule above, which keeps the 28,403 of 30,522 tokens that the paper counts. ``repo``:
        the piece ``##s`` is left out as well, as the published code does now (28,402). ``none``: all kept.

    Returns
    -------
    ndarray of shape (n,), bool
        True where a token is kept.

    Raises
    ------
    UnknownNameError
        If there is no such mode.

    References
    ----------
    .. [1] S. Zhuang and G. Zuccon, *TILDE: Term Independent Likelihood moDEl for Passage Re-ranking*,
       SIGIR 2021.
    .. [2] https://github.com/ielab/TILDE, commit 9751709.

    Examples
    --------
    >>> vocabulary = Vocabulary(["[UNK]", "the", "how", "merge", "##s", "##é", "#", "é"])
    >>> clean_vocabulary(vocabulary, "paper").tolist()
    [False, False, True, True, True, True, False, False]
    >>> clean_vocabulary(vocabulary, "repo").tolist()
    [False, False, True, True, False, True, False, False]
    """
    if mode not in _MODES:
        raise UnknownNameError.of("cleaning mode", mode, _MODES)
    kept = np.ones(len(vocabulary), dtype=np.bool_)
    if mode == "none":
        return kept
    dropped = stop_list("nltk-english") - _QUESTION_WORDS
    if mode == "repo":
        dropped |= {_POSSESSIVE}
    for number, token in enumerate(vocabulary):
        symbol = _PLAIN.fullmatch(token) is None and (token == "#" or not token.startswith("#"))
        kept[number] = not symbol and token not in dropped
    return kept
