"""Fields of records that make up the text of a document.

The rules, in order:

1. ``fields=("abstract", "title")`` selects fields and their order.
2. By default the text is the title and the first of `BODY_FIELDS` that the record has.
3. A record without a title and without such a field is an error.

One space joins the parts that are not empty. A field that is absent or ``null`` is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from termwise.errors import MalformedRecordError, ParameterError, UnknownNameError

ID_FIELDS = ("_id", "id", "doc_id", "docid", "docno")
"""Names of the identifier; the first one that a record has is used."""

BODY_FIELDS = ("text", "contents", "content", "body", "document_text", "abstract")
"""Names of the main text; the first one that a record has is used."""


def join(parts: Iterable[str]) -> str:
    """Join texts with one space, without blank ones.

    Examples
    --------
    >>> join(["A title", "", "and a text."])
    'A title and a text.'
    """
    return " ".join(part for part in parts if part and not part.isspace())


def checked_fields(fields: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return `fields` as a tuple; raise `ParameterError` unless it is a sequence of names, or None."""
    if fields is None:
        return None
    if isinstance(fields, str) or not fields or not all(isinstance(name, str) and name for name in fields):
        raise ParameterError(
            "fields must be a sequence of field names",
            facts=[("given", repr(fields))],
            fixes=["`fields=(NAME, NAME)`"],
        )
    return tuple(fields)


def refuse_missing_fields(
    kind: str, fields: Iterable[str], missing: Collection[str], seen: Iterable[str], path: Path
) -> None:
    """Raise `UnknownNameError` for the first selected field in `missing`; `seen` are the fields of the file, if any."""
    name = next((name for name in fields if name in missing), None)
    names = list(seen)
    if name is not None and names:
        error = UnknownNameError.of(kind, name, names)
        raise UnknownNameError(error.message, facts=[("file", path), *error.facts], fixes=error.fixes)


class RecordReader:
    """Extracts identifiers and texts from the records of a file, and reports selected fields that no record has.

    Parameters
    ----------
    path : Path
        File, for errors.
    id_fields : sequence of str
        Names of the identifier.
    body_fields : sequence of str
        Names of the main text, if `fields` is None.
    fields : tuple of str, or None
        Fields of the text.
    """

    def __init__(
        self,
        path: Path,
        *,
        id_fields: Sequence[str],
        body_fields: Sequence[str],
        fields: tuple[str, ...] | None,
    ) -> None:
        self._path = path
        self._id_fields = id_fields
        self._body_fields = body_fields
        self._fields = fields
        self._missing = set(fields or ())
        self._seen: dict[str, None] = {}

    def read(self, number: int, record: Mapping[str, Any]) -> tuple[str, str]:
        """Return identifier and text of the record on line `number`.

        Raises
        ------
        MalformedRecordError
            If the identifier is missing, empty, or neither a string nor a whole number, if a field of the text is not
            a string, or if the record has no known text field.
        """
        if self._missing:
            self._missing.difference_update(record)
            if len(self._seen) < 50:
                self._seen.update(dict.fromkeys(record))
        return self._identifier(number, record), join(
            self._text(number, record, name) for name in self._fields or self._default_fields(number, record)
        )

    def finish(self) -> None:
        """Raise `UnknownNameError`, after the last record, for a selected field that no record has."""
        refuse_missing_fields("field", self._fields or (), self._missing, self._seen, self._path)

    def _identifier(self, number: int, record: Mapping[str, Any]) -> str:
        for name in self._id_fields:
            if name in record:
                value = record[name]
                if isinstance(value, int) and not isinstance(value, bool):
                    return str(value)
                if isinstance(value, str) and value:
                    return value
                raise MalformedRecordError.at(
                    self._path,
                    number,
                    expected=f"{name}: a string that is not empty, or a whole number",
                    seen=f"{name}: {value!r}",
                    message="an identifier is not valid",
                )
        raise MalformedRecordError.at(
            self._path,
            number,
            expected=f"an identifier: one of {', '.join(self._id_fields)}",
            seen=_names(record),
            message="a record has no identifier",
        )

    def _default_fields(self, number: int, record: Mapping[str, Any]) -> list[str]:
        names = ["title"] if "title" in record and "title" not in self._body_fields else []
        names += [name for name in self._body_fields if name in record][:1]
        if not names:
            raise MalformedRecordError.at(
                self._path,
                number,
                expected=f"a text: title or one of {', '.join(self._body_fields)}",
                seen=_names(record),
                message="a record has no text under a known name",
                fixes=["index the weights as they are: `model='vectors'`"]
                if "vector" in record
                else ["name the fields that hold the text: `fields=(NAME, NAME)`"],
            )
        return names

    def _text(self, number: int, record: Mapping[str, Any], name: str) -> str:
        value = record.get(name)
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        if name in self._id_fields and isinstance(value, int):
            return str(value)
        raise MalformedRecordError.at(
            self._path,
            number,
            expected=f"{name}: a string",
            seen=f"{name}: {value!r}",
            message="a text is not a string",
            fixes=["leave the field out with `fields=(NAME, NAME)`, or turn it into a string"],
        )


def _names(record: Mapping[str, Any]) -> str:
    return f"the fields {', '.join(record)}" if record else "no fields"
