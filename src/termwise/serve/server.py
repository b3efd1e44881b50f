"""Processes of the service: uvicorn with one or several workers, and a graceful stop."""

from __future__ import annotations

import ctypes
import errno
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.serve.app import check_service, create_app
from termwise.serve.observation import SHARED, log_to
from termwise.serve.protocol import BoundedProtocol, most_connections
from termwise.serve.settings import ServiceSettings
from termwise.serve.warm_up import compile_served
from termwise.validation import check_count

logger = logging.getLogger("termwise.serve")

STOP_SECONDS = 30
"""Time for the requests that were accepted before a stop."""

START_SECONDS = 60
"""Time for a worker to start, before it is replaced."""

SIGN_SECONDS = 0.2
"""Seconds between two checks that a worker still runs, while its answer to a ping is awaited."""

SWITCH_SECONDS = 0.0005
"""Time for which a thread runs Python code while others wait, a tenth of the default: an answer needs three threads."""

LARGE = 1 << 20
"""Bytes; see `return_large_arrays`. A search allocates no array of this size for an index of 200,000 passages."""

_M_MMAP_THRESHOLD = -3
_PR_SET_PDEATHSIG = 1

MOST_PORT = 65_535
MOST_WORKERS = 256

BACKLOG = 1024
"""Connections that wait to be accepted, also while a worker starts."""


def serve(
    folders: Sequence[str],
    settings: ServiceSettings | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    log_requests: bool = True,
    announce: Callable[[str], object] = print,
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
    log_requests : bool, optional
        Write a line of JSON to standard error for each answer.
    announce : callable, optional
        Called with the address of the service when its indexes are open.

    Raises
    ------
    ParameterError
        If `port` or `workers` is out of range, or the address cannot be used.
    TermwiseError
        If an index cannot be opened.
    """
    check_count("port", port, least=0, most=MOST_PORT)
    check_count("workers", workers, most=MOST_WORKERS)
    settings = settings or ServiceSettings()
    app: Any = partial(_worker_app, list(folders), settings, log_requests, parent=os.getpid())
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a client that leaves must not end the process
    if workers == 1:
        app = _worker_app(folders, settings, log_requests)
    else:
        check_service(folders, settings)
        log_to(sys.stderr, requests=log_requests)
        compile_served()
    config = uvicorn.Config(
        app,
        factory=workers > 1,
        http=BoundedProtocol,
        workers=workers,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=BACKLOG,
    )
    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    announce(f"http://{shown}:{listening.getsockname()[1]}/")
    if workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
    else:
        with tempfile.TemporaryDirectory(prefix="termwise-metrics-") as folder:
            os.environ[SHARED] = folder
            _Workers(config, sockets=[listening]).run()
            del os.environ[SHARED]


class _Workers(Multiprocess):
    """Worker processes; one that has ended or gives no sign of life is replaced, with a line in the log.

    In contrast to uvicorn's own loop, a signal is never kept waiting by a worker that starts.
    """

    def keep_subprocess_alive(self) -> None:
        """Replace the processes that have ended."""
        for place, old in enumerate(self.processes):
            if self.should_exit.is_set() or self._is_alive(old):
                continue
            old.kill()
            old.join()
            if old.exitcode == STARTUP_FAILURE:  # the next one would fail, too
                logger.error("the worker %s could not start; the service stops", old.pid)
                self.should_exit.set()
                return
            new = Process(self.config, self.sockets)
            new.start()
            self.processes[place] = new
            logger.error(
                "the worker %s has ended (exit code %s); %s replaces it", old.pid, old.exitcode, new.pid
            )

    def _is_alive(self, worker: Process) -> bool:
        """Return whether a worker runs and answers a ping; a signal to this process ends the wait for the answer."""
        deadline = time.monotonic() + START_SECONDS
        answers = worker.parent_conn
        try:
            while answers.poll():
                answers.recv()  # of an earlier question
            answers.send(b"ping")
            while worker.process.is_alive() and time.monotonic() < deadline:
                if self.signal_queue or answers.poll(SIGN_SECONDS):
                    return True
        except (OSError, EOFError):
            pass
        return False


def return_large_arrays() -> None:
    """Let the C library of Linux (glibc) return each array of more than `LARGE` to the system when it is freed.

    By default, it raises this size to that of the largest array that was freed, up to 32 MB. The arrays for each new
    generation of an index then leave gaps in the heaps of several threads.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE)


def _worker_app(
    folders: Sequence[str], settings: ServiceSettings, log_requests: bool, parent: int | None = None
) -> Starlette:
    """Return the application of a worker process; with a `parent`, the process ends with it."""
    if parent is not None:
        _end_with(parent)
    log_to(sys.stderr, requests=log_requests)
    return_large_arrays()
    with _ended_by_signals():
        app = create_app(folders, settings)
    gc.freeze()  # so that no request waits for the garbage collector to look at all modules
    sys.setswitchinterval(SWITCH_SECONDS)
    BoundedProtocol.most = most_connections()
    return app


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End at once when a signal arrives in the block: a process that starts has nothing to finish.

    As an exception in Python, the signal could be lost in a callback.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_with(parent: int) -> None:
    """Let the system stop this process when its parent ends, even if the parent is killed."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


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
        listening.listen(BACKLOG)
    except (OSError, TypeError, ValueError) as error:  # TypeError: for a host with a null character
        listening.close()
        used = isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES)
        raise ParameterError(
            "the service cannot listen at this address",
            facts=[("host", host), ("port", port), ("reason", getattr(error, "strerror", "") or error)],
            fixes=[
                Fix.use("choose another port: {}", port=8001)
                if used
                else Fix.use("name an address of this machine: {}", host="0.0.0.0")
            ],
        ) from None
    listening.set_inheritable(True)
    return listening
