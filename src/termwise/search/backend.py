"""What a `Searcher` needs of an index or a mixture of indexes: encode a query, find and score documents, explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, final

import numpy as np
import numpy.typing as npt

from termwise.engine.allowed_documents import AllowedDocuments
from termwise.engine.graph_retrieval import ApproximateRetrieval
from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_vector import QueryVector
from termwise.engine.result_order import Best
from termwise.engine.retrieval import Scored, SearchSegment
from termwise.engine.text_conditions import TextReader
from termwise.errors import UnknownIdError
from termwise.explain.explanation import Explanation
from termwise.index import Index
from termwise.search.request import Search
from termwise.validation import check_names

if TYPE_CHECKING:
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
    """

    name: str
    backend: SingleIndex
    weight: float

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
    """

    index: Index
    encoder: QueryEncoder
    graph: ApproximateRetrieval | None

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


class Matches(Protocol):
    """Documents that match a query."""

    def ordinals(self) -> Ordinals:
        """Return the positions of all matches, in the order of the index."""

    @property
    def best(self) -> Best:
        """Function that returns the best matches by score, of a given number."""

    def scores(self, ordinals: Ordinals) -> Scored:
        """Return the scores of any documents, and whether each has one."""

    def explain(
        self, doc_ids: Sequence[str], ordinals: Ordinals, competitors: int | None, centred: bool
    ) -> list[Explanation]:
        """Explain the scores of documents, given with their positions; see `Results.explain`."""


class Backend(Protocol):
    """One index, or several indexes of the same documents that are ranked together."""

    @property
    def path(self) -> Path | None:
        """Folder; None for a mixture of open indexes."""

    @property
    def description(self) -> str:
        """Name of the model, or the weighted sum of a mixture."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The indexes. A single index is its only part, with the weight 1."""

    @property
    def index(self) -> Index:
        """Index whose identifiers and texts are those of the documents."""

    @property
    def attribute_index(self) -> Index:
        """Index with the attributes of the documents."""

    @property
    def words(self) -> SingleIndex:
        """Index whose analyzer decides which words a text has."""

    @property
    def suggesting(self) -> SingleIndex:
        """Index whose words are suggested for those that it lacks, if its terms are whole words."""

    kind: ClassVar[str]
    """What it is, in errors."""

    scores_are_relative: ClassVar[bool]
    """Whether the score of a document depends on the other candidates."""

    @property
    def text_reader(self) -> TextReader:
        """Reader that finds the texts with a word or phrase."""

    def refreshed(self) -> Backend:
        """Return the newest generation; the same object if it is the newest."""

    def encodings(self, search: Search, example: int | None = None) -> tuple[PartEncoding, ...]:
        """Return how a search encodes queries for each part.

        Parameters
        ----------
        search : Search
        example : int, optional
            Position of the document whose text is the query.

        Raises
        ------
        ParameterError
            If the weights or settings of the search do not apply.
        """

    def allowed(self, found: AllowedDocuments | None) -> Allowed:
        """Return documents of `attribute_index` for each part."""

    def match(self, query: EncodedQuery, left_out: Ordinals, allowed: Allowed) -> Matches:
        """Return the documents that match a query, among those that are allowed and not left out."""

    def windows_for(self, parts: Sequence[PartEncoding], k: int) -> int | None:
        """Return how many windows a search for `k` results takes from a graph, or more; None if it is exact."""


def find_documents(backend: Backend, doc_ids: Sequence[str]) -> Ordinals:
    """Return the positions of documents.

    Raises
    ------
    UnknownIdError
        If there is no such document.
    """
    check_names("doc_ids", doc_ids)
    ordinals = backend.index.find_many(doc_ids)
    unknown = np.flatnonzero(ordinals < 0)
    if len(unknown):
        raise UnknownIdError(
            f"the {backend.kind} holds no such document",
            facts=[("doc_id", doc_ids[unknown[0]]), (backend.kind, backend.path or backend.index.path)],
        )
    return ordinals
