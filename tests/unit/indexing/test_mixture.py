"""`build_index` with a recipe: the indexes of several models side by side."""

from __future__ import annotations

import numpy as np
import pytest

import termwise
from termwise import BuildOptions, Document, build_index
from termwise.errors import ForeignFolderError, IndexExistsError, ParameterError, UnknownNameError
from termwise.indexing import default_encoding, recipes
from termwise.indexing.recipes import BEST, RECIPES, Recipe, RecipePart
from termwise.indexing.work_folder import check_outside_indexes
from termwise.models import model_names

DOCUMENTS = [Document(f"d{n}", f"merge list {n}") for n in range(5)]


@pytest.fixture(autouse=True)
def counts_only(monkeypatch):
    """Replace the recipe by one of two count models."""
    parts = (RecipePart("bm25", 0.25), RecipePart("jm", 0.75, {"lambda": "0.5"}))
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe(parts, depth=3))


def test_the_name_of_a_recipe_is_no_model():
    assert not set(RECIPES) & set(model_names())


def test_parts_side_by_side(tmp_path):
    stages = []
    mixture = build_index(
        iter(DOCUMENTS),
        tmp_path / "m",
        model="best",
        store_text=True,
        options=BuildOptions(progress=lambda stage, done, total: stages.append(stage)),
    )
    assert len(mixture.parts) > 1
    assert [(part.name, part.weight) for part in mixture.parts] == [("bm25", 0.25), ("jm", 0.75)]
    assert mixture.backend.depth == 3
    assert [part.index.stores_text for part in mixture.parts] == [True, False]
    assert mixture.parts[1].index.manifest.encoder.json["model"]["parameters"]["lambda"] == 0.5
    assert {stage.partition(": ")[0] for stage in stages} == {"bm25", "jm"}
    assert termwise.open(tmp_path / "m").rank("merge 3").doc_ids[0] == "d3"


def test_rebuilding(tmp_path):
    build_index(DOCUMENTS, tmp_path / "m", model="best")
    with pytest.raises(IndexExistsError):
        build_index(DOCUMENTS, tmp_path / "m", model="best")
    again = build_index(DOCUMENTS[:3], tmp_path / "m", model="best", overwrite=True)
    assert again.documents == 3
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["bm25-2", "jm-2", "mixture.json"]


def test_an_interrupted_build_is_built_again(tmp_path, monkeypatch):
    bad = Recipe((RecipePart("bm25", 0.5), RecipePart("no-such-model", 0.5)))
    with monkeypatch.context() as patch:
        patch.setitem(recipes.RECIPES, BEST, bad)
        with pytest.raises(UnknownNameError):
            build_index(DOCUMENTS, tmp_path / "m", model="best")
    assert not (tmp_path / "m").exists()
    build_index(DOCUMENTS[:2], tmp_path / "m" / "bm25")  # what a killed build leaves
    default_encoding(tmp_path / "m" / "jm").mkdir()
    (tmp_path / "m" / "mixture.building").write_text("bm25\njm\n")
    assert build_index(DOCUMENTS, tmp_path / "m", model="best").documents == 5


def test_a_pipe_is_read_into_memory(tmp_path):
    import os
    import threading

    os.mkfifo(tmp_path / "docs.jsonl")
    lines = "".join(f'{{"_id": "{document.doc_id}", "text": "{document.text}"}}\n' for document in DOCUMENTS)
    writer = threading.Thread(target=lambda: (tmp_path / "docs.jsonl").write_text(lines))
    writer.start()
    mixture = build_index(tmp_path / "docs.jsonl", tmp_path / "m", model="best")
    writer.join()
    assert mixture.documents == 5
    assert np.isfinite(mixture.rank("merge 3").scores).all()


def test_settings_are_fixed(tmp_path):
    with pytest.raises(ParameterError, match="fixed settings"):
        build_index(DOCUMENTS, tmp_path / "m", model="best", options=BuildOptions(quantiser="float32"))
    assert not (tmp_path / "m").exists()


def test_the_analyzer_is_that_of_the_words(tmp_path):
    mixture = build_index(DOCUMENTS, tmp_path / "m", model="best", analyzer="whitespace")
    assert mixture.parts[0].backend.encoder.analyzer.spec.name == "whitespace"


def test_indexes_of_the_user_are_never_removed(tmp_path):
    mine = tmp_path / "mine"
    for name in ("bm25", "jm"):
        build_index(DOCUMENTS, mine / name, model=name)
    before = sorted(path.relative_to(mine) for path in mine.rglob("*"))
    for overwrite in (False, True):
        with pytest.raises(ForeignFolderError, match="do not belong to a mixture; nothing was changed"):
            build_index(DOCUMENTS, mine, model="best", overwrite=overwrite)
    assert sorted(path.relative_to(mine) for path in mine.rglob("*")) == before


def test_an_index_inside_a_mixture_stays(tmp_path):
    path = tmp_path / "m"
    build_index(DOCUMENTS, path, model="best")
    build_index(DOCUMENTS, path / "extra", model="jm")
    with pytest.raises(ForeignFolderError, match="nothing was changed"):
        build_index(DOCUMENTS, path, model="best", overwrite=True)
    assert termwise.open(path).rank("merge").doc_ids
    assert (path / "extra" / "manifest.json").is_file()


def test_a_work_folder_does_not_lie_inside_a_mixture(tmp_path):
    build_index(DOCUMENTS, tmp_path / "m", model="best")
    with pytest.raises(ParameterError, match="lies inside an index"):
        check_outside_indexes(tmp_path / "m" / "enc")


def test_folders_of_a_killed_build_are_replaced(tmp_path):
    path = tmp_path / "m"
    path.mkdir()
    build_index(DOCUMENTS[:2], path / "bm25", model="bm25")
    (path / "jm.encoding").mkdir()
    with pytest.raises(ForeignFolderError, match="nothing was changed"):
        build_index(DOCUMENTS, path, model="best")
    (path / "mixture.building").write_text("bm25\njm\n../other\n")  # written before the folders
    assert build_index(DOCUMENTS, path, model="best").documents == len(DOCUMENTS)
    assert not (path / "mixture.building").exists()


def test_a_killed_build_of_another_mixture_leaves_nothing(tmp_path):
    path = tmp_path / "m"
    (path / "lookup").mkdir(parents=True)
    (path / "lookup.encoding").mkdir()
    (path / "mixture.building").write_text("bm25\nlookup\n")
    build_index(DOCUMENTS, path, model="best")
    assert sorted(entry.name for entry in path.iterdir() if entry.is_dir()) == ["bm25", "jm"]
    build_index(DOCUMENTS, path, model="best", overwrite=True)
