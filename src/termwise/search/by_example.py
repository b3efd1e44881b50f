"""Query by example: the query is a document, and no answer to itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from termwise.errors import ParameterError
from termwise.explain.explanation import Explanation
from termwise.records import Excluded, Ranking
from termwise.search.searcher import Searcher


@dataclass(frozen=True)
class Example:
    """A document that is the query.

    Attributes
    ----------
    name : str
        What it is called where it is shown: its identifier, or the name of its file.
    text : str
        What it says.
    doc_id : str or None
        Its identifier, if it is a document of the index.
    """

    name: str
    text: str
    doc_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ParameterError("an example is a text", facts=[("given", type(self.text).__name__)])

    @classmethod
    def of(cls, searcher: Searcher, doc_id: str) -> Example:
        """Take a document of an index.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        ParameterError
            If the index keeps no texts.
        """
        return cls(doc_id, searcher.query_of(doc_id).text, doc_id)

    def rank(self, searcher: Searcher, *, k: int) -> tuple[Ranking, tuple[str, ...]]:
        """Rank the documents for this one.

        A text from elsewhere may be that of a document of the index. Where texts are kept, results that say the same,
        but for white space, are no answer either.

        Returns
        -------
        ranking : Ranking
            At most `k` documents.
        same : tuple of str
            Other documents that would have been among them, but say the same.
        """
        if self.doc_id is not None:
            return searcher.rank_like(self.doc_id, k=k), ()
        row, wanted = searcher.encode(self.text), k
        while True:
            ranking = searcher.rank(row, k=wanted)
            same = self._same(searcher, ranking.doc_ids)
            if len(ranking) < wanted or len(ranking) - len(same) >= k:
                return Excluded.of({"": set(same)}).kept(ranking).top(k), same
            wanted *= 2

    def explain(
        self, searcher: Searcher, doc_ids: Sequence[str], *, competitors: int | None = None
    ) -> list[Explanation]:
        """Show the scores of documents for this one; see `Searcher.explain_many`."""
        exclude: tuple[str, ...] = ()
        if self.doc_id is not None:
            searcher, exclude = searcher.for_example(self.doc_id), (self.doc_id,)
        elif competitors is not None:
            everything = searcher.rank(self.text, k=max(1, len(searcher.index))).doc_ids
            exclude = tuple(one for one in self._same(searcher, everything) if one not in doc_ids)
        explained = searcher.explain_many(self.text, doc_ids, competitors=competitors, exclude=exclude)
        return [replace(one, example=self.name) for one in explained]

    def _same(self, searcher: Searcher, doc_ids: Sequence[str]) -> tuple[str, ...]:
        """Return those documents that say what this one says."""
        wanted = self.text.split()
        texts = searcher.index.texts(searcher.index.find_many(doc_ids))
        return tuple(
            doc_id
            for doc_id, text in zip(doc_ids, texts, strict=True)
            if text is not None and text.split() == wanted
        )
