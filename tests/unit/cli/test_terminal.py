"""What is said of long work."""

from __future__ import annotations

import pytest

from termwise.cli import terminal


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return now


def test_in_a_pipe_progress_is_a_line_a_minute(clock, capsys):
    with terminal.progress_bar() as report:
        for seconds, stage, done, total in [
            (0, "encode documents", 0, 40),
            (30, "encode documents", 5, 40),
            (60, "encode documents", 10, 40),
            (90, "encode documents", 15, 40),
            (121, "read documents", 3, None),
            (182, "encode documents: late", 36, 40),
        ]:
            clock[0] = 100.0 + seconds
            report(stage, done, total)
    assert capsys.readouterr().err.splitlines() == [
        "encode documents 10 of 40, 3 min left",
        "read documents 3",
        "encode documents: late 36 of 40, 21 s left",
    ]


def test_short_work_says_nothing_in_a_pipe(clock, capsys):
    with terminal.progress_bar() as report:
        for done in range(50):
            clock[0] += 1
            report("encode documents", done, 50)
    assert capsys.readouterr().err == ""
