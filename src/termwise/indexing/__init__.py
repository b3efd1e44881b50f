"""From a collection to an index: the only place where models and the index meet.

==================  ==================================================================================
`indexing`          `build_index`: from a collection to an open index, with any model
`encoding`          `encode_collection`: run a network over a share of a collection, for `build_index` to reuse
`choosing`          the model meant by a name, a folder or a model
`counts`            rows computed from term counts
`vectors`           rows read from a file
`networks`          rows computed by a network
==================  ==================================================================================
"""

from termwise.indexing.builder import build_index
from termwise.indexing.collection_encoding import EncodedShare, encode_collection, finished_blocks
from termwise.indexing.model_choice import chosen_model
from termwise.indexing.work_folder import default_encoding

__all__ = [
    "EncodedShare",
    "build_index",
    "chosen_model",
    "default_encoding",
    "encode_collection",
    "finished_blocks",
]
