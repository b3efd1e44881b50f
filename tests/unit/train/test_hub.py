"""Bases with names of the hub of transformers, without a network connection."""

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
    """Replaces the hub: a list of requests, and an error to raise."""
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
def test_a_silent_hub_is_requested_once_and_reported_soon(load, asked, capfd):
    begin = time.monotonic()
    with pytest.raises(ModelFormatError, match="no encoder of that name") as caught:
        load(NAME)
    assert time.monotonic() - begin < 20
    facts = dict(caught.value.facts)
    assert (facts["name"], facts["hub"]) == (NAME, "no route to host")
    assert "`base=FOLDER`" in caught.value.fixes_worded()[0]
    ((url, timeout),) = asked
    assert url.endswith(f"{NAME}/resolve/main/config.json")
    assert timeout <= 10
    assert capfd.readouterr().err == ""


def test_a_cached_model_is_loaded_without_a_request(asked, monkeypatch):
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda base, name: f"/cache/{base}/{name}")
    assert hub_options(NAME, CONFIG, WEIGHTS)["local_files_only"] is True
    assert asked == []
    monkeypatch.setattr(
        hub, "try_to_load_from_cache", lambda base, name: "/cache/x" if name == "config.json" else None
    )
    with pytest.raises(ModelFormatError):
        hub_options(NAME, CONFIG, TOKENIZER)


def test_transformers_downloads_from_an_answering_hub(asked, monkeypatch):
    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda url, *, timeout: None)
    assert hub_options(NAME, CONFIG) == {"trust_remote_code": False}


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "a/b/c", "", "with space", "nul\0"])
def test_an_invalid_name_on_the_hub(name):
    with pytest.raises(ModelFormatError):
        base_analyzer(name)


def test_a_folder_is_never_requested(base, asked):
    assert hub_options(base, CONFIG, WEIGHTS) == {"trust_remote_code": False}
    assert asked == []
