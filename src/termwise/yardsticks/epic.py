"""EPIC: salience of query tokens times importance of vocabulary terms in the text.

With the BERT vectors x of query and text, encoded separately, and A(z) = ln(1 + softplus(z)),

    q_i   = A(w_q . x_i + b_q)                                       salience of token i of the query
    d_v   = sigmoid(w_l . x_[CLS] + b_l) max_j A(w_d . x_j + b_d) A(M_v(x_j))     weight of term v in the text
    score = sum over i of q_i d_{v(i)}

where j runs over the tokens of the text and M is the language-model head of BERT (MacAvaney et al., SIGIR 2020). [CLS]
and [SEP] are part of the input, but not of the sum or the maximum. An empty query or text has the score 0.

OpenNIR, which published the checkpoints, puts padding between a text and its [SEP], so that a score depends on the
other texts of the batch; here [SEP] follows the text. OpenNIR reads texts of more than 510 tokens in several passes;
here they are truncated.

Names of the published weights, in ``weights.p`` of the archive that OpenNIR writes: ``query_salience.*``,
``doc_salience.*``, ``doc_quality.*``, ``encoder.bert.bert.embeddings.*`` and ``encoder.bert.bert.encoder.*``, and of
the head ``encoder.bert.cls.predictions.transform.*``, ``.decoder.weight`` and ``.bias``. If the decoder is missing, the
token embeddings are used, to which it is tied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel
from transformers.models.bert.modeling_bert import BertPredictionHeadTransform

from termwise.encode.network_inputs import framed
from termwise.errors import ModelFormatError
from termwise.text import WordPieceAnalyzer
from termwise.yardsticks.checkpoint import Checkpoint, read_checkpoint, readable_words, special_token
from termwise.yardsticks.compatibility import check_length, torch_device
from termwise.yardsticks.network_scorer import DualEncoderScorer, padded_tensors

_WEIGHTS = ("weights.p", "model.safetensors", "pytorch_model.bin")
_FIXES = ("name weights.p, or the folder of the unpacked OpenNIR archive: tar -xzf epic.tar.gz -C FOLDER",)
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
        output = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=segments)
        return cast(Tensor, output.last_hidden_state)


class _EncodedQuery(NamedTuple):
    """Token ids of a query, and the salience of each token."""

    ids: Tensor
    saliences: Tensor


class _EncodedText(NamedTuple):
    """Transformed vectors and saliences of the tokens of a text, and its quality."""

    vectors: Tensor
    saliences: Tensor
    quality: Tensor


@dataclass(kw_only=True, eq=False, repr=False)
class EpicScorer(DualEncoderScorer[_EncodedQuery, _EncodedText]):
    """Scores texts by EPIC; `open` makes one.

    `length` is the largest number of tokens of a query or text, [CLS] and [SEP] included. A tokenizer without a special
    token raises `ModelFormatError`.
    """

    network: EpicNetwork
    analyzer: WordPieceAnalyzer
    length: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._cls, self._sep, self._pad = (
            special_token(self.analyzer, token) for token in ("[CLS]", "[SEP]", "[PAD]")
        )

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        name: str | None = None,
    ) -> EpicScorer:
        """Load a published checkpoint; see `termwise.yardsticks.network_scorer` for the common options.

        Parameters
        ----------
        place : str or Path
            ``weights.p`` of OpenNIR, or a folder with it. Without a ``config.json`` of transformers and a tokenizer
            beside it, the configuration and tokenizer of bert-base-uncased are used.
        length : int, optional
            By default the limit of the network.
        """
        torch_place = torch_device(device)
        checkpoint = _with_decoder(read_checkpoint("EPIC", place, _WEIGHTS, fixes=_FIXES))
        _check_settings(checkpoint)
        config = checkpoint.config(BertConfig)
        analyzer = checkpoint.wordpiece(config)
        length = config.max_position_embeddings if length is None else length
        check_length(checkpoint.place, length, _FRAME + 1, config.max_position_embeddings)
        return cls(
            network=checkpoint.load(lambda: EpicNetwork(config), _NAMES, torch_place),
            analyzer=analyzer,
            length=length,
            name=name or checkpoint.name,
            batch=batch,
            fingerprint=checkpoint.fingerprint(length),
        )

    def _excess(self, query: str, text: str) -> int:
        return len(self._all_token_ids(text)) - (self.length - _FRAME)

    def _encode_queries(self, queries: Sequence[str]) -> list[_EncodedQuery]:
        rows = [self._token_ids(query) for query in queries]
        return [
            _EncodedQuery(
                torch.from_numpy(row).to(vectors.device),
                _activation(self.network.query_salience(vectors[1 : 1 + len(row)]))[:, 0],
            )
            for row, vectors in zip(rows, self._vectors(rows, 0), strict=True)
        ]

    def _encode_texts(self, texts: Sequence[str]) -> list[_EncodedText]:
        rows = [self._token_ids(text) for text in texts]
        return [
            _EncodedText(
                self.network.transform(vectors[1 : 1 + len(row)]),
                _activation(self.network.doc_salience(vectors[1 : 1 + len(row)])),
                torch.sigmoid(self.network.doc_quality(vectors[0]))[0],
            )
            for row, vectors in zip(rows, self._vectors(rows, 1), strict=True)
        ]

    def _compare(self, query: _EncodedQuery, text: _EncodedText) -> Tensor:
        if not len(query.ids) or not len(text.vectors):
            return torch.zeros((), device=text.quality.device)
        terms = self.network.terms
        logits = nn.functional.linear(text.vectors, terms.weight[query.ids], terms.bias[query.ids])
        weights = text.quality * (_activation(logits) * text.saliences).amax(0)
        return query.saliences @ weights

    def _vectors(self, rows: Sequence[npt.NDArray[np.int64]], segment: int) -> Tensor:
        inputs = [framed(self._cls, row, sep=self._sep) for row in rows]
        ids, mask = padded_tensors(inputs, self._pad, self.network.terms.weight.device)
        vectors: Tensor = self.network(ids, mask, segment)
        return vectors

    def _token_ids(self, text: str) -> npt.NDArray[np.int64]:
        return self._all_token_ids(text)[: self.length - _FRAME].astype(np.int64)

    def _all_token_ids(self, text: str) -> npt.NDArray[np.int32]:
        return self.analyzer.numbers(readable_words(text, self.length))


def _activation(values: Tensor) -> Tensor:
    return torch.log1p(nn.functional.softplus(values))


def _with_decoder(checkpoint: Checkpoint) -> Checkpoint:
    """Use the token embeddings as the decoder if it was not saved."""
    embeddings = checkpoint.tensors.get(f"{_BERT}embeddings.word_embeddings.weight")
    if embeddings is None or _NAMES["terms.weight"] in checkpoint.tensors:
        return checkpoint
    return replace(checkpoint, tensors={**checkpoint.tensors, _NAMES["terms.weight"]: embeddings})


def _check_settings(checkpoint: Checkpoint) -> None:
    """Refuse other rankers of OpenNIR, and EPIC over other vectors."""
    ranker = checkpoint.json("ranker.json").get("", "epic")
    if ranker != "epic":
        raise ModelFormatError(
            "this is not a checkpoint of EPIC",
            facts=[("file", checkpoint.folder / "ranker.json"), ("ranker", ranker)],
            fixes=_FIXES,
        )
    vocabulary = checkpoint.json("vocab.json")
    if "" in vocabulary:
        for name, expected in (("encoding", "sep"), ("layer", -1), ("last_layer", True)):
            if vocabulary.get(name, expected) != expected:
                raise checkpoint.invalid_setting(name, vocabulary[name], str(expected))
