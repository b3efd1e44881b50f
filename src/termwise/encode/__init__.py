"""Running a trained network over documents, once, when they are indexed: the only place for onnxruntime.

Importing this package does not load onnxruntime; an encoder does, when it is opened.
"""

from termwise.encode.documents import DocumentEncoder
from termwise.encode.folder import EncoderFolder, shipped_encoders
from termwise.encode.manifest import EncoderFile, EncoderManifest, ExpansionRecord, SpecialIds
from termwise.encode.open import open_document_encoder, open_query_encoder, open_remembered_encoder
from termwise.encode.queries import TildeQueryEncoder
from termwise.encode.remembered import RememberedEncoder, RememberedRows
from termwise.encode.resuming import encoded_blocks

__all__ = [
    "DocumentEncoder",
    "EncoderFile",
    "EncoderFolder",
    "EncoderManifest",
    "ExpansionRecord",
    "RememberedEncoder",
    "RememberedRows",
    "SpecialIds",
    "TildeQueryEncoder",
    "encoded_blocks",
    "open_document_encoder",
    "open_query_encoder",
    "open_remembered_encoder",
    "shipped_encoders",
]
