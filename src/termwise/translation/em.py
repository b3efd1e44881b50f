"""Expectation maximisation for IBM Model 1: from a bitext to translation probabilities.

During training the table is stored by target (see `termwise.kernels.translation_training`), in double precision: 12
bytes per co-occurring pair of source and target. After each iteration the counts are written to a file, from which an
interrupted run resumes with identical results.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import CorruptModelError, ForeignFolderError, StorageError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.kernels.translation import transpose
from termwise.kernels.translation_training import (
    add_sources,
    count_updates,
    expected_counts,
    find_cells,
    likely_cells,
)
from termwise.progress import Progress, no_progress
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import (
    Misfit,
    canonical_bytes,
    checksum_of,
    expect_choice,
    expect_digest,
    expect_file_name,
    expect_object,
)
from termwise.storage.safe_read import folder_entries, is_folder, path_exists, read_regular, regular_size
from termwise.translation.bitext import Bitext

STATE = "em.json"
"""State file of a run."""

FORMAT = "termwise-em"

_RUN_FILES = re.compile(r"\.?em\.json(\..*)?|counts-\d+\.f64")
"""Names of the files of a run, including temporary ones."""

_PARTS = 64
_LARGEST = 1 << 20
_WRITTEN = 1 << 24


@dataclass(frozen=True, eq=False)
class Estimate:
    """Result of expectation maximisation.

    Attributes
    ----------
    starts : ndarray of shape (V + 1,), int64
        Boundaries of the targets in the two arrays that follow.
    sources : ndarray of shape (cells,), int32
        Sources that occur together with each target.
    counts : ndarray of shape (cells,), float64
        Expected counts; T(t|u) is the count divided by the total of its source.
    totals : ndarray of shape (V,), float64
        Sum of the counts of each source.
    perplexities : tuple of float
        Perplexity of the probabilities at the start of each iteration: exp(-ln P(targets | sources) / target tokens).
        The first is the number of distinct targets, because all are equally likely.
    updates : int
        Cell updates per iteration: pairs of a source token, or NULL, and a target token.
    """

    starts: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float64]
    totals: npt.NDArray[np.float64]
    perplexities: tuple[float, ...]
    updates: int

    def rows(
        self, *, least: float = 0.0
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the probabilities by source that reach a threshold.

        Parameters
        ----------
        least : float, optional

        Returns
        -------
        indptr : ndarray of shape (V + 1,), int64
        targets : ndarray of shape (nnz,), int32
            Strictly increasing for each source.
        probabilities : ndarray of shape (nnz,), float32
            T(t|u).
        """
        return transpose(*likely_cells(self.starts, self.sources, self.counts, self.totals, least))


def estimate(
    bitext: Bitext,
    *,
    iterations: int = 5,
    tolerance: float = 1e-3,
    floor: float = 0.0,
    drop: float = 0.0,
    folder: str | Path | None = None,
    identity: Mapping[str, Any] = MappingProxyType({}),
    resume: bool = False,
    threads: int = 1,
    progress: Progress = no_progress,
) -> Estimate:
    """Estimate T(t|u) by expectation maximisation [1]_.

    Initially all probabilities are equal. Each pair has NULL as an additional source, which accounts for targets that
    no other source explains; it is not part of the result.

    Parameters
    ----------
    bitext : Bitext
    iterations : int, optional
        Upper bound for iterations.
    tolerance : float, optional
        Estimation stops after an iteration that lowers the perplexity by less than this fraction.
    floor, drop : float, optional
        With 0 and 0, plain EM, whose perplexity never rises. With 1e-7 and 1e-7 as in MGIZA: probabilities below
        `floor` count as `floor`, and fractional counts of at most `drop` are ignored.
    folder : str or Path, optional
        Folder for the state of the run after each iteration.
    identity : mapping, optional
        JSON-like description of data and settings (under ``settings``); a run resumes only if it is equal.
    resume : bool, optional
        Resume from the state in `folder`, if there is one.
    threads : int, optional
        The result does not depend on it.
    progress : callable, optional

    Raises
    ------
    ForeignFolderError
        If `folder` holds a run with other data or settings (the error names the differences), or any run and `resume`
        is false.
    CorruptModelError
        If the state in `folder` is damaged.
    StorageError
        If the state cannot be written.

    References
    ----------
    .. [1] P. F. Brown et al., The mathematics of statistical machine translation, Computational Linguistics 19(2),
       1993, section 4.
    """
    state = None if folder is None else _StateFolder(Path(folder), identity)
    if folder is not None and not resume:
        refuse_unfinished(Path(folder))
    saved = None if state is None else state.read()
    n_terms = len(bitext.vocabulary)
    work = np.zeros(n_terms, dtype=np.int64)
    updates = count_updates(bitext.query_postings, bitext.chunks, work) + count_updates(
        bitext.chunk_postings, bitext.queries, work
    )
    sides = (bitext.query_postings, bitext.chunks, bitext.chunk_postings, bitext.queries)
    with ThreadPoolExecutor(threads) as pool:
        ranges = _Ranges(work, pool, progress)
        sizes = np.zeros(n_terms, dtype=np.int64)
        parts = ranges.each("find cells", find_cells, *sides, sizes)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        sources = _concatenated(parts, int(starts[-1]))
        if saved is None:
            # Equal counts for all cells, with the number of targets as the total, give equal probabilities.
            cells = np.ones(len(sources), dtype=np.float64)
            nulls = np.ones(n_terms, dtype=np.float64)
            targets = float((bitext.target_counts > 0).sum())
            totals = np.full(n_terms, targets)
            null_total = targets
            perplexities: list[float] = []
        else:
            cells, nulls, perplexities = saved.counts(len(sources), n_terms)
            totals, null_total = _totals(sources, cells, n_terms), float(nulls.sum())
        tokens = int(bitext.target_counts.sum())
        logs = np.zeros(n_terms, dtype=np.float64)
        while len(perplexities) < iterations and not _settled(perplexities, tolerance):
            arguments = (*sides, starts, sources, cells, nulls, totals, null_total, floor, drop, logs)
            ranges.each(
                f"iterate: {len(perplexities) + 1} of at most {iterations}", expected_counts, *arguments
            )
            perplexities.append(math.exp(-math.fsum(logs) / tokens))
            totals, null_total = _totals(sources, cells, n_terms), float(nulls.sum())
            if state is not None:
                state.write(cells, nulls, perplexities)
    return Estimate(starts, sources, cells, totals, tuple(perplexities), updates)


def refuse_unfinished(folder: Path) -> None:
    """Raise an error if the folder holds an interrupted run."""
    if path_exists(folder / STATE):
        raise ForeignFolderError(
            "the folder holds an unfinished training of Model 1",
            facts=[("folder", folder)],
            fixes=[Fix.use("resume it: {}", resume=True), f"start again: remove {folder}"],
        )


def refuse_foreign(folder: Path) -> None:
    """Raise an error if the folder holds files that do not belong to a run."""
    names = [path.name for path in folder_entries(folder)] if is_folder(folder) else []
    foreign = sorted(name for name in names if not _RUN_FILES.fullmatch(name))
    if foreign:
        raise ForeignFolderError(
            "the folder holds a training run of another kind",
            facts=[("folder", folder), ("found", ", ".join(foreign[:5]))],
            fixes=[
                Fix.use("choose another folder: {}", out=Code("DIR")),
                f"if you do not need it any more, remove {folder} first",
            ],
        )


class _Ranges:
    """Ranges of targets with similar amounts of work, which threads process in turn."""

    def __init__(self, work: npt.NDArray[np.int64], pool: ThreadPoolExecutor, progress: Progress) -> None:
        done = np.cumsum(work)
        shares = done[-1] * np.arange(1, _PARTS) // _PARTS
        cuts = np.unique(np.concatenate(([0], np.searchsorted(done, shares, side="right"), [len(work)])))
        self._ranges = list(itertools.pairwise(cuts.tolist()))
        self._pool = pool
        self._progress = progress

    def each(self, stage: str, kernel: Callable[..., Any], *arguments: object) -> list[Any]:
        """Call a kernel for each range and return the results in the order of the ranges."""
        results = []
        calls = [self._pool.submit(kernel, first, last, *arguments) for first, last in self._ranges]
        try:
            for call in calls:
                results.append(call.result())
                self._progress(stage, len(results), len(calls))
        finally:
            for call in calls:
                call.cancel()
        return results


@dataclass(frozen=True)
class _SavedState:
    """State of an interrupted run."""

    path: Path
    sha256: str
    perplexities: tuple[float, ...]

    def counts(
        self, cells: int, n_terms: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], list[float]]:
        """Return the counts of each cell and of NULL, and the perplexities so far."""
        expected = 8 * (cells + n_terms)
        try:
            size = regular_size(self.path, expected)
            values = np.fromfile(self.path, dtype="<f8") if size == expected else np.empty(0)
        except Misfit as misfit:
            raise _damaged(self.path, misfit.expected, misfit.seen) from None
        except OSError as error:
            raise _damaged(self.path, "a file that can be read", error.strerror) from error
        if size != expected:
            raise _damaged(self.path, f"{expected} bytes", f"{size} bytes")
        digest = hashlib.sha256(values.data).hexdigest()
        if digest != self.sha256:
            raise _damaged(self.path, f"sha256 {self.sha256}", digest)
        return values[:cells], values[cells:], list(self.perplexities)


class _StateFolder:
    """Folder with the state of a run: the counts of the last iteration, and `STATE`."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self._folder = folder
        self._identity: dict[str, Any] = json.loads(json.dumps(dict(identity)))

    def read(self) -> _SavedState | None:
        """Return the state of the run in the folder, or None."""
        path = self._folder / STATE
        try:
            data = read_regular(path, _LARGEST)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Misfit as misfit:
            raise _damaged(path, misfit.expected, misfit.seen) from None
        except OSError as error:
            raise _damaged(path, "a file that can be read", error.strerror) from error
        try:
            body = json.loads(data.decode())
            if not isinstance(body, dict) or body.get("checksum") != checksum_of(body):
                raise Misfit("a file that matches its checksum", "one that does not")
            keys = {"format", "identity", "perplexities", "file", "sha256", "checksum"}
            body = expect_object(body, keys, "the state")
            expect_choice(body["format"], "format", (FORMAT,))
            if body["identity"] != self._identity:
                raise self._different(body["identity"])
            perplexities = body["perplexities"]
            if not isinstance(perplexities, list) or not all(
                isinstance(value, float) for value in perplexities
            ):
                raise Misfit("perplexities as an array of numbers", perplexities)
            return _SavedState(
                self._folder / expect_file_name(body["file"]),
                expect_digest(body["sha256"], "sha256"),
                tuple(perplexities),
            )
        except Misfit as misfit:
            raise _damaged(path, misfit.expected, misfit.seen) from None
        except (ValueError, RecursionError) as error:
            raise _damaged(path, "JSON", error) from None

    def _different(self, saved: object) -> ForeignFolderError:
        """Return the error for a run with another identity; it names the different settings."""
        if not isinstance(saved, dict) or not isinstance(saved.get("settings", {}), dict):
            raise Misfit("the identity of the run as an object", shown(saved))
        settings = _differences(saved.get("settings", {}), self._identity.get("settings", {}))
        named = {"settings", *(name for name, *_ in settings)}
        others = [name for name, *_ in _differences(saved, self._identity) if name not in named]
        original = {name: before for name, before, _ in settings}
        return ForeignFolderError(
            "the folder holds a training with other data or settings, or by another version",
            facts=[
                ("folder", self._folder),
                *((name, f"{now}, began with {before}") for name, before, now in settings),
                *([("differs in", ", ".join(others))] if others else []),
            ],
            fixes=[
                *(
                    [Fix.use("resume with the original settings: {}", resume=True, **original)]
                    if settings and not others
                    else []
                ),
                Fix.use("choose another folder: {}", out=Code("DIR")),
                f"start again: remove {self._folder}",
            ],
        )

    def write(
        self, cells: npt.NDArray[np.float64], nulls: npt.NDArray[np.float64], perplexities: Sequence[float]
    ) -> None:
        """Write the state after an iteration, then remove the previous one."""
        counts = self._folder / f"counts-{len(perplexities)}.f64"
        digest = hashlib.sha256()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with counts.open("wb") as file:
                for values in (cells, nulls):
                    data = values.astype("<f8", copy=False).data.cast("B") if len(values) else b""
                    for begin in range(0, len(data), _WRITTEN):
                        file.write(data[begin : begin + _WRITTEN])
                        digest.update(data[begin : begin + _WRITTEN])
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StorageError(
                "the state of the training cannot be written",
                facts=[("file", counts), ("reason", error.strerror)],
                fixes=[Fix.use("choose a writable folder with free space: {}", out=Code("DIR"))],
            ) from error
        body = {
            "format": FORMAT,
            "identity": self._identity,
            "perplexities": list(perplexities),
            "file": counts.name,
            "sha256": digest.hexdigest(),
        }
        write_bytes_whole(self._folder / STATE, canonical_bytes({**body, "checksum": checksum_of(body)}))
        for old in self._folder.glob("counts-*.f64"):
            if old != counts:
                old.unlink(missing_ok=True)


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, object, object]]:
    names = sorted({*before, *now})
    return [(name, before.get(name), now.get(name)) for name in names if before.get(name) != now.get(name)]


def _totals(
    sources: npt.NDArray[np.int32], cells: npt.NDArray[np.float64], n_terms: int
) -> npt.NDArray[np.float64]:
    totals = np.zeros(n_terms, dtype=np.float64)
    add_sources(sources, cells, totals)
    return totals


def _settled(perplexities: Sequence[float], tolerance: float) -> bool:
    return len(perplexities) > 1 and perplexities[-2] - perplexities[-1] < tolerance * perplexities[-2]


def _concatenated(parts: list[npt.NDArray[np.int32]], size: int) -> npt.NDArray[np.int32]:
    """Concatenate the parts, releasing each after it is copied."""
    whole = np.empty(size, dtype=np.int32)
    while parts:
        part = parts.pop()
        size -= len(part)
        whole[size : size + len(part)] = part
    return whole


def _damaged(path: Path, expected: object, seen: object) -> CorruptModelError:
    return CorruptModelError(
        "a file of an unfinished training is damaged",
        facts=[("file", path), ("expected", expected), ("seen", str(seen)[:200])],
        fixes=[f"start again: remove {path.parent}"],
    )
