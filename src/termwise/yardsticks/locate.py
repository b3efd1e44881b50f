"""Where a network lies: in a folder, in a file, or on a hub, from where it is downloaded."""

from __future__ import annotations

import re
from pathlib import Path

from termwise.errors import MissingFileError
from termwise.train.hub import hub_copy
from termwise.validation import check_path

_NAME = re.compile(r"[\w.-]*\w/[\w.-]+")


def is_hub_name(name: str | Path) -> bool:
    """Whether this is how a hub names a model, owner first, and no path that is there.

    Examples
    --------
    >>> is_hub_name("cross-encoder/ms-marco-MiniLM-L6-v2"), is_hub_name("./models/mine"), is_hub_name("bm25")
    (True, False, False)
    """
    return _NAME.fullmatch(str(name)) is not None and not Path(name).exists()


def located(noun: str, place: str | Path, fixes: tuple[str, ...], *, weights: bool = True) -> Path:
    """Return the folder or file that is named, or a copy of what a hub has under that name.

    Parameters
    ----------
    noun : str
        What is looked for, for errors.
    place : str or Path
        A path, or a name with its owner, such as ``castorini/monot5-base-msmarco``.
    fixes : tuple of str
        What to do where there is none.
    weights : bool, optional
        Whether the network itself is needed, or what lies beside it.

    Raises
    ------
    MissingFileError
        If the path is not there.
    ModelFormatError
        If it could be a name, the hub has no such model or does not answer, and it was not downloaded before.
    """
    check_path(f"the {noun}", place)
    if is_hub_name(place):
        return hub_copy(str(place), noun=noun, fixes=fixes, weights=weights)
    if not Path(place).exists():
        raise MissingFileError(f"there is no such {noun}", facts=[("path", place)], fixes=fixes)
    return Path(place)


def usual_name(place: str | Path) -> str:
    """Return what a scorer is called by default: like its folder or file, or its name on the hub without the owner.

    Examples
    --------
    >>> usual_name("castorini/monot5-base-msmarco"), usual_name("/models/epic.p")
    ('monot5-base-msmarco', 'epic')
    """
    path = Path(place)
    if is_hub_name(place):
        return path.name
    return path.resolve().name if path.is_dir() else path.stem
