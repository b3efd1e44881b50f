"""Inputs of a run: judged collections and data sets by name, the parser of texts, and stop words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from termwise.collection import read_lines
from termwise.collection.python_docs import PYTHON
from termwise.errors import MissingFileError, UnknownNameError, UsageError
from termwise.fixes import Fix
from termwise.probes.core.judged_texts import JudgedTexts, collection_name, python_judged
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.language import open_language
from termwise.probes.registry import check_distinct, families
from termwise.storage.safe_read import is_folder, path_exists
from termwise.text import stop_list
from termwise.validation import check, check_names, check_path

_NAMED = re.compile(r"(?P<name>[\w.-]+)=(?P<rest>.+)")
_FILES = Fix.use("name three files, {}", judged="NAME=COLLECTION,QUERIES,QRELS")


def open_inputs(
    *,
    judged: Sequence[str | Path] = (),
    collection: str | Path | None = None,
    data: Mapping[str, str | Path] | None = None,
    stop_words: str | Path | None = None,
    language: str | None = None,
) -> ProbeInputs:
    """Open the inputs of probes.

    Parameters
    ----------
    judged : sequence of str or Path, optional
        Judged collections: ``"[NAME=]FOLDER[:SPLIT]"`` with a folder in BEIR layout, or
        ``"NAME=COLLECTION,QUERIES,QRELS"``. By default the questions about Python's documentation.
    collection : str or Path, optional
        Collection of the term statistics; the first judged collection by default.
    data : mapping of str to path, optional
        Data sets of pairs, by the name of their format.
    stop_words : path, optional
        File of stop words, one per line; 179 English ones by default.
    language : {"spacy", "rules"}, optional
        Parser of sentences, noun chunks and names; by default spaCy if it is installed.

    Raises
    ------
    TermwiseError
        If an argument is invalid, or a file cannot be read.

    Examples
    --------
    >>> inputs = open_inputs(language="rules")
    >>> [judged.name for judged in inputs.judged], inputs.collection
    (['python'], 'python:stdlib')
    """
    texts = names_and_paths("judged", judged)
    sources = [judged_source(text) for text in texts]
    check_distinct(
        "judged collections",
        zip([name for name, *_ in sources], texts, strict=True),
        "give each a distinct name: NAME=DIR",
    )
    is_mapping = data is None or (isinstance(data, Mapping) and all(isinstance(name, str) for name in data))
    check("data", data, is_mapping, "a mapping from names to paths")
    for name, path in (data or {}).items():
        check_path(name, path)
    for name, optional in (("collection", collection), ("stop_words", stop_words)):
        if optional is not None:
            check_path(name, optional)
    check("language", language, isinstance(language, str | None), "a string")
    folders = {name: Path(path) for name, path in (data or {}).items()}
    _check_folders(folders)
    collections = [JudgedTexts.read(*files, name=name) for name, *files in sources]
    words = stop_list("nltk-english")
    if stop_words is not None:
        lines = (line.strip().lower() for _, line in read_lines(Path(stop_words)))
        words = frozenset(filter(None, lines))
    statistics = str(collection or (sources[0][1] if sources else PYTHON))
    return ProbeInputs(
        open_language(language), words, tuple(collections or [python_judged()]), folders, statistics
    )


def names_and_paths(parameter: str, values: Sequence[str | Path]) -> list[str]:
    """Return names and paths as strings; `ParameterError` for anything else, and for a single string."""
    is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    check(parameter, values, is_list, "a list of names and paths, even for one: ['quick']")
    names = [str(value) if isinstance(value, Path) else value for value in values]
    check_names(parameter, names)
    return names


def judged_source(text: str) -> tuple[str, str, str, str]:
    """Parse ``[NAME=]FOLDER[:SPLIT]``, a folder in BEIR layout, or ``[NAME=]COLLECTION,QUERIES,QRELS``.

    Return the name, the collection, the queries and the judgments.

    Examples
    --------
    >>> judged_source("pets=docs.jsonl,queries.tsv,qrels.txt")
    ('pets', 'docs.jsonl', 'queries.tsv', 'qrels.txt')
    """
    named = _NAMED.fullmatch(text)
    name, rest = (named["name"], named["rest"]) if named else (None, text)
    parts = rest.split(",")
    if len(parts) == 3:
        collection, queries, judgments = parts
        return name or collection_name(collection), collection, queries, judgments
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
    by_split = {
        file.name.removesuffix(".gz").removesuffix(".tsv"): file
        for file in sorted((folder / "qrels").glob("*"), reverse=True)
        if file.name.endswith((".tsv", ".tsv.gz"))
    }
    splits = sorted(by_split)
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
    return name or folder.resolve().name, path, path, str(by_split[split])


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


def _check_folders(folders: Mapping[str, Path]) -> None:
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
