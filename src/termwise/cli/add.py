"""``termwise add``: add documents to an index or a mixture, or replace them."""

from __future__ import annotations

import time
from typing import Annotated

from termwise.cli.index_notes import (
    collection_with_header_note,
    note_merge_error,
    note_other_fields,
    once_free,
)
from termwise.cli.options import (
    Fields,
    IdField,
    IndexFolder,
    JsonFlag,
    Memory,
    Precision,
    Provider,
    Threads,
    argument,
    available_processors,
    field_names,
    memory_size,
    network_precision,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted_documents, document_count, note_line, print_json, print_text
from termwise.errors import UsageError
from termwise.fixes import NAMES, Fix


def command(
    folder: IndexFolder,
    collection: Annotated[str, argument("COLLECTION", "Documents: see termwise index.")],
    id_field: IdField = None,
    fields: Fields = None,
    threads: Threads = None,
    memory: Memory = "2GB",
    precision: Precision = None,
    provider: Provider = None,
    as_json: JsonFlag = False,
) -> None:
    """Add documents to an index or a mixture, or replace them.

    A document with the identifier of an earlier one replaces it. All documents become visible at once, when the
    command ends; if it is interrupted, the index is unchanged. Fields with short values that are no attributes yet
    become attributes.

    For example:

    termwise add docs.tw today.jsonl
    """
    from termwise.collection import open_collection
    from termwise.collection.file_collections import RecordFile
    from termwise.collection.parts import FolderCollection
    from termwise.indexing import open_writer
    from termwise.indexing.context import say_left_out, say_separator
    from termwise.indexing.live_writer import Added

    begin = time.perf_counter()
    with (
        progress_bar() as progress,
        once_free(
            lambda wait: open_writer(
                folder,
                threads=threads or available_processors(),
                memory=memory_size(memory),
                precision=network_precision(precision),
                providers=None if provider is None else (provider,),
                wait=wait,
                progress=progress,
            )
        ) as writer,
    ):
        given, schema = field_names(fields), writer.schema or None
        names = writer.fields or given
        if given is not None and given != tuple(names or ()):
            raise UsageError(
                "the index keeps the fields of its build, and --fields names others",
                facts=[("index", ", ".join(names or ())), ("--fields", fields)],
                fixes=[
                    "omit --fields",
                    Fix.sentence(
                        "build the index again with these fields: {}", Fix.call("build_index", fields=NAMES)
                    ),
                ],
            )
        source = collection_with_header_note(collection, names, schema, id_field)
        documents = (
            open_collection(source, fields=names, attributes="inferred", id_field=id_field)
            if isinstance(source, str)
            else source
        )
        if isinstance(documents, RecordFile | FolderCollection):
            decided = documents.decided()
            say_separator(documents, note_line)
            note_other_fields(decided, names, folder, writer.schema)
            documents = decided.for_index(names, writer.schema)
        added = writer.add(documents.documents())
        new = [f"{name} ({kind})" for name, kind in writer.schema.items() if name not in (schema or ())]
        generation = writer.commit().generation
        index = writer.index
    note_merge_error(writer)
    if new:
        note_line(f"new attributes of {folder}: {', '.join(new)}")
    say_left_out(documents, index.schema, note_line)
    seconds = time.perf_counter() - begin
    if added == Added(0, 0, 0):
        note_line(f"{collection}: no documents")
    if as_json:
        print_json(
            {
                "index": str(folder),
                "new": added.new,
                "replaced": added.replaced,
                "unchanged": added.unchanged,
                **document_count(index),
                "generation": generation,
                "seconds": round(seconds, 3),
            }
        )
        return
    unchanged = f", {added.unchanged:,} unchanged" if added.unchanged else ""
    print_text(
        f"{folder}: {added.new:,} added, {added.replaced:,} replaced{unchanged}; "
        f"{counted_documents(index)} now, {seconds:.1f} s"
    )
