"""ONNX graphs of the networks on three architectures, compared with torch."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
onnx = pytest.importorskip("onnx")

import onnxruntime  # noqa: E402
from tests.shared_exports import SharedExports  # noqa: E402

from termwise.errors import CheckFailedError, ModelFormatError  # noqa: E402
from termwise.train.export import onnx_export as export  # noqa: E402
from termwise.train.export.onnx_export import (  # noqa: E402
    TOLERANCE,
    agreement,
    check_agreement,
    load_weights,
    network_of,
    positions,
    to_onnx,
    vocabulary_size,
)
from termwise.train.export.quantise import dequantised_weights  # noqa: E402
from termwise.train.networks import SpladeDocNetwork, TildeNetwork, untrained  # noqa: E402

from .conftest import SIZE, configuration  # noqa: E402

TERMS, LENGTH = 60, 32
TORCH_EXPORT = torch.onnx.export


def distilbert() -> object:
    return transformers.DistilBertConfig(
        vocab_size=TERMS, dim=SIZE, n_layers=1, n_heads=2, hidden_dim=24, max_position_embeddings=LENGTH
    )


def mpnet() -> object:
    return transformers.MPNetConfig(
        vocab_size=TERMS,
        hidden_size=SIZE,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=LENGTH + 2,
    )


@dataclass(frozen=True)
class Case:
    network: object
    model: object

    def run(self, input_ids, attention_mask):
        (values,) = session(self.model).run(
            None, {"input_ids": np.asarray(input_ids), "attention_mask": np.asarray(attention_mask)}
        )
        return values * attention_mask if values.shape == attention_mask.shape else values


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def networks(name):
    torch.manual_seed(3)
    if name == "bert tilde":
        config = configuration(vocab_size=TERMS, max_position_embeddings=LENGTH, num_hidden_layers=1)
        return TildeNetwork(transformers.AutoModelForMaskedLM.from_config(config))
    if name.endswith("splade-doc"):
        network = SpladeDocNetwork(transformers.AutoModelForMaskedLM.from_config(distilbert()))
        network.activation = "log1p_relu" if name.startswith("twice") else "relu"
        return network
    if name == "mpnet lookup":
        return untrained("lookup", mpnet(), pooling="cls")
    if name == "bert lookup":
        return untrained("lookup", configuration(vocab_size=TERMS, max_position_embeddings=LENGTH))
    return untrained("tildev2", mpnet())


NAMES = {"tilde": "logits", "lookup": "vectors"}


@pytest.fixture(
    scope="module",
    params=[
        "bert tilde",
        "distilbert splade-doc",
        "twice splade-doc",
        "mpnet tildev2",
        "mpnet lookup",
        "bert lookup",
    ],
)
def case(request):
    network = networks(request.param).train()
    return Case(network, to_onnx(network))


def test_exports_that_tests_share_are_those_of_torch(monkeypatch):
    shared = SharedExports(TORCH_EXPORT)
    monkeypatch.setattr(torch.onnx, "export", shared)
    network = networks("twice splade-doc")
    to_onnx(network)
    with torch.no_grad():
        for number, parameter in enumerate(network.parameters()):
            parameter += 0.01 * (number + 1)
    graph = to_onnx(network)
    monkeypatch.setattr(torch.onnx, "export", TORCH_EXPORT)
    assert graph == to_onnx(network)


def test_graph_and_torch_agree(case):
    seen = check_agreement(case.network, case)
    assert seen.largest < TOLERANCE
    assert 0 < seen.relative < 1e-5


def test_padding_is_irrelevant(case):
    random = np.random.default_rng(4)
    ids = random.integers(5, TERMS, size=(1, 9))
    alone = case.run(ids, np.ones_like(ids))
    padded = random.integers(0, TERMS, size=(3, 20))  # what stands at padding may be anything
    padded[1, :9] = ids[0]
    mask = np.ones_like(padded)
    mask[1, 9:] = 0
    together = case.run(padded, mask)
    np.testing.assert_allclose(together[1][: alone.shape[1]], alone[0], atol=1e-6)


def test_the_graph_has_the_interface_of_an_encoder(case):
    graph = case.model.graph
    assert [value.name for value in graph.input] == ["input_ids", "attention_mask"]
    assert [value.name for value in graph.output] == [NAMES.get(case.network.kind, "weights")]
    assert all(value.type.tensor_type.elem_type == onnx.TensorProto.INT64 for value in graph.input)
    axes = [
        [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in graph.input
    ]
    assert axes == [["batch", "length"]] * 2
    assert [(one.domain, one.version) for one in case.model.opset_import] == [("", export.OPSET)]
    onnx.checker.check_model(case.model, full_check=True)


def test_every_parameter_is_stored_once_under_its_name(case):
    arrays = dequantised_weights(case.model)
    found = 0
    for name, parameter in case.network.named_parameters(remove_duplicate=False):
        if name in arrays:
            np.testing.assert_array_equal(arrays[name], parameter.detach().numpy())
            found += 1
    assert found == len(list(case.network.parameters()))
    tables = [name for name, array in arrays.items() if array.shape in {(TERMS, SIZE), (SIZE, TERMS)}]
    assert len(tables) == 1
    weights = sum(parameter.numel() for parameter in case.network.parameters())
    assert len(case.model.SerializeToString()) < 4 * weights + 60_000


def test_the_graph_has_no_local_paths(case):
    data = case.model.SerializeToString()
    assert b"site-packages" not in data
    assert export.__file__.encode() not in data
    assert not any(node.metadata_props or node.doc_string for node in case.model.graph.node)


def test_export_does_not_change_the_network(case):
    assert case.network.training
    assert case.network.config._attn_implementation != "eager" or case.network.config.model_type == "mpnet"


def test_the_network_can_be_built_from_the_graph(case):
    rebuilt = network_of(case.model, dequantised_weights(case.model))
    assert type(rebuilt) is type(case.network)
    assert rebuilt.training
    before = dict(case.network.named_parameters(remove_duplicate=False))
    after = dict(rebuilt.named_parameters(remove_duplicate=False))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert agreement(rebuilt, case).largest < TOLERANCE


def test_a_graph_with_other_outputs_is_refused(case):
    other = copy.deepcopy(case.network)
    with torch.no_grad():
        other.encoder.get_input_embeddings().weight.mul_(1.5)
        for parameter in other.head_parameters():
            parameter.add_(0.3)
    with pytest.raises(CheckFailedError, match="outputs of the exported graph differ"):
        check_agreement(other, case)


def test_outputs_that_are_not_finite_do_not_agree():
    network = networks("bert tilde")
    broken = SimpleNamespace(run=lambda ids, mask: np.full((len(ids), TERMS), np.nan, dtype=np.float32))
    with pytest.raises(CheckFailedError):
        check_agreement(network, broken)


def test_a_weight_that_is_not_finite_is_named():
    network = networks("bert tilde")
    with torch.no_grad():
        network.encoder.encoder.layer[0].output.dense.bias[2] = float("nan")
    with pytest.raises(ModelFormatError, match="not a finite number") as caught:
        to_onnx(network)
    facts = dict(caught.value.facts)
    assert facts["tensor"] == "pretrained.bert.encoder.layer.0.output.dense.bias"
    assert facts["not finite"] == f"1 of {SIZE}"


def test_an_untied_decoder_is_refused():
    network = networks("bert tilde")
    decoder = network.pretrained.get_output_embeddings()
    decoder.weight = torch.nn.Parameter(decoder.weight.detach().clone())
    with pytest.raises(ModelFormatError, match="not its embedding"):
        to_onnx(network)


def test_a_failed_export_is_a_typed_error():
    class Branching(TildeNetwork):
        def forward(self, input_ids, attention_mask):
            if input_ids.sum().item() > 3:
                return super().forward(input_ids, attention_mask)
            raise NotImplementedError

    config = configuration(vocab_size=TERMS, num_hidden_layers=1)
    with pytest.raises(ModelFormatError, match="cannot export") as caught:
        to_onnx(Branching(transformers.AutoModelForMaskedLM.from_config(config)))
    assert caught.value.__cause__ is not None
    facts = dict(caught.value.facts)
    assert facts["architecture"] == "BertForMaskedLM"
    assert "GuardOnDataDependent" in facts["cause"]


def test_the_first_cause_of_a_failed_export_is_reported(monkeypatch):
    def fail(*_, **__):
        try:
            raise ImportError("onnxscript is too old")
        except ImportError as error:
            raise RuntimeError("step 2 of 3 failed\nsee a report") from error

    monkeypatch.setattr(torch.onnx, "export", fail)
    with pytest.raises(ModelFormatError) as caught:
        to_onnx(networks("bert tilde"))
    facts = dict(caught.value.facts)
    assert facts["reason"] == "step 2 of 3 failed"
    assert facts["cause"] == "ImportError: onnxscript is too old"


def test_positions_and_terms():
    assert positions(networks("bert tilde")) == LENGTH
    assert positions(networks("distilbert splade-doc")) == LENGTH
    assert positions(networks("mpnet tildev2")) == LENGTH  # of LENGTH + 2 embeddings two are never used
    assert vocabulary_size(networks("mpnet tildev2")) == TERMS


def test_a_graph_without_metadata_is_refused():
    with pytest.raises(ModelFormatError, match="has no metadata of the network"):
        network_of(onnx.ModelProto(), {})


def weights_of(network):
    return {name: parameter.detach().numpy().copy() for name, parameter in network.named_parameters()}


def test_missing_weights_are_named():
    network = networks("mpnet tildev2")
    weights = weights_of(network)
    del weights["token_projection.bias"]
    with pytest.raises(ModelFormatError, match="missing") as caught:
        load_weights(network, weights)
    assert dict(caught.value.facts)["missing"] == "1: token_projection.bias"


def test_weights_of_another_shape_are_refused():
    network = networks("mpnet tildev2")
    with pytest.raises(ModelFormatError, match="shape of a weight differs") as caught:
        load_weights(network, weights_of(network) | {"token_projection.weight": np.zeros((1, 3), np.float32)})
    assert dict(caught.value.facts)["expected"] == (1, SIZE)


def test_different_values_of_a_tied_embedding_are_refused():
    network = networks("bert tilde")
    weights = weights_of(network)
    (table,) = (array for name, array in weights.items() if array.shape == (TERMS, SIZE))
    alike = {"pretrained.cls.predictions.decoder.weight": table.copy()}
    load_weights(network, weights | alike)
    alike["pretrained.cls.predictions.decoder.weight"][0, 0] += 1
    with pytest.raises(ModelFormatError, match="tied in the network differ"):
        load_weights(network, weights | alike)
