"""`export-check` searches the folder of a search box under Node.js."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.unit.export.web.conftest import NODE, PAGES, URL, first_documents, questions

import termwise
from termwise.errors import CorruptIndexError, EngineError, ParameterError
from termwise.export import check_export, export_index
from termwise.export.check import open_engine
from termwise.export.web import node_search

needs_node = pytest.mark.skipif(
    NODE is None, reason="THE CHECK OF STATIC SITES IS NOT TESTED: Node.js is not installed"
)

QUERIES = [termwise.Query(f"q{number}", text) for number, text in enumerate(questions(20))]


def exported(folder: Path, model: str) -> tuple[Path, Path]:
    index, out = folder / "docs.tw", folder / "search"
    termwise.build_index(first_documents(300), index, model=model, store_text=True)
    export_index(index, "web", out, settings={"url": URL})
    return index, out


@needs_node
@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_a_search_folder_returns_the_results_of_its_index(model: str, tmp_path: Path) -> None:
    index, out = exported(tmp_path, model)
    found = check_export(index, out, QUERIES, k=150)  # of 300 documents: all are candidates
    assert found.is_exact
    assert (found.overlap, found.tau) == (1.0, 1.0)
    assert found.results > 20 * len(QUERIES)
    assert (found.native_overlap is not None) == (model == "instant")


@needs_node
@pytest.mark.parametrize(
    "kind", ["terms", "words", "documents", "filter", "bias", "index", "analyzers", "worker"]
)
@pytest.mark.parametrize("is_lost", [True, False], ids=["lost", "changed"])
def test_files_that_are_lost_or_changed_are_named(tmp_path: Path, kind: str, is_lost: bool) -> None:
    index, out = tmp_path / "docs.tw", tmp_path / "search"
    termwise.build_index(PAGES, index, model="dirichlet", store_text=True, attributes="all")
    export_index(index, "web", out)
    queries = [termwise.Query("1", "sorted lists")]
    assert check_export(index, out, queries).is_exact
    file = next(out.glob(f"{kind}-*"))
    data = file.read_bytes()
    file.unlink()
    if not is_lost:
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CorruptIndexError, match="missing or damaged") as caught:
        check_export(index, out, queries)
    assert dict(caught.value.facts)["files"] == file.name


@needs_node
def test_an_error_of_node_is_told(tmp_path: Path) -> None:
    _, out = exported(tmp_path, "bm25")
    for file in out.glob("terms-*"):
        file.write_bytes(b"no gzip stream")
    with (
        pytest.raises(EngineError, match="fails under Node") as caught,
        node_search.node_search(out, []) as search,
    ):
        search.search("list", 3)
    assert re.fullmatch(r"Error: terms-[0-9a-f]{12}\.bin: damaged", str(dict(caught.value.facts)["reason"]))


def test_damaged_descriptions(tmp_path: Path) -> None:
    index, out = exported(tmp_path, "bm25")
    described = json.loads((out / "search.json").read_bytes())
    for name in ("format", "target", "source", "generation", "parts"):
        for value in (None, [3], [{}]):
            (out / "search.json").write_text(json.dumps({**described, name: value}))
            with pytest.raises(CorruptIndexError, match="description of the export"):
                check_export(index, out, QUERIES)


def test_bad_input_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, out = exported(tmp_path, "bm25")
    with pytest.raises(ParameterError, match="without a filter") as caught:
        check_export(index, out, QUERIES, filter="a = 1")
    assert [str(fix) for fix in caught.value.fixes] == ["omit `filter`"]
    with pytest.raises(ParameterError, match="without a filter"):
        check_export(index, out, QUERIES, at="http://localhost")
    with pytest.raises(ParameterError, match="no engine holds"), open_engine(out, None):
        pass
    monkeypatch.setattr(node_search, "PROGRAM", "no-such-program")
    with pytest.raises(EngineError, match="not installed"):
        check_export(index, out, QUERIES)
    export_index(index, "web", out, settings={"url": URL})
    with termwise.open_writer(index) as writer:
        writer.delete(first_documents(1)[0].doc_id)
    with pytest.raises(ParameterError, match="before its last change"):
        check_export(index, out, QUERIES)
