"""Dates as OpenSearch writes them: in milliseconds, in ISO 8601, or in a pattern such as ``yyyy-MM``."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import pairwise

from termwise.attributes.dates import EARLIEST, LATEST, to_datetime
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError

DEFAULT = "strict_date_optional_time"

LONGEST_FORMAT = 100
"""Largest number of characters of a date format."""

_NAMES = {
    "date": "yyyy-MM-dd",
    "date_optional_time": "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "date_time": "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "date_time_no_millis": "yyyy-MM-dd'T'HH:mm:ss'Z'",
    "iso8601": "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "basic_date": "yyyyMMdd",
    "date_hour_minute_second": "yyyy-MM-dd'T'HH:mm:ss",
    "date_hour_minute": "yyyy-MM-dd'T'HH:mm",
    "hour_minute": "HH:mm",
    "year": "yyyy",
    "year_month": "yyyy-MM",
    "year_month_day": "yyyy-MM-dd",
}
"""Patterns of the formats with names; each can have ``strict_`` before it."""

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
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

_LETTERS = "yyyy|uuuu|yy|uu|MMMM|MMM|MM|M|dd|d|HH|H|mm|m|ss|s|SSS|EEEE|EEE"
"""Runs of letters of a pattern that are parts of a date."""

_PART = re.compile(f"{_LETTERS}|'[^']*'|[^a-zA-Z']")


class DateFormat:
    """Format of dates.

    Parameters
    ----------
    given : str
        ``epoch_millis``, ``epoch_second``, a name such as ``date`` or ``strict_date_optional_time``, or a pattern of
        Java. Of several, with ``||`` between them, the first one counts.

    Raises
    ------
    UnsupportedError, ServiceError
        If the format is another one, or too long.

    Examples
    --------
    >>> DateFormat("yyyy-MM").written(0), DateFormat("d MMM yyyy, HH:mm").written(86_400_000)
    ('1970-01', '2 Jan 1970, 00:00')
    >>> DateFormat().written(1_500), DateFormat("epoch_second").written(1_500)
    ('1970-01-01T00:00:01.500Z', '1')
    """

    def __init__(self, given: str = DEFAULT) -> None:
        if len(given) > LONGEST_FORMAT:
            raise ServiceError(
                "a format of dates is too long", facts=[("characters", len(given)), ("most", LONGEST_FORMAT)]
            )
        first = given.partition("||")[0].strip()
        self._epoch = {"epoch_millis": 1, "epoch_second": 1000}.get(first, 0)
        pattern = _NAMES.get(first.removeprefix("strict_"), first)
        self._parts = _PART.findall(pattern)
        if not self._epoch and (not pattern or "".join(self._parts) != pattern or not _runs(self._parts)):
            known = [
                "epoch_millis",
                "epoch_second",
                DEFAULT,
                *_NAMES,
                f"patterns of {_LETTERS.replace('|', ' ')}",
            ]
            raise UnsupportedError.of("the format of dates", given, known)

    def written(self, milliseconds: int, zone: int = 0) -> str:
        """Return a moment, in milliseconds since 1970, as text at a zone some minutes ahead of UTC.

        Examples
        --------
        >>> DateFormat().written(0, 60), DateFormat("HH:mm").written(0, -90)
        ('1970-01-01T01:00:00.000+01:00', '22:30')
        """
        if self._epoch:
            return str(milliseconds // self._epoch)
        moment = to_datetime(min(max(1000 * (milliseconds + 60_000 * zone), EARLIEST), LATEST))
        hours, minutes = divmod(abs(zone), 60)
        offset = f"{'-' if zone < 0 else '+'}{hours:02}:{minutes:02}" if zone else "Z"
        return "".join(offset if part == "'Z'" else _written(part, moment) for part in self._parts)


def _runs(parts: list[str]) -> bool:
    """Return whether neighbouring parts of a date format have different letters."""
    return all(not (first[0].isalpha() and last[0] == first[0]) for first, last in pairwise(parts))


def _written(part: str, moment: datetime) -> str:
    match part[0]:
        case "y" | "u":
            return f"{moment.year:04}" if len(part) == 4 else f"{moment.year % 100:02}"
        case "M" if len(part) > 2:
            return _MONTHS[moment.month - 1][: None if len(part) == 4 else 3]
        case "E":
            return _DAYS[moment.weekday()][: None if len(part) == 4 else 3]
        case "S":
            return f"{moment.microsecond // 1000:03}"
        case "'":
            return part[1:-1] or "'"
        case "M" | "d" | "H" | "m" | "s":
            number = {
                "M": moment.month,
                "d": moment.day,
                "H": moment.hour,
                "m": moment.minute,
                "s": moment.second,
            }[part[0]]
            return f"{number:0{len(part)}}"
        case _:
            return part
