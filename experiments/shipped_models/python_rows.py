"""Compute the shipped rows of the documentation of Python's standard library.

    python experiments/shipped_models/python_rows.py [ENCODER ...]

Encodes ``python:stdlib`` with the shipped encoders, and writes one file of weights or vectors per encoder to
``src/termwise/assets/python_docs/rows``. ``termwise try`` reads them.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from termwise.cli.progress_bars import progress_bar
from termwise.collection import open_collection
from termwise.encode import EncoderFolder, open_document_encoder, shipped_encoders
from termwise.encode.shipped_rows import write_rows
from termwise.models import NetworkModel, make_model

PLACE = Path(__file__).parents[2] / "src" / "termwise" / "assets" / "python_docs" / "rows"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("encoders", nargs="*", default=shipped_encoders(), help="by default all that ship")
    arguments.add_argument("--threads", type=int, default=2)
    given = arguments.parse_args()
    texts = [document.text for document in open_collection("python:stdlib").documents()]
    for name in given.encoders:
        begin = time.monotonic()
        model = make_model(EncoderFolder.open(name).manifest.kind, {"encoder": name})
        if not isinstance(model, NetworkModel):
            raise TypeError(name)
        encoder = open_document_encoder(model, threads=given.threads)
        with progress_bar() as progress:

            def advance(share: float, name: str = name, progress=progress) -> None:  # type: ignore[no-untyped-def]
                progress(f"encode {name}", round(share * len(texts)), len(texts))

            rows = encoder.encode_documents(texts, advance=advance)
        path = PLACE / f"{name}.npz"
        write_rows(path, texts, encoder, rows)
        print(f"{name}: {len(rows):,} rows, {path.stat().st_size:,} bytes, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
