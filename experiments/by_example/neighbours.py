"""Training pairs for queries that are documents: a whole abstract, and another one that is near it.

    python experiments/by_example/neighbours.py --pairs WORK/prepared --base BASE --out WORK/neighbours

Halves of one abstract (``halves.py``) are half as long as what is searched with, and nearer to each other than two
papers are. Here the query is a title with its whole abstract, and the passage another paper's, one of the `NEAREST` in
the same source by the cosine of a dense encoder; which one is drawn from the text, so that the same text always gives
the same pair. Whoever is taught with them is to learn the encoder's order of all passages of a batch, not this one:
the teacher counts, the pair hardly.

BASE is a folder with all-MiniLM-L6-v2. Read is what ``shipped_models/prepare.py`` wrote, without whatever a judged
collection holds. Written are ``train/<source>.jsonl`` and ``validation/<source>.jsonl``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import record  # noqa: E402
from halves import SOURCES  # noqa: E402

NEAREST = 4
"""Neighbours that one is drawn from."""

SAME = 0.97
"""Cosine from which two texts are the same paper twice."""

LENGTH = 256
"""Pieces that the dense encoder reads."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=Path, required=True, help="what prepare.py wrote")
    parser.add_argument("--base", type=Path, required=True, help="the dense encoder")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    module: Any = record.need("sentence_transformers", "sentence-transformers", "finding neighbours")
    encoder = module.SentenceTransformer(str(given.base), device="cpu", local_files_only=True)
    encoder.max_seq_length = LENGTH
    for part in ("validation", "train"):
        (given.out / part).mkdir(parents=True, exist_ok=True)
        for source, titled in SOURCES.items():
            with (given.pairs / part / f"{source}.jsonl").open(encoding="utf-8") as file:
                read = [json.loads(line) for line in file]
            texts = whole((one["query"] if titled else "", one["passage"]) for one in read)
            vectors = encoder.encode(
                texts, batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=True
            )
            with (given.out / part / f"{source}.jsonl").open("w", encoding="utf-8") as file:
                for query, passage in zip(texts, drawn_neighbours(texts, vectors), strict=True):
                    file.write(
                        json.dumps({"query": query, "passage": texts[passage]}, ensure_ascii=False) + "\n"
                    )
            record.say(f"{part}/{source}: {len(texts):,} of {len(read):,}")


def whole(read: Any) -> list[str]:
    """Return each text once, after its title.

    Examples
    --------
    >>> whole([("A title", "One."), ("Another", "One."), ("", "Two.")])
    ['A title. One.', 'Two.']
    """
    titles: dict[str, str] = {}
    for title, text in read:
        titles.setdefault(text.strip(), title)
    return [f"{title.rstrip('.')}. {text}" if title else text for text, title in titles.items()]


def drawn_neighbours(texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> list[int]:
    """Return the row of a near text for each text.

    Parameters
    ----------
    texts : sequence of str, length n
        What the draw depends on.
    vectors : ndarray of float32, shape (n, h)
        Their unit vectors.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> drawn_neighbours(["a", "b", "c"], vectors)[0] in (1, 2)
    True
    """
    drawn = []
    for row, text in enumerate(texts):
        cosines = vectors @ vectors[row]
        cosines[row] = -1.0
        cosines[cosines >= SAME] = -1.0
        nearest = np.argsort(-cosines, kind="stable")[:NEAREST]
        drawn.append(int(nearest[hashlib.sha256(text.encode()).digest()[1] % len(nearest)]))
    return drawn


if __name__ == "__main__":
    main()
