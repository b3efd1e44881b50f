"""Training pairs and held-out pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from termwise.collection.training_pairs import PairSource, read_sources
from termwise.errors import ParameterError
from termwise.storage.safe_read import is_file
from termwise.train.base_encoder import base_name
from termwise.train.data.held_out import HeldOut

_HELD_OUT_SPLITS = ("dev", "validation")
_HELD_OUT_SHARE = 0.02


@dataclass(frozen=True)
class TrainingData:
    """Training pairs and validation data.

    Attributes
    ----------
    sources : list of PairSource
    held_out : HeldOut or None
        None without validation.
    origin : str
        Description of the origin of the held-out pairs.
    """

    sources: list[PairSource]
    held_out: HeldOut | None
    origin: str

    @cached_property
    def digests(self) -> dict[str, str]:
        """Digest of each source by name."""
        return {source.name: source.digest() for source in self.sources}

    @property
    def held_out_digest(self) -> str | None:
        """Digest of the validation data."""
        return None if self.held_out is None else self.held_out.digest()

    def facts(self) -> list[dict[str, Any]]:
        """Return name, number of pairs and digest of each source."""
        return [
            {"name": source.name, "pairs": len(source), "digest": self.digests[source.name]}
            for source in self.sources
        ]


def read_training_data(
    data: Sequence[str | Path], *, validation: str | Path | None, queries: int, seed: int
) -> TrainingData:
    """Read training pairs and held-out pairs.

    Parameters
    ----------
    data : sequence of str or Path
        See `read_sources`; one or more.
    validation : str, Path or None
        Held-out pairs, read like `data`, or ``none``. By default the split ``dev`` or ``validation`` of a BEIR folder;
        without such a split, a fiftieth of the queries is held out.
    queries : int
        Number of held-out queries to draw; 0 for no validation.
    seed : int
        Random seed of the held-out pairs.
    """
    sources = [source for spec in data for source in read_sources(spec)]
    names = [source.name for source in sources]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ParameterError(
            "two sources of training pairs have the same name",
            facts=[("name", repeated[0])],
            fixes=["give each source once; rename the folder or the file of one"],
        )
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
