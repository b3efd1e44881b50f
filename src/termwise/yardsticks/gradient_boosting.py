"""A ranker of boosted trees over what can be counted of a query and a text: LambdaRank by LightGBM.

Burges, "From RankNet to LambdaRank to LambdaMART", 2010; Ke et al., NeurIPS 2017. It is here as a ranker that learned
from judgments and knows of no meaning, beside those that count and those that read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, MissingExtraError, ModelFormatError
from termwise.scorers.background import Background
from termwise.scorers.protocol import BasePairScorer
from termwise.settings import TypedSettings
from termwise.text import make_analyzer
from termwise.validation import check, check_names, check_pairs
from termwise.yardsticks.text_features import TextFeatures

ANALYZERS = ("standard", "english")

MOST_GRADE = 30
"""What a grade may be at the most, above the lowest; the gain of a text is 2 to the power of it."""


class Judgments(Protocol):
    """Texts that somebody judged for queries; `termwise.probes.core.judged_texts.JudgedTexts` is one."""

    @property
    def queries(self) -> Mapping[str, str]:
        """Texts of queries, by identifier."""
        ...

    @property
    def texts(self) -> Mapping[str, str]:
        """Texts of documents, by identifier."""
        ...

    @property
    def grades(self) -> Mapping[str, Mapping[str, int]]:
        """By query and document."""
        ...

    @property
    def lowest(self) -> int:
        """The grade of what has nothing to do with a query."""
        ...


@dataclass(frozen=True, kw_only=True)
class BoostingSettings(TypedSettings):
    """How trees are grown; see the documentation of LightGBM.

    Attributes
    ----------
    rounds : int
        Trees.
    learning_rate : float
        What each tree adds.
    leaves : int
        Of a tree, at the most.
    least : int
        Texts in a leaf, at the least.
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
    """Scores texts by boosted trees; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    model : str
        As LightGBM writes it.
    features : TextFeatures
        What the trees were grown on, in the same order.
    name : str, optional
        What the scorer is called in tables.

    Raises
    ------
    MissingExtraError
        If LightGBM is not installed.
    ModelFormatError
        If LightGBM cannot read the model, or it was grown on other features.
    """

    def __init__(self, model: str, features: TextFeatures, *, name: str = "gradient-boosting") -> None:
        check("name", name, isinstance(name, str) and bool(name), "a name")
        lightgbm = _library()
        try:
            self._trees = lightgbm.Booster(model_str=model)
        except (lightgbm.basic.LightGBMError, ValueError, TypeError) as error:
            raise ModelFormatError(
                "the trees of the ranker cannot be read", facts=[("LightGBM says", str(error)[:200])]
            ) from error
        if tuple(self._trees.feature_name()) != features.names:
            raise ModelFormatError(
                "the trees of the ranker were grown on other features",
                facts=[
                    ("features of the trees", ", ".join(self._trees.feature_name())[:200]),
                    ("features here", ", ".join(features.names)[:200]),
                ],
            )
        self.model = model
        self.features = features
        self.name = name
        self.fingerprint = f"sha256:{sha256((features.fingerprint + model).encode()).hexdigest()}"

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Returns
        -------
        ndarray of shape (n,), float64
            Sums of leaves: texts that fall into the same ones have equal scores.
        """
        check_pairs(queries, texts)
        if not texts:
            return np.zeros(0)
        return np.asarray(
            self._trees.predict(self.features.of_pairs(queries, texts), num_threads=1), np.float64
        )

    def gains(self) -> dict[str, float]:
        """Return what splits on each feature gained in training, the largest first."""
        found = dict(zip(self.features.names, self._trees.feature_importance("gain").tolist(), strict=True))
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def train_gradient_boosting(
    judged: Judgments,
    background: Background,
    *,
    analyzers: Sequence[str] = ANALYZERS,
    settings: BoostingSettings | None = None,
    name: str = "gradient-boosting",
) -> GradientBoostingScorer:
    """Grow trees on the judgments of a collection.

    The same judgments, statistics and settings give the same trees.

    Parameters
    ----------
    judged : Judgments
        Only texts that were judged are read: what nobody judged is unknown.
    background : Background
        Collection whose statistics BM25 and idf have.
    analyzers : sequence of str, optional
        What makes terms; each gives features of its own.
    settings : BoostingSettings, optional
    name : str, optional

    Raises
    ------
    MissingExtraError
        If LightGBM is not installed.
    DataError
        If no query has texts of different grades, or a grade is too high.
    """
    check_names("analyzers", analyzers)
    check(
        "analyzers",
        analyzers,
        bool(analyzers) and len(set(analyzers)) == len(analyzers),
        "different analyzers",
    )
    lightgbm = _library()
    chosen = BoostingSettings() if settings is None else settings
    cuts = [make_analyzer(each) for each in analyzers]
    features = TextFeatures([(cut, background.tokens(cut)) for cut in cuts])
    queries, texts, grades, sizes = _rows(judged)
    trees = lightgbm.train(
        {
            "objective": "lambdarank",
            "learning_rate": chosen.learning_rate,
            "num_leaves": chosen.leaves,
            "min_data_in_leaf": chosen.least,
            "seed": chosen.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "label_gain": [2**grade - 1 for grade in range(MOST_GRADE + 1)],
            "verbosity": -1,
        },
        lightgbm.Dataset(
            features.of_pairs(queries, texts), label=grades, group=sizes, feature_name=list(features.names)
        ),
        num_boost_round=chosen.rounds,
    )
    return GradientBoostingScorer(trees.model_to_string(), features, name=name)


def _rows(judged: Judgments) -> tuple[list[str], list[str], list[int], list[int]]:
    queries: list[str] = []
    texts: list[str] = []
    grades: list[int] = []
    sizes = []
    for query_id in sorted(judged.grades):
        of_query = judged.grades[query_id]
        above = {doc_id: max(0, of_query[doc_id] - judged.lowest) for doc_id in sorted(of_query)}
        if len(set(above.values())) < 2:
            continue
        sizes.append(len(above))
        queries += [judged.queries[query_id]] * len(above)
        texts += [judged.texts[doc_id] for doc_id in above]
        grades += above.values()
    if not sizes or max(grades) > MOST_GRADE:
        raise DataError(
            "there is nothing to learn from" if not sizes else "a grade is too high",
            facts=[
                ("queries", len(judged.grades)),
                ("with texts of different grades", len(sizes)),
                ("highest grade above the lowest", max(grades, default=0)),
                ("allowed", MOST_GRADE),
            ],
        )
    return queries, texts, grades, sizes


def _library() -> Any:
    try:
        import lightgbm
    except ImportError:
        raise MissingExtraError.of("lightgbm", "yardsticks", "a ranker of boosted trees") from None
    return lightgbm
