"""Queries that a text might answer, added to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeGuard, runtime_checkable

from termwise.collection import read_json_lines
from termwise.errors import DuplicateIdError, MalformedRecordError
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.text_edits import in_a_row
from termwise.validation import check_count


@runtime_checkable
class Expander(Protocol):
    """Says which queries a text might answer."""

    def __call__(self, doc_id: str, text: str) -> Sequence[str]:
        """Return queries, best first; none where there is nothing to say.

        The same document always gets the same: whatever is drawn depends on a seed of the expander, and on this
        document alone.
        """
        ...


@dataclass(frozen=True)
class QueriesAppended:
    """Generated queries follow the text, as in doc2query: Nogueira and Lin, 2019.

    Attributes
    ----------
    expander : Expander
        Where they come from.
    count : int
        So many at most.
    """

    expander: Expander
    count: int = 4
    name: str = "append-queries"
    title: str = "Text + generated queries"
    makes: str = "the text with generated queries behind it"

    def __post_init__(self) -> None:
        check_count("count", self.count)

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        return in_a_row(text, *self.expander(around.about.doc_id, text)[: self.count])


@dataclass(frozen=True)
class QueriesOfFile:
    r"""Queries that were generated before.

    Parameters
    ----------
    path : Path
        One JSON object a line, plain or compressed: ``{"doc_id": ..., "queries": [...]}``.

    Raises
    ------
    MissingFileError, MalformedRecordError, DuplicateIdError
        If it cannot be read, a line is something else, or a document comes twice.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "queries.jsonl"
    ...     _ = path.write_text('{"doc_id": "d1", "queries": ["what do cats eat"]}\n')
    ...     queries = QueriesOfFile(path)
    >>> queries("d1", "Cats eat mice."), queries("d2", "Dogs.")
    (('what do cats eat',), ())
    """

    path: Path
    _queries: dict[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[str, tuple[str, ...]] = {}
        for line, record in read_json_lines(self.path):
            doc_id, queries = record.get("doc_id"), record.get("queries")
            if not isinstance(doc_id, str) or not _are_texts(queries):
                raise MalformedRecordError.at(
                    self.path, line, expected='{"doc_id": "...", "queries": ["...", ...]}', seen=str(record)
                )
            if doc_id in found:
                raise DuplicateIdError(
                    "a document has two lines of queries",
                    facts=[("file", self.path), ("line", line), ("document", doc_id)],
                )
            found[doc_id] = tuple(queries)
        object.__setattr__(self, "_queries", found)

    def __call__(self, doc_id: str, text: str) -> tuple[str, ...]:
        """See `Expander`."""
        return self._queries.get(doc_id, ())


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
