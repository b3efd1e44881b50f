"""Export of what changed: rows that are new or different since an earlier export, and identifiers of deleted ones.

The folder ``state/GENERATION`` of an export has a fingerprint of every row, so that two generations can be compared
after documents were deleted and segments merged::

    ids.jsonl     identifier of each row as a JSON string, one a line
    rows.npy      record of each row in the same order: two halves of the digest of the identifier, digest of the
                  contents, position in the target

A row that stays keeps its position, and new rows get higher ones, so that the order of documents with equal scores is
that of the index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.errors import CorruptIndexError, ParameterError
from termwise.export.contents import description, identity, write_programs
from termwise.export.folder import ExportFolder
from termwise.export.readme import readme
from termwise.export.source import BATCH, Batch, ExportSource
from termwise.export.target import Target
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.index.reader import ImpactRows
from termwise.progress import Progress, no_progress
from termwise.storage.file_record import digest_of

ROW = np.dtype([("first", "<u8"), ("second", "<u8"), ("contents", "<u8"), ("position", "<i8")])
"""Record of a row; see the module."""

STAGE = "compare rows"


def row_digests(batch: Batch, units: Sequence[str]) -> npt.NDArray[np.void]:
    """Return the records of the rows of a batch, shape (n,), ROW; `units` are those of the parts."""
    records = np.zeros(len(batch), dtype=ROW)
    records["position"] = batch.positions
    names = b"".join(blake2b(each.encode(), digest_size=16).digest() for each in batch.ids)
    halves = np.frombuffer(names, dtype="<u8").reshape(-1, 2)
    records["first"], records["second"] = halves[:, 0], halves[:, 1]
    texts, common = batch.texts, blake2b(repr(units).encode(), digest_size=8)
    for row in range(len(batch)):
        digest = common.copy()
        for found in batch.rows:
            span = slice(int(found.indptr[row]), int(found.indptr[row + 1]))
            if isinstance(found, ImpactRows):
                digest.update(found.terms[span].tobytes())
                digest.update(found.impacts[span].tobytes())
                digest.update(found.biases[row].tobytes())
            else:
                digest.update(found.rows[span].tobytes())
                digest.update(found.scales[span].tobytes())
        digest.update(repr(sorted(batch.attributes[row].items())).encode("utf-8", "backslashreplace"))
        if texts is not None:
            digest.update(texts[row].encode())
        records["contents"][row] = int.from_bytes(digest.digest(), "little")
    return records


def write_state(
    source: ExportSource,
    folder: ExportFolder,
    progress: Progress = no_progress,
    *,
    records: npt.NDArray[np.void] | None = None,
) -> None:
    """Write identifiers and fingerprints of all rows; `records` are these fingerprints, if they are known."""
    at = f"state/{source.generation}"
    with folder.piece(f"{at}/ids.jsonl") as names, folder.piece(f"{at}/rows.npy") as rows:
        np.lib.format.write_array_header_1_0(
            rows, {"descr": ROW.descr, "fortran_order": False, "shape": (len(source),)}
        )
        for batch in source.batches():
            names.write("".join(f"{json.dumps(each)}\n" for each in batch.ids).encode())
            known = row_digests(batch, source.units) if records is None else records[batch.positions]
            rows.write(known.tobytes())
            progress(STAGE, int(batch.positions[-1]) + 1, len(source))


@final
@dataclass(frozen=True, eq=False)
class ChangedRows:
    """What changed between the generation of an export and that of its index; `of` finds it.

    Attributes
    ----------
    source : ExportSource
    target : Target
    folder : ExportFolder
    since : int
        Generation of the export.
    earlier : dict
        Its ``export.json``.
    """

    source: ExportSource
    target: Target
    folder: ExportFolder
    since: int
    earlier: dict[str, Any]

    @classmethod
    def of(
        cls, source: ExportSource, target: Target, path: Path, since: int | None, earlier: dict[str, Any]
    ) -> ChangedRows:
        """Open an export that changes are added to, and whose ``export.json`` is given; `since` is its generation.

        Raises
        ------
        ParameterError
            If it is of another generation or another index, or the index is older.
        """
        described = description(source, target)
        same = ("schema", "chunked", "texts")
        kinds = ("name", "field", "kind", "dimensions", "integer", "bias")
        expected: dict[str, Any] = {
            **{name: described[name] for name in same},
            "parts": [{name: part[name] for name in kinds} for part in described["parts"]],
        }
        seen: dict[str, Any] = {
            **{name: earlier.get(name) for name in same},
            "parts": [{name: part.get(name) for name in kinds} for part in earlier.get("parts", ())],
        }
        if seen != expected:
            differing = next(key for key in expected if seen[key] != expected[key])
            raise ParameterError(
                "the export in this folder is of another index",
                facts=[
                    ("folder", path),
                    (f"{differing} there", seen[differing]),
                    (f"{differing} here", expected[differing]),
                ],
                fixes=[
                    "give the index that was exported",
                    Fix.call("export_index", source.path, target.name, Code("DIR")),
                ],
            )
        generation = earlier["generation"]
        if since not in (None, generation):
            raise ParameterError(
                "the export in this folder is of another generation",
                facts=[("folder", path), ("given", since), ("there", generation)],
                fixes=[Fix.call("export_changes", source.path, path)],
            )
        if source.generation < generation:
            raise ParameterError(
                "the index is older than the export",
                facts=[("index", source.generation), ("export", generation)],
                fixes=["export it anew, in place of the old export"],
            )
        if (source.generation == generation and source.identity != earlier["source"]) or any(
            part.vocabulary_digest(there["terms"]) != there["vocabulary"]
            for part, there in zip(source.parts, earlier["parts"], strict=True)
        ):
            raise ParameterError(
                "the index was built anew since the export",
                facts=[("index", source.path), ("export", path), ("generation of the export", generation)],
                fixes=["export it anew, in place of the old export"],
            )
        return cls(source, target, ExportFolder.reopen(path, earlier), generation, earlier)

    def write(self, progress: Progress = no_progress) -> dict[str, Any]:
        """Write the changes, and update the state, the query kit and ``export.json``; return the counts."""
        records, names = self._read_state()
        current, changed, deleted = self._compare(records, progress)
        ids = _lines(names, deleted)
        at = f"changes/{self.since}-{self.source.generation}"
        counts: dict[str, Any] = {"since": self.since, "generation": self.source.generation}
        if self.source.generation > self.since:
            changes = [*self.earlier.get("changes", ()), at]
            self.folder.remove(at)  # of an interrupted run
            self.target.write_changes(
                self._rows(changed, current["position"]), ids, self.source, self.folder, at
            )
            write_state(self.source, self.folder, records=current)
            write_programs(self.source, self.target, self.folder)
            self.folder.write("README.md", readme(self.source, self.target, self.folder.path))
            self.folder.finish(
                {
                    "target": self.target.name,
                    **identity(self.source, self.target),
                    **description(self.source, self.target),
                    "origin": self.earlier["origin"],
                    "changes": changes,
                },
                stale=self.folder.others({*changes, f"state/{self.source.generation}"}),
            )
            counts["folder"] = at
        return {**counts, "changed": int(changed.sum()), "deleted": len(ids)}

    def _read_state(self) -> tuple[npt.NDArray[np.void], Path]:
        folder = self.folder.path / "state" / str(self.since)
        try:
            records = np.load(folder / "rows.npy", mmap_mode="r", allow_pickle=False)
            for name in ("ids.jsonl", "rows.npy"):
                recorded = self.earlier["files"][f"state/{self.since}/{name}"]["sha256"]
                if digest_of(folder / name) != recorded:
                    raise ValueError(f"{name} is not the exported file")
            if records.dtype != ROW:
                raise ValueError("another type of records")
        except (OSError, ValueError, EOFError, KeyError) as error:
            raise CorruptIndexError(
                "the state of the export is missing or damaged",
                facts=[("folder", folder), ("reason", error)],
                fixes=["export it anew, in place of the old export"],
            ) from None
        return records, folder / "ids.jsonl"

    def _compare(
        self, old: npt.NDArray[np.void], progress: Progress
    ) -> tuple[npt.NDArray[np.void], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Return the record of each row with its position in the target, whether it changed, and the old rows gone."""
        order = np.argsort(old["first"], kind="stable")
        keys = old["first"][order]
        current = np.empty(len(self.source), dtype=ROW)
        changed = np.ones(len(self.source), dtype=np.bool_)
        found = np.zeros(len(old), dtype=np.bool_)
        last, free = -1, int(old["position"].max(initial=-1)) + 1
        for batch in self.source.batches():
            new = row_digests(batch, self.source.units)
            current[batch.positions] = new
            places = np.minimum(np.searchsorted(keys, new["first"]), max(0, len(keys) - 1))
            for row, place in enumerate(places.tolist() if len(keys) else [-1] * len(batch)):
                ordinal = int(batch.positions[row])
                before = None
                if place >= 0 and keys[place] == new["first"][row]:
                    before = old[order[place]]
                    if before["second"] != new["second"][row]:
                        raise ParameterError(
                            "two identifiers have digests whose first halves are equal",
                            facts=[("doc_id", batch.ids[row])],
                            fixes=["export it anew, in place of the old export"],
                        )
                    found[order[place]] = True
                if before is not None and before["position"] > last:
                    last = int(before["position"])
                    changed[ordinal] = before["contents"] != new["contents"][row]
                else:
                    last = max(free, last + 1)
                current["position"][ordinal] = last
            progress(STAGE, int(batch.positions[-1]) + 1, len(self.source))
        return current, changed, np.flatnonzero(~found)

    def _rows(self, changed: npt.NDArray[np.bool_], positions: npt.NDArray[np.int64]) -> Iterator[Batch]:
        ordinals = np.flatnonzero(changed).astype(np.int64)
        for begin in range(0, len(ordinals), BATCH):
            part = ordinals[begin : begin + BATCH]
            yield self.source.batch(part, positions[part])


def _lines(path: Path, rows: npt.NDArray[np.int64]) -> list[str]:
    """Return the identifiers in some lines of a file, given in ascending order."""
    wanted = set(rows.tolist())
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for number, line in enumerate(file) if number in wanted]
