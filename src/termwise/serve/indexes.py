"""Indexes of a service: each stays open, follows the changes of its folder, and accepts changes."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from termwise.engine.query_settings import QuerySettings
from termwise.errors import ParameterError, TermwiseError
from termwise.index.manifest import NAME as INDEX
from termwise.search import open_searcher
from termwise.search.by_example import AnySearcher
from termwise.search.mixture_folder import NAME as MIXTURE
from termwise.search.mixture_folder import is_mixture
from termwise.serve.errors import UnknownIndexError, UnreadableIndexError

NAME = re.compile("[a-z0-9][a-z0-9._-]{0,63}")
"""Names of indexes, as in addresses."""

logger = logging.getLogger("termwise.serve")

Signature = tuple[int, int, int]


class ServedIndex:
    """An open index or mixture that follows the changes of its folder.

    Parameters
    ----------
    name : str
        Name in addresses.
    path : Path
        Folder.
    refresh_interval : float, optional
        Seconds that a search may lag behind the newest change.
    """

    def __init__(self, name: str, path: Path, *, refresh_interval: float = 0.0) -> None:
        self.name = name
        self.path = path
        self._interval = refresh_interval
        self._manifest = path / (MIXTURE if is_mixture(path) else INDEX)
        self._lock = threading.Lock()
        self.failed = False
        """Whether the newest generation cannot be read; searches see the one before."""
        self._opened: dict[QuerySettings, AnySearcher] = {}
        self._signature = self._signature_now()
        self._checked = time.monotonic()
        self._opened[_PLAIN] = open_searcher(path)

    def searcher(self, *, fuzzy: bool = False, prefix: bool = False) -> AnySearcher:
        """Return a searcher for the newest generation, or for one that is not older than the refresh interval.

        If the folder cannot be read, the searcher of the generation before stays.
        """
        settings = QuerySettings(fuzzy=fuzzy, prefix=prefix) if fuzzy or prefix else _PLAIN
        now = time.monotonic()
        if now - self._checked >= self._interval:
            self.follow()
        opened = self._opened.get(settings)
        return self._open(settings) if opened is None else opened

    @property
    def opened(self) -> AnySearcher:
        """The searcher that is open, without a look at the folder."""
        return self._opened[_PLAIN]

    def warm_up(self) -> None:
        """Search once, so that the first request does not wait for the compiled kernels."""
        searcher = self._opened[_PLAIN]
        searcher.rank("the first search", k=10)
        if len(searcher.index):
            doc_id = searcher.index.doc_id(0)
            searcher.rank("the first search", k=10, candidates=[doc_id])
            if searcher.index.stores_text:
                searcher.snippets("the first search", [doc_id])

    def follow(self) -> bool:
        """Open the newest generation if the folder has changed; return whether it can be read."""
        began = time.monotonic()
        if self._signature_now() == self._signature and not self.failed:
            self._checked = began
            return True
        with self._lock:
            began = time.monotonic()
            signature = self._signature_now()
            if signature == self._signature:
                self.failed = False  # the folder is back
                self._checked = began
                return True
            try:
                newest = self._opened[_PLAIN].refresh()
            except TermwiseError as error:
                self.failed = True
                logger.error("the index %s cannot be read: %s", self.name, error)
            else:
                self.failed = False
                self._opened = {_PLAIN: newest}
                self._signature = signature
            self._checked = began
            return not self.failed

    def _open(self, settings: QuerySettings) -> AnySearcher:
        with self._lock:
            searcher = self._opened.get(settings)
            if searcher is None:
                try:
                    searcher = self._opened[settings] = open_searcher(self.path, query=settings)
                except TermwiseError as error:
                    logger.error("the index %s cannot be read: %s", self.name, error)
                    raise UnreadableIndexError(
                        "the folder of the index cannot be read at the moment", facts=[("index", self.name)]
                    ) from None
            return searcher

    def _signature_now(self) -> Signature | None:
        try:
            found = os.stat(self._manifest)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size


_PLAIN = QuerySettings()


class ServedIndexes:
    """Indexes of a service by name.

    Parameters
    ----------
    folders : sequence of str
        ``NAME=FOLDER``, or ``FOLDER``, whose name is then that of the folder without ``.tw``.
    refresh_interval : float, optional
        See `ServedIndex`.

    Raises
    ------
    ParameterError
        If a name occurs twice, or cannot be part of an address.
    TermwiseError
        If a folder is not an index, or is damaged.
    """

    def __init__(self, folders: Sequence[str], *, refresh_interval: float = 0.0) -> None:
        self._indexes: dict[str, ServedIndex] = {}
        for given in folders:
            name, path = named_folder(given)
            if name in self._indexes:
                raise ParameterError(
                    "two indexes have the same name",
                    facts=[("name", name), ("folder", self._indexes[name].path), ("other", path)],
                    fixes=["give another name: NAME=FOLDER"],
                )
            self._indexes[name] = ServedIndex(name, path, refresh_interval=refresh_interval)

    def __iter__(self) -> Iterator[ServedIndex]:
        return iter(self._indexes.values())

    def __getitem__(self, name: str) -> ServedIndex:
        try:
            return self._indexes[name]
        except KeyError:
            raise UnknownIndexError(
                "the service has no such index",
                facts=[("index", name), ("known", ", ".join(self._indexes))],
            ) from None


def generation(searcher: AnySearcher) -> int:
    """Return the generation of the index that a searcher reads."""
    return searcher.index.manifest.generation


def named_folder(given: str) -> tuple[str, Path]:
    """Return the name and the folder of ``NAME=FOLDER`` or ``FOLDER``.

    Raises
    ------
    ParameterError
        If the name cannot be part of an address.

    Examples
    --------
    >>> named_folder("shop.tw"), named_folder("tea=data/index")
    (('shop', PosixPath('shop.tw')), ('tea', PosixPath('data/index')))
    """
    name, separator, folder = given.partition("=")
    if not separator:
        folder = given
        name = Path(given).resolve().name.removesuffix(".tw").lower()
    if not NAME.fullmatch(name):
        raise ParameterError(
            "the name of a served index has small letters, digits, and the signs . _ - inside",
            facts=[("name", name), ("folder", folder)],
            fixes=["give another name: NAME=FOLDER"],
        )
    return name, Path(folder)
