"""On-disk index: format, writer, reader and verification."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.index.container import IndexFile
    from termwise.index.manifest import Manifest
    from termwise.index.manifest_records import QuantiserRecord, SegmentRecord
    from termwise.index.reader import Index
    from termwise.index.verification import Damage, verify
    from termwise.index.writer import IndexWriter
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "container": "IndexFile",
            "manifest": "Manifest",
            "manifest_records": "QuantiserRecord SegmentRecord",
            "reader": "Index",
            "verification": "Damage verify",
            "writer": "IndexWriter",
        },
    )

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
