"""Opening, and verification, of the folder of an index or of a mixture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from termwise.errors import IndexFormatError, MissingFileError
from termwise.index.reader import ATTEMPTS, Index
from termwise.progress import Progress, no_progress
from termwise.search.mixture_folder import MixtureManifest, is_mixture, part_manifest
from termwise.search.searcher import Searcher
from termwise.search.single_index import SingleIndex
from termwise.validation import check_path

if TYPE_CHECKING:
    from termwise.index import Damage


def open_searcher(path: str | Path) -> Searcher:
    """Open the folder of an index or of a mixture for searching; see `termwise.open`."""
    check_path("the index", path)
    if not is_mixture(path):
        return Searcher(SingleIndex(Index.open(path)))
    from termwise.search.mixture import Mixture

    return Searcher(Mixture.open(Path(path)))


def verify(path: str | Path, *, progress: Progress = no_progress) -> list[Damage]:
    """Check every file of an index, or of the indexes of a mixture.

    Parameters
    ----------
    path : str or Path
        Folder of the index or mixture.
    progress : callable, optional
        See `termwise.index.verify`.

    Returns
    -------
    list of Damage
        Empty if all is intact. In a mixture, the files of a damage begin with the folder of the part.

    Raises
    ------
    DataError
        If ``mixture.json`` or the manifest of an index is missing, foreign or damaged, a part has changed since the
        mixture was built, or the parts hold different documents.
    """
    from termwise.index import verify as verify_index
    from termwise.index.verification import damages_of
    from termwise.search.mixture import Mixture

    check_path("the index", path)
    if not is_mixture(path):
        return verify_index(path, progress=progress)
    folder = Path(path)
    before: MixtureManifest | None = None
    for _ in range(ATTEMPTS):
        mixture = MixtureManifest.read(folder)
        damages: list[Damage] = []
        failure: MissingFileError | IndexFormatError | None = None
        try:
            for part in mixture.parts:
                found = damages_of(folder / part.folder, part_manifest(folder, part), progress)
                damages += [replace(damage, file=f"{part.folder}/{damage.file}") for damage in found]
            if not damages:
                Mixture.open(folder)
                return []
        except (MissingFileError, IndexFormatError) as error:
            failure = error
        if mixture == before:
            break
        before = mixture  # a change may have published the next generation meanwhile
    if failure is not None:
        raise failure
    return damages
