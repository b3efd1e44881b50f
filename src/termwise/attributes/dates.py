"""Dates as numbers: microseconds since 1970-01-01 in UTC.

A date is written in ISO 8601: ``2024-01-31``, or with a time, ``2024-01-31T18:30:00+01:00``. A time without a zone is
in UTC. A date without a time is stored as its midnight in UTC. In a comparison, a date without a time is the whole day:
``day = "2024-01-31"`` matches each moment of that day. Digits of a fraction after the sixth are dropped.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

DAY = 86_400_000_000
"""Microseconds of a day."""

EARLIEST = -62_135_596_800_000_000
"""The first microsecond of the year 1."""

LATEST = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


def parse_date(text: str) -> tuple[int, int] | None:
    """Return the first and the last microsecond of a date or date-time in ISO 8601, or None for another text.

    The two are equal for a text with a time.

    Examples
    --------
    >>> parse_date("1970-01-02")
    (86400000000, 172799999999)
    >>> parse_date("1970-01-01T01:00:00+01:00")
    (0, 0)
    >>> parse_date("1970-02-30") is None
    True
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    first = _since_epoch(moment)
    last = first if match[1] else first + DAY - 1
    return (first, last) if first >= EARLIEST and last <= LATEST else None


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
