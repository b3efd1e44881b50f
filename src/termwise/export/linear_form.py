"""Linear form of a search: one weighted sum over the parts, which every engine that adds weights can compute.

    score(q, d) = sum over parts p of  c_p(q) * S_p(q, d)  +  constant

For a sparse part, S_p is the sum of the query's integer weights times the impacts of the document. For vectors, it is
the largest product of the query vector and a window of the document, and 0 without one. For a single index, c_p is the
unit of the sums, so that the scores are those of the index.

The scores of a mixture depend on the candidates of each query: mean and deviation of the z-scores are computed over
them. The linear form has a constant in place of the deviation, the scale of the part, and no mean, which is the same
for all documents. The query of a part with vectors is brought to length 1 first. There is no feedback. So the ranking
of a mixture is near that of its linear form, and not the same; ``experiments/results/fixed_scales.md`` has the
difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.engine.allowed_documents import FilterLike, allowed_for
from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import score_chunks
from termwise.errors import ParameterError
from termwise.export.source import ExportPart, ExportSource
from termwise.fast_dataclass import dataclass
from termwise.records import Ranking
from termwise.search.request import Search
from termwise.search.searcher import Searcher


@final
@dataclass(frozen=True, eq=False)
class PartQuery:
    """Query of one part.

    Attributes
    ----------
    part : ExportPart
    vector : QueryVector
    coefficient : float
        What the sum of the part is multiplied by.
    """

    part: ExportPart
    vector: QueryVector
    coefficient: float

    def portable(self) -> dict[str, Any]:
        """Return the query as JSON; see ``docs/reference/query-kit.md``."""
        shared = {"name": self.part.name, "kind": self.part.kind, "coefficient": self.coefficient}
        if self.vector.vector is not None:
            return {**shared, "vector": self.vector.vector.tolist()}
        tokens = self.part.index.vocabulary.tokens(self.vector.terms.astype(np.int64))
        weights = self.vector.weights.tolist()
        return {
            **shared,
            "constant": self.coefficient / self.vector.unit * self.vector.constant
            if self.vector.constant
            else 0.0,
            "terms": dict(zip(tokens, weights, strict=True)),
            "numbers": dict(zip(map(str, self.vector.terms.tolist()), weights, strict=True)),
            "background": self.vector.background,
        }


@final
class LinearForm:
    """Queries and exact rankings of the linear form of an index or mixture: what an export is compared with.

    Parameters
    ----------
    source : ExportSource

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [termwise.Document("a", "green tea"), termwise.Document("b", "black tea")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searcher = termwise.build_index(documents, folder, model="bm25")
    ...     form = LinearForm(ExportSource(searcher))
    ...     form.query("green tea")["parts"][0]["terms"], form.rank("green tea", k=2) == searcher.rank("green tea", k=2)
    ({'green': 1, 'tea': 1}, True)
    """

    def __init__(self, source: ExportSource) -> None:
        self.source = source

    def part_queries(self, text: str) -> tuple[PartQuery, ...]:
        """Return the query of each part, as a search reads the text."""
        query = self.source.searcher.search(Search(text)).query
        vectors = {id(each.index): vector for each, vector in zip(query.parts, query.vectors, strict=True)}
        return tuple(self._part_query(part, vectors[id(part.index)]) for part in self.source.parts)

    def query(self, text: str) -> dict[str, Any]:
        """Return a query as JSON, in the form of the query kit."""
        parts = [each.portable() for each in self.part_queries(text)]
        return {"parts": parts, "constant": sum(part.get("constant", 0.0) for part in parts)}

    def rank(self, text: str, *, k: int = 10, filter: FilterLike | None = None) -> Ranking:
        """Rank the documents by the linear form; a document that is cut into chunks has the score of its best one.

        Those that share no term with the query in any part, and have no vector, are no results. Documents with equal
        scores are in the order of the input.
        """
        searcher = self.source.searcher
        if not self.source.is_mixture:
            return searcher.rank(text, k=k, filter=filter)
        rows = self._allowed_rows(filter)
        totals, matched = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.bool_)
        for each in self.part_queries(text):
            if len(each.vector.terms):
                scores, found = score_chunks(each.part.index, each.vector, rows)
                totals += each.coefficient / each.vector.unit * scores
                matched |= found
        rows, totals = rows[matched], totals[matched]
        best = np.argsort(-totals, kind="stable")
        rows, totals = rows[best], totals[best]
        if self.source.chunked:
            _, first = np.unique(self.source.index.chunks.documents_of(rows), return_index=True)
            kept = np.sort(first)
            rows, totals = rows[kept], totals[kept]
        return Ranking(self.source.index.doc_ids(rows[:k]), totals[:k])

    def _part_query(self, part: ExportPart, vector: QueryVector) -> PartQuery:
        if part.scale is None:
            return PartQuery(part, vector, vector.unit)
        coefficient = part.part.weight / part.scale * vector.unit
        if vector.vector is not None:
            length = query_length(vector)
            coefficient = coefficient / length if length else 0.0
        return PartQuery(part, vector, coefficient)

    def _allowed_rows(self, filter: FilterLike | None) -> npt.NDArray[np.int64]:
        index = self.source.searcher.backend.attribute_index
        rows = np.arange(len(index), dtype=np.int64)
        allowed = allowed_for(index, filter, None)
        return rows if allowed is None else rows[allowed.allow(rows)]


def query_length(query: QueryVector) -> float:
    """Return the Euclidean length of a query vector, for windows whose vectors have length 1."""
    assert query.vector is not None, "the index has vectors"
    return float(np.linalg.norm(query.vector.astype(np.float64))) * query.unit


def measured_scales(searcher: Searcher, queries: Iterable[str]) -> dict[str, float]:
    """Measure the scales of the parts of a mixture on queries.

    The scale of a part is the mean, over the queries whose candidates differ in it, of the standard deviation of its
    scores over the candidates; for vectors, of a query of length 1.

    Parameters
    ----------
    searcher : Searcher
        A mixture.
    queries : iterable of str
        Typical queries, not those of an evaluation.

    Raises
    ------
    ParameterError
        If the searcher is no mixture, or no query has candidates that differ in some part.
    """
    from termwise.search.mixture import Mixture, MixtureMatches
    from termwise.search.request import Search

    if not isinstance(searcher.backend, Mixture):
        raise ParameterError(
            "only the parts of a mixture have scales", facts=[("index", searcher.index.path)]
        )
    found: Mapping[str, list[float]] = {part.name: [] for part in searcher.parts}
    for text in queries:
        matches = searcher.search(Search(text, k=1, feedback=False)).matches(frozenset())
        assert isinstance(matches, MixtureMatches), "the backend is a mixture"
        for part, vector, scores in zip(
            searcher.parts, matches.query.vectors, matches.part_scores(matches.candidates), strict=True
        ):
            length = 1.0 if vector.vector is None else query_length(vector) or 1.0
            if len(scores) > 1 and scores.min() < scores.max():
                found[part.name].append(float(scores.std()) / length)
    missing = [name for name, values in found.items() if not values]
    if missing:
        raise ParameterError(
            "no query has candidates whose scores differ in every part, so that scales cannot be measured",
            facts=[("parts", ", ".join(missing))],
            fixes=["give more queries, in the language of the documents"],
        )
    return {name: float(np.mean(values)) for name, values in found.items()}
