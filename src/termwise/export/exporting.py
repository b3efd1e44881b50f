"""Export of an index or mixture into a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from termwise.attributes import Schema
from termwise.errors import CorruptIndexError, ParameterError, TermwiseError
from termwise.export.changes import ChangedRows, write_state
from termwise.export.contents import description, identity, write_programs
from termwise.export.folder import NAME, ExportFolder, one_writer, read_description
from termwise.export.linear_form import measured_scales
from termwise.export.readme import readme
from termwise.export.source import ExportSource, exported_source
from termwise.export.target import Publisher, Target
from termwise.export.targets.registry import target_class
from termwise.filters import Filter
from termwise.filters.evaluation import as_filter
from termwise.fixes import Fix
from termwise.progress import Progress, no_progress
from termwise.search.opening import open_searcher
from termwise.settings import TypedSettings
from termwise.validation import check_count, check_flag, check_path


def make_target(name: str, settings: Mapping[str, str] | None = None) -> Target:
    """Make a target with its settings.

    Parameters
    ----------
    name : str
        Name of the target.
    settings : mapping of str to str, optional
        Settings by name, as text.

    Raises
    ------
    UnknownNameError
        If there is no such target or setting.
    ParameterError
        If a setting has a wrong value.

    Examples
    --------
    >>> make_target("sqlite").title
    'SQLite'
    """
    kind = target_class(name)
    if issubclass(kind, TypedSettings):
        return kind.parse(settings or {})
    if settings:
        raise ParameterError(
            f"the target {name} has no settings",
            facts=[("given", ", ".join(settings))],
            fixes=[Fix.omit("settings")],
        )
    return kind()


def export_index(
    path: str | Path,
    to: str | Target,
    out: str | Path,
    *,
    settings: Mapping[str, str] | None = None,
    scales: Mapping[str, float] | None = None,
    queries: Iterable[str] | None = None,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Export an index or a mixture to another engine.

    An interrupted export is resumed by the same call: finished pieces are kept.

    Parameters
    ----------
    path : str or Path
        Folder of the index or mixture.
    to : str or Target
        Name of the target, or a target that `make_target` made.
    out : str or Path
        Folder of the export; see `termwise.export.folder`.
    settings : mapping of str to str, optional
        Settings of a target that is given by name.
    scales : mapping of str to float, optional
        Scales of the parts of a mixture by name, in place of those that it keeps.
    queries : iterable of str, optional
        Typical queries, on which the scales are measured; see `termwise.export.linear_form.measured_scales`.
    overwrite : bool, optional
        Replace a finished export.
    progress : callable, optional
        Called with a stage, the number of rows done, and their total.

    Returns
    -------
    dict
        Contents of ``export.json``; of the target ``web``, what was written.

    Raises
    ------
    UnknownNameError, ParameterError
        If the target or a setting is unknown, or the target cannot hold what the index has.
    IndexExistsError, ForeignFolderError
        If the folder cannot be used.
    StorageError
        If it cannot be written.
    IndexFormatError, MissingFileError
        If the index cannot be read.

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [termwise.Document("a", "green tea"), termwise.Document("b", "black tea")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = termwise.build_index(documents, f"{folder}/tea.tw", model="bm25")
    ...     made = export_index(f"{folder}/tea.tw", "sqlite", f"{folder}/tea.sqlite")
    >>> made["documents"], made["parts"][0]["field"]
    (2, 'bm25')
    """
    check_path("out", out)
    check_flag("overwrite", overwrite)
    searcher = open_searcher(path)
    target = make_target(to, settings) if isinstance(to, str) else to
    if queries is not None:
        if scales is not None:
            raise ParameterError(
                "scales are given, or measured on queries",
                facts=[("scales", dict(scales))],
                fixes=[Fix.omit("scales"), Fix.omit("queries")],
            )
        scales = measured_scales(searcher, queries)
    source = ExportSource(searcher, scales=scales)
    target.check(source)
    with one_writer(Path(out)):
        if isinstance(target, Publisher):
            return target.publish(source, Path(out), progress)
        folder = ExportFolder(
            Path(out), source.path, {"target": target.name, **identity(source, target)}, overwrite=overwrite
        )
        target.write(source, folder, progress)
        write_state(source, folder, progress)
        write_programs(source, target, folder)
        described = description(source, target)
        folder.write("README.md", readme(source, target, Path(out)))
        return folder.finish(described)


def export_changes(
    path: str | Path, out: str | Path, *, since: int | None = None, progress: Progress = no_progress
) -> dict[str, Any]:
    """Add the changes of an index to its export. The target, settings and scales of the export are kept.

    After a commit that computed all weights again, because their statistics had drifted, the rows of all documents
    change.

    Parameters
    ----------
    path : str or Path
        Folder of the index or mixture.
    out : str or Path
        Folder of the export.
    since : int, optional
        Generation that the export must have; by default any, which ``export.json`` states.
    progress : callable, optional
        Called with a stage, the number of rows done, and their total.

    Returns
    -------
    dict
        ``since``, ``generation``, the numbers of rows ``changed`` and ``deleted``, and ``folder``, the folder of the
        changes inside the export, if the index has changed.

    Raises
    ------
    MissingFileError, CorruptIndexError
        If the folder holds no finished export, or it is damaged.
    ParameterError
        If the export is of another index or generation, or of what the index was before it was built anew.
    StorageError
        If the folder cannot be written.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index, out = f"{folder}/tea.tw", f"{folder}/tea.sqlite"
    ...     _ = termwise.build_index([termwise.Document("a", "green tea")], index, model="bm25")
    ...     _ = export_index(index, "sqlite", out)
    ...     with termwise.open_writer(index) as writer:
    ...         _ = writer.add([termwise.Document("b", "black tea")])
    ...     export_changes(index, out)
    {'since': 0, 'generation': 2, 'folder': 'changes/0-2', 'changed': 2, 'deleted': 0}
    """
    check_path("out", out)
    if since is not None:
        check_count("since", since, least=0)
    folder = Path(out)
    with one_writer(folder):
        earlier = read_description(folder)
        target = target_of(folder, earlier)
        return ChangedRows.of(exported_source(path, earlier), target, folder, since, earlier).write(progress)


def target_of(folder: Path, description: Mapping[str, Any]) -> Target:
    """Return the target of an export with its settings, from the contents of ``export.json``."""
    try:
        target: Target = target_class(description["target"])(**description["settings"])
    except (TypeError, TermwiseError) as error:
        raise CorruptIndexError(
            "the description of the export has an unknown target or setting",
            facts=[("file", folder / NAME), ("reason", error)],
            fixes=["export the index anew"],
        ) from None
    return target


def translated_filter(folder: str | Path, filter: str | Mapping[str, Any] | Filter) -> str | dict[str, Any]:
    """Return a filter in the form of the engine of an export, as ``client.py`` there takes it.

    Parameters
    ----------
    folder : str or Path
        Folder of the export, which has the types of the attributes.
    filter : str, mapping or Filter
        Condition on attributes.

    Returns
    -------
    str or dict
        Condition in SQL or in another language, or an object that `json.dumps` writes.

    Raises
    ------
    MissingFileError, CorruptIndexError
        If the folder holds no finished export, or it is damaged.
    UnknownNameError
        If there is no such attribute.
    ParameterError
        If a value has another type than its attribute, or the target has no such condition.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     teas = [termwise.Document("a", "green tea", {"lang": "en"})]
    ...     _ = termwise.build_index(teas, f"{folder}/tea.tw", model="bm25", attributes="all")
    ...     _ = export_index(f"{folder}/tea.tw", "sqlite", f"{folder}/out")
    ...     translated_filter(f"{folder}/out", 'lang is missing')
    'NOT (d."attribute_lang" IS NOT NULL)'
    """
    check_path("folder", folder)
    description = read_description(Path(folder))
    schema = Schema(description["schema"])
    translated: str | dict[str, Any] = target_of(Path(folder), description).filter(
        as_filter(filter, schema), schema
    )
    return translated
