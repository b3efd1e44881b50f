"""From a collection to an index: the only place where models and the index meet."""

from termwise.indexing.builder import build_index
from termwise.indexing.collection_encoding import EncodedShare, encode_collection, finished_blocks
from termwise.indexing.graph import build_graph
from termwise.indexing.live_writer import Added, LiveWriter, open_writer
from termwise.indexing.model_choice import chosen_model
from termwise.indexing.options import BuildOptions
from termwise.indexing.part_encoding import encode_parts
from termwise.indexing.renewal import renew_index
from termwise.indexing.work_folder import default_encoding

__all__ = [
    "Added",
    "BuildOptions",
    "EncodedShare",
    "LiveWriter",
    "build_graph",
    "build_index",
    "chosen_model",
    "default_encoding",
    "encode_collection",
    "encode_parts",
    "finished_blocks",
    "open_writer",
    "renew_index",
]


def __dir__() -> list[str]:
    return __all__
