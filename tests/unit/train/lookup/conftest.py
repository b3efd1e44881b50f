"""Texts and a tiny dense encoder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from ..conftest import WORDS, with_modules


@pytest.fixture(scope="session")
def teacher(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sentence-transformers: the mean of the outputs, texts of at most 20 pieces."""
    folder = tmp_path_factory.mktemp("teachers") / "dense"
    shutil.copytree(base, folder)
    return with_modules(folder)


def made_texts(count: int, *, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return list(
        dict.fromkeys(
            " ".join(random.choice(WORDS[:30], size=random.integers(1, 8))) + f" {WORDS[number % 30]}"
            for number in range(count)
        )
    )


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "short.jsonl"
    lines = [{"text": text, "source": ("air", "code")[len(text) % 2]} for text in made_texts(120)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
