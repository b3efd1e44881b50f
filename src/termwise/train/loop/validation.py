"""Validation of encoders during training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from termwise.text.cleaned_analyzer import clean_vocabulary
from termwise.train.data.held_out import HeldOut, measure_scores
from termwise.train.data.passage_idf import term_factors
from termwise.train.inputs import Ids, Pieces, occurrences
from termwise.train.networks import SpladeDocNetwork, TermNetwork, TildeNetwork
from termwise.train.objectives import largest_weights
from termwise.train.settings import TrainSettings

_BATCH = 32


@torch.no_grad()
def validate(
    network: TermNetwork,
    pieces: Pieces,
    held_out: HeldOut,
    settings: TrainSettings,
    query_weights: npt.NDArray[np.float32] | None = None,
) -> dict[str, float]:
    """Rank the pool for every query, and return the value of each of `MEASURES`.

    A TILDE trained on the document likelihood alone ranks by it; all other networks rank by the weights of passages,
    with counted or fixed query weights.
    """
    training = network.training
    network.eval()
    if isinstance(network, TildeNetwork) and not settings.reads_passages:
        scores = _document_likelihoods(network, pieces, held_out, settings)
    else:
        scores = _match_scores(network, pieces, held_out, settings, query_weights)
    network.train(training)
    return measure_scores(scores, held_out)


def _match_scores(
    network: TermNetwork,
    pieces: Pieces,
    held_out: HeldOut,
    settings: TrainSettings,
    query_weights: npt.NDArray[np.float32] | None,
) -> npt.NDArray[np.float32]:
    """Return the sum of the passage weights of the query terms, for every query and passage.

    With `idf_power` each weight is multiplied by the factor of its term in the pool.
    """
    device = next(network.parameters()).device
    kept = clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning)
    queries = [row[kept[row]] for row in map(pieces, held_out.queries)]
    query_terms = np.unique(np.concatenate(queries))
    columns = torch.from_numpy(query_terms).to(device)
    counts = np.zeros((len(queries), len(query_terms)), dtype=np.float32)
    for number, row in enumerate(queries):
        np.add.at(counts[number], np.searchsorted(query_terms, row), 1)
    if query_weights is not None:
        counts = (counts > 0) * query_weights[query_terms]
    weights = np.empty((len(held_out.passages), len(query_terms)), dtype=np.float32)
    texts = [pieces(text)[: settings.document_length - 2] for text in held_out.passages]
    if settings.idf_power:
        counts *= term_factors(texts, power=settings.idf_power, terms=len(kept))[query_terms]
    order = np.argsort([len(row) for row in texts], kind="stable")
    for start in range(0, len(order), _BATCH):
        part = order[start : start + _BATCH].tolist()
        rows = _weights(network, pieces, [texts[i] for i in part], held_out, part, columns)
        weights[part] = rows.cpu().numpy()
    return counts @ weights.T


def _document_likelihoods(
    network: TermNetwork, pieces: Pieces, held_out: HeldOut, settings: TrainSettings
) -> npt.NDArray[np.float32]:
    """Return the mean of ln P(t|q) over the kept terms t of the passage, for every query and passage.

    Texts without a kept term are treated as in `termwise.search.query_document_likelihood`: such a query scores 0 for
    all passages, and such a passage gets the smallest ln P(t|q).
    """
    device = next(network.parameters()).device
    kept = clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning)
    rows, terms = occurrences([pieces(text) for text in held_out.passages], kept)
    lengths = torch.bincount(rows, minlength=len(held_out.passages))
    shape = (len(held_out.passages), len(kept))
    positions = torch.stack([rows, terms])
    shares = torch.sparse_coo_tensor(positions, 1 / lengths[rows], shape, check_invariants=True).to(device)
    empty, kept_columns = (lengths == 0).to(device), torch.from_numpy(kept).to(device)
    texts = [pieces(text) for text in held_out.queries]
    scores = np.zeros((len(texts), len(held_out.passages)), dtype=np.float32)
    queries = [number for number, row in enumerate(texts) if kept[row].any()]
    for start in range(0, len(queries), _BATCH):
        part = queries[start : start + _BATCH]
        framed = [
            pieces.framed(pieces.special.query, texts[number][: settings.query_length - 2]) for number in part
        ]
        ids, mask = (tensor.to(device) for tensor in pieces.padded(framed))
        log_likelihood = functional.logsigmoid(network(ids, mask).float())
        means = torch.sparse.mm(shares, log_likelihood.T).T
        smallest = log_likelihood[:, kept_columns].amin(dim=1, keepdim=True)
        scores[part] = torch.where(empty, smallest, means).cpu().numpy()
    return scores


def _weights(
    network: TermNetwork,
    pieces: Pieces,
    texts: Sequence[Ids],
    held_out: HeldOut,
    numbers: Sequence[int],
    columns: Tensor,
) -> Tensor:
    """Return the weights of the terms `columns` for some passages."""
    special, device = pieces.special, columns.device
    first = special.document if isinstance(network, TildeNetwork) else special.cls
    added = [np.empty(0, dtype=np.int64)] * len(texts)
    if held_out.expansions is not None:
        added = [held_out.expansions[number] for number in numbers]
    rows = [pieces.framed(first, text, extra) for text, extra in zip(texts, added, strict=True)]
    ids, mask = (tensor.to(device) for tensor in pieces.padded(rows))
    output: Tensor = network(ids, mask).float()
    if isinstance(network, TildeNetwork):
        return functional.logsigmoid(output[:, columns])
    if isinstance(network, SpladeDocNetwork):
        return output[:, columns]
    return largest_weights(output * mask, ids, columns, len(pieces.analyzer.vocabulary))
