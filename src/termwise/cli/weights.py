"""What is said of weights that go to other systems than those they were chosen for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from termwise.cli.terminal import note

if TYPE_CHECKING:
    from termwise.fusion import Fusion
    from termwise.records import Run


def say_stand_ins(file: Path, fusion: Fusion, names: Sequence[str]) -> None:
    """Say on stderr which runs or indexes stand for runs of other names; nothing where all names are the same."""
    pairs = [pair for pair in zip(names, fusion.runs, strict=True) if pair[0] != pair[1]]
    told = [
        f"{name} {'that' if place else 'gets the weight'} of {chosen_for}"
        for place, (name, chosen_for) in enumerate(pairs)
    ]
    if told:
        note(f"{file}: {', '.join(told)}")


def say_chosen_here(file: Path, fusion: Fusion, run: Run) -> None:
    """Say on stderr that weights are used on the very queries that chose them, where they are."""
    if fusion.learned is not None and fusion.learned.chose_on(run.rankings):
        note(f"{file}: chosen on these very queries; measure on others what the weights are worth")
