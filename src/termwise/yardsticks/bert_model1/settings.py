"""Training settings of BERT-Model1; the defaults follow the paper."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Literal

from termwise.fast_dataclass import dataclass
from termwise.settings import MOST_EPOCHS
from termwise.train.settings import NEGATIVES_PER_PAIR, LoopSettings, Schedule, Take, TrainingPrecision
from termwise.yardsticks.bert_model1.network import BertModel1Config


@dataclass(frozen=True, kw_only=True)
class BertModel1Settings(BertModel1Config, LoopSettings):
    """Settings of `train_bert_model1`, including those of `BertModel1Config` and of `LoopSettings`.

    The paper states epochs, batch, both learning rates, decay, warm-up and loss. The linear decrease of the learning
    rate follows its published code.

    Attributes
    ----------
    epochs : int
        Number of epochs. An epoch uses every query once, with one relevant passage and one negative.
    batch : int
        Queries of a batch, with two passages each.
    accumulate : int
        As in `LoopSettings`. The paper uses 16 queries: ``batch=16``, or on a small device ``batch=1`` and
        ``accumulate=16``.
    max_steps : int
        Limit of the steps, regardless of `epochs`; 0 for none. The schedule ends there too.
    dropout : float
        Dropout of the encoder.
    checkpointing : bool
        Recompute activations of the encoder in the backward pass to save memory.
    margin : float
        Margin of the loss, in units of the score.
    reduction : {"sum", "mean"}
        Reduction of the losses of a batch.
    negatives, negative_depth : int
        Number of negatives sampled for each query, and the number of BM25 ranks they are sampled from.
    validation_queries, validation_depth : int
        Number of held-out queries, and number of held-out passages from BM25 per query.
    """

    epochs: int = 1
    batch: int = 16
    accumulate: int = 1
    max_steps: int = 0
    learning_rate: float = 2e-5
    head_learning_rate: float = 2e-4
    weight_decay: float = 1e-7
    warm_up: float = 0.1
    clip: float = 0.0
    schedule: Schedule = "linear"
    precision: TrainingPrecision = "float32"
    dropout: float = 0.1
    checkpointing: bool = False
    margin: float = 1.0
    reduction: Literal["sum", "mean"] = "sum"
    negatives: int = 20
    negative_depth: int = 500
    seed: int = 42
    save_every: int = 1000
    validate_every: int = 1000
    validation_queries: int = 300
    validation_depth: int = 20
    take: Take = "best"
    workers: int = 0

    ranges = MappingProxyType(
        {
            **BertModel1Config.ranges,
            **LoopSettings.ranges,
            "epochs": (1, MOST_EPOCHS),
            **dict.fromkeys(("batch", "negative_depth"), (1.0, math.inf)),
            "dropout": (0.0, 1.0),
            **dict.fromkeys(("negatives", "validation_depth"), (1.0, float(NEGATIVES_PER_PAIR))),
        }
    )
