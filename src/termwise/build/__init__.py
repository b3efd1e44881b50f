"""From a collection to an index: the one place where models and the index meet.

==================  ==================================================================================
`indexing`          `build_index`: any model, from a collection to an index that is open
`encoding`          `encode_collection`: a network over a share of a collection, for `build_index` to find
`choosing`          the model that a user means by a name, a folder or a model
`counts`            rows that are a function of term counts
`vectors`           rows that come from a file
`networks`          rows that a network makes
==================  ==================================================================================
"""

from termwise.build.choosing import chosen_model
from termwise.build.encoding import EncodedShare, encode_collection, finished_blocks
from termwise.build.indexing import build_index
from termwise.build.work_folder import default_encoding

__all__ = [
    "EncodedShare",
    "build_index",
    "chosen_model",
    "default_encoding",
    "encode_collection",
    "finished_blocks",
]
