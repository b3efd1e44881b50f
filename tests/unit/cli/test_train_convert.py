"""``termwise train convert``: what it makes is indexed by the very command that it prints, and searched."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")

from tests.unit.train.conftest import (  # noqa: E402
    VOCABULARY,
    configuration,
    one_thread,  # noqa: F401
    save,
    write_jsonl,
)

from termwise.cli.main import run  # noqa: E402
from termwise.encode import EncoderFolder  # noqa: E402
from termwise.index import Index  # noqa: E402
from termwise.train.export.published_checkpoints import convert_checkpoint  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402

TEXTS = {"a": "the wing flutter of a plate", "b": "shock wave", "c": "merge sort of a list", "d": "heat"}


class TILDEv2(transformers.BertPreTrainedModel):
    """The shape of the published class."""

    def __init__(self, config):
        super().__init__(config)
        self.bert = transformers.BertModel(config)
        self.tok_proj = torch.nn.Linear(config.hidden_size, 1)
        self.post_init()


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """Folders of a published TILDE and a published TILDEv2."""
    folder = tmp_path_factory.mktemp("published")
    torch.manual_seed(1)
    save(transformers.BertForMaskedLM(configuration(num_hidden_layers=1)), folder / "TILDE")
    model = TILDEv2(configuration(num_hidden_layers=1))
    torch.nn.init.normal_(model.tok_proj.weight)
    torch.nn.init.ones_(model.tok_proj.bias)
    save(model, folder / "TILDEv2")
    return folder


@pytest.fixture(scope="module")
def converted(checkpoints):
    """The folder of the TILDE, converted without floors."""
    convert_checkpoint(checkpoints / "TILDE", checkpoints / "converted")
    return checkpoints / "converted"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "docs.jsonl", *({"_id": name, "text": text} for name, text in TEXTS.items()))
    return tmp_path


@pytest.fixture
def convert(capsys):
    def convert(*arguments):
        code = run(["train", "convert", *map(str, arguments)])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return convert


def test_a_model_of_opensearch_without_modules(checkpoints, convert, capsys):
    """The activation is an option where the folder does not state it; the error names both values."""
    shutil.copytree(checkpoints / "TILDE", "doc-v3")
    Path("doc-v3", "idf.json").write_text('{"wing": 7.0, "flutter": 5.0}')
    code, out, err = convert("doc-v3", "--out", "made")
    assert (code, out) == (2, "")
    assert "use --activation relu for doc-v1, doc-v2 and multilingual-v1" in err
    assert "use --activation log1p_relu for doc-v3" in err
    code, _, err = convert("doc-v3", "--out", "made", "--activation", "tanh")
    assert code == 2
    assert "--activation is relu or log1p_relu" in err
    code, _, said = convert("doc-v3", "--out", "made", "--activation", "log1p_relu")
    assert code == 0
    assert EncoderFolder.open("made").query_weights[VOCABULARY.index("wing")] == 7
    assert index_and_search(said, capsys)


def index_and_search(said, capsys, query="wing flutter"):
    """Run the command that convert printed, and search what it made."""
    command = said.splitlines()[-1].removeprefix("next: ")
    filled = [{"COLLECTION": "docs.jsonl", "DIR": "made.tw"}.get(word, word) for word in shlex.split(command)]
    assert filled[0] == "termwise"
    assert run([*filled[1:], "--threads", "1"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert run(["search", "made.tw", query, "--json"]) == 0
    return capsys.readouterr().out


def test_a_tilde_without_floors(checkpoints, convert, capsys):
    code, out, said = convert(checkpoints / "TILDE", "--out", "made")
    assert (code, out) == (0, "made: an encoder of kind tilde\n")
    kept = int(EncoderFolder.open("made").kept.sum())
    assert f"only the exact form is available, {kept} weights a document; --floors-from COLLECTION" in said
    assert said.splitlines()[-1] == "next: termwise index COLLECTION --model made --set form=exact --out DIR"
    found = index_and_search(said, capsys)
    assert all(f'"{name}"' in found for name in TEXTS)


def test_the_error_for_a_tilde_without_floors_has_the_command_that_adds_them(converted, convert, capsys):
    assert run(["index", "docs.jsonl", "--model", str(converted), "--out", "a.tw"]) != 0
    (fix,) = [line for line in capsys.readouterr().err.splitlines() if "train convert" in line]
    words = shlex.split(fix.partition("termwise ")[2])
    assert words == ["train", "convert", str(converted), "--out", "DIR", "--floors-from", "COLLECTION"]
    filled = [{"COLLECTION": "docs.jsonl", "DIR": "made"}.get(word, word) for word in words]
    code, _, said = convert(*filled[2:])
    assert code == 0
    assert said.splitlines() == [
        f"reading the checkpoint {converted}",
        "writing the encoder to made: ONNX in float32 and int8, compared with torch",
        "next: termwise index COLLECTION --model made --out DIR",
    ]
    index_and_search(said, capsys)


def test_a_tildev2_in_a_folder_with_the_name_of_a_model(checkpoints, convert, capsys):
    code, out, said = convert(checkpoints / "TILDEv2", "--out", "tildev2")
    assert (code, out) == (0, "tildev2: an encoder of kind tildev2\n")
    assert "documents are not expanded" in said
    assert said.splitlines()[-1] == "next: termwise index COLLECTION --model ./tildev2 --out DIR"
    assert '"a"' in index_and_search(said, capsys)
    assert Index.open("made.tw").manifest.terms == len(VOCABULARY)


@pytest.mark.parametrize("place", [".", "else where"])
def test_a_tildev2_with_its_expanding_tilde(checkpoints, converted, convert, capsys, place):
    expander = f"{place}/expander"
    shutil.copytree(converted, expander)
    code, _, said = convert(
        checkpoints / "TILDEv2", "--expand-with", expander, "--expansion-terms", 30, "--out", "made"
    )
    assert code == 0
    assert "not expanded" not in said
    record = EncoderFolder.open("made").manifest.expansion
    assert (record.terms, record.counting, record.name) == (30, "raw", "expander")
    setting = "" if place == "." else f" --set 'expansion_encoder={expander}'"
    assert said.splitlines()[-1] == f"next: termwise index COLLECTION --model made{setting} --out DIR"
    assert '"a"' in index_and_search(said, capsys)


def test_a_sparse_encoder_with_static_weights(checkpoints, convert, capsys, folder):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.base.modules import Router
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    tilde = shutil.copytree(checkpoints / "TILDE", folder / "masked")
    with quiet(bars=False):
        transformers.BertTokenizerFast(str(tilde / "vocab.txt")).save_pretrained(tilde)
        documents = sentence_transformers.SparseEncoder(str(tilde), device="cpu")
        queries = SparseStaticEmbedding(
            tokenizer=documents.tokenizer, weight=torch.linspace(0, 3, len(VOCABULARY))
        )
        router = Router.for_query_document([queries], list(documents.children()))
        sentence_transformers.SparseEncoder(modules=[router], device="cpu").save(str(folder / "sparse"))
    code, out, said = convert("sparse", "--out", "made")
    assert (code, out) == (0, "made: an encoder of kind splade-doc\n")
    once = index_and_search(said, capsys)
    assert run(["search", "made.tw", "wing wing flutter", "--json"]) == 0
    assert capsys.readouterr().out == once


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--expansion-terms", "8"], "--expansion-terms does not apply without --expand-with"),
        (["--expansion-counting", "new"], "--expansion-counting does not apply without --expand-with"),
        (["--expand-with", "x", "--expansion-counting", "old"], "--expansion-counting is new or raw"),
    ],
)
def test_options_of_the_expansion_need_the_expansion(checkpoints, convert, options, expected):
    code, _, said = convert(checkpoints / "TILDEv2", *options, "--out", "made")
    assert code != 0
    assert expected in said
