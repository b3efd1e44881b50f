"""``termwise build-graph``: graphs for approximate search of an index with vectors."""

from __future__ import annotations

import time
from shlex import quote

from termwise.cli.options import IndexFolder, JsonFlag
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note, print_json, print_text
from termwise.display.safe_text import human_bytes


def command(folder: IndexFolder, as_json: JsonFlag = False) -> None:
    """Add a graph for approximate search of vectors.

    A search with --approximate then reads the documents that the graph proposes instead of all vectors. This is meant
    for a million documents and more; the gain is not measured yet. Needs the extra 'approximate'.

    For example:

    termwise build-graph best.tw

    termwise search best.tw "merge two sorted lists" --approximate 2000
    """
    from termwise.indexing import build_graph

    begin = time.perf_counter()
    with progress_bar() as progress:
        files = build_graph(folder, progress=progress)
    seconds = time.perf_counter() - begin
    for path in files:
        if as_json:
            print_json({"graph": str(path), "bytes": path.stat().st_size})
        else:
            print_text(f"{path}: {human_bytes(path.stat().st_size)}")
    if not as_json:
        note(
            f'built in {seconds:.1f} s; next: termwise search {quote(str(folder))} "your question" --approximate 2000'
        )
