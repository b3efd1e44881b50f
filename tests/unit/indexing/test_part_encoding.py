"""Encoding of parts in one process, and indexes that are built from their rows."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from tests.unit.encode import tiny

import termwise
from termwise import BuildOptions, build_index
from termwise.encode.row_table import row_files
from termwise.errors import (
    CorruptModelError,
    EmptyCollectionError,
    ForeignFolderError,
    MalformedRecordError,
    ModelFormatError,
    ParameterError,
    VocabularyMismatchError,
)
from termwise.indexing import encode_parts, part_encoding
from termwise.indexing.part_encoding import EncodedPart, PartEncoder, collect_parts, prepare_job
from termwise.indexing.row_statistics import read_row_statistics
from termwise.models import Lookup, TildeV2

pytest.importorskip("pyarrow", reason="pip install 'termwise[parquet]'")

TEXTS = ["merge the lists", "sort", "the", "sort lists merge", "list", "dog cat", "cat"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Work in a folder with a collection of two documents a part, and a TILDEv2 encoder with an idf."""
    monkeypatch.chdir(tmp_path)
    cut = part_encoding.collection_parts
    monkeypatch.setattr(part_encoding, "collection_parts", lambda source: cut(source, documents=2))
    lines = [json.dumps({"_id": f"d{number}", "text": text}) + "\n" for number, text in enumerate(TEXTS)]
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    (tmp_path / "first.jsonl").write_text("".join(lines[:3]))
    (tmp_path / "second.jsonl").write_text("".join(lines[3:]))
    weights = np.arange(len(tiny.PIECES), dtype=np.float32) / 8
    tiny.make_folder(tmp_path / "encoder", "tildev2", {"int8": weights}, positions=32, length=32)
    return tmp_path


MODEL = TildeV2(encoder="./encoder", expansion_encoder="none", idf_power=1.0)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_index_is_the_one_that_is_built_from_the_texts(place):
    share = encode_parts("docs.jsonl", "rows", model=MODEL)
    assert (share.documents, share.blocks, share.share, share.left) == (7, 4, 4, 0)
    build_index("docs.jsonl", "rows.tw", model=MODEL, options=BuildOptions(encoding="rows"))
    build_index("docs.jsonl", "texts.tw", model=MODEL)
    assert content(place / "rows.tw") == content(place / "texts.tw")
    assert {path.name.split("-")[0] for path in (place / "rows").iterdir()} == {
        "rows",
        "encoding.json",
        "statistics.json",
    }


def test_shards_write_the_files_of_one_run_and_the_last_one_the_statistics(place):
    encode_parts("docs.jsonl", "whole", model=MODEL)
    first = encode_parts("docs.jsonl", "shards", model=MODEL, shard=(1, 2))
    assert (first.share, first.left) == (2, 2)
    assert not (place / "shards" / "statistics.json").exists()
    second = encode_parts("docs.jsonl", "shards", model=MODEL, shard=(2, 2))
    assert (second.share, second.left) == (2, 0)
    assert content(place / "whole") == content(place / "shards")


def test_finished_parts_are_kept_and_damaged_ones_are_encoded_again(place, monkeypatch):
    encode_parts("docs.jsonl", "rows", model=MODEL)
    before = content(place / "rows")
    damaged, *others = row_files(place / "rows")
    damaged.write_bytes(b"damaged")
    times = {path: path.stat().st_mtime_ns for path in others}
    encode_parts("docs.jsonl", "rows", model=MODEL)
    assert content(place / "rows") == before
    assert {path: path.stat().st_mtime_ns for path in others} == times


def test_rows_of_vectors_without_a_network_build_the_same_index(place):
    model = Lookup(documents="table")
    encode_parts("docs.jsonl", "rows", model=model)
    build_index("docs.jsonl", "rows.tw", model=model, options=BuildOptions(encoding="rows"))
    build_index("docs.jsonl", "texts.tw", model=model)
    assert content(place / "rows.tw") == content(place / "texts.tw")
    assert not list((place / "rows").glob("block-*"))


def test_statistics_of_the_rows_by_hand(place):
    encode_parts("docs.jsonl", "rows", model=MODEL)
    statistics = read_row_statistics(place / "rows" / "statistics.json")
    assert statistics.documents == 7
    counts = dict(zip(tiny.PIECES, statistics.frequencies.tolist(), strict=True))
    assert (counts["sort"], counts["merge"], counts["list"], counts["cat"]) == (2, 2, 3, 2)


def test_indexes_of_parts_have_the_scores_of_the_whole_collection(place):
    encode_parts("docs.jsonl", "rows", model=MODEL)

    def build(source, out, **options):
        options = BuildOptions(encoding="rows", quantiser="float32", **options)
        return build_index(source, out, model=MODEL, options=options)

    shared = {"statistics": "rows/statistics.json"}
    whole = build("docs.jsonl", "whole.tw")
    parts = [build(f"{name}.jsonl", f"{name}.tw", **shared) for name in ("first", "second")]
    apart = [build(f"{name}.jsonl", f"{name}-apart.tw") for name in ("first", "second")]

    def scores(searchers):
        rankings = [searcher.rank("sort merge list") for searcher in searchers]
        return {i: s for r in rankings for i, s in zip(r.doc_ids, r.scores, strict=True)}

    assert scores(parts) == scores([whole])
    assert scores(apart) != scores([whole])
    sums = [searcher.index.manifest.attachments for searcher in (whole, *parts)]
    assert sums[0] == sums[1] == sums[2]


def test_statistics_of_another_model_or_another_collection_are_refused(place):
    encode_parts("first.jsonl", "first", model=MODEL)
    encode_parts(
        "docs.jsonl", "other", model=TildeV2(encoder="./encoder", expansion_encoder="none", length=8)
    )

    def build(source, statistics, model=MODEL):
        build_index(source, "i.tw", model=model, options=BuildOptions(statistics=statistics))

    with pytest.raises(VocabularyMismatchError, match="statistics"):
        build("docs.jsonl", "other/statistics.json")
    with pytest.raises(ParameterError, match="not those of a collection that contains"):
        build("docs.jsonl", "first/statistics.json")
    with pytest.raises(ParameterError, match="do not depend"):
        build("docs.jsonl", "first/statistics.json", Lookup(documents="table"))
    with pytest.raises(ParameterError, match="require a model with a network"):
        build("docs.jsonl", "first/statistics.json", "bm25")
    assert not (place / "i.tw").exists()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda text: text.replace('"documents": 7', '"documents": 8'), CorruptModelError),
        (lambda text: text.replace("termwise-statistics", "other"), ModelFormatError),
        (lambda text: text.replace('"version": 1', '"version": 2'), ModelFormatError),
        (lambda text: text[:100], CorruptModelError),
    ],
)
def test_a_damaged_or_foreign_file_of_statistics_is_refused(place, change, error):
    encode_parts("docs.jsonl", "rows", model=MODEL)
    path = place / "rows" / "statistics.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(error):
        read_row_statistics(path)


def test_rows_of_other_settings_in_the_folder_are_refused(place):
    other = TildeV2(encoder="./encoder", expansion_encoder="none", length=8)
    encode_parts("docs.jsonl", "rows", model=MODEL)
    with pytest.raises(ForeignFolderError, match="other settings"):
        encode_parts("docs.jsonl", "rows", model=other)
    encode_parts("first.jsonl", "others", model=other)
    strange = row_files(place / "others")[0]
    strange.rename(place / "rows" / strange.name)
    with pytest.raises(ForeignFolderError, match="another encoder") as caught:
        build_index("docs.jsonl", "i.tw", model=MODEL, options=BuildOptions(encoding="rows"))
    assert strange.name in str(caught.value)


def test_a_process_with_other_versions_is_refused(place, monkeypatch):
    job, parts = prepare_job("docs.jsonl", "rows", model=MODEL)
    monkeypatch.setattr(part_encoding, "__version__", "9.9")
    done = pickle.loads(PartEncoder(job).attempt(0, parts[0]))
    assert isinstance(done.error, VocabularyMismatchError)
    assert "termwise 9.9" in str(done.error)
    with pytest.raises(VocabularyMismatchError, match="other versions"):
        collect_parts(1, [done], termwise.progress.no_progress)


def test_a_process_with_another_encoder_is_refused(place):
    job, parts = prepare_job("docs.jsonl", "rows", model=MODEL)
    weights = np.arange(len(tiny.PIECES), dtype=np.float32)
    (place / "encoder").rename(place / "before")
    tiny.make_folder(place / "encoder", "tildev2", {"int8": weights}, positions=32, length=32)
    done = pickle.loads(PartEncoder(job).attempt(0, parts[0]))
    assert isinstance(done.error, VocabularyMismatchError)
    assert not row_files(place / "rows")


def test_an_error_in_a_record_travels_with_its_line(place):
    (place / "docs.jsonl").write_text('{"_id": "a", "text": "x"}\n{"_id": "b"}\n')
    job, parts = prepare_job("docs.jsonl", "rows", model=MODEL)
    done = pickle.loads(PartEncoder(job).attempt(0, parts[0]))
    assert isinstance(done.error, MalformedRecordError)
    assert str(done.error) == str(pickle.loads(pickle.dumps(done.error)))
    with pytest.raises(MalformedRecordError, match="no text"):
        encode_parts("docs.jsonl", "rows", model=MODEL)


def test_jobs_do_not_depend_on_the_working_folder(place, monkeypatch):
    job, parts = prepare_job("docs.jsonl", "rows", model=MODEL)
    monkeypatch.chdir("/")
    assert PartEncoder(job).encode(0, parts[0]).documents == 2
    assert len(row_files(place / "rows")) == 1


def test_what_cannot_be_encoded_is_refused(place):
    (place / "none.jsonl").write_text("\n")
    with pytest.raises(EmptyCollectionError):
        encode_parts("none.jsonl", "rows", model=MODEL)
    with pytest.raises(ParameterError, match="only a model with an encoder"):
        encode_parts("docs.jsonl", "rows", model="bm25")
    with pytest.raises(ParameterError, match="shard"):
        encode_parts("docs.jsonl", "rows", model=MODEL, shard=(3, 2))
    with pytest.raises(ParameterError, match="JSONL or Parquet"):
        encode_parts(_tsv(place), "rows", model=MODEL)


def _tsv(place):
    path = place / "docs.tsv"
    path.write_text("a\tmerge\n")
    return path


def test_parts_come_in_any_order():
    done = collect_parts(
        3, [EncodedPart(2, "c", 1), EncodedPart(0, "a", 1), EncodedPart(1, "", 0)], lambda *_: None
    )
    assert [part.number for part in done] == [0, 2]
