"""Term weights from JSON lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import (
    DataError,
    EmptyCollectionError,
    MalformedRecordError,
    MissingFileError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.models import JsonVectors, read_vectors
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


def write(folder: Path, *records: object) -> Path:
    path = folder / "vectors.jsonl"
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(source: JsonVectors, **options: int) -> list[tuple[str, dict[str, float]]]:
    found = []
    for batch in source.batches(**options):
        assert len(batch.doc_ids) == len(batch.weights) == len(batch.texts)
        assert batch.weights.vocabulary == source.vocabulary.id
        for doc_id, (terms, weights) in zip(batch.doc_ids, batch.weights, strict=True):
            tokens = map(source.vocabulary.token, terms.tolist())
            found.append((doc_id, dict(zip(tokens, weights.tolist(), strict=True))))
    return found


def test_formats_of_three_tools(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "anserini", "contents": "a wing", "vector": {"wing": 12, "a": 3}},
        {"_id": "splade", "content": "", "vector": {"##er": 1.9}},
        {"id": 7, "content": "seismic", "vector": {"wing": 0.25}},
        {"docid": "empty", "vector": {}},
    )
    source = read_vectors(path)
    assert source.length == 4
    assert list(source.vocabulary) == ["##er", "a", "wing"]
    (batch,) = source.batches()
    assert batch.doc_ids == ("anserini", "splade", "7", "empty")
    assert batch.texts == ("a wing", "", "seismic", None)
    assert batch.weights == TermWeights(
        [0, 2, 3, 4, 4], [1, 2, 0, 2], [3.0, 12.0, 1.9, 0.25], source.vocabulary.id
    )


def test_tokens_are_numbered_by_code_point(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "a", "vector": {"é": 1, "z": 1, "Z": 1, "\U0001f600": 1, "\uffee": 1}})
    assert list(read_vectors(path).vocabulary) == ["Z", "z", "é", "\uffee", "\U0001f600"]


def test_a_closed_vocabulary_keeps_its_numbers_and_needs_one_pass(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "d", "vector": {"a": 1.0, "z": 2.0}})
    source = read_vectors(path, analyzer=Closed())
    assert source.vocabulary is Closed.vocabulary
    assert source.length is None
    (batch,) = source.batches()
    assert batch.weights.terms.tolist() == [0, 1]
    assert batch.weights.weights.tolist() == [2.0, 1.0]


def test_a_token_outside_a_closed_vocabulary(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "d", "vector": {"a": 1}}, {"id": "e", "vector": {"a": 1, "q": 1}})
    with pytest.raises(VocabularyMismatchError) as caught:
        list(read_vectors(path, analyzer=Closed()).batches())
    facts = dict(caught.value.facts)
    assert (facts["line"], facts["document"], facts["token"]) == (2, "e", "'q'")


@given(
    st.lists(
        st.dictionaries(
            st.text(st.characters(codec="utf-8"), max_size=3),
            st.floats(0, 1e6, width=32) | st.integers(0, 255),
            max_size=5,
        ),
        min_size=1,
        max_size=7,
    ),
    st.integers(1, 3),
)
def test_written_files_are_read_back(tmp_path_factory: pytest.TempPathFactory, vectors, rows) -> None:
    path = tmp_path_factory.mktemp("vectors") / "v.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        for number, vector in enumerate(vectors):
            stream.write(
                json.dumps({"id": f"d {number}", "vector": vector}, ensure_ascii=number % 2 == 0) + "\n"
            )
    source = read_vectors(path)
    expected = [(f"d {number}", vector) for number, vector in enumerate(vectors)]
    assert read(source, rows=rows) == expected
    assert read(source) == expected  # again from the start, cut otherwise


def test_batches_have_at_most_the_requested_rows(tmp_path: Path) -> None:
    path = write(tmp_path, *({"id": str(n), "vector": {"a": 1}} for n in range(7)))
    assert [len(batch.doc_ids) for batch in read_vectors(path).batches(rows=3)] == [3, 3, 1]


def test_a_batch_ends_when_it_holds_many_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("termwise.models.vectors_jsonl.BATCH_WEIGHTS", 4)
    path = write(tmp_path, *({"id": str(n), "vector": {"a": 1, "b": 1}} for n in range(5)))
    assert [len(batch.doc_ids) for batch in read_vectors(path).batches()] == [2, 2, 1]


def test_weights_are_not_truncated_to_integers(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "d", "vector": {"a": 1.9, "b": 0.1}})
    (batch,) = read_vectors(path).batches()
    assert batch.weights.weights.tolist() == [np.float32(1.9), np.float32(0.1)]


def test_blank_lines_and_zero_weights(tmp_path: Path) -> None:
    path = write(tmp_path, "", {"id": "d", "vector": {"a": 0, "b": 1}}, "  ")
    assert read(read_vectors(path)) == [("d", {"a": 0.0, "b": 1.0})]


@pytest.mark.parametrize(
    "weight", ["-1", "-0.001", "NaN", "Infinity", "1e39", "1" + "0" * 400, "true", '"1"', "null", "[1]"]
)
def test_bad_weights_name_line_and_token(tmp_path: Path, weight: str) -> None:
    path = write(
        tmp_path, {"id": "a", "vector": {"x": 1}}, f'{{"id": "b", "vector": {{"x": 1, "y": {weight}}}}}'
    )
    with pytest.raises(WeightError) as caught:
        read_vectors(path)
    facts = dict(caught.value.facts)
    assert (facts["line"], facts["document"], facts["token"]) == (2, "b", "'y'")
    assert bool(caught.value.fixes_worded()) == weight.startswith("-"), "the fix is for negative weights only"
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "3",
        '{"vector": {}}',
        '{"id": "", "vector": {}}',
        '{"id": null, "vector": {}}',
        '{"id": 1.5, "vector": {}}',
        '{"id": true, "vector": {}}',
        '{"id": "a", "_id": "b", "vector": {}}',
        '{"id": "a"}',
        '{"id": "a", "vector": [1, 2]}',
        '{"id": "a", "vector": null}',
        '{"id": "a", "contents": 3, "vector": {}}',
        '{"id": "a", "vector": {"x": 1, "x": 2}}',
        '{"id": "a", "id": "b", "vector": {}}',
        '{"id": "\\ud800", "vector": {}}',
        '{"id": "a", "contents": "\\uDfff", "vector": {}}',
        '{"id": "a", "vector": {"\\ud83d": 1}}',
        "[" * 100_000,
    ],
)
def test_bad_lines(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, {"id": "first", "vector": {}}, line)
    with pytest.raises(MalformedRecordError) as caught:
        read_vectors(path)
    facts = dict(caught.value.facts)
    assert (facts["file"], facts["line"]) == (path, 2)
    assert len(str(facts["seen"])) <= 130


def test_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    path.write_bytes(b'{"id": "caf\xe9", "vector": {}}\n')
    with pytest.raises(MalformedRecordError):
        read_vectors(path)


def test_a_cut_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "a", "vector": {}}\n' * 1000)[:-20])
    with pytest.raises(MalformedRecordError):
        read_vectors(path)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_no_document(tmp_path: Path, content: str) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text(content)
    with pytest.raises(EmptyCollectionError):
        read_vectors(path)
    with pytest.raises(EmptyCollectionError):
        list(read_vectors(path, analyzer=Closed()).batches())


def test_a_file_changed_between_two_passes(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "a", "vector": {"x": 1}})
    source = read_vectors(path)
    write(tmp_path, {"id": "a", "vector": {"y": 1}})
    with pytest.raises(DataError, match="changed"):
        list(source.batches())


def test_a_file_removed_between_two_passes(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "a", "vector": {"x": 1}})
    source = JsonVectors.open([path])
    path.unlink()
    with pytest.raises(MissingFileError):
        list(source.batches())


def test_a_document_of_a_million_characters(tmp_path: Path) -> None:
    vector = {f"token{number}": 1.0 for number in range(60_000)}
    path = write(tmp_path, {"id": "a", "contents": "x" * 1_000_000, "vector": vector})
    (batch,) = read_vectors(path).batches()
    assert batch.weights.nnz == 60_000
