"""Input files in JSON or TOML, by their ending."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from termwise.errors import TermwiseError, UnknownNameError
from termwise.storage.safe_read import read_input


def read_json_or_toml(
    path: Path, kind: str, most: int, malformed: Callable[[str, str], TermwiseError]
) -> object:
    """Return the value in a file of a user.

    Parameters
    ----------
    path : Path
        File that ends in ``.json`` or ``.toml``.
    kind : str
        What the file is, for errors.
    most : int
        Largest number of bytes.
    malformed : callable
        Builds the error for a file of another form, from what is expected and what is wrong.

    Raises
    ------
    MissingFileError, UnknownNameError
        If the file cannot be read, or its ending is unknown.
    """
    suffix = path.suffix.lower()
    if suffix not in (".json", ".toml"):
        raise UnknownNameError(
            f"unknown kind of {kind} file {path.name!r}",
            facts=[("file", path), ("known endings", ".json, .toml")],
            fixes=["rename the file: its ending determines its format"],
        )
    data = read_input(path, most, f"a {kind} cannot be read")
    import tomllib  # rarely needed

    try:
        text = data.decode("utf-8-sig")
        return json.loads(text) if suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise malformed(suffix[1:].upper(), str(error)) from error
