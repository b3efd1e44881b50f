"""The zero-shot experiment with toy data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from termwise.errors import CheckFailedError, ParameterError, UnknownNameError
from termwise.records import Ranking, Run

PLAN = """
measures = ["nDCG@10", "R@100"]
depth = 20
macro_without = ["dogs"]

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
note = "trained on expanded passages"

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
weights_step = 0.25
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
values = ["as-shipped", "1", "2"]
collections = ["cats"]

[[contrasts]]
system = "bm25+tilde"
against = "dense+bm25"

[[exposures]]
base = "a-base"
said = "all cats there are"
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

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        yield


@pytest.fixture
def run(collections, encoders, tmp_path, monkeypatch):
    import systems
    import zero_shot

    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    monkeypatch.setattr(systems, "DenseEncoder", lambda *_, **__: FakeDense())
    (tmp_path / "dense").mkdir()
    (tmp_path / "dense" / "weights.bin").write_bytes(b"fake")
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


def test_choose_then_report(run, tmp_path, collections, tiny, pieces):
    (collections / "cats" / "qrels" / "test.tsv").rename(tmp_path / "hidden.tsv")
    run("choose", "--systems=bm25+tilde,bm25+tildev2")
    (tmp_path / "hidden.tsv").rename(collections / "cats" / "qrels" / "test.tsv")
    choices = json.loads((tmp_path / "choices.json").read_text())
    made = {(one["system"], one["setting"]): one for one in choices["made"]}
    assert set(made) == {
        ("tilde", "keep"), ("tildev2", "expansion_terms"), ("bm25+tilde", "alpha"), ("bm25+tildev2", "alpha"),
    }  # fmt: skip
    assert made["tilde", "keep"]["value"] == "2"  # within the tolerance of the best
    # What the encoder was made with comes first, as the number that it is, and no value is tried twice.
    assert [entry["value"] for entry in made["tildev2", "expansion_terms"]["tried"]] == ["2", "1"]
    assert set(choices["encoders"]) == {"tilde", "tildev2"}
    assert all(known["precision"] == "float32" for known in choices["encoders"].values())
    assert list((tmp_path / "work").glob("cats-*/tilde-*.blocks"))

    out = run("report", f"--dense={tmp_path / 'dense'}")
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
    (effort,) = systems["tilde"]["encoding"]
    assert effort["seconds"] > 0
    assert effort["documents"] == 50
    assert effort["load"] is not None
    assert systems["bm25"]["encoding"] == []
    assert len(systems["bm25+tilde"]["encoding"]) == len(systems["dense+bm25"]["encoding"]) == 1
    assert systems["tilde"]["against bm25"]["nDCG@10"]["p_permutation"] is not None
    macro = result["macro"]["systems"]
    assert macro["bm25"]["ratio"] == {"ratio": 1.0, "interval": [1.0, 1.0]}
    values = [
        result["collections"][name]["systems"]["tilde"]["measures"]["nDCG@10"] for name in ("cats", "dogs")
    ]
    assert macro["tilde"]["mean"] == pytest.approx(np.mean(values), rel=1e-5)
    (target,) = result["targets"]
    assert target["reached"] == (target["ratio"]["ratio"] >= 1.05 and not target["collections below"])
    without = result["macro"]["systems"]["tilde"]["without"]
    assert without["mean"] == pytest.approx(values[0], rel=1e-5)
    (contrast,) = result["collections"]["dogs"]["contrasts"]
    assert (contrast["run"], contrast["baseline"]) == ("bm25+tilde", "dense+bm25")
    (macro_contrast,) = result["macro"]["contrasts"]
    assert macro_contrast["difference"] == pytest.approx(
        macro["bm25+tilde"]["mean"] - macro["dense+bm25"]["mean"], abs=1e-5
    )
    page = (out / "zero_shot.md").read_text()
    assert "| dogs | 10 |" in page
    assert "| **macro without dogs** |" in page
    assert "1 / (60 + rank)" in page
    assert "dense reads the first 256 pieces of a text" in page
    assert "tildev2-unexpanded: trained on expanded passages." in page
    assert "| bm25+tilde against dense+bm25 | **macro** |" in page
    assert "| tildev2 | expansion_terms | " in page

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("block-*.rows")}
    run("report", f"--dense={tmp_path / 'dense'}", "--collections=cats", "--systems=tilde")
    assert {path: path.stat().st_mtime_ns for path in before} == before  # nothing is encoded again
    partial = (out / "zero_shot_partial.md").read_text()
    assert "not judged: in part" in partial or "None of the systems with a target was run." in partial

    table = np.linspace(0.5, 1.0, len(pieces))
    other = tiny.make_folder(tmp_path / "other", "tildev2", table, pieces=pieces, positions=32)
    with pytest.raises(CheckFailedError, match="other encoders"):
        run("report", f"--encoder=tildev2={other}", "--systems=bm25+tildev2")
    with pytest.raises(CheckFailedError, match="other encoders"):
        run("encode", f"--encoder=tildev2={other}", "--systems=tildev2")


def test_measurements_are_stored_by_query(run, tmp_path, collections, monkeypatch):
    import systems

    ranked = set()
    outcome = systems.Bench.outcome

    def counted(bench, name):
        ranked.add((bench.judged.name, name))
        return outcome(bench, name)

    def reported(*more):
        ranked.clear()
        out = run("report", *more)
        return json.loads((out / "zero_shot.jsonl").read_text().splitlines()[-1])["collections"]

    monkeypatch.setattr(systems.Bench, "outcome", counted)
    dense = f"--dense={tmp_path / 'dense'}"
    first = reported("--systems=tilde,dense", dense)
    assert ranked == {(name, system) for name in ("cats", "dogs") for system in ("bm25", "tilde", "dense")}
    head, *lines = map(json.loads, (tmp_path / "out" / "zero_shot" / "dogs.jsonl").read_text().splitlines())
    assert head["queries"] == len(lines[0]["values"]["nDCG@10"]) == 10
    assert [line["system"] for line in lines] == ["bm25", "dense", "tilde"]

    assert reported("--systems=tilde,dense") == first  # nor is an encoder needed of what is measured
    assert ranked == set()
    both = reported("--systems=splade-doc")
    assert ranked == {("cats", "splade-doc"), ("dogs", "splade-doc")}
    assert list(both["cats"]["systems"]) == ["bm25", "tilde", "dense", "splade-doc"]
    assert both["cats"]["systems"]["tilde"]["measures"] == first["cats"]["systems"]["tilde"]["measures"]
    reported("--systems=tilde", "--again")
    assert ranked == {(name, system) for name in ("cats", "dogs") for system in ("bm25", "tilde")}

    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace('model = "tilde"\n', 'model = "tilde"\nsettings = { keep = "3" }\n'))
    reported("--systems=tilde")
    assert ranked == {("cats", "tilde"), ("dogs", "tilde")}
    queries = collections / "dogs" / "queries.jsonl"
    queries.write_text(queries.read_text() + "\n")
    reported("--systems=tilde")
    assert ranked == {("dogs", "bm25"), ("dogs", "tilde")}

    (tmp_path / "out" / "zero_shot" / "dogs.jsonl").write_text("{}\n")
    with pytest.raises(CheckFailedError, match="layout of"):
        run("report", "--systems=tilde")


def test_encode_runs_networks_without_ranking(run, tmp_path):
    run("encode", "--systems=tilde,dense", f"--dense={tmp_path / 'dense'}")
    work = tmp_path / "work"
    assert list(work.glob("dogs-*/tilde-*.blocks"))
    assert list(work.glob("dogs-*/dense-*/*.npy"))
    assert not (tmp_path / "out").exists()


def test_choices_for_other_systems_of_the_same_networks_are_kept(plan, encoders):
    from dataclasses import replace

    from plan import Chosen

    earlier = chosen(plan, encoders)
    tried = earlier.made[0].tried
    other = Chosen(system="bm25+tildev2", setting="alpha", value=0.0, by="bm25+tildev2", tried=tried, plan="")
    later = replace(earlier, made=(other,), encoders={"tildev2": earlier.encoders["tildev2"]})
    assert later.beside(earlier).alpha == {"bm25+tilde": 0.5, "bm25+tildev2": 0.0}
    assert later.beside(earlier).encoders == earlier.encoders
    others = {"tildev2": {"id": "sha256:other", "precision": "int8"}}
    assert later.beside(replace(earlier, encoders=others)) == later


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


@pytest.fixture
def plan(tmp_path):
    from plan import Plan

    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return Plan.read(path)


def chosen(plan, encoders, *, on=("cats",)):
    """A share of bm25+tilde, as `choose` would write it."""
    from plan import Choices, Chosen, identities

    tried = [{"value": 0.5, "macro": 0.1, "collections": dict.fromkeys(on, 0.1)}]
    one = Chosen(
        system="bm25+tilde",
        setting="alpha",
        value=0.5,
        by="bm25+tilde",
        tried=tried,
        plan=plan.digest("bm25+tilde", "alpha"),
    )
    return Choices(made=(one,), encoders=identities(encoders, None))


def test_choices_are_valid_for_the_same_plan_and_networks(plan, encoders, tmp_path):
    from plan import Choices, identities

    choices = chosen(plan, encoders)
    choices.write(tmp_path / "choices.json")
    assert Choices.read(tmp_path / "choices.json") == choices
    choices.check(plan, identities(encoders, None), ["bm25+tilde"])
    assert choices.alpha == {"bm25+tilde": 0.5}


def test_choices_for_other_networks_are_refused(plan, encoders):
    from plan import identities

    choices = chosen(plan, encoders)
    known = identities(encoders, None)
    for changed in ({"id": "sha256:another"}, {"precision": "int8"}):
        with pytest.raises(CheckFailedError, match="other encoders"):
            choices.check(plan, {**known, "tilde": {**known["tilde"], **changed}}, ["bm25+tilde"])
    # What was chosen does not rest on the others.
    choices.check(plan, {**known, "tildev2": {"id": "x", "precision": "int8"}}, ["bm25+tilde", "tildev2"])


def test_choices_for_unknown_networks_are_refused(plan, encoders):
    from dataclasses import replace

    from plan import identities

    choices = replace(chosen(plan, encoders), encoders={})
    with pytest.raises(CheckFailedError, match="other encoders"):
        choices.check(plan, identities(encoders, None), ["bm25+tilde"])


def test_choices_of_another_plan_are_refused(plan, encoders, tmp_path):
    from plan import Plan, identities

    choices = chosen(plan, encoders)
    path = tmp_path / "other.toml"
    path.write_text(PLAN.replace("alpha = [0.0, 0.5, 1.0]", "alpha = [0.0, 0.5]"))
    with pytest.raises(CheckFailedError, match="another plan"):
        choices.check(Plan.read(path), identities(encoders, None), ["bm25+tilde"])
    path.write_text(
        PLAN.replace("macro = 1.05", "macro = 1.10").replace("trained on", "which was trained on")
    )
    choices.check(
        Plan.read(path), identities(encoders, None), ["bm25+tilde"]
    )  # targets and notes choose nothing
    path.write_text(PLAN.replace("[systems.dense]", '[systems.ml]\nmodel = "ml"\n\n[systems.dense]'))
    choices.check(Plan.read(path), identities(encoders, None), ["bm25+tilde"])  # other systems do not matter


def test_choices_on_fewer_collections_are_for_a_trial_only(plan, encoders):
    from plan import identities

    choices = chosen(plan, encoders, on=("dogs",))
    choices.check(plan, identities(encoders, None), ["bm25+tilde"], partly=True)
    with pytest.raises(CheckFailedError, match="other collections"):
        choices.check(plan, identities(encoders, None), ["bm25+tilde"])


def test_choices_with_an_invalid_layout_are_refused(tmp_path):
    from plan import Choices

    path = tmp_path / "choices.json"
    path.write_text('{"alpha": {"bm25+tilde": 0.5}, "settings": {}, "encoders": {}, "trace": []}')
    with pytest.raises(CheckFailedError, match="layout of"):
        Choices.read(path)


def test_window_and_number_of_terms_do_not_change_the_identity(tiny, encoders, tmp_path, pieces):
    from plan import identities

    expansion = tiny.ExpansionRecord(terms=5, counting="new", length=8, encoder="sha256:none", name="tilde")
    table = np.linspace(0.5, 2.0, len(pieces))
    again = tiny.make_folder(
        tmp_path / "again", "tildev2", table, expansion=expansion, pieces=pieces, positions=32
    )
    assert (
        identities({"tildev2": str(again)}, None)["tildev2"]
        == identities({"tildev2": encoders["tildev2"]}, None)["tildev2"]
    )


def test_unknown_keys_of_the_plan_are_refused(tmp_path):
    from plan import Plan

    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace("tolerance = 0.5", "patience = 0.5"))
    with pytest.raises(ParameterError, match="not valid"):
        Plan.read(path)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (PLAN, "", "measures"),
        ('measures = ["nDCG@10", "R@100"]', "", "measures"),
        ("[choose]", "[chosen]", "chosen"),
        ("alpha = [0.0, 0.5, 1.0]", "alpha = 5", "alpha = 5"),
        ("alpha = [0.0, 0.5, 1.0]", 'alpha = "x"', "alpha = 'x'"),
        ("alpha = [0.0, 0.5, 1.0]", "alpha = []", "shares from 0 to 1"),
        ("weights_step = 0.25", "weights_step = 1", "at most 1/2"),
        ("depth = 20", 'depth = "x"', "depth = 'x'"),
        ("depth = 20", "depth = -1", "1 or more"),
        ("[systems.bm25]", "[systems]\nzz = 5\n[systems.bm25]", "zz"),
        ('model = "bm25"', 'model = "bm52"', "bm52"),
        ('analyzer = "english"', 'settings = "x"', "settings = 'x'"),
        ('analyzer = "english"', 'settings = { k2 = "1" }', "k2"),
        ('fuse = ["dense", "bm25"]', 'fuse = ["dense", "dense+bm25"]', "a part of itself"),
        (
            "[choose]",
            '[systems.one]\nfuse=["two","bm25"]\n[systems.two]\nfuse=["one","bm25"]\n[choose]',
            "itself",
        ),
    ],
)
def test_plans_that_are_not_valid_are_refused(tmp_path, before, after, said):
    from plan import Plan

    assert before in PLAN
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace(before, after, 1))
    with pytest.raises((ParameterError, UnknownNameError)) as raised:
        Plan.read(path)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: "{",
        lambda content: "[]",
        lambda content: "\udcff",
        lambda content: content.replace('"tried": [', '"tried": [], "more": ['),
        lambda content: content.replace('"encoders": {', '"encoders": 5, "more": {'),
        lambda content: re.sub('"value": [^,]*,', '"value": null,', content),
        lambda content: re.sub('"tried": .*?}\n   \\]', '"tried": []', content, flags=re.DOTALL),
        lambda content: json.dumps({**json.loads(content), "encoders": 5}),
        lambda content: json.dumps({**json.loads(content), "made": None}),
    ],
)
def test_a_damaged_file_of_choices_is_refused(plan, encoders, tmp_path, damage):
    from plan import Choices

    path = tmp_path / "choices.json"
    chosen(plan, encoders).write(path)
    content = path.read_text()
    assert Choices.read(path).made
    path.write_bytes(damage(content).encode("utf-8", "surrogateescape"))
    with pytest.raises(CheckFailedError, match="layout of") as raised:
        Choices.read(path)
    assert "choose again" in raised.value.fixes_worded()[0]


def test_choices_are_inherited_by_like(tmp_path):
    from plan import Choices, Chosen, Plan

    path = tmp_path / "plan.toml"
    path.write_text(
        PLAN + '\n[systems.plain]\nmodel = "tildev2"\nlike = "tildev2"\nsettings = { idf_power = "0" }\n'
    )
    plan = Plan.read(path)
    made = [
        Chosen(system="tildev2", setting=name, value=value, by="tildev2", tried=[], plan="")
        for name, value in (("length", "194"), ("idf_power", "0.25"))
    ]
    choices = Choices(made=tuple(made))
    assert choices.of(plan.systems["plain"]) == {"length": "194"}
    assert choices.of(plan.systems["tildev2"]) == {"length": "194", "idf_power": "0.25"}
    assert choices.of(plan.systems["tildev2-unexpanded"]) == {}
    path.write_text(path.read_text().replace('like = "tildev2"', 'like = "tilde"'))
    with pytest.raises(ParameterError, match="a system of another model"):
        Plan.read(path)


def test_parts_of_parts_are_run_too(tmp_path):
    from plan import Plan

    path = tmp_path / "plan.toml"
    path.write_text(PLAN + '\n[systems.all]\nfuse = ["bm25+tildev2", "dense"]\n')
    plan = Plan.read(path)
    assert plan.with_parts(["all"]) == ["bm25", "tildev2", "bm25+tildev2", "dense", "all"]
    assert plan.networks(["all"]) == ["tilde", "tildev2"]


def training_notes(**training):
    """Return the notes on the training data of one network and a dense encoder."""
    from plan import Exposure, System
    from zero_shot_report import _exposure

    plan = SimpleNamespace(
        exposures=(Exposure(base="a-base", said="all cats there are", collections=("cats",)),),
        systems={"dense": System(name="dense", dense=True)},
    )
    known = {"base": "a-base", "pairs": None, "pairs_seen": None, "left_out": None, **training}
    return _exposure({"training": {"tilde": known}, "dense": "a-base"}, plan, ["dense"])


def test_the_page_states_the_known_training_data():
    text = training_notes(
        pairs=90, pairs_seen=20, left_out={"pairs": 100, "left_out": 10, "rule": "they met"}
    )
    assert "trained from a-base on pairs: 20 seen with repetitions, of 90" in text
    assert "Of 100 pairs, 10 were removed: they met." in text
    assert (
        "a-base, the base of tilde, dense: trained on all cats there are (cats), according to its model card."
        in text
    )
    assert "Its folder does not state whether" in training_notes(pairs=90, pairs_seen=20)
    assert "does not state its training pairs" in training_notes()
    assert "other, the base of tilde: its training data is not known" in training_notes(
        base="other", pairs=90
    )


def test_a_missing_effort_is_not_zero(tmp_path):
    from indexes import Account
    from zero_shot_report import _encoding

    account = Account(tmp_path / "account.json")
    assert account.effort is None
    account.add(2.0, 10)
    account.add(3.0, 20)
    assert (account.effort.seconds, account.effort.documents) == (5.0, 30)
    assert account.effort.load is not None
    assert _encoding([]) == ("–", "")
    assert _encoding([None]) == ("not known", "")
    assert _encoding([{"seconds": 5.0, "documents": 30, "load": 2.0}]) == ("6.0", "2.0")
    assert _encoding([{"seconds": 5.0, "documents": 30, "load": None}]) == ("6.0", "not known")


def test_the_largest_scores_in_their_order():
    from dense import largest

    random = np.random.default_rng(1)
    scores = random.integers(0, 9, 60).astype(np.float32)
    whole = np.argsort(-scores, kind="stable")
    for k in (1, 7, 59, 60, 100):
        assert largest(scores, k).tolist() == whole[:k].tolist()


def test_each_dense_system_has_its_own_length(collections, tmp_path, monkeypatch):
    import systems
    from judged_collection import Judged
    from plan import Choices, Plan

    asked = []

    class Length(FakeDense):
        def __init__(self, _, *, length, threads):
            asked.append(length)
            self.fingerprint = f"{length}"

    monkeypatch.setattr(systems, "DenseEncoder", Length)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + "\n[systems.dense-short]\ndense = true\nlength = 8\n")
    plan = Plan.read(path)
    judged = Judged.read("cats", collections / "cats", "dev")
    bench = systems.Bench(judged, plan, systems.Tools({}, tmp_path, tmp_path / "work"), Choices())
    assert bench.outcome("dense-short").run.name == "dense-short"
    assert asked == [8]


def test_a_mixture_reads_the_forward_view_of_its_re_ranker(collections, encoders, tmp_path, plan):
    from judged_collection import Judged
    from systems import Bench, Tools

    judged = Judged.read("cats", collections / "cats", "dev")
    tools = Tools(encoders, None, tmp_path / "work")
    bench = Bench(judged, plan, tools, chosen(plan, encoders))
    sizes = bench.built("tilde").sizes
    mixed, first = bench.outcome("bm25+tilde"), bench.outcome("bm25")
    assert mixed.bytes - first.bytes == pytest.approx((sizes["forward"] + sizes["order"]) / 50)
    assert bench.outcome("tilde").bytes == pytest.approx(
        ((sizes["inverted"] or sizes["forward"]) + sizes["order"]) / 50
    )


def test_a_mixture_ranks_the_union_of_the_candidates_with_the_chosen_weights(collections, tmp_path):
    from dev_choices import choose
    from judged_collection import Judged
    from plan import Choices, Plan
    from systems import Bench, Tools

    path = tmp_path / "plan.toml"
    path.write_text(
        f'{PLAN}\n[systems.jm]\nmodel = "jm"\nanalyzer = "english"\n\n[systems."bm25+jm"]\nmix = ["bm25", "jm"]\n'
    )
    plan = Plan.read(path)
    tools = Tools({}, None, tmp_path / "work")
    bench = Bench(Judged.read("cats", collections / "cats", "dev"), plan, tools, Choices())
    choices = choose(plan, {"cats": bench}, tools, ["bm25", "jm", "bm25+jm"])
    (made,) = choices.made
    assert [one["value"] for one in made.tried] == [[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]]
    assert choices.weights["bm25+jm"] == made.value
    mixed = bench.with_choices(choices).outcome("bm25+jm")
    first = bench.mixture(plan.systems["bm25+jm"], made.value).run
    assert [ranking.doc_ids for ranking in mixed.run] == [ranking.doc_ids for ranking in first]
    assert mixed.facts == {"weights": dict(zip(("bm25", "jm"), made.value, strict=True))}
    both = sum(bench.built(name).sizes[view] / 50 for name in ("bm25", "jm") for view in ("forward", "order"))
    assert mixed.bytes >= both


def test_choices_on_the_reported_split_are_refused(tmp_path):
    from plan import Plan

    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace('dev = "dev"', 'dev = "test"'))
    with pytest.raises(ParameterError, match="the reported split"):
        Plan.read(path)


def test_the_plan_of_the_experiment_is_valid():
    from plan import Plan
    from zero_shot import HERE

    plan = Plan.read(HERE / "zero_shot.toml")
    assert [name for name, entry in plan.collections.items() if entry.dev] == [
        "nfcorpus", "medquad", "cosqa", "semeval_cqa_questions",
    ]  # fmt: skip
    assert plan.dev == ("nfcorpus", "medquad", "cosqa", "semeval_cqa_questions")
    assert plan.without == ("cosqa",)
    # What ships is what was chosen before: it would be all that is tried.
    assert not any("as-shipped" in choice.values for choice in plan.settings)
    assert not plan.collections["adi"].mean
    assert plan.collections["csfcube"].test == "test_aggregate"


def test_a_system_can_have_a_network_of_its_own():
    from plan import Plan
    from systems import Tools
    from zero_shot import HERE

    plan = Plan.read(HERE / "zero_shot.toml")
    assert plan.networks(["splade-doc-distilled", "tildev2-distilled"]) == [
        "tilde",
        "splade-doc-distilled",
        "tildev2-distilled",
    ]
    tools = Tools({"splade-doc": "one", "splade-doc-distilled": "another"}, None, Path("work"))
    assert tools.settings(plan.systems["splade-doc"], {}) == {"encoder": "one"}
    assert tools.settings(plan.systems["splade-doc-distilled"], {}) == {"encoder": "another"}


def test_termwise_index_uses_the_choices():
    from plan import Choices, identities
    from zero_shot import HERE

    from termwise.encode import open_document_encoder
    from termwise.models import make_model

    path = HERE / "choices.json"
    if not path.is_file():
        pytest.skip("nothing was chosen yet")
    choices = Choices.read(path)
    for kind in ("tilde", "tildev2"):
        assert choices.encoders[kind] == identities({kind: kind}, "int8")[kind]
        encoder = open_document_encoder(make_model(kind, {}), load=False)
        described = encoder.description
        used = {**described["settings"], "idf_power": encoder.idf_power}
        if kind == "tildev2":
            expansion = described["expansion"]["settings"]
            used |= {
                "expansion_terms": expansion["terms"],
                "counting": expansion["counting"],
                "expansion_lift": expansion.get("lift", 0),
            }
        chosen = choices.settings.get(kind, {})
        assert chosen == {name: str(used[name]) for name in chosen}


def test_seeds_leave_the_run_before_it_is_cut(collections):
    from judged_collection import Judged

    judged = Judged.read("dogs", collections / "dogs", "test")
    run = judged.without_seeds(Run([Ranking(["d3", "d0", "d1"], [3.0, 2.0, 1.0], "q0")]), 2)
    assert run["q0"].doc_ids == ("d3", "d1")
    assert judged.deepest == 1


def test_trimmed_rows_are_those_of_a_smaller_keep(collections, encoders, tmp_path, monkeypatch):
    import indexes
    from judged_collection import Judged

    from termwise.encode import open_document_encoder
    from termwise.models import Tilde

    monkeypatch.setattr(indexes, "LARGEST", 9)
    documents = Judged.read("cats", collections / "cats", "test").documents
    texts = [document.text for document in documents.documents()]
    for keep in (3, 5):
        model = Tilde(encoder=encoders["tilde"], keep=keep)
        small = open_document_encoder(model)
        trimmed = indexes.TrimmedEncoder(documents, tmp_path / "index", model)
        assert trimmed.encode_documents(texts) == small.encode_documents(texts)
        assert trimmed.description == small.description
        assert trimmed.fingerprint == small.fingerprint
    assert len(list(tmp_path.glob("tilde-*.blocks"))) == 1
    assert trimmed.effort.documents == len(texts)


def test_rows_are_cut_in_the_order_of_the_collection(collections, encoders, tmp_path):
    from indexes import TrimmedEncoder
    from judged_collection import Judged

    from termwise.models import Tilde

    documents = Judged.read("cats", collections / "cats", "test").documents
    texts = [document.text for document in documents.documents()]
    with pytest.raises(ParameterError, match="not the next block"):
        TrimmedEncoder(documents, tmp_path / "index", Tilde(encoder=encoders["tilde"])).encode_documents(
            texts[::-1]
        )
    with pytest.raises(ParameterError, match="exact form"):
        TrimmedEncoder(documents, tmp_path / "index", Tilde(encoder=encoders["tilde"], form="exact"))


LARGE = """
[systems.jm]
model = "jm"
analyzer = "english"

[systems.lookup]
model = "lookup"

[systems.large]
mix = ["bm25", "lookup", "jm"]
only_scoring = ["jm"]
feedback = true
"""
"""A mixture with feedback and a part that only scores."""


def with_large(path, mixture=LARGE, feedback="[[1.0, 0.2], [3, 1.0]]"):
    """Write the plan with a mixture and the feedback to try."""
    path.write_text(PLAN.replace("[choose]\n", f"[choose]\nfeedback = {feedback}\n") + mixture)
    return path


def test_feedback_is_chosen_after_the_weights_and_reported(run, tmp_path, lookup_encoder):
    from plan import Choices, Plan, identities

    encoder = lookup_encoder()
    plan = with_large(tmp_path / "plan.toml")
    run("choose", f"--encoder=lookup={encoder}", "--systems=large")
    choices = Choices.read(tmp_path / "choices.json")
    weights, feedback = choices.made
    assert (weights.system, weights.setting) == ("large", "weights")
    assert (feedback.system, feedback.setting, feedback.by) == ("large", "feedback", "large")
    assert [one["value"] for one in weights.tried] == [
        [0.25, 0.25, 0.5],
        [0.25, 0.5, 0.25],
        [0.5, 0.25, 0.25],
    ]
    assert [one["value"] for one in feedback.tried] == [[1.0, 0.2], [3, 1.0]]
    best = max(one["macro"] for one in feedback.tried)
    assert feedback.value in [one["value"] for one in feedback.tried if one["macro"] == best]
    assert feedback.collections == ("cats",)
    documents, weight = feedback.value
    assert choices.feedback == {"large": (int(documents), weight)}
    assert choices.weights == {"large": weights.value}
    assert choices.settings == {}
    known = identities({"lookup": encoder}, None)
    choices.check(Plan.read(plan), known, ["large"])
    for changed in ("[[2, 0.2]]", "[[1.0, 0.2], [3, 1.0]]\nfeedback_tolerance = 0.5"):
        with pytest.raises(CheckFailedError, match="another plan") as raised:
            choices.check(Plan.read(with_large(plan, feedback=changed)), known, ["large"])
        assert "weights" not in str(raised.value)
    without = LARGE.replace('only_scoring = ["jm"]\n', "")
    with pytest.raises(CheckFailedError, match="another plan"):
        choices.check(Plan.read(with_large(plan, without)), known, ["large"])

    with_large(plan)
    out = run("report", f"--encoder=lookup={encoder}", "--systems=large")
    result = json.loads((out / "zero_shot.jsonl").read_text())
    for name in ("cats", "dogs"):
        system = result["collections"][name]["systems"]["large"]
        assert system["facts"]["feedback"] == {"documents": int(documents), "weight": weight}
        assert system["facts"]["weights"] == dict(zip(("bm25", "lookup", "jm"), weights.value, strict=True))
        assert 0 < system["measures"]["nDCG@10"] < 1
    lines = map(json.loads, (out / "zero_shot" / "dogs.jsonl").read_text().splitlines())
    stored = next(line for line in lines if line.get("system") == "large")
    assert stored["inputs"]["feedback"] == [int(documents), weight]
    page = (out / "zero_shot.md").read_text()
    note = next(line for line in page.splitlines() if line.startswith("- large ranks "))
    assert "the first 20 of bm25, lookup, which jm scores, too," in note
    assert "moved towards the first documents (feedback, chosen there, too)." in note
    row = next(line for line in page.splitlines() if line.startswith("| large | feedback |"))
    assert f"| {feedback.value} | [1.0, 0.2], [3, 1.0] | large | cats |" in row


@pytest.mark.parametrize(
    ("means", "losses", "tolerance", "place"),
    [
        ([0.5, 0.6, 0.55], [0.0, -0.2, -0.1], 0.0, 1),
        ([0.5, 0.6, 0.55], [0.0, -0.2, -0.1], 0.1, 2),
        ([0.5, 0.6, 0.55], [0.0, -0.2, -0.1], 0.2, 0),
        ([0.6, 0.6], [-0.1, 0.1], 0.0, 1),
        ([0.6, 0.6], [0.1, 0.1], 0.0, 0),
    ],
)
def test_feedback_near_the_best_mean_is_the_one_with_the_least_loss(means, losses, tolerance, place):
    from dev_choices import least_harm

    assert least_harm(means, losses, tolerance) == place


def test_a_mixture_with_feedback_ranks_with_the_chosen_one(collections, lookup_encoder, tmp_path):
    from judged_collection import Judged
    from plan import Choices, Chosen, Plan
    from systems import Bench, Tools

    from termwise.search import Feedback

    plan = Plan.read(with_large(tmp_path / "plan.toml"))
    judged = Judged.read("cats", collections / "cats", "dev")
    bench = Bench(judged, plan, Tools({"lookup": lookup_encoder()}, None, tmp_path / "work"), Choices())
    system, weights = plan.systems["large"], [0.25, 0.5, 0.25]
    plain = bench.mixture(system, weights).run
    moved = bench.mixture(system, weights, Feedback(3, 1.0)).run
    assert [one.scores.tolist() for one in moved] != [one.scores.tolist() for one in plain]
    made = tuple(
        Chosen(system="large", setting=setting, value=value, by="large", tried=[], plan="")
        for setting, value in (("weights", weights), ("feedback", [3.0, 1.0]))
    )
    outcome = bench.with_choices(Choices(made=made)).outcome("large")
    assert [one.scores.tolist() for one in outcome.run] == [one.scores.tolist() for one in moved]
    assert outcome.facts["feedback"] == {"documents": 3, "weight": 1.0}
    # Parts that only score find no candidates: the union is that of the first two.
    firsts = [
        bench.built(name).searcher.rank_many(judged.queries, k=plan.depth) for name in ("bm25", "lookup")
    ]
    for one in moved:
        found = {doc_id for first in firsts for doc_id in first[one.query_id].doc_ids}
        assert set(one.doc_ids) <= found


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            'mix = ["bm25", "lookup", "jm"]\nonly_scoring = ["jm"]',
            'model = "bm25"',
            "only a mixture has feedback",
        ),
        ('mix = ["bm25", "lookup", "jm"]\nonly_scoring = ["jm"]', 'fuse = ["bm25", "jm"]', "only a mixture"),
        (
            'mix = ["bm25", "lookup", "jm"]\n',
            'fuse = ["bm25", "jm"]\n',
            "only_scoring names some of the parts",
        ),
        ('only_scoring = ["jm"]', 'only_scoring = ["mj"]', "only_scoring names some of the parts"),
        ('only_scoring = ["jm"]', 'only_scoring = ["tilde"]', "only_scoring names some of the parts"),
        ('only_scoring = ["jm"]', 'only_scoring = ["jm", "lookup", "bm25"]', "some of the parts"),
        ('only_scoring = ["jm"]', 'only_scoring = "jm"', "only_scoring = 'jm'"),
        ("feedback = true", "feedback = 1", "feedback = 1"),
    ],
)
def test_plans_with_wrong_feedback_or_parts_are_refused(tmp_path, before, after, said):
    from plan import Plan

    path = with_large(tmp_path / "plan.toml")
    Plan.read(path)
    assert before in LARGE
    with_large(path, LARGE.replace(before, after))
    with pytest.raises(ParameterError) as raised:
        Plan.read(path)
    assert said in str(raised.value)


@pytest.mark.parametrize("feedback", ["[1.0, 0.2]", '[["1", 0.2]]', "0.2"])
def test_feedback_to_try_of_another_type_is_refused(tmp_path, feedback):
    from plan import Plan

    with pytest.raises(ParameterError, match="not valid") as raised:
        Plan.read(with_large(tmp_path / "plan.toml", feedback=feedback))
    assert "feedback = " in str(raised.value)
