"""What the verbs that run a network say when work is interrupted or resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from termwise.cli.terminal import note

if TYPE_CHECKING:
    from termwise.models import NetworkModel


def say_resuming(
    work: Path,
    model: NetworkModel,
    *,
    precision: Literal["float32", "int8"] | None,
    providers: Sequence[str] | None,
) -> None:
    """Say on stderr how many blocks of documents are encoded already, if any."""
    from termwise.errors import TermwiseError
    from termwise.indexing import finished_blocks

    try:
        done = finished_blocks(work, model=model, precision=precision, providers=providers)
    except TermwiseError:
        return  # whoever opens these next says what is wrong
    if done:
        note(f"resuming: {done:,} finished {'block is' if done == 1 else 'blocks are'} kept in {work}")


@contextmanager
def interrupted_work(work: Path | None) -> Iterator[None]:
    """Say on stderr how to resume where the program is told to end and blocks are kept."""
    from termwise.encode.blocks import block_files

    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if work is not None and block_files(work):
            note(f"interrupted: finished blocks are kept in {work}; the same command goes on from there")
        raise
