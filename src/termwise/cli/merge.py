"""``termwise merge``: merge all segments of an index into one, or weigh its documents again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from termwise.cli.changes import ChangedFolder, refuse_mixture
from termwise.cli.options import (
    JsonFlag,
    Memory,
    Threads,
    available_processors,
    memory_size,
)
from termwise.cli.terminal import (
    counted,
    counted_documents,
    human_bytes,
    print_json,
    print_text,
    progress_bar,
)

if TYPE_CHECKING:
    from termwise.index import Manifest


def command(
    folder: ChangedFolder,
    renew: Annotated[
        bool,
        typer.Option(
            "--renew",
            help="Weigh the stored texts again, with the statistics of the documents that the index has now.",
        ),
    ] = False,
    threads: Threads = None,
    memory: Memory = "2GB",
    as_json: JsonFlag = False,
) -> None:
    """Merge the segments of an index into one.

    Deleted documents are removed, and searches are then as fast as after a build. Small segments are merged after each
    change in any case. With --renew, the index becomes that of a new build of its documents.

    For example:

    termwise merge docs.tw

    termwise merge docs.tw --renew
    """
    from termwise.index import Index
    from termwise.index.updater import IndexUpdater
    from termwise.indexing import renew_index

    refuse_mixture(folder)
    begin = time.perf_counter()
    before = Index.open(folder).manifest
    threads = threads or available_processors()
    with progress_bar() as progress:
        if renew:
            manifest = renew_index(
                folder, threads=threads, memory=memory_size(memory), progress=progress
            ).index.manifest
        else:
            with IndexUpdater(
                folder, threads=threads, memory=memory_size(memory), progress=progress
            ) as updater:
                manifest = updater.merge()
    seconds = time.perf_counter() - begin
    removed = _deleted(before) - _deleted(manifest)
    size = sum(file.length for file in manifest.files())
    if as_json:
        print_json(
            {
                "index": str(folder),
                "segments_before": len(before.segments),
                "segments": len(manifest.segments),
                "removed": removed,
                "documents": manifest.documents,
                "bytes": size,
                "generation": manifest.generation,
                "seconds": round(seconds, 3),
            }
        )
        return
    gone = f"{counted(removed, 'deleted document')} removed; " if removed else ""
    print_text(
        f"{folder}: {counted(len(before.segments), 'segment')} before, {len(manifest.segments)} now; {gone}"
        f"{counted_documents(manifest)}, {human_bytes(size)}, {seconds:.1f} s"
    )


def _deleted(manifest: Manifest) -> int:
    return sum(segment.deletions for segment in manifest.segments)
