"""Floors of TILDE's compact form: the mean of ln P(t|d) over passages."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from termwise.collection import Collection
from termwise.collection.training_pairs import PairSource
from termwise.errors import EmptyCollectionError
from termwise.progress import Progress
from termwise.text.cleaned_analyzer import CleanMode, clean_vocabulary
from termwise.train.inputs import Pieces
from termwise.train.networks import TildeNetwork

FLOOR_PASSAGES = 4096
"""Number of passages over which the floors are averaged."""

_FORWARD = 32


@torch.no_grad()
def tilde_floors(
    network: TildeNetwork,
    pieces: Pieces,
    passages: Sequence[str],
    *,
    length: int,
    cleaning: CleanMode,
    bfloat16: bool = False,
    progress: Progress,
) -> npt.NDArray[np.float32]:
    """Compute the floors of the compact form: the mean of ln P(t|d) over one passage or more.

    The network is set to evaluation mode, and reads the first `length` pieces of a passage, the two special ones
    included.

    Returns
    -------
    ndarray of shape (V,), float32
        At most 0; 0 for terms removed by cleaning.
    """
    rows = sorted((pieces(passage)[: length - 2] for passage in passages), key=len)
    network.eval()
    device = next(network.parameters()).device
    total = torch.zeros(len(pieces.analyzer.vocabulary), dtype=torch.float64)
    for start in range(0, len(rows), _FORWARD):
        framed = [pieces.framed(pieces.special.document, row) for row in rows[start : start + _FORWARD]]
        ids, mask = (tensor.to(device) for tensor in pieces.padded(framed))
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bfloat16):
            logits = network(ids, mask)
        total += functional.logsigmoid(logits.float()).sum(dim=0).double().cpu()
        progress("measure floors", min(start + _FORWARD, len(rows)), len(rows))
    kept = clean_vocabulary(pieces.analyzer.vocabulary, cleaning)
    return np.where(kept, (total / len(rows)).numpy(), 0.0).astype(np.float32)


def sample_source_passages(sources: Sequence[PairSource], *, seed: int) -> list[str]:
    """Draw up to `FLOOR_PASSAGES` training passages, in equal numbers from each source."""
    random = np.random.default_rng(seed)
    share = -(-FLOOR_PASSAGES // len(sources))
    drawn = []
    for source in sources:
        used = np.unique(source.pairs[:, 1])
        drawn += [source.passages[number] for number in random.permutation(used)[:share]]
    return drawn


def sample_collection_passages(collection: Collection, *, seed: int, progress: Progress) -> list[str]:
    """Draw up to `FLOOR_PASSAGES` texts of a collection uniformly; raise `EmptyCollectionError` if it has none."""
    random = np.random.default_rng(seed)
    documents = collection.documents()
    drawn = [document.text for document in itertools.islice(documents, FLOOR_PASSAGES)]
    if not drawn:
        raise EmptyCollectionError(
            "the collection has no passage to measure floors over", facts=[("collection", collection.name)]
        )
    for seen, document in enumerate(documents, FLOOR_PASSAGES + 1):
        position = int(random.integers(seen))
        if position < FLOOR_PASSAGES:
            drawn[position] = document.text
        if seen % FLOOR_PASSAGES == 0:
            progress("read passages", seen, collection.length)
    return drawn
