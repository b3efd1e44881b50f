"""Which words of a document a translated term comes from, and how much of it is due to each.

An index that was compiled from a translation table keeps the columns of the table (`TranslationColumns`). With the
words of a text they say what the weight of a term is made of: word u of a document has

    T'(t|u) tf(u) / (sum over all words v of T'(t|v) tf(v)),        T'(t|u) = (1 - p) T(t|u) + p [t = u]

of it. The shares of a term add up to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from termwise.index import Index
from termwise.models.attachments import STARTS, TranslationColumns

Span = tuple[int, int]


@dataclass(frozen=True)
class Source:
    """A word of the document that a query term is a translation of, or the term itself.

    Attributes
    ----------
    term : str
        The word as the index holds it.
    probability : float
        T'(t|u): how likely one occurrence is asked for with the query term.
    share : float
        Its part of the weight, for all its occurrences together.
    spans : tuple of (int, int)
        Where the text says it.
    """

    term: str
    probability: float
    share: float
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class TranslationShares:
    """The translations that an index was compiled from; p is `self_translation`."""

    index: Index
    columns: TranslationColumns
    self_translation: float

    @classmethod
    def of(cls, index: Index) -> TranslationShares | None:
        """Read them, or return None for an index that has none."""
        if STARTS not in index.manifest.attachments:
            return None
        parameters = index.manifest.encoder.get("model", {}).get("parameters", {})
        columns = TranslationColumns.read(index.attachment, index.manifest.terms)
        return cls(index, columns, float(parameters.get("self_translation", 0.0)))

    def sources(self, term: int, spans: Mapping[str, Sequence[Span]]) -> tuple[Source, ...]:
        """Share the weight of a term out among the words of a text, the largest share first.

        Parameters
        ----------
        term : int
            The term of the query.
        spans : mapping of str to sequence of (int, int)
            Where the text says each of its words.
        """
        own, number = self.index.vocabulary.token(term), self.index.vocabulary.number
        numbers, chances = self.columns.column(term)
        known = dict(zip(numbers.tolist(), chances.tolist(), strict=True))
        likely: dict[str, float] = {}
        for word in spans:
            chance = (1 - self.self_translation) * known.get(number(word), 0.0)
            likely[word] = chance + (self.self_translation if word == own else 0.0)
        total = sum(chance * len(spans[word]) for word, chance in likely.items())
        found = [
            Source(word, chance, chance * len(spans[word]) / total, tuple(spans[word]))
            for word, chance in likely.items()
            if chance > 0
        ]
        return tuple(sorted(found, key=lambda source: (-source.share, source.term)))
