"""The experiment on classic Model 1 with toy data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from termwise.errors import (
    CheckFailedError,
    MissingExtraError,
    MissingFileError,
    ParameterError,
    UnknownNameError,
)
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table

PLAN = """
name = "toy"
title = "A toy"
measures = ["nDCG@10", "R@100"]
depth = 30

[collections.cars]
train = "train"
dev = "dev"
test = "test"

[collections.pets]
train = "train"
dev_queries = 12
test = "test"

[fields]
lemm = ["standard"]
word = ["english"]

[tables.ships]
ships = "model1"

[tables.general]
general = true

[tables.both]
general = true
own = 2
collections = ["cars"]

[tables.own]
own = 1

[training]
iterations = 2

[systems.bm25]
model = "bm25"
field = "lemm"
published = ".270"

[systems."bm25+bm25"]
model = "bm25"
field = "word"

[systems."bm25+model1"]
field = "word"

[systems."bm25+neural"]
model = "neural-model1"
field = "word"
published = ".307"

[systems."bm25+index"]
index_of = "bm25+model1"
keep = 100

[systems.index]
index_of = "bm25+model1"
keep = 4
alone = true

[choose]
measure = "nDCG@10"
seed = 0
self_translation = [0.1, 0.5]
lambda = [0.1, 0.5]

[[contrasts]]
system = "bm25+model1"
against = "bm25+bm25"
ratio = 1.02

[[contrasts]]
system = "bm25+neural"
against = "bm25+bm25"

[[contrasts]]
system = "bm25+index"
against = "bm25+model1"
"""

SAYS = {"car": "automobile", "doctor": "physician", "fix": "repair", "buy": "purchase", "kid": "child"}
OTHER = ("notes", "guide", "report", "advice", "road", "blue")


def judged(folder: Path, random: np.random.Generator) -> None:
    (folder / "qrels").mkdir(parents=True)
    documents, queries = [], []
    for place in range(60):
        asked = random.choice(sorted(SAYS), size=2, replace=False).tolist()
        text = [SAYS[word] if random.random() < 0.7 else word for word in asked]
        text += random.choice(OTHER, size=3).tolist()
        documents.append({"_id": f"d{place}", "title": "", "text": " ".join(text)})
        queries.append({"_id": f"q{place}", "text": " ".join([*asked, text[-1]])})
    for name, lines in (("corpus", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for split, places in (("train", range(40)), ("dev", range(40, 50)), ("test", range(50, 60))):
        lines = ["query-id\tcorpus-id\tscore", *(f"q{place}\td{place}\t1" for place in places)]
        lines += [f"q{place}\td{place - 5}\t0" for place in places if place >= 5]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def data(tmp_path):
    for seed, name in enumerate(("cars", "pets")):
        judged(tmp_path / "data" / name, np.random.default_rng(seed))
    return tmp_path / "data"


@pytest.fixture
def pairs(tmp_path):
    folder = tmp_path / "pairs"
    folder.mkdir()
    lines = [
        {"query": f"{word} {other}", "passage": f"{said} guide"}
        for word, said in SAYS.items()
        for other in OTHER
    ]
    (folder / "general.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


@pytest.fixture
def neural(tmp_path):
    table = TranslationTable(
        Vocabulary(["automobil", "car"]),
        [0, 2, 2],
        [0, 1],
        [0.9, 0.8],
        [1, 1],
        make_analyzer("english").spec,
        kind="neural-model1",
        scoring={"self_translation": 0.25, "lambda": 0.0},
    )
    write_table(table, tmp_path / "neural")
    return tmp_path / "neural"


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


@pytest.fixture
def run(tmp_path, data, plan):
    import model1_tables

    def call(what, *more):
        folders = [f"--{name}={tmp_path / name}" for name in ("work", "data", "out")]
        files = [f"--plan={plan}", f"--choices={tmp_path / 'choices.json'}"]
        model1_tables.main([what, *folders, *files, "--threads=1", *map(str, more)])
        return json.loads((tmp_path / "choices.json").read_text())

    return call


def test_choose_then_report(run, tmp_path, data, pairs):
    hidden = [(data / name / "qrels" / "test.tsv", tmp_path / f"{name}.tsv") for name in ("cars", "pets")]
    for path, place in hidden:
        path.rename(place)
    choices = run("choose", "--pairs", pairs)
    for path, place in hidden:
        place.rename(path)
    made = {(one["collection"], one["system"]): one for one in choices["made"]}
    assert set(made) == {
        (name, system) for name in ("cars", "pets") for system in ("bm25+bm25", "bm25+model1")
    }
    choice = made["cars", "bm25+model1"]
    # The shipped table is over word pieces, so that it is not used for a field of words.
    assert [one["table"] for one in choice["tried"]] == ["general", "both", "own"]
    assert [one["table"] for one in made["pets", "bm25+model1"]["tried"]] == ["general", "own"]
    assert choice["value"] == max(one["value"] for one in choice["tried"])
    assert choice["settings"]["lambda"] in (0.1, 0.5)
    assert choice["queries"] == 10
    assert made["pets", "bm25+model1"]["queries"] == 12
    assert choice["estimate"] is not None

    run("report", "--pairs", pairs)
    result = json.loads((tmp_path / "out" / "toy.json").read_text())
    systems = result["collections"]["cars"]["systems"]
    assert set(systems) == {"bm25", "bm25+bm25", "bm25+model1", "bm25+index", "index"}
    # Nothing is pruned: the loss is the rounding to bytes.
    measured = [systems[name]["measures"]["nDCG@10"] for name in ("bm25+model1", "bm25+index")]
    assert measured[0] == pytest.approx(measured[1], abs=0.05)
    costs = {name: system["cost"] for name, system in systems.items()}
    assert costs["bm25+model1"]["scoring"] > costs["bm25"]["scoring"] > 0
    assert costs["bm25+model1"]["table"] > 0
    assert costs["bm25+index"]["table"] == costs["bm25"]["table"] == 0
    assert costs["index"]["scoring"] is None
    assert costs["index"]["search"] > 0
    (target,) = result["targets"]
    assert target["reached"] == (target["found"]["ratio"] >= 1.02)
    macro = {(one["system"], one["against"]): one for one in result["macro"]["contrasts"]}
    assert set(macro) == {("bm25+model1", "bm25+bm25"), ("bm25+index", "bm25+model1")}
    found = [one for one in result["collections"]["pets"]["contrasts"] if one["measure"] == "nDCG@10"]
    assert [one["run"] for one in found] == ["bm25+model1", "bm25+index"]
    assert all(one["p_holm"] >= one["p_permutation"] for one in found)
    page = (tmp_path / "out" / "toy.md").read_text()
    assert "| bm25+neural | .307 | – | – | – | – | – | – |" in page
    assert "- bm25+neural: no neural table was named for" in page
    assert "pets has no dev split: 12 of its training queries" in page
    assert "lemm with `standard`" in page

    run("report", "--pairs", pairs, "--collections=pets")
    assert "not judged: in part" in (tmp_path / "out" / "toy_partial.md").read_text()


def test_existing_choices_are_not_repeated(run, pairs, neural, monkeypatch):

    import model1_choices

    tuned = []
    tune = model1_choices._tuned
    monkeypatch.setattr(
        model1_choices,
        "_tuned",
        lambda bench, system, table: tuned.append(system.name) or tune(bench, system, table),
    )
    only = "--collections=cars"
    assert len(run("choose", only)["made"]) == 2
    assert tuned == ["bm25+model1"]  # own alone
    run("choose", only)
    assert tuned == ["bm25+model1"]
    run("choose", only, "--pairs", pairs)
    assert tuned == ["bm25+model1"] * 4
    made = run("choose", only, "--pairs", pairs, "--neural", neural)["made"]
    assert tuned == [*["bm25+model1"] * 4, "bm25+neural"]
    assert [made[-1]["settings"][name] for name in ("self_translation", "lambda")] == [0.25, 0.0]
    run("choose", only, "--pairs", pairs, "--again")
    assert len(tuned) == 8


def test_choices_are_valid_for_their_plan_and_tables_only(run, tmp_path, plan, pairs, neural):
    run("choose", "--collections=cars", "--pairs", pairs)
    report = ("report", "--collections=cars")
    with pytest.raises(MissingFileError, match="no choice for a system"):
        run("report", "--pairs", pairs)
    with pytest.raises(MissingFileError, match="no choice for a system"):
        run(*report, "--pairs", pairs, "--neural", neural)
    plan.write_text(PLAN.replace("0.5]", "0.6]"))
    with pytest.raises(CheckFailedError, match="another plan"):
        run(*report, "--pairs", pairs)
    plan.write_text(PLAN)
    choices = json.loads((tmp_path / "choices.json").read_text())
    for one in choices["made"]:
        if one["table"]:
            one["table"] = "both"
    (tmp_path / "choices.json").write_text(json.dumps(choices))
    with pytest.raises(MissingFileError, match="is not available"):
        run(*report)
    with (pairs / "general.jsonl").open("a") as file:
        file.write(json.dumps({"query": "blue road", "passage": "a road"}) + "\n")
    with pytest.raises(CheckFailedError, match="another table"):
        run(*report, "--pairs", pairs)
    (tmp_path / "choices.json").write_text("{}")
    with pytest.raises(CheckFailedError, match="layout of"):
        run(*report)


def test_choices_of_another_collection_and_a_neural_table(run, tmp_path, plan, neural):
    taken = '\n[collections.pets]\ntest = "test"\nchosen_on = "cars"\nmean = false\n'
    plan.write_text(PLAN[: PLAN.index("\n[collections.pets]")] + taken + PLAN[PLAN.index("\n[fields]") :])
    assert {one["collection"] for one in run("choose", "--neural", neural)["made"]} == {"cars"}
    run("report", "--neural", neural)
    result = json.loads((tmp_path / "out" / "toy.json").read_text())
    assert set(result["collections"]) == {"cars", "pets"}
    assert result["macro"]["collections"] == ["cars"]
    assert result["skipped"] == {}
    for entry in result["collections"].values():
        assert entry["systems"]["bm25+neural"]["measures"]["nDCG@10"] > 0
    assert "pets: choices and table of cars." in (tmp_path / "out" / "toy.md").read_text()


def test_held_out_queries_are_in_no_training_pair(tmp_path, data, plan):
    from model1_plan import Plan
    from translation_tables import Tables, dev_of, drawn, own_of

    declared = Plan.read(plan)
    pets, cars = declared.collections["pets"], declared.collections["cars"]
    dev, own = ({query.query_id for query in of(pets, data, 0).queries} for of in (dev_of, own_of))
    assert len(dev) == 12
    assert not dev & own
    assert dev | own == {f"q{place}" for place in range(40)}
    assert {query.query_id for query in own_of(cars, data, 0).queries} == dev | own
    assert {query.query_id for query in dev_of(cars, data, 0).queries} == {
        f"q{place}" for place in range(40, 50)
    }
    assert drawn(sorted(dev | own), 12, 0) == drawn(sorted(dev | own)[::-1], 12, 0) == dev
    assert drawn(sorted(dev | own), 12, 1) != dev
    tables = Tables(declared, data, tmp_path / "work")
    once, twice = (tables._own_pairs("pets", times).read_text().splitlines() for times in (1, 2))
    assert twice == once * 2
    assert len(once) == 28  # judgments of 0 are no pairs
    asked = {query.text for query in own_of(pets, data, 0).queries}
    assert {json.loads(line)["query"] for line in once} == asked


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('dev = "dev"', 'dev = "test"', ParameterError),
        ("dev_queries = 12", "", ParameterError),
        ('field = "lemm"', 'field = "stems"', UnknownNameError),
        ('against = "bm25+bm25"', 'against = "bm26"', UnknownNameError),
        ('model = "bm25"\nfield = "word"', 'model = "bm26"\nfield = "word"', UnknownNameError),
        ('index_of = "bm25+model1"', 'index_of = "bm25+bm25"', ParameterError),
        ('index_of = "bm25+model1"', 'index_of = "model1"', UnknownNameError),
        ('measures = ["nDCG@10", ', "measures = [", ParameterError),
        ("own = 2", "twice = true", ParameterError),
        ('collections = ["cars"]', 'collections = ["cats"]', UnknownNameError),
    ],
)
def test_inconsistent_plans_are_refused(plan, old, new, error):
    from model1_plan import Plan

    assert old in PLAN
    plan.write_text(PLAN.replace(old, new))
    with pytest.raises(error):
        Plan.read(plan)
    with pytest.raises(MissingFileError):
        Plan.read(plan.with_name("none.toml"))


def test_the_first_installed_analyzer_is_used(monkeypatch):
    import model1_plan

    def make(name):
        if name == "lemmas":
            raise MissingExtraError("no spaCy")
        return make_analyzer(name)

    monkeypatch.setattr(model1_plan, "make_analyzer", make)
    assert model1_plan.installed(["lemmas", "standard", "english"]) == "standard"
    with pytest.raises(MissingExtraError):
        model1_plan.installed(["lemmas"])


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("model1_tables", {"lemm", "word", "bwps"}),
        ("msmarco", {"lemm", "word", "bwps"}),
        ("msmarco_documents", {"lemm", "word", "bwps"}),
        ("neural_model1", {"lemm", "bwps"}),
        ("neural_model1_whole", {"lemm", "bwps"}),
    ],
)
def test_the_plans_of_the_experiment(name, fields, monkeypatch):
    import model1_plan

    monkeypatch.setattr(model1_plan, "installed", lambda names: names[0])
    plan = model1_plan.Plan.read(Path(model1_plan.__file__).with_name(f"{name}.toml"))
    assert all(system.field == "bwps" for system in plan.systems.values() if system.index_of)
    assert all(plan.collections[plan.chosen_on(collection)].train for collection in plan.collections)
    assert set(plan.analyzers) == fields
