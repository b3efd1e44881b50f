"""On-disk index: format, writer, reader and verification."""

from termwise.index.container import IndexFile
from termwise.index.manifest import Manifest
from termwise.index.manifest_records import QuantiserRecord, SegmentRecord
from termwise.index.reader import Index
from termwise.index.verification import Damage, verify
from termwise.index.writer import IndexWriter

__all__ = [
    "Damage",
    "Index",
    "IndexFile",
    "IndexWriter",
    "Manifest",
    "QuantiserRecord",
    "SegmentRecord",
    "verify",
]


def __dir__() -> list[str]:
    return __all__
