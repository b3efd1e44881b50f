"""Fusion of runs and of indexes: weighted sums of normalised scores, learned weights, and reciprocal ranks."""

from termwise.fusion.coordinate_ascent import Starts
from termwise.fusion.index_weights import index_weights
from termwise.fusion.indexes import fuse_indexes
from termwise.fusion.interpolation import fuse, interpolate
from termwise.fusion.mixture import mix_indexes
from termwise.fusion.objective import objective_of
from termwise.fusion.oracle import Oracle, oracle
from termwise.fusion.reciprocal_rank import reciprocal_rank_fusion
from termwise.fusion.scaling import QueryScales
from termwise.fusion.step_function import AlphaCurve, Choice
from termwise.fusion.translation_tuning import Cell, Tuning, tune
from termwise.fusion.weight_learning import cross_validated_run, learn
from termwise.fusion.weights_file import Fusion, Learned, TunedTable

__all__ = [
    "AlphaCurve",
    "Cell",
    "Choice",
    "Fusion",
    "Learned",
    "Oracle",
    "QueryScales",
    "Starts",
    "TunedTable",
    "Tuning",
    "cross_validated_run",
    "fuse",
    "fuse_indexes",
    "index_weights",
    "interpolate",
    "learn",
    "mix_indexes",
    "objective_of",
    "oracle",
    "reciprocal_rank_fusion",
    "tune",
]


def __dir__() -> list[str]:
    return __all__
