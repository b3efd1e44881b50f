"""Term weights from sparse matrices."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import (
    DataError,
    DuplicateIdError,
    EmptyCollectionError,
    MissingFileError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.models import CsrVectors, read_vectors
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights


class Closed:
    """An analyzer whose tokens are a given list."""

    spec = AnalyzerSpec("closed")
    vocabulary = Vocabulary(["z", "a", "m"])

    def tokens(self, text: str) -> list[str]:
        return text.split()

    def analyze(self, text: str) -> Analysis:
        raise NotImplementedError


def parts(**changes: object) -> dict[str, np.ndarray]:
    arrays: dict[str, object] = {
        "indptr": [0, 2, 2, 3],
        "indices": [0, 2, 1],
        "data": [1.5, 2.0, 3.0],
        "shape": [3, 3],
    }
    arrays.update(changes)
    return {name: np.asarray(value) for name, value in arrays.items() if value is not None}


def saved(folder: Path, **changes: object) -> Path:
    path = folder / "v.npz"
    np.savez(path, **parts(**changes))
    return path


def whole(path: Path, **options: object) -> TermWeights:
    return TermWeights.concatenate([batch.weights for batch in read_vectors(path, **options).batches()])


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64])
def test_files_saved_by_scipy(tmp_path: Path, compressed: bool, dtype: type) -> None:
    rng = np.random.default_rng(7)
    dense = rng.integers(0, 4, (500, 40)).astype(dtype)
    scipy.sparse.save_npz(tmp_path / "v.npz", scipy.sparse.csr_array(dense), compressed=compressed)
    source = CsrVectors.open(tmp_path / "v.npz")
    assert isinstance(source.data, np.memmap) is not compressed
    assert source.length == 500
    rows = whole(tmp_path / "v.npz")
    expected = scipy.sparse.csr_array(dense)
    assert np.array_equal(rows.indptr, expected.indptr)
    assert np.array_equal(rows.terms, expected.indices)
    assert np.array_equal(rows.weights, expected.data)


def test_ids_and_tokens_default_to_numbers(tmp_path: Path) -> None:
    (batch,) = read_vectors(saved(tmp_path)).batches()
    assert batch.doc_ids == ("0", "1", "2")
    assert batch.texts == (None, None, None)
    assert list(read_vectors(saved(tmp_path)).vocabulary) == ["0", "1", "2"]


def test_ids_and_tokens_of_the_file(tmp_path: Path) -> None:
    source = read_vectors(saved(tmp_path, doc_ids=["d 1", "ö", "d3"], tokens=["wing", "flutter", "##er"]))
    (batch,) = source.batches()
    assert batch.doc_ids == ("d 1", "ö", "d3")
    assert list(source.vocabulary) == ["wing", "flutter", "##er"]
    assert read_vectors(saved(tmp_path, doc_ids=[30, 10, 20])).doc_ids == ("30", "10", "20")


def test_a_closed_vocabulary_renumbers_tokens(tmp_path: Path) -> None:
    source = read_vectors(saved(tmp_path, tokens=["m", "a", "z"]), analyzer=Closed())
    assert source.vocabulary is Closed.vocabulary
    (batch,) = source.batches()
    assert batch.weights.terms.tolist() == [0, 2, 1]
    assert batch.weights.weights.tolist() == [2.0, 1.5, 3.0]


def test_a_closed_vocabulary_without_tokens_takes_the_columns(tmp_path: Path) -> None:
    wide = saved(tmp_path, shape=[3, 1000])
    assert whole(wide, analyzer=Closed()).terms.tolist() == [0, 2, 1]
    with pytest.raises(VocabularyMismatchError) as caught:
        whole(saved(tmp_path, indices=[0, 2, 3], shape=[3, 1000]), analyzer=Closed())
    assert dict(caught.value.facts)["row"] == 2


def test_tokens_outside_a_closed_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(VocabularyMismatchError, match="1 of 3 tokens"):
        read_vectors(saved(tmp_path, tokens=["m", "a", "q"]), analyzer=Closed())


def test_rows_out_of_order_are_sorted(tmp_path: Path) -> None:
    rows = whole(saved(tmp_path, indices=[2, 0, 1]))
    assert rows.terms.tolist() == [0, 2, 1]
    assert rows.weights.tolist() == [2.0, 1.5, 3.0]


@given(
    st.lists(
        st.dictionaries(st.integers(0, 9), st.floats(0, 1e6, width=32), max_size=6), min_size=1, max_size=9
    ),
    st.integers(1, 4),
    st.randoms(),
)
def test_any_rows_in_any_order(tmp_path_factory: pytest.TempPathFactory, rows, size, random) -> None:
    entries = []
    for row in rows:
        items = list(row.items())
        random.shuffle(items)
        entries.append(items)
    path = tmp_path_factory.mktemp("matrix") / "v.npz"
    np.savez(
        path,
        indptr=np.cumsum([0] + [len(items) for items in entries]),
        indices=np.array([term for items in entries for term, _ in items], dtype=np.int32),
        data=np.array([weight for items in entries for _, weight in items], dtype=np.float32),
        shape=[len(rows), 10],
    )
    source = read_vectors(path)
    batches = list(source.batches(rows=size))
    assert all(len(batch.doc_ids) <= size for batch in batches)
    assert TermWeights.concatenate([batch.weights for batch in batches]) == TermWeights.from_rows(
        rows, source.vocabulary.id
    )


def test_a_batch_ends_when_it_holds_many_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("termwise.models.vectors_npz.BATCH_WEIGHTS", 2)
    batches = read_vectors(saved(tmp_path)).batches()
    assert [batch.weights.nnz for batch in batches] == [2, 1]


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e39])
def test_bad_weights_name_row_and_token(tmp_path: Path, weight: float) -> None:
    path = saved(tmp_path, data=[1.0, 2.0, weight], doc_ids=["a", "b", "c"], tokens=["x", "y", "z"])
    with pytest.raises(WeightError) as caught:
        whole(path)
    facts = dict(caught.value.facts)
    assert (facts["row"], facts["document"], facts["token"]) == (2, "c", "'y'")


def test_a_repeated_column_names_row_and_token(tmp_path: Path) -> None:
    with pytest.raises(WeightError, match="twice") as caught:
        whole(saved(tmp_path, indices=[2, 2, 2], tokens=["x", "y", "z"]))
    facts = dict(caught.value.facts)
    assert (facts["row"], facts["token"]) == (0, "'z'")


@pytest.mark.parametrize("column", [-1, 3])
def test_columns_outside_the_matrix(tmp_path: Path, column: int) -> None:
    with pytest.raises(VocabularyMismatchError):
        whole(saved(tmp_path, indices=[0, 2, column]))


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": None},
        {"shape": None},
        {"shape": [3]},
        {"shape": [3.0, 3.0]},
        {"shape": [-1, 3]},
        {"shape": [4, 3]},
        {"indptr": [0, 2, 1, 3]},
        {"indptr": [1, 2, 2, 3]},
        {"indptr": [0, 2, 2, 4]},
        {"indptr": [0.0, 2.0, 2.0, 3.0]},
        {"indices": [0, 2]},
        {"indices": [0.0, 2.0, 1.0]},
        {"data": [1.0, 2.0]},
        {"data": ["1", "2", "3"]},
        {"data": [True, True, True]},
        {"data": [1j, 2j, 3j]},
        {"data": [[1.0], [2.0], [3.0]]},
        {"format": "csc"},
        {"format": b"coo"},
        {"doc_ids": ["a", "b"]},
        {"doc_ids": ["a", "", "c"]},
        {"doc_ids": [1.0, 2.0, 3.0]},
        {"doc_ids": np.array(["a", "b", "c"], dtype=object)},
        {"tokens": ["a"]},
        {"tokens": [1, 2, 3]},
        {"data": np.array([1, 2, 3], dtype=object)},
    ],
)
def test_archives_with_inconsistent_arrays(tmp_path: Path, changes: dict[str, object]) -> None:
    path = saved(tmp_path, **changes)
    with pytest.raises(DataError) as caught:
        read_vectors(path)
    assert dict(caught.value.facts)["file"] == path


def test_a_token_for_two_columns(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError) as caught:
        read_vectors(saved(tmp_path, tokens=["x", "y", "x"]))
    assert dict(caught.value.facts)["columns"] == "0 and 2"


def test_no_row(tmp_path: Path) -> None:
    with pytest.raises(EmptyCollectionError):
        read_vectors(saved(tmp_path, indptr=[0], indices=np.zeros(0, int), data=[], shape=[0, 3]))


def test_only_empty_rows(tmp_path: Path) -> None:
    rows = whole(saved(tmp_path, indptr=[0, 0, 0], indices=np.zeros(0, int), data=[], shape=[2, 3]))
    assert (len(rows), rows.nnz) == (2, 0)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"\x93NUMPY"])
def test_not_an_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "v.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="archive"):
        read_vectors(path)


@pytest.mark.parametrize("cut", [10, 5000, 9000])
def test_a_truncated_archive(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "v.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(np.ones((20, 100))), compressed=False)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DataError):
        read_vectors(path)


def test_an_archive_member_that_is_not_an_array(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("tokens.npy", b"x" * 10_000)
    with pytest.raises(DataError):
        read_vectors(path)


def test_a_folder_with_the_name_of_an_archive(tmp_path: Path) -> None:
    (tmp_path / "v.npz").mkdir()
    with pytest.raises(MissingFileError):
        CsrVectors.open(tmp_path / "v.npz")


def test_arrays_with_a_long_header_and_large_archives_are_mapped_right(tmp_path: Path) -> None:
    # Names in the archive have different lengths, so every array begins at another offset.
    rows = 3000
    indices = np.tile(np.arange(5, dtype=np.int32), rows)
    data = np.arange(5 * rows, dtype=np.float64)
    path = tmp_path / "v.npz"
    np.savez(path, data=data, shape=[rows, 5], indices=indices, indptr=np.arange(rows + 1) * 5)
    source = CsrVectors.open(path)
    assert isinstance(source.indices, np.memmap)
    assert np.array_equal(source.data, data)
    assert np.array_equal(source.indices, indices)
    assert np.array_equal(whole(path).weights, data.astype(np.float32))
