"""Terms for measurements: Terrier's English indexing as MacAvaney et al. (TACL 2022) use it.

Words are runs of ASCII letters and digits. Words are left out if they are longer than 20 characters, have more than 4
digits or more than 3 identical characters in a row, or are stop words. The other words are lower-cased and stemmed by
Porter's program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from termwise.text import Porter

_WORD = re.compile("[A-Za-z0-9]+")
_DIGIT = re.compile("[0-9]")
_FOUR_ALIKE = re.compile(r"(.)\1{3}")
_MAX_LENGTH, _MAX_DIGITS = 20, 4


@dataclass(frozen=True)
class PublishedTerms:
    """Published pipeline, see the module.

    Parameters
    ----------
    stop_words : frozenset of str
        In lower case. The published list is Terrier's, of 733 words, which does not ship with the package.

    Examples
    --------
    >>> terms = PublishedTerms(frozenset({"the", "of"}))
    >>> terms.tokens("The U.S. analogies of the 1990s: 12345 zzzz")
    ['u', 's', 'analog', '1990']
    """

    stop_words: frozenset[str]
    _cache: dict[str, str | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text, in order."""
        stems = (self._stem(word.lower()) for word in _WORD.findall(text))
        return [stem for stem in stems if stem is not None]

    def _stem(self, word: str) -> str | None:
        if word not in self._cache:
            is_dropped = (
                len(word) > _MAX_LENGTH
                or len(_DIGIT.findall(word)) > _MAX_DIGITS
                or _FOUR_ALIKE.search(word) is not None
                or word in self.stop_words
            )
            self._cache[word] = None if is_dropped else Porter()(word)
        return self._cache[word]
