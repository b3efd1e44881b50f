"""Parts of a search: each index that is searched, and the query encoded for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from termwise.engine.allowed_documents import AllowedDocuments
from termwise.engine.feedback import Feedback
from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import SearchSegment
from termwise.fast_dataclass import dataclass
from termwise.index import Index

if TYPE_CHECKING:
    from termwise.engine.graph_retrieval import ApproximateRetrieval
    from termwise.engine.word_matches import WordMatches
    from termwise.search.single_index import SingleIndex

Ordinals = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Allowed = tuple[AllowedDocuments, ...] | None
"""Documents that conditions allow, by part; None if all are allowed."""


@final
@dataclass(frozen=True)
class Part:
    """One index of a mixture.

    Attributes
    ----------
    name : str
        Name in explanations.
    backend : SingleIndex
    weight : float
        Weight of its normalised scores; a negative weight reverses them.
    retrieves : bool
        Whether the index finds candidates. Otherwise, it scores those of the other parts.
    scale : float or None
        Typical standard deviation of its scores over the candidates of a query, for an index by vectors that of a query
        of length 1. An engine that cannot normalise the scores of each query divides by it. None if it was not
        measured.
    """

    name: str
    backend: SingleIndex
    weight: float
    retrieves: bool = True
    scale: float | None = None

    @property
    def index(self) -> Index:
        """The open index."""
        return self.backend.index


@final
@dataclass(frozen=True, eq=False)
class PartEncoding:
    """How a search encodes queries for one index and searches it.

    Attributes
    ----------
    index : Index
    encoder : QueryEncoder
    graph : ApproximateRetrieval or None
        For an approximate search of vectors.
    retrieves : bool
        See `Part`.
    feedback : Feedback or None
        Settings of feedback in a mixture; None for none.
    """

    index: Index
    encoder: QueryEncoder
    graph: ApproximateRetrieval | None
    retrieves: bool = True
    feedback: Feedback | None = None

    @property
    def search(self) -> SearchSegment | None:
        """Search of a segment in place of the exact one."""
        return None if self.graph is None else self.graph.search


@final
@dataclass(frozen=True, eq=False)
class EncodedQuery:
    """Query prepared for each part.

    Attributes
    ----------
    text : str
    parts : tuple of PartEncoding
    vectors : tuple of QueryVector
        One for each part.
    """

    text: str
    parts: tuple[PartEncoding, ...]
    vectors: tuple[QueryVector, ...]

    def word_matches(
        self, place: int, match: str | None, left_out: Ordinals, allowed: AllowedDocuments | None
    ) -> WordMatches:
        """Find the documents that match by the words of one part; see `termwise.engine.word_matches`."""
        from termwise.engine.word_matches import word_matches

        part = self.parts[place]
        return word_matches(
            part.index,
            part.encoder,
            self.vectors[place],
            self.text,
            match,
            left_out=left_out,
            allowed=allowed,
            texts=next((each.index for each in self.parts if each.index.stores_text), None),
        )
