"""Encoders of experiments, trained by ``termwise train``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import record

from termwise.errors import CheckFailedError


def train_by_verb(kind: str, out: Path, *, options: Sequence[str], settings: Mapping[str, object]) -> None:
    """Train an encoder into a folder, named like it; a run that lies there already is gone on with.

    Parameters
    ----------
    kind : str
        ``tilde`` or ``tildev2``.
    out : Path
        The new encoder folder.
    options : sequence of str
        Of the command line.
    settings : mapping of str to object
        Each goes as ``--set NAME=VALUE``.

    Raises
    ------
    CheckFailedError
        If the command fails.
    """
    command = [sys.executable, "-m", "termwise", "train", kind, "--out", str(out), *options]
    for setting, value in settings.items():
        command += ["--set", f"{setting}={value}"]
    if out.exists():
        command.append("--resume")
    record.say(" ".join(command))
    done = subprocess.run(command, check=False)
    if done.returncode != 0:
        raise CheckFailedError(
            "a network could not be trained", facts=[("network", out.name), ("exit status", done.returncode)]
        )
