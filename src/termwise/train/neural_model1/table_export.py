"""Translation table of a network, computed block by block for all pairs of pieces.

The vectors of query pieces are projected once. A block of document pieces is one matrix product with all of them, see
`termwise.train.neural_model1.network`, so rows are computed in the order of the table. Threads compute blocks in
parallel. The entries are written to temporary files, from which the table is memory-mapped, so only a few blocks are in
memory.

The table contains T of the network without the factor 1 - p and without the diagonal. With the self-translation that
the table recommends, and lambda = 0, its scores equal those of the network.
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
from termwise.fixes import Fix
from termwise.progress import Progress, no_progress
from termwise.text import Analyzer
from termwise.train.networks import torch_threads
from termwise.train.neural_model1.network import TranslationNetwork
from termwise.train.neural_model1.scoring import vectors_of
from termwise.train.neural_model1.settings import NeuralModel1Settings
from termwise.translation.table import TranslationTable

BLOCK = 64
"""Document pieces of a block."""

Terms = npt.NDArray[np.int64]


def export_table(
    network: TranslationNetwork,
    analyzer: Analyzer,
    *,
    sources: Terms,
    targets: Terms,
    occurrences: npt.NDArray[np.int64],
    settings: NeuralModel1Settings,
    threads: int = 1,
    folder: Path | None = None,
    description: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> TranslationTable:
    """Compute the translation table of a network.

    Parameters
    ----------
    analyzer : Analyzer
        With the vocabulary of the network, V terms.
    sources, targets : ndarray of int64
        Document pieces with a row, and query pieces with a column; increasing.
    occurrences : ndarray of shape (V,), int64
        Occurrences of each term in documents.
    settings : NeuralModel1Settings
        Its ``least`` and ``keep`` select the entries; its ``self_translation`` is the one that the table recommends.
    threads : int, optional
        The table does not depend on it.
    folder : Path, optional
        Folder of the temporary files; by default the temporary folder of the system.
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
            for part, rows in _blocks(network, sources, targets, settings.least, settings.keep, threads):
                lengths[part] = [len(row) for row, _ in rows]
                for row, values in rows:
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
                scoring={"self_translation": settings.self_translation, "lambda": 0.0, "least": 0.0},
                description=description or {},
            )
    except OSError as error:
        raise StorageError(
            "the translations of the network cannot be written",
            facts=[("folder", folder or tempfile.gettempdir()), ("reason", error.strerror)],
            fixes=[
                "free disk space: 8 bytes for each translation",
                Fix.sentence(
                    "store fewer with {}, or {}",
                    Fix.use(resume=True, least=0.001),
                    Fix.use(resume=True, keep=1000),
                ),
            ],
        ) from error


_Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


def _blocks(
    network: TranslationNetwork, sources: Terms, targets: Terms, least: float, keep: int, threads: int
) -> Iterator[tuple[Terms, list[_Row]]]:
    """Yield the rows of the blocks in order, while the next blocks are computed."""
    parts = iter(sources[begin : begin + BLOCK] for begin in range(0, len(sources), BLOCK))
    with (
        torch_threads(1),  # the products of a block are too small for several threads
        ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool,
    ):
        with torch.no_grad():
            queries = vectors_of(network, targets, query=True)

        def submit(part: Terms) -> tuple[Terms, Future[list[_Row]]]:
            return part, pool.submit(_rows, network, queries, part, targets, least, keep)

        pending = deque(map(submit, islice(parts, 2 * threads)))
        while pending:
            part, future = pending.popleft()
            rows = future.result()
            pending.extend(map(submit, islice(parts, 1)))
            yield part, rows


@torch.no_grad()
def _rows(
    network: TranslationNetwork, queries: torch.Tensor, part: Terms, targets: Terms, least: float, keep: int
) -> list[_Row]:
    """Return targets and probabilities of each source of a block."""
    block = network.pair.table(queries, vectors_of(network, part, query=False)).cpu().numpy()
    rows = []
    for source, row in zip(part.tolist(), block, strict=True):
        kept = np.flatnonzero((row >= least) & (row > 0) & (targets != source))
        if keep and len(kept) > keep:
            kept = np.sort(kept[np.argsort(-row[kept], kind="stable")[:keep]])
        rows.append((targets[kept].astype(np.int32), row[kept]))
    return rows


def _mapped(file: IO[bytes], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the contents of a file, memory-mapped; the map stays valid after the file object is closed."""
    file.flush()
    if file.tell() == 0:
        return np.empty(0, dtype=dtype)
    return np.memmap(file, dtype=dtype, mode="r")
