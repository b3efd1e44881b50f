"""The tables of the TILDE paper, the compact form and the learning curve, whole, on toys."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from termwise.errors import MissingFileError, ParameterError

DATASETS = """
[[datasets]]
data = "cats"
split = "test"

[[datasets]]
data = "dogs"
split = "test"
"""


def reduced(name: str, tmp_path: Path) -> Path:
    """Return a declared file with the toys as its datasets."""
    from tables import HERE

    text = (HERE / f"{name}.toml").read_text()
    first, last = text.index("[[datasets]]"), text.rindex("[[datasets]]")
    end = text.index("\n\n", last)
    path = tmp_path / f"{name}.toml"
    path.write_text(text[:first] + DATASETS.lstrip() + text[end:].replace("depth = 1000", "depth = 20"))
    return path


@pytest.fixture
def run(collections, tmp_path):
    import tables

    def call(file: Path, *more: str) -> dict:
        tables.main(
            [
                "run", str(file), f"--work={tmp_path / 'work'}", f"--collections={collections}",
                f"--out={tmp_path / 'out'}", "--threads=1", *more,
            ]
        )  # fmt: skip
        (result,) = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("*.json")]
        return result

    return call


def test_table_2(run, encoders, tmp_path):
    result = run(reduced("table2", tmp_path), f"--encoder=tilde={encoders['tilde']}")
    rows = {row["name"]: row for row in result["datasets"]["dogs/test"]["rows"]}
    assert len(rows) == 7
    assert rows["docTquery-T5"]["not run"].startswith("no T5")
    ql = rows["BM25 + TILDE-QL"]
    assert set(ql["latency, ms"]) == {"first stage", "query encoding", "re-ranking"}
    assert ql["against"]["nDCG@10"]["p_holm"] is not None
    assert set(rows["BM25"]["latency, ms"]) == {"first stage"}
    page = (tmp_path / "out" / "tilde_table2.md").read_text()
    assert "| docTquery-T5 | .277 | – |" in page
    assert "not run, no T5" in page


def test_only_candidates_are_encoded(run, encoders, tmp_path):
    file = reduced("table2", tmp_path)
    everything = run(file, f"--encoder=tilde={encoders['tilde']}")
    (tmp_path / "out" / "tilde_table2.json").unlink()
    pool = run(file, f"--encoder=tilde={encoders['tilde']}", "--encode=candidates")
    for name in everything["datasets"]:
        for one, other in zip(
            everything["datasets"][name]["rows"], pool["datasets"][name]["rows"], strict=True
        ):
            assert one.get("measures") == other.get("measures")
    assert list((tmp_path / "work").glob("*/pool-*"))


def test_table_3_has_all_seven_rows(run, encoders, tmp_path):
    models = [f"--encoder={name}={encoders['tilde']}" for name in ("ql-not-cleaned", "ql", "dl", "biqdl")]
    result = run(reduced("table3", tmp_path), *models)
    rows = result["datasets"]["cats/test"]["rows"]
    assert len(rows) == 7
    assert all("measures" in row for row in rows)
    # With one network everywhere, rows that differ only in the network are equal.
    assert rows[1]["measures"] == rows[4]["measures"]
    assert rows[3]["measures"] == rows[6]["measures"]


def test_the_sweep_agrees_with_the_mixture_of_the_package(run, encoders, tmp_path, collections):
    from judged import Judged
    from stage import Stage

    result = run(reduced("figure2", tmp_path), f"--encoder=tilde={encoders['tilde']}")
    points = result["datasets"]["cats/test"]["points"]
    stage = Stage(Judged.read("cats", collections / "cats", "test"), tmp_path / "again", depth=1000)
    for alpha in (0.3, 0.7):
        mixed = stage.likelihoods(encoders["tilde"], encoders["tilde"], alpha, "exact").run
        (point,) = [point for point in points if point["alpha"] == alpha]
        expected = stage.judged.evaluate(mixed, ["nDCG@10"]).means["nDCG@10"]
        assert point["measures"]["nDCG@10"] == pytest.approx(expected, rel=1e-5)
    out = tmp_path / "out"
    assert (out / "tilde_figure2.svg").read_text().startswith("<svg")
    assert len((out / "tilde_figure2.csv").read_text().splitlines()) == 1 + 2 * 11 * 3


def test_other_datasets_need_no_other_file(run, encoders, tmp_path, collections):
    result = run(
        reduced("figure2", tmp_path), f"--encoder=tilde={encoders['tilde']}", f"--data={collections / 'cats'}",
        "--split=dev",
    )  # fmt: skip
    assert list(result["datasets"]) == ["cats/dev"]
    assert (tmp_path / "out" / "tilde_figure2_cats-dev.md").is_file()


def test_declared_files_name_what_they_use(tmp_path):
    from tables import HERE

    for name in ("table2", "table3", "figure2"):
        plan = tomllib.loads((HERE / f"{name}.toml").read_text())
        assert plan["name"] == f"tilde_{name}"
        assert plan["datasets"]
    table3 = tomllib.loads((HERE / "table3.toml").read_text())
    assert len(table3["rows"]) == 7
    used = {row[part] for row in table3["rows"] for part in ("encoder", "query_encoder") if part in row}
    assert used == set(table3["models"])


def test_training_says_what_it_lacks():
    import tables

    with pytest.raises(ParameterError, match="training needs"):
        tables.main(["train", str(tables.HERE / "table3.toml")])
    with pytest.raises(MissingFileError):
        tables.main(["run", "nowhere.toml"])


def test_training_hands_on_what_the_file_declares(tmp_path, monkeypatch):
    import tables

    called = []

    class Done:
        returncode = 0

    monkeypatch.setattr(tables.subprocess, "run", lambda command, check: called.append(command) or Done())
    (tmp_path / "ql").mkdir()
    (tmp_path / "ql" / "encoder.json").write_text("{}")
    tables.main(
        [
            "train", str(tables.HERE / "table3.toml"), "--pairs=pairs", "--base=base", f"--models={tmp_path}",
            "--set=max_steps=3",
        ]
    )  # fmt: skip
    assert len(called) == 3  # one is there already
    assert called[1][called[1].index("objective=document-likelihood") - 1 :][:2] == [
        "--set",
        "objective=document-likelihood",
    ]
    assert all("max_steps=3" in command for command in called)


def test_documents_below_the_depth_keep_their_order(collections, encoders, tmp_path):
    from judged import Judged
    from stage import Stage

    stage = Stage(Judged.read("cats", collections / "cats", "test"), tmp_path / "work", depth=20)
    first = stage.first("bm25").run
    again = stage.query_likelihood(encoders["tilde"], "compact", depth=5).run
    for ranking in again:
        before = first[ranking.query_id].doc_ids
        assert set(ranking.doc_ids[:5]) == set(before[:5])
        assert ranking.doc_ids[5:] == before[5:]


def test_compact_form(collections, encoders, tmp_path):
    import compact_form

    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "tilde_compact_form"\ntitle = "Compact"\nmeasure = "nDCG@10"\ndepth = 20\nkeep = [2, 8, 32]\n'
        "exact = true\nbudget = 100000\nloss = 0.01\n"
        '[collections.cats]\nsplit = "dev"\nexact = true\n[collections.dogs]\nsplit = "dev"\nexact = false\n'
    )
    compact_form.main(
        [
            f"--plan={plan}", f"--work={tmp_path / 'work'}", f"--encoder={encoders['tilde']}",
            f"--collections={collections}", f"--out={tmp_path / 'out'}", "--threads=1",
        ]
    )  # fmt: skip
    result = json.loads((tmp_path / "out" / "tilde_compact_form.json").read_text())
    assert result["macro"]["collections"] == ["cats"]
    points = result["collections"]["cats"]["points"]
    assert points[0]["bytes a document"] < points[1]["bytes a document"]
    # 32 is more than there are terms: all that is above the floors, which here is nearly the exact form.
    assert points[-1]["re-ranking"]["mean"] == pytest.approx(
        result["collections"]["cats"]["exact"]["re-ranking"]["mean"], abs=0.05
    )
    assert (tmp_path / "out" / "tilde_compact_form.svg").is_file()


def test_learning_curve(collections, encoders, tiny, pieces, tmp_path):
    import learning_curve

    root = tmp_path / "run"
    root.mkdir()
    for seen in (1000, 8000):
        table = tiny.square({}, otherwise=-6.0, terms=len(pieces)) + seen / 8000 * np.eye(len(pieces)) * 9
        tiny.make_folder(
            root / str(seen), "tilde", table, floors=[-7.0] * len(pieces), pieces=pieces, positions=32,
            trained={"pairs_seen": seen},
        )  # fmt: skip
    log = tmp_path / "training"
    log.mkdir()
    (log / "settings.json").write_text(json.dumps({"settings": {"batch": 32, "accumulate": 2}}))
    (log / "log.jsonl").write_text(
        '{"step": 10, "loss": 1.0}\n{"step": 10, "eval_nDCG@10": 0.4}\n{"step": 20, "eval_nDCG@10": 0.5}\n'
    )
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "learning_curve"\ntitle = "Curve"\nmeasure = "nDCG@10"\ndepth = 20\n[collections.cats]\nsplit = "dev"\n'
    )
    learning_curve.main(
        [
            f"--plan={plan}", f"--work={tmp_path / 'work'}", f"--encoders=tilde={root}", f"--logs=tilde={log}",
            f"--collections={collections}", f"--out={tmp_path / 'out'}", "--threads=1",
        ]
    )  # fmt: skip
    result = json.loads((tmp_path / "out" / "learning_curve.json").read_text())
    assert [point["pairs"] for point in result["curves"]["tilde"]] == [1000, 8000]
    assert result["logged"]["tilde"] == [[640, 0.4], [1280, 0.5]]
    assert "8,000" in (tmp_path / "out" / "learning_curve.md").read_text()


def test_questions_go_on_where_they_were(collections, tmp_path):
    from judged import Judged
    from questions import Expanded, Questions

    class Maker:
        fingerprint = "toy"

        def __init__(self, limit: int) -> None:
            self.limit = limit
            self.asked = 0

        def ask(self, texts: list[str], seed: int) -> list[list[str]]:
            self.asked += len(texts)
            if self.asked > self.limit:
                raise KeyboardInterrupt
            return [[f"why {text.split()[0]}"] for text in texts]

    documents = Judged.read("cats", collections / "cats", "test").documents
    with pytest.raises(KeyboardInterrupt):
        Questions.made(documents, Maker(20), tmp_path)
    rest = Maker(100)
    questions = Questions.made(documents, rest, tmp_path)
    assert rest.asked == 50 - 16
    first = next(iter(Expanded(documents, questions).documents()))
    assert first.text.endswith(f"why {first.text.split()[0]}")
