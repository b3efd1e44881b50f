"""Training pairs and held-out pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from termwise.collection.training_pairs import PairSource, different_sources, read_sources
from termwise.fast_dataclass import dataclass
from termwise.storage.safe_read import is_file
from termwise.train.base_encoder import base_name
from termwise.train.data.held_out import HeldOut

_HELD_OUT_SPLITS = ("dev", "validation")
_HELD_OUT_SHARE = 0.02


@dataclass(frozen=True)
class TrainingData:
    """Training pairs, validation data or None, and a description of the origin of the held-out pairs."""

    sources: list[PairSource]
    held_out: HeldOut | None
    origin: str

    def identity(self) -> dict[str, Any]:
        """Return the digests of each source by name, and of the validation data, for the record of a run."""
        return {
            "sources": {source.name: source.digest() for source in self.sources},
            "validation": None if self.held_out is None else self.held_out.digest(),
        }


def read_training_data(
    data: Sequence[str | Path], *, validation: str | Path | None, queries: int, seed: int
) -> TrainingData:
    """Read training pairs (`read_sources`), and draw a number of held-out queries; 0 for no validation.

    `validation` has held-out pairs in the same forms, or is ``none``. By default they come from the split ``dev`` or
    ``validation`` of a BEIR folder; without such a split, a fiftieth of the queries is held out.
    """
    sources = list(different_sources(data))
    if validation == "none" or queries == 0:
        return TrainingData(sources, None, "none")
    split = next((name for name in _HELD_OUT_SPLITS if all(_has_split(spec, name) for spec in data)), None)
    if validation is not None:
        held, origin = read_sources(validation), base_name(validation)
    elif split is not None:
        held = [source for spec in data for source in read_sources(spec, split=split)]
        origin = f"split {split}"
    else:
        parts = [_split_queries(source, seed) for source in sources]
        sources, held = [train for train, _ in parts], [held_out for _, held_out in parts]
        origin = f"a fiftieth of the queries, drawn with seed {seed}"
    return TrainingData(sources, HeldOut.sample(held, queries=queries, seed=seed), origin)


def _has_split(spec: str | Path, split: str) -> bool:
    folder = Path(spec) / "qrels"
    return any(is_file(folder / f"{split}.tsv{ending}") for ending in ("", ".gz"))


def _split_queries(source: PairSource, seed: int) -> tuple[PairSource, PairSource]:
    """Split a source into training pairs and the pairs of held-out queries."""
    random = np.random.default_rng(seed)
    queries = np.unique(source.pairs[:, 0])
    count = max(1, round(_HELD_OUT_SHARE * len(queries)))
    held = np.isin(source.pairs[:, 0], random.permutation(queries)[:count])
    return (
        PairSource(source.name, source.queries, source.passages, source.pairs[~held]),
        PairSource(source.name, source.queries, source.passages, source.pairs[held]),
    )
