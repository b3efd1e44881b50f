"""A vocabulary of twelve pieces, a network over it, and pairs whose answers use other words than the questions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from termwise.text import Analyzer, make_analyzer
from termwise.train.neural_model1.network import TranslationNetwork, make_network

ASKED = ["car", "doctor", "fix", "buy", "kid"]
ANSWERED = ["auto", "physician", "repair", "purchase", "child"]
PIECES = ["[UNK]", *ASKED, *ANSWERED, "the"]


@pytest.fixture(autouse=True)
def one_thread():
    """Use one thread: the networks are too small for several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in PIECES))
    return path


@pytest.fixture
def analyzer(vocabulary: Path) -> Analyzer:
    return make_analyzer(f"wordpiece:{vocabulary}")


@pytest.fixture
def network() -> TranslationNetwork:
    return small_network()


def small_network(form: str = "network", *, seed: int = 3) -> TranslationNetwork:
    torch.manual_seed(seed)
    return make_network(
        len(PIECES), form=form, width=10, projection=6, hidden=(7, 5), spread=1.0, expected=0.2
    )


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Return a file of pairs: two words, and their translations beside an uninformative word."""
    random = np.random.default_rng(5)
    path = tmp_path / "pairs.jsonl"
    with path.open("w") as file:
        for _ in range(80):
            chosen = sorted(random.permutation(5)[:2].tolist())
            query = " ".join(ASKED[i] for i in chosen)
            passage = " ".join([*(ANSWERED[i] for i in reversed(chosen)), "the", "the", random.choice(ASKED)])
            file.write(json.dumps({"query": query, "passage": passage}) + "\n")
    return path
