"""Initialisation of the TILDE head: prior bias of each term, and a fit of the head alone.

The output of a sentence encoder at position 0 represents the text, but a new head is random. The outputs of the
unchanged encoder are computed once and the head is fitted to them; a step costs a thirtieth of one through the encoder.
This is not in the paper, whose encoder has a trained head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from termwise.collection.training_pairs import PairSource
from termwise.progress import Progress, no_progress
from termwise.text.cleaned_analyzer import clean_vocabulary
from termwise.train.inputs import Ids, Pieces, distinct_terms
from termwise.train.networks import TildeNetwork, language_model_head, output_layer
from termwise.train.objectives import biqdl, likelihood_loss
from termwise.train.settings import TrainSettings

_FORWARD = 32
_BATCH = 256
_RATE = 2e-3


def fit_head(
    network: TildeNetwork,
    pieces: Pieces,
    pairs: Sequence[tuple[str, str]],
    settings: TrainSettings,
    *,
    outputs: tuple[Tensor, Tensor] | None = None,
    progress: Progress = no_progress,
) -> list[float]:
    """Fit transform and bias of the head, in place, to the loss of the objective; encoder and decoder stay fixed.

    The fit takes ``head_steps`` steps of 256 pairs of query and passage with Adam; the rate falls linearly from 2e-3.
    Two vectors per pair are kept in memory: `outputs`, if given, are the `first_outputs` of the queries and of the
    passages. The result is the mean loss over the pairs of each step.
    """
    kept_terms = clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning)
    device = next(network.parameters()).device
    kept = torch.from_numpy(kept_terms).to(device)
    queries = [pieces(query) for query, _ in pairs]
    passages = [pieces(passage) for _, passage in pairs]
    of_queries, of_passages = outputs or (None, None)
    sides = []
    if settings.reads_passages:
        if of_passages is None:
            of_passages = first_outputs(network, pieces, passages, "passages", settings, progress=progress)
        sides.append((of_passages, queries))
    if settings.reads_queries:
        if of_queries is None:
            of_queries = first_outputs(network, pieces, queries, "queries", settings, progress=progress)
        sides.append((of_queries, passages))
    optimizer = torch.optim.Adam(network.head_parameters(), lr=_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, settings.head_steps)
    decoder = output_layer(network.pretrained).weight
    trained = decoder.requires_grad
    decoder.requires_grad_(False)
    head = language_model_head(network.pretrained)
    random = np.random.default_rng(settings.seed)
    losses = []
    for number in range(settings.head_steps):
        chosen = random.integers(len(pairs), size=min(_BATCH, len(pairs)))
        parts = []
        for features, targets in sides:
            rows, terms = distinct_terms([targets[i] for i in chosen.tolist()], kept_terms)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
                logits = head(features[torch.from_numpy(chosen)].to(device))
            parts.append(likelihood_loss(logits, rows.to(device), terms.to(device), kept))
        loss = (biqdl(*parts) if len(parts) == 2 else parts[0]) / len(chosen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        progress("fit the head", number + 1, settings.head_steps)
    optimizer.zero_grad()
    decoder.requires_grad_(trained)
    return losses


@torch.no_grad()
def set_prior_bias(
    network: TildeNetwork, pieces: Pieces, sources: Sequence[PairSource], settings: TrainSettings
) -> None:
    """Set the decoder's bias of each term to the log-odds of the term in the targets of the objective.

    The targets are the training queries for query likelihood, the passages for document likelihood, and both for BiQDL.
    With n of them, df of which contain the term, the bias is ln((df + 0.5) / (n - df + 0.5)). With initial logits of 0,
    training needs thousands of steps to learn that all terms are rare.

    A stop term is never counted, so its bias is the lowest: about -13 for 300,000 texts. No loss trains it, so stop
    terms do not fill the top m of an expansion with ``counting="raw"``. In published checkpoints they do, and m is
    comparable between those only.
    """
    vocabulary = pieces.analyzer.vocabulary
    kept = clean_vocabulary(vocabulary, settings.cleaning)
    df = np.zeros(len(vocabulary))
    total = 0
    for source in sources:
        sides = []
        if settings.reads_passages:
            sides.append((source.queries, source.pairs[:, 0]))
        if settings.reads_queries:
            sides.append((source.passages, source.pairs[:, 1]))
        for texts, numbers in sides:
            for number in np.unique(numbers).tolist():
                row = np.unique(pieces(texts[number]))
                df[row[kept[row]]] += 1
                total += 1
    odds = np.log((df + 0.5) / (total - df + 0.5))
    output_layer(network.pretrained).bias.copy_(torch.from_numpy(odds.astype(np.float32)))


@torch.no_grad()
def first_outputs(
    network: TildeNetwork,
    pieces: Pieces,
    rows: Sequence[Ids],
    side: Literal["queries", "passages"],
    settings: TrainSettings,
    *,
    progress: Progress = no_progress,
) -> Tensor:
    """Return the encoder's outputs at position 0 of queries or passages, of shape (n, h), in evaluation mode."""
    network.eval()
    special = pieces.special
    marker, length = (
        (special.query, settings.query_length)
        if side == "queries"
        else (special.document, settings.document_length)
    )
    device = next(network.parameters()).device
    outputs = torch.empty((len(rows), network.config.hidden_size))
    order = np.argsort([len(row) for row in rows], kind="stable")
    for start in range(0, len(order), _FORWARD):
        part = order[start : start + _FORWARD].tolist()
        ids, mask = pieces.padded([pieces.framed(marker, rows[i][: length - 2]) for i in part])
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
            outputs[part] = network.hidden(ids.to(device), mask.to(device))[:, 0].float().cpu()
        progress("read the encoder", min(start + _FORWARD, len(order)), len(order))
    network.train()
    return outputs
