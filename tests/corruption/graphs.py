"""Change numbers of a graph, recompute its checksums, and use and verify the index each time.

As a program: ``graphs.py FOLDER CHANGES``. It prints how many changes were noticed, and how many were not. A
change that nobody notices must be harmless: the program would end with a signal otherwise.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from reseal import seal, sections

import termwise
from termwise.errors import CorruptIndexError
from termwise.index import verify
from termwise.search import Search

EXTREMES = (0, 1, 2, 15, 16, 31, 33, 255, 256, 1 << 15, (1 << 16) - 1, 1 << 24, (1 << 31) - 1, (1 << 32) - 1)


def main(folder: Path, changes: int) -> None:
    (path,) = folder.glob("graph-*")
    intact = path.read_bytes()
    start, length, _ = sections(intact)["graph.usearch"]
    rows, width = (int.from_bytes(intact[start + at : start + at + 4], "little") for at in (0, 4))
    links = start + 8 + rows * width
    random.seed(7)
    found = {"noticed": 0, "unnoticed": 0}
    for number in range(changes):
        data = bytearray(intact)
        for _ in range(random.choice((1, 1, 4))):
            # The numbers before the nodes decide most, and are few.
            last = links + 120 if number % 3 == 0 else start + length
            at = random.randrange(start if number % 5 == 0 else links, last - 8)
            size = random.choice((1, 2, 4, 8))
            data[at : at + size] = random.choice(EXTREMES).to_bytes(8, "little")[:size]
        if number % 11 == 0:
            del data[-random.choice((1, 4, 64, 1000)) :]
        seal(data)
        path.unlink()
        path.write_bytes(data)
        damaged = bool(verify(folder))
        try:
            searcher = termwise.open(folder)
            for query in ("t1 t2", "t3", "t8 t8 t9"):
                assert len(searcher.search(Search(query, k=5, approximate=20)).ranking) <= 5
            noticed = False
        except CorruptIndexError:
            noticed = True
        assert noticed == damaged, number
        found["noticed" if noticed else "unnoticed"] += 1
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
