"""Swaps: numbers, dates and names that are not the right ones, roles and units that are exchanged.

In probes over judged texts the first text is the changed one, so that a ranker that cares for the facts is below 0; it
can only do so where it knows them. In our pairs of roles and units the query tells which text is right, and that one
stands first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from termwise.probes.behaviour.changes import Change, changed
from termwise.probes.behaviour.names import NamePool
from termwise.probes.behaviour.wording import WORD
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.manipulations.base import Around
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery
from termwise.probes.sources.written_texts import written

FACTORS = (2, 3, 5, 10)
"""Numbers are multiplied by one of them."""

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/-]|[.,]\d)")
_BEFORE_DAY = tuple(f"{month} " for month in MONTHS)
_AFTER_DAY = re.compile(rf" (?:{'|'.join(MONTHS)})\b")
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_MONTH = re.compile(rf"(?<=\d )(?:{'|'.join(MONTHS)})\b|\b(?:{'|'.join(MONTHS)})(?= \d)")


def multiplied(number: str, factor: int) -> str:
    """Multiply a number in digits, and write it in the same way.

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


class _Known(dict[str, str]):
    """Gives the same new value for the same old one."""

    def __init__(self, draw: Callable[[str], str]) -> None:
        super().__init__()
        self._draw = draw

    def __missing__(self, old: str) -> str:
        return self.setdefault(old, self._draw(old))


def _numbers(text: str, around: Around) -> str | None:
    asked = set(_NUMBER.findall(around.about.query))
    known = _Known(lambda number: multiplied(number, around.random.choice(FACTORS)))

    def swap(found: re.Match[str]) -> str:
        stays = found[0] in asked or _YEAR.fullmatch(found[0]) or _is_day(found)
        return found[0] if stays else known[found[0]]

    return _NUMBER.sub(swap, text)


def _is_day(found: re.Match[str]) -> bool:
    before, after = found.string[: found.start()], found.string[found.end() :]
    return before.endswith(_BEFORE_DAY) or bool(_AFTER_DAY.match(after))


def _dates(text: str, around: Around) -> str | None:
    asked = set(WORD.findall(around.about.query))
    years = _Known(lambda year: str(int(year) - around.random.randrange(10, 100)))
    months = _Known(lambda month: around.random.choice([other for other in MONTHS if other != month]))

    def another_year(found: re.Match[str]) -> str:
        stays = found[0] in asked or not _YEAR.fullmatch(found[0])
        return found[0] if stays else years[found[0]]

    def another_month(found: re.Match[str]) -> str:
        return found[0] if found[0] in asked else months[found[0]]

    return _MONTH.sub(another_month, _NUMBER.sub(another_year, text))


def _written(name: str) -> Iterator[Pair]:
    for item in written(name):
        yield Pair(item["id"], item["first"], item["second"], query=item["query"], group=item["id"])


def swap_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes: our pairs, and changes of relevant texts.

    Numbers, years, months and names that stand in the query stay, and what stands twice in a text changes in the same
    way.
    """
    pool = NamePool(material.language)
    changes = (
        Change(
            "swap-numbers",
            "Numbers multiplied",
            "a relevant text with its numbers multiplied, but for those in the query",
            _numbers,
        ),
        Change(
            "swap-dates",
            "Years and months changed",
            "a relevant text with other years and months, but for those in the query",
            _dates,
        ),
        Change(
            "swap-names",
            "Names exchanged for others of their kind",
            "a relevant text with other names of persons, places or organisations, but for those in the query",
            pool.swap,
        ),
    )
    pairs = (
        (
            "roles",
            "Right roles against exchanged ones",
            define_pair(
                "a text that answers the query", "the text with two roles exchanged: who did what to whom"
            ),
        ),
        (
            "units",
            "Fitting unit against another",
            define_pair(
                "a text that answers the query",
                "the text with its number in another unit, so that it does not",
            ),
        ),
    )
    return [
        *(
            TransferProbe(
                f"swap-{name}@written", title, partial(_written, name), GivenQuery(), definition=definition
            )
            for name, title, definition in pairs
        ),
        *changed(changes, material, "relevant"),
    ]


FAMILY = Family("swaps", "does it matter whether numbers, dates, names and roles are right?", swap_probes)
