"""What the commands that change an index share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from termwise.cli.options import argument
from termwise.errors import UsageError
from termwise.storage.model_folder import MIXTURE, kind_of

ChangedFolder = Annotated[Path, argument("DIR", "Folder of the index.")]


def refuse_mixture(folder: Path) -> None:
    """Refuse a mixture. Its parts cannot be changed either, so the error does not name them."""
    kind = kind_of(folder)
    if kind is not None and kind.manifest == MIXTURE:
        raise UsageError(
            "a mixture cannot be changed",
            facts=[("mixture", folder)],
            fixes=["build the mixture again with all documents"],
        )
