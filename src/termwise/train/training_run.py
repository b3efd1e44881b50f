"""What a training run was asked for, as all its stages are told it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from accelerate import PartialState

from termwise.collection.pairs import Source
from termwise.encode.tildev2 import Expander
from termwise.progress import Progress
from termwise.train.inputs import Pieces
from termwise.train.settings import TrainSettings
from termwise.train.telling import Say
from termwise.train.validation import HeldOut


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """A run, as it was asked for; what is not described here is a parameter of `termwise.train.run.train_network`.

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
    sources: Sequence[Source]
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

    @property
    def together(self) -> int:
        """Batches of a step."""
        return self.settings.accumulate * int(self.processes.num_processes)

    def described(self) -> dict[str, Any]:
        """Return what tells this run from others, JSON-like."""
        return {
            "kind": self.kind,
            "base": str(self.base),
            "sources": {source.name: source.digest() for source in self.sources},
            "expansion": None if self.expander is None else self.expander.fingerprint,
            "settings": asdict(self.settings),
        }
