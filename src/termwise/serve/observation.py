"""Metrics in the form of Prometheus, and the log."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

if TYPE_CHECKING:
    from termwise.serve.service import Service

requests_log = logging.getLogger("termwise.serve.requests")


def log_to(stream: TextIO, *, requests: bool) -> None:
    """Write messages of the service, and on request a line for each answer, to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    root = logging.getLogger("termwise.serve")
    root.handlers = [handler]
    root.propagate = False
    root.setLevel(logging.INFO)
    requests_log.setLevel(logging.INFO if requests else logging.WARNING)


SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
"""Bounds of the times of requests."""

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which the processes of a service keep their metrics."""


class Metrics:
    """Metrics of a service; its processes share them if the variable `SHARED` was set when they started."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kinds: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "termwise_requests", "Answered requests.", ["operation", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "termwise_request_seconds",
            "Time to answer.",
            ["operation"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._pending = Gauge(
            "termwise_searches_pending",
            "Searches that wait or run.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._documents = Gauge(
            "termwise_documents",
            "Documents.",
            ["index"],
            registry=self._registry,
            multiprocess_mode="livemostrecent",
        )
        self._generation = Gauge(
            "termwise_generation",
            "Number of changes of the index that searches see.",
            ["index"],
            registry=self._registry,
            multiprocess_mode="livemostrecent",
        )

        self._merges = Gauge(
            "termwise_merge_failed",
            "1 if segments could not be merged after the last commit.",
            ["index"],
            registry=self._registry,
            multiprocess_mode="livemax",
        )
        service.on_merge = lambda name, failed: self._merges.labels(name).set(failed)

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        if (operation, status) not in self._kinds:
            counter = self._requests.labels(operation, str(status))
            self._kinds[operation, status] = counter, self._seconds.labels(operation)
        counter, histogram = self._kinds[operation, status]
        counter.inc()
        histogram.observe(seconds)
        self._pending.set(self._service.pool.pending)

    def page(self) -> bytes:
        """Return all metrics as text."""
        self._pending.set(self._service.pool.pending)
        for served in self._service.indexes:
            index = served.searcher().index
            self._documents.labels(served.name).set(index.documents)
            self._generation.labels(served.name).set(index.manifest.generation)
        folder = os.environ.get(SHARED)
        return generate_latest(self._registry if folder is None else _of_all_processes(folder))


def _of_all_processes(folder: str) -> CollectorRegistry:
    """Return the metrics of all processes of the service: counts of all, and states of those that run."""
    for file in Path(folder).glob("gauge_live*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            with suppress(FileNotFoundError):  # another process removes it, too
                mark_process_dead(process, folder)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, folder)
    return registry
