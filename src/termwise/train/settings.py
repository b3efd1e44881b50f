"""Settings of encoder training, with the defaults of the papers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

from termwise.errors import ParameterError, UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.models.idf_power import LARGEST_POWER
from termwise.settings import MOST_EPOCHS, TypedSettings
from termwise.text.cleaned_analyzer import CleanMode

Objective = Literal["biqdl", "query-likelihood", "document-likelihood", "contrastive"]
Schedule = Literal["constant", "linear"]
TrainingPrecision = Literal["float32", "bfloat16", "float16"]
Take = Literal["best", "last"]
Mixing = Literal["together", "by-source"]
Activation = Literal["relu", "log1p_relu"]
Miner = Literal["bm25", "teacher"]
Candidates = Literal["batch", "own"]
TeacherLoss = Literal["kl", "margin-mse"]

ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)

MOST_WORKERS = 1024
"""Largest number of processes that make batches."""

NEGATIVES_PER_PAIR = 64
"""Largest number of negatives stored for a pair; a training step draws from them."""

NO_TEACHER = "none"
"""Value of `TrainSettings.teacher` without a teacher."""

COUNTS, IDF = "counts", "idf"
"""Values of `TrainSettings.query_weights` that are no file."""


class LoopSettings(TypedSettings):
    """Settings of the training loop.

    Attributes
    ----------
    learning_rate, head_learning_rate : float
        Learning rates of the encoder and of a new head; a head rate of 0 means the rate of the encoder.
    weight_decay, warm_up, clip : float
        Weight decay of AdamW; share of the steps in which the rate rises from 0; largest norm of a gradient, 0 for no
        limit.
    schedule : {"constant", "linear"}
        Constant learning rate, or linear decay to 0.
    precision : {"float32", "bfloat16", "float16"}
        Precision of the computation in the encoder; weights, sums and losses are float32.
    accumulate : int
        Batches whose gradients are averaged for one step.
    seed : int
        Random seed.
    save_every, validate_every : int
        Steps between checkpoints, and between validations; each validation saves a checkpoint as well.
    take : {"best", "last"}
        Selected weights: the best ones on the held-out queries, or the last ones. The last ones are better if the
        learning rate falls to 0 and the held-out pool is so easy that all checkpoints have nearly the same value.
    workers : int
        Processes that make batches while the network computes; 0 for none. The result does not depend on it.
    """

    learning_rate: float
    head_learning_rate: float
    weight_decay: float
    warm_up: float
    clip: float
    schedule: Schedule
    precision: TrainingPrecision
    accumulate: int
    seed: int
    save_every: int
    validate_every: int
    take: Take
    workers: int

    ranges = MappingProxyType(
        {
            **dict.fromkeys(("accumulate", "save_every", "validate_every"), (1, math.inf)),
            "warm_up": (0, 1),
            "seed": (0, 2**32 - 1),
            "workers": (0, MOST_WORKERS),
        }
    )


@dataclass(frozen=True, kw_only=True)
class TrainSettings(LoopSettings):
    """Settings of a training run, including those of `LoopSettings`.

    The defaults depend on the kind of network and follow its paper and published code, see `for_kind`.

    Attributes
    ----------
    objective : {"biqdl", "query-likelihood", "document-likelihood", "contrastive"}
        The loss; ``contrastive`` for TILDEv2 and the max-pooled encoder, the others for TILDE.
    cleaning : {"paper", "repo", "none"}
        Terms of the vocabulary that are used, see `clean_vocabulary`.
    document_length, query_length : int
        Largest number of pieces of a passage and of a query, special ones included; longer texts are truncated.
    epochs : int
        Passes over the pairs, a million at most.
    max_steps : int
        Largest number of steps, regardless of `epochs`; 0 for no limit. The learning-rate schedule ends there too.
    batch : int
        Pairs of a batch on one device.
    negatives : int
        For ``contrastive``: hard negatives of each pair, drawn from the first passages of a ranking of its query.
    negatives_from : {"bm25", "teacher"}
        What ranks the passages for hard negatives: BM25 over all passages of the source, or the teacher over those of
        its passages that belong to a pair of the run.
    negative_depth : int
        Ranks from which negatives are drawn.
    candidates : {"batch", "own"}
        For ``contrastive``: passages among which the losses rank for a query: all of the batch, or only the passage of
        its pair and its hard negatives.
    dropout : float
        Dropout of the encoder; the default of BERT is 0.1.
    checkpointing : bool
        Gradient checkpointing: activations are recomputed instead of stored.
    mixing : {"together", "by-source"}
        Batches of all sources, or of one source each; see `plan_batches`.
    flattening : float
        Preference for small sources, from 0 to 1; see `plan_batches`.
    block : int
        Number of similar passages that are put into a batch together; 1 for none. See `plan_batches`.
    contrast : float
        For TILDE: factor of an additional loss, the cross-entropy of the relevant passage among those of the batch by
        query likelihood. It needs no further forward pass. 0 for the loss of the paper.
    prior_bias : bool
        For TILDE: initialise the decoder's bias with the log-odds of each term in the targets of the objective. Stop
        terms then never are among the most likely terms, see `termwise.train.loop.warm_start.set_prior_bias`.
    initial_weight : float
        For TILDEv2: initial bias of a new projection. At 0 half of all pieces start with a weight of 0, and a ReLU has
        no gradient there; at 1 the initial scores count matches. For SPLADE-doc: added to the bias of every term. The
        head of a TILDE encoder gives most terms a logit below 0, and so no gradient.
    idf_power : float
        For ``contrastive``: weights are multiplied by this power of the idf of their term among the passages of the
        source, as in an index with the idf of its collection; see `termwise.train.data.passage_idf`. 0 for none.
    query_weights : str
        For ``contrastive``: ``counts`` if the weight of a query term is its count; ``idf`` for its idf among the
        training passages of all sources, or the path of a ``query_weights.npy``, regardless of the count. The encoder
        folder stores fixed weights.
    activation : {"relu", "log1p_relu"}
        For SPLADE-doc: ln(1 + relu(z)), or ln(1 + ln(1 + relu(z))). The activation of a base of this kind stays.
    head_steps, head_pairs : int
        For TILDE: steps that fit the head alone, to the objective, before training, and the pairs of this fit; see
        `termwise.train.loop.warm_start`.
    teacher : str
        For a loss that ranks: folder or name of a dense encoder for distillation of its cosines; ``none`` for none.
        See `termwise.train.data.teacher_vectors`.
    teacher_loss : {"kl", "margin-mse"}
        Distillation loss, see `distillation_loss` and `margin_loss`.
    teacher_weight, teacher_scale : float
        Share of the distillation in the loss, and the factor of the cosines, which is the inverse of a temperature.
    sparsity : float
        For SPLADE-doc: factor of the regulariser `flops_loss`.
    sparsity_budget : int
        For SPLADE-doc: number of weights that a passage may have before it is penalised.
    sparsity_ramp : float
        Share of the steps over which that factor rises from 0 to `sparsity`, with the square of the step. The full
        factor would remove all terms before the first is learned.
    validation_queries : int
        Held-out queries for validation.
    curve : bool
        Save the weights each time the number of pairs seen has doubled, from a thousand on, and the last ones: the
        points of a learning curve, in ``training/curve``.
    """

    objective: Objective = "biqdl"
    cleaning: CleanMode = "repo"
    document_length: int = 512
    query_length: int = 512
    epochs: int = 10
    max_steps: int = 0
    batch: int = 128
    negatives: int = 0
    negatives_from: Miner = "bm25"
    negative_depth: int = 1000
    candidates: Candidates = "batch"
    accumulate: int = 1
    learning_rate: float = 2e-5
    head_learning_rate: float = 0.0
    weight_decay: float = 0.0
    warm_up: float = 0.0
    clip: float = 0.0
    schedule: Schedule = "constant"
    precision: TrainingPrecision = "float32"
    dropout: float = 0.1
    checkpointing: bool = False
    mixing: Mixing = "together"
    flattening: float = 0.0
    block: int = 1
    contrast: float = 0.0
    prior_bias: bool = False
    initial_weight: float = 0.0
    idf_power: float = 0.0
    query_weights: str = COUNTS
    activation: Activation = "relu"
    head_steps: int = 0
    head_pairs: int = 20_000
    teacher: str = NO_TEACHER
    teacher_loss: TeacherLoss = "kl"
    teacher_weight: float = 0.5
    teacher_scale: float = 20.0
    sparsity: float = 0.0
    sparsity_budget: int = 0
    sparsity_ramp: float = 0.0
    seed: int = 313
    save_every: int = 1000
    validate_every: int = 1000
    validation_queries: int = 1000
    curve: bool = False
    take: Take = "best"
    workers: int = 0

    ranges = MappingProxyType(
        {
            **LoopSettings.ranges,
            "document_length": (3, math.inf),
            "query_length": (3, math.inf),
            "epochs": (1, MOST_EPOCHS),
            **dict.fromkeys(("batch", "block", "negative_depth", "head_pairs"), (1, math.inf)),
            **dict.fromkeys(("dropout", "flattening", "teacher_weight", "sparsity_ramp"), (0, 1)),
            "idf_power": (0, LARGEST_POWER),
        }
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch % self.block:
            raise ParameterError(
                "the batch size is not a multiple of the block size",
                facts=[("batch", self.batch), ("block", self.block)],
            )

    @property
    def taught(self) -> bool:
        """Whether there is a teacher."""
        return self.teacher != NO_TEACHER

    @property
    def fixed_queries(self) -> bool:
        """Whether query terms have fixed weights, regardless of their counts."""
        return self.query_weights != COUNTS

    @property
    def reads_passages(self) -> bool:
        """Whether the network reads passages in training, and not queries alone."""
        return self.objective != "document-likelihood"

    @property
    def reads_queries(self) -> bool:
        """Whether the network reads queries in training."""
        return self.objective in ("document-likelihood", "biqdl")

    @classmethod
    def for_kind(cls, kind: str, given: Mapping[str, str] | None = None) -> TrainSettings:
        """Return the defaults of a kind of network, updated with settings as text.

        TILDE: Adam 2e-5, constant, batch 128, 10 epochs, seed 313. TILDEv2: AdamW 5e-6 with linear decay after a
        warm-up of a tenth of the steps, groups of 8 passages, 8 queries a batch, 5 epochs, passages of 192 and queries
        of 16 pieces, gradients clipped at 1 (the published code). SPLADE-doc: as TILDEv2, at 2e-5, with a sparsity that
        rises over the first third of the steps.

        Raises
        ------
        UnknownNameError
            If the kind or a setting is unknown.
        ParameterError
            If a value has another type than its setting, is out of range, or the setting is for other kinds.

        Examples
        --------
        >>> TrainSettings.for_kind("tildev2", {"batch": "16"}).batch
        16
        """
        if kind not in _DEFAULTS:
            raise UnknownNameError.of("kind of network", kind, _DEFAULTS)
        _refuse_others(kind, given or {})
        return cls.parse(given or {}, defaults=_DEFAULTS[kind])

    def check_kind(self, kind: str) -> None:
        """Check that the settings are compatible with a kind of network and with each other.

        Raises
        ------
        UnknownNameError
            If there is no such kind.
        ParameterError
            If a setting has no effect, or the objective is for other kinds.
        """
        departures = self.departures(kind)
        _refuse_others(kind, departures)
        for name in departures:
            for needed in _NEEDED.get(name, ()):
                if getattr(self, name) and getattr(self, needed) in (0, NO_TEACHER):
                    raise ParameterError(
                        f"the setting {name} has no effect without {needed}",
                        facts=[(name, getattr(self, name)), (needed, getattr(self, needed))],
                        fixes=[Fix.use(**{needed: Code("…")}), f"omit {name}"],
                    )
        if (self.objective == "contrastive") == (kind == "tilde"):
            raise ParameterError(
                "the objective is not for this kind of network",
                facts=[("network", kind), ("objective", self.objective)],
                fixes=[
                    Fix.use("{} for tilde", objective="biqdl"),
                    Fix.use("{} for the others", objective="contrastive"),
                ],
            )
        if self.contrast and self.objective == "document-likelihood":
            raise ParameterError(
                "contrast needs an objective with the query likelihood",
                facts=[("objective", self.objective), ("contrast", self.contrast)],
                fixes=["omit contrast"],
            )
        if self.idf_power and self.fixed_queries:
            raise ParameterError(
                "the idf is either in the weights of passages or in those of queries",
                facts=[("idf_power", self.idf_power), ("query_weights", self.query_weights)],
                fixes=["omit idf_power", "omit query_weights"],
            )
        if self.taught and self.objective != "contrastive" and not self.contrast:
            raise ParameterError(
                "a teacher needs a loss that ranks the passages of a batch",
                facts=[("objective", self.objective), ("teacher", self.teacher)],
                fixes=[Fix.use(contrast=0.1), "omit teacher"],
            )

    def departures(self, kind: str) -> dict[str, tuple[object, object]]:
        """Return the settings that differ from the paper and affect the result: name to (paper, here)."""
        default = type(self).for_kind(kind)
        pairs = {
            field.name: (getattr(default, field.name), getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name != "workers"
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


_DEFAULTS: dict[str, dict[str, Any]] = {
    "tilde": {},
    "tildev2": {
        "objective": "contrastive",
        "document_length": 192,
        "query_length": 16,
        "epochs": 5,
        "batch": 8,
        "negatives": 7,
        "learning_rate": 5e-6,
        "warm_up": 0.1,
        "clip": 1.0,
        "schedule": "linear",
        "seed": 42,
    },
}
_DEFAULTS["splade-doc"] = _DEFAULTS["tildev2"] | {
    "learning_rate": 2e-5,
    "sparsity": 1e-3,
    "sparsity_ramp": 0.33,
}

FOR_KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("contrast", "prior_bias", "head_steps", "head_pairs"), ("tilde",)),
    **dict.fromkeys(
        ("negatives", "negatives_from", "negative_depth", "candidates", "idf_power", "query_weights"),
        ("tildev2", "splade-doc"),
    ),
    "initial_weight": ("tildev2", "splade-doc"),
    **dict.fromkeys(("activation", "sparsity", "sparsity_budget", "sparsity_ramp"), ("splade-doc",)),
}
"""Kinds of network of a setting that is not for all kinds."""

_NEEDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("negative_depth", "candidates"), ("negatives",)),
    "negatives_from": ("negatives", "teacher"),
    "head_pairs": ("head_steps",),
    **dict.fromkeys(("teacher_loss", "teacher_weight", "teacher_scale"), ("teacher",)),
    **dict.fromkeys(("sparsity_budget", "sparsity_ramp"), ("sparsity",)),
}
"""Settings that have an effect only together with other settings."""


def _refuse_others(kind: str, names: Iterable[str]) -> None:
    """Refuse settings that are for other kinds of network."""
    for name in names:
        kinds = FOR_KINDS.get(name, (kind,))
        if kind not in kinds:
            raise ParameterError(
                f"the setting {name} is not for this kind of network",
                facts=[("network", kind), (f"{name} is for", ", ".join(kinds))],
                fixes=[f"omit {name}"],
            )
