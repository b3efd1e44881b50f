"""From a network to a translation table: all pairs of pieces, block by block.

The vectors of query pieces are projected once. A block of document pieces is one matrix product beside all of them, see
`termwise.train.neural_model1.network`, so rows come in the order in which a table keeps them, and nothing is ever
transposed.
Blocks are shared out to threads. What is kept of them goes to files without a name, from which the table is mapped:
while it is made, memory holds a few blocks, whatever its size.

The table has T as the network says it, without the factor 1 - p, and no diagonal: with the self-translation that it
recommends, and lambda = 0, it scores as the network does.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import torch

from termwise.errors import StorageError
from termwise.progress import Progress, no_progress
from termwise.text import Analyzer
from termwise.train.neural_model1.network import TranslationNetwork
from termwise.train.neural_model1.scoring import vectors_of
from termwise.translation.table import TranslationTable

BLOCK = 64
"""Document pieces that are computed together."""

Terms = npt.NDArray[np.int64]


def export_table(
    network: TranslationNetwork,
    analyzer: Analyzer,
    *,
    sources: Terms,
    targets: Terms,
    occurrences: npt.NDArray[np.int64],
    p_self: float,
    least: float,
    keep: int = 0,
    threads: int = 1,
    folder: Path | None = None,
    description: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> TranslationTable:
    """Compute the translation table of a network.

    Parameters
    ----------
    network : TranslationNetwork
    analyzer : Analyzer
        With the vocabulary of the network, V terms.
    sources, targets : ndarray of int64
        Document pieces that get a row, and query pieces that get a column; increasing.
    occurrences : ndarray of shape (V,), int64
        How often each term is in documents.
    p_self : float
        The self-translation that the table recommends.
    least : float
        Smaller probabilities are left out.
    keep : int, optional
        Most probabilities of a row, the largest; 0 for all.
    threads : int, optional
        The table does not depend on it.
    folder : Path, optional
        Where the files are; by default where the system keeps temporary ones.
    description : mapping, optional
        See `TranslationTable`.
    progress : callable, optional
        Called with a stage, the rows that are done, and how many there are; what is kept so far is in the stage.

    Raises
    ------
    StorageError
        If the files cannot be written.
    """
    vocabulary = analyzer.vocabulary
    assert vocabulary is not None
    lengths = np.zeros(len(vocabulary), dtype=np.int64)
    try:
        with (
            tempfile.TemporaryFile(dir=folder) as target_file,
            tempfile.TemporaryFile(dir=folder) as value_file,
        ):
            done = 0
            for part, found in _blocks(network, sources, targets, least, keep, threads):
                lengths[part] = [len(row) for row, _ in found]
                for row, values in found:
                    target_file.write(row.tobytes())
                    value_file.write(values.tobytes())
                done += len(part)
                progress(f"export: {lengths.sum():,} kept", done, len(sources))
            return TranslationTable(
                vocabulary=vocabulary,
                indptr=np.concatenate(([0], np.cumsum(lengths))),
                targets=_mapped(target_file, np.int32),
                probabilities=_mapped(value_file, np.float32),
                occurrences=occurrences,
                analyzer=analyzer.spec,
                kind="neural-model1",
                scoring={"self_translation": p_self, "lambda": 0.0, "least": 0.0},
                description=description or {},
            )
    except OSError as error:
        raise StorageError(
            "the translations of the network cannot be written",
            facts=[("folder", folder or tempfile.gettempdir()), ("system says", error.strerror)],
            fixes=[
                "make room: 8 bytes a translation",
                "keep fewer: --resume --set least=1e-3, or --set keep=1000",
            ],
        ) from error


_Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


def _blocks(
    network: TranslationNetwork, sources: Terms, targets: Terms, least: float, keep: int, threads: int
) -> Iterator[tuple[Terms, list[_Row]]]:
    """Yield the rows of block after block, in order, while others are computed."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # a block is a few small products: threads pay between blocks, not within
    try:
        with torch.no_grad():
            queries = vectors_of(network, targets, query=True)
        begins = iter(range(0, len(sources), BLOCK))
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:

            def start(begin: int) -> tuple[Terms, Future[list[_Row]]]:
                part = sources[begin : begin + BLOCK]
                return part, pool.submit(_rows, network, queries, part, targets, least, keep)

            waiting = deque(start(begin) for begin in islice(begins, 2 * threads))
            while waiting:
                part, rows = waiting.popleft()
                found = rows.result()
                waiting.extend(start(begin) for begin in islice(begins, 1))
                yield part, found
    finally:
        torch.set_num_threads(before)


@torch.no_grad()
def _rows(
    network: TranslationNetwork, queries: torch.Tensor, part: Terms, targets: Terms, least: float, keep: int
) -> list[_Row]:
    """Return targets and probabilities of each source of a block."""
    block = network.pair.table(queries, vectors_of(network, part, query=False)).cpu().numpy()
    made = []
    for source, row in zip(part.tolist(), block, strict=True):
        kept = np.flatnonzero((row >= least) & (row > 0) & (targets != source))
        if keep and len(kept) > keep:
            kept = np.sort(kept[np.argsort(-row[kept], kind="stable")[:keep]])
        made.append((targets[kept].astype(np.int32), row[kept]))
    return made


def _mapped(file: IO[bytes], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return what was written to a file, mapped; it stays readable when the file is closed."""
    file.flush()
    if file.tell() == 0:
        return np.empty(0, dtype=dtype)
    return np.memmap(file, dtype=dtype, mode="r")
