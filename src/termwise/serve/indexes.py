"""Indexes of a service: each stays open, follows the changes of its folder, and accepts changes."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, final

from termwise.budget import limited
from termwise.errors import IndexExistsError, ParameterError, TermwiseError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.index import Index
from termwise.index.folder import writer_lock
from termwise.index.manifest import NAME as INDEX
from termwise.search import Relevance, Search, Searcher
from termwise.search.mixture_folder import NAME as MIXTURE
from termwise.search.mixture_folder import is_mixture
from termwise.search.opening import open_searcher
from termwise.search.relevance import naming
from termwise.serve.aliases import MOST_ALIASES, Aliases
from termwise.serve.answers import IndexAnswer, SearchedIndex
from termwise.serve.errors import ForbiddenError, TooLargeError, UnknownIndexError, UnreadableIndexError

NAME = re.compile("[a-z0-9][a-z0-9._-]{0,63}")
"""Names of indexes, as in addresses."""

MOST_INDEXES = 1000
"""Indexes of a service that creates some."""

DELETED = ".deleted-"
"""Beginning of the names of folders of deleted indexes."""

KEPT_SECONDS = 86_400.0
"""Time that such a folder stays after its files, so that all processes see it."""

READ_SECONDS = 2.0
"""Time that a search waits for a relevance file that has changed."""

logger = logging.getLogger("termwise.serve")

Signature = tuple[int, int, int]


@final
@dataclass(frozen=True)
class OpenIndex:
    """One generation of a served index, or of one part of a served mixture.

    Attributes
    ----------
    name : str
        Name in answers.
    searcher : Searcher
    relevance : Relevance or None
        Of searches that give none.
    """

    name: str
    searcher: Searcher
    relevance: Relevance | None = None

    @property
    def generation(self) -> int:
        """Number of the generation."""
        return self.searcher.index.manifest.generation

    def about(self) -> SearchedIndex:
        """Return what answers say about the index that was searched."""
        documents = self.searcher.documents
        return {"index": self.name, "generation": self.generation, "documents": documents}

    def facts(self) -> IndexAnswer:
        """Return the facts about the index that a user of the service needs."""
        searcher = self.searcher
        return {
            **self.about(),
            "model": searcher.backend.description,
            "attributes": {name: str(kind) for name, kind in searcher.schema.items()},
            "stores_text": searcher.index.stores_text,
            "parts": [
                {"name": part.name, "weight": part.weight, **_sizes(part.index)} for part in searcher.parts
            ],
        }


def _sizes(index: Index) -> dict[str, Any]:
    manifest, analyzer = index.manifest, index.manifest.encoder.analyzer
    return {
        "terms": manifest.terms,
        "postings": manifest.postings,
        "segments": len(manifest.segments),
        "deleted": sum(segment.deletions for segment in manifest.segments),
        "analyzer": "unknown" if analyzer is None else analyzer.name,
    }


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
    relevance : Path, optional
        Relevance file for searches that give none; it is read again when it changes.
    """

    def __init__(
        self, name: str, path: Path, *, refresh_interval: float = 0.0, relevance: Path | None = None
    ) -> None:
        self.name = name
        self.path = path
        self._interval = refresh_interval
        self._manifest = _manifest(path)
        self._lock = threading.Lock()
        self.failed = False
        """Whether the newest generation cannot be read; searches see the one before."""
        self._signature = self._signature_now()
        self._checked = time.monotonic()
        self.opened = open_searcher(path)
        """The searcher that is open, without a look at the folder."""
        self._relevance = None if relevance is None else RelevanceFile(relevance, self.opened)

    def searcher(self) -> Searcher:
        """Return a searcher for the newest generation, or for one that is not older than the refresh interval.

        If the folder cannot be read, the searcher of the generation before stays.
        """
        if time.monotonic() - self._checked >= self._interval:
            self.follow()
        return self.opened

    def current(self) -> OpenIndex:
        """Return the newest generation with its name and relevance, for all parts of one answer; see `searcher`."""
        searcher = self.searcher()
        if self._relevance is None:
            return OpenIndex(self.name, searcher)
        relevance = self._relevance.current(searcher)
        # another thread may have read the file for the attributes of a newer generation, which is open by now
        return OpenIndex(self.name, self.opened, relevance)

    def warm_up(self) -> None:
        """Search once, so that the first requests do not wait for tables that an index makes when they are needed."""
        searcher = self.opened
        searcher.rank("the first search", k=10)
        if searcher.backend.suggesting.similar_terms is not None:
            searcher.search(Search("frist serch", fuzzy=True, prefix=True)).did_you_mean()
            searcher.complete("se")
        if len(searcher.index):
            doc_id = searcher.index.doc_id(0)
            searcher.rank("the first search", k=10, candidates=[doc_id])
            if searcher.index.stores_text:
                searcher.search(Search("the first search")).snippets([doc_id])

    def follow(self) -> bool:
        """Open the newest generation if the folder has changed; return whether it can be read."""
        began = time.monotonic()
        if self._signature_now() == self._signature and not self.failed:
            self._checked = began
            return True
        with self._lock:
            began = time.monotonic()
            signature = self._signature_now()
            failed = False
            if signature != self._signature:  # else the folder is back
                try:
                    self.opened = self.opened.refresh()
                    self._signature = signature
                except TermwiseError as error:
                    failed = True
                    logger.error("the index %s cannot be read: %s", self.name, error)
            self.failed, self._checked = failed, began
            return not failed

    def _signature_now(self) -> Signature | None:
        return _signature(self._manifest)


def _manifest(folder: Path) -> Path:
    return folder / (MIXTURE if is_mixture(folder) else INDEX)


def _signature(path: Path) -> Signature | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


class RelevanceFile:
    """Relevance file that is read again when it, or its file of synonyms, changes.

    Raises the errors of `Relevance.read`, and those of a search, if it cannot be read or does not fit the index at
    first. Later, the last good version stays, and the error is logged once. A thread reads a changed file, and the
    search that finds the change waits `READ_SECONDS` for it; until it is read, searches have the version before.
    """

    def __init__(self, path: Path, searcher: Searcher) -> None:
        self._path, self._lock = path, threading.Lock()
        signature = _signature(path)
        self._relevance = self._read(searcher)
        self._signatures = {file: _signature(file) for file in self._relevance.files} | {path: signature}

    def current(self, searcher: Searcher) -> Relevance:
        """Return the newest version that can be read, for searches with a searcher."""
        if self._now() != self._signatures and self._lock.acquire(blocking=False):
            reader = threading.Thread(target=self._read_again, args=(searcher,), daemon=True)
            reader.start()
            reader.join(READ_SECONDS)
        return self._relevance

    def _now(self) -> dict[Path, Signature | None]:
        return {file: _signature(file) for file in self._signatures}

    def _read_again(self, searcher: Searcher) -> None:
        """Read the file unless another thread has just read it, and release the lock."""
        files, before = {self._path}, self._now()
        try:
            if before == self._signatures:
                return
            self._relevance = self._read(searcher)
            files.update(self._relevance.files)
        except TermwiseError as error:
            logger.error(
                "the relevance file %s cannot be used; the version before stays: %s", self._path, error
            )
            files.update(value for name, value in error.facts if name == "file" and isinstance(value, Path))
        finally:
            if before != self._signatures:
                self._signatures = {file: before.get(file, _signature(file)) for file in files}
            self._lock.release()

    def _read(self, searcher: Searcher) -> Relevance:
        relevance = Relevance.read(self._path)
        with naming([("file", self._path)]):
            searcher.search(Search(relevance=relevance))
        relevance.prepare(part.backend.encoder.analyzer for part in searcher.parts)
        return relevance


class ServedIndexes:
    """Indexes of a service by name.

    Parameters
    ----------
    folders : sequence of str
        ``NAME=FOLDER``, or ``FOLDER``, whose name is then that of the folder without ``.tw``.
    refresh_interval : float, optional
        See `ServedIndex`.
    relevance : sequence of str, optional
        ``NAME=FILE`` for the index of this name, or ``FILE`` for the only index; see `ServedIndex`.
    create_in : Path, optional
        Folder of indexes that are created. Those that it has, as ``NAME.tw``, are served too, also if another process
        has created them since. One that cannot be read is left out, and the log says why, until its manifest changes or
        a request names it.

    Raises
    ------
    ParameterError
        If a name occurs twice, or cannot be part of an address, a relevance file is for no index, or there is no folder
        to create indexes in.
    TermwiseError
        If one of `folders` is not an index, or is damaged.
    """

    def __init__(
        self,
        folders: Sequence[str],
        *,
        refresh_interval: float = 0.0,
        relevance: Sequence[str] = (),
        create_in: Path | None = None,
    ) -> None:
        self._indexes: dict[str, ServedIndex] = {}
        self._aliases = None if create_in is None else Aliases(create_in)
        self._unreadable: dict[str, Signature | None] = {}
        self._interval, self._create_in, self._lock = refresh_interval, create_in, threading.RLock()
        files = _relevance_files(relevance, [named_folder(given)[0] for given in folders])
        for given in folders:
            name, path = named_folder(given)
            if name in self._indexes:
                raise ParameterError(
                    "two indexes have the same name",
                    facts=[("name", name), ("folder", self._indexes[name].path), ("other", path)],
                    fixes=["give another name: NAME=FOLDER"],
                )
            self._indexes[name] = ServedIndex(
                name, path, refresh_interval=refresh_interval, relevance=files.get(name)
            )

        if create_in is not None and not create_in.is_dir():
            raise ParameterError(
                "the folder for new indexes does not exist",
                facts=[("folder", create_in)],
                fixes=["make it, writable for the service only"],
            )
        self._fixed = frozenset(self._indexes)
        if create_in is not None:
            _clean_up(create_in)
        for name in self._created():
            with suppress(UnreadableIndexError):
                self._add(name)

    def __iter__(self) -> Iterator[ServedIndex]:
        for name in [*self._indexes]:
            self._drop_if_deleted(name)
        for name in self._created():
            if name in self._indexes:
                continue
            signature = _signature(_manifest(self._folder(name)))
            if self._unreadable.get(name) != signature and name in self:
                logger.info("the index %s is served", name)
        return iter([*self._indexes.values()])

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self[name] is not None
        except TermwiseError:
            return False

    def __getitem__(self, name: str) -> ServedIndex:
        self._drop_if_deleted(name)
        found = self._indexes.get(name)
        if found is None and self._aliases is not None and name in (aliases := self._aliases.current()):
            name = aliases[name]
            self._drop_if_deleted(name)
            found = self._indexes.get(name)
        if found is None and self._create_in is not None and NAME.fullmatch(name):
            if _is_built(self._folder(name)):
                self._add(name)
            found = self._indexes.get(name)
        if found is None:
            raise _unknown(name, self._indexes)
        return found

    def create(self, name: str, build: Callable[[Path], object]) -> ServedIndex:
        """Create an index by a function that builds it in a folder, and serve it.

        Raises
        ------
        ParameterError
            If the service creates no indexes, or the name cannot be part of an address.
        IndexExistsError
            If the service has an index of this name.
        TooLargeError
            If the service has too many indexes.
        TermwiseError
            If the index cannot be built.
        """
        if self._create_in is None:
            raise ParameterError(
                "this service creates no indexes",
                fixes=["start it with a folder for new indexes"],
            )
        if not NAME.fullmatch(name):
            raise ParameterError(
                "the name of a served index has small letters, digits, and the signs . _ - inside",
                facts=[("name", name)],
            )
        with self._lock:
            if name in self or _is_built(self._folder(name)):
                raise IndexExistsError("the index exists already", facts=[("index", name)])
            if len([*self]) >= MOST_INDEXES:
                raise TooLargeError("the service has too many indexes", facts=[("most", MOST_INDEXES)])
            build(self._folder(name))
            return self._add(name)

    @property
    def aliases(self) -> Mapping[str, str]:
        """The index of each alias that requests added."""
        return {} if self._aliases is None else self._aliases.current()

    def change_aliases(self, change: Callable[[dict[str, str]], None]) -> None:
        """Change the aliases of indexes, all at once; `change` gets them, and changes them or raises an error.

        Raises
        ------
        ParameterError
            If the service has no folder for new indexes, or a name cannot be part of an address.
        UnknownIndexError
            If a name is for an index that the service does not have.
        IndexExistsError
            If an index has a name.
        TooLargeError
            If the names are too many.
        """
        if self._aliases is None:
            raise ParameterError(
                "this service keeps no aliases",
                fixes=["start it with a folder for new indexes, or serve a folder under several names"],
            )
        with self._aliases.changing() as store:
            names = dict(self._aliases.current())
            change(names)
            for name, index in names.items():
                if self._aliases.current().get(name) == index:
                    continue
                if not NAME.fullmatch(name):
                    raise ParameterError(
                        "the name of a served index has small letters, digits, and the signs . _ - inside",
                        facts=[("name", name[:100])],
                    )
                if name in self._indexes or _is_built(self._folder(name)):
                    raise IndexExistsError("an index has this name already", facts=[("index", name)])
                if index not in self._indexes and not _is_built(self._folder(index)):
                    raise _unknown(index, self._indexes)
            if len(names) > MOST_ALIASES:
                raise TooLargeError("the service has too many aliases", facts=[("most", MOST_ALIASES)])
            store(names)

    def delete(self, name: str, wait: float) -> None:
        """Delete an index that a request created, and its aliases; searches of it that have begun end as usual.

        The folder gets another name first, in one step, and loses its files afterwards. So no process finds a part.

        Parameters
        ----------
        name : str
        wait : float
            Seconds to wait for changes of the index by this or another process.

        Raises
        ------
        ForbiddenError
            If the index was given when the service was started.
        UnknownIndexError
            If the service has no such index.
        IndexLockedError
            If another process changes the index or the aliases.
        """
        if name in self._fixed:
            raise ForbiddenError(
                "this index was given when the service was started, so that no request deletes it",
                facts=[("index", name)],
                fixes=["stop to serve it, and remove its folder"],
            )
        if self._aliases is None or not NAME.fullmatch(name) or not _is_built(self._folder(name)):
            raise _unknown(name, self._indexes)
        folder = self._folder(name)
        removed = folder.with_name(f"{DELETED}{name}-{secrets.token_hex(8)}")
        with self._aliases.changing() as store, ExitStack() as locks:
            for part in (folder, *sorted(each.parent for each in folder.glob(f"*/{INDEX}"))):
                locks.enter_context(writer_lock(part, wait=wait))
            with self._lock:
                try:
                    folder.rename(removed)
                except FileNotFoundError:
                    raise _unknown(name, self._indexes) from None
                self._indexes.pop(name, None)
                self._unreadable.pop(name, None)
            names = self._aliases.current()
            if name in names.values():
                store({alias: index for alias, index in names.items() if index != name})
        _remove_files(removed)

    def _drop_if_deleted(self, name: str) -> None:
        """Stop to serve an index that another process has deleted."""
        if name not in self._indexes or name in self._fixed or _is_built(self._folder(name)):
            return
        with self._lock:
            folder = self._folder(name)
            if not folder.exists() and any(_deleted(folder.parent, name)):
                self._indexes.pop(name, None)

    def _created(self) -> list[str]:
        """Return the names of the indexes in the folder for new ones."""
        if self._create_in is None:
            return []
        names = (each.name.removesuffix(".tw") for each in self._create_in.glob("*.tw"))
        return sorted(name for name in names if NAME.fullmatch(name) and _is_built(self._folder(name)))

    def _folder(self, name: str) -> Path:
        assert self._create_in is not None, "a folder for new indexes is given"
        return self._create_in / f"{name}.tw"

    def _add(self, name: str) -> ServedIndex:
        """Start to serve an index in the folder for new indexes, unless one of this name is already served.

        Raises
        ------
        UnreadableIndexError
            If it cannot be read; the reason is logged.
        """
        with self._lock:
            if name not in self._indexes:
                folder = self._folder(name)
                signature = _signature(_manifest(folder))
                try:
                    with limited(None):  # the end of a request's time is no damage
                        served = ServedIndex(name, folder, refresh_interval=self._interval)
                        served.warm_up()
                except TermwiseError as error:
                    self._unreadable[name] = signature
                    logger.error("the index %s cannot be read, and is not served: %s", name, error)
                    raise UnreadableIndexError.of(name) from None
                self._indexes[name] = served
            return self._indexes[name]


def _unknown(name: str, known: Iterable[str]) -> UnknownIndexError:
    return UnknownIndexError(
        "the service has no such index", facts=[("index", name[:100]), ("known", ", ".join(known))]
    )


def _deleted(folder: Path, name: str = "*") -> Iterator[Path]:
    """Yield the folders of deleted indexes, of all names or of one."""
    return (
        each
        for each in folder.glob(f"{DELETED}*")
        if name == "*" or each.name[len(DELETED) :].rpartition("-")[0] == name
    )


def _remove_files(folder: Path) -> None:
    """Remove what a folder has; the empty folder tells other processes that the index is deleted."""
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink(missing_ok=True)


def _clean_up(folder: Path) -> None:
    """Remove what deletions have left: files after a crash, and after a day empty folders."""
    for each in _deleted(folder):
        with suppress(OSError):
            _remove_files(each)
            if time.time() - each.stat().st_mtime > KEPT_SECONDS:
                each.rmdir()


def _is_built(folder: Path) -> bool:
    return (folder / INDEX).is_file() or is_mixture(folder)


def _relevance_files(given: Sequence[str], names: Sequence[str]) -> dict[str, Path]:
    """Return the relevance file of each index that has one."""
    files: dict[str, Path] = {}
    for each in given:
        name, separator, file = each.partition("=")
        if not separator and len(names) == 1:
            name, file = names[0], each
        if name not in names or name in files:
            raise ParameterError(
                "each relevance file is for one index",
                facts=[("given", each), ("indexes", ", ".join(names))],
                fixes=[Fix.use("name the index of each file: {}", relevance=Code("NAME=FILE"))],
            )
        files[name] = Path(file)
    return files


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
