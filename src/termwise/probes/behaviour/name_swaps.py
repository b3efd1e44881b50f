"""Replacement of names by others of the same type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from termwise.probes.behaviour.words_and_sentences import WORD
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.language.base import Language
from termwise.probes.manipulations.base import ManipulationContext
from termwise.probes.sources.transfer.answer_swaps import NAME_TYPES
from termwise.probes.sources.written_texts import written, written_texts


class NamePool:
    """Replaces names by other names of the same type from the collection.

    If the language finds no name in a text, and for the written passages, a short list of persons, cities and countries
    is used.

    Parameters
    ----------
    language : Language
        Finds names.
    """

    def __init__(self, language: Language) -> None:
        self._language = language
        self._pools: dict[int, tuple[JudgedTexts, dict[str, list[str]]]] = {}

    def swap(self, text: str, context: ManipulationContext) -> str | None:
        """Replace the names in a text, except those that share a word with the query; None if there are none."""
        query_words = {word.lower() for word in WORD.findall(context.about.query)}
        names = {} if context.judged is written_texts() else self._names_in(text)
        pool = self._pool(context.judged) if names else listed_names()
        chosen: dict[str, str] = {}
        for name, name_type in sorted((names or _listed_names_in(text)).items()):
            others = [
                other
                for other in pool.get(name_type, ())
                if other not in text and other not in chosen.values()
            ]
            if others and query_words.isdisjoint(word.lower() for word in WORD.findall(name)):
                chosen[name] = context.random.choice(others)
        if not chosen:
            return None
        return _any_of(chosen).sub(lambda match: chosen[match[0]], text)

    def _names_in(self, text: str) -> dict[str, str]:
        parsed = self._language.parse(text)
        return {parsed.of(entity): entity.label for entity in parsed.entities if entity.label in NAME_TYPES}

    def _pool(self, judged: JudgedTexts) -> dict[str, list[str]]:
        if id(judged) not in self._pools:
            names_of: dict[str, set[str]] = {}
            for text in judged.texts.values():
                for name, name_type in self._names_in(text).items():
                    names_of.setdefault(name_type, set()).add(name)
            pool = {name_type: sorted(names) for name_type, names in names_of.items()}
            self._pools[id(judged)] = judged, pool
        return self._pools[id(judged)][1]


@cache
def listed_names() -> dict[str, list[str]]:
    """Return the written list of names by type: persons, cities, countries."""
    names: dict[str, list[str]] = {}
    for item in written("names"):
        names.setdefault(item["kind"], []).append(item["name"])
    return names


def _listed_names_in(text: str) -> dict[str, str]:
    types = {name: name_type for name_type, names in listed_names().items() for name in names}
    return {match[0]: types[match[0]] for match in _any_of(types).finditer(text)}


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
