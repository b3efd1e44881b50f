"""EPIC with the published weights of OpenNIR; see `termwise.yardsticks.rerankers.epic` for the network.

OpenNIR puts padding between a text and its [SEP], so that a score depends on the other texts of the batch; here [SEP]
follows the text. OpenNIR reads texts of more than 510 tokens in several passes; here they are truncated.

Names of the published weights, in ``weights.p`` of the archive that OpenNIR writes: ``query_salience.*``,
``doc_salience.*``, ``doc_quality.*``, ``encoder.bert.bert.embeddings.*`` and ``encoder.bert.bert.encoder.*``, and of
the head ``encoder.bert.cls.predictions.transform.*``, ``.decoder.weight`` and ``.bias``. If the decoder is missing, the
token embeddings are used, to which it is tied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from transformers import BertConfig, BertForMaskedLM

from termwise.errors import ModelFormatError
from termwise.yardsticks.checkpoint import Checkpoint, read_checkpoint
from termwise.yardsticks.compatibility import check_length, torch_device
from termwise.yardsticks.rerankers.epic import Epic, EpicReading
from termwise.yardsticks.rerankers.scorer import RerankerScorer

_WEIGHTS = ("weights.p", "model.safetensors", "pytorch_model.bin")
_FIXES = ("name weights.p, or the folder of the unpacked OpenNIR archive: tar -xzf epic.tar.gz -C FOLDER",)
_FRAME = 2
_BERT = "encoder.bert.bert."
_HEAD = "encoder.bert.cls.predictions."
_DECODER = f"{_HEAD}decoder.weight"
_NAMES = {
    "pretrained.bert.": _BERT,
    "pretrained.cls.predictions.": _HEAD,
    "pretrained.cls.predictions.decoder.bias": f"{_HEAD}bias",
}


@dataclass(kw_only=True, eq=False, repr=False)
class EpicScorer(RerankerScorer):
    """Scores texts by EPIC; `open` makes one from a published checkpoint."""

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
            Largest number of tokens of a query or text, [CLS] and [SEP] included; by default the limit of the network.
        """
        torch_place = torch_device(device)
        checkpoint = _with_decoder(read_checkpoint("EPIC", place, _WEIGHTS, fixes=_FIXES))
        _check_settings(checkpoint)
        config = checkpoint.config(BertConfig)
        config.tie_word_embeddings = False
        analyzer = checkpoint.wordpiece(config)
        length = config.max_position_embeddings if length is None else length
        check_length(checkpoint.place, length, _FRAME + 1, config.max_position_embeddings)
        read = length - _FRAME
        reading = EpicReading(query_length=read, chunk_length=read, document_length=read)
        return cls(
            network=checkpoint.load(lambda: Epic(BertForMaskedLM(config), reading), _NAMES, torch_place),
            analyzer=analyzer,
            name=name or checkpoint.name,
            batch=batch,
            fingerprint=checkpoint.fingerprint(length),
        )


def _with_decoder(checkpoint: Checkpoint) -> Checkpoint:
    """Use the token embeddings as the decoder if it was not saved."""
    embeddings = checkpoint.tensors.get(f"{_BERT}embeddings.word_embeddings.weight")
    if embeddings is None or _DECODER in checkpoint.tensors:
        return checkpoint
    return replace(checkpoint, tensors={**checkpoint.tensors, _DECODER: embeddings})


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
