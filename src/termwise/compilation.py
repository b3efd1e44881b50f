"""Compilation of the kernels in advance, so that no search and no request waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pkgutil import iter_modules
from threading import Lock
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
"""Name of the stage for progress."""

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
            facts=[("tried", ", ".join(map(str, code_cache.places())))],
            fixes=[
                Fix.use(
                    f"name a folder that only you can write in the environment variable {code_cache.VARIABLE}"
                )
            ],
        )
    compile_kernels(missing, progress=progress)
    return len(missing)


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
    names = [kernel.name for kernel in all_kernels() if kernel.name.partition(".")[0] not in without]
    return [name for name in names if not code_cache.has_code(name)]


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
    for name in sorted(
        names, key=sizes.__getitem__, reverse=True
    ):  # the longest first, each where least waits
        place = loads.index(min(loads))
        shares[place].append(name)
        loads[place] += sizes[name]
    done = 0
    lock = Lock()
    progress(STAGE, 0, len(names))

    def follow(share: list[str]) -> None:
        nonlocal done
        for _ in _compiled_names(share):
            with lock:
                done += 1
                progress(STAGE, done, len(names))

    with ThreadPoolExecutor(count) as threads:
        list(threads.map(follow, shares))


def _compiled_names(names: Sequence[str]) -> Iterator[str]:
    """Compile kernels in another process, and yield the name of each when its code is on the disk."""
    command = [sys.executable, "-c", _CHILD.format(path=sys.path), *names]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            for line in child.stdout:
                yield line.strip()
        finally:
            child.kill()  # it has ended, or this process was interrupted


def _compile_here(names: Sequence[str]) -> None:
    """Compile kernels in this process; print the name of each."""
    known = {kernel.name: kernel for kernel in all_kernels()}
    for name in names:
        try:
            known[name].compiled  # noqa: B018
        except Exception as error:
            print(f"termwise: the kernel {name} cannot be compiled: {error}", file=sys.stderr)
        else:
            print(name, flush=True)
