"""Building an index: accepted and refused input, and the files that remain."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.errors import (
    DuplicateIdError,
    EmptyCollectionError,
    ForeignFolderError,
    IndexExistsError,
    IndexLockedError,
    ParameterError,
    StorageError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.index import Index, IndexWriter, verify
from termwise.index.folder import writer_lock
from termwise.index.manifest import BUILD
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

Make = Callable[..., Any]
VOCABULARY = Vocabulary(["merge", "sort", "list"])


def rows(*content: dict[int, float], vocabulary: Vocabulary = VOCABULARY) -> TermWeights:
    return TermWeights.from_rows(content, vocabulary.id)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    with IndexWriter(tmp_path / "index") as writer:
        yield writer


# --- documents --------------------------------------------------------------------------------------------------

ODD_IDS = ["", " ", "a b\tc", "ü/漢字", "\ud800", "a\0b", "x" * 100_000, "..", "manifest.json"]


def test_any_string_is_an_identifier(write: Make) -> None:
    index = write([{0: 1.0}] * len(ODD_IDS), ids=ODD_IDS)
    assert [index.doc_id(i) for i in range(len(ODD_IDS))] == ODD_IDS
    assert index.doc_ids(np.arange(len(ODD_IDS))) == ODD_IDS
    assert [index.ordinal(doc_id) for doc_id in ODD_IDS] == list(range(len(ODD_IDS)))
    assert index.find("a b") is None
    assert verify(index.path) == []


def test_a_refused_batch_leaves_no_trace(tmp_path: Path) -> None:
    """Identifiers and texts stay in step, and the names of the batch can be given again."""
    with IndexWriter(tmp_path / "index", store_text=True) as writer:
        writer.add_documents(["a"], ["text of a"])
        with pytest.raises(DuplicateIdError):
            writer.add_documents(["b", "a"], ["text of b", "another"])
        assert writer.documents == 1
        writer.add_documents(["b"], ["text of b"])
        writer.add_weights(rows({0: 1.0}, {1: 1.0}))
        writer.commit(VOCABULARY, encoder={})
    index = Index.open(tmp_path / "index")
    assert [(index.doc_id(i), index.text(i)) for i in range(2)] == [("a", "text of a"), ("b", "text of b")]


def test_an_index_that_stores_texts_requires_them(tmp_path: Path) -> None:
    with IndexWriter(tmp_path / "index", store_text=True) as writer:
        for texts in (None, [], ["one", "two"]):
            with pytest.raises(ParameterError, match="every document needs one"):
                writer.add_documents(["a"], texts)
        assert writer.documents == 0


def test_texts_are_not_stored_by_default(write: Make, tmp_path: Path) -> None:
    index = write([{0: 1.0}])
    assert not index.stores_text
    assert index.text(0) is None


def test_memory_that_no_machine_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="memory cannot have this value"):
        IndexWriter(tmp_path / "index", memory=10**400)
    assert list(tmp_path.iterdir()) == []


# --- weights ----------------------------------------------------------------------------------------------------


def test_documents_and_rows_must_match(writer: IndexWriter) -> None:
    with pytest.raises(WeightError, match="every document needs one row"):
        writer.add(["a", "b"], rows({0: 1.0}))
    writer.add(["a"], rows({0: 1.0}))
    writer.add_documents(["b"])
    with pytest.raises(WeightError) as caught:
        writer.commit(VOCABULARY, encoder={})
    assert dict(caught.value.facts) == {"documents": 2, "rows": 1}


def test_all_rows_have_the_same_vocabulary(writer: IndexWriter) -> None:
    other = Vocabulary(["merge"])
    writer.add(["a"], rows({0: 1.0}))
    with pytest.raises(VocabularyMismatchError, match="the same vocabulary"):
        writer.add_weights(rows({0: 1.0}, vocabulary=other))
    with pytest.raises(VocabularyMismatchError, match="another vocabulary") as caught:
        writer.commit(other, encoder={})
    assert dict(caught.value.facts) == {"rows": VOCABULARY.id[:19], "given": other.id[:19]}


@pytest.mark.parametrize("background", [False, True])
def test_a_term_outside_the_vocabulary(tmp_path: Path, background: bool) -> None:
    vocabulary = Vocabulary(["merge"], background=background)
    outside = 2 if background else 1
    with IndexWriter(tmp_path / "index") as writer:
        writer.add(["a", "b"], rows({0: 1.0}, {0: 1.0, outside: 2.0}, vocabulary=vocabulary))
        with pytest.raises(VocabularyMismatchError) as caught:
            writer.commit(vocabulary, encoder={})
    assert dict(caught.value.facts) == {"number": outside, "terms": outside}


def test_negative_weights_are_named_with_document_and_term(writer: IndexWriter) -> None:
    writer.add(["a", "b"], rows({0: 1.0}, {1: 2.0}))
    with pytest.raises(WeightError, match="negative") as caught:
        writer.add(["c", "d ü"], rows({0: 1.0}, {0: 1.0, 2: -0.5}))
    facts = dict(caught.value.facts)
    assert (facts["document"], facts["term"], facts["weight"]) == ("d ü", 2, -0.5)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf, 1e39])
def test_weights_that_are_not_finite_are_refused(weight: float) -> None:
    with pytest.raises(WeightError, match="not finite"):
        rows({0: weight})


def test_zero_weights_are_dropped_and_counted(write: Make) -> None:
    index = write([{0: 0.0, 1: 2.0}, {0: 0.0}, {}, {0: 1.0, 1: -0.0, 2: 3.0}])
    assert index.manifest.quantiser.dropped == 3
    assert index.manifest.postings == 3
    assert [index.row(i)[0].tolist() for i in range(4)] == [[1], [], [], [0, 2]]


def test_a_bias_of_zero_is_not_a_dropped_weight(write: Make) -> None:
    index = write([{0: 1.0, 2: 0.0}, {1: 0.0, 2: 3.0}], background=True)
    assert index.manifest.quantiser.dropped == 1
    assert index.segments[0].bias.tolist() == [0, 3 * 256]


def test_a_bias_too_large_for_its_units(write: Make) -> None:
    with pytest.raises(WeightError, match="bias is too large"):
        write([{0: 1.0, 1: 70_000.0}], background=True)
    index = write([{0: 1.0, 1: 70_000.0}], background=True, quantiser="float32")
    assert index.segments[0].bias.tolist() == [70_000.0]


@pytest.mark.parametrize("quantiser", ["uint8", "float32"])
def test_extreme_weights(write: Make, search: Make, quantiser: str) -> None:
    largest, least = float(np.finfo(np.float32).max), 1e-45
    index = write([{0: largest, 1: least}, {1: 1.0}], quantiser=quantiser)
    found, scores = search(index, {0: 1.0})
    assert found == [0]
    assert scores[0] == pytest.approx(largest, rel=2.0**-13)
    assert index.manifest.quantiser.raised == (2 if quantiser == "uint8" else 0)
    assert verify(index.path) == []


# --- the collection as a whole ----------------------------------------------------------------------------------


def test_an_empty_collection(writer: IndexWriter, tmp_path: Path) -> None:
    writer.add([], rows())
    with pytest.raises(EmptyCollectionError):
        writer.commit(VOCABULARY, encoder={})
    writer.close()
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("documents", [1, 33, 300])
@pytest.mark.parametrize("quantiser", ["uint8", "float32"])
def test_documents_without_any_term(write: Make, search: Make, documents: int, quantiser: str) -> None:
    index = write([{}] * documents, tokens=[], texts=[""] * documents, quantiser=quantiser)
    assert len(index) == documents
    assert index.manifest.terms == 0
    assert index.vocabulary.number("merge") is None
    assert search(index, {}) == ([], [])
    assert verify(index.path) == []


def test_floors_and_query_weights_must_be_finite_and_complete(writer: IndexWriter) -> None:
    writer.add(["a"], rows({0: 1.0}))
    for wrong in ([1.0], [1.0, 2.0, np.nan], [[1.0, 2.0, 3.0]]):
        with pytest.raises(WeightError, match="floors must be finite"):
            writer.commit(VOCABULARY, encoder={}, floors=wrong)
        with pytest.raises(WeightError, match="query weights must be finite"):
            writer.commit(VOCABULARY, encoder={}, query_weights=wrong)
    with pytest.raises(WeightError, match="query weights must be finite"):
        writer.commit(VOCABULARY, encoder={}, query_weights=[1.0, 2.0, 1e300])  # not a float32
    manifest = writer.commit(VOCABULARY, encoder={}, floors=[1.0, 2.0, 1e300], query_weights=[0, 1, 2])
    index = Index.open(writer.path)
    assert index.manifest == manifest
    assert index.floors.tolist() == [1.0, 2.0, 1e300]
    assert index.query_weights.tolist() == [0.0, 1.0, 2.0]


def test_a_background_term_has_a_floor_of_its_own(write: Make) -> None:
    index = write([{0: 1.0}], background=True, tokens=["merge"], floors=[-1.0, -2.0], query_weights=[3.0])
    assert index.floors.tolist() == [-1.0, -2.0]
    assert index.vocabulary.background == 1


def test_the_description_of_the_encoder_is_returned_as_json(write: Make) -> None:
    index = write([{0: 1.0}], encoder={"facts": ("a", "b"), "name": "\ud800 größe"})
    assert index.manifest.encoder.json == {"facts": ["a", "b"], "name": "\ud800 größe"}
    with pytest.raises(ParameterError, match="JSON"):
        write([{0: 1.0}], name="other", encoder={"x": {1, 2}})


@pytest.mark.parametrize("options", [{"quantiser": "uint4"}, {"threads": 0}, {"threads": 1025}])
def test_settings_out_of_range(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        IndexWriter(tmp_path / "index", **options)
    assert not (tmp_path / "index").exists()


def test_a_writer_is_closed_after_commit(writer: IndexWriter) -> None:
    writer.add(["a"], rows({0: 1.0}))
    writer.commit(VOCABULARY, encoder={})
    for again in (
        lambda: writer.add_documents(["b"]),
        lambda: writer.add_weights(rows({0: 1.0})),
        lambda: writer.commit(VOCABULARY, encoder={}),
    ):
        with pytest.raises(ParameterError, match="writer is closed"):
            again()
    writer.close()
    with pytest.raises(ParameterError, match="writer is closed"):
        writer.add_documents(["b"])


# --- the folder -------------------------------------------------------------------------------------------------


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_foreign_folder_is_refused_and_untouched(tmp_path: Path, contents: Make) -> None:
    foreign = tmp_path / "thesis"
    (foreign / ".build-tools").mkdir(parents=True)
    (foreign / ".build-tools" / "keep").write_text("me")
    (foreign / "chapter.tex").write_text("once")
    before = contents(foreign)
    for overwrite in (False, True):
        with pytest.raises(ForeignFolderError) as caught:
            IndexWriter(foreign, overwrite=overwrite)
        assert dict(caught.value.facts)["found"] == ".build-tools, chapter.tex"
    assert contents(foreign) == before
    assert names(foreign) == [".build-tools", "chapter.tex"]


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "manifest.json.old",
        "segment-0.tw",
        "terms-0123456789abcdef.tw.bak",
        ".lock2",
        ".build-x",
    ],
)
def test_a_file_with_a_similar_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"manifest_version": 3}')
    with pytest.raises(ForeignFolderError) as caught:
        IndexWriter(tmp_path, overwrite=True)
    assert dict(caught.value.facts)["found"] == name
    assert names(tmp_path) == [name]


def test_many_foreign_files_are_not_all_listed(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"file{number}").touch()
    with pytest.raises(ForeignFolderError) as caught:
        IndexWriter(tmp_path)
    assert dict(caught.value.facts)["found"] == "file0, file1, file2, file3, file4, ..."


def test_a_folder_with_the_name_of_the_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(ForeignFolderError):
        IndexWriter(tmp_path, overwrite=True)


def test_a_file_with_the_name_of_the_index_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ForeignFolderError, match="is a file"):
        IndexWriter(tmp_path / "file", overwrite=True)
    with pytest.raises(StorageError) as caught:
        IndexWriter(tmp_path / "file" / "index")
    assert str(tmp_path / "file") in str(dict(caught.value.facts)["path"])
    assert (tmp_path / "file").read_text() == "x"


def test_an_existing_index_is_refused_without_overwrite(write: Make, contents: Make) -> None:
    index = write([{0: 1.0}])
    before = contents(index.path)
    with pytest.raises(IndexExistsError) as caught:
        IndexWriter(index.path)
    assert any("`overwrite=True`" in fix for fix in caught.value.fixes_worded())
    assert contents(index.path) == before


def test_overwriting_replaces_everything(write: Make, contents: Make) -> None:
    old = write([{0: 1.0}], texts=["old"], attachments={"a": b"old"})
    before = contents(old.path)
    new = write([{0: 3.0}, {1: 1.0}], overwrite=True)
    after = contents(new.path)
    assert set(before) & set(after) == {"manifest.json"}
    assert len(after) == 4
    assert verify(new.path) == []
    # The generation that was open before stays readable, to the last file.
    assert len(old) == 1
    assert old.text(0) == "old"
    assert old.attachment("a") == b"old"
    assert old.doc_id(0) == "d0"


def test_overwriting_with_the_same_content_keeps_the_files(write: Make, contents: Make) -> None:
    before = contents(write([{0: 1.0}]).path)
    again = write([{0: 1.0}], overwrite=True)
    assert contents(again.path) == before
    assert verify(again.path) == []


@pytest.mark.parametrize("damage", [b"", b"{", b"\0" * 100])
def test_an_index_with_a_damaged_manifest_can_be_overwritten(write: Make, damage: bytes) -> None:
    index = write([{0: 1.0}])
    (index.path / "manifest.json").write_bytes(damage)
    with pytest.raises(IndexExistsError):
        IndexWriter(index.path)
    assert len(write([{0: 1.0}, {1: 1.0}], overwrite=True)) == 2


def test_the_next_build_removes_files_of_a_killed_build(write: Make, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build = folder / f"{BUILD}a1b2c3d4"
    build.mkdir(parents=True)
    (build / "rows.terms").write_bytes(b"x" * 100)
    (folder / ".lock").touch()
    (folder / "manifest.json.new").write_bytes(b"{")
    (folder / "ids-0123456789abcdef.tw").write_bytes(b"x")
    index = write([{0: 1.0}])
    assert set(names(folder)) == {"manifest.json", *(file.name for file in index.manifest.files())}


@pytest.mark.parametrize("deep", [False, True])
def test_an_exception_inside_with_leaves_no_folder(tmp_path: Path, deep: bool) -> None:
    path = tmp_path / "a" / "b" / "index" if deep else tmp_path / "index"

    def build() -> None:
        with IndexWriter(path, store_text=True) as writer:
            assert path.exists()
            writer.add(["a"], rows({0: 1.0}), ["text"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build()
    assert names(tmp_path) == []


def test_an_exception_inside_with_leaves_an_empty_folder_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    with IndexWriter(tmp_path / "index"):
        pass
    assert names(tmp_path / "index") == []


def test_an_exception_inside_with_leaves_the_old_index(write: Make, contents: Make) -> None:
    index = write([{0: 1.0}])
    before = contents(index.path)

    def build() -> None:
        with IndexWriter(index.path, overwrite=True) as writer:
            writer.add(["a"], rows({0: 1.0}))
            raise ValueError("a bug elsewhere")

    with pytest.raises(ValueError, match="elsewhere"):
        build()
    assert contents(index.path) == before
    assert names(index.path) == sorted(before)


@pytest.mark.parametrize("stage", ["order documents", "invert"])
def test_an_exception_from_the_progress_callback(write: Make, contents: Make, stage: str) -> None:
    index = write([{0: 1.0}] * 50)
    before = contents(index.path)

    def interrupt(now: str, done: int, total: int | None) -> None:
        if now == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write([{0: 2.0}] * 50, overwrite=True, progress=interrupt)
    assert contents(index.path) == before


# --- one writer at a time ---------------------------------------------------------------------------------------


def test_the_second_writer_is_refused(tmp_path: Path) -> None:
    with IndexWriter(tmp_path / "index") as first:
        for overwrite in (False, True):
            with pytest.raises(IndexLockedError) as caught:
                IndexWriter(tmp_path / "index", overwrite=overwrite)
            assert dict(caught.value.facts)["index"] == tmp_path / "index"
        first.add(["a"], rows({0: 1.0}))
        first.commit(VOCABULARY, encoder={})
    assert len(Index.open(tmp_path / "index")) == 1
    IndexWriter(tmp_path / "index", overwrite=True).close()


def test_closing_twice_does_not_take_the_lock_from_the_next_writer(tmp_path: Path) -> None:
    first = IndexWriter(tmp_path / "index")
    first.close()
    with IndexWriter(tmp_path / "index"):
        first.close()
        with pytest.raises(IndexLockedError):
            IndexWriter(tmp_path / "index")


def test_a_lock_on_a_removed_file_is_acquired_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file another writer removes between our opening and our locking it locks nothing."""
    real, calls = fcntl.flock, []

    def flock(descriptor: int, operation: int) -> None:
        if not calls:
            (tmp_path / ".lock").unlink()
        calls.append(descriptor)
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with writer_lock(tmp_path):
        assert len(calls) == 2
        with pytest.raises(IndexLockedError), writer_lock(tmp_path):
            pass
    assert names(tmp_path) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StorageError) as caught:
        IndexWriter(tmp_path / "index")
    assert dict(caught.value.facts)["path"] == tmp_path / "index" / ".lock"


# --- a disk that refuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, there: bool
) -> None:
    def refuse(path: Any, *_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number), str(path))

    path = tmp_path / "index"
    if there:
        path.mkdir()
        monkeypatch.setattr(os, "open", refuse)
    else:
        monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StorageError) as caught:
        IndexWriter(path)
    assert str(dict(caught.value.facts)["path"]).startswith(str(path))
    assert dict(caught.value.facts)["reason"] == os.strerror(number)
    assert path.exists() == there


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *_: Any) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    for method in ("exists", "iterdir"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, method, refuse)
            with pytest.raises(StorageError) as caught:
                IndexWriter(tmp_path)
            assert str(dict(caught.value.facts)["path"]) == str(tmp_path)


@pytest.mark.parametrize("there", [False, True])
def test_a_failed_publication_changes_nothing(
    write: Make, tmp_path: Path, contents: Make, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """Each of the renames that bring files into the folder fails in turn."""
    before = contents(write([{0: 1.0}], attachments={"a": b"x"}).path) if there else None
    real = Path.replace
    refused = 0
    while True:
        calls = 0

        def replace(self: Path, target: Path, allowed: int = refused) -> Path:
            nonlocal calls
            calls += 1
            if calls > allowed:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
            return real(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", replace)
            try:
                write([{0: 2.0}, {1: 3.0}], attachments={"a": b"x", "b": b"y"}, overwrite=there)
                break
            except StorageError as error:
                where = str(dict(error.facts)["path"])
        assert where.startswith(str(tmp_path / "index"))
        refused += 1
        if before is None:
            assert not (tmp_path / "index").exists()
        else:
            assert contents(tmp_path / "index") == before
    assert refused == 6  # five files and the manifest


def test_everything_is_flushed_before_it_is_published(write: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that dies keeps names only of what was flushed before."""
    real_fsync, real_replace = os.fsync, Path.replace
    flushed: set[int] = set()
    published: list[str] = []

    def fsync(descriptor: int) -> None:
        flushed.add(os.fstat(descriptor).st_ino)
        real_fsync(descriptor)

    def replace(self: Path, target: Path) -> Path:
        assert self.stat().st_ino in flushed
        if target.name == "manifest.json":
            assert target.parent.stat().st_ino in flushed
        else:
            flushed.discard(target.parent.stat().st_ino)
        published.append(target.name)
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    index = write([{0: 1.0}], texts=["x"], attachments={"a": b"x"})
    files = sorted(file.name for file in index.manifest.files())
    assert published == [*files, "manifest.json"]


def test_files_that_cannot_be_removed_do_no_harm(
    write: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write([{0: 1.0}])
    with monkeypatch.context() as patch:

        def refuse(self: Path, missing_ok: bool = False) -> None:
            if not missing_ok or self.exists():
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(self))

        patch.setattr(Path, "unlink", refuse)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        write([{0: 2.0}, {1: 3.0}], texts=["x", "y"], overwrite=True)
    assert len(Index.open(tmp_path / "index")) == 2
    index = write([{0: 3.0}], overwrite=True)
    assert set(names(index.path)) == {"manifest.json", *(file.name for file in index.manifest.files())}
