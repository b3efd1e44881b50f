"""Reading what says where judged collections and data sets are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from termwise.errors import MissingFileError, UnknownNameError, UsageError
from termwise.probes.core.judged_texts import name_of
from termwise.probes.registry import families

_NAMED = re.compile(r"(?P<name>[\w.-]+)=(?P<rest>.+)")


class JudgedSource(NamedTuple):
    """Where a judged collection is."""

    name: str
    collection: str
    queries: str
    qrels: str


def judged_source(text: str) -> JudgedSource:
    """Read what names a judged collection: a folder in BEIR layout, with a split or not, or three files.

    Raises
    ------
    UsageError
        If it names neither.
    MissingFileError
        If the folder has no such judgments.

    Examples
    --------
    >>> judged_source("pets=docs.jsonl,queries.tsv,qrels.txt").collection
    'docs.jsonl'
    """
    found = _NAMED.fullmatch(text)
    name, rest = (found["name"], found["rest"]) if found else (None, text)
    parts = rest.split(",")
    if len(parts) == 3:
        return JudgedSource(name or name_of(parts[0]), *parts)
    place, _, split = rest.partition(":")
    folder = Path(place)
    if len(parts) > 1 or not folder.is_dir():
        raise UsageError(
            "a judged collection is a folder in BEIR layout, or three files",
            facts=[("given", text)],
            fixes=["--judged DIR", "--judged DIR:dev", "--judged NAME=COLLECTION,QUERIES,QRELS"],
        )
    judgments = {
        file.name.removesuffix(".gz").removesuffix(".tsv"): file
        for file in sorted((folder / "qrels").glob("*"), reverse=True)
        if file.name.endswith((".tsv", ".tsv.gz"))
    }
    splits = sorted(judgments)
    wanted = split or ("test" if "test" in splits else splits[0] if splits else "test")
    if wanted not in splits:
        raise MissingFileError(
            "the folder has no such judgments",
            facts=[
                ("folder", folder),
                ("wanted", f"qrels/{wanted}.tsv"),
                ("found", ", ".join(splits) or "none"),
            ],
            fixes=["--judged DIR:SPLIT", "--judged NAME=COLLECTION,QUERIES,QRELS"],
        )
    return JudgedSource(name or folder.resolve().name, place, place, str(judgments[wanted]))


def data_names() -> list[str]:
    """Return the names of data sets that a family reads."""
    return sorted({name for family in families() for name in family.folders})


def named_folders(texts: Iterable[str]) -> dict[str, Path]:
    """Read ``NAME=PATH``, once or several times.

    Raises
    ------
    UsageError
        If one is not so, or a name is given twice.
    """
    found: dict[str, Path] = {}
    for text in texts:
        parts = _NAMED.fullmatch(text)
        if parts is None:
            raise UsageError("a data set has a name and a path", facts=[("given", text)], fixes=["jfleg=DIR"])
        if parts["name"] in found:
            raise UsageError(
                "a data set is named twice",
                facts=[("name", parts["name"]), ("first", found[parts["name"]]), ("second", parts["rest"])],
                fixes=["leave one out; two are asked in two runs"],
            )
        found[parts["name"]] = Path(parts["rest"])
    return found


def check_folders(folders: Mapping[str, Path]) -> None:
    """Refuse data sets that no family reads, and paths that are not there.

    Raises
    ------
    UnknownNameError
    MissingFileError
    """
    known = data_names()
    for name, path in folders.items():
        if name not in known:
            raise UnknownNameError.of("data set", name, known)
        if not path.exists():
            raise MissingFileError(
                "there is no such file or folder",
                facts=[("data", f"{name}={path}")],
                fixes=["name the folder or file as it was unpacked"],
            )
