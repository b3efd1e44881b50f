"""Statistics of each language of an index whose analyzer depends on an attribute.

The weights of a document have the number of documents, the mean length and the document frequencies of its language.
Documents without a token have no language. Documents of a language that the collection of the build lacks have the
number of documents and the mean length of the whole collection until the weights are computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from termwise.collection import CollectionStatistics
from termwise.collection.statistics import EstimatedStatistics, OpenStatistics
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.encoder_description import DOCUMENTS_OF_LANGUAGE
from termwise.models import CountModel
from termwise.text import Analyzer
from termwise.text.analyzer_by_attribute import SEPARATOR, AnalyzerByAttribute, language_of_token
from termwise.weights import TermWeights


@dataclass(frozen=True, eq=False)
class LanguagesOfTerms:
    """Languages of the terms of a vocabulary.

    Attributes
    ----------
    names : tuple of str
    of_term : ndarray of shape (V,), int64
        Place of the language of each term in `names`.
    """

    names: tuple[str, ...]
    of_term: npt.NDArray[np.int64]

    @classmethod
    def of(cls, analyzer: Analyzer, tokens: Iterable[str]) -> LanguagesOfTerms | None:
        """Return the languages of tokens; None for other analyzers than `AnalyzerByAttribute`.

        Examples
        --------
        >>> from termwise.text import make_analyzer_by_attribute
        >>> found = LanguagesOfTerms.of(make_analyzer_by_attribute("lang"), ["de:jack", "en:coat", "de:rot"])
        >>> found.names, found.of_term.tolist()
        (('de', 'en'), [0, 1, 0])
        """
        if not isinstance(analyzer, AnalyzerByAttribute):
            return None
        numbers: dict[str, int] = {}
        found = [numbers.setdefault(language_of_token(token), len(numbers)) for token in tokens]
        return cls(tuple(numbers), np.array(found, dtype=np.int64))

    @classmethod
    def of_index(cls, index: Index, analyzer: Analyzer, added: Iterable[str] = ()) -> LanguagesOfTerms | None:
        """Return the languages of the terms of an index and of `added` tokens, whose numbers follow; None as above."""
        if not isinstance(analyzer, AnalyzerByAttribute):
            return None
        names, tokens = tuple(analyzer.specs), list(added)
        of_term = np.zeros(index.manifest.terms + len(tokens), dtype=np.int64)
        for place, name in enumerate(names):
            of_term[index.vocabulary.starting_with(f"{name}{SEPARATOR}")] = place
        numbers = {name: place for place, name in enumerate(names)}
        of_term[index.manifest.terms :] = [numbers[language_of_token(token)] for token in tokens]
        return cls(names, of_term)

    def of_rows(self, rows: TermWeights) -> npt.NDArray[np.int64]:
        """Return the place of the language of each row, -1 for an empty one."""
        languages = np.full(len(rows), -1, dtype=np.int64)
        written = np.flatnonzero(np.diff(rows.indptr))
        languages[written] = self.of_term[rows.terms[rows.indptr[written]]]
        return languages


@dataclass(frozen=True, eq=False)
class LanguageStatistics:
    """Statistics of the languages of a collection.

    Attributes
    ----------
    languages : LanguagesOfTerms
    statistics : tuple of CollectionStatistics
        Of each language; other terms have no occurrences.
    """

    languages: LanguagesOfTerms
    statistics: tuple[CollectionStatistics, ...]

    @classmethod
    def of(
        cls,
        languages: LanguagesOfTerms,
        documents: Mapping[str, int],
        whole: CollectionStatistics,
        *,
        opened: bool = False,
    ) -> LanguageStatistics:
        """Return the statistics.

        Parameters
        ----------
        languages : LanguagesOfTerms
        documents : mapping of str to int
            Number of documents of each language of the collection.
        whole : CollectionStatistics
            Of the whole collection.
        opened : bool, optional
            Whether documents of no part of the collection are weighed, see `OpenStatistics`.
        """
        found: list[CollectionStatistics] = []
        for place, name in enumerate(languages.names):
            own = languages.of_term[: whole.n_terms] == place
            df, cf = whole.document_frequencies * own, whole.collection_frequencies * own
            count = documents.get(name, 0)
            tokens = int(cf.sum()) if count else whole.n_tokens
            its = EstimatedStatistics(count or whole.n_documents, tokens, df, cf, whole.longest, rarest=1)
            found.append(OpenStatistics(its, len(languages.of_term)) if opened else its)
        return cls(languages, tuple(found))

    def weigh(self, model: CountModel, counts: TermWeights) -> TermWeights:
        """Return the weights of rows of counts; the rows of each language have its statistics."""
        of_rows, lengths = self.languages.of_rows(counts), np.diff(counts.indptr)
        weights = np.zeros(counts.nnz, dtype=np.float32)
        of_postings = np.repeat(of_rows, lengths)
        for place in np.unique(of_rows[of_rows >= 0]).tolist():
            its = of_postings == place
            indptr = np.concatenate([[0], np.cumsum(lengths[of_rows == place])])
            rows = TermWeights(indptr, counts.terms[its], counts.weights[its], counts.vocabulary)
            weights[its] = model.weigh(rows, self.statistics[place]).weights
        return TermWeights(counts.indptr, counts.terms, weights, counts.vocabulary)


class LanguageCounter:
    """Counts the documents of each language."""

    def __init__(self, languages: LanguagesOfTerms) -> None:
        self._languages = languages
        self._counts = np.zeros(len(languages.names) + 1, dtype=np.int64)

    def passing(self, parts: Iterable[TermWeights]) -> Iterator[TermWeights]:
        """Yield rows of counts after counting them."""
        for part in parts:
            self._counts += np.bincount(self._languages.of_rows(part) + 1, minlength=len(self._counts))
            yield part

    @property
    def documents(self) -> dict[str, int]:
        """Number of documents with a token, by language."""
        return dict(zip(self._languages.names, self._counts[1:].tolist(), strict=True))


def record_of(documents: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of documents of languages as statistics in the description of an index.

    Examples
    --------
    >>> record_of({"en": 3, "de": 2})
    {'documents:de': 2, 'documents:en': 3}
    """
    return {
        f"{DOCUMENTS_OF_LANGUAGE}{name}": documents[name] for name in sorted(documents) if documents[name]
    }


def share_of_drift(before: Mapping[str, tuple[int, float]], now: Sequence[tuple[str, int, float]]) -> float:
    """Return the mean over documents of the change of the mean length of their language, as a share of at most 1.

    It is 1 for a language that has more than 1.5 times, or less than half, the documents that it had, or that is new.

    Parameters
    ----------
    before, now
        Number of documents of each language, and their mean length.

    Examples
    --------
    >>> share_of_drift({"de": (10, 20.0), "en": (30, 10.0)}, [("de", 10, 22.0), ("en", 30, 10.0)])
    0.025
    >>> share_of_drift({"en": (10, 10.0)}, [("de", 1, 20.0), ("en", 9, 10.0)])
    0.1
    """

    def change(name: str, count: int, mean: float) -> float:
        earlier, length = before.get(name, (0, 1.0))
        return min(1.0, abs(mean - length) / length) if count <= 1.5 * earlier <= 3 * count else 1.0

    changes = [count * change(name, count, mean) for name, count, mean in now]
    return sum(changes) / max(1, sum(count for _, count, _ in now))
