"""The tables of the TILDE paper, the compact form and the learning curve with toy data."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.unit.collection import msmarco

from termwise.errors import MissingFileError, ParameterError, UnknownNameError
from termwise.fusion import interpolate
from termwise.train.settings import TrainSettings
from termwise.yardsticks import CachedExpander

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
    path.write_text(text[:first] + DATASETS.lstrip() + text[end:])
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
    assert len(rows) == 14
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


def test_table_3_has_all_seven_rows(run, encoders, other_encoder, tmp_path):
    one, other = encoders["tilde"], other_encoder
    models = {"ql-not-cleaned": other, "ql": one, "dl": other, "biqdl": other}
    result = run(
        reduced("table3", tmp_path), *(f"--encoder={name}={folder}" for name, folder in models.items())
    )
    rows = result["datasets"]["cats/test"]["rows"]
    assert len(rows) == 7
    measured = [row["measures"] for row in rows]
    # Rows differ where their networks or scores do: what reads documents, what reads queries, and how they are mixed.
    assert measured[0] == measured[4]  # the query likelihood of the other network
    assert measured[2] == measured[5]  # its document likelihood
    distinct = [measured[place] for place in (0, 1, 2, 3, 6)]
    assert all(distinct.count(found) == 1 for found in distinct)
    page = (tmp_path / "out" / "tilde_table3.md").read_text()
    assert (
        page.count("trained on 1,000 pairs. Departures from the training of the paper: a contrastive loss\n")
        == 3
    )
    assert page.count("not known") == 1


def test_the_mixture_equals_that_of_the_package(run, encoders, other_encoder, tmp_path, collections):
    from judged_collection import Judged
    from stage import Stage

    models = [
        f"--encoder=ql={encoders['tilde']}",
        *(f"--encoder={name}={other_encoder}" for name in ("ql-not-cleaned", "dl", "biqdl")),
    ]
    rows = run(reduced("table3", tmp_path), *models)["datasets"]["cats/test"]["rows"]
    stage = Stage(Judged.read("cats", collections / "cats", "test"), tmp_path / "again")
    for reader, documents, row in ((other_encoder, encoders["tilde"], 3), (other_encoder, other_encoder, 6)):
        one = stage.query_likelihood(documents, "exact").run
        other = stage.likelihoods(None, reader, 0.0, "exact").run
        mixed = interpolate(one, other, alpha=0.5, scaling="raw", missing="drop")
        expected = stage.judged.evaluate(mixed, ["nDCG@10"]).means["nDCG@10"]
        assert rows[row]["measures"]["nDCG@10"] == pytest.approx(expected, rel=1e-5)


def test_the_sweep_agrees_with_the_mixture_of_the_package(run, encoders, tmp_path, collections):
    from judged_collection import Judged
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


# --- the same files on collections of millions ------------------------------------------------------------------


@pytest.fixture
def miniature(monkeypatch, pieces):
    """Register a miniature of MS MARCO with its dev queries and two years of TREC DL; return how often it was read."""
    random = np.random.default_rng(3)
    passages = [" ".join(random.choice(pieces[-12:], size=random.integers(5, 25))) for _ in range(80)]

    def subset(numbers, grade):
        queries = [(str(1000 + n), " ".join(passages[n].split()[:4])) for n in numbers]
        qrels = [(str(1000 + n), str(n), grade, "0") for n in numbers]
        return queries, qrels + [(str(1000 + n), str(n + 1), 1, "0") for n in numbers]

    subsets = {
        "dev/small": subset(range(12), 1),
        "trec-dl-2019/judged": subset(range(20, 26), 3),
        "trec-dl-2020/judged": subset(range(40, 46), 2),
    }
    return msmarco.register(monkeypatch, passages, subsets)


SUBSETS = ("dev/small", "trec-dl-2019/judged", "trec-dl-2020/judged")
DATA = [f"--data=ir_datasets:msmarco-passage/{name}" for name in SUBSETS]


def limited(name: str, tmp_path: Path, read: int, exact: int) -> Path:
    path = reduced(name, tmp_path)
    text = path.read_text()
    from tables import HERE

    declared = (HERE / f"{name}.toml").read_text()
    limits = declared[declared.index("[limits]") : declared.index("[[datasets]]")]
    small = limits.replace("100_000", str(read)).replace("50_000", str(exact))
    path.write_text(text.replace(limits, small).replace("depth = 1000", "depth = 3"))
    return path


def test_on_ms_marco_only_the_dataset_changes(run, encoders, tmp_path, miniature):
    file = limited("table2", tmp_path, read=50, exact=18)
    result = run(file, f"--encoder=tilde={encoders['tilde']}", *DATA)
    dev, *judged = (result["datasets"][f"msmarco-passage/{name}"] for name in SUBSETS)
    assert (dev["queries"], dev["documents"], dev["networks read"]) == (12, 80, "candidates")
    assert 18 < dev["documents read"] <= 36
    assert dev["measures"] == ["nDCG@10", "RR@10", "AP"]
    rows = {row["name"]: row for row in dev["rows"]}
    assert rows["BM25 + TILDE-QL"]["form"] == "compact"
    assert rows["BM25 + TILDE-QL"]["measures"] == rows["BM25 + TILDE-QL, compact index"]["measures"]
    for entry in judged:
        assert entry["measures"] == ["nDCG@10", "RR@10", "AP", "AP(rel=2)"]
        assert entry["documents read"] <= 18
        rows = {row["name"]: row for row in entry["rows"]}
        assert rows["BM25 + TILDE-QL"]["form"] == "exact"
        assert rows["BM25"]["measures"]["AP(rel=2)"] != rows["BM25"]["measures"]["AP"]
    (page,) = (tmp_path / "out").glob("*.md")
    text = page.read_text()
    assert "12 queries, 80 documents; networks encode the" in text
    assert text.count("- BM25 + TILDE-QL: in the compact form") == 1
    # One index of BM25 for all three sets of queries.
    (folder,) = (tmp_path / "work").iterdir()
    assert folder.name == "ir_datasets-msmarco-passage"
    assert len(list(folder.glob("pool-*"))) == 3


def test_indexes_are_reused(run, encoders, tmp_path, miniature):
    file = limited("figure2", tmp_path, read=1000, exact=1000)
    first = run(file, f"--encoder=tilde={encoders['tilde']}", *DATA)
    assert len(miniature) == 3  # BM25, TILDE, and the shares of the terms
    for path in (tmp_path / "out").iterdir():
        path.unlink()
    again = run(file, f"--encoder=tilde={encoders['tilde']}", *DATA)
    assert len(miniature) == 3
    assert again["datasets"] == first["datasets"]


def test_other_documents_have_a_work_folder_of_their_own(monkeypatch, miniature, tmp_path):
    import ir_datasets
    from judged_collection import documents_folder

    names = {documents_folder(tmp_path, f"ir_datasets:msmarco-passage/{name}").name for name in SUBSETS}
    assert names == {"ir_datasets-msmarco-passage"}
    registry = {f"beir/{name}/test": ir_datasets.Dataset(type("Docs", (), {})()) for name in ("one", "other")}
    monkeypatch.setattr(ir_datasets, "docs_parent_id", lambda name: name.removesuffix("/test"), raising=True)
    folders = {documents_folder(tmp_path, f"ir_datasets:{name}").name for name in registry}
    assert folders == {"ir_datasets-beir-one", "ir_datasets-beir-other"}


def test_unknown_names_are_refused(collections, tmp_path):
    from judged_collection import Judged
    from stage import Stage

    judged = Judged.read("cats", collections / "cats", "test")
    with pytest.raises(UnknownNameError, match="way to encode"):
        Stage(judged, tmp_path, encode="some")
    with pytest.raises(UnknownNameError, match="form"):
        Stage(judged, tmp_path).form("small")


def test_a_query_has_the_median_of_its_times(collections, tmp_path):
    from judged_collection import Judged
    from stage import Stage, Timing

    from termwise.search.timed_run import TimedRun

    stage = Stage(
        Judged.read("cats", collections / "cats", "test"), tmp_path, timing=Timing(warm=4, passes=3)
    )
    run = stage.first("bm25").run
    times = iter([9.0, 1.0, 5.0, 2.0])
    asked = []

    def timed(queries):
        asked.append(len(queries))
        seconds = next(times)
        return TimedRun(run, np.full(len(queries), seconds), np.full(len(queries), 2 * seconds))

    found = stage._timed(timed)
    assert asked == [4, 10, 10, 10]
    assert set(found.encoding.tolist()) == {2.0}
    assert set(found.scoring.tolist()) == {4.0}


@pytest.fixture
def passages(collections, tmp_path):
    """Return folders of TREC passages with a run, with the texts, queries and judgments of `collections`."""
    root = tmp_path / "trec"
    for name in ("cats", "dogs"):
        source, folder = collections / name, root / name
        folder.mkdir(parents=True)
        (folder / "docs.jsonl").write_text((source / "corpus.jsonl").read_text().replace("_id", "doc_id"))
        asked = map(json.loads, (source / "queries.jsonl").read_text().splitlines())
        (folder / "queries.tsv").write_text("".join(f"{one['_id']}\t{one['text']}\n" for one in asked))
        judged = [line.split() for line in (source / "qrels" / "test.tsv").read_text().splitlines()[1:]]
        (folder / "qrels.full.txt").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in judged))
        lines = [f"q{q} Q0 d{(q + 3 * n) % 50} {n + 1} {9 - n} bm25\n" for q in range(12) for n in range(8)]
        (folder / "run.bm25.txt").write_text("".join(lines))
    return root


def test_a_given_run_is_re_ranked(run, encoders, lookup_encoder, passages, tmp_path):
    from judged_collection import Judged

    from termwise.collection import read_run

    file = reduced("trec_dl", tmp_path)
    plan = file.read_text().replace('split = "test"', 'split = "full"\ncandidates = "run.bm25.txt"')
    file.write_text(plan)
    named = encoders | {"lookup": lookup_encoder()}
    options = [f"--encoder={name}={named[name]}" for name in ("tilde", "lookup")]  # tildev2 as shipped
    result = run(file, f"--collections={passages}", *options)
    entry = result["datasets"]["cats/full"]
    rows = {row["name"]: row for row in entry["rows"]}
    assert len(rows) == 9
    assert all("measures" in row for row in rows.values())
    assert rows["BM25"]["latency, ms"] == {}
    assert set(rows["BM25 + best"]["latency, ms"]) == {"query encoding", "re-ranking"}
    assert (entry["networks read"], entry["documents"], entry["queries"]) == ("candidates", 50, 10)
    judged = Judged.read("cats", passages / "cats", "full")
    first = read_run(passages / "cats" / "run.bm25.txt")
    assert rows["BM25"]["measures"] == entry["bm25"]
    assert entry["bm25"] == pytest.approx(judged.evaluate(first, entry["measures"]).means, rel=1e-5)
    by_alpha = {point["alpha"]: point["measures"] for point in entry["points"]}
    assert by_alpha[1.0] == rows["BM25 + TILDE-QL"]["measures"]
    assert by_alpha[0.5] == pytest.approx(rows["BM25 + TILDE-QDL (α = .5)"]["measures"], rel=1e-5)
    assert "run.bm25.txt" in result["data"]["cats/full"]
    out = tmp_path / "out"
    page = (out / "tilde_trec_dl.md").read_text()
    assert page.count("# cats/full") == 2  # table and sweep
    for name in ("tilde_trec_dl.svg", "tilde_trec_dl_AP.svg"):
        assert name in page
        assert (out / name).read_text().startswith("<svg")


def test_the_share_of_the_first_stage_mixes_z_scores(encoders, passages, tmp_path):
    from stage import open_stage
    from tables import _row

    stage = open_stage(
        "cats", "full", passages, tmp_path / "work", candidates=[passages / "cats" / "run.bm25.txt"]
    )
    row = {"name": "mixed", "score": "ql", "encoder": "tilde", "form": "exact", "first_share": 0.4}
    mixed, _ = _row(row, stage, encoders)
    one, other = (
        dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
        for ranking in (
            stage.first("bm25").run["q3"],
            stage.query_likelihood(encoders["tilde"], "exact").run["q3"],
        )
    )

    def z(scores):
        values = np.array(list(scores.values()))
        return dict(zip(scores, (values - values.mean()) / values.std(), strict=True))

    found = dict(zip(mixed["q3"].doc_ids, mixed["q3"].scores.tolist(), strict=True))
    assert found == pytest.approx({d: 0.4 * z(one)[d] + 0.6 * z(other)[d] for d in one}, abs=1e-6)


def test_candidates_by_option(run, encoders, passages, tmp_path, miniature):
    file = limited("figure2", tmp_path, read=1000, exact=1000)
    (tmp_path / "dev.trec").write_text("".join(f"{1000 + q} Q0 {q + 1} 1 2 x\n" for q in range(12)))
    (tmp_path / "dl.trec").write_text("".join(f"{1000 + q} Q0 {q} 1 2 x\n" for q in range(20, 26)))
    given = [f"--candidates={tmp_path / name}" for name in ("dev.trec", "dl.trec")]
    result = run(file, f"--encoder=tilde={encoders['tilde']}", *DATA[:2], *given)
    dev, dl = result["datasets"].values()
    assert (dev["networks read"], dev["documents"], dev["documents read"], dl["documents read"]) == (
        "candidates",
        80,
        12,
        6,
    )
    assert dl["bm25"]["RR@10"] == 1
    assert not (tmp_path / "work" / "ir_datasets-msmarco-passage" / "bm25").exists()
    with pytest.raises(ParameterError, match="other queries"):
        run(file, f"--encoder=tilde={encoders['tilde']}", DATA[2], *given)


# --- query by example -------------------------------------------------------------------------------------------


def test_queries_that_are_documents_need_no_network(run, encoders, tmp_path, monkeypatch):
    from termwise.encode.tilde import TildeQueryEncoder

    asked = []
    encode = TildeQueryEncoder.encode_queries
    monkeypatch.setattr(
        TildeQueryEncoder, "encode_queries", lambda self, texts: (asked.extend(texts), encode(self, texts))[1]
    )
    result = run(reduced("by_example", tmp_path), f"--encoder=tilde={encoders['tilde']}")
    cats, dogs = ({row["name"]: row for row in entry["rows"]} for entry in result["datasets"].values())
    assert len(dogs) == 10
    assert all("measures" in row for row in dogs.values())
    for name, row in cats.items():  # without seeds, queries are no documents
        assert ("measures" in row) == ("stored" not in name)
    assert "not documents of the collection" in cats["TILDE-DL, stored, exact"]["not run"]
    assert dogs["TILDE-DL, stored, compact"]["stored"] == "compact"
    # What ran passes are the rows that say so: two scores on each dataset, over all queries and those to warm up.
    assert len(asked) == 2 * 3 * (10 + 3 * 10)
    page = (tmp_path / "out" / "tilde_by_example.md").read_text()
    assert "- TILDE-DL, stored, exact: not run, its queries are not documents" in page


def test_stored_vectors_rank_as_the_network_on_the_same_text(collections, encoders, tmp_path):
    import dataclasses

    from judged_collection import Judged
    from stage import Stage

    judged = Judged.read("dogs", collections / "dogs", "test")
    texts = {document.doc_id: document.text for document in judged.documents.documents()}
    whole = [query._replace(text=texts[min(judged.seeds[query.query_id])]) for query in judged.queries]
    stage = Stage(dataclasses.replace(judged, queries=whole), tmp_path / "work", depth=20)
    tilde = encoders["tilde"]
    for alpha in (0.0, 0.01):
        passed = stage.likelihoods(tilde, tilde, alpha, "exact").run
        stored = stage.likelihoods(tilde, tilde, alpha, "exact", stored="exact").run
        for ranking in passed:
            found = stored[ranking.query_id]
            expected = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
            assert dict(zip(found.doc_ids, found.scores.tolist(), strict=True)) == pytest.approx(
                expected, abs=1e-4
            )


def test_plans_name_their_parts(tmp_path):
    from tables import HERE

    for name in ("table2", "table3", "figure2", "by_example", "trec_dl", "trec_dl_networks"):
        plan = tomllib.loads((HERE / f"{name}.toml").read_text())
        assert plan["name"] == f"tilde_{name}"
        assert plan["datasets"]
        assert plan["encode"] == "auto"
        assert plan["graded_measures"] == ["AP(rel=2)"]
        assert plan["latency"]["passes"] == 3
    table3 = tomllib.loads((HERE / "table3.toml").read_text())
    assert len(table3["rows"]) == 7
    used = {row[part] for row in table3["rows"] for part in ("encoder", "query_encoder") if part in row}
    assert used == set(table3["models"])


def test_training_without_options_is_refused():
    import tables

    with pytest.raises(ParameterError, match="training needs"):
        tables.main(["train", str(tables.HERE / "table3.toml")])
    with pytest.raises(MissingFileError):
        tables.main(["run", "nowhere.toml"])


def test_training_passes_the_settings_of_the_plan(tmp_path, monkeypatch):
    import tables
    import termwise_command

    called = []

    class Done:
        returncode = 0

    monkeypatch.setattr(
        termwise_command.subprocess, "run", lambda command, check: called.append(command) or Done()
    )
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
    assert not any("batch=48" in command for command in called)


def test_a_table_is_trained_in_a_smaller_size(tmp_path, monkeypatch):
    import tables
    import termwise_command

    called = []
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr(
        termwise_command.subprocess, "run", lambda command, check: called.append(command) or done
    )
    common = [
        "train", str(tables.HERE / "table3.toml"), "--pairs=pairs", "--base=base", f"--models={tmp_path}"
    ]  # fmt: skip
    tables.main([*common, "--size=cpu"])
    objectives = ["query-likelihood", "document-likelihood", "biqdl"]
    assert [command[-1] for command in called][1:] == [f"objective={name}" for name in objectives]
    for command in called:
        settings = dict(pair.split("=", 1) for pair in command if "=" in pair and not pair.startswith("-"))
        TrainSettings.for_kind("tilde", settings)  # all of them are settings, and in range
        assert settings["document_length"] == "96"
    with pytest.raises(UnknownNameError, match="size of training"):
        tables.main([*common, "--size=tiny"])


def test_documents_below_the_depth_keep_their_order(collections, encoders, tmp_path):
    from judged_collection import Judged
    from stage import Stage

    stage = Stage(Judged.read("cats", collections / "cats", "test"), tmp_path / "work", depth=20)
    first = stage.first("bm25").run
    again = stage.query_likelihood(encoders["tilde"], "compact", depth=5).run
    for ranking in again:
        before = first[ranking.query_id].doc_ids
        assert set(ranking.doc_ids[:5]) == set(before[:5])
        assert ranking.doc_ids[5:] == before[5:]


def test_compact_form(experiment, encoders, tmp_path):
    import compact_form

    result = experiment(
        compact_form.main,
        'name = "tilde_compact_form"\ntitle = "Compact"\nmeasure = "nDCG@10"\ndepth = 20\nkeep = [2, 8, 32]\n'
        "exact = true\nbudget = 100000\nloss = 0.01\n"
        '[reference]\nname = "the published store"\nbytes = 61000\nsaid = "of a run"\n'
        '[collections.cats]\nsplit = "dev"\nexact = true\n[collections.dogs]\nsplit = "dev"\nexact = false\n',
        f"--encoder={encoders['tilde']}",
    )
    assert result["macro"]["collections"] == ["cats"]
    points = result["collections"]["cats"]["points"]
    assert points[0]["bytes a document"] < points[1]["bytes a document"]
    # 32 is more than there are terms: all that is above the floors, which here is nearly the exact form.
    assert points[-1]["re-ranking"]["mean"] == pytest.approx(
        result["collections"]["cats"]["exact"]["re-ranking"]["mean"], abs=0.05
    )
    assert (tmp_path / "out" / "tilde_compact_form.svg").is_file()
    page = (tmp_path / "out" / "tilde_compact_form.md").read_text()
    assert "| the published store | 61,000 |" in page
    assert points[0]["bytes a document"] == points[0]["parts"]["inverted"] + points[0]["parts"]["forward"]


def test_the_limit_applies_to_re_ranking_and_first_stage():
    import compact_form

    plan = {"keep": [10, 20, 30, 40], "budget": 1000, "loss": 0.01}

    def point(size, again, alone):
        return {"bytes a document": size, "re-ranking": {"mean": again}, "first stage": {"mean": alone}}

    points = [point(100, 0.5, 0.39), point(200, 0.494, 0.5), point(900, 0.496, 0.397), point(1001, 0.5, 0.4)]
    entry = {"points": points, "exact": point(5000, 0.5, 0.4)}
    found = compact_form.summary(plan, {"one": entry})
    assert found["suggested keep"] == 30
    assert [row["within"]["first stage"] for row in found["rows"]] == [False, True, True, True]
    assert [row["within"]["re-ranking"] for row in found["rows"]] == [True, False, True, True]
    assert found["rows"][3]["within"]["budget"] is False
    assert compact_form.summary(plan | {"budget": 800}, {"one": entry})["suggested keep"] is None
    # Without an exact form the best of each is what others are held against.
    rows = compact_form.summary(plan, {"one": entry | {"exact": None}})["rows"]
    assert [row["within"]["first stage"] for row in rows] == [False, True, False, False]


def test_the_default_number_of_weights_is_the_measured_one():
    import record

    from termwise.models.tilde import DEFAULT_KEEP

    path = record.RESULTS / "tilde_compact_form.json"
    if not path.is_file():
        pytest.skip(f"the experiment was not run: {path} is not there")
    assert json.loads(path.read_text())["macro"]["suggested keep"] == DEFAULT_KEEP


def test_learning_curve(experiment, tiny, pieces, tmp_path):
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
    (log / "settings.json").write_text(json.dumps({"settings": {"batch": 16, "accumulate": 2}}))
    (log / "facts.json").write_text(json.dumps({"processes": 2}))
    (log / "log.jsonl").write_text(
        '{"step": 10, "loss": 1.0}\n{"step": 10, "eval_nDCG@10": 0.4}\n{"step": 20, "eval_nDCG@10": 0.5}\n'
    )
    result = experiment(
        learning_curve.main,
        'name = "learning_curve"\ntitle = "Curve"\nmeasure = "nDCG@10"\ndepth = 20\nalpha = 1.0\n'
        '[collections.cats]\nsplit = "dev"\n',
        f"--encoders=tilde={root}",
        f"--logs=tilde={log}",
    )
    assert [point["pairs"] for point in result["curves"]["tilde"]] == [1000, 8000]
    assert result["logged"]["tilde"] == [[640, 0.4], [1280, 0.5]]
    for point in result["curves"]["tilde"]:  # BM25 has the whole share
        assert point["mixed"]["macro"] == pytest.approx(result["bm25"]["cats"])
        assert point["mixed"]["collections"]["cats"]["mean"] == point["mixed"]["macro"]
    assert "8,000" in (tmp_path / "out" / "learning_curve.md").read_text()
    lines = (tmp_path / "out" / "learning_curve.csv").read_text().splitlines()
    assert sum(line.startswith("BM25 and tilde,8000,") for line in lines) == 2


def test_the_generation_of_questions_resumes(collections, tmp_path):
    from doctquery import Expanded
    from judged_collection import Judged

    class Generator:
        fingerprint = "toy"

        def __init__(self, limit: int) -> None:
            self.limit = limit
            self.asked = 0

        def expand(self, texts: list[str]) -> list[tuple[str, ...]]:
            self.asked += len(texts)
            if self.asked > self.limit:
                raise KeyboardInterrupt
            return [(f"why {text.split()[0]}",) for text in texts]

    documents = Judged.read("cats", collections / "cats", "test").documents
    kept = tmp_path / "questions.sqlite"
    with pytest.raises(KeyboardInterrupt):
        list(Expanded(documents, CachedExpander(Generator(20), kept)).documents())
    rest = Generator(100)
    expanded = list(Expanded(documents, CachedExpander(rest, kept)).documents())
    assert rest.asked == 50 - 16
    assert len(expanded) == 50
    assert all(document.text.endswith(f"why {document.text.split()[0]}") for document in expanded)


def test_rows_of_doctquery(run, encoders, tmp_path):
    t5 = pytest.importorskip("tests.unit.yardsticks.test_doc2query").saved(tmp_path / "t5")
    options = (f"--encoder=tilde={encoders['tilde']}", f"--t5={t5}", "--questions=2")
    rows = run(reduced("table2", tmp_path), *options)["datasets"]["dogs/test"]["rows"]
    assert all("measures" in row for row in rows if "scorer" not in row.get("not run", ""))
    kept = list((tmp_path / "work").glob("*/questions.sqlite"))
    assert len(kept) == 2
    assert "appends 2 generated questions" in (tmp_path / "out" / "tilde_table2.md").read_text()
    before = [path.read_bytes() for path in kept]
    (tmp_path / "out" / "tilde_table2.json").unlink()
    again = run(reduced("table2", tmp_path), *options)["datasets"]["dogs/test"]["rows"]
    assert [row.get("measures") for row in again] == [row.get("measures") for row in rows]
    assert [path.read_bytes() for path in kept] == before


def test_rows_of_networks_that_read_the_texts(run, tmp_path, monkeypatch):
    (tmp_path / "lengths.py").write_text(
        "def scores(queries, texts):\n    return [float(len(text)) for text in texts]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    result = run(reduced("table2", tmp_path), "--scorer=epic=python:lengths:scores")
    rows = {row["name"]: row for row in result["datasets"]["dogs/test"]["rows"]}
    row = rows["BM25 (top 100) + EPIC"]
    assert row["published"] == ".270"
    assert row["latency, ms"]["re-ranking"]["n"] == 10
    assert row["measures"] != rows["BM25"]["measures"]
    assert "no scorer qlm-bert was named" in rows["BM25 (top 100) + QLM-BERT, QL"]["not run"]
