"""Fusing runs: weighted sums of scaled scores, weights learned on judged queries, and ranks added up."""

from termwise.fusion.curve import AlphaCurve, Choice
from termwise.fusion.fusion import Fusion, Learned
from termwise.fusion.learning import learn
from termwise.fusion.linear import fuse, interpolate
from termwise.fusion.objective import objective_of
from termwise.fusion.queries import QueryScales
from termwise.fusion.ranks import reciprocal_rank_fusion

__all__ = [
    "AlphaCurve",
    "Choice",
    "Fusion",
    "Learned",
    "QueryScales",
    "fuse",
    "interpolate",
    "learn",
    "objective_of",
    "reciprocal_rank_fusion",
]
