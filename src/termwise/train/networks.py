"""The networks: one BERT-like encoder and the three heads that make term weights of its outputs.

==================  ======================================================  ===========================================
network             what it computes for a text of l pieces                 source
==================  ======================================================  ===========================================
`TildeNetwork`      logits z over the vocabulary, read at position 0 only;  Zhuang & Zuccon, "TILDE: Term Independent
                    P(t | text) = sigmoid(z[t])                             Likelihood moDEl", SIGIR 2021
`TildeV2Network`    one weight a piece: relu(h_j . u + c)                   Zhuang & Zuccon, "Fast passage re-ranking
                                                                            with contextualized exact term matching
                                                                            and efficient passage expansion", 2021
`SpladeDocNetwork`  max over positions of ln(1 + relu(z_j)), over the       Formal et al., "SPLADE v2", 2021: the form
                    vocabulary                                              with documents encoded and queries not
==================  ======================================================  ===========================================

The head of `TildeNetwork` is applied to one position of the text. Applied to all of them, as a masked language model
does, it would take a fifth of the arithmetic and gigabytes of logits that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoModelForMaskedLM, PreTrainedModel

from termwise.encode.encoder_manifest import MAX_POSITIONS
from termwise.errors import ModelFormatError, ParameterError
from termwise.train.pretrained import load_encoder, load_pretrained
from termwise.train.teacher import Teacher


class TermNetwork(nn.Module):
    """What the three networks share: an encoder of transformers, with or without its language-model head.

    Attributes
    ----------
    pretrained : PreTrainedModel
        The encoder; for the networks over the vocabulary, with the head whose decoder is its input embedding.
    """

    kind: ClassVar[str]

    def __init__(self, pretrained: PreTrainedModel) -> None:
        super().__init__()
        self.pretrained = pretrained

    @property
    def config(self) -> Any:
        """The configuration of the encoder, as transformers has it."""
        return self.pretrained.config

    @property
    def encoder(self) -> PreTrainedModel:
        """The encoder without a head."""
        return cast(PreTrainedModel, self.pretrained.base_model)

    def hidden(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the last layer's outputs, of shape (b, l, h)."""
        outputs = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        return cast(Tensor, outputs.last_hidden_state)

    def checkpoint_activations(self) -> None:
        """Keep only the outputs of the layers in training, and compute what lies between a second time."""
        pretrained: Any = self.pretrained
        enable = getattr(pretrained, "activation_checkpointing_enable", None)
        if enable is None:  # its name before
            enable = pretrained.gradient_checkpointing_enable
        enable({"use_reentrant": False})
        pretrained.config.use_cache = False  # of no use to an encoder, and warned about

    def head_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that a bare encoder does not bring: those that start at random."""
        raise NotImplementedError


class TildeNetwork(TermNetwork):
    """Term likelihoods, read at position 0."""

    kind = "tilde"

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Compute logits over the vocabulary.

        Parameters
        ----------
        input_ids, attention_mask : int64 tensors of shape (b, l)
            Marker, pieces, separator, padding; 1 where there is a piece and 0 where there is padding.

        Returns
        -------
        float tensor of shape (b, V)
        """
        first = self.hidden(input_ids, attention_mask)[:, 0]
        return language_model_head(self.pretrained)(first)

    def head_parameters(self) -> list[nn.Parameter]:
        """Return the head's parameters without the decoder, which is the input embedding."""
        return _head_without_embedding(self.pretrained)


class TildeV2Network(TermNetwork):
    """One weight for each piece of the text.

    Parameters
    ----------
    pretrained : PreTrainedModel
        An encoder without a head.
    """

    kind = "tildev2"

    def __init__(self, pretrained: PreTrainedModel) -> None:
        super().__init__(pretrained)
        self.token_projection = nn.Linear(pretrained.config.hidden_size, 1)
        nn.init.normal_(self.token_projection.weight, std=0.02)
        nn.init.zeros_(self.token_projection.bias)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Compute the weights.

        Returns
        -------
        float tensor of shape (b, l)
            0 or more; what stands at padding means nothing.
        """
        hidden = self.hidden(input_ids, attention_mask)
        return torch.relu(self.token_projection(hidden).squeeze(-1))

    def head_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the projection."""
        return list(self.token_projection.parameters())


class SpladeDocNetwork(TermNetwork):
    """Weights over the vocabulary, pooled by maximum; a yardstick."""

    kind = "splade-doc"

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Compute the weights.

        Returns
        -------
        float tensor of shape (b, V)
            0 or more. The maximum is over the pieces of the text; padding takes no part in it.
        """
        hidden = self.hidden(input_ids, attention_mask)
        # What stands at padding becomes the first piece once more, which no maximum notices: logits are 80 times as
        # wide as what they are made of, and masking them would take a fifth of the time.
        repeated = torch.where(attention_mask.unsqueeze(-1) == 0, hidden[:, :1], hidden)
        logits = language_model_head(self.pretrained)(repeated)
        return torch.log1p(torch.relu(logits.amax(dim=1)))

    def head_parameters(self) -> list[nn.Parameter]:
        """Return the head's parameters without the decoder, which is the input embedding."""
        return _head_without_embedding(self.pretrained)


NETWORKS: dict[str, type[TermNetwork]] = {
    network.kind: network for network in (TildeNetwork, TildeV2Network, SpladeDocNetwork)
}


def network_on_base(kind: str, base: str | Path) -> TermNetwork:
    """Load a base encoder and put a head on it.

    Parameters
    ----------
    kind : str
        ``tilde``, ``tildev2`` or ``splade-doc``.
    base : str or Path
        A folder in the layout of transformers, or the name of a model on its hub.

    Returns
    -------
    TermNetwork
        In training mode, float32. Parameters the base does not bring start at random: set the seed first.

    Raises
    ------
    ModelFormatError
        If transformers cannot load an encoder from there, or the weights of the encoder itself are not all there.
    """
    if kind == TildeV2Network.kind:
        return TildeV2Network(load_encoder(base)).train()
    network = NETWORKS[kind](load_pretrained(AutoModelForMaskedLM, base)).train()
    language_model_head(network.pretrained)
    return network


def untrained(kind: str, config: Any) -> TermNetwork:
    """Make a network of a kind with random weights, for weights of its own to be loaded into.

    Parameters
    ----------
    kind : str
        ``tilde``, ``tildev2`` or ``splade-doc``.
    config : PretrainedConfig
        The configuration of the encoder, as transformers has it.
    """
    if kind == TildeV2Network.kind:
        return TildeV2Network(bare_encoder(config))
    return NETWORKS[kind](AutoModelForMaskedLM.from_config(config))


def bare_encoder(config: Any) -> Any:
    """Make an encoder of this configuration, with random weights and without the pooling layer nobody reads."""
    try:
        return AutoModel.from_config(config, add_pooling_layer=False)
    except TypeError:  # an architecture that never has one
        return AutoModel.from_config(config)


def check_network(network: TermNetwork | Teacher, *, terms: int, length: int) -> None:
    """Check that a network goes with a tokenizer and with the length of its inputs.

    Parameters
    ----------
    network : TermNetwork or Teacher
    terms : int
        Size of the tokenizer's vocabulary.
    length : int
        Pieces of the longest input, special ones included.

    Raises
    ------
    ModelFormatError
        If the network has another number of terms than the tokenizer.
    ParameterError
        If it has fewer positions than the longest input has pieces.
    """
    if network.config.vocab_size != terms:
        raise ModelFormatError(
            "the encoder and its tokenizer have vocabularies of different sizes",
            facts=[("encoder", f"{network.config.vocab_size:,} terms"), ("tokenizer", f"{terms:,} terms")],
            fixes=["name a base whose tokenizer.json or vocab.txt is the one it was trained with"],
        )
    readable = positions(network)
    if length > readable:
        raise ParameterError(
            "the longest input is longer than what the encoder reads",
            facts=[("longest input", f"{length:,} pieces"), ("encoder", f"{readable:,} positions")],
            fixes=[f"`document_length={readable}, query_length={readable}`, less the terms of an expansion"],
        )


def positions(network: nn.Module) -> int:
    """Return how many pieces a network can read at most, special ones included.

    MPNet and RoBERTa number positions from one above the padding piece, so some of their embeddings are never used.

    Parameters
    ----------
    network : TermNetwork or Teacher
    """
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - unused
    config: Any = network.config
    return int(getattr(config, "max_position_embeddings", MAX_POSITIONS))


def language_model_head(pretrained: PreTrainedModel) -> Callable[[Tensor], Tensor]:
    """Return the part of a masked language model that turns outputs of the encoder into logits.

    Raises
    ------
    ModelFormatError
        If the architecture keeps its head where this function does not look.
    """
    for name in ("cls", "lm_head"):
        head = getattr(pretrained, name, None)
        if isinstance(head, nn.Module):
            return head
    parts: Any = pretrained
    if hasattr(parts, "vocab_transform"):  # DistilBERT
        return lambda hidden: cast(
            Tensor,
            parts.vocab_projector(parts.vocab_layer_norm(parts.activation(parts.vocab_transform(hidden)))),
        )
    if hasattr(parts, "generator_predictions"):  # ELECTRA
        return lambda hidden: cast(Tensor, parts.generator_lm_head(parts.generator_predictions(hidden)))
    raise ModelFormatError(
        "the language-model head of this architecture is not known",
        facts=[("architecture", type(pretrained).__name__)],
        fixes=["use a BERT, DistilBERT or ELECTRA encoder"],
    )


def output_layer(pretrained: PreTrainedModel) -> nn.Linear:
    """Return the last layer of the head: one output a term, most often with the input embedding as its weight."""
    return cast(nn.Linear, cast(Any, pretrained).get_output_embeddings())


def decoder_bias(pretrained: PreTrainedModel) -> nn.Parameter:
    """Return the bias of the decoder, one value a term."""
    return output_layer(pretrained).bias


def set_dropout(network: TermNetwork, probability: float) -> None:
    """Set the probability of every dropout layer, those inside attention included."""
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability


def _head_without_embedding(pretrained: PreTrainedModel) -> list[nn.Parameter]:
    inside = {id(parameter) for parameter in pretrained.base_model.parameters()}
    return [parameter for parameter in pretrained.parameters() if id(parameter) not in inside]
