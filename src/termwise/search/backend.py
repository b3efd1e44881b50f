"""Backends of a `Searcher`: one index, or a mixture of several indexes, with the same methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from termwise.errors import UnknownIdError
from termwise.search.parts import Ordinals
from termwise.validation import check_names

if TYPE_CHECKING:
    from termwise.search.boosted_matches import BoostedMatches
    from termwise.search.extended_matches import ExtendedMatches
    from termwise.search.mixture import Mixture, MixtureMatches
    from termwise.search.single_index import IndexMatches, SingleIndex

Backend: TypeAlias = "SingleIndex | Mixture"

Matches: TypeAlias = "IndexMatches | MixtureMatches | BoostedMatches | ExtendedMatches"
"""Documents that match a query."""


def find_documents(backend: Backend, doc_ids: Sequence[str]) -> Ordinals:
    """Return the positions of documents.

    Raises
    ------
    UnknownIdError
        If there is no such document.
    """
    check_names("doc_ids", doc_ids)
    ordinals = backend.index.find_many(doc_ids)
    unknown = np.flatnonzero(ordinals < 0)
    if len(unknown):
        raise UnknownIdError(
            f"the {backend.kind} holds no such document",
            facts=[("doc_id", doc_ids[unknown[0]]), (backend.kind, backend.path or backend.index.path)],
        )
    return ordinals
