"""Whether a tokenizer and a window fit a network."""

from __future__ import annotations

from pathlib import Path

from transformers import PretrainedConfig

from termwise.errors import ModelFormatError, ParameterError

SPARE = 1024
"""Rows of embeddings that may be without a piece: networks are made larger than their vocabulary, to a round number."""

_AFTER_PADDING = frozenset(
    {"camembert", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl", "xmod"}
)
"""Kinds of networks whose first place comes after the number of the padding."""


def check_vocabulary(kind: str, place: str | Path, pieces: int, rows: int, *, spare: int = SPARE) -> None:
    """Refuse a tokenizer with more pieces than a network has, or with far fewer.

    Parameters
    ----------
    kind : str
        What the network is called.
    place : str or Path
        Where it is.
    pieces, rows : int
        Of the tokenizer, and of the embeddings of the network.
    spare : int, optional
        Rows that may be without a piece; no more than half of all are in any case.

    Raises
    ------
    ModelFormatError
    """
    if not (pieces <= rows < 2 * pieces and rows - pieces <= spare):
        raise ModelFormatError(
            f"the tokenizer is not that of the network of {kind}",
            facts=[("checkpoint", place), ("pieces of the tokenizer", pieces), ("of the network", rows)],
            fixes=["put the tokenizer.json that belongs to it beside the weights"],
        )


def check_length(place: str | Path, length: int, least: int, readable: int | None = None) -> None:
    """Refuse a window that a network cannot read.

    Raises
    ------
    ParameterError
    """
    if not (least <= length and (readable is None or length <= readable)):
        span = f"{least} pieces or more" if readable is None else f"{least} to {readable} pieces"
        raise ParameterError(
            "the network cannot read texts of this length",
            facts=[("scorer", place), ("length", length), ("readable", span)],
        )


def readable_pieces(config: PretrainedConfig) -> int | None:
    """Return the pieces that a network has places for; None where it knows no end.

    Examples
    --------
    >>> from transformers import BertConfig, MPNetConfig, T5Config
    >>> readable_pieces(BertConfig()), readable_pieces(MPNetConfig(max_position_embeddings=514))
    (512, 512)
    >>> readable_pieces(T5Config()) is None
    True
    """
    places: int | None = getattr(config, "max_position_embeddings", None)
    if places is None or config.model_type not in _AFTER_PADDING:
        return places
    return places - (1 if config.pad_token_id is None else config.pad_token_id) - 1
