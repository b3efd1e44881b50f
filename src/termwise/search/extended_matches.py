"""Documents that match a query, and others that are results too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.retrieval import RankedOrdinals, Scored
from termwise.fast_dataclass import dataclass
from termwise.search.boosted_matches import BoostedMatches
from termwise.search.parts import Ordinals
from termwise.search.single_index import IndexMatches

if TYPE_CHECKING:
    from termwise.explain.explanation import Explanation
    from termwise.search.mixture import MixtureMatches


@final
@dataclass(frozen=True, eq=False)
class ExtendedMatches:
    """Documents that match a query, and others that are results too; see `Search.or_filter`.

    Attributes
    ----------
    matches : IndexMatches, MixtureMatches or BoostedMatches
    others : ndarray of int64
        Positions of the other documents, ascending; some of them can match the query.
    """

    matches: IndexMatches | MixtureMatches | BoostedMatches
    others: Ordinals

    def ordinals(self) -> Ordinals:
        """Return the positions of all results, in the order of the index."""
        return np.union1d(self.matches.ordinals(), self.others)

    def best(self, k: int) -> RankedOrdinals:
        """Return the best results; ties in the order of the input."""
        ordinals, scores = self.matches.best(k)
        others = self.others[~np.isin(self.others, ordinals)]
        spend(len(others))
        ordinals = np.concatenate([ordinals, others])
        scores = np.concatenate([scores, self.matches.scores(others)[0]])
        order = np.lexsort((ordinals, -scores))[:k]
        return ordinals[order], scores[order]

    def scores(self, ordinals: Ordinals) -> Scored:
        """Return the scores of any documents; see `IndexMatches.scores`."""
        return self.matches.scores(ordinals)

    def is_ranked(self, ordinals: Ordinals) -> npt.NDArray[np.bool_]:
        """Return whether each document could be a result; see `IndexMatches.is_ranked`."""
        return self.matches.is_ranked(ordinals) | np.isin(ordinals, self.others)

    def explain(self, doc_ids: Sequence[str], ordinals: Ordinals, centred: bool) -> list[Explanation]:
        """Explain the score of each document as a sum over terms; see `Results.explain`."""
        return self.matches.explain(doc_ids, ordinals, centred)
