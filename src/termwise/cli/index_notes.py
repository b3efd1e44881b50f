"""Messages of the commands that build an index or run a network over a collection."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from termwise.cli.terminal import (
    counted,
    counted_documents,
    document_count,
    note,
    note_line,
    print_json,
    print_text,
)
from termwise.display.safe_text import human_bytes, shown
from termwise.storage.safe_read import is_file, path_exists

if TYPE_CHECKING:
    from termwise.attributes import Schema
    from termwise.collection import Collection
    from termwise.collection.fields import FieldChoice
    from termwise.collection.file_collections import Header, RecordFile
    from termwise.collection.parts import FolderCollection
    from termwise.indexing import LiveWriter
    from termwise.indexing.recipes import Recipe
    from termwise.models import NetworkModel
    from termwise.search import Searcher

T = TypeVar("T")

NOTED_AFTER = 1.0
"""Seconds after which a command says that it waits for another writer."""

WRITER_WAIT = 10.0
"""Seconds that a command waits for another writer of its index."""


def once_free(open_index: Callable[[float], T]) -> T:
    """Open an index that another process may write; a wait of more than `NOTED_AFTER` is reported on stderr.

    `open_index` is called with the number of seconds to wait for another writer.

    Raises
    ------
    IndexLockedError
        If the other process still writes after `WRITER_WAIT` seconds.
    """
    from termwise.errors import IndexLockedError

    try:
        return open_index(NOTED_AFTER)
    except IndexLockedError as error:
        note_line(f"{error.message}: waiting for at most {WRITER_WAIT:g} seconds")
        return open_index(WRITER_WAIT)


def report_built(out: Path, searcher: Searcher, seconds: float, as_json: bool) -> None:
    """Print size and build time of a new index or mixture, as text or as JSON."""
    from termwise.search.mixture import Mixture

    index = searcher.index
    manifest = index.manifest
    sizes = [sum(file.length for file in part.index.manifest.files()) for part in searcher.parts]
    facts: dict[str, Any]
    if isinstance(searcher.backend, Mixture):
        about = searcher.backend.description
        parts = [
            {"name": part.name, "weight": part.weight, "index": str(part.index.path), "bytes": size}
            for part, size in zip(searcher.parts, sizes, strict=True)
        ]
        facts = {"mixture": str(out), **document_count(index), "parts": parts}
    else:
        about = f"{counted(manifest.terms, 'term')}, {counted(manifest.postings, 'posting')}"
        sums = {"terms": manifest.terms, "postings": manifest.postings, "bytes": sum(sizes)}
        facts = {"index": str(out), **document_count(index), **sums}
    if as_json:
        print_json({**facts, "seconds": round(seconds, 3)})
        return
    print_text(f"{out}: {counted_documents(index)}, {about}, {human_bytes(sum(sizes))}, {seconds:.1f} s")
    note(f'next: termwise search {quote(str(out))} "your question" --explain')


def note_better_mixture(chose_default: bool) -> None:
    """Say what a mixture without a network costs, and how to index the words alone."""
    note_line(
        "--model best ranks better, with a network that reads some 45 documents of 160 words a second on two processors"
    )
    if chose_default:
        note_line("this is the model instant, for English; --model bm25 indexes the words alone")


def parts_by_hand(recipe: Recipe, out: Path) -> str:
    """Return the commands that build the parts of a mixture one by one, and mix them."""
    names = [part.name for part in recipe.parts]
    builds = [
        " ".join(["--model", part.model, *(f"--set {name}={value}" for name, value in part.settings.items())])
        for part in recipe.parts
    ]
    options = [f"--weights {','.join(f'{part.weight:g}' for part in recipe.parts)}", "--normalise z"]
    options += ["--feedback"] if recipe.feedback is not None else []
    options += [f"--only-scoring {part.name}" for part in recipe.parts if not part.retrieves]
    built = ", ".join(f"{name}.tw with {build}" for name, build in zip(names, builds, strict=True))
    return (
        f"build the indexes one by one ({built}) and mix them: termwise fuse-indexes "
        f"{' '.join(f'{name}.tw' for name in names)} {' '.join(options)} --out {quote(str(out))}"
    )


def collection_with_header_note(
    source: str,
    fields: FieldChoice,
    attributes: Literal["all"] | Sequence[str] | Schema | None = None,
    id_field: str | None = None,
) -> str | Collection:
    """Report on stderr how the header line of a TSV file is treated.

    Returns
    -------
    str or Collection
        `source`. For a pipe, which can be read only once, a collection that reports its header while it is read.
    """
    from termwise.collection import open_collection
    from termwise.collection.file_collections import TabSeparatedCollection
    from termwise.errors import TermwiseError

    path = Path(source)
    try:
        if not path_exists(path):
            return source
        collection = open_collection(source, fields=fields, attributes=attributes, id_field=id_field)
        if not isinstance(collection, TabSeparatedCollection):
            return source
        if not is_file(path):
            return replace(collection, on_header=partial(_note_header, source))
        header = collection.header()
    except TermwiseError:
        return source  # build_index opens it again and raises the error
    if header is not None:
        _note_header(source, header)
    return source


def _note_header(source: str, header: Header) -> None:
    if header.left_out:
        note_line(f"{source}: the first line is a header and is skipped: {shown(header.line)}")
    else:
        note_line(
            f"{source}: the first line is read as a document, although it looks like a header whose first column is "
            f"the identifier: {shown(header.line)}"
        )


def note_ignored_vectors(source: str) -> None:
    """Report on stderr that the term weights of a JSON lines file are ignored, if its first record has any."""
    from termwise.collection import open_collection
    from termwise.collection.file_collections import JsonLinesCollection
    from termwise.collection.lines import read_json_lines
    from termwise.errors import TermwiseError

    path = Path(source)
    try:
        if not is_file(path) or not isinstance(open_collection(source), JsonLinesCollection):
            return
        _, record = next(read_json_lines(path), (0, {}))
    except TermwiseError:
        return  # build_index reads the file again and raises the error
    if isinstance(record.get("vector"), dict):
        note_line(f'{source}: the field "vector" is ignored; --model vectors uses its weights')


def note_other_fields(
    documents: RecordFile | FolderCollection, fields: FieldChoice, folder: Path, schema: Container[str]
) -> None:
    """Report on stderr how the fields of the first records differ from those of an index.

    The notes name texts of the index that the records lack, and fields that the index cannot store. The fields of the
    documents are decided.
    """
    from termwise.collection.fields import BODY_FIELDS

    assert documents.tally is not None, "decided documents"
    roles = documents.tally.roles
    if lacking := [name for name in fields or () if name not in roles.texts]:
        note_line(f"{documents.name}: the first records lack these texts of {folder}: {', '.join(lacking)}")
    texts = [name for name in roles.texts if name not in (fields or ("title", *BODY_FIELDS))]
    others = [name for name in (*texts, *roles.neither) if name not in schema]
    if others:
        note_line(
            f"{documents.name}: these fields are neither texts nor attributes of {folder}, and are not kept: "
            f"{', '.join(others)}; to keep them, build the index again, with --fields or --attributes"
        )


def note_text_fields(fields: FieldChoice, attributes: object) -> None:
    """Report on stderr that the chosen fields of the text are not among all attributes."""
    if fields and attributes == "all":
        note_line(
            f"--attributes all leaves out the fields of the text: {', '.join(fields)}; "
            f"to filter by one of them, name all attributes to keep: --attributes NAME,NAME"
        )


def note_merge_error(writer: LiveWriter) -> None:
    """Report on stderr that the segments of an index could not be merged after a change."""
    if writer.merge_error is not None:
        note_line(f"the change is made, but its segments are not merged: {writer.merge_error}")


def note_finished_blocks(
    work: Path,
    model: NetworkModel,
    *,
    precision: Literal["float32", "int8"] | None,
    providers: Sequence[str] | None,
) -> None:
    """Report on stderr how many blocks of documents earlier runs have encoded, if any."""
    from termwise.errors import TermwiseError
    from termwise.indexing import finished_blocks

    try:
        done = finished_blocks(work, model=model, precision=precision, providers=providers)
    except TermwiseError:
        return  # build_index opens the same files again and raises the error
    if done:
        note(f"resuming: texts of {counted(done, 'finished block')} in {work} are not encoded again")


@contextmanager
def resumable_work(work: Sequence[Path]) -> Iterator[None]:
    """Report on stderr after an interruption that the same command resumes the work."""
    from termwise.encode.block_file import block_files
    from termwise.encode.row_table import row_files

    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if kept := [str(folder) for folder in work if block_files(folder) or row_files(folder)]:
            note(
                f"interrupted: finished blocks are kept in {' and '.join(kept)}; the same command resumes from them"
            )
        raise
