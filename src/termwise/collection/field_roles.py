"""Inference of the roles of record fields from the first records: text, attribute, or neither.

The rules, for the fields of the first `SAMPLE` records, or of fewer if these have more than `SAMPLE_LENGTH` characters:

1. ``title`` and the names of `termwise.collection.fields.BODY_FIELDS` are text, and no attributes.
2. Other strings are text if they have several words and mostly differ: on average at least `WORDS` words, of which
   `DIFFERENT` of the values are different, or `FEW_WORDS` words and `MOSTLY_DIFFERENT`. Variants of a product repeat
   its description, so values of `MANY_WORDS` words are text if `RARELY_DIFFERENT` of them are different. A word has at
   least two letters in a row; in scripts without spaces, two letters are a word. The items of lists are judged
   together, and `FEW_WORDS` are not enough for them: a list of a few words each is a list of keywords. Fields named as
   in `DESCRIPTIONS` are text if they have `FEW_WORDS` words on average, however often they are repeated.
3. Codes are text and attribute, because people search for them, also if they are named as attributes. Fields with a
   name of codes, such as ``ean``, ``sku`` or ``part_number``, are codes if all values are strings, lists of strings or
   whole numbers. Other fields are codes if `MOSTLY_DIFFERENT` of the values are different and have at most
   `LONGEST_CODE` characters without white space, and half have letters and digits, at least five of them, or are groups
   of digits between dots, hyphens or slashes, at least `CODE_DIGITS` of them, and no prices or dates; or all whole
   numbers among them, `CODE_VALUES` at least, have the same number of digits, at least `CODE_DIGITS`, and are no dates.
   An identifier with a name of codes is text.
4. Numbers, dates, true and false, other strings and lists of strings are attributes, unless one in ten of the values is
   longer than `LONGEST_VALUE` characters or cannot be stored, or half of them are links.
5. Other fields are neither, and so are objects with more than `MOST_INNER` fields, and fields without any value.

At most `MOST_ATTRIBUTES` fields become attributes, the first ones. Texts are joined in the order in which the fields
first occur, with the title first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, Protocol

from termwise.attributes import Schema
from termwise.attributes.field_types import is_marker, is_missing, possible_types
from termwise.errors import TermwiseError
from termwise.fast_dataclass import dataclass
from termwise.storage.manifest_json import Misfit
from termwise.validation import is_integer

SAMPLE = 1000
"""Number of records, the first ones, that decide about the roles of fields."""

SAMPLE_LENGTH = 1 << 22
"""Number of characters of strings from which no further record decides."""

MANY_WORDS, RARELY_DIFFERENT = 8.0, 0.02
WORDS, DIFFERENT = 5.0, 0.5
FEW_WORDS, MOSTLY_DIFFERENT = 2.0, 0.9

DESCRIPTIONS = ("description", "summary", "details")
"""Names of fields that are text, even if many records have the same value."""

LONGEST_CODE = 20
"""Largest number of characters of a code; identifiers of machines are longer."""

CODE_DIGITS, CODE_VALUES = 6, 3
"""Smallest number of digits of a code without letters, and of values of a field with such codes."""

LONGEST_VALUE = 256
"""Largest number of characters of a string in an inferred attribute."""

MOST_ATTRIBUTES = 100
"""Largest number of inferred attributes."""

MOST_INNER = 50
"""Largest number of fields of an object that become attributes."""

_SHARE = 0.1
_READ = 2000  # characters of a value that are read
_LETTERS = re.compile(r"[^\W\d_]{2}")
_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff]"
)
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])(?=(?:[\W_]*[^\W_]){5})[\w./+-]+")
_CODE_NAME = re.compile(
    "(ean|gtin|isbn|issn|upc|sku|mpn|asin|pzn)(code|number|no|nr|nummer)?s?"
    "|(manufacturer|vendor|supplier|oem)?(part|article|item|model|product|catalogu?e?)(code|number|no|nr)s?"
    "|(artikel|art|bestell|hersteller|teile|modell|material|produkt)(nummer|nr|code)"
)
"""Letters of the names of fields that have codes, in lower case, without digits and other characters."""

_DIGITS = re.compile("[0-9]+")
_GROUPS = re.compile("[0-9]+([./-][0-9]+)+")
_AMOUNT = re.compile(r"[0-9]+\.[0-9]+|[0-9]{1,3}(\.[0-9]{3})+")
_DAY = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1([0-9]{2}|[0-9]{4})|[0-9]{4}([./-])[0-9]{1,2}\3[0-9]{1,2}")
_COMPACT_DAY = re.compile("(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])")
_SECONDS = range(946_684_800, 2_051_222_400)
"""Seconds since 1970 of the years 2000 to 2034."""

_FILE = re.compile(r".+\.[A-Za-z]{2,4}[0-9]?")
_LINK = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)?//\S+|www\.\S+|data:\S+")

AttributeNames = tuple[str, ...] | Schema | Literal["all", "inferred"] | None
TextNames = tuple[str, ...] | Mapping[str, int] | None


@dataclass(frozen=True)
class FieldRoles:
    """Roles of the fields of a collection.

    Attributes
    ----------
    texts, attributes, neither : tuple of str
        Names of fields; those in objects are named ``OBJECT.FIELD``.
    fields : FieldChoice
        Choice of texts for readers; None if the default fields are the same.
    decided : bool
        Whether the texts were decided, and not named.
    inferred : bool
        Whether the attributes were decided, and not named.
    known : frozenset of str
        Names of all fields that have a value in the sample, with identifiers.
    unsearched : tuple of str
        Names of fields with codes that are no texts, because other texts were named, or all attributes.
    """

    texts: tuple[str, ...]
    attributes: tuple[str, ...]
    neither: tuple[str, ...]
    fields: TextNames
    decided: bool
    inferred: bool
    known: frozenset[str]
    unsearched: tuple[str, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """Fields that are texts and attributes."""
        return tuple(name for name in self.texts if name in self.attributes)

    def __str__(self) -> str:
        parts = {
            "indexed": self.texts,
            "attributes": self.attributes,
            "codes, in both": self.codes,
            "neither": self.neither,
            "codes that are not searched, unless they are named as texts, too": self.unsearched,
        }
        return "; ".join(f"{label}: {', '.join(names)}" for label, names in parts.items() if names)


class FieldTally:
    """Fields and values of the records of a collection that are not kept, counted while it is read."""

    def __init__(self, roles: FieldRoles) -> None:
        self.roles = roles
        self._late: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def begin(self) -> None:
        """Count from 0, for another reading."""
        for counted in (self._late, self._left_out, self._first):
            counted.clear()

    def count_late(self, names: Iterable[str], number: int) -> None:
        """Count fields of the record with a number that the sample did not have."""
        for name in names:
            self._late[name] += 1
            self._first.setdefault(name, number)

    def count_left_out(self, name: str, number: int) -> None:
        """Count a value of an attribute that is too long, or cannot be stored, in the record with a number."""
        self._left_out[name] += 1
        self._first.setdefault(name, number)

    def notes(self, unit: str) -> list[str]:
        """Return what was not kept, in sentences; `unit` is what the numbers of records count."""

        def listed(counts: Counter[str]) -> str:
            most = counts.most_common(20)
            more = f" and {len(counts) - len(most):,} more" if len(counts) > len(most) else ""
            return (
                ", ".join(
                    f"{name} ({count:,}, first in {unit} {self._first[name]:,})" for name, count in most
                )
                + more
            )

        notes = []
        if self._late:
            notes.append(
                f"fields that the first {SAMPLE:,} records lack are not indexed: {listed(self._late)}; "
                f"name them to index them"
            )
        if self._left_out:
            notes.append(
                f"values of attributes with more than {LONGEST_VALUE} characters, or that cannot be stored, "
                f"are left out: {listed(self._left_out)}"
            )
        return notes


Numbered = Iterator[tuple[int, Mapping[str, Any]]]


def first_records(numbered: Numbered) -> tuple[list[Mapping[str, Any]], Numbered]:
    """Return the records that decide, and an iterator over all records, which raises the errors of reading."""
    first: list[tuple[int, Mapping[str, Any]]] = []
    rest = numbered
    length = 0
    try:
        for number, record in numbered:
            first.append((number, record))
            length += sum(len(value) for value in record.values() if isinstance(value, str))
            if len(first) == SAMPLE or length > SAMPLE_LENGTH:
                break
    except TermwiseError as error:
        rest = _raised(error)
    return [record for _, record in first], chain(first, rest)


def _raised(error: TermwiseError) -> Numbered:
    raise error
    yield


class Deciding(Protocol):
    """Collection of records whose fields may have no role yet."""

    @property
    def fields(self) -> TextNames:
        """Fields of the text; None for those that are decided."""

    @property
    def attributes(self) -> AttributeNames:
        """Fields to keep as attributes."""

    @property
    def tally(self) -> FieldTally | None:
        """Roles of the fields, once they are decided."""


def undecided(collection: Deciding) -> bool:
    """Return whether the first records still decide about roles of fields."""
    return collection.tally is None and (collection.fields is None or collection.attributes == "inferred")


def choices(roles: FieldRoles, attributes: AttributeNames) -> dict[str, Any]:
    """Return the fields of a collection that take the place of its choice of texts and `attributes`."""
    kept = (roles.attributes or None) if roles.inferred else attributes
    return {"fields": roles.fields, "attributes": kept, "tally": FieldTally(roles)}


def for_index(roles: FieldRoles, fields: TextNames, schema: Schema) -> dict[str, Any]:
    """Return the fields of a collection whose documents are added to an index with these texts and attributes.

    New attributes are those that the roles have. All records may lack one of the texts.
    """
    roles = replace(roles, fields=fields, decided=True)
    return {"fields": fields, "attributes": schema, "tally": FieldTally(roles)}


def decide_roles(
    records: Sequence[Mapping[str, Any]],
    *,
    id_fields: Sequence[str],
    body_fields: Sequence[str],
    fields: TextNames,
    attributes: AttributeNames,
    untyped: bool = False,
) -> FieldRoles:
    """Return the roles of the fields of records; `fields` and `attributes` that are given have theirs.

    Examples
    --------
    >>> records = [
    ...     {"id": 1, "title": "Walnut desk", "details": "Oiled, with two drawers of oak.", "brand": "Alm", "price": 9},
    ...     {"id": 2, "title": "Desk lamp", "details": "A lamp of brass with a shade.", "brand": "Alm", "price": 4},
    ... ]
    >>> roles = decide_roles(records, id_fields=["id"], body_fields=["text"], fields=None, attributes="inferred")
    >>> str(roles)
    'indexed: title, details; attributes: brand, price'
    """
    names = dict.fromkeys(name for record in records for name in record)
    identifiers = {next((name for name in id_fields if name in record), None) for record in records}
    named = set(attributes) if isinstance(attributes, tuple | Schema) else set()
    texts = tuple(name for name in fields or () if name in names)
    choice = fields
    others = [name for name in names if name not in identifiers or is_code_name(name)]
    if fields is None:
        codes = attributes not in ("all", None)
        texts = tuple(_texts(records, names, others, body_fields, named, codes=codes))
        choice = None if _is_default(records, texts, body_fields) else texts
    flat = {name: values for name, values in _flat(records, names).items() if name not in identifiers}
    kept: tuple[str, ...] = ()
    if attributes == "inferred":
        searched = [name for name in texts if _look_like_codes(flat.get(name, ()), name)]
        unnamed = [name for name in flat if name in searched or name not in ("title", *body_fields, *texts)]
        candidates = [name for name in unnamed if _is_attribute(flat[name], untyped)]
        kept = tuple(candidates[:MOST_ATTRIBUTES])
    elif attributes == "all":
        kept = tuple(name for name in flat if name not in texts)
    elif attributes is not None:
        kept = tuple(name for name in flat if name in attributes)
    empty = {name for name in flat if all(is_missing(value, untyped=untyped) for value in flat[name])}
    return FieldRoles(
        texts,
        kept,
        tuple(name for name in flat if name not in texts and name not in kept),
        choice,
        fields is None,
        attributes == "inferred",
        frozenset((*names, *flat)) - empty,
        tuple(
            name for name in others if name not in texts and _look_like_codes(_present(records, name), name)
        ),
    )


def _present(records: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """Return the values of a field that are not None."""
    return [value for record in records if (value := record.get(name)) is not None]


def _texts(
    records: Sequence[Mapping[str, Any]],
    names: Iterable[str],
    others: Sequence[str],
    body_fields: Sequence[str],
    named: Collection[str],
    *,
    codes: bool,
) -> Iterator[str]:
    """Yield the names of the text fields, the title first. With `codes`, fields of codes are text fields, too.

    `named` are attributes that are no texts, unless they are codes.
    """
    body = next((name for name in body_fields if name in names), None)
    if "title" in names and "title" not in body_fields:
        yield "title"
    for name in names:
        if name == body:
            yield name
        elif name in others and name != "title":
            values = _present(records, name)
            if name in named:
                if codes and _look_like_codes(values, name):
                    yield name
            elif name in body_fields:
                if values and all(isinstance(value, str) for value in values):
                    yield name
            elif _looks_like_text(values, described=name in DESCRIPTIONS) or (
                codes and _look_like_codes(values, name)
            ):
                yield name


def _is_default(
    records: Sequence[Mapping[str, Any]], texts: Sequence[str], body_fields: Sequence[str]
) -> bool:
    """Return whether the title and the first body of each record are all of its texts."""
    bodies = [name for name in texts if name in body_fields]
    return len(bodies) + ("title" in texts) == len(texts) and (
        len(bodies) < 2 or all(sum(name in record for name in bodies) < 2 for record in records)
    )


def _flat(records: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, list[Any]]:
    """Return the values of each field that are not None, with fields of objects; large objects are one field."""
    flat: dict[str, list[Any]] = {}
    for name in names:
        values = _present(records, name)
        inner = dict.fromkeys(key for value in values if isinstance(value, dict) for key in value)
        if not inner or len(inner) > MOST_INNER:
            flat[name] = values
            continue
        for key in inner:
            parts = (value.get(key) for value in values if isinstance(value, dict))
            flat[f"{name}.{key}"] = [part for part in parts if part is not None]
        if plain := [value for value in values if not isinstance(value, dict)]:
            flat[name] = plain
    return flat


def _strings(values: Iterable[Any]) -> list[str]:
    return [
        string
        for value in values
        for string in (value if isinstance(value, list | tuple) else (value,))
        if isinstance(string, str) and not is_marker(string)
    ]


def _is_list(value: Any) -> bool:
    """Return whether a value is a list of strings."""
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _looks_like_text(values: Sequence[Any], *, described: bool = False) -> bool:
    """Return whether values are texts by the second rule; `described` if their field is one of `DESCRIPTIONS`."""
    strings = _strings(values)
    lists = any(isinstance(value, list | tuple) for value in values)
    if not strings or not all(isinstance(value, str | list | tuple) for value in values):
        return False
    mean = sum(map(_words, strings)) / len(strings)
    different = len(set(strings)) / len(strings)
    if described and mean >= FEW_WORDS:
        return True
    return (
        (mean >= MANY_WORDS and different >= RARELY_DIFFERENT and len(set(strings)) > 1)
        or (mean >= WORDS and different >= DIFFERENT)
        or (not lists and mean >= FEW_WORDS and different >= MOSTLY_DIFFERENT)
    )


def _look_like_codes(values: Sequence[Any], name: str = "") -> bool:
    """Return whether the values of a field are codes by the third rule; names of files are none.

    Examples
    --------
    >>> _look_like_codes(["AB-1200/X", "TN2420"]), _look_like_codes(["AB-1200/X"] * 2), _look_like_codes(["p0001.png"])
    (True, False, False)
    >>> _look_like_codes([10023455, 10023468, 10023481]), _look_like_codes(["12", "34"], "EAN-13")
    (True, True)
    """
    written = [str(value) if is_integer(value) else value for value in values]
    strings = _strings(written)
    if strings and is_code_name(name):
        return all(_is_list(value) or isinstance(value, str) for value in written)
    if not strings or not all(isinstance(value, str) for value in written):
        return False
    if any(len(string) > LONGEST_CODE or len(string.split()) > 1 for string in strings):
        return False
    whole = [string for string in strings if _DIGITS.fullmatch(string)]
    coded = sum(
        (_CODE.fullmatch(each) is not None and _FILE.fullmatch(each) is None) or _is_article_number(each)
        for each in strings
    )
    coded += len(whole) if _are_article_numbers(whole) else 0
    return 2 * coded >= len(strings) and len(set(strings)) >= MOSTLY_DIFFERENT * len(strings)


def is_code_name(name: str) -> bool:
    """Return whether fields with a name have codes.

    Examples
    --------
    >>> is_code_name("EAN-13"), is_code_name("partNumber"), is_code_name("ocean"), is_code_name("_id")
    (True, True, False, False)
    """
    return _CODE_NAME.fullmatch("".join(filter(str.isalpha, name.lower()))) is not None


def _is_article_number(text: str) -> bool:
    """Return whether a text is groups of digits that are no price and no date.

    Examples
    --------
    >>> [_is_article_number(text) for text in ("596.253.61", "978-3-16-148410-0", "1299.00", "05.03.2026", "1-2")]
    [True, True, False, False, False]
    """
    return (
        _GROUPS.fullmatch(text) is not None
        and sum(map(str.isdigit, text)) >= CODE_DIGITS
        and not (_AMOUNT.fullmatch(text) or _DAY.fullmatch(text))
    )


def _are_article_numbers(whole: Sequence[str]) -> bool:
    """Return whether whole numbers are codes: as long as each other, and no dates.

    Examples
    --------
    >>> _are_article_numbers(["10023455", "10023468", "10023481"])
    True
    >>> [_are_article_numbers([first] * 3) for first in ("20260305", "1700000000", "99999")]
    [False, False, False]
    >>> _are_article_numbers(["1002345", "998", "10023481"])
    False
    """
    digits = len(whole[0]) if whole else 0
    if digits < CODE_DIGITS or len(whole) < CODE_VALUES or any(len(each) != digits for each in whole):
        return False
    if all(_COMPACT_DAY.fullmatch(each) for each in whole):
        return False
    unit = {10: 1, 13: 1000}.get(digits)
    return unit is None or not all(int(each) // unit in _SECONDS for each in whole)


def _words(text: str) -> float:
    """Return the number of words of a text, with one for two letters of a script without spaces.

    Examples
    --------
    >>> _words("AB-1200 has 2 drawers"), _words("2024-01-31"), _words("山の上のホテル")
    (3.0, 0.0, 3.5)
    """
    text = text[:_READ]
    letters = len(_WITHOUT_SPACES.findall(text))
    if letters:
        text = _WITHOUT_SPACES.sub(" ", text)
    return sum(_LETTERS.search(word) is not None for word in text.split()) + letters / 2


def _is_attribute(values: Sequence[Any], untyped: bool) -> bool:
    """Return whether values are those of an attribute by the fourth rule, and not text."""
    values = [value for value in values if not is_missing(value, untyped=untyped)]
    if not values or _looks_like_text(values):
        return False
    if sum(not is_storable(value, untyped=untyped) for value in values) > _SHARE * len(values):
        return False
    strings = _strings(values)
    return 2 * sum(_LINK.fullmatch(string) is not None for string in strings) <= len(strings)


def may_be_attribute(value: Any) -> bool:
    """Return whether one value alone can be that of a new attribute: it can be stored, and is not a text.

    Examples
    --------
    >>> may_be_attribute("dark blue"), may_be_attribute("Oiled by hand, with two drawers."), may_be_attribute([1])
    (True, False, False)
    """
    return is_storable(value) and not any(_words(string) >= WORDS for string in _strings((value,)))


def is_storable(value: Any, *, untyped: bool = False) -> bool:
    """Return whether a value can belong to an inferred attribute."""
    try:
        possible_types(value, untyped=untyped)
    except Misfit:
        return False
    strings = (value,) if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return all(len(string) <= LONGEST_VALUE for string in strings)
