"""Scorer that calls an HTTP service.

Pairs are sent as JSON by POST, and the service returns numbers:

    {"pairs": [{"query": "...", "text": "..."}, ...]}      ->      {"scores": [1.5, ...]}

``Infinity`` and ``-Infinity`` are accepted, because Python writes them. Redirects are not followed, because the
redirected request would lack the pairs.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, IncompleteRead
from io import BufferedReader, RawIOBase
from typing import IO, Any, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import error_text, shown
from termwise.errors import DataError, ParameterError
from termwise.scorers.protocol import BasePairScorer
from termwise.validation import check, check_count, is_finite_number

TRIES = 3
"""Number of attempts of a request that fails for a temporary reason."""

PAUSE = 0.5
"""Seconds before the second attempt; doubled before the third."""

MAX_TIMEOUT = 86_400.0
"""Seconds."""

_TEMPORARY = (429, 500, 502, 503, 504)
_MAX_RESPONSE = 1 << 16, 1 << 8
"""Largest response in bytes: a constant plus an amount per pair."""

_CHUNK = 1 << 16

_EXCERPT = 200
"""Bytes of a response that an error shows."""

_AUTHORIZATION_FIX = (
    "authorization=VARIABLE, an environment variable with the value of the Authorization header"
)
_REFUSAL_FIXES = {
    401: _AUTHORIZATION_FIX,
    403: _AUTHORIZATION_FIX,
    413: "batch=16, for example, for fewer pairs in a request",
}
_TLS_FIX = "http:// instead of https://, if the service has no TLS"
_TIMEOUT_FIX = "timeout=SECONDS for more time, or batch=N for fewer pairs in a request"
_TOO_SLOW = "the response takes too long"

_CACHE_NOTES = (
    "; with fingerprint=VERSION and an output folder, scores are cached, and the next run continues from them",
    "; scores that are cached are not requested again",
)
"""Notes for a scorer without a fingerprint, and with one."""


def is_address(text: str) -> bool:
    """Return whether a text begins like the address of a service.

    Examples
    --------
    >>> is_address("HTTP://localhost:80"), is_address("bm25")
    (True, False)
    """
    return text.lower().startswith(("http://", "https://"))


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(
        self, request: Request, answer: IO[bytes], code: int, reason: str, headers: HTTPMessage, url: str
    ) -> None:
        """Return no request, so that a redirect is an error."""


class _DeadlineReader(RawIOBase):
    """Socket reader with a total deadline by `time.monotonic`; the timeout of a socket restarts with each byte."""

    def __init__(self, reader: RawIOBase, connection: socket.socket, deadline: float) -> None:
        self._reader = reader
        self._connection = connection
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read available bytes, or wait for them; raise `TimeoutError` at the deadline."""
        remaining = self._deadline - time.monotonic()
        if remaining > 0:
            self._connection.settimeout(remaining)
            try:
                return self._reader.readinto(buffer)
            except TimeoutError:
                pass
        raise TimeoutError(_TOO_SLOW)

    def close(self) -> None:
        self._reader.close()
        super().close()


class _TimedResponse(HTTPResponse):
    """Response that must be complete within the timeout of its connection."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        if (limit := sock.gettimeout()) is not None:
            self.fp = BufferedReader(_DeadlineReader(self.fp.detach(), sock, time.monotonic() + limit))


class _TimedHandler(HTTPSHandler, HTTPHandler):
    """Opens connections whose responses are timed."""

    def do_open(self, http_class: Any, req: Request, **options: Any) -> HTTPResponse:
        def connect(host: str, **arguments: Any) -> HTTPConnection:
            connection: HTTPConnection = http_class(host, **arguments)
            connection.response_class = _TimedResponse
            return connection

        return super().do_open(cast(Any, connect), req, **options)


class HttpScorer(BasePairScorer):
    """Scores texts by an HTTP service; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    url : str
        Address with ``http`` or ``https``.
    name : str, optional
        Name of the scorer in tables; by default the host.
    batch : int, optional
        Largest number of pairs in a request.
    timeout : float, optional
        Seconds for the connection, and again for the complete response.
    fingerprint : str, optional
        Version of the model behind the address. Scores are cached only with a fingerprint.
    authorization : str, optional
        Value of the ``Authorization`` header, such as ``Bearer KEY``. It is sent to this address only, and appears in
        no report, error or fingerprint.

    Raises
    ------
    ParameterError
        If an argument has a wrong value.
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
        holds = is_finite_number(timeout) and 0 < timeout <= MAX_TIMEOUT
        check("timeout", timeout, holds, f"a number of seconds above 0, at most {MAX_TIMEOUT:,.0f}")
        self._url = url
        self._opener = build_opener(_NoRedirects, _TimedHandler)
        self._headers = {"Content-Type": "application/json"}
        if authorization is not None:
            self._headers["Authorization"] = _checked_authorization(authorization)
        self.name = name or host
        self._batch = batch
        self._timeout = timeout
        self.fingerprint = fingerprint

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Send the pairs in batches; raise `DataError` if the service does not return a number for each pair."""
        scores: list[float] = []
        for begin in range(0, len(texts), self._batch):
            end = begin + self._batch
            scores += self._request_scores(queries[begin:end], texts[begin:end])
        return np.array(scores, dtype=np.float64)

    def _request_scores(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        pairs = [{"query": query, "text": text} for query, text in zip(queries, texts, strict=True)]
        constant, per_pair = _MAX_RESPONSE
        response = self._post(json.dumps({"pairs": pairs}).encode("ascii"), constant + per_pair * len(pairs))
        try:
            scores = json.loads(response)["scores"]
            if type(scores) is not list:
                raise ValueError("not a list")
            for position, score in enumerate(scores):
                if type(score) not in (int, float):
                    raise self._invalid_response(f"scores[{position}] is {shown(score)}")
            numbers = [float(score) for score in scores]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise self._invalid_response(_excerpt(response) or "nothing") from None
        if len(numbers) != len(pairs):
            raise self._invalid_response(f"{len(numbers)} scores for {len(pairs)} pairs")
        return numbers

    def _post(self, body: bytes, max_bytes: int) -> bytes:
        """Send a request, repeat it after temporary failures, and return the response."""
        request = Request(self._url, data=body, headers=self._headers, method="POST")
        for attempt in range(1, TRIES + 1):
            try:
                with self._opener.open(request, timeout=self._timeout) as response:
                    content = _read(response, max_bytes)
                if len(content) > max_bytes:
                    raise self._invalid_response(f"more than {max_bytes:,} bytes")
                return content
            except HTTPError as error:
                with error:
                    if 300 <= error.code < 400:
                        raise self._redirected(error) from error
                    if error.code not in _TEMPORARY:
                        raise self._refused(error) from error
                    if attempt == TRIES:
                        raise self._unavailable(_status(error), attempt, _body(error)) from error
            except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
                if attempt == TRIES:
                    reason = str(getattr(error, "reason", error)) or type(error).__name__
                    raise self._unavailable(reason, attempt) from error
            time.sleep(PAUSE * 2 ** (attempt - 1))
        raise AssertionError("unreachable")

    def _unavailable(self, reason: str, attempts: int, body: str = "") -> DataError:
        fixes = ["check that the service runs" + _CACHE_NOTES[self.fingerprint is not None]]
        if "timed out" in reason or reason == _TOO_SLOW:
            fixes.append(_TIMEOUT_FIX)
        if "SSL" in reason and "CERTIFICATE" not in reason:
            fixes.append(_TLS_FIX)
        facts = [("attempts", attempts), ("reason", reason), *_response_facts(body)]
        return self._error("the service does not respond", facts, *fixes)

    def _refused(self, error: HTTPError) -> DataError:
        request = '{"pairs": [{"query": "...", "text": "..."}, ...]}, as JSON by POST'
        facts = [("status", _status(error)), *_response_facts(_body(error)), ("request", request)]
        fix = _REFUSAL_FIXES.get(error.code, "check that this is the address that takes pairs")
        return self._error("the service refuses the request", facts, fix)

    def _redirected(self, error: HTTPError) -> DataError:
        location = error.headers.get("Location")
        return self._error(
            "the service redirects the request, and a redirected request lacks the pairs",
            [("status", f"HTTP {error.code}"), ("location", location or "none")],
            _redirect_fix(self._url, location),
        )

    def _invalid_response(self, response: str) -> DataError:
        return self._error(
            "the service did not return a score for each pair",
            [("response", response), ("expected", '{"scores": [number, ...]}')],
            "check that the service returns one number for each pair, in order",
        )

    def _error(self, message: str, facts: Sequence[tuple[str, object]], *fixes: str) -> DataError:
        return DataError(message, facts=[("address", self._url), *facts], fixes=fixes)


def _response_facts(body: str) -> list[tuple[str, object]]:
    return [("response", body)] if body else []


def _redirect_fix(url: str, location: str | None) -> str:
    try:
        return f"name the final address: {urljoin(url, location)}" if location else "check what runs there"
    except ValueError:
        return "check what runs there"


def _excerpt(response: bytes) -> str:
    """Return the first characters of a response, on one line."""
    return " ".join(response[:_EXCERPT].decode("utf-8", "replace").split())


def _status(error: HTTPError) -> str:
    return f"HTTP {error.code} {error.reason}".rstrip()


def _body(error: HTTPError) -> str:
    """Return the first characters of the body of an error response; empty if the body cannot be read."""
    try:
        return _excerpt(error.read(_EXCERPT))
    except (OSError, HTTPException):
        return ""


def _checked_authorization(authorization: str) -> str:
    """Return the value of the header, or raise `ParameterError` without repeating it."""
    if not isinstance(authorization, str) or not authorization.isascii() or not authorization.isprintable():
        raise ParameterError(
            "this is not a value of the Authorization header",
            facts=[("expected", "a line of ASCII, such as Bearer KEY")],
        )
    return authorization


def _host(url: str) -> str:
    """Return host and port of an address, or raise `ParameterError` for one that cannot be requested."""
    expected, given = "http://HOST[:PORT]/PATH, in ASCII", ("given", shown(url))
    message = "this is not the address of a service"
    try:
        parts = urlsplit(url)
        if "@" in parts.netloc:
            raise ParameterError(
                "an address cannot contain a user name or password, because reports show the address",
                facts=[("host", parts.netloc.rpartition("@")[2])],
                fixes=[_AUTHORIZATION_FIX],
            )
        port = parts.port  # parsed on access
    except (AttributeError, TypeError, ValueError) as error:
        raise ParameterError(
            message, facts=[given, ("reason", error_text(error)), ("expected", expected)]
        ) from None
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not plain:
        raise ParameterError(
            message,
            facts=[given, ("expected", expected)],
            fixes=[]
            if plain
            else ["write other characters of a path as %C3%B6, and those of a host as xn--…"],
        )
    return parts.netloc


def _read(response: HTTPResponse, max_bytes: int) -> bytes:
    """Read a response to its end, or until it has more than `max_bytes`."""
    parts: list[bytes] = []
    size = 0
    while size <= max_bytes and (part := response.read1(_CHUNK)):
        parts.append(part)
        size += len(part)
    if size <= max_bytes and response.length:
        raise IncompleteRead(b"".join(parts), response.length)
    return b"".join(parts)
