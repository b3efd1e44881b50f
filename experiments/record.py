"""What every result file says: the code, the packages, the data and the machine; and how it is written."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import MissingExtraError, MissingFileError, TermwiseError
from termwise.evaluate import Contrast

ROOT = Path(__file__).resolve().parents[1]
COLLECTIONS = ROOT.parent / "shared" / "data" / "collections"
RESULTS = ROOT / "experiments" / "results"

RESAMPLES = 10_000
SEED = 0
PERCENTILES = [2.5, 97.5]

AT_ONCE = 1 << 22
"""Values that are drawn at a time: 50 MB."""


def collection_folder(root: Path, name: str) -> Path:
    """Return the folder of one judged collection.

    Raises
    ------
    MissingFileError
        If it is not there; names what is expected where.
    """
    folder = root / name
    if not (folder / "corpus.jsonl.gz").is_file():
        raise MissingFileError(
            "a judged collection is not there",
            facts=[
                ("looked for", folder / "corpus.jsonl.gz"),
                ("expected", "BEIR folders: corpus.jsonl.gz, queries.jsonl, qrels/SPLIT.tsv"),
            ],
            fixes=["--collections FOLDER, the folder that holds one folder a collection"],
        )
    return folder


def check_splits(folder: Path, splits: Iterable[str]) -> None:
    """Check that queries and judgments are there before anything long is started."""
    needed = [folder / "queries.jsonl", *(folder / "qrels" / f"{split}.tsv" for split in splits)]
    missing = [path for path in needed if not path.is_file()]
    if missing:
        raise MissingFileError(
            "a judged collection is not complete", facts=[("missing", path) for path in missing]
        )


def provenance(packages: Sequence[str]) -> dict[str, Any]:
    """Say on what code, with which packages, on what machine and when a result is made; ask at the start.

    Parameters
    ----------
    packages : sequence of str
        Distributions whose versions matter.

    Returns
    -------
    dict
        ``sources`` is the SHA-256 over the package and the experiments as they were run: with uncommitted
        changes it says what the commit cannot.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted": _git("status", "--porcelain", "--", "src", "experiments").splitlines(),
        "sources": tree_hash([*(ROOT / "src").rglob("*.py"), *(ROOT / "experiments").rglob("*.py")], ROOT),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in packages},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
    }


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_hash(paths: Iterable[Path], root: Path) -> str:
    """Return one SHA-256 over names and contents of files, whatever order they are given in."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(root).as_posix()} {file_hash(path)}\n".encode())
    return digest.hexdigest()


def data_hash(folder: Path, splits: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each file of a collection that an experiment reads."""
    names = ["corpus.jsonl.gz", "queries.jsonl", "seeds.tsv", *(f"qrels/{split}.tsv" for split in splits)]
    return {name: file_hash(folder / name) for name in names if (folder / name).is_file()}


def mean_interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile interval of a mean, by bootstrap over the queries.

    The differences between runs have theirs from `termwise.evaluate.compare`, made in the same way.
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
        What is averaged.
    seed : int or sequence of int, optional
        Of the draws.

    Returns
    -------
    ndarray of shape (resamples, systems), float64
        One row a draw. However many queries there are, only some draws are held at a time; that changes none of them.
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
    """Return what a result file keeps of a contrast."""
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
    """Write a number for a table: ``.476``, ``+.004``, an en dash where there is none."""
    if value is None:
        return "–"
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.replace("-", "").replace("+", "")
    if abs(float(text)) < 1:
        text = text.replace("0.", ".", 1)
    return text.replace("-", "−")


def interval(bounds: Sequence[float | None], *, digits: int = 3, signed: bool = False) -> str:
    """Write an interval for a table."""
    low, high = (number(bound, digits=digits, signed=signed) for bound in bounds)
    return "–" if bounds[0] is None else f"{low} to {high}"


def p_value(p: float | None) -> str:
    """Write a p-value for a table."""
    if p is None:
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Write a Markdown table; the first `left` columns are set left, the others right."""
    ruler = ["---"] * left + ["--:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ruler, *rows))


def about(record: dict[str, Any]) -> str:
    """Write the provenance as the last paragraph of a Markdown result."""
    made = record["provenance"]
    packages = ", ".join(f"{name} {number}" for name, number in made["packages"].items())
    changed = len(made["uncommitted"])
    state = f"{changed} uncommitted changes, listed in the JSON" if changed else "nothing uncommitted"
    return (
        f"Made {made['date']} in {made['seconds']} s on commit {made['commit'][:12]} ({state}; "
        f"SHA-256 of the sources {made['sources'][:12]}…), Python {made['python']}, {packages}; "
        f"{made['processor']}, {made['processors']} processors. Intervals hold 95 %, by bootstrap over the queries "
        f"({RESAMPLES:,} samples, percentiles, seed {SEED}); p is that of the sign-flip permutation test. "
        "Hashes of the data are in the JSON."
    )


def save(record: dict[str, Any], page: str, folder: Path, name: str) -> None:
    """Write ``NAME.json``, numbers to six significant digits, and ``NAME.md``, and say so."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in (
        (folder / f"{name}.json", json.dumps(short(record), indent=1, ensure_ascii=False)),
        (folder / f"{name}.md", page.rstrip()),
    ):
        partial = path.with_name(path.name + ".part")
        partial.write_text(text + "\n", encoding="utf-8")
        partial.replace(path)
        say(f"wrote {path}")


def append(record: dict[str, Any], page: str, folder: Path, name: str) -> None:
    """Add a line to ``NAME.jsonl``, numbers to six significant digits, write ``NAME.md`` anew, and say so."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(short(record), ensure_ascii=False) + "\n")
    partial = folder / f"{name}.md.part"
    partial.write_text(page.rstrip() + "\n", encoding="utf-8")
    partial.replace(folder / f"{name}.md")
    say(f"added a line to {folder / f'{name}.jsonl'} and wrote {folder / f'{name}.md'}")


def short(value: Any) -> Any:
    """Return the same with numbers to six significant digits."""
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
        If it is not installed; says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{package} is not installed; it is needed for {why}",
            fixes=["pip install -r experiments/requirements.txt"],
        ) from error


def script(main: Callable[[], None]) -> None:
    """Run an experiment; an error made on purpose is shown without a traceback and gives its exit status."""
    try:
        main()
    except TermwiseError as error:
        say(error.render())
        sys.exit(error.exit_code)


def say(text: str) -> None:
    """Tell progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip("\n") if done.returncode == 0 else "unknown"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        from termwise import __version__

        return __version__ if name == "termwise" else "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
