"""Changes of documents in the form of OpenSearch: single ones, and the lines of a bulk request."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from termwise.errors import TermwiseError, UnknownIdError
from termwise.serve.bodies import parsed_json
from termwise.serve.changes import Change, Delete, Merge, Outcome, Put
from termwise.serve.documents import read_document, read_merge
from termwise.serve.errors import ServiceError, TooLargeError, status_of
from termwise.serve.indexes import ServedIndex, ServedIndexes
from termwise.serve.opensearch.errors import ConflictError, UnsupportedError, cause_of
from termwise.serve.opensearch.json_checks import flag, identifier, known_keys, record, single, text

ACTIONS = ("index", "create", "update", "delete")

_RESULTS: Mapping[Outcome, tuple[str, int]] = {
    "created": ("created", 201),
    "replaced": ("updated", 200),
    "updated": ("updated", 200),
    "deleted": ("deleted", 200),
    "missing": ("not_found", 404),
}

_SHARDS = {"total": 1, "successful": 1, "failed": 0}


def new_id() -> str:
    """Return an identifier for a document without one."""
    return secrets.token_urlsafe(15)


def put(served: ServedIndex, doc_id: str, source: object, *, only_new: bool = False) -> Put:
    """Return the change that stores a document; see `read_document`. Fields with the value null are absent."""
    given = {name: value for name, value in record(source, "a document").items() if value is not None}
    return Put(read_document(served.searcher(), given, doc_id), only_new)


def update(served: ServedIndex, doc_id: str, body: object) -> Merge:
    """Return the change that an update of a document makes; see `read_merge`.

    ``doc`` has the new texts and attributes, where null removes one. With ``doc_as_upsert``, and if it has a text, it
    is the document to add if there is none.
    """
    given = known_keys(body, "an update", ("doc", "doc_as_upsert"))
    doc = record(given.get("doc"), "doc")
    change = read_merge(served.searcher(), doc, doc_id)
    if not flag(given.get("doc_as_upsert", False), "doc_as_upsert") or not any(change.texts.values()):
        return change
    return replace(change, otherwise=put(served, doc_id, doc).document)


def outcome_answer(index: str, change: Change, outcome: Outcome) -> tuple[dict[str, Any], int]:
    """Return the answer to a change, and its status; one that could not be made is an error."""
    if outcome == "exists":
        raise ConflictError("the document exists already", facts=[("doc_id", change.doc_id)])
    if outcome == "missing" and isinstance(change, Merge):
        raise UnknownIdError("the index has no such document", facts=[("doc_id", change.doc_id)])
    result, status = _RESULTS[outcome]
    return {"_index": index, "_id": change.doc_id, "result": result, "_shards": _SHARDS}, status


@dataclass
class BulkItem:
    """An action of a bulk request.

    Attributes
    ----------
    action, index, doc_id : str
    change : Change or TermwiseError
        The error if the action is refused.
    outcome : Outcome or None
        Set when the change is made.
    """

    action: str
    index: str
    doc_id: str
    change: Change | TermwiseError
    outcome: Outcome | None = None

    def answer(self) -> dict[str, Any]:
        """Return the answer to the action; with the key ``error`` if it is refused."""
        try:
            if isinstance(self.change, TermwiseError):
                raise self.change
            assert self.outcome is not None, "the change is made"
            record, status = outcome_answer(self.index, self.change, self.outcome)
            return {self.action: {**record, "status": status}}
        except TermwiseError as error:
            refused = {"_index": self.index, "_id": self.doc_id, "status": status_of(error)}
            return {self.action: {**refused, "error": cause_of(error)}}


def read_bulk(body: bytes, indexes: ServedIndexes, index: str | None, most: int) -> list[BulkItem]:
    """Read the lines of a bulk request, with at most `most` actions; `index` is that of the address.

    A line of an action that is not as expected is an error; what is wrong with its document is an item.
    """
    lines = [line for line in body.split(b"\n") if line.strip()]
    items: list[BulkItem] = []
    remaining = enumerate(lines, 1)
    for number, line in remaining:
        if len(items) == most:
            raise TooLargeError("the request has too many actions", facts=[("most", most)])
        action, given = single(parsed_json(line), f"the action in line {number}")
        if action not in ACTIONS:
            raise UnsupportedError.of(f"in line {number}, the action", action, ACTIONS)
        meta = record(given, f"the action in line {number}")
        name = text(meta.get("_index", index or ""), "_index")
        is_new = meta.get("_id") is None and action in ("index", "create")
        doc_id = new_id() if is_new else identifier(meta.get("_id"), "_id")
        source = None if action == "delete" else next(remaining, (0, None))[1]
        if action != "delete" and source is None:
            raise ServiceError("the last action lacks its document", facts=[("line", number)])
        change: Change | TermwiseError
        try:
            retries = ("retry_on_conflict",) if action == "update" else ()
            known_keys(meta, "an action", ("_index", "_id", *retries))
            served = indexes[name]
            if source is None:
                change = Delete(doc_id)
            elif action == "update":
                change = update(served, doc_id, parsed_json(source))
            else:
                change = put(served, doc_id, parsed_json(source), only_new=action == "create")
        except TermwiseError as error:
            change = error
        items.append(BulkItem(action, name, doc_id, change))
    return items


def by_index(items: Sequence[BulkItem]) -> Iterator[tuple[str, list[BulkItem]]]:
    """Yield the accepted actions of each index, in their order."""
    accepted = [item for item in items if not isinstance(item.change, TermwiseError)]
    for name in dict.fromkeys(item.index for item in accepted):
        yield name, [item for item in accepted if item.index == name]
