"""Statistics of a collection, counted in one pass."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest
from termwise.errors import EmptyCollectionError, VocabularyMismatchError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.weights import TermWeights


@dataclass(frozen=True)
class CollectionStatistics:
    """Counts of documents, tokens and terms in a collection.

    Parameters
    ----------
    n_documents : int
        N: number of documents, with empty ones; at least 1.
    n_tokens : int
        Sum of all document lengths in tokens.
    document_frequencies : array-like of shape (V,), int64
        df: number of documents in which term *t* occurs.
    collection_frequencies : array-like of shape (V,), int64
        cf: number of occurrences of term *t* in all documents.
    longest : int
        Number of tokens in the longest document.

    Raises
    ------
    EmptyCollectionError
        If there is no document.
    WeightError
        If counts are inconsistent: negative numbers, ``df > N``, ``df > cf``, ``df == 0 < cf``, ``cf`` that do not add
        up to `n_tokens`, or a longest document shorter than the mean or longer than all documents together.

    Examples
    --------
    >>> counts = CollectionStatistics(3, 7, [2, 1, 0], [5, 2, 0], longest=5)
    >>> round(counts.avgdl, 3)
    2.333
    """

    n_documents: int
    n_tokens: int
    document_frequencies: npt.NDArray[np.int64]
    collection_frequencies: npt.NDArray[np.int64]
    longest: int

    def __post_init__(self) -> None:
        for name in ("n_documents", "n_tokens", "longest"):
            object.__setattr__(self, name, int(getattr(self, name)))
        object.__setattr__(self, "document_frequencies", _counts(self.document_frequencies, "df"))
        object.__setattr__(self, "collection_frequencies", _counts(self.collection_frequencies, "cf"))
        self._check()

    def _check(self) -> None:
        df, cf = self.document_frequencies, self.collection_frequencies
        if self.n_documents < 1:
            raise EmptyCollectionError(
                "a collection without a document has no statistics", facts=[("documents", self.n_documents)]
            )
        if df.shape != cf.shape:
            raise WeightError(
                "document and collection frequencies must be two arrays of one length",
                facts=[("df", df.shape), ("cf", cf.shape)],
            )
        for wrong, rule in (
            (df < 0, "a document frequency is negative"),
            (df > self.n_documents, "a term occurs in more documents than there are"),
            (df > cf, "a term occurs in more documents than it has occurrences"),
            ((df == 0) & (cf != 0), "a term has occurrences and is in no document"),
        ):
            if wrong.any():
                term = int(np.flatnonzero(wrong)[0])
                raise WeightError(
                    rule,
                    facts=[
                        ("term", term),
                        ("df", df[term]),
                        ("cf", cf[term]),
                        ("documents", self.n_documents),
                    ],
                )
        if int(cf.sum()) != self.n_tokens:
            raise WeightError(
                "the occurrences of all terms must add up to the number of tokens",
                facts=[("tokens", self.n_tokens), ("sum of cf", int(cf.sum()))],
            )
        if self.longest * self.n_documents < self.n_tokens or not 0 <= self.longest <= self.n_tokens:
            raise WeightError(
                "the longest document must not be shorter than the mean or longer than all documents together",
                facts=[("longest", self.longest), ("mean", self.avgdl), ("tokens", self.n_tokens)],
            )

    @property
    def closed(self) -> bool:
        """Whether these statistics only apply to rows of the collection itself."""
        return True

    @property
    def rarest(self) -> int:
        """Document frequency of a term that does not occur in the collection."""
        return 1

    @property
    def avgdl(self) -> float:
        """Mean document length in tokens: n_tokens / N."""
        return self.n_tokens / self.n_documents

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """P(t|C) of each term, cf over the tokens of the collection: shape (V,), 0 for terms that never occur."""
        shares: npt.NDArray[np.float64] = self.collection_frequencies / max(1, self.n_tokens)
        return shares

    @property
    def n_terms(self) -> int:
        """V: number of terms, with those that do not occur."""
        return len(self.document_frequencies)

    @classmethod
    def from_counts(cls, parts: Iterable[TermWeights], *, n_terms: int | None = None) -> CollectionStatistics:
        """Count the statistics of documents, given as rows of term counts, in one pass.

        Parameters
        ----------
        parts : iterable of TermWeights
            One row a document over one vocabulary; weights are term frequencies, whole numbers from 1.
        n_terms : int, optional
            V: length of the arrays; by default the largest term number plus 1.

        Raises
        ------
        WeightError
            If a weight is not a whole number from 1, or a term number is not below `n_terms`.
        VocabularyMismatchError
            If parts have different vocabularies.
        EmptyCollectionError
            If there is no row.

        Examples
        --------
        >>> rows = TermWeights.from_rows([{0: 3, 1: 2}, {0: 2}, {}], "toy")
        >>> counts = CollectionStatistics.from_counts([rows])
        >>> counts.n_documents, counts.n_tokens, counts.document_frequencies, counts.collection_frequencies
        (3, 7, array([2, 1]), array([5, 2]))
        >>> counts.longest
        5
        """
        df = np.zeros(n_terms or 0, dtype=np.int64)
        cf = np.zeros(n_terms or 0, dtype=np.int64)
        n_documents, longest = 0, 0
        vocabulary: str | None = None
        for part in parts:
            if vocabulary is not None and part.vocabulary != vocabulary:
                raise VocabularyMismatchError(
                    "only rows over one vocabulary can be counted together",
                    facts=[("vocabularies", f"{short_digest(vocabulary)}, {short_digest(part.vocabulary)}")],
                )
            vocabulary = part.vocabulary
            counts = _whole(part, n_documents)
            n_documents += len(part)
            if part.nnz == 0:
                continue
            ends = np.concatenate([np.zeros(1), np.cumsum(counts)])[part.indptr]
            longest = max(longest, int(np.diff(ends).max()))
            needed = int(part.terms.max()) + 1
            if needed > len(df):
                if n_terms is not None:
                    raise WeightError(
                        "a term number lies outside the vocabulary",
                        facts=[("term", needed - 1), ("terms", n_terms)],
                    )
                grown = max(needed, 2 * len(df))
                df, cf = (np.concatenate([old, np.zeros(grown - len(old), np.int64)]) for old in (df, cf))
            part_df = np.bincount(part.terms, minlength=needed)
            # Sums of float64 counts are exact below 2**53 occurrences in one part.
            part_cf = np.bincount(part.terms, weights=counts, minlength=needed)
            df[:needed] += part_df
            cf[:needed] += part_cf.astype(np.int64)
        if n_terms is None:
            used = int(np.flatnonzero(df)[-1]) + 1 if df.any() else 0
            df, cf = df[:used], cf[:used]
        return cls(n_documents, int(cf.sum()), df, cf, longest)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CollectionStatistics):
            return NotImplemented
        return (
            self.n_documents == other.n_documents
            and self.n_tokens == other.n_tokens
            and self.longest == other.longest
            and bool(np.array_equal(self.document_frequencies, other.document_frequencies))
            and bool(np.array_equal(self.collection_frequencies, other.collection_frequencies))
        )

    __hash__ = None  # type: ignore[assignment]


class EstimatedStatistics(CollectionStatistics):
    """Statistics of a large collection, estimated from some of its documents.

    The counts are estimates, so the collection frequencies need not add up to the number of tokens.

    Parameters
    ----------
    n_documents, n_tokens, document_frequencies, collection_frequencies, longest
        See `CollectionStatistics`.
    rarest : int
        Document frequency of a term that occurs in none of the documents.

    Examples
    --------
    >>> counts = EstimatedStatistics(1000, 20_000, [300, 10], [450, 10], 8, rarest=10)
    >>> counts.avgdl, counts.rarest, counts.probabilities
    (20.0, 10, array([0.0225, 0.0005]))
    """

    def __init__(
        self,
        n_documents: int,
        n_tokens: int,
        document_frequencies: npt.ArrayLike,
        collection_frequencies: npt.ArrayLike,
        longest: int,
        *,
        rarest: int,
    ) -> None:
        object.__setattr__(self, "_rarest", rarest)
        frequencies = (np.asarray(document_frequencies), np.asarray(collection_frequencies))
        super().__init__(n_documents, n_tokens, *frequencies, longest)

    @property
    def rarest(self) -> int:
        """See `CollectionStatistics.rarest`."""
        rarest: int = self.__dict__["_rarest"]
        return rarest

    def _check(self) -> None:
        """Accept counts that do not add up."""


class OpenStatistics(CollectionStatistics):
    """Statistics of a collection for weighing any text like one of its documents.

    The counts stay those of the collection, so the weights of a text depend only on the text and the collection. A term
    that the collection lacks has df = cf = 1, or `rarest` of estimated statistics. N, avgdl and the number of tokens do
    not change, so the P(t|C) add up to slightly more than 1. `longest` is the number of tokens of the collection,
    because a text can be longer than every document.

    Parameters
    ----------
    statistics : CollectionStatistics
    n_terms : int
        Length of the new arrays, which extend the old arrays.
    untouched : int, optional
        Number of first terms whose counts stay 0, for models that handle terms without an occurrence.
    longest : int, optional
        Length that longer texts are treated as, in models that depend on the longest document.

    Examples
    --------
    >>> opened = OpenStatistics(CollectionStatistics(3, 7, [2, 1], [5, 2], longest=5), 3)
    >>> opened.document_frequencies, opened.n_documents, opened.probabilities.round(3)
    (array([2, 1, 1]), 3, array([0.714, 0.286, 0.143]))
    """

    def __init__(
        self,
        statistics: CollectionStatistics,
        n_terms: int,
        *,
        untouched: int = 0,
        longest: int | None = None,
    ) -> None:

        def opened(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            longer = np.zeros(n_terms, dtype=np.int64)
            longer[: len(counts)] = counts
            rest = longer[untouched:]
            rest[rest == 0] = statistics.rarest
            return longer

        super().__init__(
            statistics.n_documents,
            statistics.n_tokens,
            opened(statistics.document_frequencies),
            opened(statistics.collection_frequencies),
            max(1, statistics.n_tokens) if longest is None else longest,
        )

    @property
    def closed(self) -> bool:
        """False."""
        return False

    def _check(self) -> None:
        """Accept counts that do not add up."""


def _counts(values: npt.ArrayLike, name: str) -> npt.NDArray[np.int64]:
    array = np.array(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise WeightError(
            f"{name} must be one row of whole numbers",
            facts=[("shape", array.shape), ("type seen", array.dtype)],
        )
    array = array.astype(np.int64, copy=False)
    array.setflags(write=False)
    return array


def _whole(part: TermWeights, first_row: int) -> npt.NDArray[np.float64]:
    counts = part.weights.astype(np.float64)
    wrong = (counts < 1) | (counts != np.floor(counts))
    if wrong.any():
        position = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(part.indptr, position, side="right")) - 1
        raise WeightError(
            "term frequencies must be whole numbers from 1",
            facts=[
                ("row", first_row + row),
                ("term", int(part.terms[position])),
                ("weight", float(part.weights[position])),
            ],
        )
    return counts
