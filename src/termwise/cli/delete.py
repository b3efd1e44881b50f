"""``termwise delete``: delete documents of an index or a mixture."""

from __future__ import annotations

from typing import Annotated

from termwise.cli.index_notes import note_merge_error, once_free
from termwise.cli.options import IndexFolder, JsonFlag, argument, option
from termwise.cli.terminal import counted_documents, document_count, note_line, print_json, print_text
from termwise.display.safe_text import listed
from termwise.errors import UsageError


def command(
    folder: IndexFolder,
    doc_ids: Annotated[
        list[str] | None, argument("DOC_ID...", "Identifiers of documents; or --filter.")
    ] = None,
    condition: Annotated[
        str | None, option("--filter EXPR", "Delete the documents that a filter matches.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Delete documents of an index or a mixture.

    For example:

    termwise delete docs.tw d17 d18

    termwise delete docs.tw --filter 'day < "2024-01-01"'
    """
    from termwise.indexing import open_writer

    if bool(doc_ids) == (condition is not None):
        raise UsageError("give identifiers of documents, or --filter")
    with once_free(lambda wait: open_writer(folder, wait=wait)) as writer:
        absent = [doc_id for doc_id in doc_ids or () if not writer.has(doc_id)]
        deleted = writer.delete(doc_ids) if doc_ids else writer.delete(filter=condition)
        generation = writer.commit().generation
        index = writer.index
    note_merge_error(writer)
    if as_json:
        print_json(
            {
                "index": str(folder),
                "deleted": deleted,
                "absent": absent,
                **document_count(index),
                "generation": generation,
            }
        )
        return
    print_text(f"{folder}: {deleted:,} deleted; {counted_documents(index)} now")
    if absent:
        note_line(f"not in the index: {listed(absent)}")
