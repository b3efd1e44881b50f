"""Production of the shipped encoders: the recipe, and the way from a training to the package."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from termwise.encode import EncoderFolder
from termwise.errors import MissingFileError, ParameterError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from termwise.train.loop import callbacks  # noqa: E402

HERE = Path(__file__).resolve().parents[3] / "experiments" / "shipped_models"


@pytest.fixture
def make():
    import make

    return make


def recipes():
    if not HERE.is_dir():
        return []
    sizes = tomllib.loads((HERE / "recipe.toml").read_text())
    return [(size, name) for size in ("cpu", "gpu") for name in sizes[size]]


@pytest.mark.parametrize(("size", "name"), recipes())
def test_the_recipe_is_read_and_every_departure_has_a_reason(make, size, name):
    from termwise.train.export.card_facts import check_card_facts

    settings = make.settings_of(name, size, Path("base"))
    settings.check_kind(make.kind_of(name))
    card = make.card(name, size)
    check_card_facts(card)
    assert settings.departures(make.kind_of(name)).keys() <= card["reasons"].keys()
    assert "expansion" in card["reasons"]


def test_both_sizes_make_the_same_kinds(make):
    recipe = make.recipe()
    assert set(recipe["cpu"]) == set(recipe["gpu"]) == set(make.NAMES)
    for name in make.NAMES:
        differs = set(recipe["cpu"][name]) ^ set(recipe["gpu"][name])
        assert differs <= {"max_steps", "negative_depth"}, (
            name
        )  # how long, and where hard negatives are looked for
        assert {recipe[size][name].get("kind", name) for size in ("cpu", "gpu")} == {make.kind_of(name)}


def test_every_source_has_its_licence_in_the_card(make):
    import prepare

    assert set(make.card("tilde", "cpu")["data"]) == set(prepare.SOURCES)


# --- from a run to the package --------------------------------------------------------------------------------------


RECIPE = """
[common]
expansion_terms = 3
counting = "new"
expansion_lift = 0.0

[cpu.tilde]
document_length = 12
query_length = 8
batch = 4
epochs = 1
max_steps = 4
precision = "float32"
head_steps = 2
head_pairs = 10
validate_every = 2
validation_queries = 8
curve = true

[cpu.tildev2]
document_length = 12
query_length = 8
batch = 4
negatives = 0
epochs = 1
max_steps = 4
validate_every = 2
validation_queries = 8
curve = true

[cpu.splade-doc-distilled]
kind = "splade-doc"
base = "tilde"
document_length = 12
query_length = 8
batch = 4
negatives = 2
negatives_from = "teacher"
negative_depth = 5
epochs = 1
max_steps = 4
initial_weight = 2.0
query_weights = "idf"
activation = "log1p_relu"
teacher = "base"
teacher_weight = 1.0
sparsity = 0.08
sparsity_budget = 3
validate_every = 2
validation_queries = 8
curve = true
take = "last"
"""


@pytest.fixture
def made(make, tmp_path, monkeypatch):
    """The module `make` with a recipe for toys; what ships goes to ``assets``."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "recipe.toml").write_text(RECIPE)
    (here / "card.toml").write_text((HERE / "card.toml").read_text())
    monkeypatch.setattr(make, "HERE", here)
    monkeypatch.setattr(make, "ASSETS", tmp_path / "assets")
    monkeypatch.setattr(callbacks, "FIRST_POINT", 8)  # pairs: two steps
    threads = torch.get_num_threads()
    yield make
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("shipped")


@pytest.fixture
def work(made, toy, kept):
    """A work folder with pairs, beside a base; both kinds are trained by the first test that asks for it."""
    root = kept / "work"
    if root.exists():
        return root
    air = toy.made_source("air", 40, seed=1)
    records = [{"query": air.queries[i], "passage": air.passages[i]} for i in range(40)]
    toy.write_jsonl(root / "prepared" / "train" / "air.jsonl", *records[:32])
    toy.write_jsonl(root / "prepared" / "validation" / "air.jsonl", *records[32:])
    counts = {"air": {"train": {"pairs": 50, "kept": 32}, "test": {"pairs": 8, "kept": 8}}}
    (root / "prepared" / "counts.json").write_text(json.dumps(counts))
    torch.manual_seed(7)
    toy.save(transformers.BertModel(toy.configuration()), kept / "base")
    run(made, root)
    return root


def run(make: ModuleType, work: Path, *more: str) -> None:
    make.main([f"--work={work}", f"--base={work.parent / 'base'}", "--size=cpu", "--threads=1", *more])


def trained(folder: Path) -> dict[str, object]:
    return dict(EncoderFolder.open(folder).manifest.trained)


def test_a_run_is_shipped_as_trained_and_then_as_chosen(made, work, tmp_path, capsys):
    from plan import Choices, Chosen, identities

    choices = tmp_path / "choices.json"
    run(made, work, "--ship", f"--choices={choices}")
    assets = tmp_path / "assets"
    assert "settings of its training" in capsys.readouterr().out
    for kind in ("tilde", "tildev2"):
        told = trained(assets / kind)
        assert told["left_out"]["pairs"] == 50
        assert told["left_out"]["left_out"] == 18
        assert told["base"] == "all-MiniLM-L6-v2"
        assert told["pairs_seen"] == told["best"]["step"] * 4
        assert told["head_pairs"] == {"tilde": 10, "tildev2": 0}[kind]
        readme = (assets / kind / "README.md").read_text()
        assert f"Saw {told['pairs_seen']:,} pairs in training" in readme
        assert "of 32 that there are" in readme
        assert [path.name for path in assets.joinpath(kind).glob("*.onnx")] == ["model.int8.onnx"]
    shipped = EncoderFolder.open(assets / "tildev2").manifest
    assert shipped.expansion.encoder == EncoderFolder.open(assets / "tilde").id

    known = identities({kind: str(assets / kind) for kind in ("tilde", "tildev2")}, None)
    tried = [{"value": "20", "macro": 0.5, "collections": {"cats": 0.5}}]
    settings = (
        Chosen(system="tilde", setting="length", value="20", by="bm25+tilde", tried=tried, plan=""),
        Chosen(system="tildev2", setting="expansion_terms", value="5", by="tildev2", tried=tried, plan=""),
        Chosen(system="tildev2", setting="idf_power", value="0.25", by="tildev2", tried=tried, plan=""),
    )
    Choices(made=settings, encoders=known).write(choices)
    run(made, work, "--ship", f"--choices={choices}")
    assert EncoderFolder.open(assets / "tilde").manifest.length == 20
    manifest = EncoderFolder.open(assets / "tildev2").manifest
    assert (manifest.length, manifest.expansion.terms, manifest.idf_power) == (12, 5, 0.25)
    assert manifest.trained["trained_with"] == {"expansion_terms": 3, "idf_power": 0.0}
    assert "| idf_power | 0 | 0.25 |" in (assets / "tildev2" / "README.md").read_text()
    # Shipping again changes no network, so that the choices stay those of what ships.
    assert identities({kind: str(assets / kind) for kind in known}, None) == known

    shipped = {path: path.read_bytes() for path in assets.rglob("*") if path.is_file()}
    made.main(["--size=cpu", "--chosen", f"--choices={choices}"])  # what is there already, nothing else
    assert {path: path.read_bytes() for path in assets.rglob("*") if path.is_file()} == shipped
    Choices(made=settings[:1], encoders=known).write(choices)
    made.main(["--size=cpu", "--chosen", f"--choices={choices}"])
    manifest = EncoderFolder.open(assets / "tildev2").manifest
    assert (manifest.length, manifest.expansion.terms, manifest.idf_power) == (12, 3, 0.0)
    assert "trained_with" not in manifest.trained
    assert EncoderFolder.open(assets / "tilde").manifest.length == 20
    with pytest.raises(SystemExit):
        made.main(["--size=cpu"])
    assert "--work and --base" in capsys.readouterr().err

    other = {**known, "tilde": {"id": "sha256:other", "precision": "int8"}}
    Choices(made=settings, encoders=other).write(choices)
    assert made.chosen_for("tilde", choices) == made.chosen_for("tildev2", choices) == {}
    assert "is for other networks" in capsys.readouterr().out


def test_a_card_states_the_result_of_its_network(make, encoders, tmp_path):
    from plan import identities

    value = {"mean": 0.25, "ratio": {"ratio": 1.25, "interval": [1.1, 1.4]}}
    result = {
        "encoders": identities({"tilde": encoders["tilde"]}, None),
        "macro": {"collections": ["cats", "dogs"], "systems": dict.fromkeys(("bm25", "tilde", "bm25+tilde"), value)},
        "config": {"choose": {"measure": "nDCG@10"}},
    }  # fmt: skip
    path = tmp_path / "zero_shot.jsonl"
    assert make.measured(Path(encoders["tilde"]), "tilde", path) == ""
    path.write_text("{}\n" + json.dumps(result) + "\n")
    told = make.measured(Path(encoders["tilde"]), "tilde", path)
    assert "2 judged collections, mean nDCG@10: 0.250 alone" in told
    assert "1.250 times the value of BM25, 95 % interval 1.100 to 1.400" in told
    assert make.measured(Path(encoders["tildev2"]), "tildev2", path) == ""
    result["encoders"]["tilde"]["id"] = "sha256:other"
    path.write_text(json.dumps(result) + "\n")
    assert make.measured(Path(encoders["tilde"]), "tilde", path) == ""


def test_a_chosen_setting_that_manifests_lack_is_refused(make, encoders):
    manifest = EncoderFolder.open(encoders["tilde"]).manifest
    with pytest.raises(ParameterError, match="no place"):
        make.as_chosen(manifest, {"keep": "128"})


def test_removed_pairs_are_stated_for_matching_counts_only(work):
    from prepare import left_out

    assert left_out(work / "prepared", {"air": 32})["left_out"] == 18
    assert left_out(work / "prepared", {"air": 31}) is None
    assert left_out(work / "nowhere", {"air": 32}) is None


def test_checkpoints_become_points_of_a_learning_curve(made, work):
    from learning_curve import checkpoints

    with pytest.raises(MissingFileError, match="kept no points"):
        run(made, work, "--curve=splade-doc")
    run(made, work, "--curve=tilde")
    points = [(seen, folder.name) for seen, folder in checkpoints(work / "curve" / "tilde")]
    assert points == [(8, "checkpoint-2"), (16, "checkpoint-4")]
    told = trained(work / "curve" / "tilde" / "checkpoint-2")
    assert (told["steps"], told["steps_of_the_run"], told["head_pairs"]) == (2, 4, 10)
    best = trained(work / "tilde")["best"]["step"]
    made_in_the_end, point = (
        EncoderFolder.open(folder).manifest.files["model.int8.onnx"].sha256
        for folder in (work / "tilde", work / "curve" / "tilde" / f"checkpoint-{best}")
    )
    assert made_in_the_end == point


def test_a_point_of_tildev2_records_its_expansion(made, work):
    (work / "tildev2" / "training" / "curve" / "checkpoint-4.tmp").mkdir(exist_ok=True)
    run(made, work, "--curve=tildev2")
    manifest = EncoderFolder.open(work / "curve" / "tildev2" / "checkpoint-4").manifest
    assert manifest.expansion.encoder == EncoderFolder.open(work / "tilde").id
    assert (manifest.expansion.terms, manifest.trained["pairs_seen"]) == (3, 16)
    assert manifest.trained["head_pairs"] == 0


def test_a_distilled_encoder_starts_from_tilde_and_ships_its_query_weights(made, work, tmp_path):
    run(made, work, "--only=splade-doc-distilled", "--ship", f"--choices={tmp_path / 'choices.json'}")
    folder = EncoderFolder.open(work / "splade-doc-distilled")
    told = folder.manifest.trained
    assert told["base"] == "tilde, trained from all-MiniLM-L6-v2"
    assert (told["settings"]["teacher"], told["pairs_seen"]) == ("base", 16)
    shipped = EncoderFolder.open(tmp_path / "assets" / "splade-doc")
    assert (shipped.query_weights == folder.query_weights).all()
    assert shipped.query_weights.max() > 0
    assert (
        "| query_weights | counts | idf | a network need not learn"
        in (folder.folder / "README.md").read_text()
    )
    run(made, work, "--curve=splade-doc-distilled")
    point = EncoderFolder.open(work / "curve" / "splade-doc-distilled" / "checkpoint-4")
    assert (point.query_weights == folder.query_weights).all()
    assert point.id == shipped.id
