"""Held-out queries, the pool of passages that they rank, and the measures of these rankings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.errors import EmptyCollectionError
from termwise.evaluate import evaluate
from termwise.fast_dataclass import dataclass
from termwise.records import Qrel, Ranking, Run
from termwise.train.inputs import Ids, Pieces
from termwise.train.settings import TrainSettings

SELECTION_MEASURE = "nDCG@10"
"""Measure that selects the best checkpoint."""

MEASURES = (SELECTION_MEASURE, "RR@10")


@dataclass(frozen=True)
class HeldOut:
    """Held-out queries and the pool of passages: all that are relevant to one of the queries.

    The identifiers of the judgments are positions, as strings. `expansions` has the expansion terms of each passage.
    """

    queries: tuple[str, ...]
    passages: tuple[str, ...]
    qrels: tuple[Qrel, ...]
    expansions: tuple[Ids, ...] | None = None

    @classmethod
    def sample(cls, sources: Sequence[PairSource], *, queries: int, seed: int) -> HeldOut:
        """Draw at most `queries` queries with all relevant passages, in equal numbers from the sources if possible."""
        random = np.random.default_rng(seed)
        texts: list[str] = []
        pool: dict[tuple[int, int], int] = {}
        passages: list[str] = []
        qrels = []
        left = queries
        sizes = [len(np.unique(source.pairs[:, 0])) for source in sources]
        for position, number in enumerate(np.argsort(sizes, kind="stable").tolist()):
            source = sources[number]
            judged = np.unique(source.pairs[:, 0])
            chosen = random.permutation(judged)[: left // (len(sources) - position)]
            left -= len(chosen)
            names = {int(query): str(len(texts) + offset) for offset, query in enumerate(chosen.tolist())}
            texts += [source.queries[query] for query in names]
            for query, passage in source.pairs.tolist():
                if query in names:
                    if (number, passage) not in pool:
                        pool[number, passage] = len(passages)
                        passages.append(source.passages[passage])
                    qrels.append(Qrel(names[query], str(pool[number, passage]), 1))
        if not texts:
            raise EmptyCollectionError(
                "there is no query for validation",
                facts=[("held-out pairs", sum(map(len, sources))), ("validation_queries", queries)],
                fixes=["hold out more pairs, or train without validation"],
            )
        return cls(tuple(texts), tuple(passages), tuple(qrels))

    def digest(self) -> str:
        """Return ``sha256:`` and the digest of queries, passages and judgments in order."""
        digest = hashlib.sha256()
        for texts in (self.queries, self.passages, [part for qrel in self.qrels for part in map(str, qrel)]):
            digest.update(len(texts).to_bytes(8, "big"))
            for text in texts:
                data = text.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "big") + data)
        return f"sha256:{digest.hexdigest()}"

    def expanded(self, expander: Expander, pieces: Pieces, settings: TrainSettings) -> HeldOut:
        """Return a copy with expanded passages, truncated as in training."""
        windows = [pieces(text)[: settings.document_length - 2].astype(np.int32) for text in self.passages]
        added = tuple(terms.astype(np.int64) for terms in expander.expansions(windows))
        return replace(self, expansions=added)


def measure_scores(scores: npt.NDArray[np.floating[Any]], held_out: HeldOut) -> dict[str, float]:
    """Return the value of each of `MEASURES` for the rankings by scores, of shape (queries, passages)."""
    rankings = []
    for number, row in enumerate(scores):
        best = np.argsort(-row, kind="stable")[:10]
        rankings.append(Ranking([str(i) for i in best.tolist()], row[best].astype(np.float64), str(number)))
    return measure_rankings(rankings, held_out)


def measure_rankings(rankings: Sequence[Ranking], held_out: HeldOut) -> dict[str, float]:
    """Return the value of each of `MEASURES` for rankings of held-out passages by position, as strings."""
    means = evaluate(Run(rankings, "validation"), list(held_out.qrels), list(MEASURES)).means
    return {name: float(value) for name, value in means.items() if value is not None}
