"""Written pairs: completeness, uniqueness, and properties that a program can check."""

from __future__ import annotations

from collections import Counter
from importlib import resources

import pytest

from termwise.probes import Constant, Samples, run_probe
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.written_pairs import FAMILY, QUALITIES, written_pairs


@pytest.mark.parametrize("quality", QUALITIES)
def test_pairs_are_complete_and_distinct(quality):
    pairs = list(written_pairs(quality))
    assert len(pairs) == 30
    assert len({pair.query for pair in pairs}) == 30
    texts = [text for pair in pairs for text in (pair.first, pair.second)]
    assert len(set(texts)) == 60
    for number, pair in enumerate(pairs, 1):
        assert pair.pair_id == f"{quality}-{number:02}"
        assert pair.facts["source"] == "termwise"
        for text in (pair.query, pair.first, pair.second):
            assert text == " ".join(text.split())
            assert text
        if quality != "formality":
            assert pair.first[0].isupper()
            assert pair.first[-1] == "."
            assert pair.second[-1] == "."


def test_false_statements_differ_in_one_fact():
    pairs = list(written_pairs("factuality"))
    kinds = Counter(pair.facts["type"] for pair in pairs)
    assert kinds == dict.fromkeys(["person", "place", "nationality", "organisation", "number"], 6)
    for pair in pairs:
        first, second = pair.first.split(), pair.second.split()
        shared = sum((Counter(first) & Counter(second)).values())
        assert shared >= len(first) - 4, pair.pair_id
        changed = [word for word in second if word not in first]
        assert changed, pair.pair_id
        asked = set(pair.query.lower().split())
        assert not asked & {word.strip(".,").lower() for word in changed if word[0].isupper()}, pair.pair_id


def test_summaries_are_shorter():
    for pair in written_pairs("succinctness"):
        assert 3 * len(pair.first) < 2 * len(pair.second), pair.pair_id


def test_paraphrases_have_similar_lengths():
    for pair in written_pairs("paraphrase"):
        assert 0.5 < len(pair.first) / len(pair.second) < 2, pair.pair_id


def test_files_ship_with_the_package():
    folder = resources.files("termwise.probes.sources").joinpath("written")
    assert {f"{quality}.jsonl" for quality in QUALITIES} <= {file.name for file in folder.iterdir()}


class Short:
    """Prefers short texts."""

    name = "short"

    def score(self, query, texts):
        import numpy as np

        return np.array([-float(len(text)) for text in texts])


def test_the_probes_of_written_pairs():
    probes = {probe.name: probe for probe in FAMILY.make(ProbeInputs(language=None, stop_words=frozenset()))}
    assert list(probes) == [f"{quality}@written" for quality in QUALITIES]
    assert [name for name, probe in probes.items() if probe.symmetric] == ["paraphrase@written"]
    for probe in probes.values():
        assert len(Samples.of(probe.samples(0))) == 30
        assert Samples.of(probe.samples(0)).content == Samples.of(probe.samples(1)).content
    assert run_probe(Short(), probes["succinctness@written"], Constant(0.5)).score == 1.0
