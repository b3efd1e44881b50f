"""Which words of a document a translated term comes from, and how much of it is due to each.

An index that was compiled from a translation table keeps the columns of the table (`TranslationColumns`). With the
words of a text they say what the weight of a term is made of: word u of a document has

    T'(t|u) tf(u) / (sum over all words v of T'(t|v) tf(v)),        T'(t|u) = (1 - p) T(t|u) + p [t = u]

of it. The shares of a term add up to 1.

In a weighted sum of indexes one of which is such a one, and the others hold no term that a text does not say, all this
holds of terms that the text does not say. What it says itself is weighed by several parts, and is not shared out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.engine.query_encoder import parts_of
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
    """The translations that an index was compiled from.

    Attributes
    ----------
    index : Index
        The index.
    columns : TranslationColumns
        T(t|u).
    self_translation : float
        p.
    alone : bool
        Whether all weights are translations, or only those of terms that a text does not say.
    """

    index: Index
    columns: TranslationColumns
    self_translation: float
    alone: bool

    @classmethod
    def of(cls, index: Index) -> TranslationShares | None:
        """Read them, or return None for an index that has none."""
        if STARTS not in index.manifest.attachments:
            return None
        parts = parts_of(index.manifest.encoder)
        model: Mapping[str, Any] = next((part["model"] for part in parts if _expands(part)), {})
        columns = TranslationColumns.read(index.attachment, index.manifest.terms)
        p = float(model.get("parameters", {}).get("self_translation", 0.0))
        return cls(index, columns, p, len(parts) == 1)

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
        if own in spans and not self.alone:
            return ()
        numbers, chances = self.columns.column(term)
        known = dict(zip(numbers.tolist(), chances.tolist(), strict=True))
        said: list[tuple[str, float, tuple[Span, ...]]] = []
        for word in spans:
            chance = (1 - self.self_translation) * known.get(number(word), 0.0)
            chance += self.self_translation if word == own else 0.0
            if chance > 0:
                said.append((word, chance, tuple(spans[word])))
        total = sum(chance * len(places) for _, chance, places in said)
        found = [Source(word, chance, chance * len(places) / total, places) for word, chance, places in said]
        return tuple(sorted(found, key=lambda source: (-source.share, source.term)))


def fused_translations(
    indexes: Sequence[Index], numbers: Sequence[npt.NDArray[np.int32]], n_terms: int
) -> dict[str, bytes]:
    """Return the files by which a weighted sum of indexes shares translations out.

    Parameters
    ----------
    indexes : sequence of Index
        The parts.
    numbers : sequence of ndarray, int32
        For each part, the new number of each of its terms.
    n_terms : int
        Terms of the sum.

    Returns
    -------
    dict of str to bytes
        Empty unless one part, and no more, weighs terms that texts do not say, and has translations.
    """
    expanding = [
        (index, new)
        for index, new in zip(indexes, numbers, strict=True)
        for part in parts_of(index.manifest.encoder)
        if _expands(part)
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


def _expands(part: Mapping[str, Any]) -> bool:
    """Tell whether a part of an index may hold terms that texts do not say."""
    return not part["model"].get("exact", False)
