"""Train the networks of the probes' comparison with the settings of ``recipe.toml``.

    python experiments/probes/train.py --pairs WORK/prepared/train --base BASE --models MODELS --size cpu

BASE is a folder with all-MiniLM-L6-v2; the pairs are the output of ``shipped_models/prepare.py``. MODELS gets one
folder per network, named as in the recipe; existing networks are not trained again. ``--seed`` trains with another seed
in the folder ``NAME@SEED``, to measure the variance between seeds.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402
from cross_encoders import train_cross_encoder  # noqa: E402

from termwise.collection.training_pairs import read_sources  # noqa: E402


def main() -> None:
    recipe = tomllib.loads((HERE / "recipe.toml").read_text(encoding="utf-8"))
    parser = record.parser(__doc__)
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
            record.say(f"{name}: {out} exists")
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
