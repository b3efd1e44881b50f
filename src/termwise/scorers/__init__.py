"""Scorers of any text: the `TextScorer` protocol, and adapters for models, indexes, runs, functions and services."""

from termwise.scorers.count_weigher import CountWeigher
from termwise.scorers.encoder_weigher import EncoderWeigher, RowFrequencies
from termwise.scorers.function import FunctionScorer
from termwise.scorers.http import HttpScorer
from termwise.scorers.lookup_scorer import LookupScorer
from termwise.scorers.mixture import MixedScorer, Scale
from termwise.scorers.model_scorers import index_scorer, model_scorer
from termwise.scorers.protocol import TextScorer
from termwise.scorers.row_scorer import RowScorer, TextWeigher, WeightedRows
from termwise.scorers.run import RunScorer
from termwise.scorers.score_cache import ScoreCache
from termwise.scorers.token_statistics import Background, TokenStatistics
from termwise.scorers.word_frequencies import WordFrequencies

__all__ = [
    "Background",
    "CountWeigher",
    "EncoderWeigher",
    "FunctionScorer",
    "HttpScorer",
    "LookupScorer",
    "MixedScorer",
    "RowFrequencies",
    "RowScorer",
    "RunScorer",
    "Scale",
    "ScoreCache",
    "TextScorer",
    "TextWeigher",
    "TokenStatistics",
    "WeightedRows",
    "WordFrequencies",
    "index_scorer",
    "model_scorer",
]


def __dir__() -> list[str]:
    return __all__
