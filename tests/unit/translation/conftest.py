"""Small bitexts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from termwise.collection.training_pairs import PairSource
from termwise.text import make_analyzer
from termwise.translation import Bitext, Model1Settings, make_bitext


def source_of(pairs: Sequence[tuple[str, str]], name: str = "toy") -> PairSource:
    """Return pairs of query and passage; equal texts are one."""
    queries = list(dict.fromkeys(query for query, _ in pairs))
    passages = list(dict.fromkeys(passage for _, passage in pairs))
    numbers = [(queries.index(query), passages.index(passage)) for query, passage in pairs]
    return PairSource(name, queries, passages, np.array(numbers, dtype=np.int32).reshape(-1, 2))


def bitext_of(pairs: Sequence[tuple[str, str]], **options: object) -> Bitext:
    """Return a bitext of words between white space."""
    settings = Model1Settings(**options)  # type: ignore[arg-type]
    return make_bitext([source_of(pairs)], make_analyzer("whitespace"), settings=settings)
