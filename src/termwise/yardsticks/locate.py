"""Location of networks: a folder, a file, or a downloaded copy of a model on the Hugging Face hub."""

from __future__ import annotations

import re
from pathlib import Path

from termwise.errors import MissingFileError
from termwise.storage.safe_read import is_folder, path_exists
from termwise.train.hub import hub_snapshot
from termwise.validation import check_path

_HUB_NAME = re.compile(r"[\w.-]*\w/[\w.-]+")


def is_hub_name(name: str | Path) -> bool:
    """Return whether a name has the form ``OWNER/NAME`` and is not an existing path.

    Examples
    --------
    >>> is_hub_name("cross-encoder/ms-marco-MiniLM-L6-v2"), is_hub_name("./models/mine"), is_hub_name("bm25")
    (True, False, False)
    """
    return _HUB_NAME.fullmatch(str(name)) is not None and not path_exists(Path(name))


def locate_model(noun: str, place: str | Path, fixes: tuple[str, ...], *, weights: bool = True) -> Path:
    """Return an existing path, or the local copy of a model on the hub, such as ``castorini/monot5-base-msmarco``.

    Errors have the noun of the model and the fixes. Without `weights`, only the other files are downloaded.
    """
    check_path(f"the {noun}", place)
    if is_hub_name(place):
        return hub_snapshot(str(place), noun=noun, fixes=fixes, weights=weights)
    if not path_exists(Path(place)):
        raise MissingFileError(f"there is no such {noun}", facts=[("path", place)], fixes=fixes)
    return Path(place)


def default_name(place: str | Path) -> str:
    """Return the default name of a scorer: the name of its folder or file, or its hub name without the owner.

    Examples
    --------
    >>> default_name("castorini/monot5-base-msmarco"), default_name("/models/epic.p")
    ('monot5-base-msmarco', 'epic')
    """
    path = Path(place)
    if is_hub_name(place):
        return path.name
    return path.resolve().name if is_folder(path) else path.stem
