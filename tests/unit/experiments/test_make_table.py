"""Production of the shipped translation table: training, pruning to size, and card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from termwise.errors import ParameterError
from termwise.translation import open_table
from termwise.translation.table_folder import read_manifest

HERE = Path(__file__).resolve().parents[3] / "experiments" / "shipped_models"

PAIRS = [
    ("the car stops", "an automobile stops"),
    ("fix the car", "repair of the automobile"),
    ("fix it", "a repair"),
]

RECIPE = """
[model1.training]
analyzer = "standard"
iterations = 2

[model1.shipping]
precision = "float16"
largest = {largest}
least = [0.001, 0.2, 0.9]
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The module `make_table` with a recipe for toys, and a work folder with pairs; what ships goes to ``assets``."""
    import make_table

    here = tmp_path / "here"
    here.mkdir()
    (here / "card.toml").write_text((HERE / "card.toml").read_text())
    (here / "recipe.toml").write_text(RECIPE.format(largest=100_000))
    monkeypatch.setattr(make_table, "HERE", here)
    monkeypatch.setattr(make_table, "ASSETS", tmp_path / "assets")
    train = tmp_path / "work" / "prepared" / "train"
    train.mkdir(parents=True)
    with (train / "tldr.jsonl").open("w") as file:
        file.writelines(json.dumps({"query": query, "passage": passage}) + "\n" for query, passage in PAIRS)
    counts = {"tldr": {"train": {"pairs": 5, "kept": 3}, "test": {"pairs": 0, "kept": 0}}}
    (tmp_path / "work" / "prepared" / "counts.json").write_text(json.dumps(counts))
    return make_table


def ship(made, tmp_path, *more):
    made.main([f"--work={tmp_path / 'work'}", "--threads=1", "--ship", *more])
    return tmp_path / "assets" / "model1"


def test_the_recipe_has_settings_of_model1():
    import tomllib

    from termwise.translation import Model1Settings

    recipe = tomllib.loads((HERE / "recipe.toml").read_text())["model1"]
    Model1Settings.parse({name: str(value) for name, value in recipe["training"].items()})
    assert recipe["shipping"]["largest"] <= 10_000_000
    assert recipe["shipping"]["least"] == sorted(recipe["shipping"]["least"])


def test_a_table_is_trained_once_and_shipped_with_its_card(made, tmp_path, capsys):
    place = ship(made, tmp_path)
    trained = open_table(tmp_path / "work" / "model1")
    shipped = open_table(place)
    assert read_manifest(place).precision == "float16"
    assert shipped.nnz == trained.nnz == shipped.description["entries"]
    card = (place / "README.md").read_text()
    assert "| tldr | 3 | CC BY 4.0 | tldr-pages, English |" in card
    assert "Of 5 pairs 2 were left out: their query" in card
    assert f"| 2 | {trained.description['perplexities'][1]:,.2f} |" in card
    assert "| targets.npy | " in card
    capsys.readouterr()
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    assert {path.name: path.read_bytes() for path in ship(made, tmp_path).iterdir()} == before
    assert "perplexities" not in capsys.readouterr().out


def test_the_first_sufficient_threshold_is_used(made, tmp_path):
    whole = sum(path.stat().st_size for path in ship(made, tmp_path).iterdir())
    (tmp_path / "here" / "recipe.toml").write_text(RECIPE.format(largest=whole - 1))
    place = ship(made, tmp_path)
    shipped, trained = open_table(place), open_table(tmp_path / "work" / "model1")
    assert shipped.nnz == (trained.probabilities >= 0.2).sum() < trained.nnz
    told = shipped.description
    assert told["cut"] == {
        "least": 0.2,
        "entries_before": trained.nnz,
        "lost_before": trained.description["lost"],
    }
    rest = 1 - sum(
        count * sum(chance for _, chance in trained.row(word) if chance >= 0.2)
        for word, count in zip(trained.vocabulary, trained.occurrences.tolist(), strict=True)
    ) / int(trained.occurrences.sum())
    assert told["lost"] == pytest.approx(rest, abs=1e-6)
    assert sum(path.stat().st_size for path in place.iterdir()) < whole
    (tmp_path / "here" / "recipe.toml").write_text(RECIPE.format(largest=10))
    with pytest.raises(ParameterError, match="no threshold"):
        ship(made, tmp_path)


def test_a_finished_table_needs_the_same_pairs_and_settings(made, tmp_path):
    place = ship(made, tmp_path)
    (tmp_path / "work" / "model1").rename(tmp_path / "elsewhere")
    assert ship(made, tmp_path, f"--table={tmp_path / 'elsewhere'}") == place
    assert not (tmp_path / "work" / "model1").exists()
    recipe = (tmp_path / "here" / "recipe.toml").read_text()
    (tmp_path / "here" / "recipe.toml").write_text(recipe.replace("iterations = 2", "iterations = 3"))
    with pytest.raises(ParameterError, match="settings of the recipe"):
        ship(made, tmp_path, f"--table={tmp_path / 'elsewhere'}")
    with (tmp_path / "work" / "prepared" / "train" / "tldr.jsonl").open("a") as file:
        file.write(json.dumps({"query": "more", "passage": "of it"}) + "\n")
    with pytest.raises(ParameterError, match="come from the pairs"):
        ship(made, tmp_path, f"--table={tmp_path / 'elsewhere'}")
