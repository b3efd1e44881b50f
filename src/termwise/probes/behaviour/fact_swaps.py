"""Fact probes: wrong numbers, dates and names, exchanged roles and units.

In probes of judged texts the first text is the changed one, so a ranker that prefers correct facts has a negative
score; only a ranker with knowledge of the facts can prefer them. In the written pairs of roles and units the query
determines the correct text, which is first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, partial

from termwise.probes.behaviour.words_and_sentences import WORD
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.language.base import Language
from termwise.probes.manipulations.base import Manipulation, ManipulationContext, over_collections
from termwise.probes.sources.transfer.answer_swaps import NAME_TYPES
from termwise.probes.sources.transfer.pairs import TextPair
from termwise.probes.sources.written_pairs import written_probe
from termwise.probes.sources.written_texts import written, written_texts


class NamePool:
    """Replaces names by other names of the same type from the collection.

    If the language finds no name in a text, and for the written passages, a short list of persons, cities and countries
    is used.
    """

    def __init__(self, language: Language) -> None:
        self._language = language
        self._pool = cache(self._names_of)

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

    def _names_of(self, judged: JudgedTexts) -> dict[str, list[str]]:
        names_of: dict[str, set[str]] = {}
        for text in judged.texts.values():
            for name, name_type in self._names_in(text).items():
                names_of.setdefault(name_type, set()).add(name)
        return {name_type: sorted(names) for name_type, names in names_of.items()}


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


FACTORS = (2, 3, 5, 10)
"""Factors by which numbers are multiplied."""

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/-]|[.,]\d)")
_BEFORE_DAY = tuple(f"{month} " for month in MONTHS)
_AFTER_DAY = re.compile(rf" (?:{'|'.join(MONTHS)})\b")
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_MONTH = re.compile(rf"(?<=\d )(?:{'|'.join(MONTHS)})\b|\b(?:{'|'.join(MONTHS)})(?= \d)")


def multiplied(number: str, factor: int) -> str:
    """Multiply a number in digits, keeping its format.

    Examples
    --------
    >>> multiplied("1,600", 5), multiplied("42.195", 2), multiplied("8", 3)
    ('8,000', '84.390', '24')
    """
    _, _, decimals = number.partition(".")
    scale = 10 ** len(decimals)
    value = round(float(number.replace(",", "")) * scale) * factor
    whole = f"{value // scale:,}" if "," in number else str(value // scale)
    return f"{whole}.{value % scale:0{len(decimals)}}" if decimals else whole


def _multiply_numbers(text: str, context: ManipulationContext) -> str:
    query_numbers = set(_NUMBER.findall(context.about.query))

    @cache
    def substitute(number: str) -> str:
        return multiplied(number, context.random.choice(FACTORS))

    def new(match: re.Match[str]) -> str:
        stays = match[0] in query_numbers or _YEAR.fullmatch(match[0]) or _is_day(match)
        return match[0] if stays else substitute(match[0])

    return _NUMBER.sub(new, text)


def _is_day(match: re.Match[str]) -> bool:
    before, after = match.string[: match.start()], match.string[match.end() :]
    return before.endswith(_BEFORE_DAY) or bool(_AFTER_DAY.match(after))


def _change_dates(text: str, context: ManipulationContext) -> str:
    query_words = set(WORD.findall(context.about.query))

    @cache
    def new_year(number: str) -> str:
        stays = number in query_words or not _YEAR.fullmatch(number)
        return number if stays else str(int(number) - context.random.randrange(10, 100))

    @cache
    def new_month(month: str) -> str:
        others = [other for other in MONTHS if other != month]
        return month if month in query_words else context.random.choice(others)

    changed = _NUMBER.sub(lambda match: new_year(match[0]), text)
    return _MONTH.sub(lambda match: new_month(match[0]), changed)


def _pairs(name: str) -> Iterator[TextPair]:
    for item in written(name):
        yield TextPair(item["id"], item["first"], item["second"], query=item["query"], group=item["id"])


def fact_probes(inputs: ProbeInputs) -> list[Probe]:
    """Make the probes of written pairs and of relevant texts.

    Numbers, years, months and names of the query are unchanged. Repeated values change in the same way.
    """
    manipulations = [
        Manipulation(
            "swap-numbers",
            "Numbers multiplied",
            "a relevant text with its numbers multiplied, except those of the query",
            _multiply_numbers,
        ),
        Manipulation(
            "swap-dates",
            "Years and months changed",
            "a relevant text with other years and months, except those of the query",
            _change_dates,
        ),
        Manipulation(
            "swap-names",
            "Names exchanged for others of their kind",
            "a relevant text with other names of persons, places or organisations, except those of the query",
            NamePool(inputs.language).swap,
        ),
    ]
    return [
        written_probe(
            "swap-roles",
            "Correct roles against exchanged roles",
            partial(_pairs, "roles"),
            define_pair("a text that answers the query", "the text with agent and patient exchanged"),
        ),
        written_probe(
            "swap-units",
            "Fitting unit against another",
            partial(_pairs, "units"),
            define_pair(
                "a text that answers the query",
                "the text with its number in another unit, so that it does not answer the query",
            ),
        ),
        *over_collections(manipulations, inputs, "relevant"),
    ]


FAMILY = Family("swaps", "effect of wrong numbers, dates, names, roles and units", fact_probes)
