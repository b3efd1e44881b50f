"""Train the networks of the probes' comparison with the settings of ``recipe.toml``.

    python experiments/probes/train.py --pairs WORK/prepared --base BASE --models MODELS --size cpu

BASE is a folder with all-MiniLM-L6-v2; the pairs are the output of ``shipped_models/prepare.py``. MODELS gets one
folder per network, named as in the recipe; existing networks are not trained again, and interrupted trainings resume.
``--seed`` trains with another seed in the folder ``NAME@SEED``, to measure the variance between seeds.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402
from termwise_command import run_train_command  # noqa: E402

KIND, TEACHER = "kind", "teacher"
"""Keys of the recipe: the command of ``termwise train``, and the teacher, which is the folder ``--base``."""


def main() -> None:
    recipe = tomllib.loads((HERE / "recipe.toml").read_text(encoding="utf-8"))
    parser = record.parser(__doc__)
    parser.add_argument("--pairs", type=Path, required=True, help="folder with train and validation")
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--size", choices=sorted(recipe), default="cpu")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    options = ["--base", str(given.base), "--data", str(given.pairs / "train")]
    options += ["--validation", str(given.pairs / "validation"), "--threads", str(given.threads)]
    for name, entry in recipe[given.size].items():
        out = given.models / (name if given.seed is None else f"{name}@{given.seed}")
        if (out / "scorer.json").is_file():
            record.say(f"{name}: {out} exists")
            continue
        settings = entry | {TEACHER: given.base} | ({} if given.seed is None else {"seed": given.seed})
        run_train_command(settings.pop(KIND), out, options=options, settings=settings)


if __name__ == "__main__":
    record.script(main)
