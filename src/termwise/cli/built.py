"""What is said of an index that was just built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from termwise.cli.terminal import human_bytes, note, print_json, stdout

if TYPE_CHECKING:
    from termwise.index import Manifest


def say_built(out: Path, manifest: Manifest, seconds: float, as_json: bool) -> None:
    """Print its size and what it took, for people or for programs."""
    size = sum(file.length for file in manifest.files())
    if as_json:
        print_json(
            {
                "index": str(out),
                "documents": manifest.documents,
                "terms": manifest.terms,
                "postings": manifest.postings,
                "bytes": size,
                "seconds": round(seconds, 3),
            }
        )
        return
    stdout().print(
        f"{out}: {manifest.documents:,} documents, {manifest.terms:,} terms, "
        f"{manifest.postings:,} postings, {human_bytes(size)}, {seconds:.1f} s",
        soft_wrap=True,
    )
    note(f'next: termwise search {out} "your question" --explain')
