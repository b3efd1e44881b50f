"""The command line: ``termwise VERB ...``. Results go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 a bug in termwise, 2 usage, 3 bad data, 4 missing extra, 5 a requested check failed,
130 interrupted.
"""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
import threading
import traceback
from contextlib import nullcontext, suppress
from functools import partial
from importlib import import_module
from typing import Any

import click

from termwise._version import __version__
from termwise.cli.commands import Group, command_of
from termwise.cli.hints import spell
from termwise.display.safe_text import error_text, legible
from termwise.errors import TermwiseError
from termwise.kernels import code_cache
from termwise.kernels.jit import on_compilation

SECTIONS: dict[str, dict[str, str]] = {
    "Start": {
        "try": "Try termwise on the included documentation of Python.",
        "warm": "Compile everything for this machine, so that no command waits for it.",
    },
    "Build an index": {
        "index": "Index a collection.",
        "encode": "Run an encoder over one shard of a collection.",
        "build-graph": "Add a graph for approximate search of vectors.",
        "inspect": "Show model, analyzer and sizes of an index or a mixture.",
        "verify": "Check an index or a mixture against its checksums.",
    },
    "Change an index": {
        "add": "Add documents to an index or a mixture, or replace them.",
        "delete": "Delete documents of an index or a mixture.",
        "merge": "Merge the segments of an index, or of a mixture's parts.",
    },
    "Search": {
        "search": "Search an index or a mixture.",
        "explain": "Show the score of a document as a sum over query terms.",
        "rank": "Rank the documents for each query of a file.",
        "rerank": "Re-rank the candidates of a run.",
    },
    "Serve": {
        "serve": "Serve indexes over HTTP, with a page for people.",
        "serve-key": "Create an API key, list the keys, or revoke one.",
    },
    "Fuse": {
        "fuse": "Fuse runs into one.",
        "learn-weights": "Learn the weights of a fusion on judged queries.",
        "fuse-indexes": "Fuse indexes into one index, or into a mixture.",
        "tune": "Tune a translation table and its fusion weight.",
    },
    "Export": {
        "export": "Export an index or a mixture to another engine.",
        "export-check": "Compare the results of an export with those of its index.",
        "export-filter": "Print a filter in the form of the engine of an export.",
    },
    "Measure": {
        "evaluate": "Evaluate runs against judgments.",
        "compare": "Compare runs with paired tests.",
        "probe": "Probe rankers with pairs of texts that differ in one way.",
    },
    "Train": {
        "train": "Train encoders of term weights, translation tables and re-ranking networks.",
        "table": "Show the most probable translations of words.",
    },
}
"""Commands and their summaries, in the sections of ``termwise --help``."""


def _command(name: str) -> click.Command:
    """Import the module of a command, and return the command."""
    module = import_module(f"termwise.cli.{name.replace('-', '_').replace('try', 'try_')}")
    command: click.Command = module.group if name == "train" else command_of(name, module.command)
    return command


def _version(context: click.Context, option: click.Parameter, given: bool) -> None:
    if given:
        click.echo(f"termwise {__version__}")
        context.exit()


app = Group(
    "termwise",
    "Ranking, term by term: index, search, explain, evaluate.",
    SECTIONS,
    _command,
    [
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Print the version and exit.",
        )
    ],
)


def note_compiling() -> None:
    """Report that kernels are being compiled, unless others have been before."""
    if code_cache.is_empty():
        print("compiling for this machine, once; termwise warm does it for all commands", file=sys.stderr)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : list of str, optional
        Arguments after the name of the program; by default those of the process.
    """
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        with nullcontext() if as_json else on_compilation(note_compiling):
            status = app(args=arguments, prog_name="termwise", standalone_mode=False)
        return _flushed(status if isinstance(status, int) else 0)
    except SystemExit as exit_:
        return _flushed(exit_.code)
    except click.ClickException as error:  # wrong usage
        error.show()
        return _flushed(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        print(legible(f"termwise: system error: {where}{error.strerror or error}"), file=sys.stderr)
        return _flushed(3)
    except MemoryError as error:
        print(f"termwise: there is not enough memory: {error_text(error)}", file=sys.stderr)
        return _flushed(3)
    except TermwiseError as error:
        known = _options_of(sys.argv[1:] if arguments is None else arguments)
        print(f"termwise: {error.render(partial(spell, known=known))}", file=sys.stderr)
        return error.exit_code
    except ImportError as error:
        print(
            f"termwise: a library that termwise needs cannot be imported: {error_text(error)}",
            file=sys.stderr,
        )
        return 4
    except Exception:
        traceback.print_exc()
        print(
            f"termwise: this is a bug in termwise {__version__}; please report it with the lines above",
            file=sys.stderr,
        )
        return 1


def _options_of(arguments: list[str]) -> set[str]:
    """Return the options of the command that the arguments name."""
    command: click.Command = app
    for word in arguments:
        if isinstance(command, Group):
            command = command.get_command(None, word) or command
    return {option for parameter in command.params for option in parameter.opts}


def _flushed(code: str | int | None) -> int:
    """Flush stdout and return the exit status; a full disk is reported once, not again when Python exits."""
    try:
        sys.stdout.flush()
    except OSError as error:
        print(f"termwise: the output cannot be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3
    if code is None or isinstance(code, int):
        return code or 0
    print(legible(f"termwise: {code}"), file=sys.stderr)  # as Python prints the text of an exit
    return 1


def _terminated(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _repeat_interruption(lost: Any) -> None:
    """Send a signal again whose exception was lost, as in the functions that the compiler calls."""
    if isinstance(lost.exc_value, KeyboardInterrupt | SystemExit):
        number = signal.SIGINT if isinstance(lost.exc_value, KeyboardInterrupt) else signal.SIGTERM
        threading.Timer(0.1, os.kill, (os.getpid(), number)).start()
    else:
        sys.__unraisablehook__(lost)


class _Stderr(io.FileIO):
    """Standard error that drops what it cannot write, so that a full disk does not change the exit status."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def script() -> None:
    """Run the command line as a program.

    A closed pipe, as in ``termwise search ... | head``, ends the program silently. A terminal that cannot show a
    character shows a question mark instead.
    """
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    stderr = sys.__stderr__
    if stderr is not None and sys.stderr is stderr:
        buffer = io.BufferedWriter(_Stderr(stderr.fileno(), "wb", closefd=False))
        sys.stderr = io.TextIOWrapper(
            buffer, encoding=stderr.encoding, errors=stderr.errors, line_buffering=True
        )
    signal.signal(signal.SIGTERM, _terminated)
    sys.unraisablehook = _repeat_interruption
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    status = run()
    if not atexit._ncallbacks() and threading.active_count() == 1:
        # Nothing is left to do. To take all modules apart takes a tenth of the time of a search.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    sys.exit(status)
