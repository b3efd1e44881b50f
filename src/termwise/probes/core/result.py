"""What a probe found of a ranker, sample by sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.probes.core.effect_rule import difference

Scores = npt.NDArray[np.float64]


class Counts(NamedTuple):
    """How many samples have which effect."""

    positive: int
    neutral: int
    negative: int


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """Scores and effects of the samples of one probe with one scorer.

    Attributes
    ----------
    probe, scorer : str
        Their names.
    symmetric : bool
        Whether effects are 0 and 1 only.
    reading : dict
        What counted as a tie.
    content : str
        Hash of what the samples say; see `termwise.probes.core.sample.content_hash`.
    sample_ids, query_ids : tuple of str of length n
        The samples, in the order of their identifiers.
    first, second : ndarray of shape (n,), float64
        Scores of the two texts.
    effects : ndarray of shape (n,), int8
        +1, 0 or -1.
    identical : int
        Samples whose two sides are the same; they can only be neutral, and pull a score towards 0.
    cut : ndarray of shape (n,), bool; or None
        Samples of which the scorer does not read a part, because a text is longer than its window; None where it does
        not tell.
    """

    probe: str
    scorer: str
    symmetric: bool
    reading: dict[str, Any]
    content: str
    sample_ids: tuple[str, ...]
    query_ids: tuple[str, ...]
    first: Scores
    second: Scores
    effects: npt.NDArray[np.int8]
    identical: int
    cut: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.sample_ids)

    @property
    def counts(self) -> Counts:
        """How many samples have which effect."""
        return Counts(*(int((self.effects == effect).sum()) for effect in (1, 0, -1)))

    @property
    def score(self) -> float | None:
        """The mean effect, from -1 to 1, of symmetric probes from 0 to 1; None without a sample."""
        return float(self.effects.mean(dtype=np.float64)) if len(self) else None

    @property
    def differences(self) -> Scores:
        """Score of the first text minus that of the second: shape (n,)."""
        return difference(self.first, self.second)

    @property
    def query_scores(self) -> dict[str, float]:
        """The mean effect of the samples of each query."""
        places: dict[str, list[int]] = {}
        for place, query_id in enumerate(self.query_ids):
            places.setdefault(query_id, []).append(place)
        return {query_id: float(self.effects[those].mean()) for query_id, those in places.items()}

    def to_json_lines(self) -> Iterator[str]:
        """Yield one JSON object for the probe, then one for each sample.

        Yields
        ------
        str
            ``{"kind": "probe", ...}`` and ``{"kind": "sample", "probe", "scorer", "sample", "query", "first", "second",
            "effect"}``. Infinite scores are the strings ``inf`` and ``-inf``.
        """
        counts = self.counts
        yield json.dumps(
            {
                "kind": "probe",
                "probe": self.probe,
                "scorer": self.scorer,
                "symmetric": self.symmetric,
                "reading": self.reading,
                "content": self.content,
                "samples": len(self),
                "score": self.score,
                **counts._asdict(),
                "identical": self.identical,
                "cut": None if self.cut is None else int(self.cut.sum()),
            },
            ensure_ascii=False,
        )
        for place, sample_id in enumerate(self.sample_ids):
            yield json.dumps(
                {
                    "kind": "sample",
                    "probe": self.probe,
                    "scorer": self.scorer,
                    "sample": sample_id,
                    "query": self.query_ids[place],
                    "first": _json_score(float(self.first[place])),
                    "second": _json_score(float(self.second[place])),
                    "effect": int(self.effects[place]),
                    **({} if self.cut is None else {"cut": bool(self.cut[place])}),
                },
                ensure_ascii=False,
            )


def _json_score(score: float) -> float | str:
    return score if np.isfinite(score) else str(score)
