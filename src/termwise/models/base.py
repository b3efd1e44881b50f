"""What the rest of the house may expect of a model.

A model makes rows of `TermWeights`. Whatever it is, the score of a document is

    score(q, d) = sum over the terms t of the query of  q(t) * (w(t, d) + floor(t))

where w(t, d) is 0 for a term the row does not hold, and floor(t) is what such an absent term contributes. The
floors are the same for every document, so they change scores and never an order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.text import AnalyzerSpec, Vocabulary
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics

QueryWeighting = Literal["counts", "occurrences", "idf"]
"""How a query weighs its tokens: by how often each occurs, by whether it does, or by a weight of its own."""


@runtime_checkable
class Model(Protocol):
    """A named way to fill rows, with its parameters."""

    name: ClassVar[str]

    def parameters(self) -> dict[str, object]:
        """Return JSON-like settings from which `model_from_parameters` makes an equal model."""
        ...

    @property
    def query_weighting(self) -> QueryWeighting:
        """How queries for this model weigh their tokens."""
        ...


@runtime_checkable
class CountModel(Model, Protocol):
    """A model that is a function of term counts and the statistics of the collection."""

    @property
    def background(self) -> bool:
        """Whether rows carry the reserved background term, numbered V, for the document bias."""
        ...

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of weights.

        Parameters
        ----------
        counts : TermWeights of n rows
            Whole numbers of at least 1: how often each term occurs. Where `background` is true, the rows are
            over the vocabulary with the background term reserved (`Vocabulary.with_background`) and do not
            hold it yet.
        statistics : CollectionStatistics
            Of the whole collection that the rows are part of.

        Returns
        -------
        TermWeights of n rows
            Over the same vocabulary; finite and never negative. Empty rows are kept, and so are weights of 0.

        Raises
        ------
        WeightError
            If the counts are not counts, or the statistics are of another collection.
        VocabularyMismatchError
            If the rows hold terms that the statistics do not know.
        """
        ...

    def floors(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64] | None:
        """Return what an absent term contributes.

        Returns
        -------
        ndarray of shape (V,) or, with a background term, (V + 1,), float64; or None
            Per term; None where it is 0 for all.
        """
        ...


@runtime_checkable
class ExpandingCountModel(Model, Protocol):
    """A model that weighs terms a document lacks, such as translations of those it has.

    It is a `CountModel` once the vocabulary is known, to which it may add.
    """

    @property
    def added_terms(self) -> Sequence[str]:
        """Tokens that rows may hold although the collection lacks them.

        They join the tokens of the collection in the vocabulary of the index, with df = cf = 0 in the statistics. The
        vocabulary of an analyzer that has one stays as it is.
        """
        ...

    def over(self, vocabulary: Vocabulary) -> CountModel:
        """Return what weighs counts over this vocabulary.

        Parameters
        ----------
        vocabulary : Vocabulary of V terms
            All terms, without a background term. Where the analyzer has a vocabulary, it may lack some of
            `added_terms`: rows cannot hold those.
        """
        ...


@runtime_checkable
class NarrowableModel(CountModel, Protocol):
    """A model of counts that can weigh some terms alone, which costs less than weighing all."""

    def narrowed(self, terms: npt.NDArray[np.int32]) -> CountModel:
        """Return a model that weighs these terms as this one does; rows may lack others."""
        ...


@runtime_checkable
class AnalyzedModel(Model, Protocol):
    """A model that fits one way of cutting text, as a table of words does."""

    @property
    def analyzer(self) -> AnalyzerSpec:
        """What cuts documents and queries; no other analyzer will do."""
        ...


@runtime_checkable
class TableModel(Model, Protocol):
    """A model that is read from a table of words, once, when documents are indexed."""

    @property
    def table(self) -> str:
        """Name of a table that ships with the package, or path of a table folder."""
        ...

    @property
    def table_id(self) -> str:
        """``sha256:`` and a digest of what the table holds."""
        ...


@runtime_checkable
class AnnotatingModel(Model, Protocol):
    """A model of counts that leaves more in an index than rows."""

    def files(self, vocabulary: Vocabulary, statistics: CollectionStatistics) -> Mapping[str, bytes]:
        """Return small files for the index to keep, by name; `termwise.models.attachments` reads them.

        Parameters
        ----------
        vocabulary : Vocabulary of V terms
            That of the index.
        statistics : CollectionStatistics
            Of the whole collection.
        """
        ...


@runtime_checkable
class NetworkModel(Model, Protocol):
    """A model whose weights a trained network makes, once, when documents are indexed.

    The model holds settings only; running its network is the business of `termwise.encode`.
    """

    @property
    def encoder(self) -> str:
        """Name of an encoder that ships with the package, or path of an encoder folder."""
        ...


@runtime_checkable
class QueryEncoder(Protocol):
    """Turns the text of a query into one row, without running a network."""

    def encode_query(self, query: str) -> TermWeights:
        """Return one row of query weights; an empty one where no token of the query is known."""
        ...


class VectorBatch(NamedTuple):
    """Some documents of a file of weights.

    Attributes
    ----------
    doc_ids : tuple of str of length n
        In the order of the file.
    weights : TermWeights of n rows
        Their weights.
    texts : tuple of (str or None) of length n
        Their texts, where the file has them.
    """

    doc_ids: tuple[str, ...]
    weights: TermWeights
    texts: tuple[str | None, ...]


@runtime_checkable
class VectorSource(Protocol):
    """A file of documents that come with their weights; may be read again from the start."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The numbering of the terms."""
        ...

    @property
    def length(self) -> int | None:
        """How many documents there are, where that is known without reading the file once more."""
        ...

    def batches(self, *, rows: int = 4096) -> Iterator[VectorBatch]:
        """Read the documents in the order of the file, at most `rows` at a time."""
        ...
