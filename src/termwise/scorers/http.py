"""A ranker behind an HTTP address.

Sent are pairs, as JSON by POST, and numbers come back:

    {"pairs": [{"query": "...", "text": "..."}, ...]}      ->      {"scores": [1.5, ...]}

``Infinity`` and ``-Infinity`` may stand among the numbers, as Python writes them. An answer that sends elsewhere is not
followed: by then the pairs would be lost.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPMessage,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from io import BufferedReader, RawIOBase
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import error_said, shown
from termwise.errors import DataError, ParameterError
from termwise.scorers.protocol import BasePairScorer
from termwise.validation import check, check_count, check_pairs, is_finite_number

TRIES = 3
"""Times that a request is sent which fails for a reason that may pass."""

PAUSE = 0.5
"""Seconds before a request is sent for the second time; twice as many before the third."""

LONGEST_WAIT = 86_400.0
"""Seconds that an answer may take at the most."""

_PASSING = (429, 500, 502, 503, 504)
_LARGEST = 1 << 16, 1 << 8
"""Bytes of an answer at the most, and for each pair besides."""

_PART = 1 << 16

_SHOWN = 200
"""Bytes of an answer that an error shows."""

_KEY = "authorization=VARIABLE, of the environment, with what the header Authorization says"
_OF_REFUSAL = {401: _KEY, 403: _KEY, 413: "batch=16, say, for fewer pairs in a request"}
_TLS = "http:// in place of https://, if it speaks no TLS"
_LATE = "the answer takes too long"
_OF_TIME = "timeout=SECONDS for more time, or batch=N for fewer pairs in a request"

_OF_FINGERPRINT = (
    "; with fingerprint=VERSION and --out what is scored would be kept, and the next run would go on from there",
    "; what was kept of it is not asked for again",
)
"""What is said of a scorer without a fingerprint, and of one with it."""


def is_address(text: str) -> bool:
    """Tell whether something begins as the address of a service does.

    Examples
    --------
    >>> is_address("HTTP://localhost:80"), is_address("bm25")
    (True, False)
    """
    return text.lower().startswith(("http://", "https://"))


class _Staying(HTTPRedirectHandler):
    """Follows no redirect: it would be a request without the pairs."""

    def redirect_request(
        self, request: Request, answer: IO[bytes], code: int, why: str, headers: HTTPMessage, url: str
    ) -> None:
        """Return no request, so that the answer is an error."""


class _Hurried(RawIOBase):
    """What a socket receives, up to a moment: its own time limit begins anew with each byte.

    Parameters
    ----------
    received : io.RawIOBase
        Reads the socket.
    link : socket.socket
    until : float
        The moment, by `time.monotonic`.
    """

    def __init__(self, received: RawIOBase, link: socket.socket, until: float) -> None:
        self._received = received
        self._link = link
        self._until = until

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what has come, or wait for it.

        Raises
        ------
        TimeoutError
            If nothing comes until the moment.
        """
        left = self._until - time.monotonic()
        if left > 0:
            self._link.settimeout(left)
            try:
                return self._received.readinto(buffer)
            except TimeoutError:
                pass
        raise TimeoutError(_LATE)

    def close(self) -> None:
        """Close what is read."""
        self._received.close()
        super().close()


class _Answer(HTTPResponse):
    """An answer all of which has to come within the time limit of its connection."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        if (limit := sock.gettimeout()) is not None:
            self.fp = BufferedReader(_Hurried(self.fp.detach(), sock, time.monotonic() + limit))


class _Connection(HTTPConnection):
    response_class = _Answer


class _SecureConnection(HTTPSConnection):
    response_class = _Answer


class _Http(HTTPHandler):
    def http_open(self, request: Request) -> HTTPResponse:
        """Send a request."""
        return self.do_open(_Connection, request)


class _Https(HTTPSHandler):
    def https_open(self, request: Request) -> HTTPResponse:
        """Send a request by TLS."""
        return self.do_open(_SecureConnection, request)


class HttpScorer(BasePairScorer):
    """Scores texts by asking an address; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    url : str
        Of ``http`` or ``https``.
    name : str, optional
        What the scorer is called in tables; by default the host.
    batch : int, optional
        Pairs in one request, at the most.
    timeout : float, optional
        Seconds that connecting may take, and then the answer, to its last byte.
    fingerprint : str, optional
        Says that the same address gives the same scores, such as the version of the model behind it. Scores are kept
        only with one.
    authorization : str, optional
        Header of that name, such as ``Bearer KEY``. It is sent to this address and stands nowhere else: in no report,
        no error, no fingerprint.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        batch: int = 128,
        timeout: float = 60.0,
        fingerprint: str | None = None,
        authorization: str | None = None,
    ) -> None:
        host = _host(url)
        check("name", name, isinstance(name, str | None), "a name")
        check("fingerprint", fingerprint, isinstance(fingerprint, str | None), "a text, or None")
        check_count("batch", batch)
        if not is_finite_number(timeout) or not 0 < timeout <= LONGEST_WAIT:
            raise ParameterError(
                f"the timeout is a number of seconds, above 0 and not above {LONGEST_WAIT:,.0f}",
                facts=[("timeout", shown(timeout))],
            )
        self._url = url
        self._opener = build_opener(_Staying, _Http, _Https)
        self._headers = {"Content-Type": "application/json"}
        if authorization is not None:
            self._headers["Authorization"] = _header(authorization)
        self.name = name or host
        self._batch = batch
        self._timeout = timeout
        self.fingerprint = fingerprint

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
        first, more = _LARGEST
        answer = self._sent(json.dumps({"pairs": pairs}).encode("ascii"), first + more * len(pairs))
        try:
            scores = json.loads(answer)["scores"]
            if type(scores) is not list:
                raise ValueError("no list")
            for place, score in enumerate(scores):
                if type(score) not in (int, float):
                    raise self._odd(f"scores[{place}] is {shown(score)}")
            numbers = [float(score) for score in scores]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise self._odd(_start(answer) or "nothing") from None
        if len(numbers) != len(pairs):
            raise self._odd(f"{len(numbers)} scores for {len(pairs)} pairs")
        return numbers

    def _sent(self, body: bytes, most: int) -> bytes:
        """Send a request, more than once if need be, and return the answer, of so many bytes at the most."""
        request = Request(self._url, data=body, headers=self._headers, method="POST")
        for attempt in range(1, TRIES + 1):
            try:
                with self._opener.open(request, timeout=self._timeout) as answer:
                    read = _read(answer, most)
                if len(read) > most:
                    raise self._odd(f"more than {most:,} bytes")
                return read
            except HTTPError as error:
                with error:
                    if 300 <= error.code < 400:
                        raise self._sent_elsewhere(error) from error
                    if error.code not in _PASSING:
                        raise self._refused(error) from error
                    if attempt == TRIES:
                        raise self._failed(_status(error), attempt, _body(error)) from error
            except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
                if attempt == TRIES:
                    why = str(getattr(error, "reason", error)) or type(error).__name__
                    raise self._failed(why, attempt) from error
            time.sleep(PAUSE * 2 ** (attempt - 1))
        raise AssertionError("unreachable")

    def _failed(self, why: str, tried: int, said: str = "") -> DataError:
        return DataError(
            "the scorer does not answer",
            facts=[
                ("address", self._url),
                ("tried", "once" if tried == 1 else f"{tried} times"),
                ("why", why),
                *([("it says", said)] if said else []),
            ],
            fixes=[
                "see that it runs" + _OF_FINGERPRINT[self.fingerprint is not None],
                *([_OF_TIME] if "timed out" in why or why == _LATE else []),
                *([_TLS] if "SSL" in why and "CERTIFICATE" not in why else []),
            ],
        )

    def _refused(self, error: HTTPError) -> DataError:
        said = _body(error)
        return DataError(
            "the scorer refuses what it is asked",
            facts=[
                ("address", self._url),
                ("answer", _status(error)),
                *([("it says", said)] if said else []),
                ("sent", '{"pairs": [{"query": "...", "text": "..."}, ...]}, as JSON by POST'),
            ],
            fixes=[_OF_REFUSAL.get(error.code, "see that this is the address that takes pairs")],
        )

    def _sent_elsewhere(self, error: HTTPError) -> DataError:
        place = error.headers.get("Location")
        return DataError(
            "the scorer sends elsewhere, and a request that follows would not have the pairs",
            facts=[("address", self._url), ("answer", f"HTTP {error.code}"), ("sent to", place or "nowhere")],
            fixes=[_elsewhere(self._url, place)],
        )

    def _odd(self, seen: str) -> DataError:
        return DataError(
            "the scorer did not answer with a score for each pair",
            facts=[("address", self._url), ("answer", seen), ("expected", '{"scores": [number, ...]}')],
            fixes=["see what the service makes of the pairs: one number for each, in their order"],
        )


def _elsewhere(url: str, place: str | None) -> str:
    """Say what helps where an address sends elsewhere."""
    try:
        return f"name the place itself: {urljoin(url, place)}" if place else "see what runs there"
    except ValueError:
        return "see what runs there"


def _start(answer: bytes) -> str:
    """Return the first characters of an answer, on one line."""
    return " ".join(answer[:_SHOWN].decode("utf-8", "replace").split())


def _status(error: HTTPError) -> str:
    return f"HTTP {error.code} {error.reason}".rstrip()


def _body(error: HTTPError) -> str:
    """Return the first characters of what comes with an error, which may say why; nothing where it breaks off."""
    try:
        return _start(error.read(_SHOWN))
    except (OSError, HTTPException):
        return ""


def _header(authorization: str) -> str:
    """Return what can be sent as a header.

    Raises
    ------
    ParameterError
        If it cannot; what was given is not repeated.
    """
    if not isinstance(authorization, str) or not authorization.isascii() or not authorization.isprintable():
        raise ParameterError(
            "this cannot be sent as the header Authorization",
            facts=[("expected", "a line of ASCII, such as Bearer KEY")],
        )
    return authorization


def _host(url: str) -> str:
    """Return host and port of an address.

    Raises
    ------
    ParameterError
        If it is none that a request can be sent to.
    """
    expected, given = "http://HOST[:PORT]/PATH, in ASCII", ("given", shown(url))
    try:
        parts = urlsplit(url)
        if "@" in parts.netloc:
            raise ParameterError(
                "a name and a password are no part of an address, which reports tell",
                facts=[("host", parts.netloc.rpartition("@")[2])],
                fixes=[_KEY],
            )
        port = parts.port  # asked for by name: it is read then
    except (AttributeError, TypeError, ValueError) as error:
        raise ParameterError(
            "a scorer is asked at an address",
            facts=[given, ("why", error_said(error)), ("expected", expected)],
        ) from None
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not plain:
        raise ParameterError(
            "a scorer is asked at an address",
            facts=[given, ("expected", expected)],
            fixes=[] if plain else ["write other letters of a path as %C3%B6, and those of a host as xn--…"],
        )
    return parts.netloc


def _read(answer: HTTPResponse, most: int) -> bytes:
    """Read an answer until it ends, or is larger than it may be."""
    parts: list[bytes] = []
    size = 0
    while size <= most and (part := answer.read1(_PART)):
        parts.append(part)
        size += len(part)
    if size <= most and answer.length:
        raise IncompleteRead(b"".join(parts), answer.length)
    return b"".join(parts)
