"""What a training run was asked for, as all its stages are told it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from accelerate import PartialState

from termwise.collection.pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.progress import Progress
from termwise.train.data.batches import pairs_of_an_epoch
from termwise.train.data.inputs import Pieces
from termwise.train.loop.initial_weights import continued_encoder
from termwise.train.loop.validation import HeldOut
from termwise.train.messages import Say
from termwise.train.settings import TrainSettings


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """A run, as it was asked for; what is not described here is a parameter of `termwise.train.loop.run.train_network`.

    Attributes
    ----------
    pieces : Pieces
        The tokenizer of the encoder.
    processes : PartialState
        This process among those that share the run.
    say : callable
        Silent in all processes but the first.
    """

    kind: str
    sources: Sequence[PairSource]
    base: str | Path
    folder: Path
    pieces: Pieces
    settings: TrainSettings
    held_out: HeldOut | None
    expander: Expander | None
    resume: bool
    threads: int
    processes: PartialState
    progress: Progress
    say: Say

    @property
    def is_first(self) -> bool:
        """Whether this is the process that mines, expands, fits the head and writes."""
        return bool(self.processes.is_main_process)

    @cached_property
    def continues(self) -> bool:
        """Whether the base is an encoder of this kind already, with whose head training goes on."""
        return continued_encoder(self.kind, self.base) is not None

    @property
    def batches_per_step(self) -> int:
        """Batches of a step."""
        return self.settings.accumulate * int(self.processes.num_processes)

    @property
    def taken(self) -> list[int]:
        """Pairs that an epoch takes of each source; 0 for one that is left out."""
        settings = self.settings
        taken: list[int] = pairs_of_an_epoch(
            [len(source) for source in self.sources],
            batch=settings.batch,
            mixing=settings.mixing,
            flattening=settings.flattening,
            block=settings.block,
        ).tolist()
        return taken

    @property
    def used(self) -> dict[str, int]:
        """The sources that batches are made of: all pairs of each by its name."""
        return {one.name: len(one) for one, taken in zip(self.sources, self.taken, strict=True) if taken}

    @property
    def omitted(self) -> dict[str, int]:
        """The sources with too few pairs for a batch, likewise."""
        return {one.name: len(one) for one, taken in zip(self.sources, self.taken, strict=True) if not taken}

    def described(self) -> dict[str, Any]:
        """Return what tells this run from others, JSON-like."""
        return {
            "kind": self.kind,
            "base": str(self.base),
            "sources": {source.name: source.digest() for source in self.sources},
            "validation": None if self.held_out is None else self.held_out.digest(),
            "expansion": None
            if self.expander is None
            else {"fingerprint": self.expander.fingerprint, "precision": self.expander.session.precision},
            "settings": asdict(self.settings),
        }
