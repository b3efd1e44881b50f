"""Encoding of a collection in blocks, which a work folder keeps for interrupted and repeated builds.

``docs/encoder-format.md`` describes the files. A row depends on the text alone and is found by the digest of the text.
So a text that the folder holds is not encoded again, whatever its identifier, its place or its collection. The other
texts of a block are encoded and become a new file. Damaged files are ignored. Nothing is removed from the folder.
The folder may also hold Parquet files of rows, see `row_table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import compress
from pathlib import Path
from typing import Any, cast

from termwise.display.safe_text import settings_differences, short_digest
from termwise.encode.block_file import BLOCK_NAME, Rows, cut_blocks, text_digests, write_block
from termwise.encode.document_encoder import EncodedRows, RowEncoder, check_encoder
from termwise.encode.row_selection import interleave_rows
from termwise.encode.row_table import is_row_file, read_row_file, row_files
from termwise.encode.stored_rows import StoredRows
from termwise.errors import ForeignFolderError, ParameterError
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.storage.atomic_file import TEMPORARY
from termwise.storage.manifest_json import canonical_bytes
from termwise.storage.ownership import check_names
from termwise.storage.ownership import claim as claim_folder
from termwise.validation import check_documents, check_path, is_whole_number

NAME = "encoding.json"
STATISTICS = "statistics.json"
FORMAT = "termwise-encoding"
VERSION = 2

MARKS = ("_SUCCESS", STATISTICS)
"""Names of files beside the rows."""

STAGE = "encode documents"


def encoded_blocks(
    documents: Iterable[Document],
    encoder: RowEncoder[Rows],
    folder: str | Path,
    *,
    shard: tuple[int, int] = (1, 1),
    length: int | None = None,
    progress: Progress = no_progress,
) -> Iterator[tuple[list[Document], Rows]]:
    """Encode documents in blocks; texts whose rows are already in the work folder are not encoded again.

    Parameters
    ----------
    documents : iterable of Document
        The collection; for shards, always in the same order.
    encoder : RowEncoder
        Computes the rows; its `block` is the largest number of documents in a block, see `cut_blocks`.
    folder : str or Path
        Work folder; created if missing. Several machines may share it.
    shard : (int, int), optional
        Part i of n, counted from 1: every n-th block is encoded and yielded, others are skipped.
    length : int, optional
        Number of documents, if known, for `progress`.
    progress : callable, optional
        Called with the stage, the number of documents done, and `length`.

    Returns
    -------
    iterator of (list of Document, TermWeights or DocumentVectors)
        Documents and their rows, by block, in the order of the collection.

    Raises
    ------
    ParameterError
        If there is no such part, or an argument has the wrong type.
    ForeignFolderError
        If the folder belongs to another encoder or other settings, or holds other files.
    MissingFileError
        If a block in the folder cannot be read.
    StorageError
        If the folder cannot be written.
    """
    check_documents(documents)
    check_encoder(encoder, RowEncoder)
    check_path("folder", folder)
    part, parts = checked_shard(shard)
    work = Path(folder)
    claim(work, encoder)
    return _blocks(documents, encoder, work, part - 1, parts, length, progress)


def claim(folder: Path, encoder: RowEncoder[EncodedRows]) -> None:
    """Claim a work folder for an encoder: create it, or check that it belongs to this encoder."""
    path = folder / NAME
    identity: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "encoder": encoder.fingerprint,
        "vocabulary": encoder.vocabulary.id,
        "block": encoder.block,
    }
    record = {**identity, "description": encoder.description}
    try:
        data = canonical_bytes(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            "the description of the encoder cannot be written as JSON", facts=[("reason", error)]
        ) from None

    def check(names: Iterable[str]) -> None:
        check_names(folder, names, _is_known, "an encoding of a collection")
        for file in row_files(folder):
            read_row_file(file, encoder)  # raises for rows of another encoder

    existing = claim_folder(path, data, check_names=check)
    if existing is None or existing.get("format") != FORMAT:
        raise ForeignFolderError(
            "the work folder holds no encoding of a collection, or a damaged one",
            facts=[("file", path)],
            fixes=["choose another folder"],
        )
    differing = [key for key in identity if existing.get(key) != identity[key]]
    if differing:
        existing_text, new_text = _compared(existing, record)
        raise ForeignFolderError(
            "the work folder holds rows of another encoder or of other settings",
            facts=[
                ("folder", folder),
                ("differs in", ", ".join(differing)),
                ("there", existing_text),
                ("here", new_text),
            ],
            fixes=["choose another folder", f"rm -r {folder}"],
        )


def remove_work_folder(folder: Path) -> None:
    """Remove a work folder that is no longer needed; foreign files stay, and the folder with them."""
    with suppress(OSError):
        for entry in list(folder.iterdir()):
            if entry.name == NAME or BLOCK_NAME.fullmatch(entry.name) or TEMPORARY.fullmatch(entry.name):
                entry.unlink()
        folder.rmdir()


def _blocks(
    documents: Iterable[Document],
    encoder: RowEncoder[Rows],
    folder: Path,
    part: int,
    parts: int,
    length: int | None,
    progress: Progress,
) -> Iterator[tuple[list[Document], Rows]]:
    stored = StoredRows(folder, encoder)
    before = 0
    for number, block in enumerate(cut_blocks(documents, encoder.block)):
        if number % parts == part:
            texts = [document.text for document in block]
            digests = text_digests(texts)
            positions = stored.find(digests)
            is_stored = positions >= 0
            if is_stored.all():
                rows = stored.rows(positions)
            else:
                done, size = before + int(is_stored.sum()), int((~is_stored).sum())
                progress(STAGE, done, length)  # here the rate begins, without the rows of an earlier run

                def advance(share: float, done: int = done, size: int = size) -> None:
                    progress(STAGE, done + int(share * size), length)

                rows = encoder.encode_documents(list(compress(texts, ~is_stored)), advance=advance)
                write_block(folder, encoder, digests[~is_stored], rows)
                progress(STAGE, before + len(block), length)
                if is_stored.any():
                    known = stored.rows(positions[is_stored])
                    rows = cast(Rows, interleave_rows(known, rows, is_stored))
            yield block, rows
        before += len(block)
    progress(STAGE, before, length)


def checked_shard(value: object) -> tuple[int, int]:
    """Return part and number of parts, or raise `ParameterError`."""
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and all(is_whole_number(number, least=1) for number in value)
    ):
        part, parts = value
        if part <= parts:
            return part, parts
    raise ParameterError(
        "a shard is the number of a part, counted from 1, and the number of parts",
        facts=[
            ("given", "/".join(map(str, value)) if isinstance(value, tuple) else repr(value)),
            ("expected", "(1, 4), (2, 4), (3, 4) or (4, 4), for example"),
        ],
    )


def _is_known(name: str) -> bool:
    """Return whether this is a file of rows, one that another process is writing, or a mark of Spark."""
    return (
        is_row_file(name) or TEMPORARY.fullmatch(name) is not None or name in MARKS or name.endswith(".crc")
    )


def _compared(there: Mapping[str, object], here: Mapping[str, object]) -> tuple[str, str]:
    """Describe the encoders of two records: name, precision, settings that differ, and fingerprint."""
    records = (there, here)
    descriptions = [_mapping(record.get("description")) for record in records]
    settings = settings_differences(*(_mapping(description.get("settings")) for description in descriptions))
    lines = []
    for record, description, differing in zip(records, descriptions, settings, strict=True):
        facts = [description.get("name"), _mapping(description.get("network")).get("precision"), differing]
        fingerprint = short_digest(str(record.get("encoder")))
        lines.append(", ".join([*(str(fact) for fact in facts if fact), fingerprint]))
    return lines[0], lines[1]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
