"""Build of a mixture: one index for each part of a recipe, side by side in one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from termwise.collection import Collection, open_collection
from termwise.collection.fields import FieldChoice
from termwise.indexing.mixture_writer import MixtureWriter
from termwise.indexing.recipes import Recipe, RecipePart
from termwise.progress import Progress
from termwise.records import Document
from termwise.search.searcher import Searcher
from termwise.storage.safe_read import is_file, is_folder, path_exists

Source = str | Path | Collection | Iterable[Document]

BuildPart = Callable[[RecipePart, Source, Path, bool, Progress], object]
"""Builds the index of a part: part, collection, folder, whether it is the first part, progress."""


def build_mixture(
    recipe: Recipe,
    collection: Source,
    path: Path,
    *,
    fields: FieldChoice,
    overwrite: bool,
    progress: Progress,
    build_part: BuildPart,
) -> Searcher:
    """Build the parts of a recipe one after the other, publish the mixture, and open it; see `build_index`."""
    source = _repeatable(collection, fields)
    with MixtureWriter(path, overwrite=overwrite) as writer:
        for number, part in enumerate(recipe.parts):

            def report(stage: str, done: int, total: int | None, model: str = part.model) -> None:
                progress(f"{model}: {stage}", done, total)

            build_part(part, source, writer.part(part.model), number == 0, report)
        names = [part.model for part in recipe.parts]
        return writer.commit(names, [part.weight for part in recipe.parts], recipe.depth)


def _repeatable(collection: Source, fields: FieldChoice) -> Source:
    """Return a collection that can be read once for each part: a pipe or an iterator is read into memory."""
    if isinstance(collection, str | Path):
        path = Path(collection)
        if path_exists(path) and not is_file(path) and not is_folder(path):
            return list(open_collection(collection, fields=fields).documents())
        return collection
    if isinstance(collection, Collection | list | tuple):
        return collection
    return list(collection)
