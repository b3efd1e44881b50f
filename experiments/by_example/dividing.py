"""Which queries choose for which: folds by paper, or a split of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SEED = 0


@dataclass(frozen=True)
class Part:
    """Queries that are reported, and those that choose for them; none is among both."""

    reported: tuple[str, ...]
    choosing: tuple[str, ...]


def by_paper(query_ids: Sequence[str], folds: int, separator: str) -> list[Part]:
    """Deal out queries to folds of about the same size, those of one paper together.

    Examples
    --------
    >>> [part.reported for part in by_paper(["a_x", "b_x", "a_y", "c_x"], 2, "_")]
    [('b_x', 'c_x'), ('a_x', 'a_y')]
    """
    papers = [query_id.partition(separator)[0] if separator else query_id for query_id in query_ids]
    names = sorted(set(papers))
    order = np.random.default_rng(SEED).permutation(len(names))
    fold_of = {names[place]: number % folds for number, place in enumerate(order.tolist())}
    parts = []
    for fold in range(folds):
        mine = [fold_of[paper] == fold for paper in papers]
        reported = tuple(one for one, here in zip(query_ids, mine, strict=True) if here)
        choosing = tuple(one for one, here in zip(query_ids, mine, strict=True) if not here)
        parts.append(Part(reported, choosing))
    return [part for part in parts if part.reported]
