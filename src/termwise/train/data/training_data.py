"""What a network is trained on, and the pairs that are held out to validate it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from termwise.collection.pairs import PairSource, read_sources
from termwise.errors import ParameterError
from termwise.train.base_encoder import base_name
from termwise.train.loop.validation import HeldOut

HELD_OUT_SPLITS = ("dev", "validation")

_HELD_OUT_SHARE = 0.02


@dataclass(frozen=True)
class TrainingData:
    """Pairs to train on and pairs to validate on.

    Attributes
    ----------
    sources : list of PairSource
    held_out : HeldOut or None
        None where validation is switched off.
    origin : str
        Where the held-out pairs come from, in words.
    """

    sources: list[PairSource]
    held_out: HeldOut | None
    origin: str


def read_training_data(
    data: Sequence[str | Path], *, validation: str | Path | None, queries: int, seed: int
) -> TrainingData:
    """Read what a network is trained and validated on.

    Parameters
    ----------
    data : sequence of str or Path
        See `read_sources`; several are taken together.
    validation : str, Path or None
        Held-out pairs, read like `data`, or the word ``none``. Where nothing is said: the split ``dev`` or
        ``validation`` of a BEIR folder; failing that, a fiftieth of the queries is held out.
    queries : int
        Held-out queries to draw; 0 for no validation.
    seed : int
        Of what is held out and drawn.

    Raises
    ------
    ParameterError
        If two sources have the same name.
    """
    sources = [source for spec in data for source in read_sources(spec)]
    names = [source.name for source in sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(
            "two sources of training pairs have one name",
            facts=[("name", twice[0])],
            fixes=["give each source once; rename the folder or the file of one"],
        )
    if validation == "none" or queries == 0:
        return TrainingData(sources, None, "none")
    if validation is not None:
        held, origin = read_sources(validation), base_name(validation)
    else:
        split = next((name for name in HELD_OUT_SPLITS if all(_has_split(spec, name) for spec in data)), None)
        if split is not None:
            held, origin = (
                [source for spec in data for source in read_sources(spec, split=split)],
                f"split {split}",
            )
        else:
            parted = [_parted(source, seed) for source in sources]
            sources, held = [one for one, _ in parted], [other for _, other in parted]
            origin = f"a fiftieth of the queries, drawn with seed {seed}"
    chosen = HeldOut.sample(held, queries=queries, seed=seed)
    return TrainingData(sources, chosen, origin)


def _has_split(spec: str | Path, split: str) -> bool:
    folder = Path(spec) / "qrels"
    return any((folder / f"{split}.tsv{ending}").is_file() for ending in ("", ".gz"))


def _parted(source: PairSource, seed: int) -> tuple[PairSource, PairSource]:
    """Hold out some of the queries with their pairs."""
    random = np.random.default_rng(seed)
    queries = np.unique(source.pairs[:, 0])
    count = max(1, round(_HELD_OUT_SHARE * len(queries)))
    held = np.isin(source.pairs[:, 0], random.permutation(queries)[:count])
    return (
        PairSource(source.name, source.queries, source.passages, source.pairs[~held]),
        PairSource(source.name, source.queries, source.passages, source.pairs[held]),
    )
