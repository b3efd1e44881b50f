"""Document identifiers during a build."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from termwise.errors import DuplicateIdError, ParameterError
from termwise.kernels.string_lookup import insert_hashes


class Identifiers:
    """Distinct document identifiers in input order.

    Duplicates are found with a table of 64-bit hashes, 16 to 32 bytes per document. Identifiers are compared only if
    their hashes are equal.
    """

    def __init__(self) -> None:
        self._names: list[bytes] = []
        self._table = np.zeros(1 << 12, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._names)

    def name(self, position: int) -> str:
        """Return the identifier at a position, for an error message; ``"?"`` if there is none yet."""
        return self._names[position].decode("utf-8", "surrogatepass") if position < len(self) else "?"

    def bytes_of(self, first: int, last: int) -> list[bytes]:
        """Return the identifiers ``first:last`` in UTF-8."""
        return self._names[first:last]

    def add(self, doc_ids: Sequence[str]) -> None:
        """Append identifiers; in case of an error none is appended.

        Raises `ParameterError` if one is not a string, and `DuplicateIdError` if one occurs twice.
        """
        for position, doc_id in enumerate(doc_ids, start=len(self._names) + 1):
            if not isinstance(doc_id, str):
                raise ParameterError(
                    "a document identifier must be a string",
                    facts=[("document", f"number {position}"), ("given", repr(doc_id))],
                )
        names = [doc_id.encode("utf-8", "surrogatepass") for doc_id in doc_ids]
        hashes = _hashes(names)
        needed = len(self._names) + len(names)
        if 2 * needed > len(self._table):
            old = self._table[self._table != 0]
            self._table = np.zeros(1 << (2 * needed - 1).bit_length(), dtype=np.uint64)
            insert_hashes(self._table, old)
        start = 0
        while (stop := start + int(insert_hashes(self._table, hashes[start:]))) < len(names):
            before = next(
                (i for i, name in enumerate(self._names + names[:stop]) if name == names[stop]), None
            )
            if before is not None:
                raise DuplicateIdError(
                    "two documents have the same identifier",
                    facts=[
                        ("doc_id", doc_ids[stop]),
                        ("documents", f"number {before + 1} and number {len(self._names) + stop + 1}"),
                    ],
                    fixes=["give every document a different identifier"],
                )
            start = stop + 1  # different identifiers with the same hash
        self._names.extend(names)


def _hashes(names: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(name, digest_size=8).digest() for name in names)
    hashes: npt.NDArray[np.uint64] = np.maximum(np.frombuffer(digests, dtype="<u8"), np.uint64(1))
    return hashes
