"""Schema of attributes: the type of each field, given in a file or inferred from records."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, cast, get_args

from termwise.attributes.field_types import (
    EXPECTED,
    FIELD_TYPES,
    FOLDED_TYPES,
    TEXT_TYPES,
    FieldType,
    Stored,
    attribute_value,
    folded_keyword,
    is_marker,
    is_missing,
    possible_types,
    stored_value,
)
from termwise.display.safe_text import shown
from termwise.errors import MOST_NAMES, DataError, MalformedRecordError, ParameterError, UnknownNameError
from termwise.fixes import NAMES, Call, Code, Fix
from termwise.records import Attributes, AttributeValue, Document, Origin
from termwise.storage.json_or_toml import read_json_or_toml
from termwise.storage.manifest_json import Misfit
from termwise.validation import check_path

MOST_FIELDS = 1000
"""Largest number of fields."""

MOST_BYTES = 1 << 20
"""Largest schema file."""

_CHOOSE = Fix.use("leave the field out: name the attributes to keep, {}", attributes=NAMES)

STRAY_SHARE = 0.1
"""Largest share of the values of a column of numbers or dates that a note calls mistakes."""

_DECIMAL_COMMA = re.compile(r"-?([0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+),([0-9]+)")
"""Pattern of numbers with a decimal comma. In English notation, 1,234 is a whole number."""

_DIGITS = re.compile(r"-?[0-9][0-9.,]*")

_MONEY = r"(?:[€$£¥₹]|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|AUD|CAD|INR|CNY|kr\.?|zł|Kč|Fr\.)"
_AMOUNT = re.compile(rf"(?:{_MONEY}\s?)?(-?[0-9][0-9.,']*)(?:\s?{_MONEY})?")
_DAY = re.compile(
    r"(?:0?[1-9]|[12][0-9]|3[01])([./-])(?:0?[1-9]|[12][0-9]|3[01])\1[0-9]{4}"
    r"|[0-9]{4}([./])[0-9]{1,2}\2[0-9]{1,2}"
)

Form = Literal["amount", "comma", "day", "number"]
"""Form of a text that looks like a number or a date; see `_form`. Notes name the first one that a column has."""

FORMS: tuple[Form, ...] = get_args(Form)

_NOUNS: dict[FieldType, str] = {
    "boolean": "true or false",
    "integer": "a number",
    "float": "a number",
    "date": "a date",
    "keyword": "text",
    "keywords": "a list",
    "keyword folded": "text",
    "keywords folded": "a list",
}
"""What a value is called, by the last type that it can have."""


class Schema(Mapping[str, FieldType]):
    """Immutable mapping of the names of attributes to their types, sorted by name.

    Parameters
    ----------
    types : mapping of str to FieldType, optional
        ``"keyword"``, ``"keywords"`` (a list), ``"integer"``, ``"float"``, ``"boolean"`` or ``"date"`` for each field.
        Values of a ``"keyword folded"`` or ``"keywords folded"`` are one if their `folded_keyword` is equal.
    texts : sequence of str or mapping of str to int, optional
        Fields of the texts of an index, with their weights if they have any. Errors about unknown attributes name the
        way to make one of them an attribute, too.

    Raises
    ------
    UnknownNameError
        If a type is unknown.
    ParameterError
        If a name is not a string, or is empty, or there are more than `MOST_FIELDS` fields.

    Examples
    --------
    >>> schema = Schema({"price": "float", "lang": "keyword"})
    >>> list(schema), schema["price"]
    (['lang', 'price'], 'float')
    """

    __slots__ = ("_texts", "_types")

    def __init__(
        self, types: Mapping[str, str] | None = None, *, texts: Sequence[str] | Mapping[str, int] = ()
    ) -> None:
        checked: dict[str, FieldType] = {}
        if types is not None and not isinstance(types, Mapping):
            raise ParameterError(
                "a schema is a mapping of fields to types", facts=[("given", type(types).__name__)]
            )
        for name, kind in (types or {}).items():
            if not isinstance(name, str) or not name:
                raise ParameterError(
                    "the name of a field is a string that is not empty", facts=[("given", repr(name))]
                )
            if kind not in FIELD_TYPES:
                raise UnknownNameError.of(f"type of {name}", str(kind), FIELD_TYPES)
            checked[name] = kind
        if len(checked) > MOST_FIELDS:
            raise ParameterError(
                "a schema has too many fields", facts=[("fields", len(checked)), ("most", MOST_FIELDS)]
            )
        self._types = {name: checked[name] for name in sorted(checked)}
        self._texts = texts

    def __getitem__(self, name: str) -> FieldType:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def check_name(self, name: str) -> None:
        """Check that the documents of an index have an attribute.

        Raises `UnknownNameError` if there are others only, and `ParameterError` if there are none.
        """
        if not self:
            raise ParameterError(
                "this index has no attributes",
                facts=[("given", name)],
                fixes=[self._as_attribute(name) if name in self._texts else Fix.build(attributes="all")],
            )
        if name not in self:
            raise self.unknown(name)

    def unknown(self, name: str) -> UnknownNameError:
        """Return the error for a name that is no attribute; for a field of the texts, it says how to make it one."""
        error = UnknownNameError.of("attribute", name, self)
        if name not in self._texts:
            return error
        return UnknownNameError(
            f"{error.message}: the field is a part of the texts only",
            facts=error.facts,
            fixes=[self._as_attribute(name)],
        )

    def _as_attribute(self, name: str) -> Fix:
        """Return how to build the index with a field of the texts as an attribute, too."""
        attributes = sorted([*self, name]) if len(self) < MOST_NAMES else [name, *NAMES]
        fields = dict(self._texts) if isinstance(self._texts, Mapping) else list(self._texts)
        return Fix.build(fields=fields, attributes=attributes)

    def __len__(self) -> int:
        return len(self._types)

    def __hash__(self) -> int:
        return hash(tuple(self._types.items()))

    def __repr__(self) -> str:
        return f"Schema({self._types!r})"

    @classmethod
    def infer(cls, records: Iterable[Document | Mapping[str, AttributeValue]]) -> Schema:
        """Infer the types of all attributes of documents, or of mappings.

        A type is chosen that fits all values: whole numbers with others are ``float``, strings with lists are
        ``keywords``, and strings are ``date`` only if all of them are dates. Missing values fit every type.

        Raises
        ------
        DataError, MalformedRecordError
            If no type fits all values of a field, or a value cannot be stored; the error names two records.

        Examples
        --------
        >>> Schema.infer([{"price": 3, "day": "2024-01-31"}, {"price": 2.5, "tags": ["a"]}])
        Schema({'day': 'date', 'price': 'float', 'tags': 'keywords'})
        """
        inference = SchemaInference()
        for record in records:
            inference.add(record.attributes if isinstance(record, Document) else record)
        return inference.schema()

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        r"""Read a schema from a JSON or TOML file with the type of each field.

        Parameters
        ----------
        path : str or Path
            File that ends in ``.json`` or ``.toml``. A field of a nested object is named ``OBJECT.FIELD``, or is in an
            object (in TOML, a table) of that name.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        MalformedRecordError
            If it is not valid, or not a mapping of names to types.
        UnknownNameError
            If its ending or a type is unknown.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "schema.toml"
        ...     _ = path.write_text('price = "float"\n[metadata]\nyear = "integer"\n')
        ...     Schema.read(path)
        Schema({'metadata.year': 'integer', 'price': 'float'})
        """
        check_path("the schema", path)
        file = Path(path)
        body = read_json_or_toml(file, "schema", MOST_BYTES, partial(_malformed, file))
        types: dict[str, str] = {}
        for name, kind in body.items() if isinstance(body, dict) else [("", body)]:
            for inner, value in kind.items() if isinstance(kind, dict) and name else [("", kind)]:
                if not isinstance(value, str) or not name:
                    raise _malformed(
                        file, "the name of a type for each field", f"{name or 'file'}: {value!r}"
                    )
                types[f"{name}.{inner}" if isinstance(kind, dict) else name] = value
        return cls(types)

    def to_json(self) -> str:
        r"""Return the schema as JSON that `read` accepts.

        Examples
        --------
        >>> Schema({"price": "float", "lang": "keyword"}).to_json()
        '{\n  "lang": "keyword",\n  "price": "float"\n}\n'
        """
        return json.dumps(self._types, indent=2, ensure_ascii=False) + "\n"

    def convert(self, attributes: Mapping[str, AttributeValue], *, others: bool = False) -> Attributes:
        """Return the attributes of this schema with values of their types; with `others`, also others as they are.

        Dates become `datetime` in UTC. Missing values are left out.

        Raises
        ------
        DataError, MalformedRecordError
            If a value has another type; the error names the record, the field, the value and the type.

        Examples
        --------
        >>> Schema({"day": "date", "price": "float"}).convert({"day": "2024-01-31", "price": 3, "size": "L"})
        {'day': datetime.datetime(2024, 1, 31, 0, 0, tzinfo=datetime.timezone.utc), 'price': 3.0}
        """
        stored = self.stored(attributes)
        values = {name: attribute_value(self[name], value) for name, value in stored.items()}
        if others:
            values |= {name: value for name, value in attributes.items() if name not in self}
        return Attributes(
            values,
            origin=attributes.origin if isinstance(attributes, Attributes) else None,
            untyped=others and isinstance(attributes, Attributes) and attributes.untyped,
        )

    def same(self, values: Mapping[str, AttributeValue], attributes: Mapping[str, AttributeValue]) -> bool:
        """Return whether the attributes of a document are those of an index, `values`, apart from spelling."""
        return self._folded(values) == self._folded(self.convert(attributes) if self else attributes)

    def _folded(self, values: Mapping[str, AttributeValue]) -> dict[str, object]:
        return {
            name: value
            if self.get(name) not in FOLDED_TYPES
            else folded_keyword(value)
            if isinstance(value, str)
            else tuple(map(folded_keyword, cast("tuple[str, ...]", value)))
            for name, value in values.items()
        }

    def stored(self, attributes: Mapping[str, AttributeValue], *, record: str = "") -> dict[str, Stored]:
        """Return the values that columns hold; `record` names a record without an origin. Errors as `convert`."""
        untyped = isinstance(attributes, Attributes) and attributes.untyped
        values: dict[str, Stored] = {}
        for name, value in attributes.items():
            kind = self._types.get(name)
            if kind is None or is_missing(value, untyped=untyped):
                continue
            if kind not in TEXT_TYPES and is_marker(value):
                continue
            try:
                values[name] = stored_value(kind, value)
            except Misfit as misfit:
                raise attribute_error(
                    "an attribute has a value of the wrong type",
                    attributes,
                    name,
                    Misfit(f"{misfit.expected} ({kind})", misfit.seen),
                    record,
                    _type_fixes(kind, value),
                ) from None
        return values


def _type_fixes(kind: FieldType, value: AttributeValue) -> list[str | Fix]:
    """Return the fixes for a value that does not have the type of its field."""
    try:
        fits = kind == "integer" and "float" in possible_types(value, untyped=True)
    except Misfit:
        fits = False
    wanted = "is a float" if fits else "has another type"
    return [
        "change the value",
        Fix.sentence(
            "build the index with a schema in which the field {}: {}",
            wanted,
            Fix.call("build_index", attributes=Call.of("Schema.read", Code("FILE"))),
        ),
    ]


def attribute_error(
    message: str,
    attributes: Mapping[str, AttributeValue],
    name: str,
    misfit: Misfit,
    record: str = "",
    fixes: Sequence[str | Fix] = ("change the value", _CHOOSE),
) -> DataError:
    """Build the error for the value of a field; `record` names a record without an origin."""
    facts = [("field", name), ("expected", misfit.expected), ("seen", misfit.seen)]
    origin = attributes.origin if isinstance(attributes, Attributes) else None
    if origin is None:
        return DataError(message, facts=[*([("record", record)] if record else []), *facts], fixes=fixes)
    return MalformedRecordError(
        message, facts=[("file", origin.file), (origin.unit, origin.number), *facts], fixes=fixes
    )


class SchemaInference:
    """Types of attributes, inferred from one record after the other.

    Parameters
    ----------
    known : mapping of str to str, optional
        Types that are given; only those of other attributes are inferred.
    lenient : bool, optional
        Whether values of different types become text; by default they are an error.
    """

    def __init__(self, known: Mapping[str, str] | None = None, *, lenient: bool = False) -> None:
        self.lenient = lenient
        self._known = Schema(known)
        self._possible: dict[str, tuple[FieldType, ...]] = {}
        self._first: dict[tuple[str, tuple[FieldType, ...]], Origin] = {}
        self._settled: set[tuple[str, bool]] = set()
        self._markers: dict[str, _Strays] = {}
        self._strays: dict[str, _Strays] = {}
        self._mixed: dict[str, str] = {}
        self._records = 0

    def copy(self) -> SchemaInference:
        """Return an inference that continues from here, and leaves this one as it is."""
        other = SchemaInference(lenient=self.lenient)
        other.take(self)
        return other

    def take(self, other: SchemaInference) -> None:
        """Continue from where another inference is."""
        for name, value in vars(other).items():
            setattr(self, name, value.copy() if isinstance(value, dict | set) else value)
        self._markers = {name: strays.copy() for name, strays in other._markers.items()}
        self._strays = {name: strays.copy() for name, strays in other._strays.items()}

    def add(self, attributes: Mapping[str, AttributeValue], *, record: str = "") -> None:
        """Add the attributes of the next record; `record` names one without an origin.

        Raises
        ------
        DataError, MalformedRecordError
            As `Schema.infer`, and if an attribute has not its known type.
        ParameterError
            If there are more than `MOST_FIELDS` attributes.
        """
        self._records += 1
        origin = attributes.origin if isinstance(attributes, Attributes) else None
        untyped = isinstance(attributes, Attributes) and attributes.untyped
        if self._known:
            self._known.stored(attributes, record=record)
        for name, value in attributes.items():
            if type(value) is str and (name, untyped) in self._settled:
                if self._strays[name].forms and not is_marker(value):
                    here = origin or Origin(Path(), "record", self._records)
                    self._strays[name].add(value, here, untyped)
                continue  # any string fits, and tells nothing new
            if name in self._known or is_missing(value, untyped=untyped):
                continue
            here = origin or Origin(Path(), "record", self._records)
            if is_marker(value):
                self._markers.setdefault(name, _Strays()).add(value, here)
                continue
            try:
                types = possible_types(value, untyped=untyped)
            except Misfit as misfit:
                message = "an attribute has a value that cannot be stored"
                place = record or f"number {self._records}"
                raise attribute_error(message, attributes, name, misfit, place) from None
            strays = self._strays.get(name)
            if strays is None:
                strays = self._strays[name] = _Strays()
            strays.count(types, value, here, untyped)
            if (name, types) in self._first:
                if strays.hopeless:
                    self._settle(name, untyped)
                continue
            before = self._possible.get(name, types)
            common = tuple(kind for kind in before if kind in types)
            if not common:
                error = self._conflict(name, types, here)
                if not self.lenient:
                    raise error
                self._mixed.setdefault(name, str(dict(error.facts)["seen"]))
                lists = ("keywords",) in ((before, types, *(t for n, t in self._first if n == name)))
                common = ("keywords",) if lists else ("keyword", "keywords")
            self._first[name, types] = here
            self._possible[name] = common
            if len(self._possible) + len(self._known) > MOST_FIELDS:
                self.schema()  # raises the error
            if not set(common) & {"keyword", "keywords"}:
                self._settled -= {(name, False), (name, True)}

    def _settle(self, name: str, untyped: bool) -> None:
        """Note that an attribute is text, so that further strings are not read."""
        if set(self._possible[name]) <= ({"keyword"} if untyped else {"keyword", "keywords"}):
            self._settled.add((name, untyped))

    def schema(self) -> Schema:
        """Return the known types, and those of all fields that have a value."""
        marked = dict.fromkeys((name for name in self._markers if name not in self._possible), "keyword")
        inferred = {name: types[0] for name, types in self._possible.items()}
        return Schema({**marked, **inferred, **self._known})

    def stored(self, attributes: Attributes, schema: Schema) -> dict[str, Stored]:
        """Return the values of a record that was added, in columns of the inferred types."""
        if not self._mixed:
            return schema.stored(attributes)
        values = {
            name: _as_text(value) if name in self._mixed else value for name, value in attributes.items()
        }
        return schema.stored(Attributes(values, untyped=attributes.untyped))

    def notes(self, codes: Container[str] = ()) -> list[str]:
        """Return sentences on attributes with values that decided about their types, or were left out.

        `codes` are names of attributes that are meant to be text, even if all values are written like numbers.

        Examples
        --------
        >>> inference = SchemaInference()
        >>> for price in (3, 2.5, "N/A"):
        ...     inference.add({"price": price})
        >>> inference.notes()
        ["price: 1 value is read as missing, first 'N/A' in record 3"]
        """
        notes, quoted = [], []
        for name, kind in self.schema().items():
            strays, markers = self._strays.get(name), self._markers.get(name)
            if name in self._known:
                continue
            form = None if strays is None or kind not in TEXT_TYPES else strays.form
            if markers is not None and kind not in TEXT_TYPES:
                count = f"{markers.misfits:,} value{'s are' if markers.misfits > 1 else ' is'}"
                notes.append(f"{name}: {count} read as missing, first {markers.first}")
            elif strays is not None and form == "number" and name not in codes:
                other = f", but {strays.first_other}" if strays.first_other else ""
                quoted.append(f"{name} ({shown(strays.forms[form])}{other})")
            elif strays is not None and form is not None and form != "number":
                notes.append(_form_note(name, form, strays.forms[form]))
            elif strays is not None and strays.misfits and strays.few:
                one = strays.misfits == 1
                notes.append(
                    f"{name} is text: {strays.misfits:,} of {strays.total:,} values {'is' if one else 'are'} not "
                    f"{strays.noun}, first {strays.first}; without {'it' if one else 'them'}, its type is {strays.kind}"
                )
            elif name in self._mixed:
                notes.append(f"{name} is text: {self._mixed[name]}")
        if quoted:
            notes.append(
                f"numbers in quotes are text: {', '.join(quoted)}; to compare them as numbers, write them without "
                f"quotes, or give all attributes their types in a schema"
            )
        return notes

    def _conflict(self, name: str, types: tuple[FieldType, ...], here: Origin) -> DataError:
        other, there = next(
            (seen, origin)
            for (field, seen), origin in self._first.items()
            if field == name and not set(seen) & set(types)
        )
        seen = (
            f"{name} is {_noun(other)} in {there.unit} {there.number:,} and "
            f"{_noun(types)} in {here.unit} {here.number:,}"
        )
        facts: list[tuple[str, object]] = [("seen", seen), ("expected", "values of one type")]
        fixes: list[str | Fix] = ["make all values of the field strings, or all of them numbers", _CHOOSE]
        if here.file == Path():
            return DataError("an attribute has values of different types", facts=facts, fixes=fixes)
        return MalformedRecordError(
            "an attribute has values of different types",
            facts=[("file", here.file), (here.unit, here.number), *facts],
            fixes=fixes,
        )


def _form(value: str, untyped: bool) -> Form | None:
    """Return the form of a text that looks like a number or a date and is none, for its reader.

    An amount has a currency, a comma is a decimal one, a day is not written as in ISO 8601, and a number has quotes in
    a file with types.

    Examples
    --------
    >>> [_form(text, False) for text in ("9.50 €", "9,50", "05.03.2026", "9.50", "00950", "1,250", "9 m")]
    ['amount', 'comma', 'day', 'number', None, None, None]
    """
    if _DAY.fullmatch(value):
        return "day"
    if number := _DECIMAL_COMMA.fullmatch(value):
        return "comma" if "." in number[1] or len(number[2]) != 3 else None
    if not untyped and {"integer", "float"} & set(possible_types(value, untyped=True)):
        return "number"
    amount = _AMOUNT.fullmatch(value)
    return "amount" if amount is not None and amount[1] != value else None


def _form_note(name: str, form: Form, first: str) -> str:
    """Return the note on an attribute with values of a form, such as `first`."""
    if form == "day":
        return (
            f"{name} is text: values such as {first} are no dates in ISO 8601; to compare them as dates, "
            f"write them as 2024-01-31"
        )
    amount = _AMOUNT.fullmatch(first)
    number = first if amount is None else amount[1].rstrip(".,")
    if _DECIMAL_COMMA.fullmatch(number) and not re.fullmatch(r"[0-9]{1,3},[0-9]{3}", number):
        number = number.replace(".", "").replace(",", ".")
    number = re.sub("[,']", "", number)
    what = "a decimal comma" if form == "comma" else "a currency"
    return (
        f"{name} is text: values such as {first} have {what}; to compare them as numbers, write {number}, "
        f"in JSON without quotes"
    )


class _Strays:
    """Values of an attribute that are numbers or dates, and the others, as long as these are few.

    Attributes
    ----------
    total, misfits : int
        Number of values, and of those that are neither numbers nor dates.
    first, first_other : str
        First misfit, and the first one that does not look like a number or a date.
    forms : dict of Form to str
        First text of each form.
    """

    def __init__(self) -> None:
        self.total = 0
        self.misfits = 0
        self.first = ""
        self.first_other = ""
        self.forms: dict[Form, str] = {}
        self._others = 0
        self._kinds: dict[FieldType, int] = {}

    def copy(self) -> _Strays:
        other = _Strays()
        vars(other).update(vars(self), _kinds=self._kinds.copy(), forms=self.forms.copy())
        return other

    def add(self, value: AttributeValue, here: Origin, untyped: bool = False) -> None:
        self.total += 1
        self.misfits += 1
        self.first = self.first or f"{shown(value)} in {here.unit} {here.number:,}"
        form = _form(value, untyped) if isinstance(value, str) else None
        if form is not None and isinstance(value, str):
            self.forms.setdefault(form, value)
        elif not isinstance(value, str) or not _DIGITS.fullmatch(value):
            self._others += 1
            self.first_other = self.first_other or f"{shown(value)} in {here.unit} {here.number:,}"

    def count(self, types: tuple[FieldType, ...], value: AttributeValue, here: Origin, untyped: bool) -> None:
        if types[0] in TEXT_TYPES:
            self.add(value, here, untyped)
        else:
            self.total += 1
            self._kinds[types[0]] = self._kinds.get(types[0], 0) + 1

    @property
    def few(self) -> bool:
        """Whether the others are so few that they look like mistakes."""
        return self.total > self.misfits and (self.misfits == 1 or self.misfits <= self.total * STRAY_SHARE)

    @property
    def form(self) -> Form | None:
        """First form that texts have; None without one, or if many values do not look like numbers or dates."""
        if self._others > self.total * STRAY_SHARE and (self._others > 1 or self.total < 4):
            return None
        return next((form for form in FORMS if form in self.forms), None)

    @property
    def hopeless(self) -> bool:
        """Whether the others are too many to be mistakes."""
        return self.misfits > 5 and self.misfits > self.total * STRAY_SHARE

    @property
    def kind(self) -> FieldType:
        """Type that the attribute would have without the others."""
        return (
            "float"
            if {"integer", "float"} == self._kinds.keys()
            else max(self._kinds, key=self._kinds.__getitem__)
        )

    @property
    def noun(self) -> str:
        """What the values are called."""
        return _NOUNS[self.kind]


def _as_text(value: AttributeValue) -> AttributeValue:
    """Return a value of an attribute that has values of different types as text, as JSON writes it."""
    return value if isinstance(value, str | list | tuple) else json.dumps(value)


def _noun(types: tuple[FieldType, ...]) -> str:
    return _NOUNS["keyword" if "keyword" in types else types[-1]]


def _malformed(path: Path, expected: str, seen: str) -> MalformedRecordError:
    types = ", ".join(f"{kind} ({EXPECTED[kind]})" for kind in FIELD_TYPES)
    return MalformedRecordError(
        "a schema cannot be read",
        facts=[("file", path), ("expected", expected), ("seen", seen[:120]), ("types", types)],
    )
