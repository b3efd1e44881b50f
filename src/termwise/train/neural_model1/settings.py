"""Settings of neural Model 1: training and export, with the defaults of the paper."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Literal

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.settings import MOST_EPOCHS, TypedSettings
from termwise.translation.table_manifest import TablePrecision

Form = Literal["network", "cosine"]
Reduction = Literal["sum", "mean"]

WIDEST = 8192
"""Largest width of a vector or of a layer."""

DEEPEST = 16
"""Largest number of hidden layers."""

FROM_SCRATCH = "none"
"""Value of `NeuralModel1Settings.embeddings` for random initial vectors."""


@dataclass(frozen=True, kw_only=True)
class NeuralModel1Settings(TypedSettings):
    """Settings of `train_neural_model1`.

    Optimiser, schedule and negatives follow the paper; the width of the rows, the projection and p are the defaults of
    its published code. Paper and code do not give the widths of the hidden layers, the initialisation and the
    normalisation of queries.

    Attributes
    ----------
    analyzer : str
        Analyzer of documents and queries, see `make_analyzer`, with a fixed vocabulary. Stop words are kept.
    embeddings : str
        Folder or name of an encoder whose word embeddings initialise the rows of both sides; its width and tokenizer
        replace `width` and `analyzer`. ``none`` for random rows.
    form : {"network", "cosine"}
        The network, or (1 + cos) / 2 of the rows.
    width, projection : int
        Number of elements of a row, and of a projected row.
    hidden : str
        Widths of the hidden layers, separated by commas.
    spread : float
        Standard deviation of random rows. Rare pieces are learned faster with a smaller one, because a step of Adam
        changes a number by about the learning rate, regardless of its size.
    expected : float
        Initial T of any two pieces. With a value below p, the initial scores count matches.
    self_translation : float
        p, the probability that a piece translates into itself.
    score_norm : {"sum", "mean"}
        Whether a score is the sum or the mean over the pieces of its query. The margin depends on it.
    margin : float
        Margin between the scores of the relevant passage and of the negative.
    reduction : {"sum", "mean"}
        Reduction of the losses of a batch.
    epochs, batch : int
        Number of epochs, and of queries per batch. An epoch uses each query once, with one relevant passage and one
        negative.
    max_steps : int
        Largest number of steps, regardless of `epochs`; 0 for no limit.
    learning_rate, decay : float
        Learning rate of the first epoch, and its factor from one epoch to the next.
    warm_up : float
        Share of all steps in which the rate rises from 0.
    restart : bool
        Start each epoch with a new optimiser, a warm-up over `warm_up` of its steps and a decay to 0, as the published
        code does.
    weight_decay : float
        Weight decay of AdamW. A row decays only in steps whose batch has it.
    negatives, negative_depth : int
        Negatives drawn for each query, and the ranks of BM25 they are drawn from.
    query_length, document_length : int
        Pieces of a text that are read in training; 0 for no limit.
    seed : int
        Random seed.
    save_every : int
        Steps between checkpoints; each epoch also ends with a checkpoint.
    validation_queries : int
        Held-out queries that are ranked after each epoch.
    least : float
        Smaller probabilities are not stored in the table.
    unseen : bool
        Whether the table has rows of pieces that no training document contains, and columns of pieces that no training
        query contains. Their probabilities are random.
    keep : int
        Largest number of targets of a source in the table, the most likely ones; 0 for all.
    precision : {"float32", "float16"}
        Precision of the stored probabilities.

    Examples
    --------
    >>> NeuralModel1Settings.parse({"hidden": "64"}).widths
    (64,)
    """

    analyzer: str = "wordpiece"
    embeddings: str = FROM_SCRATCH
    form: Form = "network"
    width: int = 512
    projection: int = 128
    hidden: str = "128,64"
    spread: float = 1.0
    expected: float = 0.5
    self_translation: float = 0.05
    score_norm: Reduction = "sum"
    margin: float = 1.0
    reduction: Reduction = "sum"
    epochs: int = 32
    batch: int = 32
    max_steps: int = 0
    learning_rate: float = 3e-3
    decay: float = 0.9
    warm_up: float = 0.1
    restart: bool = False
    weight_decay: float = 1e-7
    negatives: int = 20
    negative_depth: int = 500
    query_length: int = 32
    document_length: int = 476
    seed: int = 42
    save_every: int = 5000
    validation_queries: int = 300
    least: float = 1e-4
    unseen: bool = False
    keep: int = 0
    precision: TablePrecision = "float32"

    ranges = MappingProxyType(
        {
            **dict.fromkeys(("width", "projection"), (1.0, WIDEST)),
            "epochs": (1, MOST_EPOCHS),
            **dict.fromkeys(("batch", "negative_depth", "save_every"), (1.0, math.inf)),
            **dict.fromkeys(("decay", "warm_up", "least"), (0.0, 1.0)),
            "spread": (1e-6, 1e3),
            "expected": (1e-6, 1 - 1e-6),
            "self_translation": (1e-6, 1 - 1e-6),
            "negatives": (1, 64),
            "seed": (0, 2**32 - 1),
        }
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        layer_widths(self.hidden)

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of the hidden layers."""
        return layer_widths(self.hidden)


def layer_widths(hidden: str) -> tuple[int, ...]:
    """Parse the widths of hidden layers.

    Examples
    --------
    >>> layer_widths("128,64")
    (128, 64)
    """
    try:
        widths = tuple(int(part) for part in hidden.split(","))
    except ValueError:
        widths = (0,)
    if not 1 <= min(widths) <= max(widths) <= WIDEST or len(widths) > DEEPEST:
        raise ParameterError(
            "hidden is not a list of layer widths",
            facts=[
                ("given", repr(hidden[:80])),
                ("expected", f"1 to {DEEPEST} whole numbers from 1 to {WIDEST:,}, such as 128,64"),
            ],
            fixes=[Fix.use(hidden="128,64")],
        )
    return widths
