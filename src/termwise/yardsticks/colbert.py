"""ColBERT: late interaction between the token vectors of query and text.

    E(t)  = normalised vectors W BERT([CLS] marker t [SEP])
    score = sum over the vectors x of E(q) of the maximum of x . y over the vectors y of E(d)

(Khattab & Zaharia, SIGIR 2020; Santhanam et al., NAACL 2022). The marker is [unused0] for queries, [unused1] for texts.
A query is padded with [MASK] to 32 tokens. These have vectors too; the other tokens attend to them only if the
configuration of the checkpoint says so. Vectors of punctuation marks of the text are left out.

The published code sets excluded vectors to 0, so that a maximum is never below 0, and a score depends on the lengths of
the other texts in the batch. This implementation leaves them out.

Names of the published weights: ``bert.*`` and ``linear.weight``, in a folder in the layout of transformers with
``artifact.metadata`` (version 2), or in a ``.dnn`` file under ``model_state_dict`` (version 1).
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from termwise.fast_dataclass import dataclass
from termwise.text import WordPieceAnalyzer
from termwise.yardsticks.checkpoint import Checkpoint, read_checkpoint, readable_words, special_token
from termwise.yardsticks.compatibility import check_length, torch_device
from termwise.yardsticks.network_scorer import DualEncoderScorer, padded_tensors

METADATA = "artifact.metadata"

_WEIGHTS = ("model.safetensors", "pytorch_model.bin", "colbert.dnn")
_FIXES = ("name a downloaded folder of colbert-ir/colbertv2.0, its name on the hub, or a colbert.dnn",)
_FRAME = 3
"""Number of special tokens of a text: [CLS], the marker and [SEP]."""

_COSINE = "cosine"
_L2 = "l2"


@dataclass(frozen=True, kw_only=True)
class ColbertSettings:
    """Settings of a checkpoint, by their published names.

    Attributes
    ----------
    query_maxlen : int
        Number of tokens to which a query is truncated or padded.
    doc_maxlen : int
        Largest number of tokens of a text, special tokens included.
    mask_punctuation : bool
        Whether vectors of punctuation marks of a text are left out.
    attend_to_mask_tokens : bool
        Whether the tokens of a query attend to its padding.
    similarity : {"cosine", "l2"}
        ``l2`` is minus the squared distance, which orders texts in the same way.
    query_token_id, doc_token_id : str
        The markers.
    """

    query_maxlen: int = 32
    doc_maxlen: int = 180
    mask_punctuation: bool = True
    attend_to_mask_tokens: bool = False
    similarity: str = _COSINE
    query_token_id: str = "[unused0]"
    doc_token_id: str = "[unused1]"

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> ColbertSettings:
        """Read the settings of a checkpoint; the defaults are from the paper.

        Raises
        ------
        ModelFormatError
            If a value has a wrong type or range.
        """
        arguments = checkpoint.metadata.get("arguments")
        values: Mapping[str, Any] = checkpoint.json(METADATA) or (
            arguments if isinstance(arguments, dict) else {}
        )
        known = {one.name: values[one.name] for one in fields(cls) if values.get(one.name) is not None}
        for one in fields(cls):
            kind: type = type(one.default)
            value: Any = known.get(one.name, one.default)
            if type(value) is not kind:
                raise checkpoint.invalid_setting(one.name, value, kind.__name__)
        settings = cls(**known)
        for name, length in (("query_maxlen", settings.query_maxlen), ("doc_maxlen", settings.doc_maxlen)):
            if length <= _FRAME:
                raise checkpoint.invalid_setting(name, length, f"more than {_FRAME}")
        if settings.similarity not in (_COSINE, _L2):
            raise checkpoint.invalid_setting("similarity", settings.similarity, f"{_COSINE} or {_L2}")
        return settings


class ColbertNetwork(nn.Module):
    """BERT and a linear layer without a bias."""

    def __init__(self, config: BertConfig, width: int) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.linear = nn.Linear(config.hidden_size, width, bias=False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return normalised vectors of all tokens of a batch, of shape (b, l, w)."""
        hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return nn.functional.normalize(self.linear(hidden), dim=2)


@dataclass(kw_only=True, eq=False, repr=False)
class ColbertScorer(DualEncoderScorer[Tensor, Tensor]):
    """Scores texts by ColBERT; `open` makes one.

    A tokenizer without a marker or a special token raises `ModelFormatError`.
    """

    network: ColbertNetwork
    analyzer: WordPieceAnalyzer
    settings: ColbertSettings

    def __post_init__(self) -> None:
        super().__post_init__()
        markers = (self.settings.query_token_id, self.settings.doc_token_id)
        self._cls, self._sep, self._pad, self._mask, self._query_marker, self._text_marker = (
            special_token(self.analyzer, token) for token in ("[CLS]", "[SEP]", "[PAD]", "[MASK]", *markers)
        )
        marks = [self.analyzer.vocabulary.number(mark) for mark in string.punctuation]
        self._punctuation = np.array([mark for mark in marks if mark is not None], dtype=np.int64)

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        name: str | None = None,
        mask_punctuation: bool | None = None,
    ) -> ColbertScorer:
        """Load a published checkpoint; see `termwise.yardsticks.network_scorer` for the common options.

        Parameters
        ----------
        place : str or Path
            A folder in the layout of transformers, a name on the hub such as ``colbert-ir/colbertv2.0``, or a ``.dnn``
            file. For a ``.dnn`` file without a ``config.json`` and a tokenizer beside it, those of bert-base-uncased
            are used.
        length : int, optional
            By default the value of the checkpoint, or 180.
        mask_punctuation : bool, optional
            Whether to leave out punctuation marks of a text; by default the value of the checkpoint, or True.
        """
        torch_place = torch_device(device)
        checkpoint = read_checkpoint("ColBERT", place, _WEIGHTS, fixes=_FIXES)
        config = checkpoint.config(BertConfig)
        settings = ColbertSettings.of(checkpoint)
        if length is not None:
            settings = replace(settings, doc_maxlen=length)
        if mask_punctuation is not None:
            settings = replace(settings, mask_punctuation=mask_punctuation)
        analyzer = checkpoint.wordpiece(config)
        linear = checkpoint.tensors.get("linear.weight")
        width = 1 if linear is None else len(linear)
        network = checkpoint.load(lambda: ColbertNetwork(config, width), {"bert.": "bert."}, torch_place)
        for longest in (settings.doc_maxlen, settings.query_maxlen):
            check_length(checkpoint.place, longest, _FRAME + 1, config.max_position_embeddings)
        return cls(
            network=network,
            analyzer=analyzer,
            settings=settings,
            name=name or checkpoint.name,
            batch=batch,
            fingerprint=checkpoint.fingerprint(settings),
        )

    def _excess(self, query: str, text: str) -> int:
        longest = self.settings.doc_maxlen
        return len(self._token_ids(text, longest)) - (longest - _FRAME)

    def _encode_queries(self, queries: Sequence[str]) -> list[Tensor]:
        length = self.settings.query_maxlen
        rows = [self._framed(self._query_marker, query, length) for query in queries]
        ids = np.full((len(rows), length), self._mask, dtype=np.int64)
        mask = np.full(ids.shape, int(self.settings.attend_to_mask_tokens), dtype=np.int64)
        for position, row in enumerate(rows):
            ids[position, : len(row)] = row
            mask[position, : len(row)] = 1
        device = self.network.linear.weight.device
        return list(self.network(torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)))

    def _encode_texts(self, texts: Sequence[str]) -> list[Tensor]:
        rows = [self._framed(self._text_marker, text, self.settings.doc_maxlen) for text in texts]
        kept = [np.arange(len(row)) for row in rows]
        if self.settings.mask_punctuation:
            kept = [np.flatnonzero(~np.isin(row, self._punctuation)) for row in rows]
        device = self.network.linear.weight.device
        vectors = self.network(*padded_tensors(rows, self._pad, device))
        return [
            text_vectors[torch.from_numpy(positions).to(device)]
            for text_vectors, positions in zip(vectors, kept, strict=True)
        ]

    def _compare(self, query: Tensor, text: Tensor) -> Tensor:
        total = (query @ text.T).amax(1).sum()
        return total if self.settings.similarity == _COSINE else 2 * total - 2 * len(query)

    def _framed(self, marker: int, text: str, length: int) -> npt.NDArray[np.int64]:
        ids = self._token_ids(text, length)[: length - _FRAME]
        return np.array([self._cls, marker, *ids, self._sep], dtype=np.int64)

    def _token_ids(self, text: str, length: int) -> npt.NDArray[np.int32]:
        return self.analyzer.numbers(readable_words(text, length))
