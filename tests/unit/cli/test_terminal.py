"""Progress and JSON output of the command line."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console as TerminalConsole

from termwise.cli import progress_bars, terminal


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress_bars.time, "monotonic", lambda: now[0])
    return now


def test_progress_in_a_pipe_is_a_line_a_minute(clock, capsys):
    with progress_bars.progress_bar() as report:
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
        "encode documents 10 of 40, 0.2/s, 3 min left",
        "read documents 3",
        "encode documents: late 36 of 40, 0.2/s, 21 s left",
    ]


def test_short_work_prints_no_progress_in_a_pipe(clock, capsys):
    with progress_bars.progress_bar() as report:
        for done in range(50):
            clock[0] += 1
            report("encode documents", done, 50)
    assert capsys.readouterr().err == ""


def test_a_restarted_stage_restarts_its_timing(clock, capsys):
    """One ranker after the other: what the first took says nothing of the second."""
    with progress_bars.progress_bar() as report:
        for seconds, stage, done in [
            (0, "score: bm25", 0),
            (1, "score: bm25", 40),
            (600, "score: tildev2", 10),
            (630, "score: tildev2", 20),
            (690, "score: tildev2", 25),
        ]:
            clock[0] = 100.0 + seconds
            report(stage, done, 40)
    assert capsys.readouterr().err.splitlines() == [
        "score: tildev2 10 of 40",
        "score: tildev2 25 of 40, 0.2/s, 2 min left",
    ]


def test_bars_begin_again_too(monkeypatch):
    made = []

    class Bars(progress_bars.Progress):
        def __init__(self, *columns, **options):
            super().__init__(*columns, **options)
            made.append(self)

    monkeypatch.setattr(
        progress_bars, "Console", lambda stderr: TerminalConsole(file=io.StringIO(), force_terminal=True)
    )
    monkeypatch.setattr(progress_bars, "Progress", Bars)
    with progress_bars.progress_bar() as report:
        report("score: bm25", 0, 40)
        report("score: bm25", 40, 40)
        report("make samples", 1, 2)
        report("score: tildev2", 10, 60)
        first, second = made[0].tasks
        assert (first.description, first.completed, first.total, first.finished) == (
            "score: tildev2",
            10,
            60,
            False,
        )
        assert second.completed == 1


@pytest.mark.parametrize("character", ["\x7f", "\x9b", "\u202e", "\u2066", "\u2028"])
def test_json_escapes_control_characters(capsys, character):
    terminal.print_json({"title": f"a{character}b"})
    printed = capsys.readouterr().out
    assert character not in printed
    assert json.loads(printed) == {"title": f"a{character}b"}


def test_results_send_no_commands_to_the_terminal(capsys):
    terminal.print_text("\x1b[2Jrun.tw: intact\nsecond line")
    assert capsys.readouterr().out == "�[2Jrun.tw: intact\nsecond line\n"
