"""Checks of arguments by the public functions of this package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from termwise.collection import Collection
from termwise.errors import ParameterError
from termwise.models import Model
from termwise.validation import check, check_callable, check_documents, check_names, check_path, check_threads


def check_arguments(
    *,
    collection: object,
    settings: object,
    fields: object,
    threads: object,
    encoding: object,
    progress: object,
) -> None:
    """Refuse arguments of the wrong type."""
    if not isinstance(collection, str | Path | Collection):
        check_documents(collection)
    if settings is not None:
        texts = isinstance(settings, Mapping) and all(
            isinstance(part, str) for pair in settings.items() for part in pair
        )
        check("settings", settings, texts, 'names and values, all of them strings, such as {"keep": "64"}')
    if fields is not None:
        check_names("fields", fields)
    check_threads(threads)
    if encoding is not None:
        check_path("encoding", encoding)
    check_callable("progress", progress, "something to call with a stage, what is done, and the total")


def refuse(why: str, model: Model, options: Mapping[str, object]) -> None:
    """Refuse options that would be ignored."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            why,
            facts=[("model", model.name), ("given", ", ".join(given))],
            fixes=[f"leave {' and '.join(given)} out"],
        )
