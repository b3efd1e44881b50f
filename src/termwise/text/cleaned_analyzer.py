"""Word pieces without stop words and symbols, for queries of the TILDE models."""

from __future__ import annotations

import re
from dataclasses import field
from itertools import filterfalse
from typing import Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError, UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.stop_lists import stop_list
from termwise.text.vocabulary import Vocabulary
from termwise.text.wordpiece import WordPieceAnalyzer

NAME = "wordpiece-clean"
"""Name of the analyzer in a specification."""

CleanMode = Literal["paper", "repo", "none"]

_QUESTION_WORDS = frozenset({"how", "what", "when", "which", "why", "who", "where"})
_PLAIN = re.compile("[A-Za-z0-9_-]*")
_OPTION = "cleaning"


def clean_vocabulary(vocabulary: Vocabulary, mode: CleanMode) -> npt.NDArray[np.bool_]:
    """Mark the tokens that are neither stop words nor symbols.

    The rule is that of TILDE [1]_ and of its code [2]_. It removes the words of the NLTK stop list except the question
    words (how, what, when, which, why, who, where), and each token with a character other than an ASCII letter, a
    digit, ``_`` or ``-``, unless it begins with ``#`` and is longer. This keeps all pieces that continue a word
    (``##ing``) and removes special and unknown tokens.

    Parameters
    ----------
    vocabulary : Vocabulary of n tokens
        A reserved background term is not counted.
    mode : {"paper", "repo", "none"}
        ``paper``: the rule above, which keeps 28,403 of 30,522 tokens, as in the paper. ``repo``: the rule also
        removes the piece ``##s``, as the published code does now (28,402). ``none``: keep all tokens.

    Returns
    -------
    ndarray of shape (n,), bool
        True for tokens to keep.

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
    if mode not in get_args(CleanMode):
        raise UnknownNameError.of("cleaning mode", mode, get_args(CleanMode))
    kept = np.ones(len(vocabulary), dtype=np.bool_)
    if mode == "none":
        return kept
    dropped = stop_list("nltk-english") - _QUESTION_WORDS
    if mode == "repo":
        dropped |= {"##s"}
    for number, token in enumerate(vocabulary):
        symbol = _PLAIN.fullmatch(token) is None and (token == "#" or not token.startswith("#"))
        kept[number] = not symbol and token not in dropped
    return kept


@dataclass(frozen=True, eq=False)
class CleanedAnalyzer:
    """Splits text into word pieces and removes stop words, symbols and ``[UNK]``.

    The vocabulary contains all word pieces, so the token numbers are those of the network. Repeated pieces are
    kept, and spans refer to the text.

    Use `of`, `shipped` or `make_analyzer` to make one.

    Parameters
    ----------
    spec : AnalyzerSpec
        Specification of a `WordPieceAnalyzer`, with the `CleanMode` as the option ``cleaning``.

    Raises
    ------
    ParameterError
        If the specification has no cleaning, or no vocabulary.
    UnknownNameError
        If there is no such cleaning.
    MalformedRecordError
        If its file is not a WordPiece tokenizer or vocabulary.

    Examples
    --------
    >>> analyzer = CleanedAnalyzer.shipped()
    >>> analyzer.tokens("What is the point of sorting twice, twice?")
    ['what', 'point', 'sorting', 'twice', 'twice']
    >>> analyzer.analyze("The tokenizer").spans.tolist()
    [[4, 9], [9, 13]]
    >>> len(analyzer.vocabulary), len(analyzer.removed)
    (30522, 2120)
    """

    spec: AnalyzerSpec
    vocabulary: Vocabulary = field(init=False, repr=False)
    removed: frozenset[str] = field(init=False, repr=False)
    uncleaned: WordPieceAnalyzer = field(init=False, repr=False)
    """Analyzer of the same word pieces without cleaning: no piece is removed."""

    def __post_init__(self) -> None:
        options = dict(self.spec.options)
        if _OPTION not in options:
            raise ParameterError(
                f"the analyzer {self.spec.name} needs a cleaning",
                facts=[("options", options), ("expected", f"{_OPTION}: paper, repo or none")],
            )
        mode = cast(CleanMode, str(options.pop(_OPTION)))
        pieces = WordPieceAnalyzer(AnalyzerSpec("wordpiece", options, self.spec.files))
        removed = np.flatnonzero(~clean_vocabulary(pieces.vocabulary, mode)).tolist()
        object.__setattr__(self, "vocabulary", pieces.vocabulary)
        object.__setattr__(self, "removed", frozenset(map(pieces.vocabulary.token, removed)))
        object.__setattr__(self, "uncleaned", pieces)

    def __reduce__(self) -> tuple[object, ...]:
        return (CleanedAnalyzer, (self.spec,))

    @classmethod
    def of(cls, pieces: WordPieceAnalyzer, *, cleaning: CleanMode = "repo") -> CleanedAnalyzer:
        """Clean the pieces of an analyzer.

        Parameters
        ----------
        pieces : WordPieceAnalyzer
            Its name has no effect.
        cleaning : {"paper", "repo", "none"}, optional
            See `clean_vocabulary`.

        Examples
        --------
        >>> removed = [
        ...     CleanedAnalyzer.of(WordPieceAnalyzer.shipped(), cleaning=mode).removed
        ...     for mode in ("paper", "repo", "none")
        ... ]
        >>> [len(pieces) for pieces in removed], removed[1] - removed[0]
        ([2119, 2120, 0], frozenset({'##s'}))
        """
        spec = pieces.spec
        return cls(AnalyzerSpec(NAME, {**spec.options, _OPTION: cleaning}, spec.files))

    @classmethod
    def shipped(cls, *, cleaning: CleanMode = "repo") -> CleanedAnalyzer:
        """Clean the pieces of the uncased BERT vocabulary that ships with the package."""
        return cls.of(WordPieceAnalyzer.shipped(), cleaning=cleaning)

    def analyze(self, text: str) -> Analysis:
        """Return the kept pieces of a text with their character spans."""
        analysis = self.uncleaned.analyze(text)
        chosen = [position for position, token in enumerate(analysis.tokens) if token not in self.removed]
        return Analysis(tuple(analysis.tokens[position] for position in chosen), analysis.spans[chosen])

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list, without computing spans."""
        return list(filterfalse(self.removed.__contains__, self.uncleaned.tokens(text)))
