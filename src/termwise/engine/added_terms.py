"""Terms that are added to a query: of similar spelling, with its last word as their prefix, and synonyms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from termwise.fast_dataclass import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class AddedTerm:
    """Term that is added to a query for some of its words.

    Attributes
    ----------
    term : str
        The term in the index.
    number : int
        Its number.
    word : str
        A word, or a phrase, of this term.
    origin : {"fuzzy", "prefix", "synonym"}
        Whether its spelling is similar, or differs by a blank, it begins with the last word of the query, or a line of
        synonyms has it.
    share : float
        Its weight in units of the weight that it would have if it was typed as often as the words that it is added for.
    spans : tuple of (int, int)
        Positions of these words in the query, one for each occurrence.
    distance : int
        Number of edits between a word of similar spelling, or a blank, and the typed one; 0 for other origins.
    """

    term: str
    number: int
    word: str
    origin: Literal["fuzzy", "prefix", "synonym"]
    share: float
    spans: tuple[Span, ...]
    distance: int = 0


@dataclass(frozen=True)
class AddedTerms:
    """Terms that a search adds to a query, with the words that they replace.

    Attributes
    ----------
    terms : sequence of AddedTerm
    replaced : frozenset of (int, int)
        Positions of the words that added terms replace.
    """

    terms: Sequence[AddedTerm] = ()
    replaced: frozenset[Span] = frozenset()

    def without_replaced(self, query: str) -> str:
        """Return the query with spaces in place of the words that are replaced.

        Examples
        --------
        >>> AddedTerms((), frozenset({(4, 6)})).without_replaced("old tv set")
        'old    set'
        """
        for start, end in self.replaced:
            query = query[:start] + " " * (end - start) + query[end:]
        return query

    def are_known(self, spans: Sequence[Span]) -> bool:
        """Return whether all positions of a word are in words with completions or synonyms, so that it is no typo."""
        known = [span for each in self.terms if each.origin != "fuzzy" for span in each.spans]
        return all(any(start <= first and last <= end for start, end in known) for first, last in spans)
