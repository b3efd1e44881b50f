"""Dates as microseconds in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.attributes import dates
from termwise.attributes.dates import (
    DAY,
    EARLIEST,
    LATEST,
    epoch_date,
    iso,
    microseconds,
    parse_date,
    relative_date,
    to_datetime,
)
from termwise.attributes.field_types import possible_types, stored_value
from termwise.storage.manifest_json import Misfit

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1970-01-01", 0, DAY - 1),
        ("1969-12-31", -DAY, -1),
        ("1970-01-01T00:01", 60 * SECOND, 60 * SECOND),
        ("1970-01-01 00:00:02", 2 * SECOND, 2 * SECOND),
        ("1970-01-01T00:00:00.5Z", SECOND // 2, SECOND // 2),
        ("1970-01-01T00:00:00.123456789", 123_456, 123_456),
        ("1970-01-01T02:00:00+02:00", 0, 0),
        ("1970-01-01T02:00:00+0200", 0, 0),
        ("1969-12-31T23:30:00-00:30", 0, 0),
        ("0001-01-01", EARLIEST, EARLIEST + DAY - 1),
        ("9999-12-31", LATEST - DAY + 1, LATEST),
    ],
)
def test_dates(text: str, first: int, last: int) -> None:
    assert parse_date(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "", "1970", "1970-1-1", "19700101", "1970-W01-1", "1970-02-30", "1970-01-01T24:30", "1970-01-01T",
        "1970-01-01 00:00:00 Z", "1970-01-01T00:00:00+99:00", "0001-01-01T00:00:00+01:00", "９９９９-01-01",
        "1970-01-01\n",
    ],
)  # fmt: skip
def test_texts_that_are_no_dates(text: str) -> None:
    assert parse_date(text) is None


@given(st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=-9, minutes=-30))])))
def test_what_is_written_is_read(moment: datetime) -> None:
    number = microseconds(moment)
    if EARLIEST <= number <= LATEST:
        assert parse_date(iso(moment)) == (number, number)
        assert to_datetime(number) == (moment if moment.tzinfo else moment.replace(tzinfo=UTC))


@given(st.dates())
def test_a_date_is_its_day(day: date) -> None:
    assert parse_date(iso(day)) == (microseconds(day), microseconds(day) + DAY - 1)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2024-01-31T18:30:00+01", "2024-01-31T17:30:00Z"),
        ("2024-01-31 18:30:00.5-0330", "2024-01-31T22:00:00.5Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999Z"),
        ("2016-12-31T23:59:60.75Z", "2016-12-31T23:59:59.999999Z"),
    ],
)
def test_other_forms_of_times(text: str, same: str) -> None:
    assert parse_date(text) == parse_date(same)


def test_a_month_is_all_of_its_days() -> None:
    first, last = parse_date("2024-02") or (0, 0)
    assert (first, last) == (parse_date("2024-02-01")[0], parse_date("2024-02-29")[1])
    assert parse_date("2024-13") is None
    assert possible_types("2024-02") == ("keyword", "keywords")  # a code may look like a month
    assert stored_value("date", "2024-02") == first


@pytest.mark.parametrize("number", [0, -1, 86_400, 1_700_000_000.5, 99_999_999_999])
def test_numbers_of_seconds_and_milliseconds(number: float) -> None:
    assert stored_value("date", number) == round(number * 1_000_000)
    assert stored_value("date", str(number)) == round(number * 1_000_000)
    assert stored_value("date", 10**11) == 10**14
    for wrong in (10**18, float("nan"), float("inf"), True, "86_400"):
        with pytest.raises(Misfit):
            stored_value("date", wrong)


def test_moments_before_and_after_now() -> None:
    now = microseconds(datetime.now(UTC))
    for text, days in (("now", 0), ("now-7d", -7), ("now+1w-24h", 6), ("now-1440m", -1), ("now-60s+60s", 0)):
        found = relative_date(text)
        assert found is not None
        assert found[0] == found[1]
        assert abs(found[0] - now - days * DAY) < 5_000_000
    month, year, twelve = map(relative_date, ("now-1M", "now-1y", "now-12M"))
    assert month is not None
    assert 28 * DAY - 5_000_000 <= now - month[0] <= 31 * DAY + 5_000_000
    assert year is not None
    assert twelve is not None
    assert abs(year[0] - twelve[0]) <= 1_000_000
    assert (relative_date("now+9999y"), relative_date("now-999999M")) == ((LATEST,) * 2, (EARLIEST,) * 2)
    wrong = ("now-7", "now-7D", "now -7d", "Now", "", "now/", "now/D", "now/d-1d", "now/d/d")
    assert [relative_date(text) for text in wrong] == [None] * len(wrong)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("now/s", "2024-03-13T18:30:05", "2024-03-13T18:30:05"),
        ("now/m", "2024-03-13T18:30:00", "2024-03-13T18:30:59"),
        ("now-1h/h", "2024-03-13T17:00:00", "2024-03-13T17:59:59"),
        ("now-90d/d", "2023-12-14T00:00:00", "2023-12-14T23:59:59"),
        ("now/w", "2024-03-11T00:00:00", "2024-03-17T23:59:59"),  # from Monday to Sunday
        ("now-1M/M", "2024-02-01T00:00:00", "2024-02-29T23:59:59"),
        ("now/y", "2024-01-01T00:00:00", "2024-12-31T23:59:59"),
        ("now-2023y/y", "0001-01-01T00:00:00", "0001-12-31T23:59:59"),
        ("now+7975y/w", "9999-03-08T00:00:00", "9999-03-14T23:59:59"),
        ("now+7975y+292d/w", "9999-12-27T00:00:00", "9999-12-31T23:59:59"),
    ],
)
def test_a_moment_is_rounded_to_a_whole_unit(
    text: str, first: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(2024, 3, 13, 18, 30, 5, 17, tz)  # a Wednesday

    monkeypatch.setattr(dates, "datetime", Clock)
    assert relative_date(text) == (_first(first), _first(last) + SECOND - 1)


def _first(text: str) -> int:
    found = parse_date(text)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("number", [1e308, -1e308, float("inf"), float("nan"), 10**400, -(10**400)])
def test_numbers_beyond_all_years_are_no_dates(number: float) -> None:
    assert epoch_date(number) is None
