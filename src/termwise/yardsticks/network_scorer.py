"""Rankers that read queries and texts apart, and compare what they made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from termwise.errors import ModelFormatError
from termwise.scorers.protocol import BasePairScorer
from termwise.validation import check, check_count, check_pairs

_Query = TypeVar("_Query")
_Text = TypeVar("_Text")


class DualEncoderScorer(BasePairScorer, Generic[_Query, _Text]):
    """Scores texts by two readings; a `termwise.scorers.protocol.PairScorer`.

    Of the pairs of one call each query and each text is read once. Nothing is kept from one call to the next.

    Parameters
    ----------
    name : str
        What the scorer is called in tables.
    batch : int
        Texts that go through the network at once. Scores do not depend on it, but for rounding.
    fingerprint : str, optional
        See `termwise.scorers.protocol.FingerprintedScorer`.
    """

    def __init__(self, *, name: str, batch: int, fingerprint: str | None) -> None:
        check("name", name, isinstance(name, str) and bool(name), "a name")
        check_count("batch", batch)
        self.name = name
        self.fingerprint = fingerprint
        self._batch = batch

    @abstractmethod
    def _read_queries(self, queries: Sequence[str]) -> list[_Query]:
        """Read a batch of queries."""

    @abstractmethod
    def _read_texts(self, texts: Sequence[str]) -> list[_Text]:
        """Read a batch of texts."""

    @abstractmethod
    def _compare(self, query: _Query, text: _Text) -> Tensor:
        """Return the score of a pair, a tensor of shape ()."""

    @abstractmethod
    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say of each pair whether a part of the text is not read; see `termwise.scorers.protocol.WindowedScorer`."""

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Raises
        ------
        ModelFormatError
            If a score is not a finite number.
        """
        check_pairs(queries, texts)
        places: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            places.setdefault(text, []).append(place)
        scores = np.zeros(len(texts), dtype=np.float64)
        with torch.inference_mode():
            asked = self._all_queries(queries)
            for batch in batches_by_length(places, self._batch):
                where = [place for text in batch for place in places[text]]
                found = [
                    self._compare(asked[queries[place]], read)
                    for text, read in zip(batch, self._read_texts(batch), strict=True)
                    for place in places[text]
                ]
                scores[where] = torch.stack(found).double().cpu().numpy()
        check_scores(self.name, scores)
        return scores

    def _all_queries(self, queries: Sequence[str]) -> dict[str, _Query]:
        found: dict[str, _Query] = {}
        for batch in batches_by_length(dict.fromkeys(queries), self._batch):
            found.update(zip(batch, self._read_queries(batch), strict=True))
        return found


def batches_by_length(texts: Iterable[str], batch: int) -> list[list[str]]:
    """Put texts of like length together, so that little is padded.

    Examples
    --------
    >>> batches_by_length(["four", "a", "two", "b"], 2)
    [['a', 'b'], ['two', 'four']]
    """
    ordered = sorted(texts, key=len)
    return [ordered[begin : begin + batch] for begin in range(0, len(ordered), batch)]


def truncation(texts: Sequence[str], count: Callable[[str], int], longest: int) -> npt.NDArray[np.bool_]:
    """Say which texts have more pieces than a window; each distinct text is counted once."""
    known = {text: count(text) > longest for text in dict.fromkeys(texts)}
    return np.array([known[text] for text in texts], dtype=np.bool_)


def check_scores(name: str, scores: npt.NDArray[np.float64]) -> None:
    """Refuse scores that are no numbers.

    Raises
    ------
    ModelFormatError
    """
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        raise ModelFormatError(
            "the network gave a score that is not a finite number",
            facts=[("scorer", name), ("text", f"number {wrong[0] + 1}"), ("score", scores[wrong[0]])],
        )
