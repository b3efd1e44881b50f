"""Postings of a part with term weights.

The header of a section has the terms, their numbers of documents, and what else a query needs; then come the documents
of all terms, as the distance from the last one minus 1 in groups of 7 bits, and their impacts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.export.source import ExportPart, ExportSource
from termwise.export.web.files import SearchFiles
from termwise.export.web.terms import Entries
from termwise.index.reader import ImpactRows
from termwise.progress import Progress


def postings_of(
    files: SearchFiles, source: ExportSource, number: int, progress: Progress
) -> tuple[Entries, dict[str, Any]]:
    """Return the postings of a part, and its description; write the biases of the documents."""
    part = source.parts[number]
    index = part.index
    terms, owners, impacts, biases = _columns(source, number, progress)
    order = np.argsort(terms, kind="stable")
    counts = np.bincount(terms, minlength=index.manifest.terms)
    starts = np.concatenate([[0], np.cumsum(counts)])
    owners, impacts = owners[order], impacts[order]
    used = np.flatnonzero(counts)
    tokens = part.index.vocabulary.tokens(used.astype(np.int64))
    width = 1 if int(impacts.max(initial=0)) < 1 << 8 else 4
    extra = _numbers_of_terms(part, used)

    def section(places: list[int]) -> tuple[dict[str, Any], bytes]:
        header: dict[str, Any] = {
            "terms": [tokens[place] for place in places],
            "counts": [int(counts[used[place]]) for place in places],
            **{name: [values[place] for place in places] for name, values in extra.items()},
        }
        slices = [slice(int(starts[used[place]]), int(starts[used[place] + 1])) for place in places]
        gaps = b"".join(_gaps(owners[each]) for each in slices)
        return header, gaps + b"".join(impacts[each].astype(f"<u{width}").tobytes() for each in slices)

    quantiser = index.manifest.quantiser
    described: dict[str, Any] = {
        "width": width,
        "scale": quantiser.scale,
        "biasBits": None,
        "backgroundFloor": 0.0,
    }
    if index.manifest.background:
        described |= {
            "biasBits": quantiser.bias_bits,
            "bias": files.add_shard("bias", {}, biases.astype("<u4").tobytes()),
            "backgroundFloor": float(index.floors[-1]) if len(index.floors) > index.manifest.terms else 0.0,
        }
    return Entries(tokens, (counts[used] * (width + 2)).tolist(), section), described


def _columns(
    source: ExportSource, number: int, progress: Progress
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return terms, documents and impacts of all postings by document, and the biases of the documents."""
    terms, owners, impacts, biases = [], [], [], []
    part = source.parts[number]
    for first in range(0, len(source), 2048):
        ordinals = np.arange(first, min(first + 2048, len(source)), dtype=np.int64)
        rows: ImpactRows = part.index.impacts(ordinals)
        terms.append(rows.terms)
        owners.append(np.repeat(ordinals, np.diff(rows.indptr)).astype(np.uint32))
        impacts.append(rows.impacts.astype(np.uint32))
        biases.append(rows.biases.astype(np.uint32))
        progress(f"{part.name}: read postings", first + len(ordinals), len(source))
    return np.concatenate(terms), np.concatenate(owners), np.concatenate(impacts), np.concatenate(biases)


def _numbers_of_terms(part: ExportPart, used: npt.NDArray[np.intp]) -> dict[str, list[float]]:
    """Return what query weights are multiplied by, static query weights, and floors, where an index has them."""
    index, numbers = part.index, used.astype(np.int32)
    found: dict[str, list[float]] = {}
    factors = index.query_factors(numbers)
    if factors is not None:
        found["factors"] = factors.tolist()
    if len(index.query_weights):
        found["weights"] = index.query_weights[used].astype(np.float64).tolist()
    if len(index.floors):
        found["floors"] = index.floors[used].tolist()
    return found


def _gaps(documents: npt.NDArray[np.uint32]) -> bytes:
    """Return ascending numbers as the distances from the last one, minus 1, in groups of 7 bits.

    Examples
    --------
    >>> list(_gaps(np.array([0, 1, 200], dtype=np.uint32)))
    [0, 0, 198, 1]
    """
    values = documents.astype(np.int64)
    values[1:] -= values[:-1] + 1
    groups = np.ones(len(values), dtype=np.int64)
    for bits in (7, 14, 21, 28):
        groups += values >= 1 << bits
    ends = np.cumsum(groups)
    data = np.zeros(int(ends[-1]), dtype=np.uint8)
    for group in range(int(groups.max())):
        has = groups > group
        more = np.where(groups[has] > group + 1, 128, 0)
        data[ends[has] - groups[has] + group] = ((values[has] >> (7 * group)) & 127) | more
    return data.tobytes()
