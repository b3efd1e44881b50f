"""Training settings of a translation table."""

from __future__ import annotations

import math
from types import MappingProxyType

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.settings import TypedSettings
from termwise.translation.table_manifest import TablePrecision


@dataclass(frozen=True, kw_only=True)
class Model1Settings(TypedSettings):
    """Settings of `train_model1`; the defaults are those of the paper's experiments.

    Attributes
    ----------
    analyzer : str
        Analyzer of documents and queries, see `make_analyzer`. The default ``wordpiece-clean`` has the same 28,402
        terms for every collection, so the table has a bounded size, a row for nearly every term, and the term numbers
        of the neural models. ``english`` and ``standard+stop`` train on stems and on words.
    ratio : float
        Length of a chunk of a passage, as a multiple of the query length; 0 for whole passages.
    longest_ratio : float
        Upper bound for the ratio of the longer to the shorter side; other pairs are skipped.
    symmetrise : bool
        Whether each pair is also used with its sides swapped.
    sample : float
        Fraction of the pairs to train on, drawn at random.
    seed : int
        Seed of the sample; nothing else is random.
    iterations : int
        Upper bound for EM iterations.
    tolerance : float
        Training stops after an iteration that lowers the perplexity by less than this fraction.
    floor, drop : float
        1e-7 and 1e-7 reproduce MGIZA, see `termwise.translation.em.estimate`.
    vocabulary : int
        Number of terms to keep, by passage frequency; see `cut_vocabulary`.
    least : float
        Threshold for the probabilities of the table.
    precision : {"float32", "float16"}
        Data type of the probabilities in their file.

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
    precision: TablePrecision = "float32"

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
                "drop must not exceed the floor of the probabilities",
                facts=[("drop", self.drop), ("floor", self.floor)],
                fixes=[Fix.use(floor=self.drop)],
            )
