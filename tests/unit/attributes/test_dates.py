"""Dates as microseconds in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.attributes.dates import DAY, EARLIEST, LATEST, iso, microseconds, parse_date, to_datetime

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
