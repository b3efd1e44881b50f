"""What can be set about the training of BERT-Model1; the defaults follow the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from termwise.settings import MOST_EPOCHS
from termwise.train.data.hard_negatives import KEPT
from termwise.train.settings import MOST_WORKERS, Precision, Schedule, Take
from termwise.yardsticks.bert_model1.network import BertModel1Config


@dataclass(frozen=True, kw_only=True)
class BertModel1Settings(BertModel1Config):
    """Settings of `train_bert_model1`, those of the network among them: see `BertModel1Config`.

    The paper gives epochs, batch, both learning rates, decay, warm-up and loss; that the rate falls to 0 after the rise
    is what its published code does.

    Attributes
    ----------
    epochs : int
        Each takes every query once, with one relevant passage and one negative.
    batch : int
        Queries of a batch, so twice as many passages.
    accumulate : int
        Batches whose gradients are averaged before the weights change. The paper's 16 queries are ``batch=16``, or on
        a small device ``batch=1`` and ``accumulate=16``.
    max_steps : int
        Stop after so many steps, whatever `epochs` says; 0 for no such limit. The schedule ends there too.
    learning_rate, head_learning_rate : float
        Of the encoder, and of the network over pairs, which starts at random.
    weight_decay, warm_up, clip : float
        AdamW's decay; the share of the steps in which the rate rises from 0; the largest norm of a gradient, 0 for no
        limit.
    schedule : {"constant", "linear"}
        Whether the rate stays or falls to 0 after the rise.
    precision : {"float32", "bfloat16", "float16"}
        Of the arithmetic inside the encoder. What stands on it, and all sums, are float32.
    dropout : float
        Of the encoder.
    checkpointing : bool
        Compute activations of the encoder twice instead of keeping them.
    margin : float
        By how much the relevant passage should be ahead, in the units of a score.
    reduction : {"sum", "mean"}
        Of the losses of a batch.
    negatives, negative_depth : int
        Passages drawn for each query, and the ranks of BM25 they are drawn from.
    seed : int
        Of everything random.
    save_every, validate_every : int
        Steps between checkpoints, and between validations; a checkpoint is written at each validation.
    validation_queries, validation_depth : int
        Held-out queries, and how many passages that BM25 finds for each among the held-out ones are ranked with the
        relevant ones: the encoder has to read each of them with its query.
    take : {"best", "last"}
        The weights that are kept: those that rank the held-out queries best, or the last ones.
    workers : int
        Processes that make batches while the network computes; 0 for this one. The result does not depend on it.
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
    precision: Precision = "float32"
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
            "epochs": (1, MOST_EPOCHS),
            **dict.fromkeys(
                ("batch", "accumulate", "negative_depth", "save_every", "validate_every"),
                (1.0, math.inf),
            ),
            **dict.fromkeys(("warm_up", "dropout"), (0.0, 1.0)),
            **dict.fromkeys(("negatives", "validation_depth"), (1.0, float(KEPT))),
            "seed": (0, 2**32 - 1),
            "workers": (0, MOST_WORKERS),
        }
    )
