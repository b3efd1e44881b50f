"""Encoders written as SparseEncoders, and opened with sentence-transformers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")
sentence_transformers = pytest.importorskip("sentence_transformers")

from tokenizers import Tokenizer  # noqa: E402

from termwise.encode import EncoderFolder, open_document_encoder  # noqa: E402
from termwise.errors import ForeignFolderError, MissingFileError, ModelFormatError  # noqa: E402
from termwise.indexing import BuildOptions, build_index  # noqa: E402
from termwise.models import SpladeDoc  # noqa: E402
from termwise.models.token_weights import read_token_weights, token_weights  # noqa: E402
from termwise.records import Document  # noqa: E402
from termwise.text import WordPieceAnalyzer  # noqa: E402
from termwise.train import write_sparse_encoder  # noqa: E402
from termwise.train.export.folder_writer import EncoderContents, write_encoder_folder  # noqa: E402
from termwise.train.export.published_checkpoints import load_checkpoint  # noqa: E402
from termwise.train.networks import SpladeDocNetwork, TildeV2Network  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402

from .conftest import POSITIONS, SIZE, VOCABULARY, configuration  # noqa: E402

TEXTS = (
    "the wing flutter of a plate",
    "shock wave , shock waves",
    "merging sorted lists [SEP] of nothing",
    "heat ?",
)
QUERIES = ("wing flutter", "wave wave shock wave", "the unheard waves of a list ?", "[CLS] heat [PAD]", "")


def distilbert():
    return transformers.DistilBertForMaskedLM(
        transformers.DistilBertConfig(
            vocab_size=len(VOCABULARY),
            dim=SIZE,
            hidden_dim=32,
            n_layers=1,
            n_heads=2,
            max_position_embeddings=POSITIONS,
        )
    )


def made_encoder(
    folder: Path, analyzer, *, model=None, cleaning="none", pooling="max", **contents
) -> EncoderFolder:
    torch.manual_seed(4)
    network = SpladeDocNetwork(model or transformers.BertForMaskedLM(configuration(num_hidden_layers=1)))
    network.activation, network.pooling = "log1p_relu", pooling
    return write_encoder_folder(
        network,
        analyzer,
        folder,
        EncoderContents(cleaning=cleaning, length=POSITIONS, **contents),
        trained={},
        precisions=("float32",),
    )


@pytest.fixture(scope="module")
def query_weights():
    weights = np.random.default_rng(6).uniform(0, 5, len(VOCABULARY)).astype(np.float32)
    weights[VOCABULARY.index("a")] = 0
    return weights


@pytest.fixture(scope="module")
def encoder(analyzer, query_weights, tmp_path_factory):
    """An encoder with query weights, which excludes the stop words of the paper."""
    folder = tmp_path_factory.mktemp("encoders") / "weighted"
    return made_encoder(folder, analyzer, cleaning="paper", query_weights=query_weights)


@pytest.fixture(scope="module")
def counting(analyzer, tmp_path_factory):
    """A DistilBERT that counts query terms."""
    folder = tmp_path_factory.mktemp("encoders") / "counting"
    return made_encoder(folder, analyzer, model=distilbert(), pooling="sum", idf_power=0.5)


def opened(folder: Path):
    with quiet(bars=False):
        return sentence_transformers.SparseEncoder(str(folder), device="cpu")


def sparse_rows(sparse):
    documents = sparse.encode_document(list(TEXTS), convert_to_sparse_tensor=False).numpy()
    return documents, sparse.encode_query(list(QUERIES), convert_to_sparse_tensor=False).numpy()


def encoded(made: EncoderFolder) -> np.ndarray:
    rows = open_document_encoder(SpladeDoc(encoder=str(made.folder)), precision="float32").encode_documents(
        TEXTS
    )
    array = np.zeros((len(rows), made.manifest.terms))
    for row, (numbers, weights) in enumerate(rows):
        array[row, numbers] = weights
    return array


def test_sentence_transformers_gives_the_weights_of_the_encoder(encoder, query_weights, tmp_path):
    said = []
    folder = write_sparse_encoder(encoder.folder, tmp_path / "sparse", say=said.append)
    assert said == []
    sparse = opened(folder)
    documents, queries = sparse_rows(sparse)
    np.testing.assert_allclose(documents, encoded(encoder), rtol=1e-5, atol=1e-6)
    assert 0 < (documents > 0).sum() < documents.size
    assert (documents[:, ~encoder.kept] == 0).all()
    for query, row in zip(QUERIES, queries, strict=True):
        expected = np.zeros(len(VOCABULARY), dtype=np.float32)
        numbers = encoder.analyzer.numbers(query)
        expected[numbers] = np.where(encoder.kept, query_weights, 0)[numbers]
        np.testing.assert_array_equal(row, expected)
    assert sparse.similarity_fn_name == "dot"
    assert sparse.max_seq_length == POSITIONS


def test_an_index_of_the_encoder_has_the_scores_of_the_sparse_encoder(encoder, tmp_path):
    documents, queries = sparse_rows(opened(write_sparse_encoder(encoder.folder, tmp_path / "sparse")))
    searcher = build_index(
        [Document(str(number), text) for number, text in enumerate(TEXTS)],
        tmp_path / "index",
        model=encoder.folder,
        options=BuildOptions(quantiser="float32", precision="float32"),
    )
    for query, scores in zip(QUERIES, queries @ documents.T, strict=True):
        found = searcher.rank(query, k=len(TEXTS))
        seen = np.zeros(len(TEXTS))
        seen[[int(doc_id) for doc_id in found.doc_ids]] = found.scores
        np.testing.assert_allclose(seen, scores, rtol=1e-5, atol=1e-6)


def test_differences_are_said(counting, tmp_path):
    said = []
    documents, queries = sparse_rows(
        opened(write_sparse_encoder(counting.folder, tmp_path / "sparse", say=said.append))
    )
    assert [line.split(" ")[:4] for line in said] == [
        ["this", "encoder", "counts", "the"],
        ["an", "index", "multiplies", "weights"],
    ]
    np.testing.assert_allclose(documents, encoded(counting), rtol=1e-5, atol=1e-6)
    assert set(np.unique(queries)) == {0, 1}
    assert queries[1, VOCABULARY.index("wave")] == 1  # three times in the query


def test_the_folder_is_converted_back(encoder, tmp_path):
    folder = write_sparse_encoder(encoder.folder, tmp_path / "sparse")
    again = load_checkpoint(folder)
    assert (again.network.activation, again.network.pooling, again.length) == ("log1p_relu", "max", POSITIONS)
    np.testing.assert_array_equal(again.query_weights, encoder.query_weights)
    assert again.analyzer.vocabulary == encoder.vocabulary
    ids = torch.tensor([[5, 20, 30, 31, 6]])
    with torch.no_grad():
        seen = again.network.eval()(ids, torch.ones_like(ids))[0].numpy()
        expected = load_checkpoint(encoder.folder, kind="splade-doc").network.eval()(
            ids, torch.ones_like(ids)
        )
    np.testing.assert_allclose(seen, np.where(encoder.kept, expected[0].numpy(), 0), atol=1e-6)


def test_transformers_reads_the_network_and_the_tokenizer(encoder, tmp_path):
    folder = write_sparse_encoder(encoder.folder, tmp_path / "sparse")
    with quiet(bars=False):
        model, report = transformers.AutoModelForMaskedLM.from_pretrained(folder, output_loading_info=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert model.config.vocab_size == len(VOCABULARY)
    text = "Wings of a [MASK] plate"
    expected = ["[CLS]", *encoder.analyzer.tokens(text), "[SEP]"]
    assert tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"]) == expected


def test_the_tokenizer_of_queries_for_opensearch(encoder, tmp_path):
    """``idf.json`` has every term of ``tokenizer.json``, those of weight 0 too."""
    folder = write_sparse_encoder(encoder.folder, tmp_path / "sparse")
    weights = json.loads((folder / "idf.json").read_text(encoding="utf-8"))
    assert weights == token_weights(encoder.query_weights, encoder.vocabulary)
    assert read_token_weights(folder / "idf.json") == weights
    assert set(Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()) == set(weights)
    assert (weights["a"], weights["[CLS]"]) == (0, 0)
    assert weights["wing"] == pytest.approx(float(encoder.query_weights[VOCABULARY.index("wing")]))


def test_the_shipped_vocabulary(tmp_path):
    """The folder of an encoder that names the shipped vocabulary has a tokenizer of its own."""
    analyzer = WordPieceAnalyzer.shipped()
    terms = len(analyzer.vocabulary)
    model = transformers.BertForMaskedLM(configuration(vocab_size=terms, num_hidden_layers=1))
    made = made_encoder(tmp_path / "shipped", analyzer, model=model, query_weights=np.ones(terms, np.float32))
    sparse = opened(write_sparse_encoder(made.folder, tmp_path / "sparse"))
    text = "Ünïcode Tokenizing isn't HARD: 東京"
    row = sparse.encode_query([text], convert_to_sparse_tensor=False).numpy()[0]
    assert sorted(np.flatnonzero(row)) == sorted(set(analyzer.numbers(text).tolist()))


def test_other_kinds_are_refused(analyzer, tmp_path):
    network = TildeV2Network(
        transformers.BertModel(configuration(num_hidden_layers=1), add_pooling_layer=False)
    )
    contents = EncoderContents(cleaning="repo", length=POSITIONS)
    made = write_encoder_folder(
        network, analyzer, tmp_path / "tildev2", contents, trained={}, precisions=("float32",)
    )
    with pytest.raises(ModelFormatError, match="no module for an encoder of kind tildev2"):
        write_sparse_encoder(made.folder, tmp_path / "sparse")
    assert not (tmp_path / "sparse").exists()


def test_other_folders_are_not_overwritten(encoder, tmp_path):
    write_sparse_encoder(encoder.folder, tmp_path / "sparse")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("")
    for out in (tmp_path / "sparse", tmp_path / "full", encoder.folder, encoder.folder / "inside"):
        with pytest.raises(ForeignFolderError):
            write_sparse_encoder(encoder.folder, out)
    with pytest.raises(MissingFileError):
        write_sparse_encoder(tmp_path / "nothing", tmp_path / "new")
