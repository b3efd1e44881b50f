"""The translation table that ships with the package."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from termwise.cli.main import run
from termwise.models import Model1
from termwise.text import WordPieceAnalyzer
from termwise.translation import TranslationTable, open_table, shipped_tables
from termwise.translation.table_folder import read_manifest, table_folder

LARGEST = 10_000_000
"""Bytes of a folder, the card included."""

SHIPPED_MODELS = Path(__file__).parents[3] / "experiments" / "shipped_models"


@pytest.fixture(scope="module")
def table() -> TranslationTable:
    return open_table("model1")


def test_the_table_that_model1_is_built_from_ships() -> None:
    assert Model1().table in shipped_tables()


@pytest.mark.parametrize("name", shipped_tables())
def test_the_shipped_table_is_small_and_complete(name: str) -> None:
    open_table(name)  # compares every file with its checksum
    manifest, folder = read_manifest(name), table_folder(name)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= LARGEST
    assert {path.name for path in folder.iterdir()} == {*manifest.files, "translation.json", "README.md"}
    assert manifest.kind == "model1"  # none that a network made, see NOTICE


def test_it_shares_its_numbering_with_the_encoders(table: TranslationTable) -> None:
    assert table.vocabulary == WordPieceAnalyzer.shipped().vocabulary
    assert table.analyzer.name == "wordpiece-clean"


def test_the_card_lists_sources_licences_and_omissions(table: TranslationTable) -> None:
    card = (table_folder("model1") / "README.md").read_text(encoding="utf-8")
    told = table.description
    rows = {
        line.split(" | ")[0].lstrip("| "): line.split(" | ") for line in card.splitlines() if " | " in line
    }
    for source in told["data"]:
        assert rows[source["name"]][1] == f"{source['pairs']:,}"
        assert len(rows[source["name"]][2]) > 2
    assert f"below {told['cut']['least']:g} were left out" in card
    assert f"{told['lost']:.1%}" in card
    assert f"{told['left_out']['left_out']:,} were left out" in card
    assert table.probabilities.min() >= np.float16(told["cut"]["least"]) * 0.999
    if SHIPPED_MODELS.is_dir():
        known = tomllib.loads((SHIPPED_MODELS / "card.toml").read_text())
        assert all(known["data"][source["name"]]["license"] in card for source in told["data"])


def test_the_shipped_table_translates_known_pairs(table: TranslationTable) -> None:
    assert "storm" in [word for word, _ in table.row("hurricane")[:5]]
    assert "cardiac" in [word for word, _ in table.column("heart")[:10]]


def test_the_shipped_table_is_opened_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = {"kat": "The hurricane hit the coast.", "wine": "Grapes are pressed in autumn."}
    source = tmp_path / "docs.jsonl"
    source.write_text(
        "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in documents.items())
    )
    out = str(tmp_path / "docs.tw")
    assert run(["index", str(source), "--model", "model1", "--out", out, "--threads", "1"]) == 0
    capsys.readouterr()
    assert run(["search", out, "tropical storm", "-k", "1", "--json"]) == 0
    assert '"kat"' in capsys.readouterr().out
    assert run(["inspect", out, "--json"]) == 0
    described = json.loads(capsys.readouterr().out)["encoder"]["table"]
    assert described == {"name": "model1", "id": read_manifest("model1").id}
    assert run(["table", "model1", "Hurricane", "-k", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["term"] == "hurricane"
    assert run(["table", "model2", "hurricane"]) == 3
    assert "ship with the package  model1" in capsys.readouterr().err
