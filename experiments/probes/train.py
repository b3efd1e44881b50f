"""Train the networks that probes compare ours with, as ``recipe.toml`` says.

    python experiments/probes/train.py --pairs WORK/prepared/train --base BASE --models MODELS --size cpu

BASE is a folder with all-MiniLM-L6-v2, the pairs are what ``shipped_models/prepare.py`` wrote. In MODELS there is then
one folder a network, named as in the recipe; what is there is not trained again. ``--seed`` makes one of another seed,
``NAME@SEED``: seeds are what scores are unsure by.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402
from cross_encoders import train_cross_encoder  # noqa: E402

from termwise.collection.pairs import read_sources  # noqa: E402


def main() -> None:
    recipe = tomllib.loads((HERE / "recipe.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--size", choices=sorted(recipe), default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    given.models.mkdir(parents=True, exist_ok=True)
    sources = read_sources(given.pairs)
    for name, entry in recipe[given.size].items():
        out = given.models / (f"{name}@{given.seed}" if given.seed else name)
        if (out / "model.safetensors").is_file():
            record.say(f"{name}: {out} is there")
            continue
        train_cross_encoder(
            entry,
            sources,
            base=str(given.base),
            out=out,
            work=given.models / "bm25",
            threads=given.threads,
            seed=given.seed,
        )


if __name__ == "__main__":
    record.script(main)
