"""Scores and effects of one probe and one scorer, sample by sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError
from termwise.fast_dataclass import dataclass
from termwise.probes.core.effect_rule import EffectRule, score_differences
from termwise.probes.core.probe import Probe
from termwise.probes.core.sample import Samples
from termwise.probes.core.score_gaps import Scores
from termwise.scorers.protocol import Pair, TextScorer, WindowedScorer


class Counts(NamedTuple):
    """Number of samples by effect."""

    positive: int
    neutral: int
    negative: int


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """Scores and effects of the samples of one probe with one scorer.

    Attributes
    ----------
    probe, scorer : str
        Names.
    symmetric : bool
        Whether effects are 0 and 1 only.
    rule : dict
        The effect rule, JSON-like.
    content : str
        Hash of the samples; see `termwise.probes.core.sample.Samples`.
    sample_ids, query_ids : tuple of str of length n
        The samples, in the order of their identifiers.
    first, second : ndarray of shape (n,), float64
        Scores of the two texts.
    effects : ndarray of shape (n,), int8
        +1, 0 or -1.
    identical : int
        Samples with equal sides; their effect is always 0.
    cut : ndarray of shape (n,), bool; or None
        Samples with a text that is longer than the window of the scorer; None if the scorer does not report it.
    """

    probe: str
    scorer: str
    symmetric: bool
    rule: dict[str, Any]
    content: str
    sample_ids: tuple[str, ...]
    query_ids: tuple[str, ...]
    first: Scores
    second: Scores
    effects: npt.NDArray[np.int8]
    identical: int
    cut: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls,
        scorer: TextScorer,
        probe: Probe,
        rule: EffectRule,
        samples: Samples,
        scores: Mapping[Pair, float],
    ) -> ProbeResult:
        """Apply the effect rule of a scorer to the scores of all samples, which are ordered by identifier."""
        sides = [sample.pairs for sample in samples]
        first = np.array([scores[pair] for pair, _ in sides], dtype=np.float64)
        second = np.array([scores[pair] for _, pair in sides], dtype=np.float64)
        query_ids = tuple(sample.query_id for sample in samples)
        effects = rule.effects(query_ids, first, second)
        return cls(
            probe=probe.name,
            scorer=scorer.name,
            symmetric=probe.symmetric,
            rule=rule.described(),
            content=samples.content,
            sample_ids=tuple(sample.sample_id for sample in samples),
            query_ids=query_ids,
            first=first,
            second=second,
            effects=np.abs(effects) if probe.symmetric else effects,
            identical=sum(sample.identical for sample in samples),
            cut=_cut_samples(scorer, sides),
        )

    def __len__(self) -> int:
        return len(self.sample_ids)

    @property
    def counts(self) -> Counts:
        """Number of samples by effect."""
        return Counts(*(int((self.effects == effect).sum()) for effect in (1, 0, -1)))

    @property
    def score(self) -> float | None:
        """The mean effect, from -1 to 1, or from 0 to 1 for symmetric probes; None without a sample."""
        return float(self.effects.mean(dtype=np.float64)) if len(self) else None

    @property
    def differences(self) -> Scores:
        """Score of the first text minus score of the second: shape (n,)."""
        return score_differences(self.first, self.second)

    @property
    def query_scores(self) -> dict[str, float]:
        """The mean effect of the samples of each query."""
        positions: dict[str, list[int]] = {}
        for position, query_id in enumerate(self.query_ids):
            positions.setdefault(query_id, []).append(position)
        return {query_id: float(self.effects[those].mean()) for query_id, those in positions.items()}

    def _repr_html_(self) -> str:
        from termwise.display.html import notebook_table

        score = "none" if self.score is None else f"{self.score:+.3f}"
        header = ("probe", "ranker", "score", *Counts._fields, "samples")
        row = (self.probe, self.scorer, score, *map(str, self.counts), str(len(self)))
        return notebook_table("", header, [row])

    def to_json_lines(self) -> Iterator[str]:
        """Yield one JSON object for the probe, then one for each sample.

        Yields
        ------
        str
            ``{"kind": "probe", ...}`` and ``{"kind": "sample", "probe", "scorer", "sample", "query", "first", "second",
            "effect"}``. Infinite scores are the strings ``inf`` and ``-inf``.
        """
        summary = {
            "kind": "probe",
            "probe": self.probe,
            "scorer": self.scorer,
            "symmetric": self.symmetric,
            "effect_rule": self.rule,
            "content": self.content,
            "samples": len(self),
            "score": self.score,
            **self.counts._asdict(),
            "identical": self.identical,
            "cut": None if self.cut is None else int(self.cut.sum()),
        }
        yield json.dumps(summary, ensure_ascii=False)
        for position, sample_id in enumerate(self.sample_ids):
            row = {
                "kind": "sample",
                "probe": self.probe,
                "scorer": self.scorer,
                "sample": sample_id,
                "query": self.query_ids[position],
                "first": json_score(self.first[position]),
                "second": json_score(self.second[position]),
                "effect": int(self.effects[position]),
                **({} if self.cut is None else {"cut": bool(self.cut[position])}),
            }
            yield json.dumps(row, ensure_ascii=False)


def json_score(score: float) -> float | str:
    """Return a score as a JSON value: infinite scores are strings."""
    return float(score) if np.isfinite(score) else str(float(score))


def _cut_samples(scorer: TextScorer, sides: Sequence[tuple[Pair, Pair]]) -> npt.NDArray[np.bool_] | None:
    """Return which samples have a text longer than the window of the scorer; None if the window is unknown."""
    if not isinstance(scorer, WindowedScorer):
        return None
    pairs = list(chain(*sides))
    if not pairs:
        return np.empty(0, dtype=np.bool_)
    returned = scorer.cut([query for query, _ in pairs], [text for _, text in pairs])
    cut = np.asarray(returned)
    if cut.dtype != np.bool_ or cut.shape != (len(pairs),):
        raise DataError(
            "the method cut of the scorer did not return one bool for each text",
            facts=[
                ("scorer", scorer.name),
                ("texts", len(pairs)),
                ("returned", f"{type(returned).__name__}, {shown(returned)}"),
            ],
            fixes=["return an array of bool, one for each text", "remove the method cut"],
        )
    return cut[::2] | cut[1::2]
