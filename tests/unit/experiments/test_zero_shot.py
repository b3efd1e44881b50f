"""The zero-shot experiment, whole, on toys."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from termwise.errors import CheckFailedError, ParameterError
from termwise.records import Ranking, Run

PLAN = """
measures = ["nDCG@10", "R@100"]
depth = 20

[collections.cats]
test = "test"
dev = "dev"

[collections.dogs]
test = "test"

[systems.bm25]
model = "bm25"
analyzer = "english"

[systems.tilde]
model = "tilde"

[systems.tildev2-unexpanded]
model = "tildev2"
settings = { expansion_encoder = "none" }

[systems.tildev2]
model = "tildev2"

[systems."bm25+tilde"]
interpolate = ["bm25", "tilde"]

[systems."bm25+tildev2"]
interpolate = ["bm25", "tildev2"]

[systems.dense]
dense = true

[systems."dense+bm25"]
fuse = ["dense", "bm25"]

[systems.splade-doc]
model = "splade-doc"

[choose]
measure = "nDCG@10"
alpha = [0.0, 0.5, 1.0]

[[choose.settings]]
system = "tilde"
setting = "keep"
values = ["2", "4", "8"]
by = "mixed"
tolerance = 0.5

[[choose.settings]]
system = "tildev2"
setting = "expansion_terms"
values = ["1", "2"]
collections = ["cats"]

[[targets]]
system = "bm25+tilde"
macro = 1.05
each = 0.95
"""


class FakeDense:
    fingerprint = "fake"

    def encode(self, texts: list[str]) -> np.ndarray:
        rows = np.array([[text.count(letter) for letter in "abcdefghij"] for text in texts], dtype=np.float32)
        return rows + 1


@pytest.fixture
def run(collections, encoders, tmp_path, monkeypatch):
    import systems
    import zero_shot

    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    monkeypatch.setattr(systems, "DenseEncoder", lambda *_, **__: FakeDense())
    named = [f"--encoder={name}={folder}" for name, folder in encoders.items()]

    def call(what: str, *more: str) -> Path:
        zero_shot.main(
            [
                what,
                f"--work={tmp_path / 'work'}",
                *named,
                f"--data={collections}",
                f"--plan={plan}",
                f"--choices={tmp_path / 'choices.json'}",
                f"--out={tmp_path / 'out'}",
                "--threads=1",
                *more,
            ]
        )
        return tmp_path / "out"

    return call


def test_choose_then_report(run, tmp_path, collections):
    (collections / "cats" / "qrels" / "test.tsv").rename(tmp_path / "hidden.tsv")
    run("choose", "--systems=bm25+tilde,bm25+tildev2")
    (tmp_path / "hidden.tsv").rename(collections / "cats" / "qrels" / "test.tsv")
    choices = json.loads((tmp_path / "choices.json").read_text())
    assert set(choices["alpha"]) == {"bm25+tilde", "bm25+tildev2"}
    assert choices["settings"]["tilde"]["keep"] == "2"  # within the tolerance of the best
    assert {entry["setting"] for entry in choices["trace"]} == {"alpha", "keep", "expansion_terms"}
    assert list((tmp_path / "work" / "cats").glob("tilde-*.blocks"))

    out = run("report", f"--dense={tmp_path}")
    (line,) = (out / "zero_shot.jsonl").read_text().splitlines()
    result = json.loads(line)
    systems = result["collections"]["dogs"]["systems"]
    assert set(systems) == {
        "bm25", "tilde", "tildev2-unexpanded", "tildev2", "bm25+tilde", "bm25+tildev2", "dense", "dense+bm25",
        "splade-doc",
    }  # fmt: skip
    for system in systems.values():
        low, high = system["intervals"]["nDCG@10"]
        assert low <= system["measures"]["nDCG@10"] <= high
        assert system["bytes a document"] > 0
        assert system["query latency, ms"]["p50"] > 0
    assert systems["tilde"]["encoding, seconds a document"] > 0
    assert systems["tilde"]["against bm25"]["nDCG@10"]["p_permutation"] is not None
    macro = result["macro"]["systems"]
    assert macro["bm25"]["ratio"] == {"ratio": 1.0, "interval": [1.0, 1.0]}
    values = [
        result["collections"][name]["systems"]["tilde"]["measures"]["nDCG@10"] for name in ("cats", "dogs")
    ]
    assert macro["tilde"]["mean"] == pytest.approx(np.mean(values), rel=1e-5)
    (target,) = result["targets"]
    assert target["reached"] == (target["ratio"]["ratio"] >= 1.05 and not target["collections below"])
    page = (out / "zero_shot.md").read_text()
    assert "| dogs | 10 |" in page
    assert "0.5" in page or ".5" in page

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("block-*.rows")}
    run("report", f"--dense={tmp_path}", "--collections=cats", "--systems=tilde")
    assert {path: path.stat().st_mtime_ns for path in before} == before  # nothing is encoded again
    assert (out / "zero_shot_partial.md").is_file()


def test_systems_without_an_encoder_are_named(collections, tmp_path):
    import zero_shot

    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    zero_shot.main(
        [
            "report", f"--work={tmp_path / 'work'}", f"--data={collections}", f"--plan={plan}",
            f"--choices={tmp_path / 'none.json'}", f"--out={tmp_path / 'out'}", "--threads=1",
            "--collections=cats", "--systems=dense,bm25",
        ]
    )  # fmt: skip
    result = json.loads((tmp_path / "out" / "zero_shot_partial.jsonl").read_text())
    assert list(result["collections"]["cats"]["systems"]) == ["bm25"]
    assert "--dense" in result["skipped"]["dense"]


def test_choices_for_other_networks_are_refused(encoders):
    from plan import Choices

    with pytest.raises(CheckFailedError, match="other encoders"):
        Choices(encoders={"tilde": "sha256:another"}).check({"tilde": encoders["tilde"]})


def test_choices_on_the_split_that_is_reported_are_refused(tmp_path):
    from plan import Plan

    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace('dev = "dev"', 'dev = "test"'))
    with pytest.raises(ParameterError, match="split that is reported"):
        Plan.read(path)


def test_the_declared_plan_is_sound():
    from plan import Plan
    from zero_shot import HERE

    plan = Plan.read(HERE / "zero_shot.toml")
    assert [name for name, entry in plan.collections.items() if entry.dev] == [
        "nfcorpus", "medquad", "cosqa", "semeval_cqa_questions",
    ]  # fmt: skip
    assert not plan.collections["adi"].mean
    assert plan.collections["csfcube"].test == "test_aggregate"


def test_seeds_leave_the_run_before_it_is_cut(collections):
    from judged import Judged

    judged = Judged.read("dogs", collections / "dogs", "test")
    run = judged.without_seeds(Run([Ranking(["d3", "d0", "d1"], [3.0, 2.0, 1.0], "q0")]), 2)
    assert run["q0"].doc_ids == ("d3", "d1")
    assert judged.deepest == 1


def test_resampled_means_have_the_mean_and_spread_of_the_bootstrap(monkeypatch):
    import record
    from reporting import _resampled

    monkeypatch.setattr(record, "RESAMPLES", 10_000)
    values = np.array([[0.0, 1.0, 1.0, 0.0], [0.5, 0.5, 0.5, 0.5]])
    drawn = _resampled(values, 3)
    assert drawn.shape == (10_000, 2)
    assert drawn[:, 0].mean() == pytest.approx(0.5, abs=0.01)
    assert drawn[:, 0].std() == pytest.approx(0.25, abs=0.01)  # sqrt(1/4 / 4)
    assert np.allclose(drawn[:, 1], 0.5)


def test_trimmed_rows_are_those_of_a_smaller_keep(collections, encoders, tmp_path):
    from encoded import Trimmed
    from judged import Judged

    from termwise.encode import open_document_encoder
    from termwise.models import Tilde

    documents = Judged.read("cats", collections / "cats", "test").documents
    large = open_document_encoder(Tilde(encoder=encoders["tilde"], keep=9))
    small = open_document_encoder(Tilde(encoder=encoders["tilde"], keep=3))
    texts = [document.text for document in documents.documents()]
    trimmed = Trimmed.encoded(documents, tmp_path / "blocks", large)(3)
    assert trimmed.encode_documents(texts) == small.encode_documents(texts)
    assert trimmed.fingerprint not in (large.fingerprint, small.fingerprint)
