"""Base classes of scorers that run a network for each query or pair.

The subclasses have a class method ``open``, which has these options in addition to its own:

device : str
    Torch device, by default ``cpu``.
length : int
    Largest number of tokens of a text, special tokens included.
batch : int
    Number of texts in one forward pass. Scores do not depend on it, up to rounding.
name : str
    Name of the scorer in tables; by default the name of the folder or file, or the name on the hub without its owner.

It raises `MissingFileError` or `ModelFormatError` if the checkpoint is missing, incomplete or of another kind, and
`ParameterError` if the device does not exist or the network cannot read texts of this length.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from termwise.encode.network_inputs import padded
from termwise.errors import ModelFormatError
from termwise.scorers.protocol import BasePairScorer
from termwise.validation import check, check_count

_Query = TypeVar("_Query")
_Text = TypeVar("_Text")


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkScorer(BasePairScorer):
    """Scores pairs by a network; scores that are not finite are an error.

    Parameters
    ----------
    name : str
        Name of the scorer in tables.
    batch : int, optional
        Number of texts in one forward pass.
    fingerprint : str, optional
        See `termwise.scorers.protocol.fingerprint_of`.
    """

    name: str
    batch: int = 32
    fingerprint: str | None = None
    reads_pairs: ClassVar[bool] = False
    """Whether the window holds query and text together, so that the query decides how much of a text is read."""

    def __post_init__(self) -> None:
        check("name", self.name, isinstance(self.name, str) and bool(self.name), "a name")
        check_count("batch", self.batch)

    @abstractmethod
    def _compute(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the score of each pair; there is at least one."""

    @abstractmethod
    def _excess(self, query: str, text: str) -> int:
        """Return the number of tokens of a text that are not read; 0 or less if it fits into the window."""

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts are truncated; see `termwise.scorers.protocol.WindowedScorer`."""
        if not self.reads_pairs:
            queries = [""] * len(texts)  # each distinct text is tokenised once
        excess = cache(self._excess)
        return np.array([excess(*pair) > 0 for pair in zip(queries, texts, strict=True)], dtype=np.bool_)

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        scores = self._compute(queries, texts)
        invalid = np.flatnonzero(~np.isfinite(scores))
        if len(invalid):
            raise ModelFormatError(
                "the network returned a score that is not a finite number",
                facts=[
                    ("scorer", self.name),
                    ("text", f"number {invalid[0] + 1}"),
                    ("score", scores[invalid[0]]),
                ],
            )
        return scores


class DualEncoderScorer(NetworkScorer, Generic[_Query, _Text]):
    """Scores pairs by comparing separate encodings of query and text.

    In one call each distinct query and text is encoded once. Nothing is cached between calls.
    """

    @abstractmethod
    def _encode_queries(self, queries: Sequence[str]) -> list[_Query]:
        """Encode a batch of queries."""

    @abstractmethod
    def _encode_texts(self, texts: Sequence[str]) -> list[_Text]:
        """Encode a batch of texts."""

    @abstractmethod
    def _compare(self, query: _Query, text: _Text) -> Tensor:
        """Return the score of a pair, a tensor of shape ()."""

    @torch.inference_mode()
    def _compute(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        encoded: dict[str, _Query] = {}
        for batch in batches_by_length(dict.fromkeys(queries), self.batch):
            encoded.update(zip(batch, self._encode_queries(batch), strict=True))
        positions: dict[str, list[int]] = {}
        for position, text in enumerate(texts):
            positions.setdefault(text, []).append(position)
        scores = np.zeros(len(texts), dtype=np.float64)
        for batch in batches_by_length(positions, self.batch):
            values = [
                self._compare(encoded[queries[position]], encoded_text)
                for text, encoded_text in zip(batch, self._encode_texts(batch), strict=True)
                for position in positions[text]
            ]
            scores[[position for text in batch for position in positions[text]]] = (
                torch.stack(values).double().cpu().numpy()
            )
        return scores


def batches_by_length(texts: Iterable[str], batch: int) -> list[list[str]]:
    """Return texts in batches of similar lengths, which need little padding.

    Examples
    --------
    >>> batches_by_length(["four", "a", "two", "b"], 2)
    [['a', 'b'], ['two', 'four']]
    """
    ordered = sorted(texts, key=len)
    return [ordered[begin : begin + batch] for begin in range(0, len(ordered), batch)]


def padded_tensors(rows: Sequence[npt.ArrayLike], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Stack rows of token ids on a device; see `termwise.encode.network_inputs.padded`."""
    ids, mask = padded([np.asarray(row) for row in rows], pad)
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)
