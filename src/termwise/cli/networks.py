"""What the verbs that run a network say of work that was or will be interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from termwise.cli.terminal import note


def say_resuming(work: Path, collection: str) -> None:
    """Say on stderr how much of a collection was encoded before, if anything was."""
    from termwise.build import all_blocks, finished_blocks

    done = finished_blocks(work)
    if done:
        length = _length(collection)
        total = None if length is None else all_blocks(work, length)
        blocks = "block is" if done == 1 and total is None else "blocks are"
        note(f"resuming: {done:,}{'' if total is None else f' of {total:,}'} {blocks} done")


def _length(collection: str) -> int | None:
    from termwise.collection import open_collection
    from termwise.errors import TermwiseError

    try:
        return open_collection(collection).length
    except TermwiseError:
        return None  # whoever reads the collection next says what is wrong


@contextmanager
def interrupted_work(work: Path | None) -> Iterator[None]:
    """Say on stderr how to go on, where there are finished blocks and the program is told to end."""
    from termwise.build import finished_blocks

    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if work is not None and (done := finished_blocks(work)):
            blocks = "1 block is" if done == 1 else f"{done:,} blocks are"
            note(f"interrupted: {blocks} done and kept in {work}; the same command goes on from there")
        raise
