"""Query by example: the query is a document, and no answer to itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from termwise.records import Ranking
from termwise.search.explanation import Explanation
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
        spaces apart, are no answer either.

        Returns
        -------
        ranking : Ranking
            At most `k` documents.
        same : tuple of str
            Other documents that would have been among them, but say the same.
        """
        if self.doc_id is not None:
            return searcher.rank(self.text, k=k, without=(self.doc_id,)), ()
        same: tuple[str, ...] = ()
        wanted = _words(self.text)
        while True:
            ranking = searcher.rank(self.text, k=k, without=same)
            texts = searcher.index.texts(searcher.index.find_many(ranking.doc_ids))
            found = [
                doc_id
                for doc_id, text in zip(ranking.doc_ids, texts, strict=True)
                if text is not None and _words(text) == wanted
            ]
            if not found:
                return ranking, same
            same += tuple(found)

    def explain(self, searcher: Searcher, doc_id: str, *, competitors: int | None = None) -> Explanation:
        """Show the score of a document for this one; see `Searcher.explain`."""
        without: tuple[str, ...] = () if self.doc_id is None else (self.doc_id,)
        if self.doc_id is None and competitors is not None:
            _, without = self.rank(searcher, k=competitors)
        explanation = searcher.explain(self.text, doc_id, competitors=competitors, without=without)
        return replace(explanation, example=self.name)


def _words(text: str) -> list[str]:
    return text.split()
