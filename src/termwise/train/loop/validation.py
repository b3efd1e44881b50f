"""Validation while training: held-out queries, ranked over a pool of held-out passages."""

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

from termwise.collection.pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.errors import EmptyCollectionError
from termwise.evaluate import evaluate
from termwise.records import Qrel, Ranking, Run
from termwise.text.vocabulary_cleaning import clean_vocabulary
from termwise.train.data.inputs import Ids, Pieces, occurrences
from termwise.train.data.passage_idf import factors_of
from termwise.train.networks import SpladeDocNetwork, TermNetwork, TildeNetwork
from termwise.train.settings import TrainSettings

CHOSEN_BY = "nDCG@10"
"""The measure by which the best checkpoint is told."""

MEASURES = (CHOSEN_BY, "RR@10")

_BATCH = 32


@dataclass(frozen=True)
class HeldOut:
    """Queries with the passages relevant to them.

    Attributes
    ----------
    queries : tuple of str of length n
    passages : tuple of str
        The pool: every passage relevant to one of the queries.
    qrels : tuple of Qrel
        Identifiers are positions, as strings.
    expansions : tuple of ndarray, or None
        Terms that expand each passage.
    """

    queries: tuple[str, ...]
    passages: tuple[str, ...]
    qrels: tuple[Qrel, ...]
    expansions: tuple[Ids, ...] | None = None

    @classmethod
    def sample(cls, sources: Sequence[PairSource], *, queries: int, seed: int) -> HeldOut:
        """Draw queries from the sources, as evenly as their sizes allow, with all their relevant passages.

        Parameters
        ----------
        sources : sequence of PairSource
            Held-out pairs.
        queries : int
            Most queries in all.
        seed : int

        Raises
        ------
        EmptyCollectionError
            If that leaves no query.
        """
        random = np.random.default_rng(seed)
        texts: list[str] = []
        pool: dict[tuple[int, int], int] = {}
        passages: list[str] = []
        qrels = []
        left = queries
        sizes = [len(np.unique(source.pairs[:, 0])) for source in sources]
        for place, number in enumerate(np.argsort(sizes, kind="stable").tolist()):
            source = sources[number]
            asked = np.unique(source.pairs[:, 0])
            chosen = random.permutation(asked)[: left // (len(sources) - place)]
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
                "there is no query to validate on",
                facts=[("held-out pairs", sum(map(len, sources))), ("queries asked for", queries)],
                fixes=["hold out more pairs, or train without validation"],
            )
        return cls(tuple(texts), tuple(passages), tuple(qrels))

    def digest(self) -> str:
        """Return ``sha256:`` and the digest of queries, passages and judgments, in their order."""
        digest = hashlib.sha256()
        for texts in (self.queries, self.passages, [part for qrel in self.qrels for part in map(str, qrel)]):
            digest.update(len(texts).to_bytes(8, "big"))
            for text in texts:
                data = text.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "big") + data)
        return f"sha256:{digest.hexdigest()}"

    def expanded(self, expander: Expander, pieces: Pieces, settings: TrainSettings) -> HeldOut:
        """Return the same with the passages expanded, cut off where the network in training cuts them off."""
        windows = [pieces(text)[: settings.document_length - 2].astype(np.int32) for text in self.passages]
        added = tuple(terms.astype(np.int64) for terms in expander.expansions(windows))
        return replace(self, expansions=added)


@torch.no_grad()
def validate(
    network: TermNetwork, pieces: Pieces, held_out: HeldOut, settings: TrainSettings
) -> dict[str, float]:
    """Rank the pool for every query and measure.

    A TILDE that is trained on the document likelihood alone is ranked by that, all others by what they say of passages.

    Returns
    -------
    dict of str to float
        A value for each of `MEASURES`.
    """
    training = network.training
    network.eval()
    by_queries = isinstance(network, TildeNetwork) and not settings.reads_passages
    scores = (_document_likelihoods if by_queries else _match_scores)(network, pieces, held_out, settings)
    network.train(training)
    return measured(scores, held_out)


def _match_scores(
    network: TermNetwork, pieces: Pieces, held_out: HeldOut, settings: TrainSettings
) -> npt.NDArray[np.float32]:
    """Add up, for every query and passage, what the network says of the passage for each term of the query.

    Where the settings have a power of the idf, each times that of its term in the pool.
    """
    device = next(network.parameters()).device
    kept = clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning)
    queries = [row[kept[row]] for row in map(pieces, held_out.queries)]
    known = np.unique(np.concatenate(queries))
    columns = torch.from_numpy(known).to(device)
    asked = np.zeros((len(queries), len(known)), dtype=np.float32)
    for number, row in enumerate(queries):
        np.add.at(asked[number], np.searchsorted(known, row), 1)
    table = np.empty((len(held_out.passages), len(known)), dtype=np.float32)
    texts = [pieces(text)[: settings.document_length - 2] for text in held_out.passages]
    if settings.idf_power:
        asked *= factors_of(texts, power=settings.idf_power, terms=len(kept))[known]
    order = np.argsort([len(row) for row in texts], kind="stable")
    for start in range(0, len(order), _BATCH):
        part = order[start : start + _BATCH].tolist()
        table[part] = (
            _rows(network, pieces, [texts[i] for i in part], held_out, part, columns, device).cpu().numpy()
        )
    return asked @ table.T


def _document_likelihoods(
    network: TermNetwork, pieces: Pieces, held_out: HeldOut, settings: TrainSettings
) -> npt.NDArray[np.float32]:
    """Compute, for every query and passage, the mean of ln P(t|q) over the kept terms t of the passage.

    What has no kept term is treated as in `termwise.search.query_document_likelihood`: a query says nothing of any
    passage, and a
    passage gets the smallest ln P(t|q).
    """
    device = next(network.parameters()).device
    kept = clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning)
    rows, terms = occurrences([pieces(text) for text in held_out.passages], kept)
    lengths = torch.bincount(rows, minlength=len(held_out.passages))
    shape = (len(held_out.passages), len(kept))
    places = torch.stack([rows, terms])
    shares = torch.sparse_coo_tensor(places, 1 / lengths[rows], shape, check_invariants=True).to(device)
    empty, taking_part = (lengths == 0).to(device), torch.from_numpy(kept).to(device)
    texts = [pieces(text) for text in held_out.queries]
    scores = np.zeros((len(texts), len(held_out.passages)), dtype=np.float32)
    asked = [number for number, row in enumerate(texts) if kept[row].any()]
    for start in range(0, len(asked), _BATCH):
        part = asked[start : start + _BATCH]
        framed = [
            pieces.framed(pieces.special.query, texts[number][: settings.query_length - 2]) for number in part
        ]
        ids, mask = (tensor.to(device) for tensor in pieces.padded(framed))
        likely = functional.logsigmoid(network(ids, mask).float())
        found = torch.sparse.mm(shares, likely.T).T
        least = likely[:, taking_part].amin(dim=1, keepdim=True)
        scores[part] = torch.where(empty, least, found).cpu().numpy()
    return scores


def _rows(
    network: TermNetwork,
    pieces: Pieces,
    texts: Sequence[Ids],
    held_out: HeldOut,
    numbers: Sequence[int],
    columns: Tensor,
    device: torch.device,
) -> Tensor:
    """Return the weights of the wanted terms for some passages."""
    special = pieces.special
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


def measured(scores: npt.NDArray[np.floating[Any]], held_out: HeldOut) -> dict[str, float]:
    """Measure the rankings that scores make.

    Parameters
    ----------
    scores : float ndarray of shape (queries, passages)
    held_out : HeldOut

    Returns
    -------
    dict of str to float
        A value for each of `MEASURES`.
    """
    rankings = []
    for number, row in enumerate(scores):
        best = np.argsort(-row, kind="stable")[:10]
        rankings.append(Ranking([str(i) for i in best.tolist()], row[best].astype(np.float64), str(number)))
    return measures_of(rankings, held_out)


def measures_of(rankings: Sequence[Ranking], held_out: HeldOut) -> dict[str, float]:
    """Measure rankings of held-out passages; identifiers are positions, as strings.

    Returns
    -------
    dict of str to float
        A value for each of `MEASURES`.
    """
    means = evaluate(Run(rankings, "validation"), list(held_out.qrels), list(MEASURES)).means
    return {name: float(value) for name, value in means.items() if value is not None}
