"""Shared parts of experiments and benchmarks: command line, provenance, intervals, tables and result files."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import (
    MissingExtraError,
    MissingFileError,
    ParameterError,
    TermwiseError,
    UnknownNameError,
)
from termwise.evaluate import Contrast

ROOT = Path(__file__).resolve().parents[1]
COLLECTIONS = ROOT.parent / "shared" / "data" / "collections"
RESULTS = ROOT / "experiments" / "results"

RESAMPLES = 10_000
SEED = 0
PERCENTILES = [2.5, 97.5]

AT_ONCE = 1 << 22
"""Values that are drawn at a time, 50 MB."""

BEGIN = time.perf_counter()

OPTIONS: dict[str, dict[str, Any]] = {
    "work": {"type": Path, "required": True, "help": "work folder, kept between runs"},
    "collections": {"type": Path, "default": COLLECTIONS, "help": "folder of the judged collections"},
    "only": {"metavar": "A,B", "help": "names of collections (default: all of the plan)"},
    "out": {"type": Path, "default": RESULTS, "help": "folder of the result files"},
    "precision": {"choices": ("float32", "int8"), "help": "number format of networks"},
    "threads": {"type": int, "default": len(os.sched_getaffinity(0))},
}
"""Options that several scripts share."""


def parser(doc: str | None, *options: str) -> argparse.ArgumentParser:
    """Return a command-line parser with some of `OPTIONS`, whose help is the docstring of a script."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in options:
        made.add_argument(f"--{name}", **OPTIONS[name])
    return made


def selected(kind: str, given: str | None, known: Collection[str]) -> list[str]:
    """Return the names of a list with commas, or all known ones if there is no list.

    Raises
    ------
    UnknownNameError
        If a name is not known.
    """
    names = given.split(",") if given else list(known)
    check_names(kind, names, known)
    return names


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise `UnknownNameError` for the first name that is not known."""
    for name in names:
        if name not in known:
            raise UnknownNameError.of(kind, name, known)


def named_folders(pairs: Iterable[str]) -> dict[str, str]:
    """Read the values of a repeatable option ``NAME=FOLDER``.

    Raises
    ------
    ParameterError
        If a value has another form.
    """
    found = {}
    for pair in pairs:
        name, equals, folder = pair.partition("=")
        if not equals:
            raise ParameterError("NAME=FOLDER is expected", facts=[("given", pair)])
        found[name] = folder
    return found


def seconds() -> int:
    """Return the seconds since the start of the script."""
    return round(time.perf_counter() - BEGIN)


def collection_folder(root: Path, name: str) -> Path:
    """Return the folder of one judged collection.

    Raises
    ------
    MissingFileError
        If it is not there.
    """
    folder = root / name
    if not (folder / "corpus.jsonl.gz").is_file():
        raise MissingFileError(
            "a judged collection is not there",
            facts=[
                ("looked for", folder / "corpus.jsonl.gz"),
                ("expected", "BEIR folders: corpus.jsonl.gz, queries.jsonl, qrels/SPLIT.tsv"),
            ],
            fixes=["--collections FOLDER, with one folder per collection"],
        )
    return folder


def check_splits(folder: Path, splits: Iterable[str]) -> None:
    """Check that the queries and judgments of a collection exist."""
    needed = [folder / "queries.jsonl", *(folder / "qrels" / f"{split}.tsv" for split in splits)]
    missing = [path for path in needed if not path.is_file()]
    if missing:
        raise MissingFileError(
            "a judged collection is not complete", facts=[("missing", path) for path in missing]
        )


def provenance(packages: Sequence[str]) -> dict[str, Any]:
    """Return code, packages, machine and date of a run; called at its start.

    Parameters
    ----------
    packages : sequence of str
        Distributions whose versions are recorded.

    Returns
    -------
    dict
        ``sources`` is the SHA-256 of the sources of the package and the experiments, uncommitted changes included.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        "uncommitted": git("status", "--porcelain", "--", "src", "experiments").splitlines(),
        "sources": tree_hash([*(ROOT / "src").rglob("*.py"), *(ROOT / "experiments").rglob("*.py")], ROOT),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "processors": os.cpu_count(),
    }


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_hash(paths: Iterable[Path], root: Path) -> str:
    """Return one SHA-256 over names and contents of files, in the order of their paths."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(root).as_posix()} {file_hash(path)}\n".encode())
    return digest.hexdigest()


def data_hash(folder: Path, splits: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each file that an experiment reads of a collection."""
    names = ["corpus.jsonl.gz", "queries.jsonl", "seeds.tsv", *(f"qrels/{split}.tsv" for split in splits)]
    return {name: file_hash(folder / name) for name in names if (folder / name).is_file()}


def mean_interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile interval of a mean, by bootstrap over the queries.

    `termwise.evaluate.compare` computes the intervals of differences between runs in the same way.
    """
    low, high = np.percentile(resampled_means(values[None]), PERCENTILES)
    return float(low), float(high)


def resampled_means(
    values: npt.NDArray[np.float64], seed: int | Sequence[int] = SEED
) -> npt.NDArray[np.float64]:
    """Return means over queries drawn with replacement, the same queries for every system.

    Parameters
    ----------
    values : ndarray of shape (systems, queries), float64
    seed : int or sequence of int, optional

    Returns
    -------
    ndarray of shape (resamples, systems), float64
        One row per draw. Draws are made in parts of bounded size; the result does not depend on the size.
    """
    generator = np.random.default_rng(seed)
    systems, queries = values.shape
    size = max(1, AT_ONCE // max(1, queries))
    means = np.empty((RESAMPLES, systems))
    for first in range(0, RESAMPLES, size):
        last = min(first + size, RESAMPLES)
        drawn = generator.integers(0, queries, size=(last - first, queries), dtype=np.int32)
        for system, column in enumerate(values):
            means[first:last, system] = column[drawn].mean(axis=1)
    return means


def contrast_record(contrast: Contrast) -> dict[str, Any]:
    """Return a contrast as result files store it."""
    return {
        "baseline": contrast.baseline,
        "run": contrast.run,
        "difference": contrast.difference,
        "interval": [contrast.ci_low, contrast.ci_high],
        "p_permutation": contrast.p_permutation,
        "p_t": contrast.p_t,
        "effect_size": contrast.effect_size,
        "wins": contrast.wins,
        "ties": contrast.ties,
        "losses": contrast.losses,
    }


def number(value: float | None, *, digits: int = 3, signed: bool = False) -> str:
    """Format a number for a table: ``.476``, ``+.004``, an en dash for None."""
    if value is None:
        return "–"
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.replace("-", "").replace("+", "")
    if abs(float(text)) < 1:
        text = text.replace("0.", ".", 1)
    return text.replace("-", "−")


def interval(bounds: Sequence[float | None], *, digits: int = 3, signed: bool = False) -> str:
    """Format an interval for a table."""
    low, high = (number(bound, digits=digits, signed=signed) for bound in bounds)
    return "–" if bounds[0] is None else f"{low} to {high}"


def p_value(p: float | None) -> str:
    """Format a p-value for a table."""
    if p is None:
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def percent(share: float | None) -> str:
    """Format a signed share for a table, in percent."""
    return "–" if share is None else f"{share:+.2%}".replace("-", "−")


def paired_cells(contrast: Mapping[str, Any], p: str = "p_permutation") -> list[str]:
    """Format difference, interval and p-value of a contrast for a table."""
    return [
        number(contrast["difference"], signed=True),
        interval(contrast["interval"], signed=True),
        p_value(contrast[p]),
    ]


def outcomes(contrast: Mapping[str, Any]) -> str:
    """Format the numbers of better, equal and worse queries of a contrast for a table."""
    return f"{contrast['wins']} / {contrast['ties']} / {contrast['losses']}"


def excludes_zero(bounds: Sequence[float | None]) -> bool:
    """Return whether an interval excludes 0."""
    low, high = bounds
    return low is not None and high is not None and (low > 0 or high < 0)


SET_LATER = (
    "*Set later* marks a target that was written with or after a result, on these queries, of the same system or of "
    "one that it extends. Such a target does not test a prediction."
)


def verdict(reached: bool | None, *, set_later: bool) -> str:
    """Return whether a target is reached, and whether it was written when results were known; see `SET_LATER`."""
    said = {True: "yes", False: "no", None: "not judged: in part"}[reached]
    return f"{said}, set later" if set_later else said


def target_section(targets: Sequence[Mapping[str, Any]], table: str) -> str:
    """Return the table of targets, with an explanation if some were written when results were known."""
    return f"{SET_LATER}\n\n{table}" if any(one["set_later"] for one in targets) else table


def skipped_section(skipped: Mapping[str, str]) -> str:
    """Return the section of a page that lists the systems that were not run, with reasons."""
    lines = "".join(f"\n- {name}: {reason}" for name, reason in skipped.items())
    return f"## Not run\n{lines}" if skipped else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Return a Markdown table, whose first `left` columns are left-aligned and the others right-aligned."""
    ruler = ["---"] * left + ["--:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ruler, *rows))


def about(record: dict[str, Any], *, intervals: bool = True) -> str:
    """Return the provenance as the last paragraph of a Markdown page, with a sentence on intervals if it has any."""
    made = record["provenance"]
    packages = ", ".join(f"{name} {number}" for name, number in made["packages"].items())
    changed = len(made["uncommitted"])
    state = f"{changed} uncommitted changes, listed in the JSON" if changed else "no uncommitted changes"
    return (
        f"Made {made['date']} in {made['seconds']} s on commit {made['commit'][:12]} ({state}; "
        f"SHA-256 of the sources {made['sources'][:12]}…), Python {made['python']}, {packages}; "
        f"{made['processor']}, {made['processors']} processors. {_INTERVALS if intervals else ''}"
        "Hashes of the data are in the JSON."
    )


_INTERVALS = (
    f"Intervals are at 95 %, by bootstrap over the queries ({RESAMPLES:,} samples, percentiles, seed {SEED}); "
    "p is that of the sign-flip permutation test. "
)


def save(record: dict[str, Any], page: str, folder: Path, name: str) -> None:
    """Write ``NAME.json``, with numbers of six significant digits, and ``NAME.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(short(record), indent=1, ensure_ascii=False)
    write_whole(folder / f"{name}.json", text + "\n")
    write_whole(folder / f"{name}.md", page.rstrip() + "\n")


def append(record: dict[str, Any], page: str, folder: Path, name: str) -> None:
    """Append a line to ``NAME.jsonl``, with numbers of six significant digits, and write ``NAME.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(short(record), ensure_ascii=False) + "\n")
    say(f"appended to {folder / f'{name}.jsonl'}")
    write_whole(folder / f"{name}.md", page.rstrip() + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file by way of a partial one, so that an interrupted run leaves no half of it."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    say(f"wrote {path}")


def short(value: Any) -> Any:
    """Return a JSON value with numbers rounded to six significant digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: short(part) for name, part in value.items()}
    return [short(part) for part in value] if isinstance(value, list | tuple) else value


def need(module: str, package: str, why: str) -> Any:
    """Import a package that only experiments need.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{package} is not installed; it is needed for {why}",
            fixes=["pip install -r experiments/requirements.txt"],
        ) from error


def run_collections(
    doc: str | None,
    plan: Path,
    packages: Sequence[str],
    measured: Callable[[Mapping[str, Any], str, argparse.Namespace], Any],
    page: Callable[[Mapping[str, Any]], str],
    given: Sequence[str] | None,
) -> None:
    """Run an experiment that measures the collections of a plan one by one, and save its result.

    Parameters
    ----------
    doc : str or None
        Docstring of the experiment.
    plan : Path
        Default plan, a TOML file with ``name`` and ``collections``.
    packages : sequence of str
        Packages whose versions are reported.
    measured : callable
        Called with the plan, the name of a collection, and the parsed options; returns a result for JSON.
    page : callable
        Makes the text of the page from the whole result.
    given : sequence of str or None
        Options; by default those of the command line.
    """
    options = parser(doc, "work", "collections", "only", "out", "threads")
    options.add_argument("--plan", type=Path, default=plan)
    arguments = options.parse_args(given)
    about_run = provenance(packages)
    config = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    wanted = selected("collection", arguments.only, config["collections"])
    collections = {name: measured(config, name, arguments) for name in wanted}
    result = {
        "experiment": config["name"],
        "config": config,
        "collections": collections,
        "provenance": about_run | {"seconds": seconds()},
    }
    save(result, page(result), arguments.out, config["name"] + ("_partial" if arguments.only else ""))


def script(main: Callable[[], object]) -> None:
    """Run the main function of a script; errors of termwise end it with their message and exit status."""
    try:
        main()
    except TermwiseError as error:
        say(error.render())
        sys.exit(error.exit_code)


def say(text: str) -> None:
    """Print progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def git(*words: str) -> str:
    """Return the output of a git command in the repository, or ``unknown`` if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip("\n") if done.returncode == 0 else "unknown"


def version(name: str) -> str:
    """Return the version of an installed package, or ``not installed``."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        from termwise import __version__

        return __version__ if name == "termwise" else "not installed"


def processor() -> str:
    """Return the model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
