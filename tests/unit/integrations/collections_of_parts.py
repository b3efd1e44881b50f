"""Collections in several files, and their rows encoded by one process."""

from __future__ import annotations

import json
from pathlib import Path

from termwise.collection import open_collection


def write_parts(folder: Path, *, parts: int, documents: int, words: int = 40) -> Path:
    """Write sections of the documentation of Python as JSONL and Parquet files, one after the other."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir()
    sections = open_collection("python:stdlib").documents()
    for number in range(parts):
        records = []
        while len(records) < documents:
            document = next(sections)
            records.append({"_id": document.doc_id, "text": " ".join(document.text.split()[:words])})
        path = folder / f"part-{number:02}"
        if number % 2:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), path.with_suffix(".parquet"))
        else:
            path.with_suffix(".jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """Return the content of all files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
