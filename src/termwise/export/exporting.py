"""Export of an index or mixture into a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from termwise.errors import ParameterError
from termwise.export.changes import ChangedRows, write_state
from termwise.export.contents import description, identity, write_programs
from termwise.export.folder import ExportFolder, one_writer
from termwise.export.linear_form import measured_scales
from termwise.export.readme import readme
from termwise.export.source import ExportSource
from termwise.export.target import Publisher, Target
from termwise.export.targets.registry import target_class
from termwise.filters import Filter
from termwise.filters.evaluation import as_filter
from termwise.fixes import Fix
from termwise.progress import Progress, no_progress
from termwise.search.opening import open_searcher
from termwise.settings import TypedSettings
from termwise.validation import check_flag, check_path


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
    since: int | None = None,
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
    since : int, optional
        Write only what changed since this generation, which the folder holds an export of, into ``changes``.
    overwrite : bool, optional
        Replace a finished export.
    progress : callable, optional
        Called with a stage, the number of rows done, and their total.

    Returns
    -------
    dict
        Contents of ``export.json``; of ``changes.json`` with `since`.

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
            if since is not None:
                raise ParameterError(
                    f"the target {target.name} has no export of changes: it is written as a whole",
                    facts=[("since", since)],
                    fixes=[Fix.omit("since")],
                )
            return target.publish(source, Path(out), progress)
        if since is not None:
            return ChangedRows.of(source, target, Path(out), since).write(progress)
        folder = ExportFolder(
            Path(out), {"target": target.name, **identity(source, target)}, overwrite=overwrite
        )
        target.write(source, folder, progress)
        write_state(source, folder, progress)
        write_programs(source, target, folder)
        described = description(source, target)
        folder.write("README.md", readme(source, target))
        return folder.finish(described)


def translated_filter(path: str | Path, to: str, filter: str | Mapping[str, Any] | Filter) -> Any:
    """Return a filter in the form of a target, as ``client.py`` of an export takes it.

    Parameters
    ----------
    path : str or Path
        Folder of the index or mixture, whose attributes have types.
    to : str
        Name of the target.
    filter : str, mapping or Filter
        Condition on attributes.

    Returns
    -------
    object
        Text of SQL, or an object that `json.dumps` writes.

    Raises
    ------
    UnknownNameError
        If there is no such target or attribute.
    ParameterError
        If a value has another type than its attribute, or the target has no such condition.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     teas = [termwise.Document("a", "green tea", {"lang": "en"})]
    ...     _ = termwise.build_index(teas, folder, model="bm25", attributes="all")
    ...     translated_filter(folder, "sqlite", 'lang is missing')
    'NOT (d."attribute_lang" IS NOT NULL)'
    """
    schema = open_searcher(path).backend.attribute_index.schema
    return make_target(to).filter(as_filter(filter, schema), schema)
