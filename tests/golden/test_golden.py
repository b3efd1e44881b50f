"""Kept indexes: their bytes, their contents, and their dump in docs/format.md."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage
from termwise.index import Index, Manifest, verify
from termwise.weights import TermWeights

HERE = Path(__file__).resolve().parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"termwise_golden_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


golden = load("golden")
independent = load("independent")
ALL = pytest.mark.parametrize("kept", golden.ALL, ids=lambda kept: kept.name)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kept", golden.WRITTEN, ids=lambda kept: kept.name)
def test_writing_gives_the_kept_bytes(kept: Any, tmp_path: Path) -> None:
    kept.write(tmp_path / "index")
    written, expected = files(tmp_path / "index"), files(kept.folder)
    if kept.texts is not None:
        # The output of zlib depends on its version, so that texts are compared unpacked; the manifest names the file.
        for side in (written, expected):
            del side["manifest.json"]
            (texts,) = (name for name in side if name.startswith("texts-"))
            del side[texts]
        found = [document["text"] for document in independent.documents(tmp_path / "index")]
        assert found == kept.texts
    assert written == expected


@ALL
def test_the_kept_files_are_intact(kept: Any) -> None:
    assert verify(kept.folder) == []


def bias_of(kept: Any, index: Index, ordinal: int) -> float | None:
    if not kept.background:
        return None
    quantiser = index.manifest.quantiser
    return index.bias(ordinal) * quantiser.scale / 2**quantiser.bias_bits


@ALL
def test_reading_the_kept_files_gives_the_documents(kept: Any) -> None:
    index = Index.open(kept.folder)
    scale = index.manifest.quantiser.scale
    read = [
        {
            "doc_id": index.doc_id(ordinal),
            "weights": {
                index.vocabulary.token(term): float(impact) * scale
                for term, impact in zip(*(part.tolist() for part in index.row(ordinal)), strict=True)
            },
            "bias": bias_of(kept, index, ordinal),
            "text": index.text(ordinal),
        }
        for ordinal in range(len(index))
    ]
    assert read == list(independent.documents(kept.folder))
    expected = kept.doc_ids if kept.changed_ids is None else kept.changed_ids
    assert [document["doc_id"] for document in read] == expected
    assert [document["text"] for document in read] == (kept.texts or [None] * len(read))
    assert [index.vocabulary.token(i) for i in range(len(kept.tokens))] == kept.tokens


def test_the_numbers_by_hand() -> None:
    assert [
        (document["doc_id"], document["weights"], document["bias"])
        for document in independent.documents(golden.IMPACTS.folder)
    ] == [
        ("a", {"list": 127.5, "merge": 1.0}, 1.0),
        ("b c", {"list": 0.5, "sort": 64.0}, 0.25),
        ("ü", {}, 0.0),
    ]
    assert [document["weights"] for document in independent.documents(golden.FLOATS.folder)] == [
        {"list": 127.5, "merge": 1.25},
        {"list": 0.125, "sort": 64.0},
        {},
    ]
    quantiser = Manifest.read(golden.IMPACTS.folder).quantiser
    assert (quantiser.raised, quantiser.max_error, quantiser.mean_error) == (1, 0.375, (0.25 + 0.375) / 4)


def test_other_contents_of_the_kept_index() -> None:
    index = Index.open(golden.IMPACTS.folder)
    settings = golden.IMPACTS.settings
    assert index.floors.tolist() == settings["floors"]
    assert index.query_weights.tolist() == settings["query_weights"]
    assert index.attachment("note.txt") == settings["attachments"]["note.txt"]
    assert index.manifest.encoder.json == settings["encoder"]
    assert index.manifest.written_by == "termwise golden"


def test_searching_the_kept_files() -> None:
    index = Index.open(golden.IMPACTS.folder)
    query = query_vector(index, TermWeights.from_rows([{0: 1.0, 2: 2.0, 4: 3.0}], index.vocabulary.id))
    ordinals, scores = first_stage(index, query, 10)
    # floors: -1 * 1 + 0 * 2 - 0.25 * 3; then 0.5 + 2 * 64 + 3 * 0.25 against 127.5 + 3 * 1
    assert index.doc_ids(ordinals) == ["a", "b c"]
    assert scores.tolist() == [130.5 - 1.75, 129.25 - 1.75]
    floats = Index.open(golden.FLOATS.folder)
    query = query_vector(floats, TermWeights.from_rows([{0: 0.5, 1: 2.0}], floats.vocabulary.id))
    ordinals, scores = first_stage(floats, query, 10)
    assert floats.doc_ids(ordinals) == ["a", "b"]
    assert np.array_equal(scores, [66.25, 0.0625])


def test_the_vectors_by_hand() -> None:
    folder = golden.VECTORS.folder
    documents = [[[63.5, 0.0, -1.5], [-0.25, 0.5, 0.0]], [[0.0, -127.0, 64.0]], []]
    terms = [[1.0, -0.5, 0.0], [0.0, 4.0, -31.75], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]
    assert list(independent.document_vectors(folder)) == documents
    assert list(independent.term_vectors(folder)) == terms
    index = Index.open(folder)
    assert index.term_vectors is not None
    assert index.term_vectors.matrix().tolist() == terms
    stored = index.document_vectors(np.array([2, 0, 1]))
    assert stored.indptr.tolist() == [0, 0, 2, 3]
    assert stored.matrix().tolist() == documents[0] + documents[1]


def test_the_sums_of_directions_by_hand() -> None:
    lengths = [(127**2 + 9) ** 0.5, 5**0.5, (127**2 + 64**2) ** 0.5]
    rows = [[127, 0, -3], [-1, 2, 0], [0, -127, 64]]
    units = [
        [round(number * 2**24 / length) for number in row] for row, length in zip(rows, lengths, strict=True)
    ]
    sums = [sum(column) for column in zip(*units, strict=True)]
    for kept in (golden.VECTORS, golden.EARLIER):
        (vectors,) = (segment["vectors"]["name"] for segment in independent.manifest(kept.folder)["segments"])
        columns = independent.arrays(kept.folder / vectors)
        assert ("vectors.sums" in columns) is (kept is golden.VECTORS)
        assert list(columns.get("vectors.sums", sums)) == sums
        assert Index.open(kept.folder).mean_direction.tolist() == [number / 3 for number in sums]


def test_an_index_has_the_first_version_that_can_represent_it() -> None:
    assert [Manifest.read(kept.folder).version for kept in golden.ALL] == [1, 1, 1, 2, 3, 1, 3, 2]


def test_the_counts_by_hand() -> None:
    folder = golden.COUNTS.folder
    assert list(independent.counts(folder)) == [
        {"list": 3, "merge": 1, "sort": 4},
        {"list": 2, "sort": 700},
        {},
    ]
    index = Index.open(folder)
    assert index.counts(np.arange(3)).weights.tolist() == [3, 1, 4, 2, 700]
    assert not any(Index.open(kept.folder).keeps_counts for kept in (golden.IMPACTS, golden.CHANGES))


def test_the_changed_index_by_hand() -> None:
    folder = golden.CHANGES.folder
    assert [
        (document["doc_id"], document["weights"], document["bias"])
        for document in independent.documents(folder)
    ] == [
        ("b c", {"list": 0.5, "sort": 64.0}, 0.25),
        ("ü", {}, 0.0),
        ("x", {"merge": 2.0, "neu": 160.0}, 2.0),
        ("a", {"neu": 1.0}, 0.0),
    ]
    index = Index.open(folder)
    assert [(segment.shift, segment.deletions, segment.terms) for segment in index.manifest.segments] == [
        (0, 1, None),
        (1, 0, 2),
    ]
    assert index.document_frequencies.tolist() == [1, 1, 1, 0, 2]
    assert index.floors.tolist() == [-1.0, -0.5, 0.0, -2.0, -3.0, -0.25]
    one, two, built_one, built_two = (
        np.log1p((n - df + 0.5) / (df + 0.5)) for n, df in ((4, 1), (4, 2), (3, 1), (3, 2))
    )
    factors = index.idf.of(np.arange(6, dtype=np.int32))
    assert factors is not None
    assert np.allclose(
        factors, [one / built_two, one / built_one, one / built_one, one / built_one, two / built_one, 1.0]
    )
    query = query_vector(index, TermWeights.from_rows([{1: 1.0, 4: 1.0, 5: 2.0}], index.vocabulary.id))
    ordinals, scores = first_stage(index, query, 10)
    assert index.doc_ids(ordinals) == ["x", "a"]
    constant = -0.5 * factors[1] - 3.0 * factors[4] - 0.25 * 2
    expected = [2.0 * factors[1] + 160.0 * factors[4] + 2 * 2.0 + constant, factors[4] + constant]
    assert np.allclose(scores, expected, rtol=1e-3)


def test_the_format_page_shows_the_kept_files() -> None:
    assert independent.shown() == independent.dumps(golden.IMPACTS.folder), (
        "python tests/golden/independent.py --write puts the dump into docs/format.md"
    )
