"""Keeping term weights: the on-disk format, its writer, its reader and its verification."""

from termwise.index.manifest import FileRecord, Manifest, QuantiserRecord, SegmentRecord
from termwise.index.reader import Index
from termwise.index.verification import Damage, verify
from termwise.index.writer import IndexWriter

__all__ = [
    "Damage",
    "FileRecord",
    "Index",
    "IndexWriter",
    "Manifest",
    "QuantiserRecord",
    "SegmentRecord",
    "verify",
]


def __dir__() -> list[str]:
    return __all__
