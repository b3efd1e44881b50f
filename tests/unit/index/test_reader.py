"""Opening and reading an index."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.errors import (
    CorruptIndexError,
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
    UnknownIdError,
)
from termwise.index import Index, IndexWriter, Manifest
from termwise.index import reader as module
from termwise.text.vocabulary import BACKGROUND, Vocabulary
from termwise.weights import TermWeights

Make = Callable[..., Any]
TOKENS = ["merge", "", "größe", "a\0b", "\ud800"]


def test_the_vocabulary_is_looked_up_in_the_files(write: Make) -> None:
    index = write([{0: 1.0, 5: 2.0}], tokens=TOKENS, background=True)
    vocabulary = Vocabulary(TOKENS, background=True)
    assert len(index.vocabulary) == 5
    assert [index.vocabulary.number(token) for token in TOKENS] == [0, 1, 2, 3, 4]
    assert index.vocabulary.number(BACKGROUND) is None
    assert [index.vocabulary.token(i) for i in range(6)] == [*TOKENS, BACKGROUND]
    assert index.vocabulary.background == 5
    assert index.vocabulary.id == vocabulary.id
    assert index.vocabulary.load() == vocabulary


def test_rows_and_biases(write: Make) -> None:
    index = write([{0: 2.0, 2: 255.0, 3: 0.5}, {3: 1.0}, {1: 1.0}], background=True, tokens=["a", "b", "c"])
    assert [(terms.tolist(), impacts.tolist()) for terms, impacts in map(index.row, range(3))] == [
        ([0, 2], [2, 255]),
        ([], []),
        ([1], [1]),
    ]
    assert index.segments[0].bias.tolist() == [128, 256, 0]
    assert index.manifest.postings == 3


def test_weights_of_many_documents(write: Make) -> None:
    """Impacts times scale, biases as the background term, in the order asked for."""
    rows = [{0: 2.0, 2: 255.0, 3: 0.5}, {3: 1.0}, {}, {1: 1.0}]
    index = write(rows, background=True, tokens=["a", "b", "c"], texts=["x", "y", "z", ""])
    asked = np.array([3, 1, 0, 2, 0])
    assert index.weights(asked) == TermWeights.from_rows([rows[i] for i in asked], index.vocabulary.id)
    assert index.lengths(asked).tolist() == [1, 0, 2, 0, 2]
    assert index.texts(asked) == ["", "y", "x", "z", "x"]
    floats = write([{0: 0.1}, {1: 3.7}], name="floats", quantiser="float32")
    assert floats.weights(np.array([1, 0])) == TermWeights.from_rows(
        [{1: 3.7}, {0: 0.1}], floats.vocabulary.id
    )
    assert floats.texts(np.array([1, 0])) == [None, None]
    assert len(floats.weights(np.array([], dtype=np.int64))) == 0


def test_weights_of_documents_in_several_segments(write: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("termwise.index.document_spill.MAX_DOCUMENTS", 2)
    rows = [{0: 1.0, 1: 2.0}, {}, {1: 3.0}, {0: 4.0, 2: 5.0}, {2: 6.0, 3: 0.5}]
    index = write(rows, tokens=["a", "b", "c"], background=True, texts=[f"text {i}" for i in range(5)])
    assert len(index.segments) == 3
    asked = np.array([4, 0, 3, 1, 2])
    assert index.weights(asked) == TermWeights.from_rows([rows[i] for i in asked], index.vocabulary.id)
    assert index.lengths(asked).tolist() == [1, 2, 2, 0, 1]
    assert index.texts(asked) == [f"text {i}" for i in asked]


@pytest.mark.parametrize("ordinal", [-1, 2, 10**9])
def test_ordinals_out_of_range(write: Make, ordinal: int) -> None:
    index = write([{0: 1.0}, {}], texts=["a", "b"])
    for ask in (index.doc_id, index.text, index.row, index.segments.locate):
        with pytest.raises(IndexError):
            ask(ordinal)


def test_unknown_names(write: Make) -> None:
    index = write([{0: 1.0}], attachments={"file": b"x"})
    assert index.find("nobody") is None
    with pytest.raises(UnknownIdError) as caught:
        index.ordinal("nobody")
    assert dict(caught.value.facts) == {"doc_id": "nobody", "index": index.path}
    with pytest.raises(UnknownIdError):
        index.attachment("other")


def test_attachments(write: Make) -> None:
    files = {"tokenizer.json": b"{}" * 5000, "empty": b"", "same": b""}
    index = write([{0: 1.0}], attachments=files)
    assert {name: index.attachment(name) for name in files} == files
    assert len(list(index.path.glob("attachment-*.bin"))) == 2


def test_a_changed_attachment_is_noticed_when_it_is_used(write: Make) -> None:
    index = write([{0: 1.0}], attachments={"file": b"one"})
    (path,) = index.path.glob("attachment-*.bin")
    path.write_bytes(b"two")
    with pytest.raises(CorruptIndexError) as caught:
        Index.open(index.path).attachment("file")
    assert dict(caught.value.facts)["file"] == path


def test_opening_maps_and_does_not_load(write: Make, tmp_path: Path) -> None:
    """What opening allocates does not grow with the index."""
    small = write([{0: 1.0}], name="small", texts=["x"])
    large = write(
        [{i % 997: 1.0, 997 + i % 89: 2.0} for i in range(20_000)],
        name="large",
        ids=[f"a rather long identifier of document {i}" for i in range(20_000)],
        texts=["x" * 20] * 20_000,
        reorder=False,
    )
    assert sum(file.length for file in large.manifest.files()) > 1_000_000
    allocated = []
    for index in (small, large):
        tracemalloc.start()
        Index.open(index.path)
        allocated.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert allocated[1] < allocated[0] + 20_000


def test_folders_and_files_that_are_not_an_index(tmp_path: Path, write: Make) -> None:
    with pytest.raises(MissingFileError):
        Index.open(tmp_path / "nowhere")
    with pytest.raises(NotAnIndexError):
        Index.open(tmp_path)
    index = write([{0: 1.0}])
    with pytest.raises(NotAnIndexError):
        Index.open(index.path / "manifest.json")
    manifest = index.path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 4'))
    with pytest.raises(NewerFormatError) as caught:
        Index.open(str(index.path))
    assert dict(caught.value.facts)["format"] == 4


def test_a_missing_file_is_named(write: Make) -> None:
    index = write([{0: 1.0}], texts=["x"], attachments={"file": b"x"})
    for file in list(index.manifest.files()):
        path = index.path / file.name
        data = path.read_bytes()
        path.unlink()
        with pytest.raises(MissingFileError) as caught:
            Index.open(index.path)
        assert dict(caught.value.facts)["file"] == path
        path.write_bytes(data)
    Index.open(index.path)


def rebuild(path: Path, documents: int) -> None:
    vocabulary = Vocabulary(["merge"])
    with IndexWriter(path, overwrite=True) as writer:
        writer.add(
            [f"d{i}" for i in range(documents)], TermWeights.from_rows([{0: 1.0}] * documents, vocabulary.id)
        )
        writer.commit(vocabulary, encoder={})


def reading(monkeypatch: pytest.MonkeyPatch, before: list[int], after: list[int]) -> list[Path]:
    """Have builds of so many documents finish before and after each time a manifest is read; 0 is none."""
    real, calls = Manifest.read, []

    def read(folder: Path, known: Manifest | None = None) -> Manifest:
        number = len(calls)
        calls.append(folder)
        if number < len(before) and before[number]:
            rebuild(folder, before[number])
        manifest = real(folder)
        if number < len(after) and after[number]:
            rebuild(folder, after[number])
        return manifest

    monkeypatch.setattr(Manifest, "read", read)
    return calls


def test_a_build_may_finish_between_the_manifest_and_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever generation a reader begins with, it opens one as a whole."""
    rebuild(tmp_path, 1)
    calls = reading(monkeypatch, [], [2, 3, 5])
    index = Index.open(tmp_path)
    assert len(calls) == 4
    assert len(index) == 5
    assert [index.doc_id(i) for i in range(5)] == ["d0", "d1", "d2", "d3", "d4"]


def test_restored_files_are_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One generation, another, and the first again: the manifest has not changed, the files were gone."""
    rebuild(tmp_path, 1)
    calls = reading(monkeypatch, [0, 1], [2, 0])
    assert len(Index.open(tmp_path)) == 1
    assert len(calls) == 2


def test_opening_fails_after_some_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ATTEMPTS", 5)
    rebuild(tmp_path, 1)
    calls = reading(monkeypatch, [], list(range(2, 50)))
    with pytest.raises(MissingFileError):
        Index.open(tmp_path)
    assert len(calls) == 5


def test_damage_is_reported_after_a_second_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuild(tmp_path, 1)
    (ids,) = tmp_path.glob("ids-*.tw")
    ids.write_bytes(b"")
    calls = reading(monkeypatch, [], [])
    with pytest.raises(CorruptIndexError):
        Index.open(tmp_path)
    assert len(calls) == 2


def test_an_index_can_be_shared_between_threads(write: Make, random_rows: Make, search: Make) -> None:
    index = write(random_rows(300, 30), texts=[f"text {i}" for i in range(300)])
    queries = [{i: 1.0, (i + 7) % 30: 2.5} for i in range(30)]
    expected = [search(index, query, 20) for query in queries]
    found: list[list[Any]] = [[] for _ in range(4)]

    def work(mine: list[Any]) -> None:
        mine.extend(search(index, query, 20) for query in queries)
        assert index.doc_ids(np.arange(300))[299] == "d299"
        assert index.text(17) == "text 17"

    threads = [threading.Thread(target=work, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
