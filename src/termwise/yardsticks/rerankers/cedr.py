"""CEDR: networks that score the similarities of contextual vectors as KNRM, DRMM or PACRR do, with that of [CLS].

An encoder reads query and document together (MacAvaney et al., "CEDR: contextualized embeddings for document ranking",
SIGIR 2019). For each of its L + 1 layers, the embeddings among them, S_k is the matrix of the cosines of the n query
tokens and the m document tokens; x is the vector of [CLS] of the last layer. The documents of several windows are put
together: a document token is compared with the query tokens of its own window, and x is the mean of the windows.

==========  ===========================================================================================================
`CedrKnrm`  linear layer over x and, for each layer k and kernel i, the sum over query tokens of
            ln(1e-6 + sum over document tokens of exp(-(S_k - mu_i)^2 / (2 s_i^2)));
            11 kernels with learned mu (-0.9, -0.7, ..., 0.9, 1) and s (.1, for the last one .001)
`CedrDrmm`  sum over query tokens of a network (5 hidden elements, ReLU) over x and, for each layer, the logarithm of
            the numbers of document tokens in 11 equal parts of the range of the cosine, plus 1e-5
`CedrPacrr` network (32 and 32 hidden elements, ReLU) over x and, for each query token, the 2 largest values over the
            document of the largest of 32 filters over n-grams, n = 1, 2, 3, with the layers as channels
==========  ===========================================================================================================

Only tokens are compared. In the published code of Boytsov & Kolter (ECIR 2021), padding has similarity 0, which the
kernels count, so that a score depends on the other documents of a batch. PACRR reads a query as `query_length` tokens,
and a document as 2 tokens or more; missing ones have similarity 0. The numbers of `CedrDrmm` have no gradient.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel

from termwise.yardsticks.rerankers.network import WindowedReranker
from termwise.yardsticks.rerankers.settings import Reading
from termwise.yardsticks.rerankers.windows import Inputs, Window

BINS = 11
_HIDDEN, _FILTERS, _BEST, _LONGEST = 32, 32, 2, 3


class Cedr(WindowedReranker):
    """Encoder, and a head over the similarities of all layers and the vector of [CLS]."""

    def __init__(self, pretrained: PreTrainedModel, reading: Reading) -> None:
        super().__init__(pretrained, reading)
        config = pretrained.config
        self.layers, self.width = config.num_hidden_layers + 1, config.hidden_size

    def vectors(self, inputs: Inputs) -> Tensor:
        """Return the vectors of all layers, float32 of shape (b, L + 1, l, w)."""
        outputs = self.outputs(**vars(inputs), output_hidden_states=True)
        return torch.stack(outputs.hidden_states, dim=1).float()

    def score(self, windows: Sequence[Window], vectors: Sequence[Tensor]) -> Tensor:
        """Return the score of a query and a document; see `WindowedReranker.score`."""
        # If training uses half precision, only the encoder runs in it.
        with torch.autocast(vectors[0].device.type, enabled=False):
            units = [functional.normalize(rows, dim=-1) for rows in vectors]
            similarities = torch.cat(
                [
                    rows[:, window.query_places] @ rows[:, window.chunk_places].transpose(1, 2)
                    for window, rows in zip(windows, units, strict=True)
                ],
                dim=2,
            )
            return self.head(torch.stack([rows[-1, 0] for rows in vectors]).mean(0), similarities)

    @abstractmethod
    def head(self, first: Tensor, similarities: Tensor) -> Tensor:
        """Return the score, of shape (), from x of shape (w,) and the cosines of shape (L + 1, n, m)."""


class CedrKnrm(Cedr):
    """CEDR that scores similarities by Gaussian kernels, as KNRM does."""

    kind = "cedr-knrm"
    title = "CEDR-KNRM"
    about = (
        "CEDR-KNRM: a network that reads a query and a text together, and scores the similarities of their tokens "
        "by Gaussian kernels, with the vector of [CLS]."
    )

    def __init__(self, pretrained: PreTrainedModel, reading: Reading) -> None:
        super().__init__(pretrained, reading)
        means = [-0.9 + 0.2 * number for number in range(BINS - 1)]
        self.means = nn.Parameter(torch.tensor([*means, 1.0]))
        self.widths = nn.Parameter(torch.tensor([0.1] * (BINS - 1) + [0.001]))
        self.linear = nn.Linear(BINS * self.layers + self.width, 1)

    def head(self, first: Tensor, similarities: Tensor) -> Tensor:
        """Return the score; see `Cedr.head`."""
        distances = (similarities.unsqueeze(-1) - self.means) / self.widths
        matches = torch.exp(-0.5 * distances.square()).sum(2)
        features = torch.log(matches + 1e-6).sum(1).flatten()
        return cast(Tensor, self.linear(torch.cat([first, features]))[0])


class CedrDrmm(Cedr):
    """CEDR that scores histograms of similarities, as DRMM does."""

    kind = "cedr-drmm"
    title = "CEDR-DRMM"
    about = (
        "CEDR-DRMM: a network that reads a query and a text together, and scores histograms of the similarities of "
        "their tokens, with the vector of [CLS]."
    )

    def __init__(self, pretrained: PreTrainedModel, reading: Reading) -> None:
        super().__init__(pretrained, reading)
        self.term = nn.Linear(BINS * self.layers + self.width, 5)
        self.linear = nn.Linear(5, 1)

    def head(self, first: Tensor, similarities: Tensor) -> Tensor:
        """Return the score; see `Cedr.head`."""
        with torch.no_grad():
            parts = ((similarities + 1) / 2 * BINS).long().clamp(0, BINS - 1)
            counts = functional.one_hot(parts, BINS).sum(2)
            features = torch.log(counts + 1e-5).transpose(0, 1).flatten(1)
        terms = torch.cat([first.expand(len(features), -1), features], dim=1)
        return cast(Tensor, self.linear(torch.relu(self.term(terms))).sum())


class CedrPacrr(Cedr):
    """CEDR that scores similarities of n-grams by convolutions, as PACRR does."""

    kind = "cedr-pacrr"
    title = "CEDR-PACRR"
    about = (
        "CEDR-PACRR: a network that reads a query and a text together, and scores similarities of their n-grams, with "
        "the vector of [CLS]."
    )

    def __init__(self, pretrained: PreTrainedModel, reading: Reading) -> None:
        super().__init__(pretrained, reading)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(self.layers, _FILTERS, length) for length in range(1, _LONGEST + 1)
        )
        features = reading.query_length * _BEST * _LONGEST + self.width
        self.dense = nn.ModuleList([nn.Linear(features, _HIDDEN), nn.Linear(_HIDDEN, _HIDDEN)])
        self.linear = nn.Linear(_HIDDEN, 1)

    def head(self, first: Tensor, similarities: Tensor) -> Tensor:
        """Return the score; see `Cedr.head`."""
        _, terms, tokens = similarities.shape
        missing = self.reading.query_length - terms
        matrix = functional.pad(similarities, (0, max(0, _BEST - tokens), 0, missing))
        best = []
        for length, convolution in enumerate(self.convolutions, 1):
            padded = functional.pad(matrix, (0, length - 1, 0, length - 1))
            grams = torch.relu(convolution(padded)).amax(0)
            best.append(grams.topk(_BEST, dim=1).values)
        out = torch.cat([torch.cat(best, dim=1).flatten(), first])
        for layer in self.dense:
            out = torch.relu(layer(out))
        return cast(Tensor, self.linear(out)[0])
