"""Hard negatives: passages that BM25 ranks high for a query and that nobody judged relevant to it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection.pairs import PairSource
from termwise.indexing import build_index
from termwise.progress import Progress, no_progress
from termwise.records import Document, Query
from termwise.train.data.cached_arrays import keep, kept, kept_or_made, unlike
from termwise.train.messages import Say

KEPT = 64
"""Negatives kept of each pair; a training step draws from them."""

NEGATIVES = "negatives.npz"
"""The file of a run that keeps them."""

_QUERIES = 2048


def mine_negatives(
    source: PairSource,
    *,
    depth: int,
    seed: int,
    threads: int = 1,
    folder: str | Path | None = None,
    progress: Progress = no_progress,
) -> npt.NDArray[np.int32]:
    """Rank the passages of a source with BM25 for each of its queries, and draw negatives from the top.

    Parameters
    ----------
    source : PairSource
        Its passages are the collection that is searched.
    depth : int
        Ranks to draw from, 1 or more; the published training data of TILDEv2 draws from 1,000.
    seed : int
        Of the draw.
    threads : int, optional
        The result does not depend on it.
    folder : str or Path, optional
        Where the BM25 index is built and removed again; by default where the system keeps temporary files.
    progress : callable, optional
        Called with a stage, what is done, and the total.

    Returns
    -------
    ndarray of shape (n, m), int32
        For each pair of the source the positions of up to 64 passages, none relevant to the query by any pair;
        -1 fills up where BM25 finds fewer.
    """
    random = np.random.default_rng(seed)
    relevant: dict[int, set[int]] = {}
    for query, passage in source.pairs.tolist():
        relevant.setdefault(query, set()).add(passage)
    drawn = np.full((len(source.queries), KEPT), -1, dtype=np.int32)
    with tempfile.TemporaryDirectory(dir=folder, prefix="negatives-") as place:
        documents = [Document(str(number), text) for number, text in enumerate(source.passages)]
        searcher = build_index(documents, Path(place) / "passages.tw", threads=threads)
        asked = sorted(relevant)
        for start in range(0, len(asked), _QUERIES):
            part = asked[start : start + _QUERIES]
            queries = [Query(str(number), source.queries[number]) for number in part]
            for ranking in searcher.rank_many(queries, k=depth + 1, threads=threads).run:
                number = int(ranking.query_id)
                found = [int(doc_id) for doc_id in ranking.doc_ids if int(doc_id) not in relevant[number]][
                    :depth
                ]
                chosen = random.permutation(np.array(found, dtype=np.int32))[:KEPT]
                drawn[number, : len(chosen)] = chosen
            progress("mine negatives", start + len(part), len(asked))
    return drawn[source.pairs[:, 0]]


def negatives_of(
    sources: Sequence[PairSource],
    folder: Path,
    *,
    depth: int,
    seed: int,
    threads: int,
    progress: Progress,
    say: Say,
) -> list[npt.NDArray[np.int32]]:
    """Mine the negatives of all sources of a run, or read those that it keeps in its folder; see `mine_negatives`."""

    def mine() -> list[npt.NDArray[np.int32]]:
        say("ranking the passages with BM25 for hard negatives")
        mined = [
            mine_negatives(source, depth=depth, seed=seed, threads=threads, folder=folder, progress=progress)
            for source in sources
        ]
        keep_negatives(folder / NEGATIVES, mined)
        return mined

    return kept_or_made(folder / NEGATIVES, lambda: kept_negatives(folder / NEGATIVES, sources), mine, say)


def keep_negatives(file: Path, mined: Sequence[npt.NDArray[np.int32]]) -> None:
    """Write the negatives of the sources of a run."""
    keep(file, {_name(number): found for number, found in enumerate(mined)})


def kept_negatives(file: Path, sources: Sequence[PairSource]) -> list[npt.NDArray[np.int32]]:
    """Read what `keep_negatives` wrote.

    Raises
    ------
    CorruptModelError
        If the file is damaged, or holds no negatives of these sources.
    """
    arrays = kept(file, {_name(number): (np.int32, 2) for number in range(len(sources))})
    found = [arrays[_name(number)] for number in range(len(sources))]
    for source, negatives in zip(sources, found, strict=True):
        if negatives.shape != (len(source), KEPT):
            raise unlike(file, f"{negatives.shape} negatives for the {len(source):,} pairs of {source.name}")
        if negatives.size and not -1 <= negatives.min() <= negatives.max() < len(source.passages):
            raise unlike(file, f"it names a passage that {source.name} does not have")
    return found


def _name(number: int) -> str:
    return f"source_{number}"
