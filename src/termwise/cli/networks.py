"""What the verbs that run a network say of work that was or will be interrupted."""

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
    collection: str,
    model: NetworkModel,
    *,
    fields: tuple[str, ...] | None,
    precision: Literal["float32", "int8"] | None,
    providers: Sequence[str] | None,
) -> None:
    """Say on stderr how much of a collection need not be encoded again, if anything is there."""
    from termwise.build import finished_blocks
    from termwise.errors import TermwiseError

    try:
        done, total = finished_blocks(
            collection, work, model=model, fields=fields, precision=precision, providers=providers
        )
    except TermwiseError:
        return  # whoever opens these next says what is wrong
    if done:
        note(f"resuming: {done:,} of {total:,} {'block is' if total == 1 else 'blocks are'} done")


@contextmanager
def interrupted_work(work: Path | None) -> Iterator[None]:
    """Say on stderr how to go on, where there are blocks and the program is told to end."""
    from termwise.encode.blocks import block_files

    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if work is not None and block_files(work):
            note(f"interrupted: finished blocks are kept in {work}; the same command goes on from there")
        raise
