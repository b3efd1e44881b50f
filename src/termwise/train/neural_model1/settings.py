"""What can be set about the training and the export of neural Model 1; the defaults follow the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from termwise.errors import ParameterError
from termwise.settings import MOST_EPOCHS, TypedSettings
from termwise.translation.table_manifest import Precision

Form = Literal["network", "cosine"]
Reduction = Literal["sum", "mean"]

WIDEST = 8192
"""The most elements of a vector or of a layer: what is wider has a digit too many."""

DEEPEST = 16
"""The most hidden layers."""

FROM_SCRATCH = "none"
"""The `NeuralModel1Settings.embeddings` where vectors start at random."""


@dataclass(frozen=True, kw_only=True)
class NeuralModel1Settings(TypedSettings):
    """Settings of `train_neural_model1`.

    The paper gives the optimiser, the schedule and the negatives; the width of the rows, the projection and p are the
    defaults of its published code. The widths of the hidden layers, the start and how queries are normalised are known
    from neither.

    Attributes
    ----------
    analyzer : str
        What cuts documents and queries, see `make_analyzer`: one with a vocabulary of its own. Stop words stay.
    embeddings : str
        Folder of an encoder, or the name of one that ships, whose word embeddings the rows of both sides start with;
        their width is the encoder's, and its tokenizer takes the place of `analyzer`. ``none`` for a random start.
    form : {"network", "cosine"}
        The network, or (1 + cos) / 2 of the rows.
    width, projection : int
        Elements of a row, and after the projection.
    hidden : str
        Widths of the hidden layers, separated by commas.
    spread : float
        Standard deviation of random rows. The smaller, the sooner rare pieces are learned: a step of Adam changes a
        number by about the learning rate, whatever its size.
    expected : float
        T of any two pieces before training. Below p, training starts by counting matches.
    self_translation : float
        p, the probability that a piece is asked for with itself.
    score_norm : {"sum", "mean"}
        Whether a score is the sum over the pieces of its query, or their mean. The margin depends on it.
    margin : float
        By how much the relevant passage should be ahead.
    reduction : {"sum", "mean"}
        Of the losses of a batch.
    epochs, batch : int
        An epoch takes each query once, with one relevant passage and one negative.
    max_steps : int
        Stop after so many steps, whatever `epochs` says; 0 for no such limit.
    learning_rate, decay : float
        Of the first epoch, and its factor from each epoch to the next.
    warm_up : float
        Share of all steps in which the rate rises from 0.
    restart : bool
        Begin each epoch with a new optimiser, a rise over `warm_up` of its steps and a fall to 0 after that, as the
        published code does.
    weight_decay : float
        Of AdamW. A row decays when it is in a batch.
    negatives, negative_depth : int
        Passages drawn for each query, and the ranks of BM25 they are drawn from.
    query_length, document_length : int
        Pieces that are read in training; the rest is cut off. 0 for no limit.
    seed : int
        Of everything random.
    save_every : int
        Steps between checkpoints; there is one after each epoch, too.
    validation_queries : int
        Held-out queries that are ranked after each epoch.
    least : float
        Smaller probabilities are left out of the table.
    unseen : bool
        Whether the table has rows and columns of pieces that training has never seen on their side. What the network
        says of these is as random as their vectors were.
    keep : int
        Most targets of a source in the table: the most likely ones; 0 for all.
    precision : {"float32", "float16"}
        Of the probabilities in their file.

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
    precision: Precision = "float32"

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
    """Read the widths of hidden layers.

    Raises
    ------
    ParameterError
        If they are no whole numbers from 1 to `WIDEST`, separated by commas, or more than `DEEPEST`.

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
            "hidden is not a list of the widths of one or more layers",
            facts=[
                ("given", repr(hidden[:80])),
                ("expected", f"1 to {DEEPEST} whole numbers from 1 to {WIDEST:,}, such as 128,64"),
            ],
            fixes=["--set hidden=128,64"],
        )
    return widths
