"""Encode shares of a collection with a network, before the index is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection import Collection
from termwise.encode import DocumentEncoder, encoded_blocks
from termwise.encode.block_encoding import claim
from termwise.encode.block_file import block_files, cut_blocks, text_digests
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.encode.open_encoder import open_document_encoder
from termwise.encode.row_table import row_files
from termwise.encode.stored_rows import StoredRows
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.indexing.context import (
    collection_named,
    empty_collection,
    open_documents,
    source_of,
)
from termwise.indexing.field_weights import refuse_weights_for_network
from termwise.indexing.model_choice import check_same_encoder, chosen_model, opened_encoder
from termwise.indexing.options import BuildOptions
from termwise.indexing.work_folder import check_outside_indexes
from termwise.models import Model, NetworkModel
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.validation import check_path


@dataclass(frozen=True)
class EncodedShare:
    """Result of `encode_collection`.

    Attributes
    ----------
    documents : int
        Documents in the collection.
    blocks : int
        Blocks in the collection.
    share : int
        Blocks of this share, all finished.
    finished : int
        Finished blocks of all shares.
    """

    documents: int
    blocks: int
    share: int
    finished: int

    @property
    def left(self) -> int:
        """Number of unfinished blocks."""
        return self.blocks - self.finished


def encode_collection(
    collection: str | Path | Collection | Iterable[Document],
    encoding: str | Path,
    *,
    model: str | Path | Model,
    fields: tuple[str, ...] | Mapping[str, int] | None = None,
    shard: tuple[int, int] = (1, 1),
    threads: int = 1,
    encoder: DocumentEncoder | None = None,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> EncodedShare:
    """Encode a share of a collection with a network; `build_index` reuses the rows.

    A collection is encoded in blocks, and a share is every n-th block. Shares can be encoded one after another, or on
    several machines that have the same collection and write into one folder, or into separate folders whose files are
    merged afterwards. Texts whose rows are in the folder are not encoded again.

    Parameters
    ----------
    collection, model, fields
        See `build_index`, which needs the same values.
    encoding : str or Path
        Folder for the rows, outside of any index; the argument `encoding` of `build_index`.
    shard : (int, int), optional
        Part i of n, counted from 1.
    threads, encoder, precision, providers, progress
        See `BuildOptions`.

    Raises
    ------
    ParameterError
        If the model has no network, there is no such part, or the folder lies inside an index.
    EmptyCollectionError
        If the collection holds no documents.
    TermwiseError
        If there is an error in the collection, the settings, the encoder or the folder.
    """
    check_path("encoding", encoding)
    collection = source_of(collection, fields)
    options = BuildOptions(threads=threads, encoder=encoder, precision=precision, providers=providers)
    chosen = chosen_model(model)
    if not isinstance(chosen, NetworkModel) or not chosen.runs_network:
        raise ParameterError(
            "only a model with a network encodes documents before the index is built",
            facts=[("model", chosen.name)],
            fixes=[Fix.call("build_index", model=chosen.name)],
        )
    refuse_weights_for_network(fields, chosen)
    check_outside_indexes(Path(encoding))
    if encoder is not None:
        check_same_encoder(chosen, encoder)
    documents, length = open_documents(collection, fields, count=progress is not no_progress)
    running = opened_encoder(chosen, options)
    digests: list[npt.NDArray[np.bytes_]] = []

    def documents_with_digests() -> Iterator[Document]:
        for block in cut_blocks(documents, running.block):
            digests.append(text_digests(document.text for document in block))
            yield from block

    blocks = encoded_blocks(
        documents_with_digests(), running, encoding, shard=shard, length=length, progress=progress
    )
    with collection_named(collection):
        finished = share = sum(1 for _ in blocks)
        if not digests:
            raise empty_collection()
    part, parts = shard
    others = [block for number, block in enumerate(digests) if number % parts != part - 1]
    if others:
        stored = StoredRows(Path(encoding), running)
        finished += sum(bool((stored.find(block) >= 0).all()) for block in others)
    return EncodedShare(sum(map(len, digests)), len(digests), share, finished)


def finished_blocks(
    encoding: str | Path,
    *,
    model: NetworkModel,
    encoder: DocumentEncoder | None = None,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> int:
    """Count the blocks and files of rows in a folder that were written with this encoder.

    No network is loaded, and neither blocks nor a collection are read: blocks of other documents count.

    Raises
    ------
    ForeignFolderError
        If the folder belongs to another encoder or other settings.
    TermwiseError
        If the encoder cannot be opened.
    """
    folder = Path(encoding)
    count = len(block_files(folder)) + len(row_files(folder))
    if count:
        claim(
            folder,
            encoder or open_document_encoder(model, precision=precision, providers=providers, load=False),
        )
    return count
