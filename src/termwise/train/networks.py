"""Networks of encoders: a BERT-like encoder with one of three heads that compute term weights, or with pooling.

==================  ======================================================  ===========================================
network             output for a text of l pieces                           source
==================  ======================================================  ===========================================
`TildeNetwork`      logits z over the vocabulary, read at position 0 only;  Zhuang & Zuccon, "TILDE: Term Independent
                    P(t | text) = sigmoid(z[t])                             Likelihood moDEl", SIGIR 2021
`TildeV2Network`    one weight a piece: relu(h_j . u + c)                   Zhuang & Zuccon, "Fast passage re-ranking
                                                                            with contextualized exact term matching
                                                                            and efficient passage expansion", 2021
`SpladeDocNetwork`  max over positions of ln(1 + relu(z_j)), over the       Formal et al., "SPLADE v2", 2021: the form
                    vocabulary; with the activation ``log1p_relu``,         in which only documents are encoded; Shen et
                    ln(1 + ln(1 + relu(z_j))); with the pooling ``sum``,    al., arXiv 2504.14839, 2025: two logarithms;
                    the sum over positions                                  Formal et al., "SPLADE", 2021: the sum
`LookupNetwork`     the mean of h_j over the pieces, or h_0, divided by     Reimers & Gurevych, "Sentence-BERT", 2019
                    its length
==================  ======================================================  ===========================================

The head of `TildeNetwork` is applied to one position only. If it were applied to all positions, as in a masked language
model, it would take a fifth of the arithmetic, and gigabytes of memory for unused logits. In training, the head of
`SpladeDocNetwork` keeps the largest logit of each term only, see `max_pooled_logits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModel, AutoModelForMaskedLM, PreTrainedModel

from termwise.encode.encoder_manifest import MAX_POSITIONS
from termwise.errors import ModelFormatError, ParameterError
from termwise.fixes import Fix
from termwise.train.pretrained import load_encoder, load_pretrained
from termwise.train.settings import ACTIVATIONS, Activation

_ACTIVATION = "splade_activation"
"""Entry of the configuration of an encoder; without it, the activation is ``relu``."""

_POSITIONS_POOLING = "splade_pooling"
"""Entry of the configuration of an encoder; without it, the pooling over positions is ``max``."""

SpladePooling = Literal["max", "sum"]
"""How weights at the positions of a text become one weight of a term."""

SPLADE_POOLINGS: tuple[SpladePooling, ...] = get_args(SpladePooling)

Pooling = Literal["mean", "cls"]
"""How the outputs of an encoder become one vector: their mean, or the output at position 0."""

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


class TermNetwork(nn.Module):
    """Base of the networks: an encoder of transformers, with or without a language-model head.

    For networks over the vocabulary, `pretrained` has the head, whose decoder is the input embedding.
    """

    kind: ClassVar[str]

    def __init__(self, pretrained: PreTrainedModel) -> None:
        super().__init__()
        self.pretrained = pretrained

    @property
    def config(self) -> Any:
        """The transformers configuration of the encoder."""
        return self.pretrained.config

    @property
    def encoder(self) -> PreTrainedModel:
        """The encoder without a head."""
        return cast(PreTrainedModel, self.pretrained.base_model)

    def hidden(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the outputs of the last layer, of shape (b, l, h)."""
        outputs = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        return cast(Tensor, outputs.last_hidden_state)

    def checkpoint_activations(self) -> None:
        """Store only the outputs of layers in training, and compute other activations again in the backward pass."""
        pretrained: Any = self.pretrained
        enable = getattr(pretrained, "activation_checkpointing_enable", None)
        if enable is None:  # older versions of transformers
            enable = pretrained.gradient_checkpointing_enable
        enable({"use_reentrant": False})
        pretrained.config.use_cache = False  # the cache has no effect on an encoder, and causes a warning

    def head_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that are not part of the encoder; the decoder is its input embedding."""
        inside = {id(parameter) for parameter in self.encoder.parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in inside]


class TildeNetwork(TermNetwork):
    """Network of term likelihoods, read at position 0."""

    kind = "tilde"

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Compute logits over the vocabulary, of shape (b, V), from int64 tensors of shape (b, l).

        An input is marker, pieces, separator, padding; its mask is 1 for pieces and 0 for padding.
        """
        first = self.hidden(input_ids, attention_mask)[:, 0]
        return language_model_head(self.pretrained)(first)


class TildeV2Network(TermNetwork):
    """Network of one weight for each piece of a text, over an encoder without a head."""

    kind = "tildev2"

    def __init__(self, pretrained: PreTrainedModel) -> None:
        super().__init__(pretrained)
        self.token_projection = nn.Linear(pretrained.config.hidden_size, 1)
        nn.init.normal_(self.token_projection.weight, std=0.02)
        nn.init.zeros_(self.token_projection.bias)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the weights: float tensor of shape (b, l), 0 or more; values at padding are undefined."""
        hidden = self.hidden(input_ids, attention_mask)
        return torch.relu(self.token_projection(hidden).squeeze(-1))


class SpladeDocNetwork(TermNetwork):
    """Network of weights over the vocabulary, pooled over the positions; for comparison.

    The configuration of the encoder stores activation and pooling, so that every saved form of the network has them.
    """

    kind = "splade-doc"

    @property
    def activation(self) -> str:
        """``relu`` for ln(1 + relu(z)), or ``log1p_relu`` for ln(1 + ln(1 + relu(z)))."""
        return self._choice(_ACTIVATION, "activation", ACTIVATIONS)

    @activation.setter
    def activation(self, activation: Activation) -> None:
        setattr(self.config, _ACTIVATION, activation)

    @property
    def states_activation(self) -> bool:
        """Whether the configuration has an activation; otherwise it is the default, ``relu``."""
        return hasattr(self.config, _ACTIVATION)

    @property
    def pooling(self) -> str:
        """``max`` or ``sum`` over the positions."""
        return self._choice(_POSITIONS_POOLING, "pooling", SPLADE_POOLINGS)

    @pooling.setter
    def pooling(self, pooling: SpladePooling) -> None:
        setattr(self.config, _POSITIONS_POOLING, pooling)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the weights: float tensor of shape (b, V), 0 or more, without the outputs at padding."""
        hidden = self.hidden(input_ids, attention_mask)
        transform, last = head_transform(self.pretrained), output_layer(self.pretrained)
        if self.pooling == "sum":
            weights = self._activated(last(transform(hidden)))
            return (weights * attention_mask.unsqueeze(-1).to(weights.dtype)).sum(dim=1)
        # Padding repeats the first piece, which does not change the maximum. Logits are 80 times as wide as hidden
        # vectors, and masking the logits would take a fifth of the time.
        repeated = torch.where(attention_mask.unsqueeze(-1) == 0, hidden[:, :1], hidden)
        return self._activated(max_pooled_logits(transform(repeated), last))

    def _activated(self, logits: Tensor) -> Tensor:
        weights = torch.log1p(torch.relu(logits))
        return torch.log1p(weights) if self.activation == "log1p_relu" else weights

    def _choice(self, entry: str, noun: str, known: Sequence[str]) -> str:
        """Return an entry of the configuration: one of the known values, by default the first."""
        value = getattr(self.config, entry, known[0])
        if value not in known:
            raise ModelFormatError(
                f"the {noun} of this splade-doc network is not known",
                facts=[(entry, value), ("known", ", ".join(known))],
                fixes=["use the config.json that was saved with the weights"],
            )
        return str(value)


NETWORKS: dict[str, type[TermNetwork]] = {
    network.kind: network for network in (TildeNetwork, TildeV2Network, SpladeDocNetwork)
}
"""Networks of term weights."""


class LookupNetwork(TermNetwork):
    """Network of one vector for a text: a dense document encoder without a head."""

    kind = "lookup"

    def __init__(self, pretrained: PreTrainedModel, pooling: Pooling = "mean") -> None:
        super().__init__(pretrained)
        self.pooling = pooling

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return vectors of length 1: float32 tensor of shape (b, h)."""
        hidden = self.hidden(input_ids, attention_mask).float()
        return unit_vectors(hidden, attention_mask, pooling=self.pooling)


def unit_vectors(hidden: Tensor, attention_mask: Tensor, *, pooling: Pooling = "mean") -> Tensor:
    """Pool outputs of shape (b, l, h) into vectors of length 1: tensor of shape (b, h)."""
    if pooling == "cls":
        return functional.normalize(hidden[:, 0], dim=-1)
    mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
    return functional.normalize((hidden * mask).sum(dim=1) / mask.sum(dim=1), dim=-1)


def network_on_base(kind: str, base: str | Path) -> TermNetwork:
    """Load a base encoder, and add a head of a kind; see `termwise.train.loop.initial_weights.initial_network`.

    The base is a folder in the layout of transformers, or the name of a model on its hub.
    """
    if kind == TildeV2Network.kind:
        return TildeV2Network(load_encoder(base)).train()
    network = NETWORKS[kind](load_pretrained(AutoModelForMaskedLM, base)).train()
    language_model_head(network.pretrained)
    return network


def untrained(kind: str, config: Any, *, pooling: Pooling = "mean") -> TermNetwork:
    """Make a network of a kind with random weights from the transformers configuration of its encoder."""
    if kind not in (TildeV2Network.kind, LookupNetwork.kind):
        return NETWORKS[kind](AutoModelForMaskedLM.from_config(config))
    try:
        encoder = AutoModel.from_config(config, add_pooling_layer=False)
    except TypeError:  # the architecture has no pooling layer
        encoder = AutoModel.from_config(config)
    return TildeV2Network(encoder) if kind == TildeV2Network.kind else LookupNetwork(encoder, pooling)


def check_network(network: TermNetwork, *, terms: int, length: int) -> None:
    """Check that a network fits the size of its tokenizer's vocabulary and the length of its longest input."""
    if network.config.vocab_size != terms:
        raise ModelFormatError(
            "the encoder and its tokenizer have vocabularies of different sizes",
            facts=[("encoder", f"{network.config.vocab_size:,} terms"), ("tokenizer", f"{terms:,} terms")],
            fixes=["name a base with the tokenizer.json or vocab.txt of its training"],
        )
    readable = positions(network)
    if length > readable:
        raise ParameterError(
            "the longest input exceeds the encoder",
            facts=[("longest input", f"{length:,} pieces"), ("encoder", f"{readable:,} positions")],
            fixes=[
                Fix.use("{}, less the terms of an expansion", document_length=readable, query_length=readable)
            ],
        )


def check_finite(network: nn.Module) -> None:
    """Raise `ModelFormatError` for the first tensor with a weight that is not a finite number."""
    for name, parameter in network.named_parameters():
        not_finite = int((~torch.isfinite(parameter)).sum())
        if not_finite:
            raise ModelFormatError(
                "a weight of the network is not a finite number",
                facts=[("tensor", name), ("not finite", f"{not_finite} of {parameter.numel()}")],
                fixes=[
                    "use an earlier checkpoint",
                    "train again with a smaller learning rate, or in float32",
                ],
            )


def positions(network: nn.Module) -> int:
    """Return the largest number of pieces of an input, special ones included.

    MPNet and RoBERTa number positions from one above the padding piece, so some of their embeddings are never used.
    """
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - unused
    config: Any = network.config
    return int(getattr(config, "max_position_embeddings", MAX_POSITIONS))


def language_model_head(pretrained: PreTrainedModel) -> Callable[[Tensor], Tensor]:
    """Return the head of a masked language model, which turns outputs of the encoder into logits."""
    transform, last = head_transform(pretrained), output_layer(pretrained)
    return lambda hidden: cast(Tensor, last(transform(hidden)))


def head_transform(pretrained: PreTrainedModel) -> Callable[[Tensor], Tensor]:
    """Return the layers of the head of a masked language model that come before its `output_layer`."""
    parts: Any = pretrained
    if hasattr(parts, "cls") and hasattr(parts.cls, "predictions"):  # BERT
        return cast(Callable[[Tensor], Tensor], parts.cls.predictions.transform)
    if hasattr(parts, "lm_head") and hasattr(parts.lm_head, "layer_norm"):  # RoBERTa, MPNet
        head = parts.lm_head
        return lambda hidden: cast(Tensor, head.layer_norm(functional.gelu(head.dense(hidden))))
    if hasattr(parts, "vocab_transform"):  # DistilBERT
        return lambda hidden: cast(
            Tensor, parts.vocab_layer_norm(parts.activation(parts.vocab_transform(hidden)))
        )
    if hasattr(parts, "generator_predictions"):  # ELECTRA
        return cast(Callable[[Tensor], Tensor], parts.generator_predictions)
    raise ModelFormatError(
        "the language-model head of this architecture is not known",
        facts=[("architecture", type(pretrained).__name__)],
        fixes=["use a BERT, RoBERTa, MPNet, DistilBERT or ELECTRA encoder"],
    )


def output_layer(pretrained: PreTrainedModel) -> nn.Linear:
    """Return the last layer of the head: one output per term; its weight is usually the input embedding."""
    return cast(nn.Linear, cast(Any, pretrained).get_output_embeddings())


def max_pooled_logits(hidden: Tensor, last: nn.Linear) -> Tensor:
    """Compute the largest logit of each term over the positions of a text.

    Logits of all positions are 80 times as large as their inputs. A gradient flows only to the position of the largest
    logit, and only for terms with a weight above 0. In training, logits are therefore computed for one text at a time
    and not stored, and the backward pass computes the products of these positions and terms only. It takes half of the
    time of the whole head on a CPU, and a fraction of the memory.

    The inputs of the `output_layer`, of shape (b, l, h), give logits of shape (b, V).
    """
    if torch.is_grad_enabled():
        return cast(Tensor, _MaxPooledLogits.apply(hidden, last.weight, last.bias))  # type: ignore[no-untyped-call]
    return cast(Tensor, last(hidden)).amax(dim=1)


class _MaxPooledLogits(torch.autograd.Function):
    """The largest of linear outputs over the positions, with gradients for the positions of the largest outputs."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        device = hidden.device.type
        if torch.is_autocast_enabled(device):  # once, not for each text
            number = torch.get_autocast_dtype(device)
            hidden, weight, bias = hidden.to(number), weight.to(number), bias.to(number)
        pooled = [functional.linear(text, weight, bias).max(dim=0) for text in hidden]
        ctx.save_for_backward(hidden, weight, torch.stack([positions for _, positions in pooled]))
        return torch.stack([largest for largest, _ in pooled])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden, weight, positions = ctx.saved_tensors
        of_hidden = torch.zeros_like(hidden, dtype=torch.float32)
        of_weight = torch.zeros_like(weight, dtype=torch.float32)
        for text, row in enumerate(gradient):
            terms = torch.nonzero(row).squeeze(1)
            places, factors = positions[text, terms], row[terms].float().unsqueeze(1)
            of_hidden[text].index_add_(0, places, factors * weight[terms].float())
            of_weight.index_add_(0, terms, factors * hidden[text, places].float())
        return of_hidden, of_weight, gradient.float().sum(dim=0)


def set_dropout(network: TermNetwork, probability: float) -> None:
    """Set the probability of all dropout layers, including those of attention."""
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability


def report_slow_bfloat16(precision: str, say: Callable[[str], None]) -> None:
    """Say that bfloat16 is slow, if it is chosen and neither a GPU nor AVX-512 is present."""
    slow = ("DEFAULT", "NO AVX", "AVX2")
    emulated = not torch.cuda.is_available() and torch.backends.cpu.get_cpu_capability() in slow
    if precision == "bfloat16" and emulated:
        say("this processor emulates bfloat16, which can be ten times slower than precision=float32")


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Set the number of threads of torch inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
