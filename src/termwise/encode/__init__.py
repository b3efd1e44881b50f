"""Encoding of documents by trained networks at index time; the only package that uses onnxruntime.

onnxruntime is imported when a network is loaded.
"""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.encode.block_encoding import encoded_blocks
    from termwise.encode.document_encoder import DocumentEncoder
    from termwise.encode.encoder_folder import EncoderFolder, shipped_encoders
    from termwise.encode.encoder_manifest import EncoderFile, EncoderManifest, ExpansionRecord, SpecialIds
    from termwise.encode.expansion import Expansion
    from termwise.encode.open_encoder import open_document_encoder, open_query_encoder
    from termwise.encode.tilde import TildeQueryEncoder
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "block_encoding": "encoded_blocks",
            "document_encoder": "DocumentEncoder",
            "encoder_folder": "EncoderFolder shipped_encoders",
            "encoder_manifest": "EncoderFile EncoderManifest ExpansionRecord SpecialIds",
            "expansion": "Expansion",
            "open_encoder": "open_document_encoder open_query_encoder",
            "tilde": "TildeQueryEncoder",
        },
    )

__all__ = [
    "DocumentEncoder",
    "EncoderFile",
    "EncoderFolder",
    "EncoderManifest",
    "Expansion",
    "ExpansionRecord",
    "SpecialIds",
    "TildeQueryEncoder",
    "encoded_blocks",
    "open_document_encoder",
    "open_query_encoder",
    "shipped_encoders",
]
