"""Gradient-boosted trees over lexical features of query and text: LambdaRank by LightGBM.

Burges, "From RankNet to LambdaRank to LambdaMART", 2010; Ke et al., NeurIPS 2017. This ranker learns from judgments
without a semantic model, as a comparison for count models and networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, MissingExtraError, ModelFormatError
from termwise.fast_dataclass import dataclass
from termwise.scorers.protocol import BasePairScorer, PairScorer
from termwise.scorers.token_statistics import Background
from termwise.settings import TypedSettings
from termwise.storage.file_record import text_fingerprint
from termwise.text import make_analyzer
from termwise.validation import check, check_names
from termwise.yardsticks.text_features import TextFeatures

ANALYZERS = ("standard", "english")

MOST_GRADE = 30
"""Largest difference between a grade and the lowest grade; the gain of a text is 2 to the power of the difference."""


class Judgments(Protocol):
    """Judged texts of queries, such as `termwise.probes.core.judged_texts.JudgedTexts`."""

    @property
    def queries(self) -> Mapping[str, str]:
        """Query texts by identifier."""

    @property
    def texts(self) -> Mapping[str, str]:
        """Document texts by identifier."""

    @property
    def grades(self) -> Mapping[str, Mapping[str, int]]:
        """Grades by query and document."""

    @property
    def lowest(self) -> int:
        """Grade of irrelevant documents."""


@dataclass(frozen=True, kw_only=True)
class BoostingSettings(TypedSettings):
    """Training settings; see the documentation of LightGBM.

    Attributes
    ----------
    rounds : int
        Number of trees.
    learning_rate : float
    leaves : int
        Largest number of leaves of a tree.
    least : int
        Smallest number of texts in a leaf.
    seed : int
    """

    rounds: int = 200
    learning_rate: float = 0.05
    leaves: int = 15
    least: int = 20
    seed: int = 0
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = MappingProxyType(
        {
            "rounds": (1, 10_000),
            "learning_rate": (1e-6, 10),
            "leaves": (2, 1 << 16),
            "least": (1, 1 << 30),
            "seed": (0, (1 << 31) - 1),
        }
    )


class GradientBoostingScorer(BasePairScorer):
    """Scores texts by gradient-boosted trees; a `termwise.scorers.protocol.PairScorer`.

    Scores are sums of leaf values, so texts in the same leaves have equal scores.

    Parameters
    ----------
    model : str
        Text format of LightGBM.
    features : TextFeatures
        Features used in training, in the same order.
    name : str, optional
        Name of the scorer in tables.

    Raises
    ------
    MissingExtraError
        If LightGBM is not installed.
    ModelFormatError
        If LightGBM cannot read the model, or it was trained on other features.
    """

    def __init__(self, model: str, features: TextFeatures, *, name: str = "gradient-boosting") -> None:
        check("name", name, isinstance(name, str) and bool(name), "a name")
        lightgbm = _lightgbm()
        try:
            self._trees = lightgbm.Booster(model_str=model)
        except (lightgbm.basic.LightGBMError, ValueError, TypeError) as error:
            raise ModelFormatError(
                "the trees of the ranker cannot be read", facts=[("LightGBM error", str(error)[:200])]
            ) from error
        if tuple(self._trees.feature_name()) != features.names:
            raise ModelFormatError(
                "the trees of the ranker were trained on other features",
                facts=[
                    ("features of the trees", ", ".join(self._trees.feature_name())[:200]),
                    ("features here", ", ".join(features.names)[:200]),
                ],
            )
        self.model = model
        self.features = features
        self.name = name
        self.fingerprint = text_fingerprint(features.fingerprint + model)

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        rows = self.features.of_pairs(queries, texts)
        return np.asarray(self._trees.predict(rows, num_threads=1), np.float64)

    def gains(self) -> dict[str, float]:
        """Return the total gain of the splits on each feature, largest first."""
        gains = dict(zip(self.features.names, self._trees.feature_importance("gain").tolist(), strict=True))
        return dict(sorted(gains.items(), key=lambda item: (-item[1], item[0])))


def train_gradient_boosting(
    judged: Judgments,
    background: Background,
    *,
    analyzers: Sequence[str] = ANALYZERS,
    parts: Sequence[PairScorer] = (),
    settings: BoostingSettings | None = None,
) -> GradientBoostingScorer:
    """Train trees on the judgments of a collection; deterministic.

    Parameters
    ----------
    judged : Judgments
        Texts without a judgment are not used.
    background : Background
        Collection with the statistics of BM25 and idf.
    analyzers : sequence of str, optional
        Each analyzer gives a separate set of features.
    parts : sequence of PairScorer, optional
        Scorers whose scores are further features.
    settings : BoostingSettings, optional

    Raises
    ------
    MissingExtraError
        If LightGBM is not installed.
    DataError
        If no query has texts of different grades, or a grade is too high.
    """
    check_names("analyzers", analyzers)
    unique = bool(analyzers) and len(set(analyzers)) == len(analyzers)
    check("analyzers", analyzers, unique, "different analyzers")
    lightgbm = _lightgbm()
    settings = settings or BoostingSettings()
    opened_analyzers = [make_analyzer(analyzer) for analyzer in analyzers]
    features = TextFeatures([(analyzer, background.tokens(analyzer)) for analyzer in opened_analyzers], parts)
    queries, texts, grades, sizes = _rows(judged)
    trees = lightgbm.train(
        {
            "objective": "lambdarank",
            "learning_rate": settings.learning_rate,
            "num_leaves": settings.leaves,
            "min_data_in_leaf": settings.least,
            "seed": settings.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "label_gain": [2**grade - 1 for grade in range(MOST_GRADE + 1)],
            "verbosity": -1,
        },
        lightgbm.Dataset(
            features.of_pairs(queries, texts), label=grades, group=sizes, feature_name=list(features.names)
        ),
        num_boost_round=settings.rounds,
    )
    return GradientBoostingScorer(trees.model_to_string(), features)


def _rows(judged: Judgments) -> tuple[list[str], list[str], list[int], list[int]]:
    """Return query, text and grade of each judged pair, and the number of pairs of each query."""
    queries: list[str] = []
    texts: list[str] = []
    grades: list[int] = []
    sizes = []
    for query_id in sorted(judged.grades):
        judgments = judged.grades[query_id]
        relative = {doc_id: max(0, judgments[doc_id] - judged.lowest) for doc_id in sorted(judgments)}
        if len(set(relative.values())) < 2:
            continue
        sizes.append(len(relative))
        queries += [judged.queries[query_id]] * len(relative)
        texts += [judged.texts[doc_id] for doc_id in relative]
        grades += relative.values()
    if not sizes or max(grades) > MOST_GRADE:
        raise DataError(
            "a grade is too high" if sizes else "there is nothing to train on",
            facts=[
                ("queries", len(judged.grades)),
                ("with texts of different grades", len(sizes)),
                ("highest grade above the lowest", max(grades, default=0)),
                ("limit", MOST_GRADE),
            ],
        )
    return queries, texts, grades, sizes


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        raise MissingExtraError.of("lightgbm", "yardsticks", "a ranker of boosted trees") from None
    return lightgbm
