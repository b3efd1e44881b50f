"""SparseEncoders, made and saved with sentence-transformers."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")
sentence_transformers = pytest.importorskip("sentence_transformers")

from safetensors.torch import load_file, save_file  # noqa: E402
from sentence_transformers.base.modules import Router  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Pooling  # noqa: E402
from sentence_transformers.sparse_encoder import modules as parts  # noqa: E402

from termwise.encode import open_document_encoder  # noqa: E402
from termwise.errors import ModelFormatError, VocabularyMismatchError  # noqa: E402
from termwise.indexing import BuildOptions, build_index  # noqa: E402
from termwise.models import SpladeDoc  # noqa: E402
from termwise.records import Document  # noqa: E402
from termwise.train.export.published_checkpoints import (  # noqa: E402
    convert_checkpoint,
    dequantised_network,
    load_checkpoint,
)
from termwise.train.networks import SpladeDocNetwork  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402

from .conftest import VOCABULARY, configuration, save  # noqa: E402

TEXTS = ("the wing flutter of a plate", "shock wave , shock waves", "merging sorted lists", "heat ?")
QUERIES = ("wing flutter", "wave wave shock wave", "the unheard waves of a list ?", "nothing known", "")


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    """The folder of a masked language model with its tokenizer."""
    torch.manual_seed(1)
    folder = save(transformers.BertForMaskedLM(configuration()), tmp_path_factory.mktemp("base") / "masked")
    with quiet(bars=False):
        transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def opened(*given, **options):
    with quiet(bars=False):
        return sentence_transformers.SparseEncoder(*given, device="cpu", **options)


def routed(masked, weights, **options):
    """A SparseEncoder with static weights on its query side, not saved."""
    documents = opened(str(masked))
    queries = parts.SparseStaticEmbedding(tokenizer=documents.tokenizer, weight=weights)
    router = Router.for_query_document([queries], list(documents.children()))
    return opened(modules=[router], similarity_fn_name="dot", **options)


def saved(encoder, folder):
    with quiet(bars=False):
        encoder.save(str(folder))
    return folder


@pytest.fixture
def weights():
    weights = torch.rand(len(VOCABULARY), generator=torch.Generator().manual_seed(3)) * 3
    weights[VOCABULARY.index("a")] = 0
    return weights


def rows_of(read):
    vocabulary = read.analyzer.vocabulary
    for text in TEXTS:
        pieces = ("[CLS]", *read.analyzer.tokens(text), "[SEP]")
        ids = torch.tensor([[vocabulary.number(piece) for piece in pieces]])
        with torch.no_grad():
            yield read.network.eval()(ids, torch.ones_like(ids))[0].numpy()


@pytest.mark.parametrize(
    ("older", "activation", "strategy"),
    [
        (False, "relu", "max"),
        (True, "relu", "max"),
        (True, "log1p_relu", "max"),
        (True, "relu", "sum"),
        (True, "log1p_relu", "sum"),
    ],
)
def test_documents_get_the_weights_of_the_sparse_encoder(masked, tmp_path, older, activation, strategy):
    if older:
        with quiet(bars=False):
            pooling = parts.SpladePooling(strategy, activation_function=activation)
            encoder = opened(modules=[parts.MLMTransformer(str(masked)), pooling])
    else:
        encoder = opened(str(masked))
    read = load_checkpoint(saved(encoder, tmp_path / "sparse"))
    assert isinstance(read.network, SpladeDocNetwork)
    assert (read.query_weights, read.reads_queries) == (None, True)
    assert (read.network.activation, read.network.pooling) == (activation, strategy)
    expected = encoder.encode_document(list(TEXTS), convert_to_sparse_tensor=False).numpy()
    for seen, row in zip(rows_of(read), expected, strict=True):
        np.testing.assert_allclose(seen, row, atol=1e-5)


def test_an_index_scores_as_the_sparse_encoder_with_static_weights(masked, weights, tmp_path):
    encoder = routed(masked, weights)
    lines = []
    made = convert_checkpoint(saved(encoder, tmp_path / "sparse"), tmp_path / "made", say=lines.append)
    assert not [line for line in lines if line.startswith("warning")]
    assert made.manifest.kind == "splade-doc"
    assert made.manifest.trained["converted"]["queries"] == "static weights"
    np.testing.assert_array_equal(made.query_weights, np.where(made.kept, weights.numpy(), 0))
    documents = [Document(str(number), text) for number, text in enumerate(TEXTS)]
    searcher = build_index(
        documents,
        tmp_path / "index",
        model=made.folder,
        options=BuildOptions(quantiser="float32", precision="float32"),
    )
    expected = encoder.similarity(encoder.encode_query(list(QUERIES)), encoder.encode_document(list(TEXTS)))
    for query, scores in zip(QUERIES, expected.numpy(), strict=True):
        found = searcher.rank(query, k=len(TEXTS))
        seen = np.zeros(len(TEXTS))
        seen[[int(doc_id) for doc_id in found.doc_ids]] = found.scores
        np.testing.assert_allclose(seen, scores, rtol=1e-4, atol=1e-5)
    assert expected[1].max() > 0


def test_another_identity_for_other_weights_of_queries(masked, weights, tmp_path):
    made = [
        convert_checkpoint(
            saved(routed(masked, given), tmp_path / f"sparse{number}"), tmp_path / f"made{number}"
        )
        for number, given in enumerate((weights, weights + 1))
    ]
    assert made[0].id != made[1].id


def refused(folder):
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(folder)
    return dict(caught.value.facts)


def test_a_network_on_the_query_side_is_refused(masked, tmp_path):
    router = Router.for_query_document(
        list(opened(str(masked)).children()), list(opened(str(masked)).children())
    )
    facts = refused(saved(opened(modules=[router]), tmp_path / "sparse"))
    assert facts == {
        "file": tmp_path / "sparse" / "router_config.json",
        "part": "modules of the query side",
        "expected": "SparseStaticEmbedding",
        "seen": "Transformer, SpladePooling",
    }


def test_other_sparse_modules_are_refused_by_name(masked, tmp_path):
    with quiet(bars=False):
        transformer = parts.Transformer(str(masked))
        pooled = Pooling(transformer.get_embedding_dimension())
        coded = parts.SparseAutoEncoder(transformer.get_embedding_dimension(), hidden_dim=64, k=4, k_aux=8)
    folder = saved(opened(modules=[transformer, pooled, coded]), tmp_path / "csr")
    facts = refused(folder)
    assert facts["file"] == folder / "modules.json"
    assert facts["seen"] == "Transformer, Pooling, SparseAutoEncoder (the task is feature-extraction)"


def test_sums_over_positions_in_every_form(masked, weights, tmp_path):
    """Sums differ from maxima, in torch and in ONNX, and do not depend on padding."""
    documents = list(opened(str(masked)).children())
    documents[1] = parts.SpladePooling("sum")
    queries = parts.SparseStaticEmbedding(tokenizer=documents[0].tokenizer, weight=weights)
    encoder = opened(modules=[Router.for_query_document([queries], documents)], similarity_fn_name="dot")
    made = convert_checkpoint(saved(encoder, tmp_path / "sparse"), tmp_path / "made")
    expected = encoder.encode_document(list(TEXTS), convert_to_sparse_tensor=False).numpy()
    rows = open_document_encoder(SpladeDoc(encoder=str(made.folder)), precision="float32").encode_documents(
        TEXTS
    )
    for (terms, seen), row in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(terms, np.flatnonzero((row > 0) & made.kept))
        np.testing.assert_allclose(seen, row[terms], rtol=1e-5, atol=1e-6)
    network = dequantised_network(made.folder)
    assert (network.pooling, network.activation) == ("sum", "relu")


def test_a_cased_tokenizer_whose_texts_are_lower_cased(masked, weights, tmp_path):
    folder = saved(routed(masked, weights), tmp_path / "sparse")
    settings = next(folder.glob("**/sentence_bert_config.json"))
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"do_lower_case": True}))
    assert load_checkpoint(folder).query_weights is not None
    for file in folder.glob("**/tokenizer.json"):
        described = json.loads(file.read_text())
        described["normalizer"]["lowercase"] = False
        file.write_text(json.dumps(described))
    facts = refused(folder)
    assert (facts["file"], facts["part"]) == (settings, "do_lower_case")


def test_settings_that_change_scores_are_refused(masked, weights, tmp_path):
    folder = saved(routed(masked, weights, prompts={"query": "question: "}), tmp_path / "prompted")
    assert refused(folder)["seen"] == "query: 'question: '"
    folder = saved(opened(str(masked), similarity_fn_name="cosine"), tmp_path / "cosine")
    assert refused(folder)["part"] == "similarity_fn_name"


def test_a_router_with_mappings_is_refused(masked, weights, tmp_path):
    folder = saved(routed(masked, weights), tmp_path / "sparse")
    file = folder / "router_config.json"
    described = json.loads(file.read_text())
    described["parameters"]["route_mappings"] = {"('query', 'text')": "document"}
    file.write_text(json.dumps(described))
    assert refused(folder)["part"] == "route_mappings"


def test_unsupported_static_weights(masked, weights, tmp_path):
    folder = saved(routed(masked, weights), tmp_path / "sparse")
    file = folder / "query_0_SparseStaticEmbedding" / "model.safetensors"
    stored = load_file(file)["weight"]
    stored[VOCABULARY.index("wave")] = -0.5
    save_file({"weight": stored}, file)
    facts = refused(folder)
    assert (facts["term"], facts["weight"], facts["negative weights"]) == ("wave", -0.5, 1)
    save_file({"weight": stored[:-1].clone()}, file)
    assert refused(folder)["seen"] == f"weight ({len(VOCABULARY) - 1},)"
    save_file({"weight": stored * torch.nan}, file)
    assert refused(folder)["tensor"] == "weight"


def test_two_tokenizers_are_refused(masked, weights, tmp_path):
    folder = saved(routed(masked, weights), tmp_path / "sparse")
    file = folder / "query_0_SparseStaticEmbedding" / "tokenizer.json"
    described = json.loads(file.read_text())
    described["normalizer"]["lowercase"] = False
    file.write_text(json.dumps(described))
    with pytest.raises(VocabularyMismatchError, match="have different tokenizers"):
        load_checkpoint(folder)
