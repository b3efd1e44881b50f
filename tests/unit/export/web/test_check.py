"""`export-check` of a search folder: it is searched under Node.js."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.export.web.conftest import NODE, URL, first_documents, questions

import termwise
from termwise.errors import EngineError, ParameterError
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
def test_a_folder_that_lost_a_file_is_named(tmp_path: Path) -> None:
    index, out = exported(tmp_path, "bm25")
    for path in out.glob("terms-*"):
        path.unlink()
    with pytest.raises(EngineError, match="fails under Node") as caught:
        check_export(index, out, QUERIES)
    assert "terms-" in str(dict(caught.value.facts)["reason"])


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
