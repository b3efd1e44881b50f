"""Network of neural Model 1: the logarithm of a translation probability from two vectors.

With the vectors x_q of a query piece and x_d of a document piece, each projected by a separate layer,

    T(q|d) = sigmoid(F_n(... relu(F_1([x_q ; x_d ; x_q * x_d]))))

where * is the elementwise product (Boytsov & Kolter, ECIR 2021, section 3.2). The concatenation is not computed. With
the weights of F_1 split into A, B and H, and its bias c,

    F_1([x_q ; x_d ; x_q * x_d]) = A x_q + B x_d + c + H (x_q * x_d)

so the layer is one matrix product for one query piece and all document pieces (used for batches), or for one document
piece and all query pieces (used for whole tables):

                                 = (B + H diag(x_q)) x_d + (A x_q + c)
                                 = (A + H diag(x_d)) x_q + (B x_d + c)

`PairNetwork` and `CosinePair` take any vectors; the vectors of `TranslationNetwork` depend only on the piece.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

_CELLS = 1 << 18
"""Outputs of the first layer for a part of a table: few enough for the cache of a CPU."""

_DOCUMENTS = 8
"""Document pieces of one matrix product."""


class Pair(nn.Module, ABC):
    """Translation probability of a query piece given a document piece, from their vectors."""

    @abstractmethod
    def queries(self, vectors: Tensor) -> Tensor:
        """Prepare the vectors of query pieces, of shape (..., w): the work that is done once per piece."""

    @abstractmethod
    def documents(self, vectors: Tensor) -> Tensor:
        """Prepare the vectors of document pieces."""

    @abstractmethod
    def log_probabilities(self, queries: Tensor, documents: Tensor) -> Tensor:
        """Compute ln T of all pairs from prepared vectors, of shape (n, p) and (m, p).

        Row u of the result, float32 of shape (m, n) and at most 0, is ln T(.|u).
        """

    @abstractmethod
    def table(self, queries: Tensor, documents: Tensor) -> Tensor:
        """Compute T of all pairs, of shape (m, n), without gradients and with little additional memory."""


class PairNetwork(Pair):
    """Projections of both sides and the feed-forward network of the module docstring.

    The widths are the numbers of elements of the vectors of each side, after their projection, and of one hidden layer
    or more.

    Examples
    --------
    >>> pair = PairNetwork(8, 8, projection=4, hidden=(6,))
    >>> pair.table(pair.queries(torch.ones(3, 8)), pair.documents(torch.ones(5, 8))).shape
    torch.Size([5, 3])
    """

    def __init__(
        self,
        query_width: int,
        document_width: int,
        *,
        projection: int = 128,
        hidden: Sequence[int] = (128, 64),
    ) -> None:
        super().__init__()
        self.project_query = nn.Linear(query_width, projection)
        self.project_document = nn.Linear(document_width, projection)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise((3 * projection, *hidden, 1)))

    def expect(self, probability: float) -> None:
        """Set the bias of the last layer so that every pair has about this probability before training."""
        output = cast(nn.Linear, self.layers[-1])
        nn.init.constant_(output.bias, math.log(probability / (1 - probability)))

    def queries(self, vectors: Tensor) -> Tensor:
        """Project the vectors."""
        projected: Tensor = self.project_query(vectors)
        return projected

    def documents(self, vectors: Tensor) -> Tensor:
        """Project the vectors."""
        projected: Tensor = self.project_document(vectors)
        return projected

    def log_probabilities(self, queries: Tensor, documents: Tensor) -> Tensor:
        """See `Pair`."""
        a, b, h, c = self._first()
        outputs = _first_layer(documents, queries, b, h, functional.linear(queries, a, c))
        for layer in self.layers[1:]:
            outputs = layer(functional.relu(outputs))
        return functional.logsigmoid(outputs.squeeze(-1).float())

    @torch.no_grad()
    def table(self, queries: Tensor, documents: Tensor) -> Tensor:
        """See `Pair`."""
        a, b, h, c = self._first()
        table = queries.new_empty((len(documents), len(queries)), dtype=torch.float32)
        step = max(1, _CELLS // (len(c) * _DOCUMENTS))
        for row in range(0, len(documents), _DOCUMENTS):
            part = documents[row : row + _DOCUMENTS]
            bias = functional.linear(part, b, c)
            for column in range(0, len(queries), step):
                outputs = _first_layer(queries[column : column + step], part, a, h, bias)
                for layer in self.layers[1:]:
                    outputs = layer(outputs.relu_())
                block = outputs.squeeze(-1).T.float().sigmoid()
                table[row : row + _DOCUMENTS, column : column + step] = block
        return table

    def _first(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return A, B, H and c."""
        first = cast(nn.Linear, self.layers[0])
        a, b, h = first.weight.chunk(3, dim=1)
        return a, b, h, cast(Tensor, first.bias)


def _first_layer(many: Tensor, few: Tensor, own: Tensor, product: Tensor, bias: Tensor) -> Tensor:
    """Compute the first layer for all pairs: (own + product diag(few)) many + bias, of shape (many, few, h)."""
    weights = own + product * few[:, None, :]
    outputs = functional.linear(many, weights.flatten(0, 1), bias.flatten())
    return outputs.view(len(many), *bias.shape)


class CosinePair(Pair):
    """(1 + cos) / 2 without parameters: a baseline, which the paper finds worse than counting."""

    def queries(self, vectors: Tensor) -> Tensor:
        """Scale to length 1."""
        return functional.normalize(vectors, dim=-1)

    def documents(self, vectors: Tensor) -> Tensor:
        """Scale to length 1."""
        return functional.normalize(vectors, dim=-1)

    def log_probabilities(self, queries: Tensor, documents: Tensor) -> Tensor:
        """See `Pair`; T is at least 1e-8."""
        return self._probabilities(queries, documents).log()

    @torch.no_grad()
    def table(self, queries: Tensor, documents: Tensor) -> Tensor:
        """See `Pair`."""
        return self._probabilities(queries, documents)

    def _probabilities(self, queries: Tensor, documents: Tensor) -> Tensor:
        return ((1 + (documents @ queries.T).float()) / 2).clamp(1e-8, 1)


class TranslationNetwork(nn.Module):
    """Embedding tables of query pieces and of document pieces, and a `Pair` over their rows of `width` elements.

    A vector is tanh(LayerNorm(row)) before the projection; the cosine uses the row itself. `spread` is the initial
    standard deviation of the rows. The tables have sparse gradients; a step changes only the rows of its batch.
    """

    def __init__(self, terms: int, pair: Pair, width: int, *, spread: float = 1.0) -> None:
        super().__init__()
        self.pair = pair
        self.query_rows = nn.Embedding(terms, width, sparse=True)
        self.document_rows = nn.Embedding(terms, width, sparse=True)
        for rows in (self.query_rows, self.document_rows):
            nn.init.normal_(rows.weight, std=spread)
        self.query_norm = nn.LayerNorm(width)
        self.document_norm = nn.LayerNorm(width)

    def queries(self, terms: Tensor) -> Tensor:
        """Return the prepared vectors of terms in queries; int64 tensor of shape (n,)."""
        return self.pair.queries(self._vectors(self.query_rows(terms), self.query_norm))

    def documents(self, terms: Tensor) -> Tensor:
        """Return the prepared vectors of terms in documents."""
        return self.pair.documents(self._vectors(self.document_rows(terms), self.document_norm))

    def _vectors(self, rows: Tensor, norm: nn.LayerNorm) -> Tensor:
        return rows if isinstance(self.pair, CosinePair) else torch.tanh(norm(rows))

    def row_parameters(self) -> list[nn.Parameter]:
        """Return the embedding tables."""
        return [cast(nn.Parameter, rows.weight) for rows in (self.query_rows, self.document_rows)]

    def shared_parameters(self) -> list[nn.Parameter]:
        """Return all other parameters, which every batch needs."""
        rows = {id(parameter) for parameter in self.row_parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in rows]


def make_network(
    terms: int,
    *,
    form: str,
    width: int,
    projection: int,
    hidden: Sequence[int],
    spread: float,
    expected: float,
) -> TranslationNetwork:
    """Make an untrained network of the form ``network`` or ``cosine`` over V terms; set the seed of torch first.

    See `TranslationNetwork` and `PairNetwork`; `expected` is that of `PairNetwork.expect`.
    """
    if form == "cosine":
        return TranslationNetwork(terms, CosinePair(), width, spread=spread)
    pair = PairNetwork(width, width, projection=projection, hidden=hidden)
    pair.expect(expected)
    return TranslationNetwork(terms, pair, width, spread=spread)
