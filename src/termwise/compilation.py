"""Compilation of the kernels in advance, so that no search and no request waits for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from pkgutil import iter_modules
from selectors import EVENT_READ, DefaultSelector
from threading import Thread
from typing import Any

import termwise.kernels
from termwise.errors import StorageError
from termwise.fixes import Fix
from termwise.kernels import code_cache
from termwise.kernels.jit import Kernel, kernels
from termwise.progress import Progress, no_progress

MOST_PROCESSES = 4
"""Largest number of processes that compile; each takes up to 400 MB."""

STAGE = "compile"
"""Name of the stage that the progress callback gets."""

_CHILD = """
import sys
sys.path[:] = {path!r}
from termwise.compilation import _compile_here
_compile_here(sys.argv[1:])
"""


def warm(*, progress: Progress = no_progress) -> int:
    """Compile all kernels for this machine, and keep the code on the disk.

    Afterwards, no search, change, training or evaluation of any process of this user compiles anything, until termwise,
    numba or the processor is another one. Without this call, each kernel is compiled when it is first needed, if its
    process runs long enough to profit from it.

    Parameters
    ----------
    progress : callable, optional
        Called with ``"compile"``, the number of compiled kernels, and the number of kernels to compile.

    Returns
    -------
    int
        Number of kernels that were compiled; 0 if all were before.

    Raises
    ------
    StorageError
        If no folder for the code can be written.

    Examples
    --------
    >>> warm() >= 0, warm()
    (True, 0)
    """
    missing = uncompiled()
    if missing and code_cache.writable_folder() is None:
        raise StorageError(
            "no folder for compiled kernels can be written",
            facts=[
                ("tried", ", ".join(map(str, code_cache.places()))),
                ("expected", "a folder of this user that no other user can write"),
            ],
            fixes=[
                Fix.use(
                    f"name a folder that only you can write in the environment variable {code_cache.VARIABLE}"
                )
            ],
        )
    compile_kernels(missing, progress=progress)
    return len(missing) - len(code_cache.uncompiled(missing))


def all_kernels() -> list[Kernel[..., Any]]:
    """Return every kernel that is called from Python; importing all modules of kernels finds them."""
    for module in iter_modules(termwise.kernels.__path__):
        import_module(f"termwise.kernels.{module.name}")
    return [
        kernel
        for kernel in kernels
        if kernel.signatures and kernel.__module__.startswith("termwise.kernels.")
    ]


def uncompiled(without: Collection[str] = ()) -> list[str]:
    """Return the names of the kernels whose code is not on the disk, except those of some modules."""
    names = [kernel.name for kernel in all_kernels()]
    return code_cache.uncompiled([name for name in names if name.partition(".")[0] not in without])


def compile_kernels(names: Sequence[str], *, progress: Progress = no_progress) -> None:
    """Compile kernels in processes of their own: this one keeps its memory, and all processors have work.

    A kernel that cannot be compiled is left out; its first call then says why.
    """
    if not names:
        return
    known = {kernel.name: kernel for kernel in all_kernels()}
    count = min(os.cpu_count() or 1, MOST_PROCESSES, len(names))
    shares: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    sizes = {name: len(known[name].py_func.__code__.co_code) * len(known[name].signatures) for name in names}
    longest_first = sorted(names, key=sizes.__getitem__, reverse=True)
    for name in longest_first:  # each where least waits
        place = loads.index(min(loads))
        shares[place].append(name)
        loads[place] += sizes[name]
    done = 0
    progress(STAGE, done, len(names))
    children = [_child(share) for share in shares]
    try:
        with DefaultSelector() as selector:
            for child in children:
                selector.register(child.stdout, EVENT_READ)  # type: ignore[arg-type]
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 12)
                    if not data:
                        selector.unregister(key.fileobj)
                    for _ in range(data.count(b"\n")):
                        done += 1
                        progress(STAGE, done, len(names))
    finally:
        for child in children:
            child.kill()  # if it has not ended, this process was interrupted
            child.communicate()


def _child(names: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process that compiles kernels; it prints a line for each, and ends with this one.

    Ctrl-C in a terminal interrupts all its processes: the child inherits the blocked signal, and is killed.
    """
    command = [sys.executable, "-c", _CHILD.format(path=sys.path), *names]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _compile_here(names: Sequence[str]) -> None:
    """Compile kernels in this process; print the name of each. End when standard input ends: the parent has it open."""

    def wait() -> None:
        while os.read(0, 1):  # not by a buffer, whose lock would keep Python from ending
            pass
        os._exit(1)

    Thread(target=wait, daemon=True).start()
    known = {kernel.name: kernel for kernel in all_kernels()}
    for name in names:
        try:
            known[name].compiled  # noqa: B018
        except Exception as error:
            print(f"termwise: the kernel {name} cannot be compiled: {error}", file=sys.stderr)
        else:
            print(name, flush=True)
