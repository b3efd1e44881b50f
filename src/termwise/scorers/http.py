"""A ranker behind an HTTP address.

Sent are pairs, as JSON by POST, and numbers come back:

    {"pairs": [{"query": "...", "text": "..."}, ...]}      ->      {"scores": [1.5, ...]}

``Infinity`` and ``-Infinity`` may stand among the numbers, as Python writes them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
import numpy.typing as npt

from termwise.arguments import check_count, check_pairs, is_finite_number
from termwise.errors import DataError, ParameterError

TRIES = 3
"""Times that a request is sent which fails for a reason that may pass."""

_PASSING = (429, 500, 502, 503, 504)


class HttpScorer:
    """Scores texts by asking an address; a `termwise.scoring.PairScorer`.

    Parameters
    ----------
    url : str
        Of ``http`` or ``https``.
    name : str, optional
        What the scorer is called in tables; by default the host.
    batch : int, optional
        Pairs in one request, at the most.
    timeout : float, optional
        Seconds that an answer may take.
    fingerprint : str, optional
        Says that the same address gives the same scores, such as the version of the model behind it. Scores are kept
        only with one.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        batch: int = 128,
        timeout: float = 60.0,
        fingerprint: str | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ParameterError(
                "a scorer is asked at an address",
                facts=[("given", url), ("expected", "http://HOST[:PORT]/PATH")],
            )
        check_count("batch", batch)
        if not is_finite_number(timeout) or timeout <= 0:
            raise ParameterError("the timeout is a number of seconds above 0", facts=[("timeout", timeout)])
        self._url = url
        self.name = name or parts.netloc
        self._batch = batch
        self._timeout = timeout
        self.fingerprint = fingerprint

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query; see `termwise.scoring.TextScorer`."""
        return self.score_pairs([query] * len(texts), texts)

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Raises
        ------
        DataError
            If the address does not answer, or not with a number for each pair.
        """
        check_pairs(queries, texts)
        found: list[float] = []
        for begin in range(0, len(texts), self._batch):
            end = begin + self._batch
            found += self._ask(queries[begin:end], texts[begin:end])
        return np.array(found, dtype=np.float64)

    def _ask(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        pairs = [{"query": query, "text": text} for query, text in zip(queries, texts, strict=True)]
        answer = self._sent(json.dumps({"pairs": pairs}).encode("ascii"))
        try:
            scores = json.loads(answer)["scores"]
            if type(scores) is not list or not all(type(score) in (int, float) for score in scores):
                raise ValueError("no list of numbers")
            numbers = [float(score) for score in scores]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise self._odd(answer.decode("utf-8", "replace")[:120]) from None
        if len(numbers) != len(pairs):
            raise self._odd(f"{len(numbers)} scores for {len(pairs)} pairs")
        return numbers

    def _sent(self, body: bytes) -> bytes:
        request = Request(self._url, data=body, headers={"Content-Type": "application/json"}, method="POST")
        for attempt in range(1, TRIES + 1):
            try:
                with urlopen(request, timeout=self._timeout) as answer:
                    read: bytes = answer.read()
                    return read
            except HTTPError as error:
                error.close()
                if error.code not in _PASSING or attempt == TRIES:
                    raise self._failed(f"HTTP {error.code} {error.reason}", attempt) from error
            except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
                if attempt == TRIES:
                    why = str(getattr(error, "reason", error)) or type(error).__name__
                    raise self._failed(why, attempt) from error
            time.sleep(0.5 * 2 ** (attempt - 1))
        raise AssertionError("unreachable")

    def _failed(self, why: str, tried: int) -> DataError:
        return DataError(
            "the scorer does not answer",
            facts=[
                ("address", self._url),
                ("tried", "once" if tried == 1 else f"{tried} times"),
                ("why", why),
            ],
            fixes=["see that it runs: what is scored already is kept, and the next run goes on from there"],
        )

    def _odd(self, seen: str) -> DataError:
        return DataError(
            "the scorer did not answer with a score for each pair",
            facts=[("address", self._url), ("answer", seen), ("expected", '{"scores": [number, ...]}')],
        )
