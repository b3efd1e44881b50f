"""Run a network over a share of a collection before it is indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from termwise.collection import Collection
from termwise.encode import DocumentEncoder, encoded_blocks
from termwise.encode.block_encoding import claim
from termwise.encode.blocks import BlockKey, block_files, count_blocks, cut_blocks, holds_block
from termwise.encode.encoder_manifest import Precision
from termwise.encode.open_encoder import resting_document_encoder
from termwise.errors import ParameterError
from termwise.indexing.checks import check_arguments
from termwise.indexing.documents import documents_of, empty_collection
from termwise.indexing.encoders import check_together, opened_encoder
from termwise.indexing.model_choice import chosen_model
from termwise.indexing.work_folder import check_outside_indexes
from termwise.models import Model, NetworkModel
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.validation import check_path


@dataclass(frozen=True)
class EncodedShare:
    """What `encode_collection` did, and what remains.

    Attributes
    ----------
    documents : int
        Documents in the collection.
    blocks : int
        Blocks in the collection.
    share : int
        Blocks in this share, all of them finished now.
    finished : int
        Finished blocks of all shares.
    """

    documents: int
    blocks: int
    share: int
    finished: int

    @property
    def left(self) -> int:
        """Blocks that are not encoded yet."""
        return self.blocks - self.finished


def encode_collection(
    collection: str | Path | Collection | Iterable[Document],
    encoding: str | Path,
    *,
    model: str | Path | Model,
    settings: Mapping[str, str] | None = None,
    fields: tuple[str, ...] | None = None,
    shard: tuple[int, int] = (1, 1),
    threads: int = 1,
    encoder: DocumentEncoder | None = None,
    precision: Precision | None = None,
    providers: Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> EncodedShare:
    """Run a network over a share of a collection, for `build_index` to reuse.

    A collection is encoded in blocks, and a share is every n-th of them. Shares can be encoded one after another, or on
    several machines that have the same collection and write into one folder, or into separate folders whose files are
    merged afterwards. Blocks that are there already are not encoded again.

    Parameters
    ----------
    collection, model, settings, fields, threads, encoder, precision, providers, progress
        See `build_index`, which has to be given the same.
    encoding : str or Path
        Folder for the rows, not inside an index; to be given to `build_index` as `encoding`.
    shard : (int, int), optional
        Part i of n, counted from 1.

    Raises
    ------
    ParameterError
        If the model has no network, there is no such part, or the folder lies inside an index.
    EmptyCollectionError
        If the collection holds no documents.
    TermwiseError
        If there is anything wrong with the arguments, the collection, the settings, the encoder or the folder.
    """
    check_path("encoding", encoding)
    check_arguments(
        collection=collection,
        settings=settings,
        fields=fields,
        threads=threads,
        encoding=encoding,
        progress=progress,
    )
    chosen = chosen_model(model, settings or {})
    if not isinstance(chosen, NetworkModel):
        raise ParameterError(
            "only models with a network encode documents before they are indexed",
            facts=[("model", chosen.name)],
            fixes=[f"termwise index COLLECTION --model {chosen.name} --out DIR"],
        )
    check_outside_indexes(Path(encoding))
    if encoder is not None:
        check_together(chosen, encoder)
    documents, length = documents_of(collection, fields)
    running = opened_encoder(chosen, encoder, threads=threads, precision=precision, providers=providers)
    keys: list[BlockKey] = []

    def noted() -> Iterator[Document]:
        for key, block in cut_blocks(documents, running.block):
            keys.append(key)
            yield from block

    blocks = encoded_blocks(noted(), running, encoding, shard=shard, length=length, progress=progress)
    share = sum(1 for _ in blocks)
    if not keys:
        raise empty_collection()
    part, parts = shard
    others = (key for key in keys if key.number % parts != part - 1)
    finished = share + sum(holds_block(Path(encoding), key, running) for key in others)
    return EncodedShare(sum(key.documents for key in keys), len(keys), share, finished)


def finished_blocks(
    encoding: str | Path,
    *,
    model: NetworkModel,
    encoder: DocumentEncoder | None = None,
    precision: Precision | None = None,
    providers: Sequence[str] | None = None,
) -> int:
    """Count the blocks in a folder that `encode_collection` or `build_index` wrote with this encoder.

    Only the headers of the files are read, and no network is loaded. A block that turns out to be damaged, or whose
    documents have changed, will be encoded again all the same.

    Raises
    ------
    ForeignFolderError
        If the folder belongs to another encoder or other settings.
    TermwiseError
        If the encoder cannot be opened.
    """
    folder = Path(encoding)
    if not block_files(folder):
        return 0
    running = encoder
    if running is None:
        running = resting_document_encoder(model, precision=precision, providers=providers)
    claim(folder, running)
    return count_blocks(folder, running)
