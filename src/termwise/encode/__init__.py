"""Run a trained network over documents, once, at index time: the only package that uses onnxruntime.

Importing it does not load onnxruntime; opening an encoder does.
"""

from termwise.encode.documents import DocumentEncoder
from termwise.encode.expansion import Expansion
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
    "Expansion",
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
