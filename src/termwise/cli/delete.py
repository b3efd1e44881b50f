"""``termwise delete``: delete documents of an index."""

from __future__ import annotations

from typing import Annotated

from termwise.cli.options import IndexFolder, JsonFlag, argument
from termwise.cli.terminal import counted, note, print_json, print_text


def command(
    folder: IndexFolder,
    doc_ids: Annotated[list[str], argument("DOC_ID...", "Identifiers of documents.")],
    as_json: JsonFlag = False,
) -> None:
    """Delete documents of an index.

    For example:

    termwise delete docs.tw d17 d18
    """
    from termwise.indexing import open_writer

    with open_writer(folder) as writer:
        absent = [doc_id for doc_id in doc_ids if not writer.has(doc_id)]
        deleted = writer.delete(doc_ids)
        manifest = writer.commit()
    if as_json:
        print_json(
            {
                "index": str(folder),
                "deleted": deleted,
                "absent": absent,
                "documents": manifest.documents,
                "generation": manifest.generation,
            }
        )
        return
    print_text(f"{folder}: {deleted:,} deleted; {counted(manifest.documents, 'document')} now")
    if absent:
        note(f"not in the index: {', '.join(absent)}")
