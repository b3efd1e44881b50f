"""Ranges of the options of the service."""

from __future__ import annotations

import math
from typing import Any

import pytest

from termwise.cli.main import run
from termwise.errors import ParameterError
from termwise.serve import ServiceSettings, serve
from termwise.serve.server import listen


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("timeout", [0, -1, math.nan, math.inf, 1e10, "5", None, True]),
        ("write_timeout", [0, math.nan]),
        ("refresh_interval", [-1, math.nan, math.inf]),
        ("threads", [0, -1, 10_000, 2.0]),
        ("queue", [-1, 1.5]),
        ("max_results", [0, -1, 10.0]),
        ("max_body", [0, -1]),
        ("max_facets", [-1]),
    ],
)
def test_settings_have_ranges(name: str, wrong: list[Any]) -> None:
    for value in wrong:
        with pytest.raises(ParameterError, match=f"{name} cannot have this value"):
            ServiceSettings(**{name: value})


def test_the_smallest_settings() -> None:
    settings = ServiceSettings(timeout=1e-9, refresh_interval=0, queue=0, max_results=1, max_facets=0)
    assert settings.refresh_interval == 0


@pytest.mark.parametrize(
    "wrong", [{"port": -1}, {"port": 99_999}, {"port": 80.0}, {"workers": 0}, {"workers": -2}]
)
def test_ports_and_workers_have_ranges(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} cannot have this value"):
        serve(["none.tw"], **wrong)


@pytest.mark.parametrize("host", ["a\0b", "\x1b[31m", "\ud800", "ä" * 70, "no such host"])
def test_a_host_that_is_no_name_is_refused(host: str) -> None:
    with pytest.raises(ParameterError, match="cannot listen") as caught:
        listen(host, 0)
    assert "address of this machine" in str(caught.value.fixes[0])


def test_a_port_in_use_is_refused() -> None:
    with listen("127.0.0.1", 0) as first, pytest.raises(ParameterError) as caught:
        listen("127.0.0.1", first.getsockname()[1])
    assert "another port" in str(caught.value.fixes[0])


@pytest.mark.parametrize(
    "option", ["--port=-1", "--port=99999", "--timeout=nan", "--workers=-1", "--max-results=0", "--threads=0"]
)
def test_the_command_line_refuses_them(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "none.tw", option]) == 2
    assert "cannot have this value" in capsys.readouterr().err
