"""Processes of the service: uvicorn with one or several workers, and a graceful stop."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from termwise.errors import ParameterError
from termwise.serve.app import create_app
from termwise.serve.protocol import BoundedProtocol
from termwise.serve.settings import ServiceSettings

STOP_SECONDS = 30
"""Time for the requests that were accepted before a stop."""


def serve(
    folders: Sequence[str],
    settings: ServiceSettings | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
) -> None:
    """Serve indexes until the process is stopped.

    Parameters
    ----------
    folders : sequence of str
        ``NAME=FOLDER`` or ``FOLDER`` of each index or mixture.
    settings : ServiceSettings, optional
    host : str, optional
        Address to listen at.
    port : int, optional
        0 for a free port.
    workers : int, optional
        Processes that answer requests. They share the files of the indexes in memory.

    Raises
    ------
    TermwiseError
        If an index cannot be opened, or the address cannot be used.
    """
    settings = settings or ServiceSettings()
    app: Any = partial(create_app, list(folders), settings)
    first = create_app(folders, settings)  # errors are raised here, not in a worker
    config = uvicorn.Config(
        first if workers == 1 else app,
        factory=workers > 1,
        http=BoundedProtocol,
        workers=workers,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=1024,
    )
    listening = listen(host, port)
    if workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
    else:
        first.state.service.close()
        Multiprocess(config, sockets=[listening]).run()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises
    ------
    ParameterError
        If the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ParameterError(
            "the service cannot listen at this address",
            facts=[("host", host), ("port", port), ("reason", error.strerror or error)],
            fixes=["choose another port: `port=8001`"],
        ) from None
    listening.set_inheritable(True)
    return listening
