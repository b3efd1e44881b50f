"""Encode a collection block by block into a work folder, so that no finished block is lost.

::

    encoding.json         the encoder and its settings; no other may add to this folder
    block-000000.rows     rows of the first documents, and the hash of their identifiers and texts
    block-000001.rows     ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from termwise.encode.blocks import cut_blocks, read_block, write_block
from termwise.encode.document_encoder import DocumentEncoder, check_encoder
from termwise.encode.ownership import claim
from termwise.errors import ParameterError
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.validation import check_documents, check_path, is_whole_number
from termwise.weights import TermWeights

STAGE = "encode documents"


def encoded_blocks(
    documents: Iterable[Document],
    encoder: DocumentEncoder,
    folder: str | Path,
    *,
    shard: tuple[int, int] = (1, 1),
    length: int | None = None,
    progress: Progress = no_progress,
) -> Iterator[tuple[list[Document], TermWeights]]:
    """Encode documents in blocks, reusing those that are in the work folder already.

    Parameters
    ----------
    documents : iterable of Document
        The collection, always in the same order.
    encoder : DocumentEncoder
        Computes the rows; its `block` is the number of documents in a block.
    folder : str or Path
        Work folder; created if missing. Several machines may share it.
    shard : (int, int), optional
        Part i of n, counted from 1: every n-th block is encoded and yielded, others are skipped. Without a shard,
        blocks that shards have finished are reused.
    length : int, optional
        Number of documents, if known, for `progress`.
    progress : callable, optional
        Called with the stage, the number of documents done, and `length`.

    Returns
    -------
    iterator of (list of Document, TermWeights)
        Documents and their rows, by block, in the order of the collection.

    Raises
    ------
    ParameterError
        If there is no such part, or an argument is of the wrong type.
    ForeignFolderError
        If the folder belongs to another encoder or other settings, or holds something else.
    StorageError
        If the folder cannot be written.
    """
    check_documents(documents)
    check_encoder(encoder)
    check_path("folder", folder)
    part, parts = _checked_shard(shard)
    work = Path(folder)
    claim(work, encoder)
    return _blocks(documents, encoder, work, part - 1, parts, length, progress)


def _blocks(
    documents: Iterable[Document],
    encoder: DocumentEncoder,
    folder: Path,
    part: int,
    parts: int,
    length: int | None,
    progress: Progress,
) -> Iterator[tuple[list[Document], TermWeights]]:
    before = 0
    for key, block in cut_blocks(documents, encoder.block):
        if key.number % parts == part:
            rows = read_block(folder, key, encoder)
            if rows is None:
                heard = _told(progress, before, len(block), length)
                rows = encoder.encode_documents([document.text for document in block], advance=heard)
                write_block(folder, key, encoder, rows)
            yield block, rows
        before += len(block)
        progress(STAGE, before, length)


def _checked_shard(value: object) -> tuple[int, int]:
    """Return the part and the number of parts, or refuse anything else."""
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and all(is_whole_number(number, least=1) for number in value)
    ):
        part, parts = value
        if part <= parts:
            return part, parts
    raise ParameterError(
        "a shard is a part of several, counted from 1",
        facts=[
            ("given", "/".join(map(str, value)) if isinstance(value, tuple) else repr(value)),
            ("expected", "(1, 4), (2, 4), (3, 4) or (4, 4), for example"),
        ],
    )


def _told(progress: Progress, before: int, size: int, length: int | None) -> Callable[[float], None]:
    return lambda share: progress(STAGE, before + int(share * size), length)
