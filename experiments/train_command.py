"""Training of encoders and re-ranking networks with ``termwise train`` in a separate process."""

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
