"""Vectors of the training texts, computed by the dense encoder and stored in the folder of the run.

The folder ``vectors`` holds

::

    vectors.json       format, digest of the encoder, digest of the texts, number of texts, dimensions, length of a
                       text in pieces, rows of a file
    0000.npy           float16 of shape (rows, dimensions): vectors of length 1 of the first texts, in their order
    0001.npy           the next ones, and so on; the last file may have fewer rows

A killed run continues after its last file. Files that were computed elsewhere can be put into the folder before a run;
``vectors.json`` may be missing. The lengths of all vectors of a file that a run finds are checked, and some of its
texts, from the first to the last, are encoded again and compared.
"""

from __future__ import annotations

import copy
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from termwise.encode.network_inputs import framed, padded
from termwise.errors import ForeignFolderError, ModelFormatError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.progress import Progress, Say, no_progress, silent
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.safe_read import is_folder, path_exists
from termwise.train.data.cached_arrays import corrupt_cache, load_or_compute
from termwise.train.data.tokenised_texts import TokenisedTexts
from termwise.train.dense_encoder import DenseEncoder
from termwise.train.export.checkpoint_files import read_json
from termwise.train.library_errors import first_line

FOLDER, MANIFEST = "vectors", "vectors.json"

ROWS = 20_000
"""Rows of a file."""

Shards = list[npt.NDArray[np.float16]]
"""Memory-mapped arrays of vectors in the order of the texts."""

_FORMAT = "termwise-teacher-vectors"
_COMPARED = 16
"""Texts of a file that are encoded again."""
_LENGTHS = 0.02
"""Largest difference of the length of a vector from 1: the precision of bfloat16."""
_ALIKE = 0.99
"""Smallest cosine of a stored vector and the same vector computed again, perhaps in another precision."""


@dataclass(frozen=True)
class VectorsManifest:
    """Record in ``vectors.json``: which encoder and which texts the stored vectors belong to, and their sizes.

    `length` is the number of pieces of a text that were read, special ones included; `rows` that of the vectors of each
    file except the last.
    """

    encoder: str
    texts: str
    count: int
    dimensions: int
    length: int
    rows: int = ROWS
    format: str = _FORMAT

    def claim(self, folder: Path) -> None:
        """Write the manifest, or compare it with the one that is there."""
        file = folder / MANIFEST
        if path_exists(folder) and not is_folder(folder):
            raise ForeignFolderError(
                "the folder of the vectors is a file", facts=[("file", folder)], fixes=[f"remove {folder}"]
            )
        folder.mkdir(parents=True, exist_ok=True)
        if not path_exists(file):
            write_bytes_whole(file, (json.dumps(asdict(self), indent=1) + "\n").encode())
            return
        try:
            found = read_json(file, dict)
        except ModelFormatError as error:
            raise corrupt_cache(file, error.message) from error
        differing = [name for name, value in asdict(self).items() if found.get(name) != value]
        if differing:
            raise ForeignFolderError(
                "the folder holds vectors of other texts or of another encoder",
                facts=[("folder", folder), ("differs in", ", ".join(differing))],
                fixes=["choose another output folder", f"remove {folder}"],
            )


def teacher_vectors(
    encoder: DenseEncoder,
    texts: TokenisedTexts,
    folder: Path,
    manifest: VectorsManifest,
    *,
    batch: int,
    bfloat16: bool = False,
    progress: Progress = no_progress,
    say: Say = silent,
) -> Shards:
    """Compute the vectors of texts, or load those that are in the folder; see the module for the files.

    The encoder is not changed. It reads `batch` texts at once, on a GPU if torch finds one, and computes in bfloat16 if
    set.
    """
    manifest.claim(folder)
    encode = _encoding(encoder, batch=batch, bfloat16=bfloat16)
    shards: Shards = []
    begin, computed = time.monotonic(), 0
    for number, start in enumerate(range(0, len(texts), manifest.rows)):
        stop = min(start + manifest.rows, len(texts))
        file = folder / f"{number:04d}.npy"
        shape = (stop - start, manifest.dimensions)
        rows = [texts.row(position) for position in range(start, stop)]
        shard: npt.NDArray[np.float16] | None
        shard = load_or_compute(file, partial(_load, file, shape), lambda: None, say)
        if shard is None:

            def report(done: int, before: int = start) -> None:
                progress("encode texts", before + done, len(texts))

            vectors = encode(rows, report)
            if (wrong := _wrong_vector(vectors)) is not None:
                raise ModelFormatError(
                    "the encoder gives a vector without a direction",
                    facts=[("encoder", encoder.folder), ("text", start + wrong[0] + 1), ("seen", wrong[1])],
                    fixes=[
                        *([Fix.settings(precision="float32")] if bfloat16 else []),
                        "download the encoder again",
                    ],
                )
            buffer = io.BytesIO()
            np.save(buffer, vectors)
            write_bytes_whole(file, buffer.getvalue())
            computed += len(rows)
            shard = _load(file, shape)
        else:
            compared = np.unique(np.linspace(0, len(rows) - 1, _COMPARED).astype(np.int64))
            _compare(file, shard, compared, encode([rows[row] for row in compared], lambda done: None))
            progress("encode texts", stop, len(texts))
        shards.append(shard)
    seconds = time.monotonic() - begin
    if computed:
        say(f"encoded {computed:,} texts in {seconds:,.0f} s, {computed / max(seconds, 1e-9):,.0f} texts/s")
    if computed < len(texts):
        say(f"{len(texts) - computed:,} vectors were in {folder}")
    return shards


def _encoding(
    encoder: DenseEncoder, *, batch: int, bfloat16: bool
) -> Callable[[Sequence[npt.NDArray[np.int64]], Callable[[int], None]], npt.NDArray[np.float16]]:
    """Return a function that encodes the pieces of texts in batches of similar length."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if bfloat16 else torch.float32
    network = copy.deepcopy(encoder.network).to(device=device, dtype=dtype).eval()
    special = encoder.special

    @torch.inference_mode()
    def encode(
        rows: Sequence[npt.NDArray[np.int64]], report: Callable[[int], None]
    ) -> npt.NDArray[np.float16]:
        vectors = np.empty((len(rows), network.config.hidden_size), dtype=np.float16)
        order = np.argsort([len(row) for row in rows], kind="stable")
        for start in range(0, len(rows), batch):
            part = order[start : start + batch]
            inputs = [framed(special.cls, rows[number], sep=special.sep) for number in part.tolist()]
            ids, mask = (torch.from_numpy(array).to(device) for array in padded(inputs, special.pad))
            vectors[part] = network(ids, mask).cpu().numpy()
            report(start + len(part))
        return vectors

    return encode


def _load(file: Path, shape: tuple[int, int]) -> npt.NDArray[np.float16]:
    try:
        shard: npt.NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise corrupt_cache(file, first_line(error)) from error
    if shard.shape != shape or shard.dtype != np.float16:
        raise corrupt_cache(
            file, f"it holds {shard.dtype} of shape {shard.shape}, expected float16 of {shape}"
        )
    if (wrong := _wrong_vector(shard)) is not None:
        raise corrupt_cache(file, f"vector {wrong[0] + 1} of the file is {wrong[1]}")
    return shard


def _wrong_vector(vectors: npt.NDArray[np.float16]) -> tuple[int, str] | None:
    """Return the position and description of the first vector whose norm is not 1, if any."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32))
    wrong = np.flatnonzero(~(np.abs(lengths - 1) <= _LENGTHS))
    return (int(wrong[0]), f"a vector of length {lengths[wrong[0]]:g}") if len(wrong) else None


def _compare(
    file: Path,
    stored: npt.NDArray[np.float16],
    rows: npt.NDArray[np.int64],
    again: npt.NDArray[np.float16],
) -> None:
    cosines = np.einsum("ij,ij->i", stored[rows], again, dtype=np.float64)
    if not cosines.min() >= _ALIKE:
        raise corrupt_cache(
            file,
            f"text {int(rows[cosines.argmin()]) + 1} of the file has another vector: the cosine of both is "
            f"{cosines.min():.3f}",
        )
