"""Arrays of NumPy: weights as a CSR matrix that scipy opens, vectors as a matrix."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, final
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.export.folder import ExportFolder
from termwise.export.source import Batch, ExportPart, ExportSource
from termwise.export.target import STAGE, Statement
from termwise.export.targets.file_forms import no_changes, no_filters
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.progress import Progress


@final
@dataclass(frozen=True)
class Numpy:
    """Target ``numpy``.

    ``data/PART.npz`` is opened by ``scipy.sparse.load_npz``: rows are documents, columns are terms, values are impacts.
    ``data/PART.npy`` has the vectors of all windows, and ``data/PART.indptr.npy`` the borders of the documents.
    """

    name: ClassVar[str] = "numpy"
    title: ClassVar[str] = "NumPy and SciPy"
    engine: ClassVar[str] = ""
    helpers: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    def check(self, source: ExportSource) -> None:
        """Accept every source."""

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the arrays."""
        with folder.piece("data/doc_ids.jsonl") as file:
            for batch in source.batches():
                file.write(
                    "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in batch.ids).encode()
                )
        for part in source.parts:
            name = f"data/{part.field}"
            if part.kind == "dense":
                _write_vectors(part, len(source), folder, name, progress)
                continue
            folder.write(
                f"{name}.tokens.jsonl", "".join(f"{json.dumps(t, ensure_ascii=False)}\n" for t in part.tokens)
            )
            if not folder.finished(f"{name}.npz"):
                with folder.place(f"{name}.npz") as path:
                    _write_csr(part, len(source), path, progress)
            if part.has_bias:
                with folder.piece(f"{name}.bias.npy") as file:
                    _stream(
                        file,
                        np.dtype(np.float64),
                        (len(source),),
                        (f.biases for f in _rows(part, len(source))),
                    )

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Raise an error: the arrays are written as a whole."""
        raise no_changes(self.title)

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return the scales of the impacts by part."""
        return {"scales": {part.name: part.index.manifest.quantiser.scale for part in source.parts}}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        lines = [Statement("weights", True, "impacts are whole numbers; export.json has their scale")]
        if any(part.kind == "dense" for part in source.parts):
            lines.append(Statement("vectors", True, "numbers of 8 bits times a scale, in 32 bits"))
        if source.schema or source.has_texts:
            lines.append(Statement("texts and attributes", False, "arrays have none"))
        return lines

    def filter(self, filter: Filter, schema: Schema) -> Any:
        """Raise an error: arrays have no filters."""
        raise no_filters(self.title)


_STEP = 1 << 14


def _rows(part: ExportPart, rows: int) -> Iterator[Any]:
    for begin in range(0, rows, _STEP):
        yield part.index.impacts(np.arange(begin, min(begin + _STEP, rows), dtype=np.int64))


def _write_csr(part: ExportPart, rows: int, path: Path, progress: Progress) -> None:
    """Write the arrays of a CSR matrix one after the other, so that memory is bounded."""
    lengths = np.concatenate(
        [np.zeros(1, dtype=np.int64)]
        + [
            part.index.lengths(np.arange(begin, min(begin + _STEP, rows), dtype=np.int64))
            for begin in range(0, rows, _STEP)
        ]
    )
    indptr = np.cumsum(lengths)
    nnz = int(indptr[-1])
    shape = np.array([rows, len(part.index.vocabulary)], dtype=np.int64)
    impact = np.dtype(np.int32 if part.is_exact_integer else np.float32)
    with ZipFile(path, "w", ZIP_STORED, allowZip64=True) as archive:
        for name, array in (("indptr", indptr), ("shape", shape), ("format", np.array(b"csr"))):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)
        progress(STAGE, 0, 2 * rows)
        for number, (name, dtype) in enumerate((("indices", np.dtype(np.int32)), ("data", impact))):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:

                def parts(name: str = name, number: int = number) -> Iterator[npt.NDArray[Any]]:
                    done = number * rows
                    for found in _rows(part, rows):
                        yield found.terms if name == "indices" else found.impacts
                        done += len(found.indptr) - 1
                        progress(STAGE, done, 2 * rows)

                _stream(file, dtype, (nnz,), parts())


def _write_vectors(part: ExportPart, rows: int, folder: ExportFolder, name: str, progress: Progress) -> None:
    counts = [np.zeros(1, dtype=np.int64)]

    def parts() -> Iterator[npt.NDArray[Any]]:
        for begin in range(0, rows, _STEP):
            found = part.index.document_vectors(np.arange(begin, min(begin + _STEP, rows), dtype=np.int64))
            counts.append(np.diff(found.indptr))
            yield found.matrix()
            progress(STAGE, min(begin + _STEP, rows), rows)

    windows = 0
    for begin in range(0, rows, _STEP):
        windows += int(
            part.index.window_counts(np.arange(begin, min(begin + _STEP, rows), dtype=np.int64)).sum()
        )
    with folder.piece(f"{name}.npy") as file:
        _stream(file, np.dtype(np.float32), (windows, part.dimensions), parts())
    with folder.piece(f"{name}.indptr.npy") as file:
        np.lib.format.write_array(file, np.cumsum(np.concatenate(counts)))


def _stream(
    file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], parts: Iterator[npt.NDArray[Any]]
) -> None:
    """Write an array in the form of NumPy part by part."""
    np.lib.format.write_array_header_2_0(
        file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    )
    for part in parts:
        file.write(np.ascontiguousarray(part, dtype=dtype).tobytes())
