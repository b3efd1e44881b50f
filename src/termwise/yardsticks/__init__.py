"""Rankers to compare with: networks that run at query time, boosted trees, and Word Mover's Distance.

Each is a `termwise.scorers.protocol.TextScorer`: it re-ranks the candidates of a run and can be probed, but retrieves
nothing. Networks need torch. Outside this package only `termwise.rankers` and the commands that train re-ranking
networks import it.

Notice: a patent publication (US 12,026,187 B2, of the family of US20220253447A1) may concern neural Model 1 layers for
ranking, such as `termwise.yardsticks.rerankers.bert_model1`. Take legal advice before production use. No default path
of termwise depends on it, and no network made by it ships with termwise.
"""

from termwise.yardsticks.expanded import CachedExpander, ExpandedScorer, TextExpander
from termwise.yardsticks.gradient_boosting import (
    BoostingSettings,
    GradientBoostingScorer,
    train_gradient_boosting,
)
from termwise.yardsticks.gradient_boosting_folder import open_gradient_boosting, write_gradient_boosting
from termwise.yardsticks.word_mover import WordMoverScorer

__all__ = [
    "BoostingSettings",
    "CachedExpander",
    "ExpandedScorer",
    "GradientBoostingScorer",
    "TextExpander",
    "WordMoverScorer",
    "open_gradient_boosting",
    "train_gradient_boosting",
    "write_gradient_boosting",
]


def __dir__() -> list[str]:
    return __all__
