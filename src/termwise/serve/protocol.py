"""HTTP connections with limits for the head of a request, which uvicorn lacks for its fast parser."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 32 << 10
"""Bytes of the request line and all headers."""

HEAD_SECONDS = 10.0
"""Time for them to arrive."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose requests have too long a head, or send it too slowly."""

    _head_bytes = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Expect the head of the first request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
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
            self._wait_for_request()

    def _wait_for_request(self) -> None:
        """Close the connection after the keep-alive time unless a request begins; other bytes do not count."""
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def on_message_begin(self) -> None:
        """Expect the head of a further request."""
        super().on_message_begin()
        if self._timer is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        """Take the head of a request."""
        self._stop_timer()
        super().on_headers_complete()

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

    def _close(self) -> None:
        self._timer = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()
