"""The collection whose statistics texts are weighed with."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.scorers.count_weigher import TokenStatistics
from termwise.text import Analyzer


class Background:
    """Counts the tokens of a collection, once for each analyzer that asks.

    Parameters
    ----------
    documents : callable
        Gives the documents, from the first, each time.
    length : int, optional
        How many there are, for progress.
    name : str, optional
        Of the collection.
    progress : callable, optional
        Called with a stage, documents done, and their number.
    """

    def __init__(
        self,
        documents: Callable[[], Iterable[Document]],
        *,
        length: int | None = None,
        name: str = "collection",
        progress: Progress = no_progress,
    ) -> None:
        self._documents = documents
        self._length = length
        self._progress = progress
        self._counted: dict[str, TokenStatistics] = {}
        self.name = name

    def tokens(self, analyzer: Analyzer) -> TokenStatistics:
        """Return the statistics of the collection, its texts cut by an analyzer.

        Raises
        ------
        EmptyCollectionError
            If there is no document.
        """
        key = analyzer.spec.fingerprint
        if key not in self._counted:
            self._counted[key] = TokenStatistics.count(
                self._documents(), analyzer, length=self._length, progress=self._progress
            )
        return self._counted[key]
