"""Documents that match a query, with boosts in their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from termwise.engine.boosts import IndexBoosts
from termwise.engine.retrieval import RankedOrdinals, Scored
from termwise.fast_dataclass import dataclass
from termwise.search.parts import Ordinals
from termwise.search.single_index import IndexMatches

if TYPE_CHECKING:
    from termwise.explain.explanation import Explanation
    from termwise.search.mixture import MixtureMatches

FIRST = 4
"""Number of documents that are fetched first, per result."""

LEAST = 100
"""Smallest number of documents that are fetched first."""

DEEPER = 4
"""Factor by which this number grows until no other document can be a result."""


@final
@dataclass(frozen=True, eq=False)
class BoostedMatches:
    """Documents that match a query, with boosts in their scores.

    Attributes
    ----------
    matches : IndexMatches or MixtureMatches
        The documents with their scores without boosts.
    boosts : IndexBoosts
    penalties : IndexBoosts or None
        The boosts with a weight below 0; None without any. In a mixture with vectors, results that match by meaning
        only have no others, unless no document matches by words: so a boost moves none of them above the documents that
        match.
    others : ndarray of int64 or None
        Positions of documents that count as matches by words; see `Search.or_filter`.
    """

    matches: IndexMatches | MixtureMatches
    boosts: IndexBoosts
    penalties: IndexBoosts | None
    others: Ordinals | None = None

    def ordinals(self) -> Ordinals:
        """Return the positions of all matches, in the order of the index."""
        return self.matches.ordinals()

    def best(self, k: int) -> RankedOrdinals:
        """Return the best matches; ties in the order of the input.

        In an index, see `termwise.engine.boosted_retrieval`. Otherwise, the best documents without boosts are fetched,
        and more of them, until the score of the last result is above that of the last document that was fetched with
        the largest possible boost.
        """
        if isinstance(self.matches, IndexMatches):
            found = self.matches.best_boosted(self.boosts, k)
            if found is not None:
                return found
        depth = max(FIRST * k, LEAST)
        while True:
            ordinals, scores = self.matches.best(depth)
            boosted = scores + self.of(ordinals)
            order = np.lexsort((ordinals, -boosted))[:k]
            is_last = len(ordinals) < depth
            if is_last or boosted[order[-1]] > scores[-1] + self.boosts.largest:
                return ordinals[order], boosted[order]
            depth *= DEEPER

    def scores(self, ordinals: Ordinals) -> Scored:
        """Return the scores of any documents; see `IndexMatches.scores`."""
        scores, scored = self.matches.scores(ordinals)
        return scores + self.of(ordinals), scored

    def of(self, ordinals: Ordinals) -> npt.NDArray[np.float64]:
        """Return what boosts add to the score of each document."""
        added = self.boosts.of(ordinals)
        by_words = self._by_words(ordinals)
        if by_words.all():
            return added
        return np.where(by_words, added, 0.0 if self.penalties is None else self.penalties.of(ordinals))

    def _by_words(self, ordinals: Ordinals) -> npt.NDArray[np.bool_]:
        """Return which documents get boosts with a weight above 0, too."""
        found = documents_with_all_boosts(self.matches, ordinals)
        return found if self.others is None else found | np.isin(ordinals, self.others)

    def is_ranked(self, ordinals: Ordinals) -> npt.NDArray[np.bool_]:
        """Return whether each document could be a result; see `IndexMatches.is_ranked`."""
        return self.matches.is_ranked(ordinals)

    def explain(self, doc_ids: Sequence[str], ordinals: Ordinals, centred: bool) -> list[Explanation]:
        """Explain the score of each document, with a contribution of each boost after those of the query."""
        from termwise.explain.boosts import with_boosts

        explanations = self.matches.explain(doc_ids, ordinals, centred)
        return with_boosts(explanations, ordinals, self.boosts, self._by_words(ordinals))


def documents_with_all_boosts(
    matches: IndexMatches | MixtureMatches, ordinals: Ordinals
) -> npt.NDArray[np.bool_]:
    """Return which documents get boosts with a weight above 0, too; see `BoostedMatches.penalties`."""
    if isinstance(matches, IndexMatches) or matches.mixture.meaning_part is None or matches.by_meaning:
        return np.ones(len(ordinals), dtype=np.bool_)
    return matches.by_words(ordinals)
