from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from termwise.encode import EncoderFolder, ExpansionRecord
from termwise.errors import ParameterError, UnknownNameError
from termwise.train.export.card_facts import card_facts, check_card_facts
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
    """A function that writes a folder with only the manifest of a shipped encoder."""
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


def test_departures_of_the_code_are_listed(folder):
    aspect = "relevant passages in the batch"
    for kind in ("tildev2", "splade-doc"):
        found = departures(folder(), kind, TrainSettings.for_kind(kind))
        assert found[aspect][0].startswith("negatives")
        assert "64" in found["hard negatives of a pair"][1]
        without = departures(folder(), kind, TrainSettings.for_kind(kind, {"negatives": "0"}))
        assert aspect in without
        assert "hard negatives of a pair" not in without


def test_the_length_of_passages_is_counted_without_their_expansion(folder):
    settings = TrainSettings.for_kind("tildev2", {"document_length": "96"})
    assert departures(folder(), "tildev2", settings)["expanded passage"][:2] == (
        "128 pieces and the expansion, 192 in all", "96 pieces, and the expansion in addition",
    )  # fmt: skip
    assert "expanded passage" not in departures(folder(expansion=None), "tildev2", settings)


def test_missing_measurements_and_language_are_omitted(tmp_path):
    settings = TrainSettings.for_kind("tilde")
    facts = card_facts(tmp_path, "tilde", RUN, settings, {})
    assert facts["evaluation"] == {"note": "Nothing was measured."}
    assert "language" not in facts
    measured = card_facts(
        tmp_path, "tilde", RUN | {"best": {"step": 2, "nDCG@10": 0.5}}, settings, {"language": "de"}
    )
    assert measured["evaluation"]["rows"] == [["none", "0.5000"]]
    assert measured["language"] == "de"


def test_later_defaults_are_listed_beside_those_of_training(folder):
    settings = TrainSettings.for_kind("tildev2")
    plain = card_facts(folder(length=98), "tildev2", RUN, settings, {})["selection"]
    before = {"trained_with": {"expansion_terms": 32, "length": 64}}
    told = card_facts(folder(length=98), "tildev2", RUN | before, settings, {})["selection"]
    assert told == (
        f"{plain} Defaults of an index changed after training: `expansion_terms` 48 (32 in training), "
        "`length` 98 (64 in training)."
    )


def wrong(**given):
    with pytest.raises(ParameterError, match="facts for the model card are wrong") as caught:
        check_card_facts(given)
    return dict(caught.value.facts)


def test_facts_of_the_author_that_are_accepted():
    check_card_facts({})
    check_card_facts(
        {
            "license": "Apache-2.0",
            "base": {"license": "MIT"},
            "data": {"air": {"license": "MIT", "origin": "weather reports"}},
            "reasons": {"batch": "memory"},
            "evaluation": {"columns": ["a", "b"], "rows": [["air", 0.5]], "note": "Test split."},
            "limits": ["English only."],
        }
    )


@pytest.mark.parametrize(
    "text", ["TODO", "todo: measure", "TBD", "...", "<unknown>", " ", "N/A", "", 3, None]
)
def test_placeholders_and_other_types_are_refused(text):
    assert set(wrong(limits=["English only.", text])) == {"limits[1]"}
    assert set(wrong(base={"seen": text}, name=text)) >= {"base.seen", "name"}
    assert set(wrong(data={"air": {"license": text}})) == {"data.air.license"}


def test_all_wrong_facts_of_the_author_are_reported_at_once():
    assert set(wrong(name=3, limits=[], usage="termwise", data={"air": "MIT"}, base=[])) == {
        "name", "limits", "usage", "data", "base",
    }  # fmt: skip
    with pytest.raises(UnknownNameError):
        check_card_facts({"colour": "blue"})


def test_the_table_of_the_author_is_complete():
    assert "evaluation.note" in wrong(evaluation={"columns": ["a"], "rows": [[1]]})
    assert "evaluation.rows" in wrong(
        evaluation={"columns": ["a", "b"], "rows": [[1]], "note": "Test split."}
    )
    assert "evaluation.columns" in wrong(evaluation={"rows": [[1]], "note": "Test split."})
    assert "evaluation.note" in wrong(evaluation={})


@pytest.mark.parametrize(
    "facts",
    [
        {"summary": "a \ud800"},
        {"base": {"\udfff": "toy"}},
        {"limits": ["one", "\ud800"]},
        {"evaluation": {"columns": ["a"], "rows": [["\ud800"]], "note": "n"}},
    ],
)
def test_facts_with_a_lone_surrogate_are_refused(facts):
    with pytest.raises(ParameterError, match="facts for the model card are wrong") as raised:
        check_card_facts(facts)
    assert "lone surrogate" in str(raised.value)
