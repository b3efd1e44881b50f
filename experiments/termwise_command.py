"""Run commands of termwise in a separate process, such as the training of networks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import record

from termwise.errors import CheckFailedError


def run_train_command(
    kind: str, out: Path, *, options: Sequence[str], settings: Mapping[str, object]
) -> None:
    """Train a network, or resume its training.

    Parameters
    ----------
    kind : str
        Command of ``termwise train``, such as ``tildev2`` or ``cross-encoder``.
    out : Path
        Folder of the network, in which an interrupted training resumes.
    options : sequence of str
        Further command-line options.
    settings : mapping of str to object
        Training settings, passed as ``--set NAME=VALUE``.

    Raises
    ------
    CheckFailedError
        If the command fails.
    """
    arguments = ["train", kind, "--out", str(out), *options]
    for setting, value in settings.items():
        arguments += ["--set", f"{setting}={value}"]
    if out.exists():
        arguments.append("--resume")
    run_termwise(arguments)


def run_termwise(arguments: Sequence[str]) -> None:
    """Run a command of termwise; raises `CheckFailedError` if it fails."""
    record.say(" ".join(["termwise", *arguments]))
    done = subprocess.run([sys.executable, "-m", "termwise", *arguments], check=False)
    if done.returncode != 0:
        raise CheckFailedError(
            "a command of termwise failed",
            facts=[("command", " ".join(["termwise", *arguments])), ("exit status", done.returncode)],
        )
