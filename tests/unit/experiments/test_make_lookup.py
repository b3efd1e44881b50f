"""Production of the shipped lookup encoder: texts, training from vectors computed before, and card."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from termwise.encode import EncoderFolder
from termwise.errors import ParameterError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

HERE = Path(__file__).resolve().parents[3] / "experiments" / "shipped_models"

RECIPE = """
[lookup.texts]
queries = 30
passages = 20
seed = 1

[lookup.training]
length = 12
held_out = 0.1

[lookup.shipping]
largest = {largest}
"""


@pytest.fixture
def made(toy, tmp_path, monkeypatch):
    """The module `make_lookup` with a recipe for toys, and a work folder with pairs; what ships goes to ``assets``."""
    import make_lookup

    here = tmp_path / "here"
    here.mkdir()
    (here / "recipe.toml").write_text(RECIPE.format(largest=100_000))
    monkeypatch.setattr(make_lookup, "HERE", here)
    monkeypatch.setattr(make_lookup, "ASSETS", tmp_path / "assets")
    source = toy.made_source("tldr", 40, seed=1)
    pairs = [
        {"query": query, "passage": passage}
        for query, passage in zip(source.queries, source.passages, strict=True)
    ]
    toy.write_jsonl(tmp_path / "work" / "prepared" / "train" / "tldr.jsonl", *pairs)
    counts = {"tldr": {"train": {"pairs": 50, "kept": 40}, "test": {"pairs": 0, "kept": 0}}}
    (tmp_path / "work" / "prepared" / "counts.json").write_text(json.dumps(counts))
    torch.manual_seed(7)
    toy.save(transformers.BertModel(toy.configuration(num_hidden_layers=1)), tmp_path / "base")
    return make_lookup


def run(made, tmp_path, *more):
    work, base = tmp_path / "work", tmp_path / "base"
    made.main(["lookup", f"--work={work}", f"--teacher={base}", "--threads=1", *more])


@pytest.mark.parametrize(
    ("name", "base"), [("lookup", "all-MiniLM-L6-v2"), ("granite", "granite-embedding-30m-english")]
)
def test_the_recipe_and_the_card_can_be_read(name, base):
    import make

    from termwise.train import LookupSettings
    from termwise.train.export.card_facts import check_card_facts

    recipe = tomllib.loads((HERE / "recipe.toml").read_text())[name]
    LookupSettings.parse({name: str(value) for name, value in recipe["training"].items()})
    card = make.card(name)
    check_card_facts(card)
    assert card["base"]["name"] == base


def test_an_encoder_is_made_and_shipped(made, tmp_path, capsys):
    run(made, tmp_path, "--ship")
    lines = [json.loads(line) for line in (tmp_path / "work" / "texts.jsonl").read_text().splitlines()]
    assert len(lines) == 50  # 30 queries and 20 passages of one sentence
    assert {line["source"] for line in lines} == {"tldr"}
    place = tmp_path / "assets" / "lookup"
    assert sorted(path.name for path in place.iterdir()) == [
        "README.md", "encoder.json", "model.int8.onnx", "query_rows.npy", "query_shifts.npy", "vocab.txt",
    ]  # fmt: skip
    shipped, trained = EncoderFolder.open(place), EncoderFolder.open(tmp_path / "work" / "lookup")
    assert shipped.term_vectors.rows.tobytes() == trained.term_vectors.rows.tobytes()
    assert shipped.manifest.files["model.int8.onnx"] == trained.manifest.files["model.int8.onnx"]
    assert shipped.manifest.trained["teacher"] == "all-MiniLM-L6-v2"
    assert shipped.manifest.trained["left_out"]["left_out"] == 10
    card = (place / "README.md").read_text()
    for expected in (
        "| tldr | 50 | CC BY 4.0 | tldr-pages, English |",
        "Of 50 pairs of query and passage that the texts come from, 10 were left out",
        "all-MiniLM-L6-v2 (Apache-2.0). Training data: 1.17 billion",
        "The document encoder was not trained.",
    ):
        assert expected in card
    assert str(tmp_path) not in card + (place / "encoder.json").read_text()

    vectors = tmp_path / "work" / "lookup" / "training" / "vectors"
    given = tmp_path / "given"
    given.mkdir()
    (vectors / "0000.npy").rename(given / "0000.npy")
    (tmp_path / "here" / "recipe.toml").write_text(
        RECIPE.format(largest=1_000).replace("[lookup.s", "ridge = 9\n[lookup.s")
    )
    capsys.readouterr()
    with pytest.raises(ParameterError, match="too large"):
        run(made, tmp_path, "--ship", f"--vectors={given}")
    assert "50 vectors were in " in capsys.readouterr().err
    assert (given / "0000.npy").samefile(vectors / "0000.npy")
    again = EncoderFolder.open(place)
    assert again.manifest.trained["settings"]["ridge"] == 9
    assert again.id != shipped.id
