"""Checks of networks: device, complete weights, tokenizer and window length."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import PretrainedConfig

from termwise.errors import ModelFormatError, ParameterError
from termwise.train.library_errors import errors_as, first_line
from termwise.train.pretrained import quiet

SPARE = 1024
"""Largest number of embedding rows without a token: vocabularies are rounded up in networks."""

_POSITIONS_AFTER_PADDING = frozenset(
    {"camembert", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl", "xmod"}
)
"""Types of networks whose first position follows the id of the padding token."""


def fastest_device() -> str:
    """Return ``cuda`` if torch can use a GPU, else ``cpu``."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def torch_device(name: str) -> torch.device:
    """Return a torch device by name, or raise `ParameterError` if it does not exist."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
        problem = "it cannot compute" if device.type == "meta" else None
    except (RuntimeError, AssertionError, TypeError) as error:  # the last two from builds without the device
        problem = first_line(error)
    if problem is not None:
        raise ParameterError(
            "there is no such device", facts=[("device", name), ("reason", problem)], fixes=["device=cpu"]
        )
    return device


@contextmanager
def load_errors(noun: str, folder: Path, fixes: Sequence[str]) -> Iterator[None]:
    """Hide the progress bars of a library while it loads a network, and turn its errors into `ModelFormatError`."""
    message = f"the {noun} cannot be loaded"
    with errors_as(ModelFormatError, message, facts=[("folder", folder)], fixes=fixes), quiet(bars=False):
        yield


def check_complete(noun: str, checkpoint: Path, missing: Collection[str], fixes: Sequence[str]) -> None:
    """Raise `ModelFormatError` for missing weights, which transformers would replace by random numbers."""
    if missing:
        raise ModelFormatError(
            f"weights of the {noun} are missing, so it would rank by random numbers",
            facts=[("checkpoint", checkpoint), ("missing", f"{len(missing)} tensors, first {min(missing)}")],
            fixes=fixes,
        )


def check_vocabulary(kind: str, place: str | Path, tokens: int, rows: int, *, spare: int = SPARE) -> None:
    """Raise `ModelFormatError` if the numbers of tokens of a tokenizer and of rows of the embeddings do not match.

    At most `spare` rows, and never more than half of all rows, may be without a token.
    """
    if not (tokens <= rows < 2 * tokens and rows - tokens <= spare):
        raise ModelFormatError(
            f"the tokenizer does not belong to the network of {kind}",
            facts=[("checkpoint", place), ("tokens of the tokenizer", tokens), ("of the network", rows)],
            fixes=["put the tokenizer.json of the network beside the weights"],
        )


def check_length(place: str | Path, length: int, least: int, longest: int | None = None) -> None:
    """Raise `ParameterError` if a network cannot read windows of `length` tokens."""
    if not (least <= length and (longest is None or length <= longest)):
        expected = f"{least} tokens or more" if longest is None else f"{least} to {longest} tokens"
        raise ParameterError(
            "the network cannot read texts of this length",
            facts=[("scorer", place), ("length", length), ("expected", expected)],
        )


def max_length(config: PretrainedConfig) -> int | None:
    """Return the number of positions of a network; None if it has no limit.

    Examples
    --------
    >>> from transformers import BertConfig, MPNetConfig, T5Config
    >>> max_length(BertConfig()), max_length(MPNetConfig(max_position_embeddings=514))
    (512, 512)
    >>> max_length(T5Config()) is None
    True
    """
    positions: int | None = getattr(config, "max_position_embeddings", None)
    if positions is None or config.model_type not in _POSITIONS_AFTER_PADDING:
        return positions
    return positions - (1 if config.pad_token_id is None else config.pad_token_id) - 1
