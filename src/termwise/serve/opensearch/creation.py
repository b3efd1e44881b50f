"""Indexes that a request creates: the mapping and the settings of a body as a build without documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from termwise.attributes import Schema
from termwise.attributes.field_types import TEXT_TYPES, FieldType
from termwise.fast_dataclass import dataclass
from termwise.serve.errors import ServiceError
from termwise.serve.indexes import NAME
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import TEXTS, attribute_type, check_name, flat_properties
from termwise.serve.opensearch.json_checks import known_keys, only_default, record, single, text
from termwise.text import analyzer_names
from termwise.text.registry import make_analyzer_by_attribute

MODELS = ("bm25", "jm", "dirichlet", "ml", "instant", "best", "best-large", "lookup")
"""Models of indexes that a request creates; an index of each can be empty."""

WITH_ANALYZER = MODELS[:4]
"""Those that take an analyzer."""

MOST_FIELDS = 1000
"""Fields of a mapping, as in OpenSearch."""

ANALYZER = "analysis.analyzer.default.type"

ANALYZER_BY = "termwise.analyzer_by"
"""Setting of a new index: the attribute that holds the language of each document."""

BY_LANGUAGE = ("bm25", "instant", "best", "best-large")
"""Models whose words can have the analyzer of the language of a document."""

_OWN = re.compile(r"analysis\.analyzer\.[^.]+\.type")
"""Settings that give analyzers names."""

WITHOUT_EFFECT = ("number_of_shards", "number_of_replicas", "refresh_interval", "auto_expand_replicas")
"""Settings that change no result of one index on one machine; they are ignored."""


@dataclass(frozen=True)
class NewIndex:
    """An index to create.

    Attributes
    ----------
    fields : tuple of str
        Texts, which the index keeps apart.
    schema : Schema
        Attributes.
    model : str
    analyzer : str or None
    analyzer_by : str or None
        Attribute of the language of a document, in place of `analyzer`.
    aliases : tuple of str
    """

    fields: tuple[str, ...]
    schema: Schema
    model: str
    analyzer: str | None
    analyzer_by: str | None = None
    aliases: tuple[str, ...] = ()

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> NewIndex:
        """Read the body of a request that creates an index.

        Raises
        ------
        UnsupportedError
            If a part is not supported.
        ServiceError
            If a part is not as expected, or no field is a text.
        """
        given = known_keys(body, "an index", ("mappings", "settings", "aliases"))
        aliases = record(given.get("aliases", {}), "aliases")
        for alias, keys in aliases.items():
            if not NAME.fullmatch(alias):
                raise UnsupportedError.of(
                    "the alias", alias[:100], ["names of small letters, digits, and . _ - inside"]
                )
            known_keys(keys, f"the alias {alias}", ("is_write_index", "is_hidden"))
        settings = _settings(record(given.get("settings", {}), "settings"))
        mapping = known_keys(given.get("mappings", {}), "a mapping", ("properties", "dynamic"))
        only_default(mapping, "a mapping", dynamic=True)
        fields: list[str] = []
        types: dict[str, FieldType] = {}
        own = {name: kind for name, kind in settings.items() if _OWN.fullmatch(name)}
        by_name = {name.split(".")[2]: kind for name, kind in own.items()}
        analyzers = {by_name["default"]: ANALYZER} if "default" in by_name else {}
        properties = list(flat_properties(record(mapping.get("properties", {}), "properties")))
        if len(properties) > MOST_FIELDS:
            raise ServiceError("a mapping has too many fields", facts=[("most", MOST_FIELDS)])
        for name, value in properties:
            check_name(name)
            if text(record(value, f"the field {name}").get("type"), f"type of {name}") in TEXTS:
                fields.append(name)
                keys = known_keys(
                    value,
                    f"the text {name}",
                    ("type", "fields", "analyzer", "search_analyzer", "max_shingle_size"),
                )
                named = [
                    text(keys[key], f"{key} of {name}")
                    for key in ("analyzer", "search_analyzer")
                    if key in keys
                ]
                analyzers |= {by_name.get(each, each): name for each in named}
                if keys.get("fields"):
                    inner, keyword = single(keys["fields"], f"fields of {name}")
                    types[name] = attribute_type(f"{name}.{inner}", keyword)
                    if inner != "keyword" or types[name] not in TEXT_TYPES:
                        raise UnsupportedError.of(f"for the text {name}, the field", inner, ["keyword"])
            else:
                types[name] = attribute_type(name, value)
        if not fields:
            raise ServiceError(
                "an index needs a text",
                fixes=['name one in the mapping: {"mappings": {"properties": {"title": {"type": "text"}}}}'],
            )
        if len(analyzers) > 1:
            raise UnsupportedError.of(
                "for an index, several analyzers",
                ", ".join(analyzers),
                fix="an index has one for all texts; for documents in several languages, give each an attribute with "
                f'its language, such as lang, in place of fields of each language, and set "{ANALYZER_BY}" to it',
            )
        model = settings.get("termwise.model", MODELS[0])
        if model not in MODELS:
            raise UnsupportedError.of("termwise.model", model, MODELS)
        by = settings.get(ANALYZER_BY)
        if by is not None:
            return cls(
                tuple(fields), _with_language(types, by, analyzers, model), model, None, by, tuple(aliases)
            )
        analyzer = next(iter(analyzers), "standard" if model in WITH_ANALYZER else None)
        if analyzer is not None and model not in WITH_ANALYZER:
            raise UnsupportedError.of(f"for the model {model}, the analyzer", analyzer)
        # A name with a path would let a client read files of the service.
        if analyzer is not None and analyzer.partition("+")[0] not in analyzer_names():
            raise UnsupportedError.of("the analyzer", analyzer[:100], analyzer_names())
        return cls(tuple(fields), Schema(types), model, analyzer, None, tuple(aliases))

    def build(self, path: Path) -> None:
        """Build the index without documents; see `build_index` for the errors."""
        from termwise.indexing import build_index

        by = self.analyzer_by
        build_index(
            [],
            path,
            model=self.model,
            analyzer=self.analyzer if by is None else make_analyzer_by_attribute(by),
            fields=dict.fromkeys(self.fields, 1),
            attributes=self.schema,
            store_text=True,
        )


def _settings(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that count, with dots in their names."""
    found: dict[str, str] = {}
    for name, value in _dotted(given):
        name = name.removeprefix("index.")
        if name in ("termwise.model", ANALYZER_BY) or _OWN.fullmatch(name):
            found[name] = text(value, name)
        elif name.startswith("analysis."):
            raise UnsupportedError.of(
                "the setting",
                name[:200],
                [ANALYZER, "analysis.analyzer.NAME.type"],
                'use an analyzer by its name, such as "english" or "german", in the mapping or as a type',
            )
        elif name not in WITHOUT_EFFECT:
            raise UnsupportedError.of(
                "the setting", name, [ANALYZER, "termwise.model", ANALYZER_BY, *WITHOUT_EFFECT]
            )
    return found


def _with_language(types: dict[str, FieldType], by: str, analyzers: Mapping[str, str], model: str) -> Schema:
    """Return the attributes with that of the language of a document.

    Raises
    ------
    UnsupportedError
        If there is an analyzer too, the model takes none for each language, or the attribute is no keyword.
    """
    if analyzers:
        raise UnsupportedError.of(f"beside {ANALYZER_BY}, the analyzer", ", ".join(analyzers)[:200])
    if model not in BY_LANGUAGE:
        raise UnsupportedError.of(f"beside {ANALYZER_BY}, the model", model, BY_LANGUAGE)
    check_name(by)
    if types.get(by, "keyword") != "keyword":
        raise UnsupportedError.of(f"as {ANALYZER_BY}, the attribute", by, ["a keyword"])
    return Schema({**types, by: "keyword"})


def _dotted(given: Mapping[str, Any], before: str = "", level: int = 0) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in given.items():
        if isinstance(value, dict) and value and level < 10:
            found += _dotted(value, f"{before}{name}.", level + 1)
        else:
            found.append((f"{before}{name}", value))
    return found
