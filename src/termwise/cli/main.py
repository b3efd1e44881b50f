"""The command line: ``termwise VERB ...``. Results go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 a bug in termwise, 2 usage, 3 bad data, 4 missing extra, 5 a requested check failed,
130 interrupted.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from contextlib import nullcontext
from functools import partial
from typing import Annotated, Any, ClassVar

import typer

from termwise._version import __version__
from termwise.cli import (
    add,
    build_graph,
    compare,
    delete,
    encode,
    evaluate,
    explain,
    fuse,
    fuse_indexes,
    index,
    inspect,
    learn_weights,
    merge,
    probe,
    rank,
    rerank,
    search,
    serve,
    serve_key,
    table,
    train,
    train_bert_model1,
    train_convert,
    train_lookup,
    train_model1,
    train_neural_model1,
    try_,
    tune,
    verify,
)
from termwise.cli.hints import spell
from termwise.cli.terminal import note_compiling
from termwise.cli.verb_group import VerbCommand, VerbGroup
from termwise.display.safe_text import error_text, legible
from termwise.errors import TermwiseError
from termwise.kernels.jit import on_compilation

COMMANDS: dict[str, dict[str, Any]] = {
    "Start": {"try": try_},
    "Build an index": {
        "index": index,
        "encode": encode,
        "build-graph": build_graph,
        "inspect": inspect,
        "verify": verify,
    },
    "Change an index": {"add": add, "delete": delete, "merge": merge},
    "Search": {"search": search, "explain": explain, "rank": rank, "rerank": rerank},
    "Serve": {"serve": serve, "serve-key": serve_key},
    "Fuse": {"fuse": fuse, "learn-weights": learn_weights, "fuse-indexes": fuse_indexes, "tune": tune},
    "Measure": {"evaluate": evaluate, "compare": compare, "probe": probe},
    "Train": {"train": train, "table": table},
}
"""Commands by name, in the sections of ``termwise --help``."""


class _Verbs(VerbGroup):
    sections: ClassVar = {title: tuple(commands) for title, commands in COMMANDS.items()}


app = typer.Typer(
    cls=_Verbs,
    name="termwise",
    help="Ranking, term by term: index, search, explain, evaluate.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(train.app, name="train")
for commands in COMMANDS.values():
    for name, module in commands.items():
        if module is not train:
            app.command(name, cls=VerbCommand)(module.command)
for name, module in {
    "lookup": train_lookup,
    "convert": train_convert,
    "model1": train_model1,
    "neural-model1": train_neural_model1,
    "bert-model1": train_bert_model1,
}.items():
    train.app.command(name, cls=VerbCommand)(module.command)


def _version(given: bool) -> None:
    if given:
        typer.echo(f"termwise {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Ranking, term by term: index, search, explain, evaluate."""


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
            app(args=arguments, prog_name="termwise")
        sys.stdout.flush()
    except SystemExit as exit_:  # raised by typer, also for wrong usage (2) and Ctrl-C (130)
        return _flushed(exit_.code)
    except KeyboardInterrupt:  # before typer handles it
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
    except Exception:
        traceback.print_exc()
        print(
            f"termwise: this is a bug in termwise {__version__}; please report it with the lines above",
            file=sys.stderr,
        )
        return 1
    return 0


def _options_of(arguments: list[str]) -> set[str]:
    """Return the options of the command that the arguments name."""
    command: Any = typer.main.get_command(app)
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
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
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    sys.exit(run())
