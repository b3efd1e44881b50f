"""Names, and others of their kind: from the collection where the language finds names, else from short lists."""

from __future__ import annotations

import re
from functools import cache

from termwise.probes.behaviour.wording import WORD
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.language.base import Language
from termwise.probes.manipulations.base import Around
from termwise.probes.sources.written_texts import written, written_texts

KINDS = frozenset({"PERSON", "GPE", "LOC", "NORP", "ORG"})
"""Kinds of names that are exchanged."""


class NamePool:
    """Exchanges names for others of their kind.

    Where the language finds no name in a text, and in our own passages, names from a short list of persons, cities and
    countries are looked for.

    Parameters
    ----------
    language : Language
        Finds names.
    """

    def __init__(self, language: Language) -> None:
        self._language = language
        self._pools: dict[int, tuple[JudgedTexts, dict[str, list[str]]]] = {}

    def swap(self, text: str, around: Around) -> str | None:
        """Exchange the names in a text, but for those that share a word with the query; None where there is none."""
        asked = {word.lower() for word in WORD.findall(around.about.query)}
        found = {} if around.judged is written_texts() else self._found(text)
        pool = self._pool(around.judged) if found else listed_names()
        chosen: dict[str, str] = {}
        for name, kind in sorted((found or _listed_in(text)).items()):
            others = [
                other for other in pool.get(kind, ()) if other not in text and other not in chosen.values()
            ]
            if others and asked.isdisjoint(word.lower() for word in WORD.findall(name)):
                chosen[name] = around.random.choice(others)
        if not chosen:
            return None
        return _any_of(chosen).sub(lambda match: chosen[match[0]], text)

    def _found(self, text: str) -> dict[str, str]:
        parsed = self._language.parse(text)
        return {parsed.of(entity): entity.label for entity in parsed.entities if entity.label in KINDS}

    def _pool(self, judged: JudgedTexts) -> dict[str, list[str]]:
        if id(judged) not in self._pools:
            names: dict[str, set[str]] = {}
            for text in judged.texts.values():
                for name, kind in self._found(text).items():
                    names.setdefault(kind, set()).add(name)
            self._pools[id(judged)] = judged, {kind: sorted(found) for kind, found in names.items()}
        return self._pools[id(judged)][1]


@cache
def listed_names() -> dict[str, list[str]]:
    """Return our list by kind: persons, cities, countries."""
    found: dict[str, list[str]] = {}
    for item in written("names"):
        found.setdefault(item["kind"], []).append(item["name"])
    return found


def _listed_in(text: str) -> dict[str, str]:
    kinds = {name: kind for kind, names in listed_names().items() for name in names}
    return {match[0]: kinds[match[0]] for match in _any_of(kinds).finditer(text)}


def _any_of(names: dict[str, str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
