r"""Sets of allowed documents: arrays of booleans, packed bits, and the compressed bitmaps of CRoaring (pyroaring).

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/filters.py                              # about a minute, 1 GB of memory

A filter over columns gives an array of booleans. What is measured is what follows: making the set from it,
combining two sets, removing one from the other, counting, and using the set, either as a list of documents or as a
look-up for each of many documents, as retrieval does in the postings. Sets of random documents, and sets in runs of
1,000, as attributes that follow the order of the input give. pyroaring is left out where it is not installed. The
process is bound to one processor; contestants take turns, round after round. Results are printed and appended as
one JSON object to ``benchmarks/results/filters.jsonl``.
"""

from __future__ import annotations

import argparse
import sys
from array import array
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from timing import RESULTS, about, append, each, pinned, timed  # noqa: E402

DENSITIES = (0.5, 0.1, 0.01, 0.001)
RUN = 1000
LOOK_UPS = 100_000

Mask = npt.NDArray[np.bool_]


def random_mask(documents: int, density: float, runs: bool, random: np.random.Generator) -> Mask:
    """Return a random set, document by document or in runs of `RUN` documents."""
    if not runs:
        return random.random(documents) < density
    return np.repeat(random.random(documents // RUN + 1) < density, RUN)[:documents]


def steps_of_arrays(one: Mask, other: Mask, asked: npt.NDArray[np.int64]) -> dict[str, Callable[[], Any]]:
    """Return the steps for arrays of booleans."""
    return {
        "make": lambda: one,
        "and": lambda: one & other,
        "or": lambda: one | other,
        "and not": lambda: one & ~other,
        "count": lambda: int(np.count_nonzero(one)),
        "list": lambda: np.flatnonzero(one),
        "look up": lambda: one[asked],
    }


def steps_of_bits(one: Mask, other: Mask, asked: npt.NDArray[np.int64]) -> dict[str, Callable[[], Any]]:
    """Return the steps for packed bits; lists and look-ups are those of numpy."""
    first, second = np.packbits(one, bitorder="little"), np.packbits(other, bitorder="little")
    size = len(one)
    return {
        "make": lambda: np.packbits(one, bitorder="little"),
        "and": lambda: first & second,
        "or": lambda: first | second,
        "and not": lambda: first & ~second,
        "count": lambda: int(np.bitwise_count(first).sum(dtype=np.int64)),
        "list": lambda: np.flatnonzero(np.unpackbits(first, count=size, bitorder="little").view(np.bool_)),
        "look up": lambda: (first[asked >> 3] >> (asked & 7).astype(np.uint8)) & 1,
    }


def steps_of_roaring(one: Mask, other: Mask, asked: npt.NDArray[np.int64]) -> dict[str, Callable[[], Any]]:
    """Return the steps for CRoaring; it has no call that looks up many documents, so they are intersected."""
    from pyroaring import BitMap

    def numbers(documents: npt.NDArray[np.int64]) -> array[int]:
        return array("I", documents.astype(np.uint32).tobytes())  # pyroaring reads other arrays item by item

    def bitmap(mask: Mask) -> Any:
        made = BitMap(numbers(np.flatnonzero(mask)))
        made.run_optimize()
        return made

    first, second = bitmap(one), bitmap(other)
    wanted = numbers(asked)
    return {
        "make": lambda: bitmap(one),
        "and": lambda: first & second,
        "or": lambda: first | second,
        "and not": lambda: first - second,
        "count": lambda: len(first),
        "list": lambda: np.array(first.to_array()),
        "look up": lambda: first & BitMap(wanted),
    }


def measure(documents: int, density: float, runs: bool, rounds: int, seed: int) -> dict[str, Any]:
    """Time all steps of all contestants for one kind of sets, after a check that they find the same documents."""
    random = np.random.default_rng(seed)
    one, other = (random_mask(documents, density, runs, random) for _ in range(2))
    asked = np.sort(random.integers(0, documents, LOOK_UPS))
    contestants = {
        "booleans": steps_of_arrays(one, other, asked),
        "packed bits": steps_of_bits(one, other, asked),
    }
    if find_spec("pyroaring") is not None:
        contestants["pyroaring"] = steps_of_roaring(one, other, asked)
    lists = [steps["list"]() for steps in contestants.values()]
    counts = [steps["count"]() for steps in contestants.values()]
    if not all(np.array_equal(found, lists[0]) for found in lists) or set(counts) != {len(lists[0])}:
        raise RuntimeError("the contestants disagree")
    table = {}
    for step in contestants["booleans"]:
        timers = {
            name: each([None], lambda _, call=steps[step]: call()) for name, steps in contestants.items()
        }
        kind = "runs" if runs else "random"
        table[step] = timed(
            f"{documents:,} documents, {density:.1%}, {kind}: {step}", timers, rounds, "booleans"
        )
    return table


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, and append to the results."""
    command = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--documents", type=int, default=1_000_000)
    command.add_argument("--rounds", type=int, default=21)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    report: dict[str, Any] = {
        "about": about(("numpy", "pyroaring")) | {"processor": pinned()},
        "documents": arguments.documents,
        "rounds": arguments.rounds,
        "sets": {
            f"{'runs' if runs else 'random'}, {density:.1%}": measure(
                arguments.documents, density, runs, arguments.rounds, arguments.seed
            )
            for runs in (False, True)
            for density in DENSITIES
        },
    }
    append(report, "filters", arguments.out)


if __name__ == "__main__":
    main()
