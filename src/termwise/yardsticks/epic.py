"""EPIC: how much each piece of the query matters, and how much each term of the vocabulary matters to the text.

With the vectors x of BERT, read apart for query and text, and A(z) = ln(1 + softplus(z)),

    q_i   = A(w_q . x_i + b_q)                                       salience of piece i of the query
    d_v   = sigmoid(w_l . x_[CLS] + b_l) max_j A(w_d . x_j + b_d) A(M_v(x_j))     weight of term v in the text
    score = sum over i of q_i d_{v(i)}

where j runs over the pieces of the text and M is BERT's language-model head (MacAvaney et al., SIGIR 2020). [CLS] and
[SEP] are read, and have no say else. A query without a piece gives every text 0, and so does a text without one.

OpenNIR, whose checkpoints these are, puts padding between a text and its [SEP], so that a score depends on what else
is in a batch; here [SEP] follows the text. It reads texts of more than 510 pieces in several passes; here they are cut
off.

Names of the published weights, in ``weights.p`` of the archive that OpenNIR writes: ``query_salience.*``,
``doc_salience.*``, ``doc_quality.*``, ``encoder.bert.bert.embeddings.*`` and ``encoder.bert.bert.encoder.*``, and of
the head ``encoder.bert.cls.predictions.transform.*``, ``.decoder.weight`` and ``.bias``. Without the decoder, the
embeddings of the pieces take its place, to which it is tied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel
from transformers.models.bert.modeling_bert import BertPredictionHeadTransform

from termwise.encode.pieces import framed, padded
from termwise.errors import ModelFormatError
from termwise.text import WordPieceAnalyzer
from termwise.yardsticks.bert_model1.folder import torch_device
from termwise.yardsticks.checkpoint import (
    Checkpoint,
    odd_setting,
    read_checkpoint,
    readable_words,
    special_piece,
)
from termwise.yardsticks.compatibility import check_length
from termwise.yardsticks.network_scorer import DualEncoderScorer, truncation

_WEIGHTS = ("weights.p", "model.safetensors", "pytorch_model.bin")
_FIXES = (
    "name weights.p, or the folder into which the archive of OpenNIR was unpacked: tar -xzf epic.tar.gz -C FOLDER",
)
_FRAME = 2
_BERT = "encoder.bert.bert."
_HEAD = "encoder.bert.cls.predictions."
_NAMES = {
    "bert.": _BERT,
    "transform.": f"{_HEAD}transform.",
    "terms.weight": f"{_HEAD}decoder.weight",
    "terms.bias": f"{_HEAD}bias",
}


class EpicNetwork(nn.Module):
    """BERT, its language-model head, and three linear layers with one output each."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.transform = BertPredictionHeadTransform(config)
        self.terms = nn.Linear(config.hidden_size, config.vocab_size)
        self.query_salience = nn.Linear(config.hidden_size, 1)
        self.doc_salience = nn.Linear(config.hidden_size, 1)
        self.doc_quality = nn.Linear(config.hidden_size, 1)

    def forward(self, ids: Tensor, mask: Tensor, segment: int) -> Tensor:
        """Return the vectors of a batch, of shape (b, l, w)."""
        segments = torch.full_like(ids, segment)
        found = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=segments)
        return cast(Tensor, found.last_hidden_state)


class _ReadQuery(NamedTuple):
    """Numbers of the pieces, and the salience of each."""

    pieces: Tensor
    saliences: Tensor


class _ReadText(NamedTuple):
    """What the language-model head makes of each piece before it names terms, its salience, and the quality."""

    vectors: Tensor
    saliences: Tensor
    quality: Tensor


class EpicScorer(DualEncoderScorer[_ReadQuery, _ReadText]):
    """Scores texts by EPIC.

    Parameters
    ----------
    network : EpicNetwork
        In evaluation mode.
    analyzer : WordPieceAnalyzer
        The tokenizer of BERT.
    length : int, optional
        Most pieces of a query or text, [CLS] and [SEP] included.
    name, batch, fingerprint
        See `termwise.yardsticks.network_scorer.DualEncoderScorer`.

    Raises
    ------
    ModelFormatError
        If the tokenizer lacks a special piece.
    """

    def __init__(
        self,
        network: EpicNetwork,
        analyzer: WordPieceAnalyzer,
        *,
        length: int = 512,
        name: str = "epic",
        batch: int = 32,
        fingerprint: str | None = None,
    ) -> None:
        super().__init__(name=name, batch=batch, fingerprint=fingerprint)
        self._network = network
        self._analyzer = analyzer
        self._cls, self._sep, self._pad = (
            special_piece(analyzer, piece) for piece in ("[CLS]", "[SEP]", "[PAD]")
        )
        self._length = length

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        called: str | None = None,
    ) -> EpicScorer:
        """Load a published checkpoint.

        Parameters
        ----------
        place : str or Path
            ``weights.p`` of OpenNIR, or a folder with it. Without a ``config.json`` of transformers and a tokenizer
            beside it, it is taken for bert-base-uncased.
        device : str, optional
            Where the network runs, as torch names it.
        length : int, optional
            Most pieces of a query or text, special ones included; as many as the network reads unless given.
        batch : int, optional
            Texts that go through the network at once.
        called : str, optional
            What the scorer is called in tables; by default like the folder or file.

        Raises
        ------
        MissingFileError
            If there is no such file or folder.
        ModelFormatError
            If it is no such checkpoint, weights are missing or no numbers, or the tokenizer is another.
        ParameterError
            If there is no such device, or the network reads fewer pieces than `length`.
        """
        placed = torch_device(device)
        held = _with_decoder(read_checkpoint("EPIC", place, _WEIGHTS, fixes=_FIXES))
        _check_kind(held)
        config = held.config(BertConfig)
        analyzer = held.pieces(config)
        length = config.max_position_embeddings if length is None else length
        check_length(held.place, length, _FRAME + 1, config.max_position_embeddings)
        with torch.random.fork_rng(devices=[]):  # layers are filled at random before they are loaded
            network = EpicNetwork(config)
        held.fill(network, _NAMES)
        return cls(
            network.to(placed),
            analyzer,
            length=length,
            name=called or held.name,
            batch=batch,
            fingerprint=held.fingerprint(length),
        )

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say which texts are longer than the window; see `termwise.scorers.protocol.WindowedScorer`."""
        return truncation(texts, lambda text: len(self._numbers(text)), self._length - _FRAME)

    def _read_queries(self, queries: Sequence[str]) -> list[_ReadQuery]:
        rows = [self._pieces(query) for query in queries]
        return [
            _ReadQuery(
                torch.from_numpy(row).to(vectors.device),
                _active(self._network.query_salience(vectors[1 : 1 + len(row)]))[:, 0],
            )
            for row, vectors in zip(rows, self._vectors(rows, 0), strict=True)
        ]

    def _read_texts(self, texts: Sequence[str]) -> list[_ReadText]:
        rows = [self._pieces(text) for text in texts]
        return [
            _ReadText(
                self._network.transform(vectors[1 : 1 + len(row)]),
                _active(self._network.doc_salience(vectors[1 : 1 + len(row)])),
                torch.sigmoid(self._network.doc_quality(vectors[0]))[0],
            )
            for row, vectors in zip(rows, self._vectors(rows, 1), strict=True)
        ]

    def _compare(self, query: _ReadQuery, text: _ReadText) -> Tensor:
        if not len(query.pieces) or not len(text.vectors):
            return torch.zeros((), device=text.quality.device)
        terms = self._network.terms
        logits = nn.functional.linear(text.vectors, terms.weight[query.pieces], terms.bias[query.pieces])
        weights = text.quality * (_active(logits) * text.saliences).amax(0)
        return query.saliences @ weights

    def _vectors(self, rows: Sequence[npt.NDArray[np.int64]], segment: int) -> Tensor:
        device = self._network.terms.weight.device
        ids, mask = padded([framed(self._cls, row, sep=self._sep) for row in rows], self._pad)
        found: Tensor = self._network(
            torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device), segment
        )
        return found

    def _pieces(self, text: str) -> npt.NDArray[np.int64]:
        return self._numbers(text)[: self._length - _FRAME].astype(np.int64)

    def _numbers(self, text: str) -> npt.NDArray[np.int32]:
        return self._analyzer.numbers(readable_words(text, self._length))


def _active(values: Tensor) -> Tensor:
    return torch.log1p(nn.functional.softplus(values))


def _with_decoder(held: Checkpoint) -> Checkpoint:
    """Put the embeddings in the place of a decoder that was not saved."""
    tied = held.tensors.get(f"{_BERT}embeddings.word_embeddings.weight")
    if tied is None or _NAMES["terms.weight"] in held.tensors:
        return held
    return replace(held, tensors={**held.tensors, _NAMES["terms.weight"]: tied})


def _check_kind(held: Checkpoint) -> None:
    """Refuse what OpenNIR says is another ranker, or EPIC over vectors that are read otherwise."""
    ranker = held.json("ranker.json").get("", "epic")
    if ranker != "epic":
        raise ModelFormatError(
            "this is no checkpoint of EPIC",
            facts=[("file", held.folder / "ranker.json"), ("ranker", ranker)],
            fixes=_FIXES,
        )
    vocabulary = held.json("vocab.json")
    if "" in vocabulary:
        for name, expected in (("encoding", "sep"), ("layer", -1), ("last_layer", True)):
            if vocabulary.get(name, expected) != expected:
                raise odd_setting(held, name, vocabulary[name], str(expected))
