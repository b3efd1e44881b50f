"""Damaged archives give typed errors."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from termwise.errors import DataError
from termwise.models import read_vectors


def archive(path, *, compress=False, **changes):
    arrays = {
        "indptr": np.array([0, 1]),
        "indices": np.array([0]),
        "data": np.array([1.0]),
        "shape": np.array([1, 1]),
        "format": np.array(b"csr"),
    }
    (np.savez_compressed if compress else np.savez)(path, **(arrays | changes))
    return path


def drain(path):
    source = read_vectors(path)
    for _ in source.batches():
        pass


@pytest.mark.parametrize(
    "changes",
    [
        {"format": np.array([b"csr", b"csr"])},
        {"shape": np.array([1, 10**10])},
        {"doc_ids": np.array([0x7FFFFFFF], dtype="<u4").view("<U1")},
        {"tokens": np.array([0x7FFFFFFF], dtype="<u4").view("<U1")},
    ],
)
def test_odd_arrays(tmp_path, changes):
    with pytest.raises(DataError):
        drain(archive(tmp_path / "v.npz", **changes))


def test_a_damaged_stream(tmp_path):
    path = archive(tmp_path / "v.npz", compress=True, data=np.arange(1.0, 2.0))
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as whole:
        first = whole.infolist()[0]
    start = first.header_offset + 30 + len(first.filename) + 20
    for position in range(start, start + 12):
        data[position] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DataError):
        drain(path)


def test_a_header_with_an_impossible_size(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    path = archive(tmp_path / "v.npz")
    with zipfile.ZipFile(path) as whole:
        kept = {name: whole.read(name) for name in whole.namelist()}
    kept["data.npy"] = header.getvalue()
    with zipfile.ZipFile(path, "w") as changed:
        for name, content in kept.items():
            changed.writestr(name, content)
    with pytest.raises(DataError):
        drain(path)
