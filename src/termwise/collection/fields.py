"""Fields of records that make up the text of a document, and those that are its attributes.

The rules for the text, in order:

1. ``fields=("abstract", "title")`` selects fields and their order; ``fields={"abstract": 1, "title": 3}`` also keeps
   the text of each field, for an index with weights of fields.
2. By default the first records of a collection decide, see `termwise.collection.field_roles`.
3. If they have no other texts, the text is the title and the first of `BODY_FIELDS` that the record has.
4. A record without any of these fields is an error.

Line ends join the parts that are not empty; in a query, spaces. A field that is absent or ``null`` is empty. The
strings of a list are parts of the text, too, and so are whole numbers, such as codes of articles, except in the title
and in `BODY_FIELDS`.

Attributes are kept on request: named fields, those of a `Schema`, or all fields that are neither the identifier nor a
part of the text. The fields of an object, such as ``metadata`` of BEIR, are named ``metadata.NAME``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from termwise.attributes import Schema
from termwise.attributes.field_types import is_missing, possible_types
from termwise.attributes.schema import attribute_error
from termwise.collection.field_roles import FieldTally, is_storable
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError, ParameterError, UnknownNameError
from termwise.fixes import NAMES, Call, Code, Fix
from termwise.records import (
    NO_ATTRIBUTES,
    Attributes,
    AttributeValue,
    Document,
    Origin,
    join_fields,
    join_query,
)
from termwise.storage.manifest_json import Misfit
from termwise.validation import is_integer, is_whole_number

ID_FIELDS = ("_id", "id", "doc_id", "docid", "docno")
"""Names of the identifier; the first one that a record has is used."""

AttributeChoice = Literal["all", "inferred"] | tuple[str, ...] | Schema | None
"""Attributes to keep: all, those that the first records decide, those with these names or of a schema, or none."""

FieldChoice = tuple[str, ...] | Mapping[str, int] | None
"""Fields that make up the text: names, names with weights, or None for the default fields.

With weights, documents keep the text of each field.
"""

BODY_FIELDS = ("text", "contents", "content", "body", "document_text", "abstract")
"""Names of the main text; the first one that a record has is used."""


MOST_WEIGHT = 100
"""Largest weight of a field."""


def identifier(value: object) -> str | None:
    """Return an identifier in JSON as text: a string that is not empty, or a whole number; None for another value.

    A number with a fraction or an exponent, such as ``1.0``, is no identifier: programs write it in different ways.

    Examples
    --------
    >>> identifier("d1"), identifier(7), identifier(1.0), identifier(True), identifier("")
    ('d1', '7', None, None, None)
    """
    if isinstance(value, str):
        return value or None
    return str(value) if is_integer(value) else None


def checked_names(fields: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return `fields` as a tuple; raise `ParameterError` unless it is a sequence of names, or None."""
    if fields is None:
        return None
    names = isinstance(fields, Sequence) and not isinstance(fields, str)
    if not names or not fields or not all(isinstance(name, str) and name for name in fields):
        raise ParameterError(
            "fields must be a sequence of field names",
            facts=[("given", repr(fields))],
            fixes=[Fix.use(fields=NAMES)],
        )
    return tuple(fields)


def checked_fields(fields: Sequence[str] | Mapping[str, int] | None) -> FieldChoice:
    """Return `fields` as a tuple or a dictionary; raise `ParameterError` unless it is a `FieldChoice`."""
    if not isinstance(fields, Mapping):
        return checked_names(fields)
    for name, weight in zip(checked_names(tuple(fields)) or (), fields.values(), strict=True):
        if not is_whole_number(weight, least=1, most=MOST_WEIGHT):
            reason = "each word of a field counts as often as its weight, and models read whole counts"
            raise ParameterError(
                f"the weight of a field is a whole number from 1 to {MOST_WEIGHT}",
                facts=[("field", name), ("weight", shown(weight)), ("reason", reason)],
                fixes=[Fix.use("for other ratios, multiply all weights: {}", fields={"title": 3, "text": 2})],
            )
    return dict(fields)


def checked_attributes(attributes: object) -> AttributeChoice:
    """Return the choice of attributes; raise `ParameterError` unless it is one, or a list of names."""
    if attributes is None or isinstance(attributes, Schema):
        return attributes
    if attributes == "all" or attributes == "inferred":
        return attributes
    if not isinstance(attributes, list | tuple) or not all(
        isinstance(name, str) and name for name in attributes
    ):
        raise ParameterError(
            "attributes must be 'all', 'inferred', a sequence of field names, or a Schema",
            facts=[("given", repr(attributes))],
            fixes=[Fix.use(attributes=NAMES), Fix.use(attributes="all")],
        )
    return tuple(attributes) or None


def checked_id_field(name: object) -> str | None:
    """Return the name of the field with the identifier, or None; raise `ParameterError` for another value."""
    if name is None or (isinstance(name, str) and name):
        return name
    raise ParameterError("id_field is the name of a field", facts=[("given", repr(name))])


def name_identifier() -> Fix:
    """Return the fix for records whose identifier has another name."""
    return Fix.use("name the field that has it: {}", options=Call.of("BuildOptions", id_field=Code("FIELD")))


def refuse_missing_fields(
    kind: str, fields: Iterable[str], missing: Collection[str], seen: Iterable[str], path: Path
) -> None:
    """Raise `UnknownNameError` for the first selected field in `missing`; `seen` are the fields of the file, if any."""
    name = next((name for name in fields if name in missing), None)
    names = list(seen)
    if name is not None and names:
        error = UnknownNameError.of(kind, name, names)
        raise UnknownNameError(error.message, facts=[("file", path), *error.facts], fixes=error.fixes)


@dataclass(eq=False)
class RecordReader:
    """Extracts identifiers, texts and attributes from records, and reports selected fields that no record has.

    Errors name the file and the number of the record, in a `unit` such as line. `body_fields` are names of the main
    text if `fields` is None; `untyped` is that of `Attributes`. With a `tally`, fields and attributes are those of its
    roles: records may lack them, and what is not kept is counted.
    """

    path: Path
    _: KW_ONLY
    id_fields: Sequence[str]
    body_fields: Sequence[str]
    fields: FieldChoice
    attributes: AttributeChoice = None
    untyped: bool = False
    unit: str = "line"
    tally: FieldTally | None = None

    def __post_init__(self) -> None:
        roles = None if self.tally is None else self.tally.roles
        self._missing = set() if roles is not None and roles.decided else set(self.fields or ())
        self._lenient = roles is not None and roles.inferred
        names = self.attributes if isinstance(self.attributes, tuple) and not self._lenient else ()
        self._missing_attributes = set(names)
        self._seen: dict[str, None] = {}

    def read(self, number: int, record: Mapping[str, Any]) -> tuple[str, str]:
        """Return identifier and text of the query on line `number`; raise `MalformedRecordError` if it is not valid."""
        doc_id, texts = self._texts(number, record)
        return doc_id, join_query(chain.from_iterable(texts.values()))

    def _texts(self, number: int, record: Mapping[str, Any]) -> tuple[str, dict[str, list[str]]]:
        """Return the identifier of a record, and the texts of each field: one, or those of a list."""
        self._look_for(self._missing, record)
        doc_id = self._identifier(number, record)
        names = self.fields or self._default_fields(number, record)
        if self.tally is not None and self.tally.roles.decided and not any(name in record for name in names):
            raise self._without_text(number, record, names)
        return doc_id, {name: self._strings(number, record, name) for name in names}

    def document(self, number: int, record: Mapping[str, Any]) -> Document:
        """Return the record on line `number` as a document; raise `MalformedRecordError` if it is not valid."""
        doc_id, texts = self._texts(number, record)
        kept = NO_ATTRIBUTES
        flat = record
        if self.attributes is not None:
            flat = self._flat(number, record)
            self._look_for(self._missing_attributes, flat)
            kept = self._kept(number, flat, tuple(texts))
        if self.tally is not None and not self.tally.roles.known.issuperset(flat):
            known = self.tally.roles.known
            late = [name for name in flat if name not in known and name not in texts and name not in kept]
            self.tally.count_late((name for name in late if flat[name] not in (None, "")), number)
        if isinstance(self.fields, Mapping):
            joined = {
                name: parts[0] if len(parts) == 1 else join_fields(parts) for name, parts in texts.items()
            }
            return Document.of_fields(doc_id, joined, kept)
        return Document.of_texts(doc_id, chain.from_iterable(texts.values()), kept)

    def documents(self, records: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[Document]:
        """Yield the documents of numbered records; see `document` and `finish` for the errors."""
        if self.tally is not None:
            self.tally.begin()
        for number, record in records:
            yield self.document(number, record)
        self.finish()

    def finish(self) -> None:
        """Raise `UnknownNameError`, after the last record, for a selected field that no record has."""
        refuse_missing_fields("field", self.fields or (), self._missing, self._seen, self.path)
        if isinstance(self.attributes, tuple):
            refuse_missing_fields(
                "attribute", self.attributes, self._missing_attributes, self._seen, self.path
            )

    def _look_for(self, missing: set[str], record: Mapping[str, Any]) -> None:
        if missing:
            missing.difference_update(record)
            if len(self._seen) < 50:
                self._seen.update(dict.fromkeys(record))

    def _flat(self, number: int, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the record with the fields of its objects named ``OBJECT.FIELD``."""
        whole = () if self.tally is None else self.tally.roles.neither  # among them, large objects
        if not any(isinstance(value, dict) for value in record.values()):
            return record
        flat: dict[str, Any] = {}
        for name, value in record.items():
            opens = isinstance(value, dict) and name not in whole
            schema = self.attributes if isinstance(self.attributes, Schema) else Schema()
            known = (f"{name}.{inner}" in schema for inner in value) if opens else ()
            if opens and value and name in schema and not any(known):
                raise self._malformed(
                    number,
                    "an attribute has an object in place of a value",
                    f"{name}: a value of the type {schema[name]}",
                    f"{name}: {shown(value)}",
                )
            for inner, part in value.items() if opens else [("", value)]:
                key = f"{name}.{inner}" if opens else name
                if key in flat:
                    raise self._malformed(number, "a record has an attribute twice", "different names", key)
                flat[key] = part
        return flat

    def _kept(self, number: int, record: Mapping[str, Any], texts: Sequence[str]) -> Attributes:
        chosen = self.attributes
        inferred = self.tally.roles.attributes if self.tally is not None and self._lenient else ()
        if chosen == "all":
            identifier = next(name for name in self.id_fields if name in record)
            names = [name for name in record if name != identifier and name not in texts]
        else:
            names = [name for name in dict.fromkeys((*(chosen or ()), *inferred)) if name in record]
        given = chosen if isinstance(chosen, Schema) else Schema()
        values: dict[str, AttributeValue] = {}
        for name in names:
            value = record[name]
            if is_missing(value, untyped=self.untyped):
                continue
            if name in inferred and name not in given and not is_storable(value, untyped=self.untyped):
                assert self.tally is not None, "the roles of fields are counted"
                self.tally.count_left_out(name, number)
                continue
            values[name] = tuple(value) if isinstance(value, list) else value
        if not values:
            return NO_ATTRIBUTES
        kept = Attributes(values, origin=Origin(self.path, self.unit, number), untyped=self.untyped)
        if isinstance(chosen, Schema):
            return chosen.convert(kept, others=self._lenient)
        for name, value in values.items():
            if name in inferred:
                continue
            try:
                possible_types(value, untyped=self.untyped)
            except Misfit as misfit:
                message = "an attribute has a value that cannot be stored"
                raise attribute_error(message, kept, name, misfit) from None
        return kept

    def _malformed(
        self, number: int, message: str, expected: str, seen: str, fixes: Iterable[str | Fix] = ()
    ) -> MalformedRecordError:
        return MalformedRecordError.at(
            self.path, number, unit=self.unit, expected=expected, seen=seen, message=message, fixes=fixes
        )

    def _identifier(self, number: int, record: Mapping[str, Any]) -> str:
        name = next((name for name in self.id_fields if name in record), None)
        if name is None:
            raise self._malformed(
                number,
                "a record has no identifier",
                f"an identifier: {self.id_fields[0]}"
                if len(self.id_fields) == 1
                else f"an identifier: one of {', '.join(self.id_fields)}",
                _names(record),
                [name_identifier()],
            )
        value = record[name]
        found = identifier(value)
        if found is not None and not found.startswith("\ufeff"):
            return found
        raise self._malformed(
            number,
            "an identifier is not valid",
            f"{name}: a string that is not empty, or a whole number"
            if found is None
            else f"{name}: a string that does not begin with a byte order mark",
            f"{name}: {value!r}",
            [f"write it without a fraction, {value:.0f}, or as a string"]
            if isinstance(value, float) and value.is_integer()
            else (),
        )

    def _default_fields(self, number: int, record: Mapping[str, Any]) -> list[str]:
        names = ["title"] if "title" in record and "title" not in self.body_fields else []
        names += [name for name in self.body_fields if name in record][:1]
        if not names:
            raise self._without_text(number, record, ("title", *self.body_fields))
        return names

    def _without_text(
        self, number: int, record: Mapping[str, Any], names: Iterable[str]
    ) -> MalformedRecordError:
        first, *others = names
        return self._malformed(
            number,
            "a record has no text under a known name",
            "a text: " + " or one of ".join(filter(None, (first, ", ".join(others)))),
            _names(record),
            [Fix.use("index the weights as they are: {}", model="vectors")]
            if "vector" in record
            else [Fix.use("name the fields that hold the text: {}", fields=NAMES)],
        )

    def _strings(self, number: int, record: Mapping[str, Any], name: str) -> list[str]:
        value = record.get(name)
        if isinstance(value, str):
            return [value]
        if value is None:
            return []
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            return list(value)
        if name not in ("title", *self.body_fields) and (text := identifier(value)):
            return [text]
        raise self._malformed(
            number,
            "a text is not a string",
            f"{name}: a string or a list of strings",
            f"{name}: {value!r}",
            [Fix.use("leave the field out with {}, or turn it into a string", fields=NAMES)],
        )


def _names(record: Mapping[str, Any]) -> str:
    return f"the fields {', '.join(record)}" if record else "no fields"
