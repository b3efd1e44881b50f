"""``termwise merge``: merge all segments of an index or a mixture into one, or weigh its documents again."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.index_notes import once_free
from termwise.cli.options import (
    IndexFolder,
    JsonFlag,
    Memory,
    Threads,
    available_processors,
    flag,
    memory_size,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted, counted_documents, document_count, print_json, print_text
from termwise.display.safe_text import human_bytes

if TYPE_CHECKING:
    from termwise.index import Manifest


def command(
    folder: IndexFolder,
    renew: Annotated[
        bool,
        flag(
            "--renew",
            "Weigh the stored texts again, for an index that keeps no counts of its terms; others need no --renew.",
        ),
    ] = False,
    threads: Threads = None,
    memory: Memory = "2GB",
    as_json: JsonFlag = False,
) -> None:
    """Merge the segments of an index, or of a mixture's parts.

    Deleted documents are removed, and searches are then as fast as after a build. Small segments are merged after each
    change in any case. An index of term counts becomes that of a new build of its documents.

    For example:

    termwise merge docs.tw
    """
    from termwise.index import Index
    from termwise.index.updater import IndexUpdater
    from termwise.indexing import BuildOptions, renew_index
    from termwise.indexing.mixture_updater import MixtureUpdater
    from termwise.indexing.reweighing import weigh_again_of
    from termwise.search.mixture_folder import is_mixture

    begin = time.perf_counter()
    before, *_ = _manifests(folder)
    threads, size = threads or available_processors(), memory_size(memory)
    with progress_bar() as progress:
        options = BuildOptions(threads=threads, memory=size, progress=progress)

        def open_index(index: Index, *, in_mixture: bool = False, wait: float = 0.0) -> IndexUpdater:
            return IndexUpdater(
                index,
                threads=threads,
                memory=size,
                progress=progress,
                weigh_again=weigh_again_of(index, options),
                in_mixture=in_mixture,
                wait=wait,
            )

        if renew:
            index = renew_index(folder, threads=threads, memory=size, progress=progress).index
        elif is_mixture(folder):
            open_part = partial(open_index, in_mixture=True)
            with once_free(lambda wait: MixtureUpdater(folder, open_part, wait=wait)) as mixture:
                mixture.merge()
            index = mixture.index
        else:
            with once_free(lambda wait: open_index(Index.open(folder), wait=wait)) as updater:
                updater.merge()
            index = updater.index
    manifest, *others = _manifests(folder)
    seconds = time.perf_counter() - begin
    removed = _deleted(before) - _deleted(manifest)
    size = sum(file.length for each in (manifest, *others) for file in each.files())
    if as_json:
        print_json(
            {
                "index": str(folder),
                "segments_before": len(before.segments),
                "segments": len(manifest.segments),
                "removed": removed,
                **document_count(index),
                "bytes": size,
                "generation": manifest.generation,
                "seconds": round(seconds, 3),
            }
        )
        return
    unit = "chunk" if manifest.chunk else "document"
    gone = f"{counted(removed, f'deleted {unit}')} removed; " if removed else ""
    print_text(
        f"{folder}: {counted(len(before.segments), 'segment')} before, {len(manifest.segments)} now; {gone}"
        f"{counted_documents(index)}, {human_bytes(size)}, {seconds:.1f} s"
    )


def _manifests(folder: Path) -> list[Manifest]:
    """Return the manifest of an index, or those of the parts of a mixture."""
    from termwise.index import Manifest
    from termwise.search.mixture_folder import MixtureManifest, is_mixture, part_manifest

    if is_mixture(folder):
        return [part_manifest(folder, part) for part in MixtureManifest.read(folder).parts]
    return [Manifest.read(folder)]


def _deleted(manifest: Manifest) -> int:
    return sum(segment.deletions for segment in manifest.segments)
