"""Training of an encoder of kind lookup, from texts to its folder."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from termwise.encode import EncoderFolder  # noqa: E402
from termwise.encode.onnx_session import OnnxSession  # noqa: E402
from termwise.errors import (  # noqa: E402
    EmptyCollectionError,
    ForeignFolderError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
)
from termwise.train import LookupSettings, train_lookup  # noqa: E402
from termwise.train.export import folder_writer  # noqa: E402

from ..conftest import SIZE, VOCABULARY  # noqa: E402

SETTINGS = LookupSettings(length=20, held_out=0.1, batch=16)


@pytest.fixture(scope="module")
def made(teacher, texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "encoder"
    said: list[str] = []
    card = {"base": {"name": "toy", "license": "MIT", "seen": "nothing"}, "data": {"air": {"license": "CC0"}}}
    facts = train_lookup([texts], out, teacher=teacher, settings=SETTINGS, card=card, say=said.append)
    return out, facts, said


@pytest.fixture
def copied(made, tmp_path):
    shutil.copytree(made[0], tmp_path / "copied")
    return tmp_path / "copied"


@pytest.fixture
def one_graph(monkeypatch):
    """Export the network only once for all tests."""
    graphs = {}
    export = folder_writer.to_onnx
    monkeypatch.setattr(
        folder_writer,
        "to_onnx",
        lambda network: graphs.get("made") or graphs.setdefault("made", export(network)),
    )


def test_the_folder_has_network_and_table(made):
    out, facts, said = made
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "encoder.json", "model.int8.onnx", "model.onnx", "query_rows.npy", "query_shifts.npy",
        "training", "vocab.txt",
    ]  # fmt: skip
    folder = EncoderFolder.open(out)
    manifest = folder.manifest
    assert (manifest.kind, manifest.dimensions, manifest.length) == ("lookup", SIZE, 20)
    assert manifest.trained == {
        **{name: value for name, value in facts.items() if name != "seconds"},
        "export": manifest.trained["export"],
    }
    assert manifest.trained["export"]["int8"]["relative"] < 0.05
    assert facts["teacher"] == "dense"
    assert facts["sources"].keys() == {"air", "code"}
    table = folder.term_vectors
    assert table.known.sum() == facts["terms"] == 30  # the words of the texts
    assert not table.known[VOCABULARY.index("stack")]
    assert facts["fitted"] == facts["texts"] - round(0.1 * facts["texts"])
    assert 0.5 < facts["cosine"] <= 1
    assert said[-1] == f"writing the encoder to {out}: ONNX in float32 and int8, compared with torch"


def test_sums_of_rows_point_to_the_vectors_of_texts(made, analyzer):
    folder = EncoderFolder.open(made[0])
    session = OnnxSession(folder, precision="float32")
    table = folder.term_vectors.matrix()
    texts = ["wing lift drag", "heat flow", "merge sort list tree"]
    vectors = []
    for text in texts:
        ids = np.array([[5, *analyzer.numbers(text), 6]])
        vectors.append(session.run(ids, np.ones_like(ids))[0])
    sums = np.stack([table[analyzer.numbers(text)].sum(axis=0) for text in texts])
    assert np.stack(vectors).shape == (3, SIZE)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (sums @ np.stack(vectors).T).argmax(axis=1).tolist() == [0, 1, 2]


def test_the_card_names_teacher_texts_and_settings(made):
    text = (made[0] / "README.md").read_text()
    for expected in (
        "# encoder",
        'tags: ["termwise", "lookup", "dense-retrieval", "onnx"]',
        "toy (MIT). Training data: nothing",
        "| source | texts | license | origin |",
        "| CC0 | not stated by the author |",
        "The document encoder was not trained.",
        "| ridge | 1.0 |",
        "On held-out texts, the mean cosine",
    ):
        assert expected in text
    assert "Departures" not in text
    assert str(made[0].parent) not in text


def test_the_same_input_gives_the_same_encoder(made, teacher, texts, tmp_path, one_graph):
    out, said = tmp_path / "again", []
    facts = train_lookup([texts], out, teacher=teacher, settings=SETTINGS, resume=True, say=said.append)
    assert said[0] == f"nothing to resume in {out / 'training'}: starting from the beginning"
    assert facts | {"seconds": 0} == made[1] | {"seconds": 0}
    one, other = EncoderFolder.open(made[0]), EncoderFolder.open(tmp_path / "again")
    assert one.id == other.id
    for name in one.manifest.files:
        assert (made[0] / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_a_killed_run_is_resumed(made, teacher, texts, tmp_path, one_graph):
    class Killed(Exception):
        pass

    def kill(stage, done, total):
        if stage.startswith("fit"):
            raise Killed

    out = tmp_path / "killed"
    with pytest.raises(Killed):
        train_lookup([texts], out, teacher=teacher, settings=SETTINGS, progress=kill)
    with pytest.raises(ModelFormatError, match="not finished"):
        EncoderFolder.open(out)
    with pytest.raises(ForeignFolderError, match="already holds a training run"):
        train_lookup([texts], out, teacher=teacher, settings=SETTINGS)
    said = []
    train_lookup([texts], out, teacher=teacher, settings=SETTINGS, resume=True, say=said.append)
    assert f"{made[1]['texts']} vectors were in {out / 'training' / 'vectors'}" in said
    assert EncoderFolder.open(out).id == EncoderFolder.open(made[0]).id


def test_a_finished_run_fits_the_table_again(copied, made, teacher, texts, one_graph):
    stiffer = LookupSettings(length=20, held_out=0.1, batch=16, ridge=50.0)
    with pytest.raises(ForeignFolderError, match="already holds"):
        train_lookup([texts], copied, teacher=teacher, settings=stiffer)
    facts = train_lookup([texts], copied, teacher=teacher, settings=stiffer, resume=True)
    assert facts["settings"]["ridge"] == 50
    rows = [np.abs(EncoderFolder.open(folder).term_vectors.matrix()).mean() for folder in (copied, made[0])]
    assert rows[0] < rows[1]


def test_other_texts_or_lengths_do_not_resume(copied, teacher, texts, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("wing lift\nheat flow\n")
    for given, changes in ((other, {}), (texts, {"length": 10})):
        settings = LookupSettings(**{"length": 20, "held_out": 0.1, "batch": 16} | changes)
        with pytest.raises(ForeignFolderError, match="another training run"):
            train_lookup([given], copied, teacher=teacher, settings=settings, resume=True)


def test_bad_input_leaves_no_folder(teacher, texts, tmp_path):
    out = tmp_path / "out"
    unknown = tmp_path / "unknown.txt"
    unknown.write_text("zzz\nyyy\n")
    for given, settings, kind, said in (
        ([texts], LookupSettings(length=65), ParameterError, "longer than the input"),
        ([], SETTINGS, ParameterError, "texts cannot have this value"),
        (str(texts), SETTINGS, ParameterError, "texts cannot have this value"),
        ([unknown], SETTINGS, EmptyCollectionError, "no text has a token"),
    ):
        with pytest.raises(kind, match=said):
            train_lookup(given, out, teacher=teacher, settings=settings)
        assert not out.exists(), said
    with pytest.raises(UnknownNameError, match="fact of a model card"):
        train_lookup([texts], out, teacher=teacher, settings=SETTINGS, card={"licence": "MIT"})
    with pytest.raises(ModelFormatError, match="no encoder of that name"):
        train_lookup([texts], out, teacher=tmp_path / "none", settings=SETTINGS)
    with pytest.raises(ForeignFolderError, match="overwrite the base"):
        train_lookup([texts], teacher, teacher=teacher, settings=SETTINGS)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("mine")
    with pytest.raises(ForeignFolderError):
        train_lookup([texts], foreign, teacher=teacher, settings=SETTINGS)
    assert not out.exists()


@pytest.mark.parametrize(
    ("prompts", "said", "fix"),
    [
        ({"query": "wing " * 18}, "the query prompt of the encoder leaves no room", "`length=64`"),
        ({"query": "wing " * 62}, "the query prompt of the encoder leaves no room", "a shorter prompt"),
        ({"document": "wing " * 18}, "the document prompt of the encoder leaves no room", "a shorter prompt"),
    ],
)
def test_a_prompt_that_fills_the_input_is_refused(teacher, texts, tmp_path, prompts, said, fix):
    prompted = shutil.copytree(teacher, tmp_path / "prompted")
    (prompted / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    with pytest.raises(ParameterError, match=said) as raised:
        train_lookup([texts], tmp_path / "out", teacher=prompted, settings=SETTINGS)
    assert fix in raised.value.fixes_worded()[0]
    assert not (tmp_path / "out").exists()


def test_texts_that_do_not_differ_are_refused(teacher, tmp_path):
    file = tmp_path / "few.txt"
    for content, said, fix in (
        ("wing\nwing\n", "too few different texts", "give more texts"),
        ("wing\nlift\nheat\n", "too few different texts", "`held_out=0`"),
        ("wing zzz\nwing yyy\nwing xxx\nwing www\n", "same vector for all texts", "give texts that differ"),
    ):
        file.write_text(content)
        with pytest.raises(ParameterError, match=said) as raised:
            train_lookup(
                [file], tmp_path / said, teacher=teacher, settings=LookupSettings(length=20, held_out=0.5)
            )
        assert any(fix in one for one in raised.value.fixes_worded())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ridge", "0"),
        ("steps", "0"),
        ("length", "2"),
        ("held_out", "0.6"),
        ("precision", "int8"),
        ("centred", "x"),
    ],
)
def test_settings_out_of_range(name, value):
    with pytest.raises((ParameterError, UnknownNameError)):
        LookupSettings.parse({name: value})


def test_the_record_of_a_run_has_no_vectors_in_json(made):
    record = json.loads((made[0] / "training" / "settings.json").read_text())
    assert record["kind"] == "lookup"
    assert record["vectors"]["count"] == made[1]["texts"]
