"""``termwise merge``: merge all segments of an index into one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from termwise.cli.changes import ChangedFolder, refuse_mixture
from termwise.cli.options import (
    JsonFlag,
    Memory,
    Threads,
    available_processors,
    memory_size,
)
from termwise.cli.terminal import counted, human_bytes, print_json, print_text, progress_bar

if TYPE_CHECKING:
    from termwise.index import Manifest


def command(
    folder: ChangedFolder, threads: Threads = None, memory: Memory = "2GB", as_json: JsonFlag = False
) -> None:
    """Merge the segments of an index into one.

    Deleted documents are removed, and searches are then as fast as after a build. Small segments are merged after each
    change in any case.

    For example:

    termwise merge docs.tw
    """
    from termwise.index.updater import IndexUpdater

    refuse_mixture(folder)
    begin = time.perf_counter()
    with (
        progress_bar() as progress,
        IndexUpdater(
            folder,
            threads=threads or available_processors(),
            memory=memory_size(memory),
            progress=progress,
        ) as updater,
    ):
        before = updater.index.manifest
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
        f"{counted(manifest.documents, 'document')}, {human_bytes(size)}, {seconds:.1f} s"
    )


def _deleted(manifest: Manifest) -> int:
    return sum(segment.deletions for segment in manifest.segments)
