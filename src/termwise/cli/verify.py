"""``termwise verify``: check an index or a mixture against its checksums."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from shlex import quote

from termwise.cli.options import IndexFolder, JsonFlag
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import print_json, print_text
from termwise.errors import CheckFailedError


def command(folder: IndexFolder, as_json: JsonFlag = False) -> None:
    """Check an index or a mixture against its checksums.

    The exit status is 5 for a damaged file, and 3 if a manifest cannot be read.

    For example:

    termwise verify docs.tw
    """
    from termwise.search import verify

    with progress_bar() as progress:
        damages = verify(folder, progress=progress)
    if as_json:
        print_json({"index": str(folder), "intact": not damages, "damages": [asdict(d) for d in damages]})
    elif not damages:
        print_text(f"{folder}: intact")
    if damages:
        raise CheckFailedError(
            "the index is damaged",
            facts=[
                (
                    damage.file,
                    damage.what if damage.offset is None else f"{damage.what}, offset {damage.offset}",
                )
                for damage in damages
            ],
            fixes=[
                f"termwise build-graph {quote(str(folder))}"
                if all(Path(damage.file).name.startswith("graph-") for damage in damages)
                else f"termwise index COLLECTION --model MODEL --out {quote(str(folder))} --overwrite"
            ],
        )
