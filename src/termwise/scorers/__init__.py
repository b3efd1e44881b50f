"""Rankers that score any text for a query, whether or not an index holds it: `termwise.scoring.TextScorer`.

Every model that fills rows of an index can weigh a text by itself, with the statistics of a stated collection, and so
can whoever stands behind a function, an HTTP address or a folder of sentence-transformers.
"""

from termwise.scorers.background import Background
from termwise.scorers.counted import CountWeigher, TokenStatistics
from termwise.scorers.encoded import EncodedWeigher, RowFrequencies
from termwise.scorers.expanded import ExpandedScorer, RememberedExpander, TextExpander
from termwise.scorers.from_run import RunScorer
from termwise.scorers.function import FunctionScorer
from termwise.scorers.gradient_boosting import (
    BoostingSettings,
    GradientBoostingScorer,
    train_gradient_boosting,
)
from termwise.scorers.gradient_boosting_folder import open_gradient_boosting, write_gradient_boosting
from termwise.scorers.http import HttpScorer
from termwise.scorers.mixed import MixedScorer, Scale
from termwise.scorers.models import index_scorer, model_scorer
from termwise.scorers.opening import Surroundings, open_any_scorer
from termwise.scorers.rows import RowScorer, TextWeigher, Weighed
from termwise.scorers.store import ScoreStore
from termwise.scorers.word_mover import WordMoverScorer

__all__ = [
    "Background",
    "BoostingSettings",
    "CountWeigher",
    "EncodedWeigher",
    "ExpandedScorer",
    "FunctionScorer",
    "GradientBoostingScorer",
    "HttpScorer",
    "MixedScorer",
    "RememberedExpander",
    "RowFrequencies",
    "RowScorer",
    "RunScorer",
    "Scale",
    "ScoreStore",
    "Surroundings",
    "TextExpander",
    "TextWeigher",
    "TokenStatistics",
    "Weighed",
    "WordMoverScorer",
    "index_scorer",
    "model_scorer",
    "open_any_scorer",
    "open_gradient_boosting",
    "train_gradient_boosting",
    "write_gradient_boosting",
]
