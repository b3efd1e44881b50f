"""Word pieces without those that a vocabulary cleaning leaves out: the query side of the TILDE models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from termwise.errors import ParameterError
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.vocabulary import Vocabulary
from termwise.text.vocabulary_cleaning import CleanMode, clean_vocabulary
from termwise.text.wordpiece import WordPieceAnalyzer

NAME = "wordpiece-clean"
"""What the analyzer is called in a specification."""

_OPTION = "cleaning"
_RAW = "wordpiece"


@dataclass(frozen=True, eq=False)
class CleanedAnalyzer:
    """Cuts text into word pieces and leaves out those that a cleaning drops: stop words, symbols, ``[UNK]``.

    The vocabulary stays that of the word pieces, whole, so that a piece has the number a network knows it by.
    Repeated pieces stay repeated, and spans are those of the text.

    Use `of`, `shipped` or `make_analyzer` to make one.

    Parameters
    ----------
    spec : AnalyzerSpec
        That of a `WordPieceAnalyzer`, with the `CleanMode` as the option ``cleaning``.

    Raises
    ------
    ParameterError
        If the specification names no cleaning, or no vocabulary.
    UnknownNameError
        If there is no such cleaning.
    MalformedRecordError
        If the file it carries is not a WordPiece tokenizer or vocabulary.

    Examples
    --------
    >>> analyzer = CleanedAnalyzer.shipped()
    >>> analyzer.tokens("What is the point of sorting twice, twice?")
    ['what', 'point', 'sorting', 'twice', 'twice']
    >>> analyzer.analyze("The tokenizer").spans.tolist()
    [[4, 9], [9, 13]]
    >>> len(analyzer.vocabulary), len(analyzer.kept)
    (30522, 28402)
    """

    spec: AnalyzerSpec
    vocabulary: Vocabulary = field(init=False, repr=False)
    kept: frozenset[str] = field(init=False, repr=False)
    _pieces: WordPieceAnalyzer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        options = dict(self.spec.options)
        if _OPTION not in options:
            raise ParameterError(
                f"the analyzer {self.spec.name} needs a cleaning",
                facts=[("options", options), ("expected", f"{_OPTION}: paper, repo or none")],
            )
        mode = cast(CleanMode, str(options.pop(_OPTION)))
        pieces = WordPieceAnalyzer(AnalyzerSpec(_RAW, options, self.spec.files))
        mask = clean_vocabulary(pieces.vocabulary, mode)
        kept = frozenset(pieces.vocabulary.token(number) for number in np.flatnonzero(mask).tolist())
        object.__setattr__(self, "vocabulary", pieces.vocabulary)
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "_pieces", pieces)

    def __reduce__(self) -> tuple[object, ...]:
        return (CleanedAnalyzer, (self.spec,))

    @classmethod
    def of(cls, pieces: WordPieceAnalyzer, *, cleaning: CleanMode = "repo") -> CleanedAnalyzer:
        """Clean what an analyzer gives.

        Parameters
        ----------
        pieces : WordPieceAnalyzer
            Cuts the text; what it is called does not matter.
        cleaning : {"paper", "repo", "none"}, optional
            See `clean_vocabulary`.

        Examples
        --------
        >>> kept = [
        ...     CleanedAnalyzer.of(WordPieceAnalyzer.shipped(), cleaning=mode).kept
        ...     for mode in ("paper", "repo", "none")
        ... ]
        >>> [len(pieces) for pieces in kept], kept[0] - kept[1]
        ([28403, 28402, 30522], frozenset({'##s'}))
        """
        spec = pieces.spec
        return cls(AnalyzerSpec(NAME, {**spec.options, _OPTION: cleaning}, spec.files))

    @classmethod
    def shipped(cls, *, cleaning: CleanMode = "repo") -> CleanedAnalyzer:
        """Clean the pieces of the uncased BERT vocabulary that ships with the package."""
        return cls.of(WordPieceAnalyzer.shipped(), cleaning=cleaning)

    def analyze(self, text: str) -> Analysis:
        """Cut `text` into the kept pieces with their character spans."""
        analysis = self._pieces.analyze(text)
        chosen = [place for place, token in enumerate(analysis.tokens) if token in self.kept]
        return Analysis(tuple(analysis.tokens[place] for place in chosen), analysis.spans[chosen])

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list, without the cost of spans."""
        return list(filter(self.kept.__contains__, self._pieces.tokens(text)))
