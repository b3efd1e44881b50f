"""The study of queries by example on collections of fifty documents."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from termwise.collection import read_qrels, read_run
from termwise.errors import (
    DataError,
    MalformedRecordError,
    MissingFileError,
    ParameterError,
    UnknownNameError,
)
from termwise.evaluate import evaluate

PLAN = """
name = "small"
title = "Small"
source = "nobody"
measures = ["nDCG@10", "AP"]
graded = ["AP(rel=2)"]
depth = 30
first = "bm25"
shares = 11
level = 0.05

[[collections]]
name = "dogs"
split = "test"
folds = 2
paper = "_"

[[collections]]
name = "cats"
split = "test"
choose = "dev"
candidates = "judged"

[systems.bm25]
title = "BM25"
model = "bm25"
analyzer = "english"

[systems.lm]
title = "LM"
model = "jm"
analyzer = "stm2"
variants = [{ lambda = "0.1" }, { lambda = "0.7" }]

[systems.tildev2]
title = "TILDEv2"
encoder = "two"
settings = { expansion_encoder = "one", expansion_terms = "2" }
variants = [{}, { weigh = { counts = "once" } }]

[systems.absent]
title = "absent"
encoder = "nowhere"

[systems.mixed]
title = "BM25 + TILDEv2"
mix = ["bm25", "tildev2"]

[[tables]]
name = "one"
title = "All"
rows = ["bm25", "lm", "tildev2", "absent", "mixed"]

[[targets]]
collection = "dogs"
systems = ["mixed"]
over = "bm25"
measures = ["nDCG@10"]
ratio = 0.5
"""


@pytest.fixture
def study(tmp_path, encoders, collections):
    import study

    (tmp_path / "plan.toml").write_text(PLAN)

    def run(*more):
        given = [str(tmp_path / "plan.toml"), "--work", str(tmp_path / "work"), "--threads", "1"]
        given += ["--collections", str(collections), "--out", str(tmp_path / "out")]
        given += ["--network", f"one={encoders['tilde']}", "--network", f"two={encoders['tildev2']}"]
        study.main([*given, *more])
        return json.loads((tmp_path / "out" / "small.json").read_text())

    return run


def test_the_whole_study(study, tmp_path):
    found = study()
    assert set(found["collections"]) == {"dogs", "cats"}
    assert found["networks"].keys() == {"one", "two"}
    for entry in found["collections"].values():
        rows = entry["rows"]
        assert entry["queries"] == 10
        assert entry["measures"] == ["nDCG@10", "AP"], "no judgment has grades"
        assert rows["absent"]["not run"] == "no network nowhere was named"
        shares = entry["shares"]["mixed"]["measures"]["nDCG@10"]
        fixed = np.array(shares["means"])
        assert shares["nearest"]["oracle"] >= fixed.max() - 1e-9
        assert shares["smallest"]["mean alpha"] <= shares["nearest"]["mean alpha"]
        assert fixed[-1] == pytest.approx(rows["bm25"]["measures"]["nDCG@10"], abs=1e-5)
        fused = dict(zip(entry["query_ids"], rows["mixed"]["values"]["nDCG@10"], strict=True))
        assert all(best >= fused[query_id] - 1e-5 for query_id, best in shares["oracle, each"].items())
    assert found["targets"][0]["reached"]
    page = (tmp_path / "out" / "small.md").read_text()
    assert "## Targets" in page
    assert "absent: no network nowhere was named" in page
    assert (tmp_path / "out" / "small_dogs.svg").read_text().startswith("<?xml")
    report = (tmp_path / "work" / "small.html").read_text()
    assert report.count("<circle") == 20
    assert "default-src 'none'" in report
    assert "Queries that gain and lose most" in report


def test_choices_are_made_on_other_queries(study):
    found = study()
    folded = found["collections"]["dogs"]["rows"]["lm"]["chosen"]
    assert [(part["reported"], part["choosing"]) for part in folded] == [(5, 5), (5, 5)]
    split = found["collections"]["cats"]["rows"]["lm"]["chosen"]
    assert [(part["reported"], part["choosing"]) for part in split] == [(10, 10)]


def test_a_second_run_gives_the_same_result(study):
    one, two = study(), study()
    for name in one["collections"]:
        assert one["collections"][name]["rows"] == two["collections"][name]["rows"]


def test_the_document_of_a_query_is_not_in_its_results(tmp_path, encoders, collections):
    from rankers import Bench, Tools
    from study_plan import Plan

    (tmp_path / "plan.toml").write_text(PLAN)
    plan = Plan.read(tmp_path / "plan.toml")
    tools = Tools({"one": encoders["tilde"], "two": encoders["tildev2"]}, {}, tmp_path / "work")
    bench = Bench(plan.collections[0], plan, tools, collections)
    for name in ("bm25", "tildev2"):
        system = plan.systems[name]
        for ranking in bench.run(system, system.variants[0]):
            assert f"d{ranking.query_id[1:]}" not in ranking.doc_ids
    assert all(qrel.doc_id != f"d{qrel.query_id[1:]}" for qrel in bench.qrels)


def test_only_judged_candidates_are_ranked(tmp_path, encoders, collections):
    from rankers import Bench, Tools
    from study_plan import Plan

    (tmp_path / "plan.toml").write_text(PLAN)
    plan = Plan.read(tmp_path / "plan.toml")
    bench = Bench(plan.collections[1], plan, Tools({}, {}, tmp_path / "work"), collections)
    judged = {
        (qrel.query_id, qrel.doc_id) for qrel in read_qrels(collections / "cats" / "qrels" / "test.tsv")
    }
    run = bench.run(plan.systems["bm25"], {})
    found = {(one.query_id, doc_id) for one in run for doc_id in one.doc_ids if int(one.query_id[1:]) < 10}
    assert found == judged
    alone = evaluate(run, bench.qrels, ["AP"]).means["AP"]
    assert alone == 1.0, "all candidates are relevant here"


def test_letters_by_hand(tmp_path, encoders, collections):
    """A run that is always right is significantly better than one that is always wrong."""
    from rankers import Bench, Tools
    from study import lettered
    from study_plan import Plan

    from termwise import Ranking, Run

    (tmp_path / "plan.toml").write_text(PLAN)
    plan = Plan.read(tmp_path / "plan.toml")
    bench = Bench(plan.collections[0], plan, Tools({}, {}, tmp_path / "work"), collections)
    relevant = {qrel.query_id: qrel.doc_id for qrel in bench.qrels}
    first = {"good": 1, "bad": 6, "also bad": 6}
    runs = []
    for name, rank in first.items():
        rankings = []
        for place, (query_id, doc_id) in enumerate(relevant.items()):
            others = [f"x{number}" for number in range(rank - 1 + place % 2)]
            doc_ids = [*others, doc_id]
            rankings.append(Ranking(doc_ids, np.arange(len(doc_ids), 0, -1.0), query_id))
        runs.append(Run(rankings, name))
    assert lettered(bench, runs, 0.05)["nDCG@10"] == {"good": "bc", "bad": "", "also bad": ""}


def test_the_plan_of_the_repository_is_valid():
    from study_plan import Plan
    from tests.unit.experiments.conftest import EXPERIMENTS

    plan = Plan.read(EXPERIMENTS / "by_example" / "study.toml")
    assert {"table 1", "table 2", "table 3"} == {table.name for table in plan.tables}


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('mix = ["bm25", "tildev2"]', 'mix = ["bm25", "tilde"]', UnknownNameError),
        ('mix = ["bm25", "tildev2"]', 'mix = ["bm25", "mixed"]', ParameterError),
        ('mix = ["bm25", "tildev2"]', 'mix = ["bm25"]', ParameterError),
        ('choose = "dev"', "", ParameterError),
        ("folds = 2", "folds = 1", ParameterError),
        ("folds = 2", 'folds = "2"', ParameterError),
        ("depth = 30", "deep = 30", ParameterError),
        ("depth = 30", "depth = 0", ParameterError),
        ("shares = 11", "shares = 0", ParameterError),
        ("level = 0.05", 'level = "x"', ParameterError),
        ('measures = ["nDCG@10", "AP"]', 'measures = "AP"', ParameterError),
        ('name = "small"', 'name = "../small"', ParameterError),
        ('name = "cats"', 'name = "dogs"', ParameterError),
        ('name = "cats"', 'name = "a/b"', ParameterError),
        ('candidates = "judged"', 'candidates = "judgd"', UnknownNameError),
        ('over = "bm25"', 'over = "lm"', ParameterError),
        ('collection = "dogs"', 'collection = "birds"', UnknownNameError),
        ('measures = ["nDCG@10"]\nratio', 'measures = ["nDCG@11"]\nratio', UnknownNameError),
        ('first = "bm25"', 'first = "mixed"', ParameterError),
        ("variants = [{}, {", "variants = []\nother = [{}, {", ParameterError),
        ("[systems.bm25]", "[systems", MalformedRecordError),
    ],
)
def test_invalid_plans_are_refused(tmp_path, old, new, error):
    from study_plan import Plan

    (tmp_path / "plan.toml").write_text(PLAN.replace(old, new))
    with pytest.raises(error):
        Plan.read(tmp_path / "plan.toml")


def test_missing_and_malformed_plans_are_refused(tmp_path):
    from study_plan import Plan

    with pytest.raises(MissingFileError):
        Plan.read(tmp_path / "nowhere.toml")


def test_invalid_collections_are_refused(study, collections, tmp_path):
    queries = collections / "dogs" / "queries.jsonl"
    whole = queries.read_text()
    queries.write_text("".join(line for line in whole.splitlines(keepends=True) if '"q3"' not in line))
    with pytest.raises(DataError, match="has no text"):
        study()
    queries.write_text(whole)
    qrels = collections / "dogs" / "qrels" / "test.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\nq0\td20\t1\n")
    with pytest.raises(DataError, match="no other queries are left for choices"):
        study()
    assert not (tmp_path / "out").exists()


def test_unknown_collections_are_refused(study):
    with pytest.raises(UnknownNameError, match="collection of the plan"):
        study("--only", "birds")


def test_a_cross_encoder_reranks_the_head(tmp_path, toy, collections):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from rankers import Bench, Tools
    from study_plan import Plan

    from termwise.text import WordPieceAnalyzer
    from termwise.yardsticks.rerankers.cross_encoder import CrossEncoder
    from termwise.yardsticks.rerankers.folder import write_scorer
    from termwise.yardsticks.rerankers.settings import Reading

    torch.manual_seed(1)
    base = toy.save(transformers.BertModel(toy.configuration(initializer_range=0.5)), tmp_path / "base")
    folder = tmp_path / "crossed"
    reading = Reading(query_length=20, chunk_length=40)
    write_scorer(
        CrossEncoder.from_base(base, reading), WordPieceAnalyzer.from_file(base / "vocab.txt"), folder
    )
    crossed = """[systems.crossed]
title = "crossed"
cross_encoder = "crossed"
settings = { document_length = "8" }
depth = 3

[[tables]]"""
    (tmp_path / "plan.toml").write_text(PLAN.replace("[[tables]]", crossed, 1))
    plan = Plan.read(tmp_path / "plan.toml")
    bench = Bench(
        plan.collections[0], plan, Tools({"crossed": str(folder)}, {}, tmp_path / "work"), collections
    )
    first, run = (bench.run(plan.systems[name], {}) for name in ("bm25", "crossed"))
    for ranking in first:
        assert set(run[ranking.query_id].doc_ids[:3]) == set(ranking.doc_ids[:3])
        assert run[ranking.query_id].doc_ids[3:] == ranking.doc_ids[3:]
    (kept,) = bench.work.glob("crossed-*.trec")
    assert len(read_run(kept)) == len(first)


@pytest.mark.parametrize(("folder", "longest"), [("by_example", 512), ("probes", 256)])
def test_the_recipes_are_valid(folder, longest):
    pytest.importorskip("torch")
    from tests.unit.experiments.conftest import EXPERIMENTS, module_of

    from termwise.train.settings import TrainSettings
    from termwise.yardsticks.rerankers.kinds import network_type

    about = module_of("train_by_example", EXPERIMENTS / "by_example" / "train.py").ABOUT_TRAINING
    recipe = tomllib.loads((EXPERIMENTS / folder / "recipe.toml").read_text())
    for entry in (entry for size in recipe.values() for entry in size.values()):
        settings = {name: str(value) for name, value in entry.items() if name not in about}
        if entry["kind"] == "cross-encoder":
            assert network_type("cross-encoder").settings_type.parse(settings).longest <= longest
        elif entry["kind"] != "vocabulary":
            assert TrainSettings.for_kind(entry["kind"], settings).document_length <= longest


def test_halves_of_a_text():
    from training_pairs import halves

    text = "One is. Two is. Three is. Four is."
    ((query, passage),) = halves([("Title", text), ("Title", text), ("Short", "One is. Two is.")])
    words = sorted(f"{query} {passage}".split())
    assert words == sorted(f"Title. {text}".split())
    assert "One" in query.split() + passage.split()
    assert not set(query.split()) & set(passage.split()) - {"is."}


def test_folds_by_paper():
    from rankers import folds_by_paper

    asked = [f"p{number}_{facet}" for number in range(9) for facet in ("background", "result")]
    parts = folds_by_paper(asked, 2, "_")
    assert sorted(one for part in parts for one in part.reported) == sorted(asked)
    for part in parts:
        assert not {one[:2] for one in part.reported} & {one[:2] for one in part.choosing}
        assert len(part.reported) + len(part.choosing) == len(asked)


def test_neighbours_of_whole_abstracts():
    from training_pairs import NEAREST, drawn_neighbours, with_titles

    assert with_titles([("A title.", " One. "), ("Another", "One."), ("", "Two.")]) == [
        "A title. One.",
        "Two.",
    ]
    angles = np.arange(12) * np.pi / 6
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    texts = [f"text {place}" for place in range(12)]
    drawn = drawn_neighbours(texts, vectors)
    cosines = vectors @ vectors.T
    for row, other in enumerate(drawn):
        nearer = (cosines[row] > cosines[row, other] + 1e-6).sum() - 1  # but itself
        assert other != row
        assert nearer < NEAREST
    assert len({(other - row) % 12 for row, other in enumerate(drawn)}) > 1, "drawn, not the nearest always"
    assert drawn == drawn_neighbours(texts, vectors)
    twice = np.concatenate([vectors, vectors[:1]])
    assert drawn_neighbours([*texts, "again"], twice)[0] != 12, "the same paper is no neighbour"
