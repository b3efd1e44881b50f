"""The networks, compared with complete models of transformers."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from termwise.errors import ModelFormatError, ParameterError  # noqa: E402
from termwise.train.networks import (  # noqa: E402
    NETWORKS,
    SpladeDocNetwork,
    TildeNetwork,
    TildeV2Network,
    check_network,
    language_model_head,
    max_pooled_logits,
    network_on_base,
    output_layer,
    set_dropout,
)

from .conftest import SIZE, VOCABULARY, configuration  # noqa: E402

IDS = torch.tensor([[1, 20, 21, 22, 6], [1, 23, 6, 0, 0]])
MASK = (IDS != 0).long()


def test_tilde_reads_the_head_at_position_0_only(headed):
    network = network_on_base("tilde", headed).eval()
    assert isinstance(network, TildeNetwork)
    whole = transformers.BertForMaskedLM.from_pretrained(headed).eval()
    with torch.no_grad():
        logits = network(IDS, MASK)
        expected = whole(input_ids=IDS, attention_mask=MASK).logits[:, 0]
    assert logits.shape == (2, len(VOCABULARY))
    torch.testing.assert_close(logits, expected)


def test_tildev2_is_a_projection_without_negative_weights(base):
    torch.manual_seed(1)
    network = network_on_base("tildev2", base).eval()
    assert isinstance(network, TildeV2Network)
    assert network.token_projection.bias.tolist() == [0.0]
    with torch.no_grad():
        network.token_projection.weight.fill_(1.0)
        weights = network(IDS, MASK)
        hidden = network.encoder(input_ids=IDS, attention_mask=MASK).last_hidden_state
    assert weights.shape == IDS.shape
    torch.testing.assert_close(weights, hidden.sum(-1).clamp(min=0), atol=1e-5, rtol=1e-4)


def test_the_projection_starts_small():
    torch.manual_seed(2)
    network = TildeV2Network(transformers.BertModel(configuration(hidden_size=512), add_pooling_layer=False))
    assert network.token_projection.weight.std().item() == pytest.approx(0.02, rel=0.2)


def test_splade_doc_takes_the_maximum_over_pieces_and_not_over_padding(headed):
    network = network_on_base("splade-doc", headed).eval()
    assert isinstance(network, SpladeDocNetwork)
    with torch.no_grad():
        weights = network(IDS, MASK)
        logits = network.pretrained(input_ids=IDS, attention_mask=MASK).logits
    expected = torch.stack([logits[0].amax(0), logits[1, :3].amax(0)]).clamp(min=0).log1p()
    torch.testing.assert_close(weights, expected)


def test_splade_doc_with_two_logarithms(headed):
    network = network_on_base("splade-doc", headed).eval()
    assert network.activation == "relu"
    with torch.no_grad():
        once = network(IDS, MASK)
        network.activation = "log1p_relu"
        twice = network(IDS, MASK)
    torch.testing.assert_close(twice, once.log1p())
    assert once.max() > 0


def test_an_unknown_activation(headed):
    network = network_on_base("splade-doc", headed)
    network.activation = "gelu"
    with pytest.raises(ModelFormatError, match="activation") as error:
        network(IDS, MASK)
    assert dict(error.value.facts) == {"splade_activation": "gelu", "known": "relu, log1p_relu"}


@pytest.mark.parametrize("kind", sorted(NETWORKS))
def test_padding_does_not_change_outputs(kind, headed):
    network = network_on_base(kind, headed).eval()
    wider = torch.nn.functional.pad(IDS, (0, 4))
    with torch.no_grad():
        plain, padded = network(IDS, MASK), network(wider, (wider != 0).long())
    padded = padded[:, :5] if kind == "tildev2" else padded
    shown = MASK.bool() if kind == "tildev2" else torch.ones_like(plain, dtype=torch.bool)
    torch.testing.assert_close(padded[shown], plain[shown], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", sorted(NETWORKS))
def test_encoder_and_head_are_the_whole_network(kind, base):
    network = network_on_base(kind, base)
    head = {id(parameter) for parameter in network.head_parameters()}
    encoder = {id(parameter) for parameter in network.encoder.parameters()}
    assert head
    assert encoder
    assert not head & encoder
    assert head | encoder == {id(parameter) for parameter in network.parameters()}
    assert network.training
    assert all(parameter.dtype == torch.float32 for parameter in network.parameters())


def test_the_decoder_is_the_input_embedding_with_a_bias(base):
    network = network_on_base("tilde", base).eval()
    embedding = network.pretrained.get_input_embeddings().weight
    assert output_layer(network.pretrained).weight is embedding
    with torch.no_grad():
        before = network(IDS, MASK)
        output_layer(network.pretrained).bias[30] += 2.5
        after = network(IDS, MASK)
    assert (after - before)[:, 30].tolist() == pytest.approx([2.5, 2.5], abs=1e-5)
    assert torch.equal(before[:, :30], after[:, :30])


def test_a_random_head_depends_on_the_seed(base):
    heads = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        heads.append(
            torch.cat([p.detach().flatten() for p in network_on_base("tilde", base).head_parameters()])
        )
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])


@pytest.mark.parametrize("kind", ["tilde", "tildev2"])
def test_set_dropout(kind, headed):
    network = network_on_base(kind, headed)
    set_dropout(network, 0.0)
    with torch.no_grad():
        assert torch.equal(network(IDS, MASK), network(IDS, MASK))
        set_dropout(network, 0.5)
        assert not torch.equal(network(IDS, MASK), network(IDS, MASK))
        set_dropout(network, 0.0)
        trained = network(IDS, MASK)
        torch.testing.assert_close(trained, network.eval()(IDS, MASK))


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("DistilBertForMaskedLM", {"dim": SIZE, "n_layers": 1, "n_heads": 2, "hidden_dim": 32}),
        (
            "ElectraForMaskedLM",
            {"hidden_size": SIZE, "embedding_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
            | {"intermediate_size": 32},
        ),
        *(
            (
                f"{architecture}ForMaskedLM",
                {
                    "hidden_size": SIZE,
                    "num_hidden_layers": 1,
                    "num_attention_heads": 2,
                    "intermediate_size": 8,
                },
            )
            for architecture in ("Roberta", "MPNet")
        ),
    ],
)
def test_heads_of_other_architectures(model, options):
    kind = getattr(transformers, model)
    pretrained = kind(kind.config_class(vocab_size=40, **options)).eval()
    network = TildeNetwork(pretrained).eval()
    with torch.no_grad():
        expected = pretrained(input_ids=IDS, attention_mask=MASK).logits[:, 0]
        torch.testing.assert_close(network(IDS, MASK), expected)
    assert output_layer(pretrained).bias.shape == (40,)


def test_an_architecture_with_an_unknown_head(base):
    with pytest.raises(ModelFormatError, match="head of this architecture"):
        language_model_head(transformers.BertModel.from_pretrained(base))


def test_a_network_for_another_tokenizer(base):
    network = network_on_base("tildev2", base)
    check_network(network, terms=len(VOCABULARY), length=64)
    with pytest.raises(ModelFormatError) as error:
        check_network(network, terms=30_522, length=64)
    assert dict(error.value.facts) == {
        "encoder": f"{len(VOCABULARY)} terms",
        "tokenizer": "30,522 terms",
    }


def test_inputs_that_exceed_the_encoder(base):
    with pytest.raises(ParameterError) as error:
        check_network(network_on_base("tildev2", base), terms=len(VOCABULARY), length=65)
    assert dict(error.value.facts) == {"longest input": "65 pieces", "encoder": "64 positions"}


def test_positions_of_padding_are_not_counted():
    """MPNet numbers positions from one above the padding piece."""
    config = transformers.MPNetConfig(
        vocab_size=40,
        hidden_size=SIZE,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=34,
    )
    network = TildeV2Network(transformers.MPNetModel(config, add_pooling_layer=False)).eval()
    check_network(network, terms=40, length=32)
    with pytest.raises(ParameterError) as error:
        check_network(network, terms=40, length=33)
    assert dict(error.value.facts)["encoder"] == "32 positions"
    ids = torch.full((1, 32), 20)
    assert network(ids, torch.ones_like(ids)).shape == (1, 32)
    with pytest.raises(IndexError):
        network(torch.full((1, 33), 20), torch.ones((1, 33), dtype=torch.int64))


@pytest.mark.parametrize("autocast", [False, True])
def test_max_pooled_logits_agree_with_the_maximum_of_all_logits(autocast: bool) -> None:
    torch.manual_seed(0)
    results = []
    inputs, last = torch.randn(3, 7, 16), torch.nn.Linear(16, 50)
    for pooled in (max_pooled_logits, lambda hidden, layer: layer(hidden).amax(dim=1)):
        hidden = inputs.clone().requires_grad_()
        last.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = pooled(hidden, last)
        torch.relu(logits.float()).square().sum().backward()
        results.append([logits, hidden.grad, last.weight.grad.clone(), last.bias.grad.clone()])
    tolerance = 0.05 if autocast else 1e-5
    for ours, expected in zip(*results, strict=True):
        assert ours.dtype == expected.dtype
        torch.testing.assert_close(ours, expected, rtol=tolerance, atol=tolerance)
