"""Training pairs for queries that are documents: the two halves of an abstract.

    python experiments/by_example/halves.py --pairs WORK/prepared --out WORK/halves

Each text of a scientific source is cut into sentences. The first, the third and so on are one half, the others the
other one; the title, where the pair has one, goes with one of them. One half is the query, the other the passage: they
are about the same, share few words in a row, and are as long as half a document each. Which half is which, and which
one has the title, is drawn from the text itself, so that the same text always gives the same pair.

Read is what ``shipped_models/prepare.py`` wrote, without whatever a judged collection holds. Left out are texts of
fewer than `LEAST` sentences. Written are ``train/<source>.jsonl`` and ``validation/<source>.jsonl``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCES = {"arxiv_cs": True, "arxiv_sci": True, "scitldr": False}
"""Sources on computer science and its neighbours, and whether their queries are titles."""

LEAST = 4
"""Sentences, at least."""

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=Path, required=True, help="what prepare.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    for part in ("train", "validation"):
        (given.out / part).mkdir(parents=True, exist_ok=True)
        for source, titled in SOURCES.items():
            with (given.pairs / part / f"{source}.jsonl").open(encoding="utf-8") as file:
                read = [json.loads(line) for line in file]
            pairs = list(halves((one["query"] if titled else "", one["passage"]) for one in read))
            with (given.out / part / f"{source}.jsonl").open("w", encoding="utf-8") as file:
                for query, passage in pairs:
                    file.write(json.dumps({"query": query, "passage": passage}, ensure_ascii=False) + "\n")
            print(f"{part}/{source}: {len(pairs):,} of {len(read):,}", flush=True)


def halves(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Cut each text once, given its title or an empty one.

    Examples
    --------
    >>> list(halves([("T", "One is. Two is. Three is. Four is.")]))
    [('T. One is. Three is.', 'Two is. Four is.')]
    """
    seen = set()
    for title, text in texts:
        sentences = _END.split(text.strip())
        if len(sentences) < LEAST or text in seen:
            continue
        seen.add(text)
        drawn = hashlib.sha256(text.encode()).digest()[0]
        parts = [" ".join(sentences[0::2]), " ".join(sentences[1::2])]
        if title:
            place = drawn & 1
            parts[place] = f"{title.rstrip('.')}. {parts[place]}"
        yield (parts[0], parts[1]) if drawn & 2 else (parts[1], parts[0])


if __name__ == "__main__":
    main()
