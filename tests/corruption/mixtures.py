"""Mixture for the programs that change one: an index with texts, and one without."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from faults import listed

import termwise
from termwise import Document
from termwise.fusion import mix_indexes
from termwise.index import Index
from termwise.search.mixture_folder import MixtureManifest, is_mixture

PARTS = ("bm25", "ml")
"""Models of the parts, and their folders."""


def build_mixture(folder: Path, documents: Iterable[Document]) -> None:
    """Build the mixture from indexes that are built beside its folder."""
    made = list(documents)
    parts = [folder.with_name(f"{folder.name}-parts") / model for model in PARTS]
    for part in parts:
        termwise.build_index(made, part, model=part.name, store_text=part == parts[0])
    mix_indexes(parts, [0.5, 0.5], folder)


def left_over(folder: Path) -> set[str]:
    """Return the names of files in the folder of an index or a mixture that no manifest names."""
    if not is_mixture(folder):
        files = {file.name for file in Index.open(folder).manifest.files()}
        return listed(folder) - files - {"manifest.json"}
    parts = [folder / part.folder for part in MixtureManifest.read(folder).parts]
    names = {f"{part.name}/{name}" for part in parts for name in left_over(part)}
    return names | (listed(folder) - {"mixture.json"} - {part.name for part in parts})
