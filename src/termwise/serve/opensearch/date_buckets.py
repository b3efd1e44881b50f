"""Buckets of dates: the intervals of ``date_histogram``, and the ends of ``date_range``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.attributes.dates import DAY, EARLIEST, LATEST, iso, parse_date, relative_date, to_datetime
from termwise.fast_dataclass import dataclass
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.json_checks import text
from termwise.validation import is_integer

MILLISECOND = 1000
"""Number of microseconds in a millisecond."""

_FIXED = {
    "ms": MILLISECOND,
    "s": 1000 * MILLISECOND,
    "m": 60_000 * MILLISECOND,
    "h": 3_600_000 * MILLISECOND,
    "d": DAY,
}
"""Microseconds of the units of fixed intervals."""

_NAMES = {
    "minute": "1m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1M",
    "quarter": "1q",
    "year": "1y",
}
"""Calendar intervals by name."""

_MONTHS = {"1M": 1, "1q": 3, "1y": 12}
"""Months of calendar intervals of different lengths."""

MONDAY = 4 * DAY
"""The first Monday since 1970."""

_PERIOD = re.compile(r"([+-]?)([0-9]{1,9})(ms|[smhd])")

_ZONE = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})")

INTERVALS = ("calendar_interval", "fixed_interval", "interval")
"""Keys of an interval; the last one is that of clients of old versions."""


@dataclass(frozen=True)
class DateInterval:
    """Interval of a histogram of dates.

    Attributes
    ----------
    width : int
        Microseconds, or months if `is_months`.
    is_months : bool
    start : int
        Microseconds by which each interval begins later than one in UTC without an offset.
    zone : int
        Minutes by which the clocks of the time zone are ahead of UTC.
    """

    width: int
    is_months: bool = False
    start: int = 0
    zone: int = 0

    def numbers(self, moments: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of the interval of each moment, in microseconds since 1970.

        Examples
        --------
        >>> DateInterval(DAY).numbers(np.array([-1, 0, DAY])).tolist()
        [-1, 0, 1]
        >>> DateInterval(3, is_months=True).numbers(np.array([-1, 0, 89 * DAY, 90 * DAY])).tolist()
        [-1, 0, 0, 1]
        """
        moments = moments - self.start
        if self.is_months:
            moments = moments.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
        return moments // self.width

    def begin(self, number: int) -> int:
        """Return the first microsecond of an interval.

        Examples
        --------
        >>> DateInterval(12, is_months=True).begin(1) // DAY
        365
        """
        if not self.is_months:
            return number * self.width + self.start
        month = np.datetime64(number * self.width, "M")
        return int(month.astype("datetime64[us]").astype(np.int64)) + self.start


def read_interval(given: Mapping[str, Any], where: str) -> DateInterval:
    """Return the interval of a ``date_histogram``, with ``offset`` and ``time_zone``.

    Raises
    ------
    UnsupportedError, ServiceError
        If there is not exactly one interval, or a part is not as expected.
    """
    named = [name for name in INTERVALS if name in given]
    if len(named) != 1:
        raise ServiceError(
            f"{where} has one of calendar_interval and fixed_interval",
            facts=[("given", ", ".join(named) or "none")],
            fixes=['write "calendar_interval": "month", or "fixed_interval": "7d"'],
        )
    (name,) = named
    value = text(given[name], f"{name} of {where}")
    # at the zone of the request, an interval begins earlier in UTC if the clocks are ahead
    zone = _zone(given.get("time_zone", "UTC"), where)
    start = _offset(given.get("offset", "0ms"), where) - zone * _FIXED["m"]
    calendar = _NAMES.get(value, value)
    if name != "fixed_interval" and calendar in _NAMES.values():
        if calendar in _MONTHS:
            return DateInterval(_MONTHS[calendar], True, start, zone)
        if calendar == "1w":
            return DateInterval(7 * DAY, False, start + MONDAY, zone)
        return DateInterval(_FIXED[calendar[1:]], False, start, zone)
    width = 0 if name == "calendar_interval" else _microseconds(value)
    if width <= 0:
        known = [*_NAMES] if name == "calendar_interval" else ["500ms", "30s", "15m", "12h", "7d"]
        fix = (
            "use fixed_interval"
            if name == "calendar_interval"
            else "use calendar_interval for weeks and more"
        )
        raise UnsupportedError.of(f"the {name} of {where}", value[:100], known, fix)
    return DateInterval(width, False, start, zone)


def _microseconds(given: str) -> int:
    """Return the microseconds of a period such as ``7d``, which can have a sign; 0 for another text."""
    match = _PERIOD.fullmatch(given)
    if match is None:
        return 0
    found = int(match[2]) * _FIXED[match[3]]
    return 0 if found > LATEST else -found if match[1] == "-" else found


def _offset(given: object, where: str) -> int:
    offset = text(given, f"offset of {where}")
    found = _microseconds(offset)
    if not found and not re.fullmatch("[+-]?0+(ms|[smhd])?", offset):
        raise ServiceError(
            f"the offset of {where} is a period such as +6h or -1d", facts=[("given", offset[:100])]
        )
    return found


def _zone(given: object, where: str) -> int:
    """Return the minutes by which the clocks of a time zone are ahead of UTC."""
    zone = text(given, f"time_zone of {where}")
    match = _ZONE.fullmatch(zone)
    if match is not None and int(match[2]) <= 18 and int(match[3]) < 60:
        minutes = 60 * int(match[2]) + int(match[3])
        return -minutes if match[1] == "-" else minutes
    if zone in ("UTC", "Z", "GMT", "Etc/UTC"):
        return 0
    raise UnsupportedError.of(
        f"the time_zone of {where}",
        zone[:100],
        ["UTC", "an offset such as +01:00"],
        "use the offset of the zone",
    )


def moment_of(given: object, where: str) -> int:
    """Return the first microsecond of a date: text in ISO 8601, ``now`` with steps, or milliseconds since 1970.

    Examples
    --------
    >>> moment_of("1970-01-02", "from"), moment_of(2, "from")
    (86400000000, 2000)
    """
    if is_integer(given) and EARLIEST <= MILLISECOND * int(given) <= LATEST:
        return MILLISECOND * int(given)
    found = (parse_date(given) or relative_date(given)) if isinstance(given, str) else None
    if found is None:
        raise ServiceError(
            f"{where} is a date such as 2024-01-31, now-30d/d, or milliseconds",
            facts=[("given", str(given)[:100])],
        )
    return found[0]


def date_text(moment: int) -> str:
    """Return a moment in microseconds as text in ISO 8601."""
    return iso(to_datetime(moment))
