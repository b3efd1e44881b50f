"""Judged collections and encoders that are small enough to run whole experiments in a test."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from termwise.text import Vocabulary
from termwise.vectors import TermVectors

ROOT = Path(__file__).resolve().parents[3]
EXPERIMENTS = ROOT / "experiments"
FOLDERS = ("zero_shot", "tilde_tables", "shipped_models", "model1_tables", "by_example", "scale", "rerankers")

WORDS = ("merge", "sort", "list", "cat", "dog", "read", "file", "heap", "queue", "wing", "flow", "heat")


def module_of(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """Return the module that makes encoders small enough to compute by hand."""
    return module_of("tiny_encoders", ROOT / "tests" / "unit" / "encode" / "tiny.py")


@pytest.fixture(scope="session")
def toy() -> ModuleType:
    """Return the module that makes encoders small enough to train."""
    return module_of("toy_training", ROOT / "tests" / "unit" / "train" / "conftest.py")


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    if not EXPERIMENTS.is_dir():
        pytest.skip("the experiments are not part of this distribution")
    parts = (EXPERIMENTS / name for name in FOLDERS)
    for folder in (EXPERIMENTS, *parts, ROOT / "benchmarks"):
        monkeypatch.syspath_prepend(str(folder))
    import record

    monkeypatch.setattr(record, "RESAMPLES", 200)


@pytest.fixture
def pieces(tiny: ModuleType) -> tuple[str, ...]:
    return (*tiny.SPECIAL, "the", "##s", *WORDS)


@pytest.fixture
def other_encoder(tiny: ModuleType, pieces: tuple[str, ...], tmp_path: Path) -> str:
    """Return the folder of a TILDE encoder whose expansion differs from that of `encoders`."""
    terms = len(pieces)
    first = pieces.index(WORDS[0])
    far = {
        number: {number: 0.5, first + (number - first + 5) % len(WORDS): 2.0}
        for number in range(first, terms)
    }
    table = tiny.square(far, otherwise=-5.0, terms=terms)
    folder = tiny.make_folder(
        tmp_path / "other", "tilde", table, floors=[-4.5] * terms, pieces=pieces, positions=32,
        trained={"pairs_seen": 1000, "settings": {"contrast": 0.02, "prior_bias": False, "teacher": "none"}},
    )  # fmt: skip
    return str(folder)


@pytest.fixture
def encoders(tiny: ModuleType, pieces: tuple[str, ...], tmp_path: Path) -> dict[str, str]:
    """Return folders of a TILDE, a TILDEv2 and a SPLADE-doc encoder that expand a word with its neighbour."""
    terms = len(pieces)
    first = pieces.index(WORDS[0])
    near = {
        number: {number: 3.0, first + (number - first + 1) % len(WORDS): 1.0}
        for number in range(first, terms)
    }
    table = tiny.square(near, otherwise=-6.0, terms=terms)
    table[tiny.DOC] = -7.0
    table[tiny.QRY] = -7.0
    expansion = tiny.ExpansionRecord(terms=2, counting="new", length=8, encoder="sha256:none", name="tilde")
    made = {
        "tilde": tiny.make_folder(
            tmp_path / "tilde", "tilde", table, floors=[-5.0] * terms, pieces=pieces, positions=32
        ),
        "tildev2": tiny.make_folder(
            tmp_path / "tildev2",
            "tildev2",
            np.linspace(0.5, 2.0, terms),
            expansion=expansion,
            pieces=pieces,
            positions=32,
        ),
        "splade-doc": tiny.make_folder(tmp_path / "splade", "splade-doc", table, pieces=pieces, positions=32),
    }
    return {name: str(folder) for name, folder in made.items()}


@pytest.fixture
def lookup_encoder(tiny: ModuleType, pieces: tuple[str, ...], tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes an encoder of lookup with a dimension for each word, and returns its folder."""

    def write(**options: Any) -> str:
        table = np.eye(len(pieces), dtype=np.float32) + np.float32(0.01)
        vectors = TermVectors.of(table, Vocabulary(pieces).id)
        folder = tmp_path / "lookup"
        return str(
            tiny.make_folder(
                folder, "lookup", table, term_vectors=vectors, pieces=pieces, positions=32, **options
            )
        )

    return write


@pytest.fixture
def experiment(collections: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that runs an experiment over `collections` with a plan, and returns its result."""

    def run(main: Callable[[list[str]], None], plan: str, *options: str) -> dict[str, Any]:
        path, out = tmp_path / "plan.toml", tmp_path / "out"
        path.write_text(plan)
        folders = [f"--work={tmp_path / 'work'}", f"--collections={collections}", f"--out={out}"]
        main([f"--plan={path}", *folders, "--threads=1", *options])
        found: dict[str, Any] = json.loads((out / f"{tomllib.loads(plan)['name']}.json").read_text())
        return found

    return run


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """Return a folder with two collections of 50 documents; each query is four words of its document."""
    root = tmp_path / "collections"
    for seed, name in enumerate(("cats", "dogs")):
        random = np.random.default_rng(seed)
        folder = root / name
        (folder / "qrels").mkdir(parents=True)
        texts = [" ".join(random.choice(WORDS, size=random.integers(5, 25))) for _ in range(50)]
        with (folder / "corpus.jsonl").open("w") as file:
            file.writelines(
                json.dumps({"_id": f"d{place}", "title": "", "text": text}) + "\n"
                for place, text in enumerate(texts)
            )
        with (folder / "queries.jsonl").open("w") as file:
            for place in range(20):
                words = " ".join(texts[place].split()[:4])
                file.write(json.dumps({"_id": f"q{place}", "text": words}) + "\n")
        for split, queries in (("test", range(10)), ("dev", range(10, 20))):
            lines = ["query-id\tcorpus-id\tscore", *(f"q{place}\td{place}\t1" for place in queries)]
            lines += [f"q{place}\td{place + 20}\t1" for place in queries]
            (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    (root / "dogs" / "seeds.tsv").write_text("".join(f"q{place}\td{place}\n" for place in range(20)))
    return root
