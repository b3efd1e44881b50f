"""HTTP connections with limits that uvicorn lacks: on their number, on heads of requests, and on unread answers."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MOST_CONNECTIONS = 10_000

RESERVED = 512
"""Files that a process may open besides connections, for changes and merges of indexes."""

HEAD_BYTES = 32 << 10
"""Bytes of the request line and all headers."""

MOST_PIPELINED = 100
"""Requests of a connection that wait for the answer to the one before."""

LATE_BYTES = 1 << 20
"""Largest number of bytes that are read after the answer to a request, such as the rest of a refused body."""

HEAD_SECONDS = 10.0
"""Time for them to arrive."""

TAKE_SECONDS = 10.0
"""Time for a client to take what waits to be sent, a piece of an answer; see `termwise.serve.answer_budget.PIECE`."""

_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\ncontent-length: 25\r\n"
    b"retry-after: 1\r\nconnection: close\r\n\r\nToo many open connections"
)


_ONCE = (b"host", b"authorization", b"content-length", b"transfer-encoding")
"""Headers that a request has once."""

_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(:[0-9]*)?")


def _is_clear(headers: Iterable[tuple[bytes, bytes]], version: str) -> bool:
    """Return whether every server understands the head of a request in the same way: RFC 9112, sections 3.2 and 6.1."""
    given: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _ONCE and name in given:
            return False
        given[name] = value
    coding = given.get(b"transfer-encoding", b"chunked").strip().lower()
    if coding != b"chunked" or (version != "1.1" and b"transfer-encoding" in given):
        return False
    return _HOST.fullmatch(given.get(b"host", b"")) is not None


def most_connections() -> int:
    """Return how many connections a process accepts: the files that it may open, without those for other uses.

    The limit of open files is raised as far as the system allows it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    free = limit - len(os.listdir("/dev/fd"))
    return max(1, min(MOST_CONNECTIONS, free - min(RESERVED, free // 2)))


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections that are too many, or whose clients send a head or take an answer too slowly.

    Attributes
    ----------
    most : int
        Connections of the process.
    """

    most: ClassVar[int] = MOST_CONNECTIONS

    _head_bytes = 0
    _late_bytes = 0
    _timer: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None
    """Request that is being answered; `cycle` is the last one that arrived."""

    def connection_made(self, transport: Any) -> None:
        """Expect the head of the first request."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.write(_TOO_MANY)
            transport.close()
            return
        self._expect_head()

    def pause_writing(self) -> None:
        """Wait for the client to take what waits to be sent."""
        super().pause_writing()
        self._expect_taking()

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        self._stop_taking()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the client to take the rest of the answer."""
        self._running = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()
        if self.transport.get_write_buffer_size():
            self._expect_taking()

    def _expect_taking(self) -> None:
        self._stop_taking()
        self._taking = self.loop.call_later(
            TAKE_SECONDS, self._end_if_waiting, self.transport.get_write_buffer_size()
        )

    def _end_if_waiting(self, before: int) -> None:
        """End the connection if the client has received nothing since `before`; otherwise check again later."""
        self._taking = None
        left = self.transport.get_write_buffer_size()
        if left >= before > 0:
            connection = self.transport.get_extra_info("socket")
            with suppress(OSError):  # so that the system drops what it holds, too
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._abort()
        elif left:
            self._expect_taking()

    def _stop_taking(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget_requests()
        self._stop_timer()
        self._stop_taking()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        if self._timer is not None:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and not self._ends_in(data):
                self._stop_timer()
                self.send_400_response("The head of the request is too long.")
                return
        super().data_received(data)
        if self._timer is None and self.cycle is not None and self.cycle.response_complete:
            self._late_bytes += len(data)
            if self._late_bytes > LATE_BYTES:
                self._close()
            else:
                self._wait_for_request()

    def _wait_for_request(self) -> None:
        """Close the connection after the keep-alive time unless a request begins; other bytes do not count."""
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those after a body, of which there can be any number, are dropped."""
        if self._timer is not None:
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        """Expect the head of a further request."""
        super().on_message_begin()
        self._late_bytes = 0
        if self._timer is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        """Take the head of a request; end the connection if too many wait."""
        self._stop_timer()
        if not _is_clear(self.headers, self.parser.get_http_version()):
            raise ValueError("another server could read this request differently")  # the client gets 400
        waiting = len(self.pipeline)
        super().on_headers_complete()
        if len(self.pipeline) == waiting:
            self._running = self.cycle
        if len(self.pipeline) > MOST_PIPELINED:
            self._abort()
            raise ConnectionAbortedError  # ends the parsing of what has arrived

    def _ends_in(self, data: bytes) -> bool:
        """Return whether the head ends in the first bytes of a part, so that the rest is the body."""
        before = self._head_bytes - len(data)
        return b"\r\n\r\n" in data[: max(0, HEAD_BYTES - before)]

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort(self) -> None:
        """End the connection, and tell its requests."""
        self._forget_requests()
        self.transport.abort()

    def _forget_requests(self) -> None:
        """Tell the requests that their client is gone: writing to a closed connection is an error."""
        for cycle in (self._running, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()

    def _close(self) -> None:
        self._timer = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()
