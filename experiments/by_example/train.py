"""Train the networks of the study of queries by example with the settings of ``recipe.toml``.

    python experiments/by_example/training_pairs.py halves --pairs WORK/prepared --out WORK/halves
    python experiments/by_example/training_pairs.py neighbours --pairs WORK/prepared --base BASE --out WORK/neighbours
    python experiments/by_example/train.py --pairs WORK --base BASE --models MODELS --size cpu

BASE is a folder with all-MiniLM-L6-v2. MODELS gets one folder per network, named as in the recipe. Finished networks
are not trained again, and interrupted trainings resume. ``--only NAME`` trains one network.

For SciDocs, the paper trains all networks for each task. BERT and SCIBERT are folders of MODELS named ``bert`` and
``scibert``, and WORK/scidocs is the output of ``scidocs.py``. ``NAME@TASK`` is the folder of a network of a task::

    python experiments/by_example/train.py --size scidocs --pairs WORK/scidocs/pairs --task cite --models MODELS
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402
from termwise_command import run_train_command  # noqa: E402

from termwise.collection.training_pairs import read_sources  # noqa: E402
from termwise.errors import UnknownNameError  # noqa: E402

EXPANSION = ("expansion-terms", "expansion-counting")
ABOUT_TRAINING = {"kind", "base", "pairs", "expand-with", *EXPANSION}
BASE = "base"
"""Name of the folder ``--base`` in the recipe."""

HALVES = "halves"
"""Default folder of training pairs."""


def main() -> None:
    recipe = tomllib.loads((HERE / "recipe.toml").read_text(encoding="utf-8"))
    parser = record.parser(__doc__)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of halves and neighbours")
    parser.add_argument("--base", type=Path, help="folder of the base encoder, if the recipe uses it")
    parser.add_argument("--models", type=Path, required=True, help="folder for the networks")
    parser.add_argument("--size", choices=sorted(recipe), default="cpu")
    parser.add_argument("--task", help="folder of the pairs of a task of SciDocs")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    networks = recipe[given.size]
    for name in given.only or networks:
        if name not in networks:
            raise UnknownNameError.of("network of the recipe", name, networks)
        out = given.models / (f"{name}@{given.task}" if given.task else name)
        if any((out / manifest).is_file() for manifest in ("encoder.json", "scorer.json")):
            record.say(f"{name}: {out} exists")
        elif networks[name]["kind"] == "vocabulary":
            make_vocabulary(networks[name], given, out.with_suffix(".txt"))
        else:
            train_network(networks[name], given, out)


def make_vocabulary(entry: Mapping[str, Any], given: argparse.Namespace, out: Path) -> None:
    """Learn a vocabulary of word pieces from the training texts, as SciBERT did for its field."""
    from tokenizers.implementations import BertWordPieceTokenizer

    if out.is_file():
        record.say(f"{out} exists")
        return
    sources = read_sources(given.pairs / HALVES / "train")
    learned = BertWordPieceTokenizer(lowercase=True)
    learned.train_from_iterator(
        (text for source in sources for text in (*source.queries, *source.passages)),
        vocab_size=entry["size"],
        min_frequency=entry["least"],
        show_progress=False,
    )
    given.models.mkdir(parents=True, exist_ok=True)
    pieces = sorted(learned.get_vocab().items(), key=lambda item: item[1])
    out.write_text("".join(f"{piece}\n" for piece, _ in pieces), encoding="utf-8")
    record.say(f"{out}: {len(pieces):,} pieces")


def train_network(entry: Mapping[str, Any], given: argparse.Namespace, out: Path) -> None:
    """Train TILDE, TILDEv2 or a cross-encoder by ``termwise train``."""
    base = str(given.base) if entry["base"] == BASE else entry["base"]
    if (given.models / base).is_dir():
        base = str(given.models / base)
    pairs = given.pairs / (given.task or entry.get("pairs", HALVES))
    options = ["--base", base, "--data", str(pairs / "train")]
    options += ["--validation", str(pairs / "validation"), "--threads", str(given.threads)]
    if "expand-with" in entry:
        expanding = entry["expand-with"]
        expander = given.models / (f"{expanding}@{given.task}" if given.task else expanding)
        options += ["--expand-with", expanding if expanding == "none" else str(expander)]
    for option in EXPANSION:
        if option in entry:
            options += [f"--{option}", str(entry[option])]
    settings = {
        setting: given.base if (setting, value) == ("teacher", BASE) else value
        for setting, value in entry.items()
        if setting not in ABOUT_TRAINING
    }
    run_train_command(entry["kind"], out, options=options, settings=settings)


if __name__ == "__main__":
    record.script(main)
