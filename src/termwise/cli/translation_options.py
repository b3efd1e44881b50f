"""Tuned settings and scorers of translation tables, shared by several commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from termwise.cli.options import option
from termwise.display.safe_text import short_digest
from termwise.errors import DataError, ParameterError, UsageError

if TYPE_CHECKING:
    from termwise.fusion import Fusion
    from termwise.fusion.weights_file import Settings
    from termwise.search.translation_scorer import TranslationScorer

TunedSettings = Annotated[
    Path | None, option("--settings FILE", "Settings file written by termwise tune; --set adds others.")
]

_INDEX_PARAMETERS = ("table", "keep", "prune")
"""Parameters of `Model1` that apply only to compiling a table into an index, not to a scorer."""


def with_tuned(file: Path | None, given: Mapping[str, str], table: str) -> dict[str, str]:
    """Merge the settings of a ``termwise tune`` file, if any, with those of ``--set``, as texts.

    Raises
    ------
    DataError
        If the file contains no tuned settings, or a setting that is invalid for `Model1`.
    ParameterError
        If a setting is given twice, or the file is for another table.
    MissingFileError
        If the file, or the table, cannot be read.
    """
    if file is None:
        return dict(given)
    from termwise.fusion import Fusion

    fusion = Fusion.open(file)
    tuned = [settings for settings in fusion.settings if settings]
    if len(tuned) != 1:
        raise DataError(
            "the file holds fusion weights, but no tuned settings",
            facts=[("file", file)],
            fixes=["give a file written by termwise tune"],
        )
    _check_kept(tuned[0], file)
    _check_table(fusion, table, file)
    duplicates = sorted(set(given) & set(tuned[0]))
    if duplicates:
        raise ParameterError(
            "a parameter is set twice",
            facts=[("parameter", ", ".join(duplicates)), ("file", file)],
            fixes=["omit --set or --settings"],
        )
    return {**_texts(tuned[0]), **given}


def opened_scorer(
    folder: Path, table: str | Path, settings: Mapping[str, str], tuned: tuple[str, ...] = ()
) -> TranslationScorer:
    """Open a scorer of a translation table over an index of the model ``ml``.

    `settings` are those of ``--set``, and `tuned` the names of those that are tuned and therefore cannot be given.
    """
    from termwise.index import Index
    from termwise.indexing import chosen_model
    from termwise.models import Model1
    from termwise.search.translation_scorer import TranslationScorer
    from termwise.translation import open_table

    for names, reason in (
        (_INDEX_PARAMETERS, "applies only when a table is compiled into an index"),
        (tuned, "is one of the tuned settings"),
    ):
        wrong = sorted(set(names) & set(settings))
        if wrong:
            raise UsageError(f"{wrong[0]} {reason}", fixes=[f"omit --set {wrong[0]}=..."])
    model = cast(Model1, chosen_model(Model1.name, {**settings, "table": str(table)}))
    return TranslationScorer(
        Index.open(folder),
        open_table(table),
        self_translation=model.self_translation,
        lambda_=model.lambda_,
        self_mode=model.self_mode,
        renormalise=model.renormalise,
        least=model.least,
        background=model.background,
    )


def table_places(table: str | None) -> tuple[Path, ...]:
    """Return the folder of a table, as an input that outputs must not overwrite."""
    from termwise.translation.table_folder import table_folder

    return () if table is None else (table_folder(table),)


def _check_kept(settings: Settings, file: Path) -> None:
    """Refuse settings of a file that `Model1` cannot take."""
    from termwise.models import Model1, make_model

    for name, text in _texts(settings).items():
        try:
            if name in _INDEX_PARAMETERS:
                raise UsageError("this setting is not tuned")
            make_model(Model1.name, {name: text})
        except UsageError as error:
            raise DataError(
                "the file holds a setting that cannot be used",
                facts=[("file", file), ("setting", name), ("reason", error.message), *error.facts],
                fixes=["give a file that termwise tune wrote, or tune again"],
            ) from None


def _check_table(fusion: Fusion, table: str, file: Path) -> None:
    """Refuse a table that differs from the table of the tuned settings."""
    from termwise.translation.table_folder import read_manifest

    for tuned in filter(None, fusion.tables):
        found = read_manifest(table).id
        if found != tuned.id:
            raise ParameterError(
                "the settings were tuned for another translation table",
                facts=[
                    ("file", file),
                    ("tuned for", f"{tuned.name}  {short_digest(tuned.id)}"),
                    ("given", f"{table}  {short_digest(found)}"),
                ],
                fixes=[
                    f"give the table that the settings were tuned for: {tuned.name}",
                    f"tune for this table: termwise tune DIR --table {table} ... --out FILE",
                    "omit --settings, and give settings with --set",
                ],
            )


def _texts(settings: Settings) -> dict[str, str]:
    """Return values as texts in the form that ``--set`` takes."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }
