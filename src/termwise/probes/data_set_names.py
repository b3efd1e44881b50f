"""Names of judged collections and data sets: parsing and checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from termwise.errors import MissingFileError, UnknownNameError, UsageError
from termwise.fixes import Fix
from termwise.probes.core.judged_texts import collection_name
from termwise.probes.registry import families
from termwise.storage.safe_read import is_folder, path_exists

_NAMED = re.compile(r"(?P<name>[\w.-]+)=(?P<rest>.+)")
_FILES = Fix.use("name three files, {}", judged="NAME=COLLECTION,QUERIES,QRELS")


class JudgedSource(NamedTuple):
    """Name and files of a judged collection."""

    name: str
    collection: str
    queries: str
    qrels: str


def judged_source(text: str) -> JudgedSource:
    """Parse ``[NAME=]FOLDER[:SPLIT]``, a folder in BEIR layout, or ``[NAME=]COLLECTION,QUERIES,QRELS``.

    Examples
    --------
    >>> judged_source("pets=docs.jsonl,queries.tsv,qrels.txt").collection
    'docs.jsonl'
    """
    named = _NAMED.fullmatch(text)
    name, rest = (named["name"], named["rest"]) if named else (None, text)
    parts = rest.split(",")
    if len(parts) == 3:
        return JudgedSource(name or collection_name(parts[0]), *parts)
    path, _, split = rest.partition(":")
    folder = Path(path)
    if len(parts) > 1 or not is_folder(folder):
        raise UsageError(
            "a judged collection is a folder in BEIR layout, or three files",
            facts=[("given", text)],
            fixes=[
                Fix.use("name a folder, {}", judged="DIR"),
                Fix.use("name a split, {}", judged="DIR:dev"),
                _FILES,
            ],
        )
    judgments = {
        file.name.removesuffix(".gz").removesuffix(".tsv"): file
        for file in sorted((folder / "qrels").glob("*"), reverse=True)
        if file.name.endswith((".tsv", ".tsv.gz"))
    }
    splits = sorted(judgments)
    split = split or ("test" if "test" in splits or not splits else splits[0])
    if split not in splits:
        raise MissingFileError(
            "the folder has no judgments of this split",
            facts=[
                ("folder", folder),
                ("expected", f"qrels/{split}.tsv"),
                ("found", ", ".join(splits) or "none"),
            ],
            fixes=[Fix.use("name another split, {}", judged="DIR:SPLIT"), _FILES],
        )
    return JudgedSource(name or folder.resolve().name, path, path, str(judgments[split]))


def data_names() -> list[str]:
    """Return the names of all data sets that a family reads."""
    return sorted({name for family in families() for name in family.folders})


def named_folders(texts: Iterable[str]) -> dict[str, Path]:
    """Parse several ``NAME=PATH`` with distinct names."""
    folders: dict[str, Path] = {}
    for text in texts:
        parts = _NAMED.fullmatch(text)
        if parts is None:
            raise UsageError("a data set is NAME=PATH", facts=[("given", text)], fixes=["jfleg=DIR"])
        if parts["name"] in folders:
            raise UsageError(
                "a data set is named twice",
                facts=[("name", parts["name"]), ("first", folders[parts["name"]]), ("second", parts["rest"])],
                fixes=["remove one, and use it in a second run"],
            )
        folders[parts["name"]] = Path(parts["rest"])
    return folders


def check_folders(folders: Mapping[str, Path]) -> None:
    """Raise an error for a data set that no family reads, and for a path that does not exist."""
    known = data_names()
    for name, path in folders.items():
        if name not in known:
            raise UnknownNameError.of("data set", name, known)
        if not path_exists(path):
            raise MissingFileError(
                "there is no such file or folder",
                facts=[("data", f"{name}={path}")],
                fixes=["name the unpacked folder or file"],
            )
