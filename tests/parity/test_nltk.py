"""Parity of IBM Model 1 with NLTK."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.collection.training_pairs import PairSource
from termwise.text import make_analyzer
from termwise.translation import Model1Settings, estimate, make_bitext

translate = pytest.importorskip("nltk.translate")

WHOLE = Model1Settings(ratio=0.0, longest_ratio=1e9, symmetrise=False)

HOUSES = [
    ("das haus", "the house"),
    ("das buch", "the book"),
    ("ein buch", "a book"),
    ("ein kleines haus", "a small house"),
    ("das haus ist klein", "the house is small"),
    ("klein", "small small"),
]


def generated() -> list[tuple[str, str]]:
    """Return pairs with repeated words in passages, but not in queries."""
    random = np.random.default_rng(11)
    words = [f"w{number}" for number in range(40)]
    pairs = []
    for _ in range(60):
        query = random.permutation(words)[: random.integers(1, 7)]
        passage = random.choice(words, size=random.integers(1, 12))
        pairs.append((" ".join(query), " ".join(passage)))
    return pairs


@pytest.mark.parametrize("pairs", [HOUSES, generated()], ids=["houses", "generated"])
@pytest.mark.parametrize("iterations", [1, 2, 5, 20])
def test_equal_probabilities(pairs: list[tuple[str, str]], iterations: int) -> None:
    # NLTK counts a repeated target of a sentence only once (nltk.translate.ibm1, prob_all_alignments), so that no
    # query repeats a word here.
    theirs = translate.IBMModel1(
        [translate.AlignedSent(query.split(), passage.split()) for query, passage in pairs], iterations
    ).translation_table
    source = PairSource(
        "toy",
        [query for query, _ in pairs],
        [passage for _, passage in pairs],
        np.repeat(np.arange(len(pairs), dtype=np.int32), 2).reshape(-1, 2),
    )
    analyzer = make_analyzer("whitespace")
    bitext = make_bitext([source], analyzer, Model1Settings(ratio=0.0, longest_ratio=1e9, symmetrise=False))
    model = estimate(bitext, iterations=iterations, tolerance=0)
    token = bitext.vocabulary.token
    compared = 0
    for target in range(len(bitext.vocabulary)):
        for cell in range(model.starts[target], model.starts[target + 1]):
            number = int(model.sources[cell])
            expected = theirs[token(target)][token(number)]
            assert model.counts[cell] / model.totals[number] == pytest.approx(expected, abs=1e-6)
            compared += 1
    assert compared == len(model.sources) > 15
