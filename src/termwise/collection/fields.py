"""Which parts of a record make up the text that is searched.

The rules, in order:

1. ``fields=("abstract", "title")`` chooses fields and their order.
2. Otherwise the text is the title followed by the body, the first of `BODY_FIELDS` that the record has.
3. A record with neither is refused: what its text is would be a guess.

Parts are joined with one space; empty parts are left out. A field that is absent or ``null`` is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from termwise.errors import MalformedRecordError, ParameterError, UnknownNameError

ID_FIELDS = ("_id", "id", "doc_id", "docid", "docno")
"""Names under which a record may carry its identifier; the first that is there counts."""

BODY_FIELDS = ("text", "contents", "content", "body", "document_text", "abstract")
"""Names under which a record may carry its main text; the first that is there counts."""


def join(parts: Iterable[str]) -> str:
    """Join texts with one space, leaving out those that are empty or all white space.

    Examples
    --------
    >>> join(["A title", "", "and a text."])
    'A title and a text.'
    """
    return " ".join(part for part in parts if part and not part.isspace())


def checked_fields(fields: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return a choice of fields as a tuple, or None where nothing was chosen.

    Raises
    ------
    ParameterError
        If the choice is empty, or one string instead of a sequence of names.
    """
    if fields is None:
        return None
    if isinstance(fields, str) or not fields or not all(isinstance(name, str) and name for name in fields):
        raise ParameterError(
            "fields must be a sequence of field names",
            facts=[("given", repr(fields))],
            fixes=['fields=("title", "text")'],
        )
    return tuple(fields)


class RecordReader:
    """Takes identifier and text out of the records of one file and remembers which fields were seen.

    Parameters
    ----------
    path : Path
        For error messages.
    id_fields : sequence of str
        Names under which the identifier may be found.
    body_fields : sequence of str
        Names under which the main text may be found, where `fields` is None.
    fields : tuple of str, or None
        The fields that make up the text.
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
            If there is no identifier, it is empty or neither a string nor a whole number; if a field of the
            text is not a string; or if no field of the text is known.
        """
        if self._missing:
            self._missing.difference_update(record)
            if len(self._seen) < 50:
                self._seen.update(dict.fromkeys(record))
        return self._identifier(number, record), join(
            self._text(number, record, name) for name in self._fields or self._default_fields(number, record)
        )

    def finish(self) -> None:
        """Tell, after the last record, of fields that were asked for and that no record had.

        Raises
        ------
        UnknownNameError
            Names the missing field and the fields that were seen.
        """
        for name in self._fields or ():
            if name in self._missing and self._seen:
                error = UnknownNameError.of("field", name, self._seen)
                raise UnknownNameError(
                    error.message, facts=[("file", self._path), *error.facts], fixes=error.fixes
                )

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
                    message="an identifier is not usable",
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
