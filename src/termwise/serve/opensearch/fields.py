"""Fields of the documents of an index, as OpenSearch describes and returns them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from termwise.attributes import Schema
from termwise.attributes.field_types import FOLDED_TYPES, TEXT_TYPES, FieldType
from termwise.collection.fields import BODY_FIELDS
from termwise.errors import UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.search import Searcher
from termwise.search.query_syntax import typed_value
from termwise.serve.documents import field_weights
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.json_checks import known_keys, only_default, record, text, texts

_KEYWORD, NORMALIZER = {"type": "keyword"}, "lowercase"
_FOLDED = {**_KEYWORD, "normalizer": NORMALIZER}
_TYPES: dict[str, dict[str, Any]] = {
    **{kind: {**_KEYWORD, "fields": {"keyword": _KEYWORD}} for kind in TEXT_TYPES},
    **{kind: {**_FOLDED, "fields": {"keyword": _FOLDED}} for kind in FOLDED_TYPES},
    "boolean": {"type": "boolean"},
    "integer": {"type": "long"},
    "float": {"type": "double"},
    "date": {"type": "date"},
}


SAME_TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(TEXT_TYPES, ("keyword",)),
    "boolean": ("boolean",),
    "integer": ("long", "integer", "short", "byte"),
    "float": ("double", "float", "half_float", "scaled_float"),
    "date": ("date",),
}
"""Types of OpenSearch that the values of an attribute have too."""

TEXTS = ("text", "search_as_you_type")
"""Types of texts; each is searched as the other, also by the beginnings of words."""

_MADE_OF = re.compile(r"\._(?:[234]gram|index_prefix)$")
"""Suffixes of the subfields that OpenSearch derives from a field of type ``search_as_you_type``."""

_ATTRIBUTES: dict[str, FieldType] = {
    given: kind for kind in ("keyword", "boolean", "integer", "float", "date") for given in SAME_TYPES[kind]
}

LONGEST_FIELD = 255
"""Largest number of characters of the name of a new field."""

MOST_LEVELS = 20
"""Objects inside each other in a mapping."""


@dataclass(frozen=True)
class Fields:
    """Fields of an index.

    Attributes
    ----------
    schema : Schema
        Types of the attributes.
    weights : mapping of str to int
        Weights of the fields whose texts are apart; empty if documents have one text.
    joined : tuple of str
        Names of the fields that this text is made of, if the build named them.
    """

    schema: Schema
    weights: Mapping[str, int]
    joined: tuple[str, ...] = ()

    @classmethod
    def of(cls, searcher: Searcher) -> Fields:
        """Return the fields of an index."""
        weights = field_weights(searcher)
        return cls(searcher.schema, weights, () if weights else searcher.index.manifest.fields)

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of texts in answers."""
        return tuple(self.weights) or (BODY_FIELDS[0],)

    @property
    def _whole(self) -> list[tuple[str, ...]]:
        """Names that stand together for all the texts of a document."""
        made_of = [self.joined] if self.joined else [("title", body) for body in BODY_FIELDS]
        return [self.texts, *([] if self.weights else made_of)]

    @property
    def _text_names(self) -> list[str]:
        return list(dict.fromkeys(name for names in self._whole for name in names))

    def whole_text(self, name: str) -> str:
        """Return the text field of a subfield, such as ``title`` of ``title._2gram`` and ``title.ngram``."""
        base = _MADE_OF.sub("", name)
        if base == name and name not in self.schema and name not in self._text_names:
            base, _, subfield = name.rpartition(".")
            base = name if subfield == "keyword" else base
        return base if base in self._text_names else name

    def subfields(self, names: Sequence[str]) -> str:
        """Return the names of subfields with analyzers of their own, which the index has not; ``""`` without any."""
        others = [name for name in names if self.whole_text(name) != name and not _MADE_OF.search(name)]
        return ", ".join(dict.fromkeys(others))

    def is_text(self, name: str) -> bool:
        """Whether a field is a text; it can be an attribute too. A field that is neither is an error."""
        if self.whole_text(name) in self._text_names:
            return True
        self.attribute(name)
        return False

    def attribute(self, name: str, clause: str = "sort or collapse") -> str:
        """Return the attribute of a name, which may end with ``.keyword``; `clause` is for errors."""
        if name in self.schema:
            return name
        base = name.removesuffix(".keyword")
        if self.schema.get(base) in TEXT_TYPES:
            return base
        known = self._text_names
        if name in known:
            raise UnsupportedError.of(
                f"{clause} on the text", name, self.schema, f"use match for texts; {clause} is for attributes"
            )
        raise UnknownNameError.of(
            "field of the documents of this index", name, dict.fromkeys([*known, *self.schema])
        )

    def typed(self, attribute: str, value: Any) -> Any:
        """Return a value of a condition; a string may stand for a number, true or false of the attribute."""
        return typed_value(value, self.schema.get(attribute)) if isinstance(value, str) else value

    def part(self, clause: str, names: Sequence[str]) -> str:
        """Return the names of a clause with words if they are only some of the texts of a document, or ``""``.

        The texts have one weight for a word, so the clause searches all of them. A name that is no text is an error.
        """
        names = [*dict.fromkeys(map(self.whole_text, names))]
        for name in names:
            if name != "*" and not self.is_text(name):
                raise UnsupportedError.of(
                    f"{clause} on the attribute", name, self.texts, "use term, or match on the attribute"
                )
        if "*" in names or any(set(names) >= set(whole) for whole in self._whole):
            return ""
        return ", ".join(name for name in self._text_names if name in names)

    def refused_part(self, clause: str, part: str) -> UnsupportedError:
        """Return the error for a condition on some of the texts."""
        return UnsupportedError.of(
            f"{clause} on some of the texts",
            part,
            [f"{' and '.join(self.texts)}{' together' if len(self.texts) > 1 else ''}"],
            "use multi_match without fields; to search some fields alone, serve an index of the fields "
            f"{part}",
        )

    def texts_like(self, pattern: str) -> list[str]:
        """Return the texts whose names fit a pattern, in which ``*`` stands for any characters.

        A name without ``*`` that is not such a text is an error.
        """
        fitting = [name for name in self.texts if is_like(name, pattern)]
        if not fitting and "*" not in pattern:
            what = "joined field" if self.is_text(pattern) else "attribute"
            fix = "to keep texts apart, build the index with weights of fields, such as title^3 and text^1"
            raise UnsupportedError.of(f"highlight of the {what}", pattern, self.texts, fix)
        return fitting

    def mapping(self) -> dict[str, Any]:
        """Return the types of the fields in the form of OpenSearch."""
        properties: dict[str, Any] = {name: {"type": "text"} for name in self.texts}
        for name, kind in self.schema.items():
            if name in self.texts and kind in TEXT_TYPES:
                properties[name] = {**_TYPES[kind], "type": "text"}
            else:
                _place(properties, name, _TYPES[kind], inside="properties")
        return {"properties": properties}

    def new_attributes(self, body: object) -> dict[str, FieldType]:
        """Return the types of the fields of a mapping that the index lacks; other types of its fields are an error."""
        given = known_keys(body, "a mapping", ("properties", "dynamic"))
        only_default(given, "a mapping", dynamic=True)
        new: dict[str, FieldType] = {}
        for name, value in flat_properties(record(given.get("properties", {}), "properties")):
            if name not in self.schema and name not in self._text_names:
                check_name(name)
                new[name] = attribute_type(name, value, new=True)
                continue
            keys = known_keys(value, f"the field {name}", ("type", "fields", "ignore_above", "normalizer"))
            kind = text(keys.get("type"), f"type of {name}")
            known = [
                *(TEXTS if name in self._text_names else []),
                *SAME_TYPES.get(self.schema.get(name, ""), ()),
            ]
            if kind not in known:
                raise UnsupportedError.of(f"for the field {name}, the type", kind, known)
            for inner, each in record(keys.get("fields", {}), f"fields of {name}").items():
                if inner != "keyword" or self.schema.get(name) not in TEXT_TYPES:
                    raise UnsupportedError.of(f"for {name}, the field", inner)
                known_keys(each, inner, ("type", "ignore_above", "normalizer"))
                only_default({"type": each.get("type")}, inner, type="keyword")
        return new

    def lacking(self, source: SourceFilter, *, stores_text: bool) -> str:
        """Return a sentence on the texts that a ``_source`` names and that the index cannot return, or ``""``."""
        names = [name for name in source.includes if name in self._text_names]
        if not stores_text:
            lacking, reason = names, "the index keeps no texts: build it with --store-text"
        else:
            lacking = [name for name in names if name not in self.texts]
            reason = (
                f"the index keeps it joined with others as [{self.texts[0]}]: build it with weights of fields"
            )
        return f"_source lacks [{', '.join(lacking)}], because {reason}" if lacking else ""

    def source(
        self, doc_id: str, attributes: Mapping[str, Any], texts: Mapping[str, str], source: SourceFilter
    ) -> dict[str, Any]:
        """Return a document as ``_source``: its identifier unless ``id`` is an attribute, texts, and attributes."""
        found: dict[str, Any] = {"id": doc_id} if "id" not in self.schema and source.wants("id") else {}
        found |= {name: text for name, text in texts.items() if source.wants(name)}
        for name, value in attributes.items():
            if source.wants(name):
                _place(found, name, value)
        return found


def check_name(name: str) -> None:
    """Check the name of a new field."""
    if name.startswith("_") or len(name) > LONGEST_FIELD or not name.isprintable():
        expected = f"at most {LONGEST_FIELD} printable characters, and no _ at the beginning"
        raise ServiceError(
            "a field of a mapping cannot have this name",
            facts=[("given", name[:100]), ("expected", expected)],
        )


def attribute_type(name: str, value: object, *, new: bool = False) -> FieldType:
    """Return the type of an attribute from its field in a mapping; `new` if the index exists, and has its texts."""
    keys = known_keys(value, f"the field {name}", ("type", "ignore_above", "normalizer"))
    kind = text(keys.get("type"), f"type of {name}")
    if kind not in _ATTRIBUTES:
        known = [*([] if new else ["text"]), *_ATTRIBUTES]
        fix = "an index gets all its texts when it is created: name them in PUT /INDEX, or when it is built"
        raise UnsupportedError.of(
            f"for the field {name}, the type", kind, known, fix if new and kind == "text" else ""
        )
    if "ignore_above" in keys and kind != "keyword":
        raise UnsupportedError.of(f"for the field {name}, the key", "ignore_above")
    if "normalizer" in keys:
        if keys["normalizer"] != NORMALIZER or kind != "keyword":
            raise UnsupportedError.of(
                f"for the field {name}, the normalizer", str(keys["normalizer"]), [NORMALIZER]
            )
        return "keyword folded"
    return _ATTRIBUTES[kind]


def flat_properties(properties: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a mapping, those of objects with dots in their names."""
    for name, value in properties.items():
        if isinstance(value, dict) and "properties" in value:
            if before.count(".") > MOST_LEVELS:
                raise ServiceError("a mapping has too many levels", facts=[("most", MOST_LEVELS)])
            known_keys(value, f"the object {name}", ("properties",))
            yield from flat_properties(record(value["properties"], "properties"), f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _place(found: dict[str, Any], name: str, value: object, inside: str = "") -> None:
    """Store the value of ``a.b`` as ``{"a": {"b": value}}``; unchanged if `a` is a value itself."""
    first, dot, rest = name.partition(".")
    if not (dot and first and rest):
        found[name] = value
        return
    place = found.setdefault(first, {inside: {}} if inside else {})
    if isinstance(place, dict) and (not inside or inside in place):
        _place(place[inside] if inside else place, rest, value, inside)
    else:
        found[name] = value


@dataclass(frozen=True)
class SourceFilter:
    """Which fields of a document an answer has.

    Attributes
    ----------
    wanted : bool
        Whether there is a ``_source``.
    includes, excludes : tuple of str
        Names, with ``*`` for any characters. A name stands for the fields inside it. Without `includes`, all fields
        are included.
    """

    wanted: bool = True
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = (*self.includes, *self.excludes)
        if len(names) > MOST_NAMES or any(len(name) > LONGEST_NAME for name in names):
            raise ServiceError(
                "_source has too many names, or a name that is too long",
                facts=[("most names", MOST_NAMES), ("most characters", LONGEST_NAME)],
            )

    @classmethod
    def of(cls, value: object) -> SourceFilter:
        """Return the filter that the key ``_source`` of a body describes."""
        if value is None or isinstance(value, bool):
            return cls(value is not False)
        if isinstance(value, dict):
            given = known_keys(value, "_source", ("includes", "excludes", "include", "exclude"))
            named = {
                name: tuple(texts(given.get(name, given.get(name[:-1], [])), f"{name} of _source"))
                for name in ("includes", "excludes")
            }
            return cls(True, named["includes"], named["excludes"])
        return cls(True, tuple(texts(value, "_source")))

    @classmethod
    def of_parameters(cls, parameters: Mapping[str, str]) -> SourceFilter | None:
        """Return the filter that the parameters of an address describe; None without any."""
        given = {name: parameters[name] for name in parameters if name in SOURCE_PARAMETERS}
        if not given:
            return None
        source = given.get("_source", "true")
        named = {name: _names(given.get(f"_source_{name}", "")) for name in ("includes", "excludes")}
        if source not in ("true", "false", ""):
            named["includes"] = _names(source)
        return cls(source != "false", **named)

    def wants(self, name: str) -> bool:
        """Whether an answer has a field.

        Examples
        --------
        >>> of_meta = SourceFilter(includes=("meta", "ti*"), excludes=("*.secret",))
        >>> [of_meta.wants(name) for name in ("title", "text", "meta.lang", "meta.secret")]
        [True, False, True, False]
        """
        included = not self.includes or any(_fits(each, name) for each in self.includes)
        return self.wanted and included and not any(_fits(each, name) for each in self.excludes)


MOST_NAMES, LONGEST_NAME = 100, 200
"""Bounds of the names of ``_source``, which are compared with the fields of each result."""

SOURCE_PARAMETERS = ("_source", "_source_includes", "_source_excludes")


def _names(given: str) -> tuple[str, ...]:
    return tuple(name for name in given.split(",") if name)


@lru_cache(maxsize=1 << 12)
def _fits(pattern: str, name: str) -> bool:
    """Whether a name, or one that it is inside of, fits a pattern."""
    ends = [place for place, sign in enumerate(name) if sign == "."]
    return any(is_like(name[:end], pattern) for end in (*ends, len(name)))


def is_like(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern, in which ``*`` stands for any characters.

    Examples
    --------
    >>> [is_like("abcab", pattern) for pattern in ("abcab", "a*", "*c*b", "*ab*ab", "ab*ab*ab", "*c")]
    [True, True, True, True, False, False]
    """
    first, *others = pattern.split("*")
    if not others:
        return name == pattern
    place = len(first) if name.startswith(first) else -1
    for part in others[:-1]:
        found = name.find(part, place) if place >= 0 else -1
        place = found + len(part) if found >= 0 else -1
    return 0 <= place <= len(name) - len(others[-1]) and name.endswith(others[-1])
