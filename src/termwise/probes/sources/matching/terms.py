"""Terms that measurements count: those of any analyzer, or the published ones.

The published pipeline is that of Terrier's English indexing, as the experiments of MacAvaney et al. (TACL 2022) use it:
words are runs of ASCII letters and digits; left out are those longer than 20 characters, with more than 4 digits or
with more than 3 identical characters in a row, and stop words; the rest is lower-cased and stemmed by Porter's program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from termwise.text import Porter

_WORD = re.compile("[A-Za-z0-9]+")
_DIGIT = re.compile("[0-9]")
_FOUR_ALIKE = re.compile(r"(.)\1{3}")
_LONGEST, _MOST_DIGITS = 20, 4


@runtime_checkable
class Terms(Protocol):
    """What measurements need of an analyzer; every `termwise.text.Analyzer` has it."""

    def tokens(self, text: str) -> Sequence[str]:
        """Return the terms of a text, in order."""
        ...


@dataclass(frozen=True)
class PublishedTerms:
    """The published pipeline, see the module.

    Parameters
    ----------
    stop_words : frozenset of str
        In lower case. The published list is Terrier's, of 733 words; it does not ship with the package.

    Examples
    --------
    >>> terms = PublishedTerms(frozenset({"the", "of"}))
    >>> terms.tokens("The U.S. analogies of the 1990s: 12345 zzzz")
    ['u', 's', 'analog', '1990']
    """

    stop_words: frozenset[str]
    _known: dict[str, str | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text, in order."""
        found = (self._form(word.lower()) for word in _WORD.findall(text))
        return [form for form in found if form is not None]

    def _form(self, word: str) -> str | None:
        if word not in self._known:
            dropped = (
                len(word) > _LONGEST
                or len(_DIGIT.findall(word)) > _MOST_DIGITS
                or _FOUR_ALIKE.search(word) is not None
                or word in self.stop_words
            )
            self._known[word] = None if dropped else Porter()(word)
        return self._known[word]
