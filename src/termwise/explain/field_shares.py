"""Shares of the fields of a document in the contribution of a term.

In an index whose fields have weights, the count of a term is the weighted sum of its occurrences in the fields. The
share of a field in a contribution is its share of this count. For a translated term, it is the share of the words that
are translated into the term.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from termwise.display.safe_text import legible_line
from termwise.explain.attribution import SourceWord, Span
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.field_texts import unpack
from termwise.text import Analyzer


@dataclass(frozen=True)
class FieldShare:
    """Share of a field in the contribution of a term.

    Attributes
    ----------
    name : str
        Name of the field.
    weight : int
        Weight of the field.
    occurrences : int
        Number of words in the field that the contribution comes from.
    share : float
        Share of the contribution; those of all fields add up to 1.
    """

    name: str
    weight: int
    occurrences: int
    share: float

    @property
    def label(self) -> str:
        """Name and weight, such as ``title × 3``."""
        return f"{legible_line(self.name)} × {self.weight}"


@dataclass(frozen=True)
class DocumentFields:
    """Names and weights of the fields of a document, and where each field is in its text.

    Attributes
    ----------
    fields : tuple of (str, int, (int, int))
        Name, weight and range of each field; the range of a blank field is empty.
    """

    fields: tuple[tuple[str, int, Span], ...]

    @classmethod
    def of(cls, index: Index, ordinal: int) -> DocumentFields | None:
        """Read the fields of a document; None if the index has no weights of fields or no texts."""
        weights = index.manifest.field_weights
        stored = index.store.texts(np.array([ordinal]))[0] if weights else None
        if stored is None:
            return None
        fields, start = [], 0
        for (name, weight), text in zip(weights.items(), unpack(stored), strict=True):
            length = 0 if text.isspace() else len(text)
            fields.append((name, weight, (start, start + length)))
            start += length + (length > 0)  # a line end is between two texts
        return cls(tuple(fields))

    def count(self, spans: Sequence[Span]) -> int:
        """Return the weighted number of words at these positions."""
        return sum(
            weight * sum(start <= place < end for place, _ in spans)
            for _, weight, (start, end) in self.fields
        )

    def spans(self, analyzer: Analyzer, text: str) -> dict[str, tuple[Span, ...]]:
        """Return the positions of each token; each field is analyzed alone, as in the build."""
        spans: defaultdict[str, list[Span]] = defaultdict(list)
        for _, _, (begin, finish) in self.fields:
            analysis = analyzer.analyze(text[begin:finish])
            for token, (start, end) in zip(analysis.tokens, analysis.spans.tolist(), strict=True):
                spans[token].append((begin + start, begin + end))
        return {token: tuple(of_token) for token, of_token in spans.items()}

    def shares(self, spans: Sequence[Span], sources: Sequence[SourceWord] = ()) -> tuple[FieldShare, ...]:
        """Return the share of each field in the contribution of a term; nothing for a term without a word in the text.

        Parameters
        ----------
        spans : sequence of (int, int)
            Positions of the term.
        sources : sequence of SourceWord, optional
            Words that the weight of a translated term comes from, in place of `spans`.
        """
        words: Iterable[tuple[Sequence[Span], float]] = (
            [(source.spans, source.share) for source in sources] if sources else [(spans, 1.0)]
        )
        shares = []
        for name, weight, (begin, end) in self.fields:
            occurrences, share = 0, 0.0
            for places, of_words in words:
                inside = sum(begin <= place < end for place, _ in places)
                occurrences += inside
                share += of_words * weight * inside / max(1, self.count(places))
            shares.append(FieldShare(name, weight, occurrences, share))
        return tuple(shares) if any(field.occurrences for field in shares) else ()
