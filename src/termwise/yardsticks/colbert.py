"""ColBERT: a vector for each piece of query and text, and for each of the query the text's likest one.

    E(t)  = vectors of one length of W BERT([CLS] marker t [SEP])
    score = sum over the vectors x of E(q) of the largest x . y, y in E(d)

(Khattab & Zaharia, SIGIR 2020; Santhanam et al., NAACL 2022). The marker is [unused0] for queries, [unused1] for texts.
A query is filled up with [MASK] to 32 pieces, which have vectors as well; the other pieces do not attend to them unless
the checkpoint says so. Vectors of punctuation marks of the text do not take part.

Where published code sets the vectors that do not take part to 0, the largest of the products is never below 0, and what
a text scores depends on whether another is longer in its batch. Here they are left out.

Names of the published weights: ``bert.*`` and ``linear.weight``, in a folder in the layout of transformers with
``artifact.metadata`` (version 2), or in a ``.dnn`` file under ``model_state_dict`` (version 1).
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from termwise.encode.pieces import padded
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

METADATA = "artifact.metadata"

_WEIGHTS = ("model.safetensors", "pytorch_model.bin", "colbert.dnn")
_FIXES = ("name a folder such as that of colbert-ir/colbertv2.0, that name on the hub, or a colbert.dnn",)
_FRAME = 3
"""Pieces around a text: [CLS], the marker and [SEP]."""

_COSINE = "cosine"
_L2 = "l2"


@dataclass(frozen=True, kw_only=True)
class ColbertSettings:
    """How a checkpoint reads, by the names that it uses itself.

    Attributes
    ----------
    query_maxlen : int
        Pieces of a query, to which it is filled up.
    doc_maxlen : int
        Pieces of a text that are read, with the three around it.
    mask_punctuation : bool
        Whether vectors of punctuation marks of a text are left out.
    attend_to_mask_tokens : bool
        Whether the pieces of a query attend to what it is filled up with.
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
    def of(cls, held: Checkpoint) -> ColbertSettings:
        """Read the settings of a checkpoint; what it does not say is as in the paper.

        Raises
        ------
        ModelFormatError
            If one is not what it should be.
        """
        arguments = held.said.get("arguments")
        said: Mapping[str, Any] = held.json(METADATA) or (arguments if isinstance(arguments, dict) else {})
        found = {one.name: said[one.name] for one in fields(cls) if said.get(one.name) is not None}
        for one in fields(cls):
            kind: type = type(one.default)
            value: Any = found.get(one.name, one.default)
            if type(value) is not kind:
                raise odd_setting(held, one.name, value, kind.__name__)
        made = cls(**found)
        for name, length in (("query_maxlen", made.query_maxlen), ("doc_maxlen", made.doc_maxlen)):
            if length <= _FRAME:
                raise odd_setting(held, name, length, f"more than {_FRAME}")
        if made.similarity not in (_COSINE, _L2):
            raise odd_setting(held, "similarity", made.similarity, f"{_COSINE} or {_L2}")
        return made


class ColbertNetwork(nn.Module):
    """BERT and a linear layer without a bias."""

    def __init__(self, config: BertConfig, width: int) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.linear = nn.Linear(config.hidden_size, width, bias=False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return vectors of length 1 of all pieces of a batch, of shape (b, l, w)."""
        read = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return nn.functional.normalize(self.linear(read), dim=2)


class ColbertScorer(DualEncoderScorer[Tensor, Tensor]):
    """Scores texts by ColBERT.

    Parameters
    ----------
    network : ColbertNetwork
        In evaluation mode.
    analyzer : WordPieceAnalyzer
        The tokenizer of BERT.
    settings : ColbertSettings, optional
        How it reads.
    name, batch, fingerprint
        See `termwise.yardsticks.network_scorer.DualEncoderScorer`.

    Raises
    ------
    ModelFormatError
        If the tokenizer lacks a marker or a special piece.
    """

    def __init__(
        self,
        network: ColbertNetwork,
        analyzer: WordPieceAnalyzer,
        settings: ColbertSettings | None = None,
        *,
        name: str = "colbert",
        batch: int = 32,
        fingerprint: str | None = None,
    ) -> None:
        super().__init__(name=name, batch=batch, fingerprint=fingerprint)
        self.settings = ColbertSettings() if settings is None else settings
        self._network = network
        self._analyzer = analyzer
        self._cls, self._sep, self._pad, self._mask, self._of_query, self._of_text = (
            special_piece(analyzer, piece)
            for piece in (
                "[CLS]",
                "[SEP]",
                "[PAD]",
                "[MASK]",
                self.settings.query_token_id,
                self.settings.doc_token_id,
            )
        )
        marks = [analyzer.vocabulary.number(mark) for mark in string.punctuation]
        self._skipped = np.array([mark for mark in marks if mark is not None], dtype=np.int64)

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        called: str | None = None,
        mask_punctuation: bool | None = None,
    ) -> ColbertScorer:
        """Load a published checkpoint.

        Parameters
        ----------
        place : str or Path
            A folder in the layout of transformers, a name on its hub such as ``colbert-ir/colbertv2.0``, or a ``.dnn``
            file. Beside the latter there may be a ``config.json``
            and a tokenizer; without them it is taken for bert-base-uncased.
        device : str, optional
            Where the network runs, as torch names it.
        length : int, optional
            Most pieces of a text, special ones included; what the checkpoint says, or 180, unless given.
        batch : int, optional
            Texts that go through the network at once.
        called : str, optional
            What the scorer is called in tables; by default like the folder or file, or the name on the hub.
        mask_punctuation : bool, optional
            Whether punctuation marks of a text are left out; what the checkpoint says, or True, unless given.

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
        held = read_checkpoint("ColBERT", place, _WEIGHTS, fixes=_FIXES)
        config = held.config(BertConfig)
        settings = ColbertSettings.of(held)
        if length is not None:
            settings = replace(settings, doc_maxlen=length)
        if mask_punctuation is not None:
            settings = replace(settings, mask_punctuation=mask_punctuation)
        analyzer = held.pieces(config)
        linear = held.tensors.get("linear.weight")
        with torch.random.fork_rng(devices=[]):  # layers are filled at random before they are loaded
            network = ColbertNetwork(config, 1 if linear is None else len(linear))
        held.fill(network, {"bert.": "bert."})
        for asked in (settings.doc_maxlen, settings.query_maxlen):
            check_length(held.place, asked, _FRAME + 1, config.max_position_embeddings)
        return cls(
            network.to(placed),
            analyzer,
            settings,
            name=called or held.name,
            batch=batch,
            fingerprint=held.fingerprint(settings),
        )

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say which texts are longer than the window; see `termwise.scorers.protocol.WindowedScorer`."""
        longest = self.settings.doc_maxlen
        return truncation(texts, lambda text: len(self._pieces(text, longest)), longest - _FRAME)

    def _read_queries(self, queries: Sequence[str]) -> list[Tensor]:
        length = self.settings.query_maxlen
        rows = [self._framed(self._of_query, query, length) for query in queries]
        ids = np.full((len(rows), length), self._mask, dtype=np.int64)
        seen = np.full(ids.shape, int(self.settings.attend_to_mask_tokens), dtype=np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            seen[place, : len(row)] = 1
        return list(self._vectors(ids, seen))

    def _read_texts(self, texts: Sequence[str]) -> list[Tensor]:
        rows = [self._framed(self._of_text, text, self.settings.doc_maxlen) for text in texts]
        kept = [np.arange(len(row)) for row in rows]
        if self.settings.mask_punctuation:
            kept = [np.flatnonzero(~np.isin(row, self._skipped)) for row in rows]
        vectors = self._vectors(*padded(rows, self._pad))
        return [
            found[torch.from_numpy(places).to(found.device)]
            for found, places in zip(vectors, kept, strict=True)
        ]

    def _compare(self, query: Tensor, text: Tensor) -> Tensor:
        likest = (query @ text.T).amax(1).sum()
        return likest if self.settings.similarity == _COSINE else 2 * likest - 2 * len(query)

    def _vectors(self, ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> Tensor:
        device = self._network.linear.weight.device
        found: Tensor = self._network(torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device))
        return found

    def _framed(self, marker: int, text: str, length: int) -> npt.NDArray[np.int64]:
        pieces = self._pieces(text, length)[: length - _FRAME]
        return np.array([self._cls, marker, *pieces, self._sep], dtype=np.int64)

    def _pieces(self, text: str, length: int) -> npt.NDArray[np.int32]:
        return self._analyzer.numbers(readable_words(text, length))
