"""Training pairs for queries that are documents: halves of an abstract, or neighbouring abstracts.

    python experiments/by_example/training_pairs.py halves --pairs WORK/prepared --out WORK/halves
    python experiments/by_example/training_pairs.py neighbours --pairs WORK/prepared --base BASE --out WORK/neighbours

``halves`` splits an abstract into its sentences with odd numbers and those with even numbers; the title, if the pair
has one, is added to one of them. One half is the query, the other the passage: they have the same topic, share few
phrases, and have half the length of a document. Abstracts with fewer than `SENTENCES` sentences are left out.

``neighbours`` takes a title with its whole abstract as the query, and as the passage the abstract of another paper: one
of the `NEAREST` in the same source by the cosine of a dense encoder. Networks trained on these pairs learn from a
teacher, the dense encoder, which ranks all passages of a batch; the pairs themselves matter little. BASE is a folder
with all-MiniLM-L6-v2.

Random choices are derived from the text, so that the same text always gives the same pair. The input is the output of
``shipped_models/prepare.py``; the output is ``train/<source>.jsonl`` and ``validation/<source>.jsonl``.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import record  # noqa: E402

SOURCES = {"arxiv_cs": True, "arxiv_sci": True, "scitldr": False}
"""Sources in computer science and related fields, and whether their queries are titles."""

SENTENCES = 4

NEAREST = 4
"""Number of neighbours from which one is drawn."""

SAME = 0.97
"""Cosine from which two texts count as the same paper."""

LENGTH = 256
"""Pieces that the dense encoder reads."""

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")

Pairs = Iterator[tuple[str, str]]


def main() -> None:
    parser = record.parser(__doc__)
    parser.add_argument("kind", choices=("halves", "neighbours"))
    parser.add_argument("--pairs", type=Path, required=True, help="output of prepare.py")
    parser.add_argument("--base", type=Path, help="dense encoder, for neighbours")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.kind == "neighbours" and given.base is None:
        parser.error("neighbours need --base")
    make: Callable[[Iterable[tuple[str, str]]], Pairs] = halves
    if given.kind == "neighbours":
        encoder = dense_encoder(given.base)
        make = lambda texts: neighbours(texts, encoder)  # noqa: E731
    for part in ("train", "validation"):
        (given.out / part).mkdir(parents=True, exist_ok=True)
        for source, titled in SOURCES.items():
            with (given.pairs / part / f"{source}.jsonl").open(encoding="utf-8") as file:
                known = [json.loads(line) for line in file]
            pairs = list(make((pair["query"] if titled else "", pair["passage"]) for pair in known))
            with (given.out / part / f"{source}.jsonl").open("w", encoding="utf-8") as file:
                for query, passage in pairs:
                    file.write(json.dumps({"query": query, "passage": passage}, ensure_ascii=False) + "\n")
            record.say(f"{part}/{source}: {len(pairs):,} of {len(known):,}")


def halves(texts: Iterable[tuple[str, str]]) -> Pairs:
    """Split each distinct text, given with its title or an empty string.

    Examples
    --------
    >>> list(halves([("T", "One is. Two is. Three is. Four is.")]))
    [('T. One is. Three is.', 'Two is. Four is.')]
    """
    seen = set()
    for title, text in texts:
        sentences = _END.split(text.strip())
        if len(sentences) < SENTENCES or text in seen:
            continue
        seen.add(text)
        drawn = hashlib.sha256(text.encode()).digest()[0]
        parts = [" ".join(sentences[0::2]), " ".join(sentences[1::2])]
        if title:
            parts[drawn & 1] = f"{title.rstrip('.')}. {parts[drawn & 1]}"
        yield (parts[0], parts[1]) if drawn & 2 else (parts[1], parts[0])


def dense_encoder(base: Path) -> Any:
    """Open a folder of sentence-transformers."""
    module = record.need("sentence_transformers", "sentence-transformers", "finding neighbours")
    encoder = module.SentenceTransformer(str(base), device="cpu", local_files_only=True)
    encoder.max_seq_length = LENGTH
    return encoder


def neighbours(texts: Iterable[tuple[str, str]], encoder: Any) -> Pairs:
    """Yield each distinct text after its title, with a neighbour."""
    whole = with_titles(texts)
    vectors = encoder.encode(
        whole, batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=True
    )
    for text, other in zip(whole, drawn_neighbours(whole, vectors), strict=True):
        yield text, whole[other]


def with_titles(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Return each distinct text after its title.

    Examples
    --------
    >>> with_titles([("A title", "One."), ("Another", "One."), ("", "Two.")])
    ['A title. One.', 'Two.']
    """
    titles: dict[str, str] = {}
    for title, text in texts:
        titles.setdefault(text.strip(), title)
    return [f"{title.rstrip('.')}. {text}" if title else text for text, title in titles.items()]


def drawn_neighbours(texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> list[int]:
    """Return the row of a neighbour of each text.

    Parameters
    ----------
    texts : sequence of str, length n
        Texts, from which the draws are derived.
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
    record.script(main)
