"""Fusing runs: weighted sums of scaled scores, weights learned on judged queries, and ranks added up.

Where scaling is fixed, the fused scores of indexes are those of one index: `fuse_indexes`.
"""

from termwise.fusion.curve import AlphaCurve, Choice
from termwise.fusion.folding import index_weights
from termwise.fusion.fusion import Fusion, Learned, TunedTable
from termwise.fusion.indexes import fuse_indexes
from termwise.fusion.learning import learn
from termwise.fusion.linear import fuse, interpolate
from termwise.fusion.objective import objective_of
from termwise.fusion.oracle import Oracle, oracle
from termwise.fusion.queries import QueryScales
from termwise.fusion.ranks import reciprocal_rank_fusion
from termwise.fusion.tuning import Cell, Tuning, tune

__all__ = [
    "AlphaCurve",
    "Cell",
    "Choice",
    "Fusion",
    "Learned",
    "Oracle",
    "QueryScales",
    "TunedTable",
    "Tuning",
    "fuse",
    "fuse_indexes",
    "index_weights",
    "interpolate",
    "learn",
    "objective_of",
    "oracle",
    "reciprocal_rank_fusion",
    "tune",
]
