"""Recipes of mixtures: the models whose indexes are built side by side, their weights, and the depth.

Weights and scales were chosen on the development queries of the collections in docs/results.md, and are frozen;
``experiments/results/fixed_scales.md`` has the scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from termwise.engine.feedback import Feedback
from termwise.fast_dataclass import dataclass
from termwise.search.mixture_folder import DEPTH


@dataclass(frozen=True)
class RecipePart:
    """One part of a recipe.

    Attributes
    ----------
    model : str
        Name of the model.
    weight : float
        Weight of its normalised scores.
    settings : mapping of str to str
        Parameters of the model.
    name : str
        Name of the part; by default that of the model.
    retrieves : bool
        Whether the part finds candidates, see `termwise.search.Part`.
    scale : float or None
        Typical deviation of its scores, see `termwise.search.Part`.
    """

    model: str
    weight: float
    settings: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    retrieves: bool = True
    scale: float | None = None

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.model)


@dataclass(frozen=True)
class Recipe:
    """Parts of a mixture.

    Attributes
    ----------
    parts : tuple of RecipePart
        The first one stores the texts.
    depth : int
        Number of results that each part contributes to the candidates.
    feedback : Feedback or None
        Settings of feedback.
    """

    parts: tuple[RecipePart, ...]
    depth: int = DEPTH
    feedback: Feedback | None = None


BEST = "best"
"""Name of the recommended mixture, in place of the name of a model."""

LARGE = "best-large"
"""Name of the mixture with a second document encoder, which scores the candidates of the other parts."""

INSTANT = "instant"
"""Name of the mixture that is built without a network, as fast as an index of BM25 within a factor of two."""

RECIPES = {
    INSTANT: Recipe(
        (
            RecipePart("bm25", 0.4, scale=1.419),
            RecipePart("lookup", 0.6, {"documents": "table"}, name="table", scale=0.0773),
        ),
        feedback=Feedback(),
    ),
    LARGE: Recipe(
        (
            RecipePart("bm25", 0.2, scale=1.453),
            RecipePart("lookup", 0.4, scale=0.07947),
            RecipePart("lookup", 0.4, {"encoder": "granite"}, name="granite", retrieves=False, scale=0.05694),
        ),
        feedback=Feedback(),
    ),
    BEST: Recipe(
        (RecipePart("bm25", 0.3, scale=1.453), RecipePart("lookup", 0.7, scale=0.07947)), feedback=Feedback()
    ),
}
"""Recipes by name."""
