"""Models in the published layouts of OpenSearch, with small random networks; the peer is sentence-transformers."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")
sentence_transformers = pytest.importorskip("sentence_transformers")

from safetensors.torch import save_file  # noqa: E402
from sentence_transformers.base.modules import Router  # noqa: E402
from sentence_transformers.sparse_encoder import modules as parts  # noqa: E402

from termwise.encode import EncoderFolder, open_document_encoder  # noqa: E402
from termwise.errors import (  # noqa: E402
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    VocabularyMismatchError,
)
from termwise.indexing import BuildOptions, build_index  # noqa: E402
from termwise.models import SpladeDoc  # noqa: E402
from termwise.records import Document  # noqa: E402
from termwise.train.export.published_checkpoints import (  # noqa: E402
    Checkpoint,
    convert_checkpoint,
    load_checkpoint,
)
from termwise.train.pretrained import quiet  # noqa: E402

from .conftest import POSITIONS, SIZE, VOCABULARY, configuration, save  # noqa: E402

TEXTS = (
    "the wing flutter of a plate",
    "shock wave , shock waves",
    "merging sorted lists of nothing",
    "heat ?",
)
QUERIES = ("wing flutter", "wave wave shock wave", "the unheard waves of a list ?", "")

MULTILINGUAL_TERMS = 105_879
"""Size of the vocabulary of multilingual-v1."""

LANGUAGES = (
    "Die Bienen sammeln Nektar und bestäuben die Blüten.",
    "月が海の水を引き寄せる。",
    "Вулкан извергает лаву и пепел.",
    "النحل يجمع الرحيق",
    "चाँद समुद्र को खींचता है",
    "Où vont les marées ?",
)


@dataclass(frozen=True)
class Model:
    """What distinguishes the published models: network, activation, vocabulary."""

    network: str
    activation: str
    multilingual: bool = False


MODELS = {
    "doc-v2-mini": Model("bert", "relu"),
    "doc-v2-distill": Model("distilbert", "relu"),
    "doc-v3-distill": Model("distilbert", "log1p_relu"),
    "multilingual-v1": Model("bert", "relu", multilingual=True),
}


def multilingual_vocabulary() -> list[str]:
    """Special pieces, every character as beginning and as continuation of a word, and unused pieces."""
    text = " ".join(LANGUAGES)
    characters = sorted({character for character in _stripped(text) if not character.isspace()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += characters + [f"##{character}" for character in characters]
    return pieces + [f"[unused{number}]" for number in range(MULTILINGUAL_TERMS - len(pieces))]


def _stripped(text: str) -> str:
    from tokenizers import normalizers

    return normalizers.BertNormalizer(lowercase=True).normalize_str(text)


def network_of(model: Model, terms: int):
    torch.manual_seed(5)
    if model.network == "bert":
        return transformers.BertForMaskedLM(configuration(vocab_size=terms))
    return transformers.DistilBertForMaskedLM(
        transformers.DistilBertConfig(
            vocab_size=terms,
            dim=SIZE,
            hidden_dim=32,
            n_layers=2,
            n_heads=2,
            max_position_embeddings=POSITIONS,
            tie_weights_=True,
        )
    )


def published(folder: Path, model: Model, *, modules: bool = True) -> Path:
    """Write a folder as OpenSearch publishes it: the network in the root, query weights as JSON and as text.

    Without modules, it is a download from before the models supported sentence-transformers.
    """
    vocabulary = multilingual_vocabulary() if model.multilingual else VOCABULARY
    save(network_of(model, len(vocabulary)), folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    with quiet(bars=False):
        tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=POSITIONS)
        tokenizer.save_pretrained(folder)
    random = np.random.default_rng(3)
    # The published files have no entry for some tokens, whose weight is then 0.
    idf = {token: round(random.uniform(0.1, 9), 6) for token in vocabulary if token not in ("[PAD]", "the")}
    (folder / "idf.json").write_text(json.dumps(idf))
    lines = (f"{token}\t{weight}\n" for token, weight in idf.items())
    (folder / "query_token_weights.txt").write_text("".join(lines), encoding="utf-8")
    if modules:
        add_modules(folder, tokenizer, model.activation)
    return folder


def add_modules(folder: Path, tokenizer, activation: str) -> None:
    """Add the modules with the real classes; the transformer of documents stays in the root, under an empty name."""
    queries, pooling = "query_0_SparseStaticEmbedding", "document_1_SpladePooling"
    for name in (queries, pooling):
        (folder / name).mkdir()
    parts.SparseStaticEmbedding.from_json(str(folder / "idf.json"), tokenizer).save(str(folder / queries))
    parts.SpladePooling("max", activation_function=activation).save(str(folder / pooling))
    prefix = "sentence_transformers.sparse_encoder.models."
    write(folder / "sentence_bert_config.json", {"max_seq_length": POSITIONS, "do_lower_case": False})
    write(
        folder / "config_sentence_transformers.json",
        {
            "model_type": "SparseEncoder",
            "prompts": {"query": "", "document": ""},
            "default_prompt_name": None,
            "similarity_fn_name": "dot",
        },
    )
    write(
        folder / "modules.json",
        [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Router"}],
    )
    write(
        folder / "router_config.json",
        {
            "types": {
                queries: f"{prefix}SparseStaticEmbedding",
                "": f"{prefix}MLMTransformer",
                pooling: f"{prefix}SpladePooling",
            },
            "structure": {"query": [queries], "document": ["", pooling]},
            "parameters": {"default_route": "query", "allow_empty_key": True},
        },
    )


def write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))


def changed(file: Path, /, **changes: object) -> None:
    write(file, json.loads(file.read_text()) | changes)


def peer(folder: Path):
    with quiet(bars=False):
        return sentence_transformers.SparseEncoder(str(folder), device="cpu")


def peer_without_modules(folder: Path, activation: str):
    """Return the SparseEncoder that sentence-transformers composes of a folder without modules."""
    with quiet(bars=False):
        documents = parts.Transformer(str(folder), transformer_task="fill-mask")
        queries = parts.SparseStaticEmbedding.from_json(str(folder / "idf.json"), documents.tokenizer)
        pooling = parts.SpladePooling("max", activation_function=activation)
        router = Router.for_query_document([queries], [documents, pooling])
        return sentence_transformers.SparseEncoder(modules=[router], similarity_fn_name="dot", device="cpu")


def dense(rows, terms: int) -> np.ndarray:
    array = np.zeros((len(rows), terms))
    for row, (numbers, weights) in enumerate(rows):
        array[row, numbers] = weights
    return array


def encoded(made: EncoderFolder, texts, **settings) -> np.ndarray:
    encoder = open_document_encoder(SpladeDoc(encoder=str(made.folder), **settings), precision="float32")
    return dense(encoder.encode_documents(texts), made.manifest.terms)


def network_rows(read: Checkpoint, texts) -> np.ndarray:
    """The weights that the torch network of a checkpoint gives to texts, one by one."""
    rows = []
    for text in texts:
        pieces = ("[CLS]", *read.analyzer.tokens(text), "[SEP]")
        ids = torch.tensor([[read.analyzer.vocabulary.number(piece) for piece in pieces]])
        with torch.no_grad():
            rows.append(read.network.eval()(ids, torch.ones_like(ids))[0].numpy())
    return np.stack(rows)


def assert_weights_of_queries(read: Checkpoint, encoder, queries) -> None:
    """Compare the weights of queries with those of a SparseEncoder: each distinct term has its weight once."""
    rows = encoder.encode_query(list(queries), convert_to_sparse_tensor=False).numpy()
    for query, row in zip(queries, rows, strict=True):
        numbers = np.unique(read.analyzer.numbers(query))
        seen = np.zeros(len(row))
        seen[numbers] = read.query_weights[numbers]
        np.testing.assert_allclose(seen, row, rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_the_published_models_get_the_weights_of_sentence_transformers(name, tmp_path):
    model = MODELS[name]
    folder = published(tmp_path / name, model)
    read, encoder = load_checkpoint(folder), peer(folder)
    texts, queries = (LANGUAGES, (*LANGUAGES, "")) if model.multilingual else (TEXTS, QUERIES)
    terms = MULTILINGUAL_TERMS if model.multilingual else len(VOCABULARY)
    assert (len(read.analyzer.vocabulary), read.length, read.reads_queries) == (terms, POSITIONS, False)
    expected = encoder.encode_document(list(texts), convert_to_sparse_tensor=False).numpy()
    np.testing.assert_allclose(network_rows(read, texts), expected, rtol=1e-5, atol=1e-5)
    assert (expected > 0).any(axis=1).all()
    assert_weights_of_queries(read, encoder, queries)


@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
@pytest.mark.parametrize("file", ["idf.json", "query_token_weights.txt"])
def test_an_earlier_download_without_modules(activation, file, tmp_path):
    folder = published(tmp_path / "plain", Model("distilbert", activation), modules=False)
    encoder = peer_without_modules(folder, activation)
    (folder / ({"idf.json", "query_token_weights.txt"} - {file}).pop()).unlink()
    read = load_checkpoint(folder, activation=activation)
    expected = encoder.encode_document(list(TEXTS), convert_to_sparse_tensor=False).numpy()
    np.testing.assert_allclose(network_rows(read, TEXTS), expected, rtol=1e-5, atol=1e-5)
    assert_weights_of_queries(read, encoder, QUERIES)
    assert read.query_weights[VOCABULARY.index("the")] == 0  # the file has no entry


@pytest.mark.parametrize("name", ["doc-v3-distill", "multilingual-v1"])
def test_an_index_of_a_published_model_scores_as_sentence_transformers(name, tmp_path):
    folder = published(tmp_path / "published", MODELS[name])
    said = []
    made = convert_checkpoint(folder, tmp_path / "made", say=said.append)
    assert not [line for line in said if line.startswith("warning")]
    assert (made.manifest.kind, made.manifest.length) == ("splade-doc", POSITIONS)
    texts, questions = (LANGUAGES, LANGUAGES) if MODELS[name].multilingual else (TEXTS, QUERIES)
    encoder = peer(folder)
    queries, documents = (
        encode(list(given), convert_to_sparse_tensor=False).numpy()
        for encode, given in ((encoder.encode_query, questions), (encoder.encode_document, texts))
    )
    np.testing.assert_allclose(encoded(made, texts), np.where(made.kept, documents, 0), rtol=1e-5, atol=1e-5)
    records = [Document(str(number), text) for number, text in enumerate(texts)]
    options = BuildOptions(quantiser="float32", precision="float32")
    searcher = build_index(records, tmp_path / "index", model=made.folder, options=options)
    for query, scores in zip(questions, queries @ documents.T, strict=True):
        found = searcher.rank(query, k=len(texts))
        seen = np.zeros(len(texts))
        seen[[int(doc_id) for doc_id in found.doc_ids]] = found.scores
        np.testing.assert_allclose(seen, scores, rtol=1e-5, atol=1e-5)


def test_the_window_is_the_length_of_the_published_code(tmp_path):
    folder = published(tmp_path / "published", MODELS["doc-v2-mini"])
    long = " ".join(["wing flutter plate shock wave"] * 4)
    for settings in ({"max_seq_length": 9}, {"max_seq_length": 30, "document_length": 9}):
        changed(folder / "sentence_bert_config.json", **settings)
        assert load_checkpoint(folder).length == 9
    (folder / "sentence_bert_config.json").unlink()
    changed(folder / "tokenizer_config.json", model_max_length=9)
    made = convert_checkpoint(folder, tmp_path / "made")
    assert made.manifest.length == 9
    cut = " ".join(long.split()[:7])
    documents = peer(folder).encode_document([long, cut], convert_to_sparse_tensor=False).numpy()
    np.testing.assert_array_equal(*documents)
    np.testing.assert_allclose(encoded(made, [cut]), np.where(made.kept, documents[:1], 0), atol=1e-5)
    changed(folder / "tokenizer_config.json", model_max_length=10**30)
    assert load_checkpoint(folder).length == POSITIONS


def test_static_weights_in_a_json_file(tmp_path, monkeypatch):
    """Settings of SparseStaticEmbedding name a file in place of tensors; the peer finds it in the current folder."""
    folder = published(tmp_path / "published", MODELS["doc-v2-mini"])
    queries = folder / "query_0_SparseStaticEmbedding"
    (queries / "model.safetensors").unlink()
    (folder / "idf.json").rename(queries / "idf.json")
    changed(queries / "config.json", path="idf.json")
    monkeypatch.chdir(queries)
    assert_weights_of_queries(load_checkpoint(folder), peer(folder), QUERIES)
    changed(queries / "config.json", path="../idf.json")
    assert facts(ModelFormatError, folder)["key"] == "path"
    changed(queries / "config.json", path="weights.json")
    assert facts(MissingFileError, folder)["file"] == str(queries / "weights.json")


def facts(error_type, folder, **options):
    with pytest.raises(error_type) as caught:
        load_checkpoint(folder, **options)
    assert type(caught.value) is error_type
    assert caught.value.fixes
    return {label: str(value) for label, value in caught.value.facts}


def test_the_activation_must_be_given_exactly_where_it_is_unknown(tmp_path):
    plain = published(tmp_path / "plain", MODELS["doc-v3-distill"], modules=False)
    assert facts(ParameterError, plain)["missing"] == "modules.json"
    with pytest.raises(UnknownNameError):
        load_checkpoint(plain, activation="softplus")
    assert facts(ParameterError, plain, kind="tilde", activation="relu")["kind"] == "tilde"
    complete = published(tmp_path / "complete", MODELS["doc-v3-distill"])
    assert facts(ParameterError, complete, activation="relu")["stated"] == "log1p_relu"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", {"file"}),
        ('{"wing": "much"}', {"file", "token"}),
        ('{"wing": -1}', {"file", "token"}),
        ('{"wing": NaN}', {"file", "token"}),
        ('["wing"]', {"file", "seen"}),
    ],
)
def test_malformed_query_weights(content, expected, tmp_path):
    plain = published(tmp_path / "plain", MODELS["doc-v2-mini"], modules=False)
    (plain / "idf.json").write_text(content)
    found = facts(ModelFormatError, plain, activation="relu")
    assert expected <= set(found)
    assert found["file"].endswith("idf.json")


def test_query_weights_of_another_vocabulary(tmp_path):
    plain = published(tmp_path / "plain", MODELS["doc-v2-mini"], modules=False)
    (plain / "idf.json").write_text('{"wing": 1, "Flügel": 2}')
    found = facts(VocabularyMismatchError, plain, activation="relu")
    assert (Path(found["file"]).name, found["token"]) == ("idf.json", "Flügel")


@pytest.mark.parametrize(
    ("missing", "error", "named"),
    [
        ("router_config.json", MissingFileError, "router_config.json"),
        ("model.safetensors", MissingFileError, "model.safetensors"),
        ("config.json", MissingFileError, "config.json"),
        ("document_1_SpladePooling/config.json", MissingFileError, "document_1_SpladePooling"),
        (
            "query_0_SparseStaticEmbedding/model.safetensors",
            MissingFileError,
            "query_0_SparseStaticEmbedding",
        ),
        ("query_0_SparseStaticEmbedding", ModelFormatError, "query_0_SparseStaticEmbedding"),
    ],
)
def test_missing_files_are_named(missing, error, named, tmp_path):
    folder = published(tmp_path / "published", MODELS["doc-v2-mini"])
    path = folder / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert any(named in value for value in facts(error, folder).values())


@pytest.mark.parametrize("file", ["model.safetensors", "query_0_SparseStaticEmbedding/model.safetensors"])
def test_truncated_tensors_are_named(file, tmp_path):
    folder = published(tmp_path / "published", MODELS["doc-v2-mini"])
    data = (folder / file).read_bytes()
    (folder / file).write_bytes(data[: len(data) // 2])
    assert facts(ModelFormatError, folder)["file"] == str(folder / file)


def test_tensors_of_another_shape_are_named(tmp_path):
    folder = published(tmp_path / "published", MODELS["doc-v2-mini"])
    changed(folder / "config.json", intermediate_size=24)
    found = facts(ModelFormatError, folder)
    assert found["file"] == str(folder / "config.json")
    assert found["weight"].endswith("intermediate.dense.weight")
    changed(folder / "config.json", intermediate_size=32)
    save_file({"weight": torch.ones(3)}, folder / "query_0_SparseStaticEmbedding" / "model.safetensors")
    assert facts(ModelFormatError, folder)["seen"] == "weight (3,)"


@pytest.mark.parametrize(
    ("file", "changes", "part"),
    [
        ("document_1_SpladePooling/config.json", {"activation_function": "swish"}, "activation_function"),
        ("document_1_SpladePooling/config.json", {"pooling_strategy": "mean"}, "pooling_strategy"),
        ("config_sentence_transformers.json", {"similarity_fn_name": "cosine"}, "similarity_fn_name"),
        ("config_sentence_transformers.json", {"prompts": {"query": "q: "}}, "prompts"),
        (
            "sentence_bert_config.json",
            {"processing_kwargs": {"text": {"max_length": 4}}},
            "processing_kwargs",
        ),
    ],
)
def test_settings_that_are_not_supported_name_file_and_key(file, changes, part, tmp_path):
    folder = published(tmp_path / "published", MODELS["doc-v2-mini"])
    changed(folder / file, **changes)
    found = facts(ModelFormatError, folder)
    assert (found["file"], found["part"]) == (str(folder / file), part)


@pytest.mark.parametrize("length", [0, "long", True, float("nan")])
def test_lengths_that_are_no_numbers_of_pieces(length, tmp_path):
    folder = published(tmp_path / "published", MODELS["doc-v2-mini"])
    changed(folder / "sentence_bert_config.json", max_seq_length=length)
    found = facts(ModelFormatError, folder)
    assert (found["file"], found["key"]) == (str(folder / "sentence_bert_config.json"), "max_seq_length")


def test_an_architecture_whose_code_comes_with_the_checkpoint(tmp_path):
    """doc-v3-gte has the architecture ``new``, which transformers does not have."""
    folder = published(tmp_path / "gte", MODELS["doc-v3-distill"])
    auto_map = {"AutoModelForMaskedLM": "Alibaba-NLP/new-impl--modeling.NewForMaskedLM"}
    changed(folder / "config.json", model_type="new", auto_map=auto_map)
    found = facts(ModelFormatError, folder)
    assert (found["file"], found["model_type"]) == (str(folder / "config.json"), "new")
