"""Dense encoders: folders of sentence-transformers, compared with sentence-transformers, and their ONNX graphs."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")

from tokenizers import Tokenizer  # noqa: E402

from termwise.encode import SpecialIds  # noqa: E402
from termwise.errors import MissingFileError, ModelFormatError  # noqa: E402
from termwise.progress import silent  # noqa: E402
from termwise.text import Vocabulary, WordPieceAnalyzer  # noqa: E402
from termwise.train.dense_encoder import DenseEncoderFolder, load_dense_encoder  # noqa: E402
from termwise.train.export.published_checkpoints import load_checkpoint  # noqa: E402
from termwise.train.inputs import special_ids  # noqa: E402

from .conftest import POSITIONS, VOCABULARY, save  # noqa: E402

TEXTS = ["the wing flutter of a plate", "merging sorted lists", "heat ?"]
OLDER = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False}


def folder_of(base, place, *modules, pooling=None, **settings):
    """Copy an encoder to a folder of sentence-transformers with these modules after the transformer."""
    shutil.copytree(base, place)
    names = [
        ("Transformer", ""),
        *((module, f"{number}_{module}") for number, module in enumerate(modules, 1)),
    ]
    entries = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{name}"}
        for number, (name, path) in enumerate(names)
    ]
    (place / "modules.json").write_text(json.dumps(entries))
    (place / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 20, **settings}))
    for _, path in names[1:]:
        (place / path).mkdir()
    if "Pooling" in modules:
        pooled = {"pooling_mode_mean_tokens": True} if pooling is None else pooling
        (place / "1_Pooling" / "config.json").write_text(json.dumps(OLDER | pooled))
    return place


def vectors_of(encoder, texts):
    rows = []
    for text in texts:
        pieces = ("[CLS]", *encoder.analyzer.tokens(text), "[SEP]")
        ids = torch.tensor([[encoder.analyzer.vocabulary.number(piece) for piece in pieces]])
        with torch.no_grad():
            rows.append(encoder.network(ids, torch.ones_like(ids))[0].numpy())
    return np.stack(rows)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode": "mean", "embedding_dimension": 16}, "mean"),
        ({"pooling_mode": ["cls"]}, "cls"),
    ],
)
def test_a_folder_states_pooling_and_length(base, tmp_path, pooling, expected):
    read = DenseEncoderFolder.read(
        folder_of(base, tmp_path / "made", "Pooling", "Normalize", pooling=pooling)
    )
    assert (read.pooling, read.length, read.transformer) == (expected, 20, tmp_path / "made")


def test_a_transformer_without_modules_is_averaged_with_a_note(base):
    said = []
    encoder = load_dense_encoder(base, say=said.append)
    assert (encoder.network.pooling, encoder.length) == ("mean", POSITIONS)
    assert said == [f"note: {base} has no modules.json, so the vector of a text is the mean of its outputs"]


@pytest.mark.parametrize("mode", ["mean", "cls"])
def test_vectors_are_those_of_sentence_transformers(base, tmp_path, mode):
    sentence = pytest.importorskip("sentence_transformers")
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    from termwise.train.pretrained import quiet

    source = tmp_path / "source"
    shutil.copytree(base, source)
    with quiet(bars=False):
        transformers.BertTokenizerFast(str(source / "vocab.txt")).save_pretrained(source)
        transformer = modules.Transformer(str(source))
        pooling = modules.Pooling(transformer.get_embedding_dimension(), pooling_mode=mode)
        model = sentence.SentenceTransformer(modules=[transformer, pooling], device="cpu")
        model.save(str(tmp_path / "saved"))
    expected = model.encode(TEXTS, normalize_embeddings=True)
    encoder = load_dense_encoder(tmp_path / "saved", say=silent)
    assert encoder.network.pooling == mode
    np.testing.assert_allclose(vectors_of(encoder, TEXTS), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("modules", "pooling", "named"),
    [
        (("Pooling", "Dense", "Normalize"), None, "Dense"),
        (("WordEmbeddings",), None, "WordEmbeddings"),
        (("Normalize",), None, "Transformer, Normalize"),
        (("Pooling",), {"pooling_mode_max_tokens": True}, r"Pooling \(max_tokens\)"),
        (
            ("Pooling",),
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
            r"Pooling \(cls, mean\)",
        ),
        (("Pooling",), {}, r"Pooling \(none\)"),
        (("Pooling",), {"pooling_mode": "lasttoken"}, r"Pooling \(lasttoken\)"),
    ],
)
def test_the_error_names_an_unsupported_module(base, tmp_path, modules, pooling, named):
    made = folder_of(base, tmp_path / "made", *modules, pooling=pooling)
    with pytest.raises(ModelFormatError, match=f"does not support this dense encoder: {named}"):
        DenseEncoderFolder.read(made)


def test_a_dense_encoder_is_not_converted_without_a_query_table(base, tmp_path):
    made = folder_of(base, tmp_path / "made", "Pooling")
    with pytest.raises(ModelFormatError, match="a dense encoder, not a SparseEncoder") as raised:
        load_checkpoint(made)
    assert "train_lookup(teacher=" in str(raised.value)


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ({"query": "query: ", "document": ""}, ("query: ", "")),
        ({"query": "", "passage": "passage: ", "corpus": "c"}, ("", "passage: ")),
        ({"clustering": "cluster: ", "document": None}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_prompts_of_queries_and_documents(base, tmp_path, prompts, expected):
    made = folder_of(base, tmp_path / "made", "Pooling")
    (made / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    read = DenseEncoderFolder.read(made)
    assert (read.query_prompt, read.document_prompt) == expected


@pytest.mark.parametrize("prompts", [["query: "], {"query": 1}])
def test_wrong_prompts_are_refused(base, tmp_path, prompts):
    made = folder_of(base, tmp_path / "made", "Pooling")
    (made / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    with pytest.raises(ModelFormatError, match="unexpected value"):
        DenseEncoderFolder.read(made)


def test_pooling_without_the_prompt_is_refused(base, tmp_path):
    pooling = {"pooling_mode_mean_tokens": True, "include_prompt": False}
    made = folder_of(base, tmp_path / "made", "Pooling", pooling=pooling)
    assert DenseEncoderFolder.read(made).document_prompt == ""
    (made / "config_sentence_transformers.json").write_text('{"prompts": {"query": "query: "}}')
    with pytest.raises(ModelFormatError, match="Pooling without the prompt"):
        DenseEncoderFolder.read(made)


@pytest.mark.parametrize("length", ["long", 2, True])
def test_a_wrong_length_is_refused(base, tmp_path, length):
    made = folder_of(base, tmp_path / "made", "Pooling", max_seq_length=length)
    with pytest.raises(ModelFormatError, match="unexpected value"):
        DenseEncoderFolder.read(made)


def test_folders_that_are_no_dense_encoders_are_refused(base, tmp_path):
    with pytest.raises(ModelFormatError, match="no encoder of that name"):
        load_dense_encoder(tmp_path / "missing", say=silent)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFormatError, match="no tokenizer"):
        load_dense_encoder(tmp_path / "empty", say=silent)
    with pytest.raises(ModelFormatError, match="is an encoder of termwise, not a dense encoder"):
        load_dense_encoder(_shipped(), say=silent)
    other = save(transformers.BertModel(_wider()), tmp_path / "wider")
    with pytest.raises(ModelFormatError, match="different sizes"):
        load_dense_encoder(other, say=silent)


def test_a_vocabulary_with_special_pieces_of_bert_and_mpnet(tmp_path):
    pieces = Vocabulary(["<s>", "<pad>", "</s>", "[PAD]", "[CLS]", "[SEP]", "word"])
    assert special_ids(pieces, "lookup") == SpecialIds(document=0, query=0, cls=0, sep=2, pad=1)


def test_lower_case_that_the_tokenizer_does_not_make_is_refused(byte_teacher, tmp_path):
    made = tmp_path / "made"
    shutil.copytree(byte_teacher, made)
    assert load_dense_encoder(made, say=silent).analyzer.spec == WordPieceAnalyzer.shipped().spec
    (made / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    with pytest.raises(ModelFormatError, match="do_lower_case"):
        load_dense_encoder(made, say=silent)


def test_a_larger_vocabulary_than_the_embedding_is_refused(byte_teacher, tmp_path):
    made = tmp_path / "made"
    shutil.copytree(byte_teacher, made)
    tokenizer = Tokenizer.from_file(str(made / "tokenizer.json"))
    tokenizer.add_tokens(["onemore", "andanother"] + [f"word{number}" for number in range(300)])
    tokenizer.save(str(made / "tokenizer.json"))
    with pytest.raises(ModelFormatError, match="different sizes"):
        load_dense_encoder(made, say=silent)


def _wider():
    from .conftest import configuration

    return configuration(vocab_size=len(VOCABULARY) + 1, num_hidden_layers=1)


def _shipped():
    from termwise.encode import EncoderFolder

    return EncoderFolder.open("tildev2").folder


def test_weights_that_are_not_finite_are_refused(base, tmp_path):
    network = transformers.BertModel.from_pretrained(base)
    with torch.no_grad():
        network.encoder.layer[1].output.dense.bias[3] = torch.nan
    save(network, tmp_path / "nan")
    with pytest.raises(ModelFormatError, match="not a finite number") as raised:
        load_dense_encoder(tmp_path / "nan", say=silent)
    assert dict(raised.value.facts)["folder"] == tmp_path / "nan"


def test_a_prompt_with_a_lone_surrogate_is_refused(base, tmp_path):
    made = folder_of(base, tmp_path / "made", "Pooling")
    (made / "config_sentence_transformers.json").write_text('{"prompts": {"query": "q\\ud800"}}')
    with pytest.raises(ModelFormatError, match="unexpected value") as raised:
        DenseEncoderFolder.read(made)
    assert dict(raised.value.facts)["key"] == "prompts.query"


def test_errors_of_damaged_files_name_a_fix(base, tmp_path):
    made = folder_of(base, tmp_path / "made", "Pooling")
    (made / "1_Pooling" / "config.json").unlink()
    with pytest.raises(MissingFileError) as raised:
        DenseEncoderFolder.read(made)
    assert raised.value.fixes == ("download the complete checkpoint",)
    (made / "modules.json").write_text("[")
    with pytest.raises(ModelFormatError, match="not JSON") as raised:
        DenseEncoderFolder.read(made)
    assert raised.value.fixes == ("download the checkpoint again",)
