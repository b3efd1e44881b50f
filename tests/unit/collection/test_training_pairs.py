"""Reading training pairs, in every layout."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from tests.unit.collection import msmarco

from termwise.collection.training_pairs import PairSource, read_sources
from termwise.errors import (
    EmptyCollectionError,
    MalformedRecordError,
    MissingFileError,
    TermwiseError,
    UnknownIdError,
)

HEADER = "query-id\tcorpus-id\tscore\n"


def write_jsonl(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def beir(folder: Path, *, split: str = "train", qrels: str = "q1\td2\t1\nq2\td1\t2\nq1\td1\t0\n") -> Path:
    write_jsonl(
        folder / "corpus.jsonl",
        {"_id": "d1", "title": "Lists", "text": "merge two lists"},
        {"_id": "d2", "title": "", "text": "shuffle a list"},
        {"_id": "d3", "title": "", "text": "nobody asks for this"},
    )
    write_jsonl(
        folder / "queries.jsonl", {"_id": "q1", "text": "mix it up"}, {"_id": "q2", "text": "join lists"}
    )
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "qrels" / f"{split}.tsv").write_text(HEADER + qrels)
    return folder


def texts(source: PairSource) -> list[tuple[str, str]]:
    return [(source.queries[query], source.passages[passage]) for query, passage in source.pairs.tolist()]


def test_a_beir_folder(tmp_path):
    (source,) = read_sources(beir(tmp_path / "lists"))
    assert source.name == "lists"
    assert texts(source) == [("mix it up", "shuffle a list"), ("join lists", "Lists\nmerge two lists")]
    assert len(source) == 2
    assert source.pairs.dtype == np.int32
    assert "nobody asks for this" not in source.passages


def test_everything_compressed(tmp_path):
    plain = read_sources(beir(tmp_path / "lists"))[0]
    folder = beir(tmp_path / "packed")
    for path in (folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "train.tsv"):
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    (source,) = read_sources(folder)
    assert texts(source) == texts(plain)


def test_another_split(tmp_path):
    folder = beir(tmp_path / "lists", split="dev")
    assert len(read_sources(folder, split="dev")[0]) == 2
    with pytest.raises(MissingFileError) as error:
        read_sources(folder)
    assert dict(error.value.facts)["other splits"] == "dev"


def test_pairs_line_by_line(tmp_path):
    path = write_jsonl(
        tmp_path / "pairs.jsonl",
        {"query": "a", "passage": "x"},
        {"query": "b", "passage": "x"},
        {"query": "a", "passage": "y", "note": "more fields"},
    )
    (source,) = read_sources(path)
    assert source.name == "pairs"
    assert (source.queries, source.passages) == (["a", "b"], ["x", "y"])
    assert source.pairs.tolist() == [[0, 0], [1, 0], [0, 1]]
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_sources(packed)[0].pairs.tolist() == source.pairs.tolist()
    assert read_sources(packed)[0].name == "packed"


def test_sources_in_a_folder_are_sorted_by_name(tmp_path):
    beir(tmp_path / "b-folder")
    write_jsonl(tmp_path / "c.jsonl", {"query": "q", "passage": "p"})
    write_jsonl(tmp_path / "a.jsonl", {"query": "q", "passage": "p"})
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").write_text("no pairs\n")
    assert [source.name for source in read_sources(tmp_path)] == ["a", "b-folder", "c"]


@pytest.mark.parametrize(
    "record",
    [
        {"query": "", "passage": "p"},
        {"query": " \t", "passage": "p"},
        {"query": "q", "passage": ""},
        {"query": "q"},
        {"query": "q", "passage": None},
        {"query": ["q"], "passage": "p"},
        {"query": 3, "passage": "p"},
    ],
)
def test_an_empty_or_unreadable_pair_names_file_and_line(tmp_path, record):
    path = write_jsonl(tmp_path / "pairs.jsonl", {"query": "a", "passage": "x"}, record)
    with pytest.raises(MalformedRecordError) as error:
        read_sources(path)
    facts = dict(error.value.facts)
    assert (facts["file"], facts["line"]) == (path, 2)


def test_a_line_that_is_not_json_is_refused(tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"query": "a", "passage": "x"}\nquery\tpassage\n')
    with pytest.raises(MalformedRecordError) as error:
        read_sources(tmp_path / "pairs.jsonl")
    assert dict(error.value.facts)["line"] == 2


@pytest.mark.parametrize(("kind", "file"), [("query", "queries.jsonl"), ("passage", "corpus.jsonl")])
def test_an_empty_text_of_a_judged_pair(tmp_path, kind, file):
    folder = beir(tmp_path / "lists")
    name = "q1" if kind == "query" else "d2"
    kept = [line for line in (folder / file).read_text().splitlines() if f'"{name}"' not in line]
    (folder / file).write_text("\n".join([*kept, f'{{"_id": "{name}", "text": " "}}']) + "\n")
    with pytest.raises(MalformedRecordError) as error:
        read_sources(folder)
    assert dict(error.value.facts)[kind] == name


@pytest.mark.parametrize(("kind", "line"), [("query", "q9\td1\t1\n"), ("passage", "q1\td9\t1\n")])
def test_judgments_of_unknown_identifiers_are_refused(tmp_path, kind, line):
    with pytest.raises(UnknownIdError) as error:
        read_sources(beir(tmp_path / "lists", qrels=line))
    assert dict(error.value.facts)[kind].endswith("9")


def test_a_folder_without_sources_is_refused(tmp_path):
    with pytest.raises(MissingFileError):
        read_sources(tmp_path / "nowhere")
    with pytest.raises(MissingFileError) as error:
        read_sources(tmp_path)
    assert "qrels/train.tsv" in dict(error.value.facts)["expected"]
    with pytest.raises(EmptyCollectionError):
        read_sources(beir(tmp_path / "lists", qrels="q1\td1\t0\n"))
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(EmptyCollectionError):
        read_sources(tmp_path / "empty.jsonl")


@pytest.mark.parametrize("part", ["corpus.jsonl", "queries.jsonl"])
def test_a_beir_folder_without_one_of_its_parts(tmp_path, part):
    folder = beir(tmp_path / "lists")
    (folder / part).unlink()
    with pytest.raises(TermwiseError) as error:
        read_sources(folder)
    assert error.value.slug == "missing-file"


def test_a_dataset_of_ir_datasets_in_the_shape_of_msmarco_passage_train(monkeypatch):
    queries = [("100", "first"), ("200", "second"), ("300", "not judged")]
    qrels = [("100", "7", 1, "0"), ("200", "49", 1, "0"), ("200", "3", 1, "0")]
    msmarco.register(monkeypatch, [f"passage {i}" for i in range(50)], {"train": (queries, qrels)})
    (source,) = read_sources("ir_datasets:msmarco-passage/train")
    assert source.name == "ir_datasets:msmarco-passage/train"
    assert texts(source) == [("first", "passage 7"), ("second", "passage 49"), ("second", "passage 3")]
    assert source.passages == ["passage 3", "passage 7", "passage 49"]


def test_a_pipe_is_not_training_data(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MissingFileError, match="not a pipe") as caught:
        read_sources(tmp_path / "pipe")
    assert dict(caught.value.facts)["path"] == tmp_path / "pipe"
