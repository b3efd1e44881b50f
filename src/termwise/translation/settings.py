"""What can be set about the training of a translation table; the defaults are those of the paper's experiments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType

from termwise.errors import ParameterError
from termwise.settings import TypedSettings
from termwise.translation.table_manifest import Precision


@dataclass(frozen=True, kw_only=True)
class Model1Settings(TypedSettings):
    """Settings of `train_model1`.

    Attributes
    ----------
    analyzer : str
        What cuts documents and queries, see `make_analyzer`. The default is ``wordpiece-clean``: its 28,402 terms are
        the same for every collection, so a table has a bounded size and a row for nearly everything, and shares its
        numbering with the neural models. ``english`` and ``standard+stop`` train on stems and on words.
    ratio : float
        A chunk of a passage has this many times the terms of the query; 0 for whole passages.
    longest_ratio : float
        Pairs are left out if one side has more than this many times the terms of the other.
    symmetrise : bool
        Whether each pair counts a second time with its sides swapped.
    sample : float
        Share of the pairs to train on, drawn at random.
    seed : int
        Of the sample; nothing else is random.
    iterations : int
        Iterations of EM at most.
    tolerance : float
        Stop after an iteration whose perplexity is less than this share below the one before.
    floor, drop : float
        1e-7 and 1e-7 count as MGIZA does, see `termwise.translation.em.estimate`.
    vocabulary : int
        Terms to keep, by the number of passages that hold them; see `cut_vocabulary`.
    least : float
        Probabilities below it are left out of the table.
    precision : {"float32", "float16"}
        Of the probabilities in their file.

    Examples
    --------
    >>> Model1Settings.parse({"iterations": "3", "symmetrise": "false"}).iterations
    3
    """

    analyzer: str = "wordpiece-clean"
    ratio: float = 1.5
    longest_ratio: float = 9.0
    symmetrise: bool = True
    sample: float = 1.0
    seed: int = 0
    iterations: int = 5
    tolerance: float = 1e-3
    floor: float = 0.0
    drop: float = 0.0
    vocabulary: int = 1_000_000
    least: float = 1e-3
    precision: Precision = "float32"

    ranges = MappingProxyType(
        {
            "ratio": (0, 1e9),
            "longest_ratio": (1, 1e9),
            "sample": (0, 1),
            "seed": (0, 2**32 - 1),
            "iterations": (1, 1000),
            "tolerance": (0, 1),
            "floor": (0, 0.1),
            "drop": (0, 0.1),
            "vocabulary": (1, math.inf),
            "least": (0, 1),
        }
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.drop > self.floor:
            raise ParameterError(
                "shares that are not counted must be below the floor of the probabilities",
                facts=[("drop", self.drop), ("floor", self.floor)],
                fixes=[f"--set floor={self.drop:g}"],
            )
