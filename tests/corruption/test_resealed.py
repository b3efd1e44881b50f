"""Indexes that were changed with recomputed checksums.

An index may come from somebody else, so checksums prove nothing: every number of a file is a position a kernel may
follow. `verify` compares the parts with each other, and using such an index must be harmless.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document, build_index
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage, score_documents
from termwise.errors import CorruptIndexError, DataError, IndexFormatError
from termwise.index import Index, verify
from termwise.weights import TermWeights


@pytest.mark.parametrize("compiled", [True, False])
def test_every_number_of_every_section_changed_to_extremes(
    impacts: Path, floats: Path, texts: Path, vectors: Path, run: Callable[..., Any], compiled: bool
) -> None:
    folders = [f"{impacts}:{3 if compiled else 1}", f"{floats}:3", f"{texts}:{4 if compiled else 2}"]
    folders.append(f"{vectors}:{4 if compiled else 2}")
    result = run("reseal", *folders, **({} if compiled else {"NUMBA_DISABLE_JIT": "1"}))
    assert sum(result["impacts"]["changed"].values()) > 100
    # Postings, biases and terms are stored twice, so that every single change is noticed. Identifiers, texts, floors,
    # real weights and vectors can have any value.
    for name, found in result.items():
        free = {"floors", "query_weights", "ids.data", "ids.offsets", "groups.data", "texts.start"}
        free |= {
            "vectors.starts",
            "vectors.rows",
            "vectors.scales",
            "term_vectors.rows",
            "term_vectors.shifts",
        }
        if name == "floats":
            free |= {"forward.starts", "forward.terms", "forward.impacts"}
        assert {section for section, count in found["unnoticed"].items() if count} <= free


def test_an_unchanged_file_with_new_checksums_is_valid(impacts: Path, reseal: ModuleType) -> None:
    before = {path.name: path.read_bytes() for path in impacts.iterdir()}
    for kind in ("terms", "segment", "ids"):
        reseal.change(impacts, kind, lambda data: None)
    assert {path.name: path.read_bytes() for path in impacts.iterdir()} == before
    assert verify(impacts) == []


@pytest.mark.parametrize(
    ("kind", "section", "position", "value", "what"),
    [
        ("vectors", "vectors.starts", 0, 1, "the windows of the documents are out of order"),
        ("vectors", "vectors.starts", 2, 1, "the windows of the documents are out of order"),
        ("vectors", "vectors.starts", 3, 4, "the windows of the documents are out of order"),
        ("vectors", "vectors.scales", 1, 0, "the scale of a vector is not from 2^-100 to 2^100"),
        ("vectors", "vectors.scales", 0, 0x7F000000, "the scale of a vector is not from 2^-100 to 2^100"),
        ("vectors", "vectors.scales", 1, 0x7FC00000, "the scale of a vector is not from 2^-100 to 2^100"),
        ("vectors", "vectors.rows", 5, 0x80, "a number of a vector is below -127"),
        ("terms", "term_vectors.rows", 4, 0x80, "a number of a term vector is below -127"),
    ],
)
def test_verify_reports_vectors_that_cannot_be(
    vectors: Path, reseal: ModuleType, kind: str, section: str, position: int, value: int, what: str
) -> None:
    path = reseal.change(vectors, kind, reseal.put(section, position, value))
    (damage,) = verify(vectors)
    assert (damage.file, damage.what) == (path.name, what)


@pytest.mark.parametrize(("position", "value"), [(0, 1), (2, 1), (3, 4)])
def test_windows_out_of_order_change_no_ranking(
    vectors: Path, reseal: ModuleType, position: int, value: int
) -> None:
    path = reseal.change(vectors, "vectors", reseal.put("vectors.starts", position, value))
    index = Index.open(vectors)
    for term in np.flatnonzero(index.term_vectors.known).tolist():
        query = query_vector(index, TermWeights.from_rows([{term: 1.0}], index.manifest.vocabulary))
        for use in (
            lambda query=query: first_stage(index, query, 1),
            lambda query=query: score_documents(index, query, np.array([0])),
        ):
            with pytest.raises(CorruptIndexError) as caught:
                use()
            facts = dict(caught.value.facts)
            assert (facts["file"], str(facts["expected"])[:24]) == (path, "windows in order, from 0")


@pytest.mark.parametrize("scale", [0.0, 2.0**-101, 2.0**101])
def test_a_scale_of_the_terms_out_of_range_is_damage(vectors: Path, reseal: ModuleType, scale: float) -> None:
    body = reseal.read_manifest(vectors)
    body["vectors"]["scale"] = scale
    reseal.write_manifest(vectors, body)
    with pytest.raises(CorruptIndexError) as caught:
        Index.open(vectors)
    facts = dict(caught.value.facts)
    assert facts["file"] == vectors / "manifest.json"
    assert (facts["expected"], facts["seen"]) == ("a vectors.scale from 2^-100 to 2^100", scale)


def test_a_scale_of_a_window_out_of_range_is_damage(vectors: Path, reseal: ModuleType) -> None:
    path = reseal.change(vectors, "vectors", reseal.put("vectors.scales", 0, 0x7F800000))
    index = Index.open(vectors)
    term = int(np.flatnonzero(index.term_vectors.known)[0])
    row = TermWeights.from_rows([{term: 1.0}], index.manifest.vocabulary)
    query = query_vector(index, row)
    for use in (lambda: first_stage(index, query, 1), lambda: score_documents(index, query, np.array([0]))):
        with pytest.raises(CorruptIndexError) as caught:
            use()
        facts = dict(caught.value.facts)
        assert (facts["file"], facts["seen"]) == (path, "inf")


def test_a_shift_that_is_too_large_is_damage(vectors: Path, reseal: ModuleType) -> None:
    path = reseal.change(vectors, "terms", reseal.put("term_vectors.shifts", 1, 16))
    with pytest.raises(CorruptIndexError) as caught:
        Index.open(vectors)
    assert dict(caught.value.facts)["file"] == path


@pytest.mark.parametrize(
    ("kind", "section", "position", "value", "what"),
    [
        ("segment", "forward.starts", 1, 5, "row boundaries are out of order"),
        ("segment", "forward.starts", 0, 1, "row boundaries are out of order"),
        ("segment", "forward.terms", 1, 0, "the terms of row 0 are out of order"),
        ("segment", "forward.terms", 3, 4, "the terms of row 1 are out of order"),
        ("segment", "forward.impacts", 1, 0, "an impact is 0"),
        ("segment", "forward.impacts", 1, 3, "the two views differ in term 1"),
        ("segment", "posting.impact", 3, 127, "the two views differ in term 2"),
        ("segment", "entry.max", 0, 254, "the two views differ in term 0"),
        ("segment", "inverted.postings", 1, 1, "the two views differ in term 0"),
        ("segment", "inverted.entries", 4, 2, "term boundaries are out of order"),
        ("segment", "documents.order", 0, 1, "the document order is not a permutation"),
        ("segment", "documents.order", 0, 2**32 - 1, "the document order is not a permutation"),
        ("segment", "documents.bias", 0, 511, "the two views hold different document biases"),
        ("segment", "forward.bias", 2, 1, "the two views hold different document biases"),
        ("segment", "blocks.bias", 0, 511, "the two views hold different document biases"),
        ("terms", "terms.data", 0, ord("k"), "the terms are not those of the manifest"),
    ],
)
def test_verify_reports_inconsistent_contents(
    impacts: Path, reseal: ModuleType, kind: str, section: str, position: int, value: int, what: str
) -> None:
    path = reseal.change(impacts, kind, reseal.put(section, position, value))
    (damage,) = verify(impacts)
    assert (damage.file, damage.what) == (path.name, what)


def test_a_damaged_table_of_strings_is_reported_with_its_offset(impacts: Path, reseal: ModuleType) -> None:
    path = reseal.change(impacts, "ids", reseal.put("ids.sorted", 1, 0))
    (damage,) = verify(impacts)
    offset, _, _ = reseal.sections(path.read_bytes())["ids.sorted"]
    assert (damage.file, damage.offset) == (path.name, offset + 4)


def test_a_file_of_another_kind_or_another_index(impacts: Path, reseal: ModuleType, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in impacts.iterdir()}
    (floats,) = (Path(__file__).parents[1] / "golden" / "floats").glob("segment-*.tw")
    (texts,) = (Path(__file__).parents[1] / "golden" / "texts").glob("segment-*.tw")
    (terms,) = impacts.glob("terms-*.tw")
    (ids,) = impacts.glob("ids-*.tw")
    for kind, other in [
        ("terms", ids),
        ("ids", terms),
        ("segment", terms),
        ("segment", floats),
        ("segment", texts),  # another number of terms, and no biases
    ]:
        path = reseal.replace(impacts, kind, other.read_bytes())
        with pytest.raises(CorruptIndexError) as caught:
            Index.open(impacts)
        assert dict(caught.value.facts)["file"] == path
        assert len(verify(impacts)) == 1
        for file in impacts.iterdir():
            file.unlink()
        for name, data in before.items():
            (impacts / name).write_bytes(data)


def test_a_file_shorter_than_its_recorded_length(impacts: Path, reseal: ModuleType) -> None:
    (segment,) = impacts.glob("segment-*.tw")
    data = segment.read_bytes()
    for length in (0, 1, 47, 48, 960, len(data) - 1):
        path = reseal.replace(impacts, "segment", data[:length])
        with pytest.raises(CorruptIndexError) as caught:
            Index.open(impacts)
        assert dict(caught.value.facts)["file"] == path
        reseal.replace(impacts, "segment", data)


def edits() -> list[tuple[str, Callable[[dict[str, Any]], None]]]:
    """Manifests that are well formed but do not match the files are refused."""

    def more_documents(body: dict[str, Any]) -> None:
        body["documents"] = body["segments"][0]["documents"] = 4

    def fewer_documents(body: dict[str, Any]) -> None:
        body["documents"] = body["segments"][0]["documents"] = 2

    def more_postings(body: dict[str, Any]) -> None:
        body["postings"] = body["segments"][0]["postings"] = 5

    def no_background(body: dict[str, Any]) -> None:
        body["background"] = False

    def fewer_terms(body: dict[str, Any]) -> None:
        body["terms"] = 3

    def more_terms(body: dict[str, Any]) -> None:
        body["terms"] = 70_000

    def floats(body: dict[str, Any]) -> None:
        body["quantiser"]["kind"] = "float32"

    def the_segment_twice(body: dict[str, Any]) -> None:
        body["segments"] *= 2
        body["documents"] *= 2

    def texts_that_are_views(body: dict[str, Any]) -> None:
        body["segments"][0]["texts"] = dict(body["segments"][0]["views"])

    return [(edit.__name__, edit) for edit in list(locals().values()) if callable(edit)]


@pytest.mark.parametrize(("name", "edit"), edits())
def test_a_manifest_that_does_not_fit_its_files(
    impacts: Path, reseal: ModuleType, name: str, edit: Callable[[dict[str, Any]], None]
) -> None:
    body = reseal.read_manifest(impacts)
    edit(body)
    reseal.write_manifest(impacts, body)
    with pytest.raises(CorruptIndexError) as caught:
        Index.open(impacts)
    assert Path(dict(caught.value.facts)["file"]).parent == impacts


def test_background_biases_that_the_files_lack(tmp_path: Path, reseal: ModuleType) -> None:
    """If the manifest declares biases, their arrays must exist, because kernels read one per document."""
    folder = Path(shutil.copytree(Path(__file__).parents[1] / "golden" / "texts", tmp_path / "texts"))
    body = reseal.read_manifest(folder)
    body["background"] = True
    reseal.write_manifest(folder, body)
    with pytest.raises(CorruptIndexError, match="damaged"):
        Index.open(folder)


def test_file_names_outside_the_folder(impacts: Path, reseal: ModuleType, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("nobody else's business")
    original = reseal.read_manifest(impacts)
    for name in ("../secret.txt", str(secret), "", ".", "..", "manifest.json"):
        body = copy.deepcopy(original)
        body["attachments"]["note.txt"].update(name=name, length=secret.stat().st_size)
        reseal.write_manifest(impacts, body)
        with pytest.raises(IndexFormatError) as caught:
            Index.open(impacts)
        assert isinstance(caught.value, DataError)
        assert dict(caught.value.facts)["file"] == impacts / "manifest.json"


@pytest.mark.parametrize(
    "change",
    [
        {"model": 0},
        {"model": None},
        {"model": {"name": "bm25", "parameters": 0}},
        {"parts": 0},
        {"parts": [{"model": {}}]},
        {"query": {"weighting": -1}},
        {"query": {"weighting": "idf"}},
        {"options": {"tokenizer": []}},
        {"options": {"tokenizer": 2**63}},
        {"options": {"steps": ["lower-case", True]}},
        {"options": {"steps": 5}},
        {"options": {}, "name": "wordpiece"},
        {"options": {"vocabulary": "bert-base-uncased", "cleaning": ""}, "name": "wordpiece-clean"},
    ],
)
def test_a_description_with_wrong_types_is_damage(
    tmp_path: Path, reseal: ModuleType, change: dict[str, Any]
) -> None:
    build_index([Document("a", "merge lists")], tmp_path / "i.tw")
    body = reseal.read_manifest(tmp_path / "i.tw")
    analyzer = body["encoder"]["analyzer"]
    if "options" in change:
        options = change["options"]
        kept = {**analyzer["options"], **options} if options and "name" not in change else options
        analyzer.update(options=kept, name=change.get("name", analyzer["name"]))
    else:
        body["encoder"].update(change)
    reseal.write_manifest(tmp_path / "i.tw", body)
    with pytest.raises(CorruptIndexError) as caught:
        termwise.open(tmp_path / "i.tw")
    assert str(tmp_path / "i.tw") in str(caught.value)
