"""Attribution of the weight of a translated term to words of a document.

An index compiled from a translation table stores the columns of the table (`TranslationColumns`). The share of word u
in the weight of term t in a document is

    T'(t|u) tf(u) / (sum over all words v of T'(t|v) tf(v)),        T'(t|u) = (1 - p) T(t|u) + p [t = u]

The shares of a term sum to 1.

In a fused index with one translation part, whose other parts hold only exact terms, this applies to terms that are
absent from the text. Terms in the text have weights of several parts, and are not attributed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.container import corrupt
from termwise.index.encoder_description import ModelRecord
from termwise.index.manifest import NAME
from termwise.models.attachments import STARTS, TranslationColumns
from termwise.storage.manifest_json import Misfit, expect_number

Span = tuple[int, int]


@dataclass(frozen=True)
class SourceWord:
    """Word of a document that contributes to the weight of a query term.

    Attributes
    ----------
    term : str
        The word in the index.
    probability : float
        T'(t|u), the probability that one occurrence is translated into the query term.
    share : float
        Share of the weight, for all its occurrences together.
    spans : tuple of (int, int)
        Positions in the text.
    """

    term: str
    probability: float
    share: float
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class TranslationShares:
    """Translation columns of an index.

    Attributes
    ----------
    index : Index
    columns : TranslationColumns
        T(t|u).
    self_translation : float
        p.
    alone : bool
        Whether all weights are translations, or only those of terms absent from a text.
    """

    index: Index
    columns: TranslationColumns
    self_translation: float
    alone: bool

    @classmethod
    def of(cls, index: Index) -> TranslationShares | None:
        """Read the columns of an index, or return None if it has none."""
        if STARTS not in index.manifest.attachments:
            return None
        parts = index.manifest.encoder.parts
        expanding = next((part.model for part in parts if not part.model.exact), ModelRecord())
        columns = TranslationColumns.read(index.attachment, index.manifest.terms)
        p = expanding.parameters.get("self_translation", 0.0)
        try:
            p = expect_number(p, "encoder.model.parameters.self_translation", 0, 1)
        except Misfit as misfit:
            raise corrupt(index.path / NAME, None, misfit.expected, misfit.seen) from None
        return cls(index, columns, p, len(parts) == 1)

    def sources(
        self,
        term: int,
        spans: Mapping[str, Sequence[Span]],
        count: Callable[[Sequence[Span]], int] = len,
    ) -> tuple[SourceWord, ...]:
        """Attribute the weight of a query term to the words of a text, largest share first.

        Parameters
        ----------
        term : int
            Number of the query term.
        spans : mapping of str to sequence of (int, int)
            Positions of each word in the text.
        count : callable, optional
            Returns tf(u) for the positions of a word, if they do not all count as one.
        """
        own, number = self.index.vocabulary.token(term), self.index.vocabulary.number
        if own in spans and not self.alone:
            return ()
        numbers, probabilities = self.columns.column(term)
        known = dict(zip(numbers.tolist(), probabilities.tolist(), strict=True))
        words: list[tuple[str, float, tuple[Span, ...]]] = []
        for word in spans:
            probability = (1 - self.self_translation) * known.get(number(word), 0.0)
            probability += self.self_translation if word == own else 0.0
            if probability > 0:
                words.append((word, probability, tuple(spans[word])))
        total = sum(probability * count(places) for _, probability, places in words)
        sources = [SourceWord(word, p, p * count(places) / total, places) for word, p, places in words]
        return tuple(sorted(sources, key=lambda source: (-source.share, source.term)))


def fused_translations(
    indexes: Sequence[Index], numbers: Sequence[npt.NDArray[np.int32]], n_terms: int
) -> dict[str, bytes]:
    """Return the translation columns of a fused index as files.

    Parameters
    ----------
    indexes : sequence of Index
        The fused indexes.
    numbers : sequence of ndarray, int32
        Per index, the new number of each of its terms.
    n_terms : int
        Number of terms of the fused index.

    Returns
    -------
    dict of str to bytes
        Empty unless exactly one index holds terms absent from texts, and it has translation columns.
    """
    expanding = [
        (index, new)
        for index, new in zip(indexes, numbers, strict=True)
        for part in index.manifest.encoder.parts
        if not part.model.exact
    ]
    if len(expanding) != 1 or STARTS not in expanding[0][0].manifest.attachments:
        return {}
    index, new = expanding[0]
    columns = TranslationColumns.read(index.attachment, index.manifest.terms)
    targets = new[np.repeat(np.arange(index.manifest.terms), np.diff(columns.starts))]
    sources = new[columns.sources.astype(np.int64)]
    order = np.lexsort((sources, targets))
    starts = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=n_terms))])
    renumbered = TranslationColumns(starts, sources[order].astype(np.uint32), columns.chances[order])
    return renumbered.files()
