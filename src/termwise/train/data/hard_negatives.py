"""Hard negatives: passages that a ranking has at the top for a query and that are not judged relevant."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.indexing import BuildOptions, build_index
from termwise.progress import Progress, no_progress
from termwise.records import Document, Query
from termwise.train.data.cached_arrays import corrupt_cache, load_arrays, load_or_compute, save_arrays
from termwise.train.run_folder import RunFolder
from termwise.train.settings import NEGATIVES_PER_PAIR

NEGATIVES = "negatives.npz"
"""Cache file of a run."""

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
    """Rank the passages of a source with BM25 for each query, and draw negatives from the top ranks.

    Parameters
    ----------
    source : PairSource
        Its passages are the collection.
    depth : int
        Ranks to draw from, 1 or more; the published training data of TILDEv2 uses 1,000.
    seed : int
        Random seed of the draw.
    threads : int, optional
        The result does not depend on it.
    folder : str or Path, optional
        Folder of the temporary BM25 index; by default the temporary folder of the system.
    progress : callable, optional
        Called with a stage, the amount done, and the total.

    Returns
    -------
    ndarray of shape (n, m), int32
        For each pair the positions of up to 64 passages without a pair with the query; padded with -1.
    """
    random = np.random.default_rng(seed)
    relevant = relevant_passages(source)
    drawn = np.full((len(source.queries), NEGATIVES_PER_PAIR), -1, dtype=np.int32)
    with tempfile.TemporaryDirectory(dir=folder, prefix="negatives-") as index_folder:
        documents = [Document(str(number), text) for number, text in enumerate(source.passages)]
        searcher = build_index(
            documents, Path(index_folder) / "passages.tw", options=BuildOptions(threads=threads)
        )
        judged = sorted(relevant)
        for start in range(0, len(judged), _QUERIES):
            part = judged[start : start + _QUERIES]
            queries = [Query(str(number), source.queries[number]) for number in part]
            for ranking in searcher.rank_many(queries, k=depth + 1, threads=threads):
                number = int(ranking.query_id)
                passages = [int(doc_id) for doc_id in ranking.doc_ids]
                top = [passage for passage in passages if passage not in relevant[number]][:depth]
                chosen = random.permutation(np.array(top, dtype=np.int32))[:NEGATIVES_PER_PAIR]
                drawn[number, : len(chosen)] = chosen
            progress("mine negatives", start + len(part), len(judged))
    return drawn[source.pairs[:, 0]]


def relevant_passages(source: PairSource) -> dict[int, set[int]]:
    """Return the relevant passages of each query with a pair, by position."""
    relevant: dict[int, set[int]] = {}
    for query, passage in source.pairs.tolist():
        relevant.setdefault(query, set()).add(passage)
    return relevant


def load_or_mine_negatives(
    sources: Sequence[PairSource],
    run: RunFolder,
    *,
    depth: int,
    seed: int,
    by_teacher: Callable[[int, PairSource], npt.NDArray[np.int32]] | None = None,
) -> list[npt.NDArray[np.int32]]:
    """Load the negatives of a run from its folder, or mine and save them.

    They are those of `mine_negatives`, or of `by_teacher` with the number of the source and the source.
    """

    def mine() -> list[npt.NDArray[np.int32]]:
        how.say(
            f"ranking the passages with {'BM25' if by_teacher is None else 'the teacher'} for hard negatives"
        )
        mined = [
            mine_negatives(
                source, depth=depth, seed=seed, threads=how.threads, folder=run.path, progress=how.progress
            )
            if by_teacher is None
            else by_teacher(number, source)
            for number, source in enumerate(sources)
        ]
        save_negatives(file, mined)
        return mined

    how, file = run.execution, run.path / NEGATIVES
    return load_or_compute(file, lambda: load_negatives(file, sources), mine, how.say)


def save_negatives(file: Path, mined: Sequence[npt.NDArray[np.int32]]) -> None:
    """Write the negatives of the sources of a run."""
    save_arrays(file, {f"source_{number}": negatives for number, negatives in enumerate(mined)})


def load_negatives(file: Path, sources: Sequence[PairSource]) -> list[npt.NDArray[np.int32]]:
    """Read a file that `save_negatives` wrote."""
    arrays = load_arrays(file, {f"source_{number}": (np.int32, 2) for number in range(len(sources))})
    mined = [arrays[f"source_{number}"] for number in range(len(sources))]
    for source, negatives in zip(sources, mined, strict=True):
        if negatives.shape != (len(source), NEGATIVES_PER_PAIR):
            raise corrupt_cache(
                file, f"{negatives.shape} negatives for the {len(source):,} pairs of {source.name}"
            )
        if negatives.size and not -1 <= negatives.min() <= negatives.max() < len(source.passages):
            raise corrupt_cache(file, f"it has a passage number beyond the passages of {source.name}")
    return mined
