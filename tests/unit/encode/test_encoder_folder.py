"""Encoder folders: valid ones, invalid ones, and their errors."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from termwise.encode import encoder_folder as module
from termwise.encode.encoder_folder import EncoderFolder, require_kind, shipped_encoders
from termwise.encode.encoder_manifest import EncoderFile, EncoderManifest
from termwise.errors import CorruptModelError, MissingFileError, ModelFormatError, ParameterError
from termwise.storage.manifest_json import checksum_of


def edit(folder: Path, **changes: Any) -> None:
    """Change values of a manifest and update its checksum."""
    path = folder / "encoder.json"
    body = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({**body, "checksum": checksum_of(body)}))


def test_an_encoder_folder(tilde: Path, tiny: ModuleType) -> None:
    encoder = EncoderFolder.open(tilde)
    assert encoder.manifest.kind == "tilde"
    assert encoder.vocabulary.token(tiny.MERGE) == "merge"
    assert encoder.query_analyzer.tokens("The merge of lists") == ["merge", "list"]
    assert np.flatnonzero(encoder.kept).tolist() == [
        tiny.MERGE,
        tiny.SORT,
        tiny.LIST,
        tiny.HOW,
        tiny.DEFINITION,
        tiny.CAT,
        tiny.DOG,
    ]
    assert encoder.floors[tiny.MERGE] == -3
    assert encoder.floors[tiny.THE] == encoder.floors[tiny.DOC] == 0
    assert encoder.path("model.onnx") == tilde / "model.onnx"


def test_the_manifest_round_trips(tilde: Path) -> None:
    data = (tilde / "encoder.json").read_bytes()
    manifest = EncoderManifest.parse(data, tilde / "encoder.json")
    assert manifest.to_bytes() == data
    assert manifest.networks() == {"float32": "model.onnx"}


def test_special_tokens_are_not_kept(tiny: ModuleType, tmp_path: Path) -> None:
    folder = tiny.make_folder(tmp_path / "a", "tilde", tiny.square({}), cleaning="none")
    kept = EncoderFolder.open(folder).kept
    assert not kept[[tiny.PAD, tiny.CLS, tiny.SEP, tiny.DOC, tiny.QRY]].any()
    assert kept[tiny.THE]


def test_the_id_depends_on_the_content_only(tiny: ModuleType, tmp_path: Path) -> None:
    def made(name: str, **changes: Any) -> str:
        table = tiny.square(changes.pop("weights", {}))
        return EncoderFolder.open(tiny.make_folder(tmp_path / name, "tilde", table, **changes)).id

    first = made("a")
    assert made("b", trained={"pairs": 7}, length=8) == first
    assert made("c", cleaning="none") != first
    assert made("d", weights={tiny.CAT: {tiny.DOG: 1.0}}) != first
    assert made("e", floors=[-1.0] * len(tiny.PIECES)) != first


def test_shipped_encoders_are_opened_by_name(
    tilde: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "_shipped_root", lambda: tilde.parent)
    monkeypatch.chdir(tmp_path)
    assert shipped_encoders() == ("tilde",)
    assert EncoderFolder.open("tilde").folder == tilde
    assert EncoderFolder.open("./tilde").name == "./tilde"
    with pytest.raises(MissingFileError) as caught:
        EncoderFolder.open("tilda")
    assert dict(caught.value.facts)["ship with the package"] == "tilde"
    (tilde / "model.onnx").write_bytes(b"")
    with pytest.raises(CorruptModelError) as damaged:
        EncoderFolder.open("tilde").path("model.onnx")
    assert damaged.value.fixes_worded() == ["install termwise again"]


def test_a_package_without_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_shipped_root", lambda: tmp_path / "none")
    assert shipped_encoders() == ()


def test_folders_that_are_not_encoders(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFormatError, match="does not hold an encoder") as caught:
        EncoderFolder.open(tmp_path / "empty")
    assert caught.value.fixes == ("give the name of a shipped encoder, or the path of an encoder folder",)
    for name in ("config.json", "modules.json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("{}")
        with pytest.raises(ModelFormatError, match="a checkpoint for training") as caught:
            EncoderFolder.open(tmp_path / name)
        assert caught.value.fixes_worded() == [
            f"convert it with `convert_checkpoint('{tmp_path / name}')`",
            f"if it is a dense encoder, fit a query table to it: `train_lookup(teacher='{tmp_path / name}')`",
        ]
    (tmp_path / "mine" / "training").mkdir(parents=True)
    with pytest.raises(ModelFormatError, match="not finished") as caught:
        EncoderFolder.open(tmp_path / "mine")
    assert "`resume=True`" in caught.value.fixes_worded()[0]
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFormatError, match="this is a file"):
        EncoderFolder.open(tmp_path / "file")
    with pytest.raises(MissingFileError, match="no such encoder"):
        EncoderFolder.open(tmp_path / "missing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "another"}, "does not belong to an encoder"),
        ({"version": 2}, "written by a later version"),
    ],
)
def test_manifests_of_another_format_or_version(tilde: Path, changes: dict[str, Any], message: str) -> None:
    edit(tilde, **changes)
    with pytest.raises(ModelFormatError, match=message) as caught:
        EncoderFolder.open(tilde)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "splade"},
        {"terms": 0},
        {"terms": "16"},
        {"terms": True},
        {"cleaning": "all"},
        {"cleaning": ["repo"]},
        {"positions": 1 << 20},
        {"length": 17},
        {"length": 2},
        {"idf_power": 0.5},
        {"special": {"document": 5, "query": 6, "cls": 2, "sep": 3}},
        {"special": {"document": 5, "query": 6, "cls": 2, "sep": 3, "pad": 16}},
        {"expansion": {"terms": 3, "counting": "new", "length": 8, "encoder": "a", "name": "a"}},
        {"files": {}},
        {"files": []},
        {"files": {"../model.onnx": {"sha256": "0" * 64, "bytes": 1, "precision": "float32"}}},
        {"files": {".hidden": {"sha256": "0" * 64, "bytes": 1, "precision": "float32"}}},
        {"files": {"model.onnx": {"sha256": "0" * 63, "bytes": 1, "precision": "float32"}}},
        {"files": {"model.onnx": {"sha256": "0" * 64, "bytes": -1, "precision": "float32"}}},
        {"files": {"model.onnx": {"sha256": "0" * 64, "bytes": 1, "precision": "float16"}}},
        {"files": {"model.onnx": {"sha256": "0" * 64, "bytes": 1}}},
        {
            "files": {
                "a.onnx": {"sha256": "0" * 64, "bytes": 1, "precision": "int8"},
                "b.onnx": {"sha256": "0" * 64, "bytes": 1, "precision": "int8"},
            }
        },
        {"trained": None},
        {"tokenizer": {"name": "wordpiece", "options": {}, "files": ["../vocab.txt"], "fingerprint": "a"}},
        {"tokenizer": {"name": "wordpiece", "options": [], "files": [], "fingerprint": "a"}},
        {"tokenizer": {"name": "", "options": {}, "files": [], "fingerprint": "a"}},
        {"version": 0},
        {"another": 1},
        {"dimensions": 2, "query_scale": 1.0},  # of a tilde
        {"kind": "lookup"},
        {"kind": "lookup", "dimensions": 0, "query_scale": 1.0},
        {"kind": "lookup", "dimensions": 2, "query_scale": 0},
        {"kind": "lookup", "dimensions": 2, "query_scale": 1e300},
    ],
)
def test_invalid_manifest_values(tilde: Path, changes: dict[str, Any]) -> None:
    edit(tilde, **changes)
    with pytest.raises(CorruptModelError) as caught:
        EncoderFolder.open(tilde)
    facts = dict(caught.value.facts)
    assert facts["file"] == tilde / "encoder.json"
    assert facts["expected"]


def test_vectors_need_no_precision(tilde: Path) -> None:
    body = json.loads((tilde / "encoder.json").read_text())
    del body["files"]["floors.npy"]["precision"]
    edit(tilde, files=body["files"])
    assert EncoderFolder.open(tilde).floors is not None


def test_descriptions_that_json_cannot_represent(tilde: Path) -> None:
    manifest = EncoderFolder.open(tilde).manifest
    with pytest.raises(ParameterError, match="cannot be written as JSON"):
        dataclasses.replace(manifest, trained={"loss": float("nan")}).to_bytes()


def test_a_tokenizer_with_another_number_of_terms(tilde: Path) -> None:
    edit(tilde, terms=17)
    with pytest.raises(ModelFormatError, match="different vocabularies") as caught:
        EncoderFolder.open(tilde)
    assert dict(caught.value.facts)["terms of the tokenizer"] == 16
    assert dict(caught.value.facts)["terms of the network"] == 17


def test_a_changed_or_missing_tokenizer(tilde: Path) -> None:
    (tilde / "vocab.txt").write_text("[UNK]\n")
    with pytest.raises(CorruptModelError, match="analyzer of the encoder was changed") as changed:
        EncoderFolder.open(tilde)
    facts = dict(changed.value.facts)
    assert {len(str(facts[name])) for name in ("fingerprint", "expected")} == {len("sha256:") + 12}
    (tilde / "vocab.txt").unlink()
    with pytest.raises(MissingFileError, match=r"vocab\.txt"):
        EncoderFolder.open(tilde)


def test_an_unusable_tokenizer(tiny: ModuleType, tilde: Path) -> None:
    from termwise.text import AnalyzerSpec

    (tilde / "vocab.txt").write_text("a\n")
    spec = AnalyzerSpec("wordpiece", {}, {"vocab.txt": b"a\n"})
    body = json.loads((tilde / "encoder.json").read_text())
    edit(tilde, tokenizer={**body["tokenizer"], "fingerprint": spec.fingerprint})
    with pytest.raises(ModelFormatError, match="analyzer of the encoder cannot be used"):
        EncoderFolder.open(tilde)


def test_the_shipped_vocabulary_needs_no_file(tiny: ModuleType, tmp_path: Path) -> None:
    from termwise.text import WordPieceAnalyzer
    from termwise.text.analyzer_files import AnalyzerRecord

    record = AnalyzerRecord.of(WordPieceAnalyzer.shipped().spec)
    assert record.files == ()
    made = tiny.make_folder(
        tmp_path / "a", "tildev2", np.zeros(30_522, dtype=np.float32), tokenizer=record, terms=30_522
    )
    (made / "vocab.txt").unlink()
    assert EncoderFolder.open(made).kept.sum() == 28_402


def test_missing_and_invalid_floors(tiny: ModuleType, tmp_path: Path) -> None:
    table = tiny.square({})
    without = EncoderFolder.open(tiny.make_folder(tmp_path / "a", "tilde", table))
    with pytest.raises(ModelFormatError, match="no floors") as caught:
        _ = without.floors
    assert "use `form='exact'`" in caught.value.fixes_worded()
    assert "floors_from=COLLECTION)`" in caught.value.fixes_worded()[1]
    assert dict(caught.value.facts)["encoder"] == without.folder
    for number, odd in enumerate(([-1.0] * 3, [0.5] * 16, [float("nan")] * 16)):
        encoder = EncoderFolder.open(tiny.make_folder(tmp_path / str(number), "tilde", table, floors=odd))
        with pytest.raises(ModelFormatError, match="not one finite number"):
            _ = encoder.floors


def test_query_weights(tiny: ModuleType, tmp_path: Path) -> None:
    given = np.linspace(0, 3, 16, dtype=np.float32)
    counted = EncoderFolder.open(tiny.make_folder(tmp_path / "a", "tildev2", tiny.square({})))
    weighed = EncoderFolder.open(
        tiny.make_folder(tmp_path / "b", "tildev2", tiny.square({}), query_weights=given)
    )
    assert counted.query_weights is None
    assert weighed.query_weights is not None
    np.testing.assert_array_equal(weighed.query_weights, np.where(weighed.kept, given, 0))
    assert counted.id != weighed.id
    assert counted.fingerprint(["model.onnx"]) == weighed.fingerprint(["model.onnx"])  # rows are the same


@pytest.mark.parametrize("odd", [[1.0] * 3, [-0.5] * 16, [float("nan")] * 16])
def test_invalid_query_weights(tiny: ModuleType, tmp_path: Path, odd: list[float]) -> None:
    folder = tiny.make_folder(tmp_path / "a", "tildev2", tiny.square({}), query_weights=odd)
    with pytest.raises(ModelFormatError, match="not one finite number of at least 0"):
        _ = EncoderFolder.open(folder).query_weights


def header(shape: str, *, descr: str = "'<f4'", order: str = "False") -> bytes:
    """Return the header of a numpy file with these values."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


ROWS = np.full(16, -1, dtype="<f4").tobytes()


@pytest.mark.parametrize(
    "content",
    [
        header("(1000000000000,)") + ROWS,
        header("(16, 1000000000000)") + ROWS,
        header("(16,)", descr="'|O'") + pickle.dumps([1.0] * 16),
        header("(16,)", descr="'<f8'") + ROWS,
        header("(16,)", order="True") + ROWS,
        header("(16,)") + ROWS[:-1],
        header("(16,)") + ROWS + b"\0",
        header("("),
        header("(16,)")[:20],
        b"\x93NUMPY\x09\x00",
        b"PK\x03\x04",
        b"",
    ],
)
def test_floors_whose_header_and_content_disagree(tilde: Path, content: bytes) -> None:
    (tilde / "floors.npy").write_bytes(content)
    body = json.loads((tilde / "encoder.json").read_text())
    record = dataclasses.asdict(EncoderFile.of(tilde / "floors.npy"))
    edit(tilde, files={**body["files"], "floors.npy": record})
    encoder = EncoderFolder.open(tilde)
    with pytest.raises(ModelFormatError, match="not one finite number") as caught:
        _ = encoder.floors
    assert dict(caught.value.facts)["file"] == tilde / "floors.npy"


def test_valid_floors(tilde: Path) -> None:
    (tilde / "floors.npy").write_bytes(header("(16,)") + ROWS)
    body = json.loads((tilde / "encoder.json").read_text())
    record = dataclasses.asdict(EncoderFile.of(tilde / "floors.npy"))
    edit(tilde, files={**body["files"], "floors.npy": record})
    assert EncoderFolder.open(tilde).floors.min() == -1


@pytest.mark.parametrize("odd", ["pipe", "device", "folder", "socket"])
@pytest.mark.parametrize("name", ["encoder.json", "vocab.txt", "model.onnx", "floors.npy"])
def test_only_regular_files_are_opened(
    tilde: Path, name: str, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tilde / name).unlink()
    if odd == "pipe":
        os.mkfifo(tilde / name)
    elif odd == "device":
        (tilde / name).symlink_to("/dev/zero")
    elif odd == "folder":
        (tilde / name).mkdir()
    else:
        import socket

        monkeypatch.chdir(tilde)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
    with pytest.raises(ModelFormatError) as caught:
        EncoderFolder.open(tilde).path(name)
    facts = dict(caught.value.facts)
    assert facts["file"] == tilde / name
    assert facts["expected"] == "a regular file"
    assert odd in str(facts["seen"])


@pytest.mark.parametrize("name", ["encoder.json", "vocab.txt", "model.onnx"])
def test_oversized_files_are_not_read(tilde: Path, name: str) -> None:
    with (tilde / name).open("r+b") as file:
        file.truncate(1 << 33)
    with pytest.raises(ModelFormatError) as caught:
        EncoderFolder.open(tilde).path(name)
    assert dict(caught.value.facts)["file"] == tilde / name
    assert "at most" in str(dict(caught.value.facts)["expected"])


def test_invalid_paths() -> None:
    with pytest.raises(ParameterError, match="the encoder"):
        EncoderFolder.open(3)  # type: ignore[arg-type]


def test_files_that_the_manifest_does_not_list(tilde: Path) -> None:
    with pytest.raises(ModelFormatError, match="no such file"):
        EncoderFolder.open(tilde).path("weights.bin")


def test_the_kind_is_checked(tilde: Path) -> None:
    with pytest.raises(ModelFormatError, match="not tildev2") as caught:
        require_kind(EncoderFolder.open(tilde), "tildev2")
    assert "use `model='tilde'`" in caught.value.fixes_worded()


@pytest.mark.parametrize("power", [-0.1, 4.5, "0.5", True, None])
def test_invalid_powers_of_the_idf(tiny: ModuleType, tmp_path: Path, power: object) -> None:
    folder = tiny.make_folder(tmp_path / "e", "tildev2", np.zeros(len(tiny.PIECES), dtype=np.float32))
    edit(folder, idf_power=power)
    with pytest.raises(CorruptModelError, match=r"manifest|encoder"):
        EncoderFolder.open(folder)


def test_the_idf_power_is_0_by_default(tilde: Path) -> None:
    path = tilde / "encoder.json"
    body = {name: value for name, value in json.loads(path.read_text()).items() if name != "idf_power"}
    path.write_text(json.dumps({**body, "checksum": checksum_of(body)}))
    assert EncoderFolder.open(tilde).manifest.idf_power == 0


def test_the_lift_is_0_by_default(tiny: ModuleType, tilde: Path, tmp_path: Path) -> None:
    record = EncoderFolder.open(tilde).expansion(terms=1, counting="new", length=8)
    folder = tiny.make_folder(tmp_path / "v2", "tildev2", np.zeros(len(tiny.PIECES)), expansion=record)
    path = folder / "encoder.json"
    body = {name: value for name, value in json.loads(path.read_text()).items() if name != "checksum"}
    del body["expansion"]["lift"]
    path.write_text(json.dumps({**body, "checksum": checksum_of(body)}))
    assert EncoderFolder.open(folder).manifest.expansion == record
    for lift in (-0.1, 1.5, "1", True, None):
        body["expansion"]["lift"] = lift
        path.write_text(json.dumps({**body, "checksum": checksum_of(body)}))
        with pytest.raises(CorruptModelError, match=r"manifest|encoder"):
            EncoderFolder.open(folder)


def test_term_vectors(tiny: ModuleType, tmp_path: Path) -> None:
    query = np.ones((len(tiny.PIECES), 2), dtype=np.float32)
    query[tiny.SORT] = (0.5, -0.25)
    encoder = EncoderFolder.open(tiny.lookup_folder(tmp_path / "a", query=query))
    table = encoder.term_vectors
    assert (table.vocabulary, table.dimensions) == (encoder.vocabulary.id, 2)
    np.testing.assert_array_equal(table.known, encoder.kept)  # special tokens and stop words have none
    np.testing.assert_allclose(table.matrix()[tiny.SORT], (0.5, -0.25), atol=0.002)
    assert "dimensions" in json.loads((encoder.folder / "encoder.json").read_text())
    assert EncoderManifest.parse(encoder.manifest.to_bytes(), encoder.folder) == encoder.manifest


def test_term_vectors_determine_the_id_but_not_the_vectors_of_documents(
    tiny: ModuleType, tmp_path: Path
) -> None:
    made = [
        EncoderFolder.open(tiny.lookup_folder(tmp_path / str(factor), query=np.full((16, 2), factor)))
        for factor in (1.0, 1.5, 2.0)
    ]
    assert len({encoder.id for encoder in made}) == 3
    assert made[0].manifest.files["query_rows.npy"] == made[2].manifest.files["query_rows.npy"]
    assert len({encoder.fingerprint(["model.onnx"]) for encoder in made}) == 1


def test_other_kinds_have_no_term_vectors(tilde: Path) -> None:
    with pytest.raises(ModelFormatError, match="of kind tilde, not lookup"):
        _ = EncoderFolder.open(tilde).term_vectors
    assert "dimensions" not in json.loads((tilde / "encoder.json").read_text())


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("query_rows.npy", np.full((16, 2), -128, dtype=np.int8), "one vector for each term"),
        ("query_rows.npy", np.ones((16, 3), dtype=np.int8), "one vector for each term"),
        ("query_rows.npy", np.ones((32,), dtype=np.int8), "one vector for each term"),
        ("query_rows.npy", np.ones((16, 2), dtype=np.float32), "one vector for each term"),
        ("query_rows.npy", np.ones((16, 2), dtype=np.int8, order="F"), "one vector for each term"),
        ("query_shifts.npy", np.full((16,), 16, dtype=np.uint8), "one shift for each term"),
        ("query_shifts.npy", np.zeros((15,), dtype=np.uint8), "one shift for each term"),
    ],
)
def test_invalid_term_vectors(
    tiny: ModuleType, tmp_path: Path, name: str, array: np.ndarray, message: str
) -> None:
    folder = tiny.lookup_folder(tmp_path / "a")
    np.save(folder / name, array)
    body = json.loads((folder / "encoder.json").read_text())
    record = dataclasses.asdict(EncoderFile.of(folder / name))
    edit(folder, files={**body["files"], name: record})
    with pytest.raises(ModelFormatError, match=message) as caught:
        _ = EncoderFolder.open(folder).term_vectors
    assert dict(caught.value.facts)["file"] == folder / name


def test_changed_or_missing_term_vectors(tiny: ModuleType, tmp_path: Path) -> None:
    folder = tiny.lookup_folder(tmp_path / "a")
    path = folder / "query_rows.npy"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\x7f")
    with pytest.raises(CorruptModelError, match="damaged"):
        _ = EncoderFolder.open(folder).term_vectors
    path.unlink()
    with pytest.raises(MissingFileError, match=r"query_rows\.npy"):
        _ = EncoderFolder.open(folder).term_vectors
    files = json.loads((folder / "encoder.json").read_text())["files"]
    del files["query_rows.npy"]
    edit(folder, files=files)
    with pytest.raises(ModelFormatError, match="no such file"):
        _ = EncoderFolder.open(folder).term_vectors
