"""Place and removal of the work folder, which holds finished blocks of encoded documents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from termwise.encode.block_encoding import remove_work_folder
from termwise.encode.block_file import block_files
from termwise.errors import ForeignFolderError, ParameterError
from termwise.fixes import Fix
from termwise.index.manifest import FORMAT, MAX_MANIFEST, NAME
from termwise.search.mixture_folder import is_mixture
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular


def default_encoding(path: str | Path) -> Path:
    """Return the default work folder of `build_index` for the index at `path`.

    Examples
    --------
    >>> default_encoding("runs/docs.tw/").as_posix()
    'runs/docs.tw.encoding'
    """
    index = Path(path)
    if index.name in ("", ".."):  # a relative path whose last part is not a name
        index = index.resolve()
    return Path(f"{index}.encoding")


def encoding_of_part(encoding: str | Path, part: str, networks: int) -> Path:
    """Return the work folder of a part of a mixture: the folder itself if no other part runs a network."""
    return Path(encoding) if networks == 1 else Path(encoding) / part


@contextmanager
def work_folder(path: str | Path, encoding: str | Path | None) -> Iterator[Path]:
    """Yield the work folder; remove the default one after success, or if it holds no block."""
    if encoding is not None:
        yield Path(encoding)
        return
    work = default_encoding(path)
    check_apart(Path(path), work)
    try:
        yield work
    except ForeignFolderError:
        raise
    except BaseException:
        if not block_files(work):
            remove_work_folder(work)
        raise
    remove_work_folder(work)


def check_apart(index: Path, encoding: Path) -> None:
    """Refuse an index and a work folder if either lies inside the other."""
    paths = [Path(os.path.realpath(folder)) for folder in (index, encoding)]
    if paths[0] == paths[1] or paths[0] in paths[1].parents or paths[1] in paths[0].parents:
        raise ParameterError(
            "the index and the folder of encoded documents may not contain each other",
            facts=[
                ("index", index),
                ("encoding", encoding),
                ("reason", "an index is replaced as a whole, with everything in its folder"),
            ],
            fixes=[Fix.use(encoding=default_encoding(index)), "omit the encoding"],
        )


def check_outside_indexes(encoding: Path) -> None:
    """Refuse a work folder that is an index or lies inside one."""
    path = Path(os.path.realpath(encoding))
    for folder in (path, *path.parents):
        if _is_index(folder) or is_mixture(folder):
            raise ParameterError(
                "the folder of encoded documents lies inside an index",
                facts=[
                    ("encoding", encoding),
                    ("index", folder),
                    ("reason", "an index is replaced as a whole, with everything in its folder"),
                ],
                fixes=["choose a folder beside the index"],
            )


def _is_index(folder: Path) -> bool:
    try:
        return FORMAT.encode() in read_regular(folder / NAME, MAX_MANIFEST)
    except (OSError, Misfit):
        return False
