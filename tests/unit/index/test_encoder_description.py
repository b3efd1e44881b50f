"""Description of the encoder in a manifest: what is read, and damaged descriptions."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import Document, build_index
from termwise.cli.inspect import _facts, _rows
from termwise.errors import CorruptIndexError, ParameterError, TermwiseError
from termwise.index import Index
from termwise.index.encoder_description import (
    FUSION,
    EncoderDescription,
    ModelRecord,
    encoder_description,
    fused_description,
)
from termwise.index.manifest import Manifest
from termwise.indexing import open_writer
from termwise.scorers.model_scorers import index_scorer
from termwise.text import make_analyzer

NETWORK = {
    "name": "tilde",
    "id": "sha256:1",
    "network": {"precision": "int8", "processor": "any"},
    "settings": {"length": 128, "overlap": 15},
    "expansion": None,
    "idf_power": 0.5,
    "document_prompt": "passage: ",
}


def described(**changes: Any) -> dict[str, Any]:
    settings = {
        "model": "bm25",
        "parameters": {"k1": 0.9},
        "analyzer": make_analyzer("english").spec,
        "weighting": "counts",
        "exact": True,
    }
    return encoder_description(**(settings | changes))


def test_all_parts_are_read() -> None:
    made = described(network=NETWORK, table={"name": "words", "id": "sha256:2"}, statistics={"documents": 3})
    read = EncoderDescription.of(made)
    assert read.model == ModelRecord("bm25", {"k1": 0.9}, True)
    assert read.analyzer is not None
    assert (read.analyzer.name, read.analyzer.files) == ("english", ())
    assert read.analyzer.fingerprint == make_analyzer("english").spec.fingerprint
    assert read.weighting == "counts"
    assert read.network is not None
    assert (read.network.name, read.network.precision, read.network.idf_power) == ("tilde", "int8", 0.5)
    assert (read.network.length, read.network.overlap) == (128, 15)
    assert (read.network.document_prompt, read.network.document_tokenizer) == ("passage: ", "")
    assert read.table is not None
    assert (read.table.name, read.table.id) == ("words", "sha256:2")
    assert read.statistics == {"documents": 3}
    assert [(part.weight, part.model) for part in read.parts] == [(1.0, read.model)]
    assert read.json == made


def test_an_empty_description() -> None:
    read = EncoderDescription.of({})
    assert (read.model.name, read.analyzer, read.network, read.table) == ("", None, None, None)
    assert (read.weighting, read.statistics, read.json) == ("counts", {}, {})


def test_a_sum_has_the_parts_of_its_indexes() -> None:
    one, other = (EncoderDescription.of(described(model=name)) for name in ("bm25", "jm"))
    spec = make_analyzer("english").spec
    fused = EncoderDescription.of(fused_description([one, other], [0.5, 2.0], spec, "counts"))
    assert (fused.model.name, fused.model.exact) == (FUSION, True)
    again = EncoderDescription.of(fused_description([fused, one], [2.0, 1.0], spec, "counts"))
    assert [(part.weight, part.model.name) for part in again.parts] == [
        (1.0, "bm25"), (4.0, "jm"), (1.0, "bm25"),
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["chunk", "fields", "field_weights"])
def test_the_keys_of_texts_are_no_part_of_it(key: str) -> None:
    with pytest.raises(ParameterError, match="wrong type"):
        EncoderDescription.of({key: []})


def test_the_manifest_writes_texts_beside_the_encoder(tmp_path: Path) -> None:
    documents = [Document.of_fields("a", {"title": "merge", "text": "a list"})]
    index = build_index(documents, tmp_path / "i", fields={"title": 3, "text": 1}, chunk=2).index
    body = json.loads((tmp_path / "i" / "manifest.json").read_bytes())
    assert body["encoder"]["field_weights"] == [["title", 3], ["text", 1]]
    assert body["encoder"]["chunk"] == index.manifest.chunk == 2
    assert index.manifest.field_weights == {"title": 3, "text": 1}
    assert index.manifest.fields == ("title", "text")
    assert body["encoder"] == index.manifest.encoder_json()
    assert not {"chunk", "fields", "field_weights"} & index.manifest.encoder.json.keys()


WRONG: list[tuple[tuple[Any, ...], Any, str]] = [
    (("analyzer",), 5, "encoder.analyzer"),
    (("analyzer", "files"), "x", "encoder.analyzer.files"),
    (("analyzer", "files"), [3], "encoder.analyzer.files[0]"),
    (("analyzer", "name"), None, "encoder.analyzer.name"),
    (("analyzer", "options"), [], "encoder.analyzer.options"),
    (("model", "name"), 3, "encoder.model.name"),
    (("model", "exact"), "yes", "encoder.model.exact"),
    (("model", "parameters"), [], "encoder.model.parameters"),
    (("query",), 5, "encoder.query"),
    (("query", "weighting"), [], "encoder.query.weighting"),
    (("statistics",), ["x"], "encoder.statistics"),
    (("statistics", "documents"), 0, "encoder.statistics.documents"),
    (("statistics", "tokens"), None, "encoder.statistics.tokens"),
    (("table",), {"name": "x"}, "encoder.table.id"),
    (("network",), None, "encoder.network"),
    (("network",), {"network": []}, "encoder.network.network"),
    (("network",), {"settings": {"length": "x"}}, "encoder.network.settings.length"),
    (("network",), {"settings": {"length": 5, "overlap": 3}}, "encoder.network.settings.overlap"),
    (("network",), {"idf_power": -1}, "encoder.network.idf_power"),
    (("network",), {"expansion": 3}, "encoder.network.expansion"),
    (("parts",), {}, "encoder.parts"),
    (("parts",), [{"weight": 1}], "encoder.parts[0].model"),
    (("field_weights",), [["title", 3], ["title", 1]], "encoder.field_weights[1]"),
    (("chunk",), -1, "encoder.chunk"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "i"
    documents = [
        Document.of_fields(f"d{i}", {"title": "merge", "text": f"sort the list {i}"}) for i in range(3)
    ]
    build_index(documents, folder, fields={"title": 3, "text": 1}, store_text=True)
    return folder


def sealed(body: dict[str, Any]) -> bytes:
    def dumped(content: dict[str, Any]) -> bytes:
        return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()

    rest = {key: value for key, value in body.items() if key != "checksum"}
    return dumped({**rest, "checksum": "sha256:" + hashlib.sha256(dumped(rest)).hexdigest()})


def changed(body: Any, place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    body = copy.deepcopy(body)
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return dict(body)


@pytest.mark.parametrize(("place", "value", "key"), WRONG)
def test_a_damaged_description_names_file_and_key(
    built: Path, place: tuple[Any, ...], value: Any, key: str
) -> None:
    body = json.loads((built / "manifest.json").read_bytes())
    with pytest.raises(CorruptIndexError) as caught:
        Manifest.parse(sealed(changed(body, ("encoder", *place), value)), built / "manifest.json")
    facts = dict(caught.value.facts)
    assert facts["file"] == built / "manifest.json"
    assert facts["expected"].startswith((f"{key} ", f"{key}:"))


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all values in JSON."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*at, key))


def uses(folder: Path) -> Iterator[Any]:
    """Yield uses of an index that read the description."""
    yield lambda: repr(termwise.open(folder))
    yield lambda: termwise.open(folder).rank("merge list", must_not=["sort the"])
    yield lambda: termwise.open(folder).explain("merge", "d1")
    yield lambda: _rows(_facts(Index.open(folder)), Index.open(folder))
    yield lambda: index_scorer(Index.open(folder)).score("merge", ["sort"])
    yield lambda: open_writer(folder).close()


def test_any_description_is_used_or_refused_with_an_error_of_termwise(built: Path) -> None:
    path = built / "manifest.json"
    data = path.read_bytes()
    body = json.loads(data)
    refused = 0
    try:
        for place in places(body["encoder"], ("encoder",)):
            for value in (None, -1, 1.5, "x", ["x"], {"x": 1}):
                path.write_bytes(sealed(changed(body, place, value)))
                for use in uses(built):
                    try:
                        use()
                    except TermwiseError:
                        refused += 1
    finally:
        path.write_bytes(data)
    assert refused > 100
