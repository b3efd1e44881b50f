"""From a collection to an index: the only place where models and the index meet.

======================  ===========================================================================
`builder`               `build_index`: build an index with any model and open it
`collection_encoding`   `encode_collection`: encode a share of a collection for `build_index`
`model_choice`          choose the model by name, folder or object, and open its encoder
`count_rows`            rows computed from term counts
`network_rows`          rows computed by a network
`lookup_rows`           term weights compiled from vectors
`options`               `BuildOptions`: threads, memory, progress, quantiser, network
`live_writer`           `open_writer`: add, replace and delete documents, and merge segments
`added_rows`            choice of the row source for documents that are added
`published_documents`   documents of an index as they were given
`mixture_updater`       changes of all parts of a mixture in one atomic step
`built_statistics`      statistics of the build, for documents that are added later
`renewal`               `renew_index`: weigh all documents again, with the current statistics
`graph`                 `build_graph`: graphs for approximate search of vectors
`vector_rows`           rows read from a file
`context`               arguments and objects shared by all row sources
`work_folder`           place and removal of the folder of encoded documents
======================  ===========================================================================
"""

from termwise.indexing.builder import build_index
from termwise.indexing.collection_encoding import EncodedShare, encode_collection, finished_blocks
from termwise.indexing.graph import build_graph
from termwise.indexing.live_writer import Added, LiveWriter, open_writer
from termwise.indexing.model_choice import chosen_model
from termwise.indexing.options import BuildOptions
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
    "finished_blocks",
    "open_writer",
    "renew_index",
]


def __dir__() -> list[str]:
    return __all__
