"""Train the translation table of the package, prune it to size, and write it to the assets.

    python experiments/shipped_models/prepare.py --pairs PAIRS --collections COLLECTIONS --out WORK/prepared
    python experiments/shipped_models/make_table.py --work WORK           # minutes on two cores
    python experiments/shipped_models/make_table.py --work WORK --ship    # write to the assets, too

The settings are those of ``recipe.toml``. The trained table is ``WORK/model1``; an interrupted training resumes, and a
finished one is not repeated. ``--table FOLDER`` names a finished table of the same pairs and settings. The shipped
table has no probability below the first threshold of the recipe with which the folder is small enough, and a card,
README.md, with the facts of ``card.toml``.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import record  # noqa: E402
from prepare import left_out  # noqa: E402

from termwise.cli.progress_bars import progress_bar  # noqa: E402
from termwise.collection.training_pairs import read_sources  # noqa: E402
from termwise.errors import ParameterError  # noqa: E402
from termwise.progress import Execution  # noqa: E402
from termwise.translation import (  # noqa: E402
    Model1Settings,
    TranslationTable,
    above,
    open_table,
    train_model1,
    write_table,
)
from termwise.translation.table_folder import CARD, TRAINING, read_manifest  # noqa: E402
from termwise.translation.table_manifest import NAME as MANIFEST  # noqa: E402

HERE = Path(__file__).resolve().parent
ASSETS = HERE.parents[1] / "src" / "termwise" / "assets" / "tables"
TABLE = "model1"


def main(argv: list[str] | None = None) -> None:
    arguments = record.parser(__doc__, "work", "threads")
    arguments.add_argument("--table", type=Path, help="finished table, in place of WORK/model1")
    arguments.add_argument("--ship", action="store_true")
    given = arguments.parse_args(argv)
    recipe = tomllib.loads((HERE / "recipe.toml").read_text())[TABLE]
    settings = Model1Settings.parse({name: str(value) for name, value in recipe["training"].items()})
    pairs = given.work / "prepared" / "train"
    folder = given.table or given.work / TABLE
    if given.table is None and not (folder / MANIFEST).is_file():
        train(pairs, folder, settings, given.threads)
    check_origin(folder, pairs, settings)
    if given.ship:
        ship(described(open_table(folder), given.work / "prepared"), ASSETS / TABLE, **recipe["shipping"])


def train(pairs: Path, out: Path, settings: Model1Settings, threads: int) -> None:
    with progress_bar() as progress:
        facts = train_model1(
            pairs,
            out,
            settings=settings,
            resume=(out / TRAINING).exists(),
            execution=Execution(threads=threads, progress=progress),
        )
    print(TABLE, json.dumps({name: facts[name] for name in ("perplexities", "entries", "bytes", "seconds")}))


def check_origin(folder: Path, pairs: Path, settings: Model1Settings) -> None:
    """Check that a table was trained on the pairs with the settings of the recipe.

    Raises
    ------
    ParameterError
        With the difference.
    """
    info = read_manifest(folder).description
    data = [{"name": one.name, "pairs": len(one), "digest": one.digest()} for one in read_sources(pairs)]
    for what, seen, expected in (
        ("the pairs", info.get("data"), data),
        ("the settings of the recipe", info.get("settings"), asdict(settings)),
    ):
        if seen != expected:
            raise ParameterError(
                f"the table does not come from {what}",
                facts=[("table", folder), ("expected", expected), ("seen", seen)],
                fixes=["omit --table", "choose another work folder"],
            )


def described(table: TranslationTable, prepared: Path) -> TranslationTable:
    """Add to the description of a table the pairs that were left out of its training."""
    info = table.description
    left = left_out(prepared, {one["name"]: one["pairs"] for one in info["data"]})
    return replace(table, description={**info, **({"left_out": left} if left else {})})


def ship(
    table: TranslationTable, place: Path, *, precision: Any, largest: int, least: Sequence[float]
) -> None:
    """Write a table to the assets, pruned by the first threshold with which its folder is small enough.

    Raises
    ------
    ParameterError
        If no threshold is sufficient.
    """
    for threshold in least:
        smaller = cut(table, threshold)
        with tempfile.TemporaryDirectory() as trial:
            size = write(smaller, Path(trial), precision)
        print(f"least {threshold:g}: {smaller.nnz:,} probabilities, {size:,} bytes")
        if size <= largest:
            break
    else:
        raise ParameterError(
            "no threshold makes the table small enough",
            facts=[("bytes", size), ("at most", largest), ("with least", threshold)],
            fixes=["add larger ones to recipe.toml"],
        )
    write(smaller, place, precision)
    print(f"{place}: {size:,} bytes")


def cut(table: TranslationTable, least: float) -> TranslationTable:
    """Remove the probabilities below a threshold, and record the table before in ``cut``."""
    info = table.description
    smaller = above(table, least)
    lost = table.occurrences @ np.maximum(1 - smaller.row_sums, 0) / table.occurrences.sum()
    before = {"least": least, "entries_before": info["entries"], "lost_before": info["lost"]}
    return replace(
        smaller, description={**info, "entries": smaller.nnz, "lost": round(float(lost), 6), "cut": before}
    )


def write(table: TranslationTable, folder: Path, precision: Any) -> int:
    """Write a table with its card, and return the bytes of all files."""
    write_table(table, folder, precision=precision)
    files = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    known = tomllib.loads((HERE / "card.toml").read_text())
    text = card({**known, **known[TABLE]}, table.description, precision, files)
    (folder / CARD).write_text(text, encoding="utf-8")
    return sum(path.stat().st_size for path in folder.iterdir())


def card(known: Mapping[str, Any], info: Mapping[str, Any], precision: str, files: Mapping[str, int]) -> str:
    """Return the card of a table from the facts of ``card.toml`` and its description."""
    data = [[one["name"], one["pairs"], *known["data"][one["name"]].values()] for one in info["data"]]
    header = {
        "language": [known["language"]],
        "license": known["license"].lower(),
        "datasets": [row[0] for row in data],
        "tags": ["termwise", TABLE, "translation-table"],
    }
    cut, left = info["cut"], info.get("left_out")
    facts = {
        "judged pairs": info["pairs"],
        "of them without a word on a side": info["empty"],
        "chunks beside their query": info["chunks"],
        "left out, one side more than "
        f"{info['settings']['longest_ratio']:g} times as long as the other": info["uneven"],
        "sequences, sides swapped included": info["sequences"],
        "different words of document sides": info["terms"],
        "words of document sides": info["tokens"],
        "cells of the model": info["cells"],
        "probabilities in this folder": info["entries"],
    }
    parts = [
        "\n".join(["---", *(f"{name}: {json.dumps(value)}" for name, value in header.items()), "---"]),
        f"# {known['name']}",
        known["summary"],
        "## Use",
        "```sh\n" + "\n".join(known["usage"]) + "\n```",
        known["intended"],
        "## Data",
        _table(["source", "pairs", "license", "origin"], data),
        *(
            [f"Of {left['pairs']:,} pairs {left['left_out']:,} were left out: {left['rule']}."]
            if left
            else []
        ),
        "The texts are no part of the table.",
        "## Training",
        _table(["", "number"], facts.items()),
        _table(
            ["iteration", "perplexity"],
            [[number, f"{value:,.2f}"] for number, value in enumerate(info["perplexities"], 1)],
        ),
        "All settings:",
        _table(["setting", "value"], sorted(info["settings"].items())),
        "## Cut to ship",
        f"Probabilities below {cut['least']:g} were left out, {cut['entries_before'] - info['entries']:,} of "
        f"{cut['entries_before']:,}, and the others rounded down to {precision}; rows were not scaled. Of the "
        f"probability of all translations, over the words of document sides, {info['lost']:.1%} is not in this "
        f"folder; in the table as it was trained, without probabilities below {info['settings']['least']:g}, "
        f"{cut['lost_before']:.1%} was not.",
        "## Limits",
        "\n".join(f"- {limit}" for limit in known["limits"]),
        "## Files",
        _table(["file", "bytes"], files.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _table(columns: Sequence[str], rows: Any) -> str:
    lines = [columns, ["---"] * len(columns), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    main()
