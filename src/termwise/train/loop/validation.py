"""Validation during training: held-out queries ranked over a pool of held-out passages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from termwise.collection.training_pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.errors import EmptyCollectionError
from termwise.evaluate import evaluate
from termwise.records import Qrel, Ranking, Run
from termwise.text.cleaned_analyzer import clean_vocabulary
from termwise.train.data.inputs import Ids, Pieces, occurrences
from termwise.train.data.passage_idf import term_factors
from termwise.train.networks import SpladeDocNetwork, TermNetwork, TildeNetwork
from termwise.train.settings import TrainSettings

SELECTION_MEASURE = "nDCG@10"
"""Measure that selects the best checkpoint."""

MEASURES = (SELECTION_MEASURE, "RR@10")

_BATCH = 32


@dataclass(frozen=True)
class HeldOut:
    """Held-out queries with their relevant passages.

    Attributes
    ----------
    queries : tuple of str of length n
    passages : tuple of str
        The pool: all passages relevant to one of the queries.
    qrels : tuple of Qrel
        Identifiers are positions, as strings.
    expansions : tuple of ndarray, or None
        Expansion terms of each passage.
    """

    queries: tuple[str, ...]
    passages: tuple[str, ...]
    qrels: tuple[Qrel, ...]
    expansions: tuple[Ids, ...] | None = None

    @classmethod
    def sample(cls, sources: Sequence[PairSource], *, queries: int, seed: int) -> HeldOut:
        """Draw equal numbers of queries from the sources, if their sizes allow it, with all relevant passages.

        Parameters
        ----------
        sources : sequence of PairSource
            Held-out pairs.
        queries : int
            Largest number of queries in total.
        seed : int

        Raises
        ------
        EmptyCollectionError
            If there is no query.
        """
        random = np.random.default_rng(seed)
        texts: list[str] = []
        pool: dict[tuple[int, int], int] = {}
        passages: list[str] = []
        qrels = []
        left = queries
        sizes = [len(np.unique(source.pairs[:, 0])) for source in sources]
        for position, number in enumerate(np.argsort(sizes, kind="stable").tolist()):
            source = sources[number]
            judged = np.unique(source.pairs[:, 0])
            chosen = random.permutation(judged)[: left // (len(sources) - position)]
            left -= len(chosen)
            names = {int(query): str(len(texts) + offset) for offset, query in enumerate(chosen.tolist())}
            texts += [source.queries[query] for query in names]
            for query, passage in source.pairs.tolist():
                if query in names:
                    if (number, passage) not in pool:
                        pool[number, passage] = len(passages)
                        passages.append(source.passages[passage])
                    qrels.append(Qrel(names[query], str(pool[number, passage]), 1))
        if not texts:
            raise EmptyCollectionError(
                "there is no query for validation",
                facts=[("held-out pairs", sum(map(len, sources))), ("validation_queries", queries)],
                fixes=["hold out more pairs, or train without validation"],
            )
        return cls(tuple(texts), tuple(passages), tuple(qrels))

    def digest(self) -> str:
        """Return ``sha256:`` and the digest of queries, passages and judgments in order."""
        digest = hashlib.sha256()
        for texts in (self.queries, self.passages, [part for qrel in self.qrels for part in map(str, qrel)]):
            digest.update(len(texts).to_bytes(8, "big"))
            for text in texts:
                data = text.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "big") + data)
        return f"sha256:{digest.hexdigest()}"

    def expanded(self, expander: Expander, pieces: Pieces, settings: TrainSettings) -> HeldOut:
        """Return a copy with expanded passages, truncated as in training."""
        windows = [pieces(text)[: settings.document_length - 2].astype(np.int32) for text in self.passages]
        added = tuple(terms.astype(np.int64) for terms in expander.expansions(windows))
        return replace(self, expansions=added)


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
    slot = torch.full((len(pieces.analyzer.vocabulary),), len(columns), dtype=torch.int64, device=device)
    slot[columns] = torch.arange(len(columns), device=device)
    pooled = output.new_zeros((len(ids), len(columns) + 1))
    return pooled.scatter_reduce(1, slot[ids], output * mask, "amax", include_self=True)[:, :-1]


def measure_scores(scores: npt.NDArray[np.floating[Any]], held_out: HeldOut) -> dict[str, float]:
    """Return the value of each of `MEASURES` for the rankings by scores, of shape (queries, passages)."""
    rankings = []
    for number, row in enumerate(scores):
        best = np.argsort(-row, kind="stable")[:10]
        rankings.append(Ranking([str(i) for i in best.tolist()], row[best].astype(np.float64), str(number)))
    return measure_rankings(rankings, held_out)


def measure_rankings(rankings: Sequence[Ranking], held_out: HeldOut) -> dict[str, float]:
    """Return the value of each of `MEASURES` for rankings of held-out passages by position, as strings."""
    means = evaluate(Run(rankings, "validation"), list(held_out.qrels), list(MEASURES)).means
    return {name: float(value) for name, value in means.items() if value is not None}
