"""Checkpoints in published layouts, made with the published classes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")

from safetensors.torch import load_file, save_file  # noqa: E402

from termwise.encode import EncoderFolder, open_document_encoder  # noqa: E402
from termwise.encode.encoder_manifest import ExpansionRecord  # noqa: E402
from termwise.encode.expansion import Expansion  # noqa: E402
from termwise.errors import (  # noqa: E402
    EmptyCollectionError,
    ForeignFolderError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    VocabularyMismatchError,
)
from termwise.models import TildeV2  # noqa: E402
from termwise.progress import no_progress  # noqa: E402
from termwise.records import Document  # noqa: E402
from termwise.train.export import tilde_floors as floors  # noqa: E402
from termwise.train.export.folder_writer import save_weights, write_encoder_folder  # noqa: E402
from termwise.train.export.onnx_export import agreement  # noqa: E402
from termwise.train.export.published_checkpoints import (  # noqa: E402
    convert_checkpoint,
    dequantised_network,
    load_checkpoint,
)
from termwise.train.networks import SpladeDocNetwork, TildeNetwork, TildeV2Network, network_on_base  # noqa: E402

from .conftest import SIZE, VOCABULARY, configuration, save, write_jsonl  # noqa: E402

IDS = torch.tensor([[1, 20, 21, 22, 6], [1, 23, 6, 0, 0]])
MASK = (IDS != 0).long()


class TILDEv2(transformers.BertPreTrainedModel):
    """The shape of the published class: an encoder under ``bert`` and a projection under ``tok_proj``."""

    def __init__(self, config):
        super().__init__(config)
        self.bert = transformers.BertModel(config)
        self.tok_proj = torch.nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, input_ids, attention_mask):
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return torch.relu(self.tok_proj(hidden)).squeeze(-1)


def config():
    return configuration(num_hidden_layers=1)


@pytest.fixture
def masked(tmp_path):
    """A published TILDE: a BertLMHeadModel that is not a decoder."""
    torch.manual_seed(1)
    model = transformers.BertForMaskedLM(config())
    return model.eval(), save(model, tmp_path / "tilde")


@pytest.fixture
def projected(tmp_path):
    torch.manual_seed(2)
    model = TILDEv2(config())
    torch.nn.init.normal_(model.tok_proj.weight)
    return model.eval(), save(model, tmp_path / "tildev2")


def as_pickle(folder: Path, **changes) -> Path:
    """Turn the weights of a folder into the older file."""
    state = load_file(folder / "model.safetensors") | changes
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    return folder


@pytest.mark.parametrize("older", [False, True])
def test_tilde(masked, older):
    model, folder = masked
    read = load_checkpoint(as_pickle(folder) if older else folder)
    network, analyzer = read.network, read.analyzer
    assert isinstance(network, TildeNetwork)
    assert (read.query_weights, read.reads_queries) == (None, False)
    assert network.training
    assert len(analyzer.vocabulary) == len(VOCABULARY)
    with torch.no_grad():
        expected = model(input_ids=IDS, attention_mask=MASK).logits[:, 0]
        torch.testing.assert_close(network.eval()(IDS, MASK), expected)


def test_a_language_model_configured_as_decoder_attends_in_both_directions(masked):
    model, folder = masked
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"is_decoder": True}))
    network = load_checkpoint(folder).network
    with torch.no_grad():
        expected = model(input_ids=IDS, attention_mask=MASK).logits[:, 0]
        torch.testing.assert_close(network.eval()(IDS, MASK), expected)


@pytest.mark.parametrize("older", [False, True])
def test_tildev2(projected, older):
    model, folder = projected
    network = load_checkpoint(as_pickle(folder) if older else folder).network
    assert isinstance(network, TildeV2Network)
    with torch.no_grad():
        torch.testing.assert_close(network.eval()(IDS, MASK), model(IDS, MASK))


def test_parameter_names_of_early_bert_checkpoints_are_read(masked):
    model, folder = masked
    state = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
    }
    save_file(state, folder / "model.safetensors")
    network = load_checkpoint(folder).network
    with torch.no_grad():
        expected = model(input_ids=IDS, attention_mask=MASK).logits[:, 0]
        torch.testing.assert_close(network.eval()(IDS, MASK), expected)


def test_a_splade_is_loaded_by_kind(masked):
    _, folder = masked
    assert isinstance(load_checkpoint(folder, kind="splade-doc").network, SpladeDocNetwork)


@pytest.mark.parametrize("kind", ["tilde", "tildev2"])
def test_weights_of_an_encoder_folder_are_read(kind, headed, tmp_path):
    torch.manual_seed(3)
    network = network_on_base(kind, headed)
    save_weights(network, tmp_path)
    (tmp_path / "vocab.txt").write_bytes((headed / "vocab.txt").read_bytes())
    again = load_checkpoint(tmp_path).network
    before, after = network.state_dict(), again.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    torch.manual_seed(4)
    encoder = network_on_base(kind, tmp_path).encoder.state_dict()
    assert all(torch.equal(tensor, encoder[name]) for name, tensor in network.encoder.state_dict().items())


def modules(folder: Path, **changes: str) -> Path:
    """Put the files of a SparseEncoder around a masked language model."""
    sparse = "sentence_transformers.sparse_encoder.models"
    (folder / "modules.json").write_text(
        json.dumps(
            [
                {"idx": 0, "name": "0", "path": "", "type": f"{sparse}.MLMTransformer"},
                {"idx": 1, "name": "1", "path": "1_SpladePooling", "type": f"{sparse}.SpladePooling"},
            ]
        )
    )
    (folder / "1_SpladePooling").mkdir()
    pooling = {"pooling_strategy": "max", "activation_function": "relu"} | changes
    (folder / "1_SpladePooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def splade(model):
    with torch.no_grad():
        logits = model(input_ids=IDS, attention_mask=MASK).logits
    return (torch.log1p(torch.relu(logits)) * MASK[:, :, None]).amax(dim=1)


def test_sparse_encoder(masked):
    model, folder = masked
    read = load_checkpoint(modules(folder))
    network = read.network
    assert isinstance(network, SpladeDocNetwork)
    assert (read.query_weights, read.reads_queries) == (None, True)
    with pytest.raises(ModelFormatError, match="of kind splade-doc"):
        load_checkpoint(folder, kind="tilde")
    with torch.no_grad():
        torch.testing.assert_close(network.eval()(IDS, MASK), splade(model))


def test_unsupported_sparse_encoders_are_refused(masked):
    folder = modules(masked[1], activation_function="gelu")
    with pytest.raises(ModelFormatError, match="splade-doc") as caught:
        load_checkpoint(folder)
    assert dict(caught.value.facts)["part"] == "activation_function"


def test_dense_sentence_transformers_are_refused(masked):
    folder = modules(masked[1])
    kinds = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    (folder / "modules.json").write_text(json.dumps(kinds))
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(folder)
    assert dict(caught.value.facts)["seen"] == "Transformer (the task is feature-extraction)"


def test_a_checkpoint_without_the_head(base):
    with pytest.raises(ModelFormatError, match="no head for the kind tilde") as caught:
        load_checkpoint(base)
    facts = dict(caught.value.facts)
    assert "cls.predictions.transform.dense.weight" in facts["missing"]
    assert facts["has a head for"] == "none: it is a bare encoder"


def test_a_checkpoint_with_another_head(masked, projected):
    with pytest.raises(ModelFormatError, match="no head for the kind tildev2") as caught:
        load_checkpoint(masked[1], kind="tildev2")
    assert dict(caught.value.facts)["missing"] == "token_projection.weight, token_projection.bias"
    assert caught.value.fixes_worded() == ["use `kind='tilde'`"]
    with pytest.raises(ModelFormatError, match="no head for the kind tilde") as caught:
        load_checkpoint(projected[1], kind="tilde")
    assert caught.value.fixes_worded() == ["use `kind='tildev2'`"]


def test_weights_of_the_encoder_that_are_missing(masked):
    folder = masked[1]
    state = load_file(folder / "model.safetensors")
    del state["bert.encoder.layer.0.output.dense.weight"]
    save_file(state, folder / "model.safetensors")
    with pytest.raises(ModelFormatError, match="missing") as caught:
        load_checkpoint(folder)
    assert "bert.encoder.layer.0.output.dense.weight" in dict(caught.value.facts)["missing"]


def test_a_weight_that_is_not_finite(projected):
    folder = projected[1]
    state = load_file(folder / "model.safetensors")
    state["tok_proj.weight"][0, 3] = float("inf")
    save_file(state, folder / "model.safetensors")
    with pytest.raises(ModelFormatError, match="not a finite number") as caught:
        load_checkpoint(folder)
    facts = dict(caught.value.facts)
    assert (facts["tensor"], facts["not finite"]) == ("token_projection.weight", f"1 of {SIZE}")


def test_a_tokenizer_with_another_vocabulary(masked):
    folder = masked[1]
    (folder / "vocab.txt").write_text("\n".join((*VOCABULARY, "more")) + "\n")
    with pytest.raises(ModelFormatError, match="different sizes"):
        load_checkpoint(folder)


def test_weights_that_run_code_are_refused(masked):
    folder = masked[1]
    (folder / "model.safetensors").unlink()

    class Payload:
        def __reduce__(self):
            return (print, ("run",))

    torch.save({"bert": Payload()}, folder / "pytorch_model.bin")
    with pytest.raises(ModelFormatError, match="more than tensors"):
        load_checkpoint(folder)


def test_files_that_are_missing_or_damaged(masked, tmp_path):
    folder = masked[1]
    with pytest.raises(MissingFileError):
        load_checkpoint(tmp_path / "nowhere")
    with pytest.raises(UnknownNameError):
        load_checkpoint(folder, kind="tilda")
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[:100])
    with pytest.raises(ModelFormatError, match="cannot be read"):
        load_checkpoint(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(MissingFileError, match="no weights"):
        load_checkpoint(folder)
    as_pickle_of_numbers = {"a": 1}
    torch.save(as_pickle_of_numbers, folder / "pytorch_model.bin")
    with pytest.raises(ModelFormatError, match="not named tensors"):
        load_checkpoint(folder)


def test_a_checkpoint_needs_a_tokenizer(masked):
    (masked[1] / "vocab.txt").unlink()
    with pytest.raises(ModelFormatError, match="no tokenizer"):
        load_checkpoint(masked[1])


def change_config(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"model_type": None}, "model_type"),
        ({"model_type": 7}, "model_type"),
        ({"hidden_size": "16"}, "hidden_size"),
        ({"hidden_size": -1}, "hidden_size"),
        ({"hidden_size": 10**12}, "hidden_size"),
        ({"vocab_size": 10**15}, "vocab_size"),
        ({"vocab_size": True}, "vocab_size"),
        ({"num_hidden_layers": 1000}, "num_hidden_layers"),
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"max_position_embeddings": 1.5}, "max_position_embeddings"),
    ],
)
def test_an_impossible_size_is_named_with_its_file(masked, changes, key):
    folder = masked[1]
    change_config(folder, **changes)
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(folder)
    facts = dict(caught.value.facts)
    assert facts["file"] == folder / "config.json"
    assert facts["key"] == key
    assert facts["seen"] == repr(changes[key])


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "nonsense"},
        {"num_attention_heads": 3},
        {"hidden_act": "nonsense"},
        {"hidden_act": 5},
        {"layer_norm_eps": "small"},
        {"model_type": "t5"},
        {"model_type": "nonsense", "auto_map": {"AutoConfig": "code.Config"}},
    ],
)
def test_an_invalid_configuration(masked, changes):
    folder = masked[1]
    change_config(folder, **changes)
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(folder)
    facts = dict(caught.value.facts)
    assert facts.get("file", folder / "config.json") == folder / "config.json"
    assert caught.value.fixes


@pytest.mark.parametrize("text", ["[]", "7", "{", "", "[" * 100_000, '{"a": 1}'])
def test_a_configuration_that_is_not_an_object(masked, text):
    (masked[1] / "config.json").write_text(text)
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(masked[1])
    assert dict(caught.value.facts)["file"] == masked[1] / "config.json"


def test_default_sizes_are_listed_in_the_error(masked):
    file = masked[1] / "config.json"
    settings = json.loads(file.read_text())
    del settings["hidden_size"]
    file.write_text(json.dumps(settings))
    with pytest.raises(ModelFormatError, match="shape of a weight differs") as caught:
        load_checkpoint(masked[1])
    facts = dict(caught.value.facts)
    assert facts["file"] == file
    assert "hidden_size=768" in facts["defaults"]


def test_sizes_beyond_memory_are_refused_before_allocation(masked):
    change_config(masked[1], hidden_size=1 << 18, intermediate_size=1 << 18, vocab_size=1 << 24)
    with pytest.raises(ModelFormatError, match="shape of a weight differs"):
        load_checkpoint(masked[1])


@pytest.mark.parametrize("how", ["int8", "sparse", "number for a name"])
def test_weights_of_another_type(masked, how):
    folder = as_pickle(masked[1])
    state = torch.load(folder / "pytorch_model.bin", weights_only=True)
    name = "bert.encoder.layer.0.output.dense.weight"
    if how == "int8":
        state[name] = state[name].to(torch.int8)
    elif how == "sparse":
        state[name] = state[name].to_sparse()
    else:
        state[3] = state[name]
    torch.save(state, folder / "pytorch_model.bin")
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(folder)
    if how != "number for a name":
        facts = dict(caught.value.facts)
        assert (facts["folder"], facts["tensor"]) == (folder, name)


def test_half_precision_and_parameters_are_read(masked):
    model, folder = masked
    folder = as_pickle(folder)
    state = torch.load(folder / "pytorch_model.bin", weights_only=True)
    state = {name: torch.nn.Parameter(tensor.bfloat16()) for name, tensor in state.items()}
    torch.save(state | {"bert.embeddings.position_ids": torch.arange(64)}, folder / "pytorch_model.bin")
    network = load_checkpoint(folder).network
    before, after = (
        model.bert.embeddings.word_embeddings.weight,
        network.encoder.get_input_embeddings().weight,
    )
    torch.testing.assert_close(before, after, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"model": {}}', '{"model": {"type": "WordPiece", "vocab": {}}}']
)
def test_a_tokenizer_without_a_vocabulary(masked, text):
    (masked[1] / "vocab.txt").unlink()
    (masked[1] / "tokenizer.json").write_text(text)
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(masked[1])
    assert masked[1] in dict(caught.value.facts).values() or "tokenizer" in caught.value.message


@pytest.mark.parametrize(
    "path", ["..", "../other", "a/../../b", "/etc", "1_SpladePooling/../..", "..\\other", None, 3, ["a"]]
)
def test_a_module_outside_the_folder_is_refused(masked, path):
    folder = modules(masked[1])
    listed = json.loads((folder / "modules.json").read_text())
    listed[1]["path"] = path
    (folder / "modules.json").write_text(json.dumps(listed))
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(folder)
    facts = dict(caught.value.facts)
    assert facts["file"] == folder / "modules.json"
    assert facts["key"] == "[1].path"


@pytest.mark.parametrize("text", ["{}", "[3]", "[{}]", "[[]]", '[{"type": 3, "path": ""}]'])
def test_unexpected_modules(masked, text):
    folder = modules(masked[1])
    (folder / "modules.json").write_text(text)
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(folder)
    assert dict(caught.value.facts)["file"] == folder / "modules.json"


@pytest.mark.parametrize(
    ("router", "key"),
    [
        ({}, "structure.document"),
        ({"structure": {"document": "a"}}, "structure.document"),
        (
            {"structure": {"document": ["../a"]}, "types": {"../a": "x.MLMTransformer"}},
            "structure.document[0]",
        ),
        ({"structure": {"document": ["a"]}}, "types.a"),
        ({"structure": {"document": ["a"]}, "types": {"a": 3}}, "types.a"),
    ],
)
def test_an_unexpected_router(masked, router, key):
    folder = modules(masked[1])
    (folder / "modules.json").write_text('[{"type": "x.Router", "path": ""}]')
    (folder / "router_config.json").write_text(json.dumps(router))
    with pytest.raises(ModelFormatError) as caught:
        load_checkpoint(folder)
    facts = dict(caught.value.facts)
    assert (facts["file"], facts["key"]) == (folder / "router_config.json", key)


def test_convert(projected, tmp_path):
    model, folder = projected
    made = convert_checkpoint(folder, tmp_path / "encoder")
    assert made.manifest.kind == "tildev2"
    assert (made.manifest.cleaning, made.manifest.length) == ("repo", made.manifest.positions)
    assert made.manifest.trained["converted"]["from"] == "tildev2"
    assert made.manifest.networks().keys() == {"float32", "int8"}
    again = dequantised_network(made.folder)  # from the float32 graph: the very weights
    with torch.no_grad():
        torch.testing.assert_close(again.eval()(IDS, MASK), model(IDS, MASK), atol=1e-6, rtol=1e-5)


def test_convert_warns_of_the_query_network_of_unicoil(projected, tmp_path):
    lines = []
    change_config(projected[1], architectures=["UniCoilEncoder"])
    made = convert_checkpoint(projected[1], tmp_path / "encoder", say=lines.append)
    assert made.manifest.trained["converted"]["queries"] == "counted, where the checkpoint runs its network"
    assert any(
        line.startswith("warning: this checkpoint runs its network over queries too") for line in lines
    )


def test_convert_measures_floors(masked, tmp_path):
    model, folder = masked
    texts = ["wing flutter", "shock wave of the body", "merge sort"]
    docs = write_jsonl(
        tmp_path / "docs.jsonl", *({"id": f"{i}", "text": text} for i, text in enumerate(texts))
    )
    seen = []
    made = convert_checkpoint(
        folder, tmp_path / "encoder", floors_from=docs, progress=lambda *step: seen.append(step)
    )
    assert seen == [("measure floors", 3, 3)]
    number = {token: position for position, token in enumerate(VOCABULARY)}
    rows = [[1, *(number[word] for word in text.split()), number["[SEP]"]] for text in texts]
    with torch.no_grad():
        logits = [model(input_ids=torch.tensor([row])).logits[0, 0] for row in rows]
    expected = torch.nn.functional.logsigmoid(torch.stack(logits)).mean(dim=0).numpy()
    np.testing.assert_allclose(made.floors, np.where(made.kept, expected, 0), atol=1e-5)


def test_floors_are_means_over_a_sample_of_a_large_collection(monkeypatch):
    class Numbers:
        name, length = "numbers", 100

        def documents(self):
            return (Document(str(number), str(number)) for number in range(100))

    monkeypatch.setattr(floors, "FLOOR_PASSAGES", 10)
    seen = []
    drawn = floors.sample_collection_passages(Numbers(), seed=0, progress=lambda *step: seen.append(step))
    assert len(set(drawn)) == 10
    assert max(map(int, drawn)) > 50
    assert seen[-1] == ("read passages", 100, 100)
    assert drawn == floors.sample_collection_passages(Numbers(), seed=0, progress=no_progress)


def test_convert_refuses_options_of_other_kinds(masked, projected, tmp_path):
    docs = write_jsonl(tmp_path / "docs.jsonl", {"id": "a", "text": "wing flutter"})
    none = write_jsonl(tmp_path / "none.jsonl")
    tilde = convert_checkpoint(masked[1], tmp_path / "made-tilde").folder
    out = tmp_path / "encoder"
    refused = [
        (masked, {"expansion": Expansion(tilde, 8)}, ParameterError, "omit the expansion"),
        (projected, {"floors_from": docs}, ParameterError, "omit `floors_from`"),
        (masked, {"floors_from": tmp_path / "nowhere.jsonl"}, MissingFileError, None),
        (masked, {"floors_from": none}, EmptyCollectionError, None),
        (projected, {"expansion": (tilde, 8, "new")}, ParameterError, None),
        (
            projected,
            {"expansion": Expansion(masked[1], 8)},
            ModelFormatError,
            f"convert it with `convert_checkpoint('{masked[1]}')`",
        ),
        (projected, {"expansion": Expansion(tilde, 61)}, ParameterError, "fewer expansion terms"),
        (
            projected,
            {"expansion": Expansion("tilde", 8)},
            VocabularyMismatchError,
            "expand with the TILDE encoder",
        ),
    ]
    for checkpoint, options, error, fix in refused:
        with pytest.raises(error) as caught:
            convert_checkpoint(checkpoint[1], out, **options)
        assert fix is None or any(fix in one for one in caught.value.fixes_worded())
        assert not (out / "encoder.json").exists()
    projected_encoder = convert_checkpoint(projected[1], out).folder
    with pytest.raises(ModelFormatError, match="only encoders of kind tilde can expand"):
        convert_checkpoint(projected[1], tmp_path / "other", expansion=Expansion(projected_encoder, 8))


def test_a_converted_tildev2_is_expanded(masked, projected, tmp_path):
    tilde = convert_checkpoint(masked[1], tmp_path / "made-tilde")
    made = convert_checkpoint(
        projected[1], tmp_path / "encoder", expansion=Expansion(tilde.folder, 20, "raw")
    )
    assert made.manifest.expansion == ExpansionRecord(20, "raw", 64 - 21, tilde.id, "made-tilde")
    encoder = open_document_encoder(TildeV2(encoder=str(made.folder)))
    alone = open_document_encoder(TildeV2(encoder=str(made.folder), expansion_encoder="none"))
    texts = ["wing flutter of the body", "merge"]
    expanded, plain = encoder.encode_documents(texts), alone.encode_documents(texts)
    assert np.diff(expanded.indptr).min() > np.diff(plain.indptr).max()


def test_convert_overwrites_nothing(projected, tmp_path):
    _, folder = projected
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "encoder.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="already holds an encoder"):
        convert_checkpoint(folder, tmp_path / "made")
    with pytest.raises(ForeignFolderError, match="overwrite the base"):
        convert_checkpoint(folder, folder)


def test_a_shipped_encoder_can_be_trained_further(headed, analyzer, tmp_path):
    from termwise.encode.onnx_session import OnnxSession

    network = network_on_base("tilde", headed)
    folder = write_encoder_folder(
        network, analyzer, tmp_path / "encoder", cleaning="repo", length=16, trained={},
        precisions=("int8",), weights="left out",
    )  # fmt: skip
    rebuilt = dequantised_network(folder.folder)
    assert isinstance(rebuilt, TildeNetwork)
    session = OnnxSession(EncoderFolder.open(folder.folder), precision="int8")
    assert agreement(rebuilt, session).relative < 0.02  # the rounding of activations is left
    for (name, before), after in zip(network.named_parameters(), rebuilt.parameters(), strict=True):
        step = before.abs().max().item() / 127
        assert torch.allclose(before, after, atol=0.51 * step + 1e-7), name
    loss = rebuilt(IDS, MASK).square().mean()
    loss.backward()
    assert rebuilt.encoder.get_input_embeddings().weight.grad is not None
