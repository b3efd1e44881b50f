"""Build an index with a fault at each step in turn, and check the folder after it.

Usage: ``faults.py FOLDER kill | refuse | limit``. Each mode runs in a new folder and over an existing index.

``kill``
    The process is killed before its n-th step, without any clean-up.
``refuse``
    The n-th step fails with "no space left on device".
``limit``
    No file may grow beyond n bytes.

A step is a call that opens, creates, renames, removes, maps or flushes a file in the folder. Afterwards the folder must
contain the complete old or new index, and the next build must succeed and remove left-over files.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from termwise.errors import StorageError, TermwiseError
from termwise.index import Index, IndexWriter, spill, verify
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

VOCABULARY = Vocabulary([f"t{i}" for i in range(40)], background=True)
EVENTS = frozenset(
    {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "fcntl.flock", "mmap.__new__"}
)


def build(folder: Path, documents: int) -> None:
    """Build an index, in place of an existing one."""
    rows = [{i % 40: 1.5 + i % 7, 40: float(i % 3)} for i in range(documents)]
    with IndexWriter(folder, overwrite=True, store_text=True) as writer:
        writer.add(
            [f"d{i}" for i in range(documents)],
            TermWeights.from_rows(rows, VOCABULARY.id),
            [f"text {i} " * 20 for i in range(documents)],
        )
        writer.commit(VOCABULARY, encoder={"size": documents}, attachments={"file": b"x" * documents})


def generation(folder: Path) -> int | None:
    """Read the whole index in a folder and return its number of documents; None without an index."""
    if not (folder / "manifest.json").exists():
        return None
    assert verify(folder) == []
    index = Index.open(folder)
    documents = len(index)
    assert index.manifest.encoder.json == {"size": documents}
    assert [index.text(i) for i in range(documents)] == [f"text {i} " * 20 for i in range(documents)]
    assert index.attachment("file") == b"x" * documents
    return documents


def listed(folder: Path) -> set[str]:
    """Return the names of the files in a folder."""
    return set(os.listdir(folder)) if folder.exists() else set()


def begin_again(folder: Path, old: int | None) -> None:
    """Build over the left files, which must be removed; leave an index of `old` documents, or no folder."""
    build(folder, 20 if old is None else old)
    files = {file.name for file in Index.open(folder).manifest.files()}
    assert listed(folder) == files | {"manifest.json"}
    if old is None:
        for name in listed(folder):
            (folder / name).unlink()
        folder.rmdir()


class Steps:
    """Counter of the steps in a folder, with an action at one of them."""

    def __init__(self) -> None:
        self.folder = ""
        self.taken = 0
        self.wanted: int | None = None
        self.act: Callable[[], None] = lambda: None
        self.event = ""
        sys.addaudithook(self.hear)
        spill.IN_MEMORY = 1  # temporary files are among the steps
        # Python does not audit fsync. It matters for power failures, not for killed processes, and is slow.
        os.fsync = lambda descriptor: self.step("flush")

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count an audit event of the interpreter if it is a step."""
        if self.folder and event in EVENTS:
            named = [str(a) for a in arguments if isinstance(a, str | bytes | os.PathLike)]
            if event in ("fcntl.flock", "mmap.__new__") or any(
                name.startswith(self.folder) for name in named
            ):
                self.step(event)

    def step(self, event: str) -> None:
        """Count a step, and act at the wanted one."""
        if not self.folder:
            return
        self.taken += 1
        if self.taken == self.wanted:
            self.event = event
            self.act()

    @contextmanager
    def counting(self, folder: Path, wanted: int | None, act: Callable[[], None]) -> Iterator[None]:
        """Count the steps inside the context."""
        self.folder, self.taken, self.wanted, self.act, self.event = str(folder), 0, wanted, act, ""
        try:
            yield
        finally:
            self.folder = ""


def die() -> None:
    """Kill this process, as the out-of-memory killer does."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuse() -> None:
    """Raise the error of a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def kill(folder: Path, steps: Steps, old: int | None) -> dict[str, Any]:
    """Kill a build before each of its steps."""
    begin_again(folder, old)
    seen: dict[str, int] = {}
    number = 0
    while True:
        number += 1 if old is not None else 3  # every third step is enough without an old index
        child = os.fork()
        if child == 0:
            with steps.counting(folder, number, die):
                build(folder, 50)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert status == 0
            return {"steps": number - 1, "left": seen}
        left = generation(folder)
        assert left in (old, 50), left
        seen[str(left)] = seen.get(str(left), 0) + 1
        begin_again(folder, old)


def refuse_steps(folder: Path, steps: Steps, old: int | None) -> dict[str, Any]:
    """Refuse each step of a build."""
    begin_again(folder, old)
    seen: dict[str, int] = {}
    events: dict[str, int] = {}
    number = refused = 0
    while True:
        number += 1
        before = listed(folder)
        error: BaseException | None = None
        with steps.counting(folder, number, refuse):
            try:
                build(folder, 50)
            except TermwiseError as caught:
                error = caught
        if steps.taken < number:
            return {"steps": number - 1, "refused": refused, "left": seen, "events": events}
        what = f"step {number}, {steps.event}: {error}"
        left = generation(folder)
        assert left in (old, 50), what
        if error is None:
            assert left == 50, what  # only the clean-up failed
        else:
            refused += 1
            assert isinstance(error, StorageError), what
            assert str(dict(error.facts)["path"]).startswith(str(folder)), what
            if left == old:
                # If locking fails, the owner of the lock file is not known, so that it is not removed.
                assert listed(folder) - ({".lock"} if steps.event == "fcntl.flock" else set()) == before, what
        seen[str(left)] = seen.get(str(left), 0) + 1
        events[steps.event] = events.get(steps.event, 0) + 1
        begin_again(folder, old)


def limit(folder: Path, steps: Steps, old: int | None) -> dict[str, Any]:
    """Limit the size of files, with increasing limits."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    begin_again(folder, old)
    before = {name: (folder / name).read_bytes() for name in listed(folder)}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for refused, most in enumerate([0, 1, 7, 63, 64, 65, *range(100, 10_000, 150)]):
        error: BaseException | None = None
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            build(folder, 50)
        except TermwiseError as caught:
            error = caught
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        if error is None:
            assert generation(folder) == 50
            return {"refused": refused, "enough": most}
        assert isinstance(error, StorageError), error
        assert str(dict(error.facts)["path"]).startswith(str(folder)), error
        assert {name: (folder / name).read_bytes() for name in listed(folder)} == before
    raise AssertionError("no limit was sufficient")


def main(folder: Path, mode: str) -> None:
    """Run one mode."""
    programs: dict[str, Callable[[Path, Steps, int | None], dict[str, Any]]] = {
        "kill": kill,
        "refuse": refuse_steps,
        "limit": limit,
    }
    steps = Steps()
    print(
        json.dumps(
            {name: programs[mode](folder / name, steps, old) for name, old in [("new", None), ("old", 30)]}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
