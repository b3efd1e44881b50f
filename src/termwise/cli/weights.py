"""What is said of weights that go to other systems than those they were chosen for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from termwise.cli.terminal import note

if TYPE_CHECKING:
    from termwise.fusion import Fusion


def say_stand_ins(file: Path, fusion: Fusion, names: Sequence[str]) -> None:
    """Say on stderr which runs or indexes stand for runs of other names; nothing where all names are the same."""
    pairs = [pair for pair in zip(names, fusion.runs, strict=True) if pair[0] != pair[1]]
    told = [
        f"{name} {'that' if place else 'gets the weight'} of {chosen_for}"
        for place, (name, chosen_for) in enumerate(pairs)
    ]
    if told:
        note(f"{file}: {', '.join(told)}")
