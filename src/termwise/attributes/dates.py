"""Dates as numbers: microseconds since 1970-01-01 in UTC.

A date is written in ISO 8601: ``2024-01-31``, or with a time, ``2024-01-31T18:30:00+01:00``. A time without a zone is
in UTC; a zone may leave out its minutes, ``+01``. A date without a time is stored as its midnight in UTC, and a month,
``2024-01``, as that of its first day. In a comparison, they are the whole day or month: ``day = "2024-01-31"`` matches
each moment of that day. Digits of a fraction after the sixth are dropped, and the leap second ``:60`` is the last
microsecond before it. A number is seconds since 1970, or from `FIRST_MILLISECOND` on, milliseconds.

In a comparison, ``now`` is the current second, ``now-7d`` seven days before, and ``now-7d/d`` the whole day of that
moment; see `relative_date`.
"""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from datetime import UTC, date, datetime, timedelta

DAY = 86_400_000_000
"""Microseconds of a day."""

UNITS: dict[str, float] = {
    "millisecond": 1000,
    "second": DAY // 86_400,
    "minute": DAY // 1440,
    "hour": DAY // 24,
    "day": DAY,
    "week": 7 * DAY,
    "month": 365.25 / 12 * DAY,
    "year": 365.25 * DAY,
}
"""Microseconds of units of time; those of a month and a year are means."""

LETTERS = {"ms": "millisecond", "s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
"""Units of the same length everywhere, as in ``30d``."""

EARLIEST = -62_135_596_800_000_000
"""The first microsecond of the year 1."""

LATEST = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""

FIRST_MILLISECOND = 10**11
"""Smallest number that counts milliseconds; it is a day of 1973, and as seconds, the year 5138."""

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_MONDAY = 4 * DAY
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}(-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?)?"
)
_LEAP_SECOND = re.compile(r"(?<=:[0-9]{2}):60(\.[0-9]+)?")
_RELATIVE = re.compile(r"now((?:[+-][0-9]{1,6}[smhdwMy])*)(?:/([smhdwMy]))?")


def parse_date(text: str) -> tuple[int, int] | None:
    """Return the first and the last microsecond of a month, date or date-time in ISO 8601, or None for another text.

    The two are equal for a text with a time.

    Examples
    --------
    >>> parse_date("1970-01-02")
    (86400000000, 172799999999)
    >>> parse_date("1970-01-01T01:00:00+01:00")
    (0, 0)
    >>> parse_date("1970-01") == (0, 31 * DAY - 1)
    True
    >>> parse_date("1970-02-30") is None
    True
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    try:
        if match[1] is None:
            moment = datetime.fromisoformat(f"{text}-01")
            days = monthrange(moment.year, moment.month)[1]
        else:
            moment = datetime.fromisoformat(_LEAP_SECOND.sub(":59.999999", text))
            days = 1
    except ValueError:
        return None
    first = _since_epoch(moment)
    last = first if match[2] else first + days * DAY - 1
    return (first, last) if first >= EARLIEST and last <= LATEST else None


def relative_date(text: str) -> tuple[int, int] | None:
    """Return the first and the last microsecond of ``now`` with steps such as ``-7d`` and ``+3M``; None otherwise.

    The units are s, m (minutes), h, d, w, M (months) and y. A day that a month lacks becomes its last day. The two are
    equal without a unit at the end, as in ``now-7d/d``: the whole day in UTC, or the week from Monday on. `LATEST` and
    `EARLIEST` are limits.

    Examples
    --------
    >>> relative_date("now")[0] - relative_date("now-7d")[0] >= 7 * DAY - 1_000_000, relative_date("today")
    (True, None)
    >>> first, last = relative_date("now-7d/d")
    >>> first % DAY, last - first == DAY - 1
    (0, True)
    """
    match = _RELATIVE.fullmatch(text)
    if match is None:
        return None
    moment = datetime.now(UTC).replace(microsecond=0, tzinfo=None)
    for sign, count, unit in re.findall(r"([+-])([0-9]+)([a-zA-Z])", match[1]):
        number = int(f"{sign}{count}")
        try:
            moment = _moved(moment, number, unit)
        except (OverflowError, ValueError, IndexError):
            return (LATEST, LATEST) if number > 0 else (EARLIEST, EARLIEST)
    return _whole(moment, match[2]) if match[2] else (_since_epoch(moment), _since_epoch(moment))


def _moved(moment: datetime, number: int, unit: str) -> datetime:
    """Return a moment moved by a number of units."""
    if unit in LETTERS:
        return moment + number * UNITS[LETTERS[unit]] * _MICROSECOND
    year, month = divmod(moment.year * 12 + moment.month - 1 + number * (12 if unit == "y" else 1), 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def _whole(moment: datetime, unit: str) -> tuple[int, int]:
    """Return the first and the last microsecond of the calendar unit, such as a day, that contains a moment."""
    if unit in LETTERS:
        since, length = _since_epoch(moment), round(UNITS[LETTERS[unit]])
        first = since - (since - _MONDAY) % length
    else:
        first = _since_epoch(datetime(moment.year, moment.month if unit == "M" else 1, 1))
        length = DAY * (
            monthrange(moment.year, moment.month)[1] if unit == "M" else 365 + isleap(moment.year)
        )
    return first, min(first + length - 1, LATEST)


def epoch_date(number: float) -> int | None:
    """Return the microseconds of a number of seconds or milliseconds since 1970; None outside of years 1 to 9999.

    Examples
    --------
    >>> epoch_date(86_400), epoch_date(1_700_000_000_500)
    (86400000000, 1700000000500000)
    """
    unit = 1_000_000 if abs(number) < FIRST_MILLISECOND else 1000
    moment = number * unit
    return round(moment) if EARLIEST <= moment <= LATEST else None  # neither NaN nor infinity is between them


def microseconds(value: date) -> int:
    """Return the microseconds of a date (its midnight in UTC) or of a `datetime` (in UTC if it has no zone).

    Examples
    --------
    >>> microseconds(date(1970, 1, 2)), microseconds(datetime(1970, 1, 1, 0, 0, 1))
    (86400000000, 1000000)
    """
    return _since_epoch(
        value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    )


def _since_epoch(moment: datetime) -> int:
    offset = moment.utcoffset() or timedelta()
    return (moment.replace(tzinfo=None) - _EPOCH) // _MICROSECOND - offset // _MICROSECOND


def to_datetime(microseconds: int) -> datetime:
    """Return the moment in UTC for a number of microseconds from `EARLIEST` to `LATEST`.

    Examples
    --------
    >>> to_datetime(86_400_000_000)
    datetime.datetime(1970, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)
    """
    return (_EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=UTC)


def iso(value: date) -> str:
    """Write a date as ``2024-01-31``, and a `datetime` in UTC as ``2024-01-31T17:30:00Z``.

    Examples
    --------
    >>> iso(date(2024, 1, 31)), iso(datetime(2024, 1, 31, 18, 30))
    ('2024-01-31', '2024-01-31T18:30:00Z')
    """
    if not isinstance(value, datetime):
        return value.isoformat()
    utc = value.replace(tzinfo=None) - (value.utcoffset() or timedelta())
    return f"{utc.isoformat()}Z"
