from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from termwise.encode import EncoderFolder, ExpansionRecord
from termwise.train.export.card_facts import card_facts
from termwise.train.settings import TrainSettings

RUN = {
    "base": "small", "sources": {"air": 9}, "pairs_seen": 18, "settings": {}, "steps": 2, "best": {},
    "validation": "none",
}  # fmt: skip


def departures(
    folder: Path, kind: str, settings: TrainSettings, **run: object
) -> dict[str, tuple[str, str, str]]:
    facts = card_facts(folder, kind, RUN | run, settings, {"reasons": {"expansion": "they fit"}})
    return {one["setting"]: (one["published"], one["here"], one["reason"]) for one in facts["departures"]}


@pytest.fixture
def folder(tmp_path):
    """Only the manifest of an encoder that ships: no more is looked at."""
    shipped = EncoderFolder.open("tildev2")
    record = ExpansionRecord(terms=48, counting="new", length=32, encoder="sha256:any", name="tilde")

    def write(**changes: object) -> Path:
        manifest = replace(shipped.manifest, **{"expansion": record, **changes})
        (tmp_path / "encoder.json").write_bytes(manifest.to_bytes())
        return tmp_path

    return write


def test_the_expansion_of_tildev2_is_a_departure(folder):
    settings = TrainSettings.for_kind("tildev2")
    assert departures(folder(), "tildev2", settings)["expansion"] == (
        "200 raw terms", "48 new terms", "they fit",
    )  # fmt: skip
    before = {"trained_with": {"expansion_terms": 32}}
    assert departures(folder(), "tildev2", settings, **before)["expansion"][1] == "32 new terms"
    assert departures(folder(expansion=None), "tildev2", settings)["expansion"][1] == "none"
    as_published = ExpansionRecord(terms=200, counting="raw", length=32, encoder="sha256:any", name="tilde")
    assert "expansion" not in departures(folder(expansion=as_published), "tildev2", settings)


def test_tildev2_was_published_in_half_precision(folder):
    for precision in ("float32", "bfloat16"):
        settings = TrainSettings.for_kind("tildev2", {"precision": precision})
        assert departures(folder(), "tildev2", settings)["precision"][:2] == ("float16", precision)
    settings = TrainSettings.for_kind("tildev2", {"precision": "float16"})
    assert "precision" not in departures(folder(), "tildev2", settings)


def test_tilde_has_no_expansion(tmp_path):
    assert departures(tmp_path, "tilde", TrainSettings.for_kind("tilde")) == {}


def test_the_published_code_takes_the_last_weights(tmp_path, folder):
    best = {"step": 2, "nDCG@10": 0.5}
    settings = TrainSettings.for_kind("tilde")
    assert departures(tmp_path, "tilde", settings, best=best)["take"][:2] == ("last", "best")
    for kind in ("tilde", "tildev2"):
        settings = TrainSettings.for_kind(kind, {"take": "last"})
        assert "take" not in departures(folder(), kind, settings, best=best)


def test_what_departs_whatever_is_set_is_listed(folder):
    told = "relevant passages in the batch"
    for kind in ("tildev2", "splade-doc"):
        found = departures(folder(), kind, TrainSettings.for_kind(kind))
        assert found[told][0].startswith("negatives")
        assert "64" in found["hard negatives of a pair"][1]
        without = departures(folder(), kind, TrainSettings.for_kind(kind, {"negatives": "0"}))
        assert told in without
        assert "hard negatives of a pair" not in without


def test_the_length_of_passages_is_counted_without_their_expansion(folder):
    settings = TrainSettings.for_kind("tildev2", {"document_length": "96"})
    assert departures(folder(), "tildev2", settings)["expanded passage"][:2] == (
        "128 pieces and the expansion, 192 in all", "96 pieces, and the expansion on top",
    )  # fmt: skip
    assert "expanded passage" not in departures(folder(expansion=None), "tildev2", settings)


def test_nothing_is_said_that_nobody_measured_or_told(tmp_path):
    settings = TrainSettings.for_kind("tilde")
    facts = card_facts(tmp_path, "tilde", RUN, settings, {})
    assert facts["evaluation"] == {"note": "Nothing was measured."}
    assert "language" not in facts
    measured = card_facts(
        tmp_path, "tilde", RUN | {"best": {"step": 2, "nDCG@10": 0.5}}, settings, {"language": "de"}
    )
    assert measured["evaluation"]["rows"] == [["none", "0.5000"]]
    assert measured["language"] == "de"


def test_what_was_chosen_since_is_told_beside_what_training_did(folder):
    settings = TrainSettings.for_kind("tildev2")
    plain = card_facts(folder(length=98), "tildev2", RUN, settings, {})["selection"]
    before = {"trained_with": {"expansion_terms": 32, "length": 64}}
    told = card_facts(folder(length=98), "tildev2", RUN | before, settings, {})["selection"]
    assert told == (
        f"{plain} Chosen since, as defaults of an index: `expansion_terms` 48 (32 in training), `length` 98 (64 in "
        "training)."
    )
