"""What a re-ranking network reads of a query and a document, and the settings of its training."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import ClassVar, Literal

from termwise.fast_dataclass import dataclass
from termwise.settings import MOST_EPOCHS, TypedSettings
from termwise.train.inputs import Ids
from termwise.train.settings import (
    NEGATIVES_PER_PAIR,
    NO_TEACHER,
    LoopSettings,
    Schedule,
    Take,
    TrainingPrecision,
)
from termwise.yardsticks.rerankers.windows import SPECIAL_TOKENS


@dataclass(frozen=True, kw_only=True)
class Reading(TypedSettings):
    """Number of tokens that a network reads.

    Attributes
    ----------
    query_length : int
        Largest number of query tokens; the rest is truncated.
    chunk_length : int
        Largest number of document tokens in a window. Query, chunk and three special tokens must fit into the encoder:
        32 + 477 + 3 is the limit of BERT, 512.
    document_length : int
        Largest number of document tokens; the rest is truncated. 0 for no limit. 1431 tokens are three chunks, the
        "full" documents of Boytsov & Kolter (ECIR 2021), and 477 are their "short" documents.
    """

    query_length: int = 32
    chunk_length: int = 477
    document_length: int = 1431

    called: ClassVar[str] = "setting of the network"
    ranges = MappingProxyType(dict.fromkeys(("query_length", "chunk_length"), (1.0, math.inf)))

    def of_query(self, ids: Ids) -> Ids:
        """Return the token ids of a query that are read."""
        return ids[: self.query_length]

    def of_document(self, ids: Ids) -> Ids:
        """Return the token ids of a document that are read."""
        return ids[: self.document_length or None]

    @property
    def longest(self) -> int:
        """Number of tokens of the longest window."""
        return self.query_length + self.chunk_length + SPECIAL_TOKENS


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(LoopSettings):
    """Settings of `train_reranker` for all kinds, including those of `LoopSettings`.

    Epochs, batch, both learning rates, decay, warm-up and loss are those of Boytsov & Kolter (ECIR 2021). The linear
    decrease of the learning rate follows their published code.

    Attributes
    ----------
    epochs : int
        Number of epochs. An epoch uses every query once, with one relevant passage and its negatives.
    batch : int
        Queries of a batch.
    accumulate : int
        As in `LoopSettings`. The paper uses 16 queries: ``batch=16``, or on a small device ``batch=1`` and
        ``accumulate=16``.
    source_queries : int
        Largest number of queries of a source, drawn at random; 0 for all. It keeps large sources from outweighing small
        ones. All passages stay candidates for negatives.
    max_steps : int
        Limit of the steps, regardless of `epochs`; 0 for none. The schedule ends there too.
    dropout : float
        Dropout of the network.
    checkpointing : bool
        Recompute activations of the encoder in the backward pass to save memory.
    margin : float
        Margin of the loss, in units of the score. Without effect if there is a teacher.
    teacher : str
        Folder or name of a dense encoder: the loss is then the squared difference between the margins of the network
        and those of its cosines (Hofstätter et al., arXiv 2010.02666). ``none`` for none.
    teacher_bm25 : float
        Weight of BM25 beside the cosines of the teacher, see `termwise.yardsticks.rerankers.bm25_teacher`. Without
        effect if there is no teacher.
    teacher_scale : float
        Factor of these sums.
    reduction : {"sum", "mean"}
        Reduction of the losses of a batch.
    query_negatives : int
        Negatives of each query in a batch.
    negatives, negative_depth : int
        Number of negatives kept for each query, from which those of a batch are drawn, and the number of BM25 ranks
        they are sampled from.
    validation_queries, validation_depth : int
        Number of held-out queries, and number of held-out passages from BM25 per query.
    """

    epochs: int = 1
    batch: int = 16
    accumulate: int = 1
    source_queries: int = 0
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
    teacher: str = NO_TEACHER
    teacher_bm25: float = 0.0
    teacher_scale: float = 10.0
    reduction: Literal["sum", "mean"] = "sum"
    query_negatives: int = 1
    negatives: int = 20
    negative_depth: int = 500
    seed: int = 42
    save_every: int = 1000
    validate_every: int = 1000
    validation_queries: int = 300
    validation_depth: int = 20
    take: Take = "best"
    workers: int = 0

    called: ClassVar[str] = "training setting"
    ranges = MappingProxyType(
        {
            **LoopSettings.ranges,
            "epochs": (1, MOST_EPOCHS),
            **dict.fromkeys(("batch", "negative_depth"), (1.0, math.inf)),
            "dropout": (0.0, 1.0),
            **dict.fromkeys(
                ("query_negatives", "negatives", "validation_depth"), (1.0, float(NEGATIVES_PER_PAIR))
            ),
        }
    )


@dataclass(frozen=True, kw_only=True)
class RerankerSettings(TrainingSettings, Reading):
    """Settings of a kind without settings of its own: those of `Reading` and `TrainingSettings`."""

    ranges = MappingProxyType({**Reading.ranges, **TrainingSettings.ranges})
