"""Bases named as on the hub of transformers, where there is no network."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise.errors import ModelFormatError
from termwise.train import hub
from termwise.train.base_encoder import base_analyzer
from termwise.train.hub import CONFIG, TOKENIZER, WEIGHTS, hub_options
from termwise.train.pretrained import load_encoder

NAME = "somebody/an-encoder"


@pytest.fixture
def asked(monkeypatch):
    """Answers in the place of the hub: a list of what was asked, and an error to raise."""
    calls = []

    def answer(url, *, timeout):
        calls.append((url, timeout))
        raise ConnectionError("no route to host\nmore")

    hub._refusal.cache_clear()
    monkeypatch.setattr(hub, "get_hf_file_metadata", answer)
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda base, name: None)
    yield calls
    hub._refusal.cache_clear()


@pytest.mark.parametrize("load", [base_analyzer, load_encoder])
def test_a_hub_that_does_not_answer_is_asked_once_and_said_soon(load, asked, capfd):
    begin = time.monotonic()
    with pytest.raises(ModelFormatError, match="no encoder of that name") as caught:
        load(NAME)
    assert time.monotonic() - begin < 20
    facts = dict(caught.value.facts)
    assert (facts["name"], facts["hub"]) == (NAME, "no route to host")
    assert "`base=FOLDER`" in caught.value.fixes[0]
    ((url, timeout),) = asked
    assert url.endswith(f"{NAME}/resolve/main/config.json")
    assert timeout <= 10
    assert capfd.readouterr().err == ""


def test_what_was_downloaded_is_loaded_without_asking(asked, monkeypatch):
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda base, name: f"/cache/{base}/{name}")
    assert hub_options(NAME, CONFIG, WEIGHTS)["local_files_only"] is True
    assert asked == []
    monkeypatch.setattr(
        hub, "try_to_load_from_cache", lambda base, name: "/cache/x" if name == "config.json" else None
    )
    with pytest.raises(ModelFormatError):
        hub_options(NAME, CONFIG, TOKENIZER)


def test_a_hub_that_answers_is_left_to_transformers(asked, monkeypatch):
    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda url, *, timeout: None)
    assert hub_options(NAME, CONFIG) == {"trust_remote_code": False}


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "a/b/c", "", "with space", "nul\0"])
def test_what_no_hub_can_have(name):
    with pytest.raises(ModelFormatError):
        base_analyzer(name)


def test_a_folder_is_never_asked_for(base, asked):
    assert hub_options(base, CONFIG, WEIGHTS) == {"trust_remote_code": False}
    assert asked == []
