"""Expectation maximisation: by hand, against plain loops, and resumed."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import translation as reference

from termwise.errors import CorruptModelError, ForeignFolderError, StorageError
from termwise.translation import Bitext, Estimate, em, estimate

from .conftest import bitext_of

HOUSES = [("das haus", "the house"), ("das buch", "the book"), ("ein buch", "a book")]

WORDS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6)


def chances(bitext: Bitext, model: Estimate) -> dict[tuple[str, str], float]:
    """Return T(t|u) by (u, t), in double precision."""
    token = bitext.vocabulary.token
    return {
        (token(int(source)), token(target)): model.counts[cell] / model.totals[source]
        for target in range(len(bitext.vocabulary))
        for cell in range(model.starts[target], model.starts[target + 1])
        for source in [model.sources[cell]]
    }


def written_out(bitext: Bitext) -> list[tuple[list[str], list[str]]]:
    """Return the pairs of (sources, targets) that a bitext stands for."""

    def pieces(side: Any, row: int) -> list[list[str]]:
        return [
            [
                bitext.vocabulary.token(int(token))
                for token in side.tokens[side.first[piece] : side.first[piece] + side.length[piece]]
            ]
            for piece in range(side.starts[row], side.starts[row + 1])
        ]

    pairs = []
    for row in range(len(bitext.queries.starts) - 1):
        (query,) = pieces(bitext.queries, row)
        for chunk in pieces(bitext.chunks, row):
            pairs.append((chunk, query))
            if bitext.symmetrised:
                pairs.append((query, chunk))
    return pairs


def slowly(
    pairs: list[tuple[list[str], list[str]]], iterations: int, **switches: float
) -> tuple[dict[Any, float], list[float]]:
    """Return T(t|u) by (u, t), and the perplexities, by the definition."""
    targets = {target for _, side in pairs for target in side}
    table: dict[Any, float] = defaultdict(lambda: 1 / len(targets))
    perplexities = []
    for _ in range(iterations):
        cells = {(u, t): table[u, t] for sources, side in pairs for u in (None, *sources) for t in side}
        counts, likelihood = reference.expected_counts(pairs, cells, **switches)
        perplexities.append(math.exp(-likelihood / sum(len(side) for _, side in pairs)))
        table = defaultdict(float, reference.likely_cells(counts))
    return {cell: value for cell, value in table.items() if cell[0] is not None}, perplexities


def test_the_first_iteration_by_hand() -> None:
    bitext = bitext_of(HOUSES, symmetrise=False)
    model = estimate(bitext, iterations=1)
    # In every pair two sources and NULL share each target evenly. "the" meets das twice, haus and buch once.
    found = chances(bitext, model)
    assert found["the", "das"] == pytest.approx(0.5)
    assert found["the", "haus"] == found["the", "buch"] == pytest.approx(0.25)
    assert found["house", "das"] == found["house", "haus"] == pytest.approx(0.5)
    assert model.counts.sum() == pytest.approx(12 / 3)
    assert model.perplexities == (pytest.approx(4.0),)
    assert model.updates == 3 * 3 * 2


def test_the_second_iteration_by_hand() -> None:
    bitext = bitext_of(HOUSES, symmetrise=False)
    model = estimate(bitext, iterations=2)
    # T(das|NULL) = T(buch|NULL) = 1/3, T(haus|NULL) = T(ein|NULL) = 1/6 after the first.
    das_in_first = 0.5 / (0.5 + 0.5 + 1 / 3)
    das_in_second = 0.5 / (0.5 + 0.25 + 1 / 3)
    haus = 0.25 / (0.25 + 0.5 + 1 / 6)
    buch = 0.25 / (0.25 + 0.5 + 1 / 3)
    total = das_in_first + das_in_second + haus + buch
    assert chances(bitext, model)["the", "das"] == pytest.approx((das_in_first + das_in_second) / total)
    denominators = [4 / 3, 11 / 12, 13 / 12, 13 / 12, 11 / 12, 4 / 3]
    expected = math.exp(-sum(math.log(total / 3) for total in denominators) / 6)
    assert model.perplexities[1] == pytest.approx(expected)


def test_words_find_their_partners() -> None:
    bitext = bitext_of(HOUSES, symmetrise=False)
    found = chances(bitext, estimate(bitext, iterations=50, tolerance=0))
    for pair in (("the", "das"), ("house", "haus"), ("book", "buch"), ("a", "ein")):
        assert found[pair] > 0.99


def test_small_fractional_counts_are_dropped_as_in_mgiza() -> None:
    # Of the one target "x" a tenth goes to each of nine sources and NULL; with drop 0.1 none is left.
    bitext = bitext_of([("x", "a b c d e f g h i")], symmetrise=False, ratio=0.0)
    model = estimate(bitext, iterations=1, floor=0.1, drop=0.1)
    assert model.counts.tolist() == [0.0] * 9
    assert model.rows()[2].tolist() == []
    kept = estimate(bitext, iterations=1, floor=0.1, drop=0.0999)
    assert kept.counts.tolist() == [pytest.approx(0.1)] * 9


def test_small_probabilities_count_as_the_floor() -> None:
    bitext = bitext_of(HOUSES, symmetrise=False)
    pairs = written_out(bitext)
    for switches in ({"floor": 1e-7, "drop": 1e-7}, {"floor": 0.1, "drop": 0.05}):
        model = estimate(bitext, iterations=8, tolerance=-1, **switches)
        table, perplexities = slowly(pairs, 8, **switches)
        assert {cell: value for cell, value in chances(bitext, model).items() if value > 0} == pytest.approx(
            table
        )
        assert model.perplexities == pytest.approx(perplexities)
    exact = estimate(bitext, iterations=8, tolerance=0)
    assert exact.perplexities != pytest.approx(perplexities, rel=1e-6)


@given(PAIRS, st.booleans(), st.sampled_from([0.0, 1.0, 1.5]))
@settings(max_examples=50)
def test_estimates_agree_with_the_definition(
    pairs: list[tuple[str, str]], symmetrise: bool, ratio: float
) -> None:
    bitext = bitext_of(pairs, symmetrise=symmetrise, ratio=ratio)
    # With tolerance 0 a perplexity that rounding raises would end the run early.
    model = estimate(bitext, iterations=4, tolerance=-1)
    table, perplexities = slowly(written_out(bitext), 4)
    assert chances(bitext, model) == pytest.approx(table, rel=1e-9)
    assert list(model.perplexities) == pytest.approx(perplexities, rel=1e-9)


@given(PAIRS, st.booleans())
@settings(max_examples=50)
def test_perplexity_does_not_rise_and_rows_sum_to_one(pairs: list[tuple[str, str]], symmetrise: bool) -> None:
    bitext = bitext_of(pairs, symmetrise=symmetrise)
    model = estimate(bitext, iterations=12, tolerance=0)
    for before, after in itertools.pairwise(model.perplexities):
        assert after <= before * (1 + 1e-12)
    indptr, _, probabilities = model.rows()
    for row in range(len(bitext.vocabulary)):
        if bitext.occurrences[row]:
            total = probabilities[indptr[row] : indptr[row + 1]].astype(np.float64).sum()
            assert total == pytest.approx(1.0, abs=1e-5)


@given(PAIRS)
@settings(max_examples=30)
def test_symmetrised_training_equals_a_doubled_bitext(pairs: list[tuple[str, str]]) -> None:
    both = bitext_of(pairs, ratio=0.0)
    mirrored = bitext_of(pairs + [(passage, query) for query, passage in pairs], ratio=0.0, symmetrise=False)
    one, other = estimate(both, tolerance=0), estimate(mirrored, tolerance=0)
    assert chances(both, one) == pytest.approx(chances(mirrored, other), rel=1e-9)
    assert one.perplexities == pytest.approx(other.perplexities)
    assert one.updates == other.updates


def many(count: int = 300) -> list[tuple[str, str]]:
    random = np.random.default_rng(3)
    return [
        tuple(" ".join(f"w{number}" for number in random.zipf(1.3, length) % 500) for length in (4, 30))  # type: ignore[misc]
        for _ in range(count)
    ]


def test_results_do_not_depend_on_threads() -> None:
    bitext = bitext_of(many())
    models = [estimate(bitext, threads=threads) for threads in (1, 2, 5)]
    for model in models[1:]:
        assert model.perplexities == models[0].perplexities
        for name in ("starts", "sources", "counts", "totals"):
            assert getattr(model, name).tobytes() == getattr(models[0], name).tobytes()


def test_estimation_stops_at_the_tolerance() -> None:
    bitext = bitext_of(HOUSES, symmetrise=False)
    perplexities = estimate(bitext, iterations=50, tolerance=0.01).perplexities
    gains = [1 - after / before for before, after in itertools.pairwise(perplexities)]
    assert len(perplexities) < 50
    assert gains[-1] < 0.01 <= min(gains[:-1])


MINE = {"data": "a", "settings": {"iterations": 2, "ratio": 1.5}}


class Stopped(Exception):
    """Raised by a progress report, as an interrupt would be."""


def stop_at(stage: str) -> Any:
    def progress(name: str, done: int, total: int | None) -> None:
        if name.startswith(stage) and done > 1:
            raise Stopped

    return progress


def test_a_resumed_run_gives_identical_results(tmp_path: Path) -> None:
    bitext = bitext_of(many())
    whole = estimate(bitext, iterations=5, tolerance=0)
    for stage in ("find cells", "iterate: 1 ", "iterate: 2 ", "iterate: 5 "):
        folder = tmp_path / stage
        with pytest.raises(Stopped):
            estimate(bitext, tolerance=0, folder=folder, identity=MINE, progress=stop_at(stage))
        resumed = estimate(bitext, tolerance=0, folder=folder, identity=MINE, resume=True, threads=3)
        assert resumed.counts.tobytes() == whole.counts.tobytes()
        assert resumed.perplexities == whole.perplexities
        assert [path.name for path in folder.glob("counts-*")] == ["counts-5.f64"]
    again = estimate(bitext, tolerance=0, folder=folder, identity=MINE, resume=True)
    assert again.counts.tobytes() == whole.counts.tobytes()


def test_long_sides_are_not_truncated() -> None:
    query, passage = (" ".join(f"{side}{number}" for number in range(150)) for side in "qp")
    bitext = bitext_of([(query, passage)], ratio=0.0)
    assert (bitext.queries.length.tolist(), bitext.chunks.length.tolist()) == ([150], [150])
    model = estimate(bitext, iterations=1)
    assert len(model.sources) == 2 * 150 * 150
    assert model.updates == 2 * 150 * 151


def test_a_run_is_neither_overwritten_nor_mixed_with_another(tmp_path: Path) -> None:
    bitext = bitext_of(HOUSES)
    estimate(bitext, iterations=2, folder=tmp_path, identity=MINE)
    with pytest.raises(ForeignFolderError, match="unfinished"):
        estimate(bitext, iterations=2, folder=tmp_path, identity=MINE)
    other = {"data": "b", "settings": {"iterations": 9, "ratio": 1.5}}
    with pytest.raises(ForeignFolderError, match="other data") as caught:
        estimate(bitext, iterations=2, folder=tmp_path, identity=other, resume=True)
    assert dict(caught.value.facts) == {
        "folder": tmp_path,
        "iterations": "9, began with 2",
        "differs in": "data",
    }
    with pytest.raises(ForeignFolderError, match="data or settings") as caught:
        estimate(bitext, iterations=2, folder=tmp_path, identity={**other, "data": "a"}, resume=True)
    assert caught.value.fixes_worded()[0] == "resume with the original settings: `resume=True, iterations=2`"


def test_damaged_states_are_named(tmp_path: Path) -> None:
    bitext = bitext_of(HOUSES)
    estimate(bitext, iterations=2, folder=tmp_path, identity=MINE)
    for name in ("em.json", "counts-2.f64"):
        path = tmp_path / name
        data = path.read_bytes()
        for changed in (data[:-2], data[:40] + bytes([data[40] ^ 1]) + data[41:], b"", b"{}", data + b"1"):
            path.write_bytes(changed)
            with pytest.raises(CorruptModelError) as caught:
                estimate(bitext, iterations=2, folder=tmp_path, identity=MINE, resume=True)
            assert dict(caught.value.facts)["file"] == path
        path.unlink()
        path.mkdir()
        with pytest.raises(CorruptModelError):
            estimate(bitext, iterations=2, folder=tmp_path, identity=MINE, resume=True)
        path.rmdir()
        path.write_bytes(data)
    (tmp_path / "counts-2.f64").unlink()
    with pytest.raises(CorruptModelError):
        estimate(bitext, iterations=2, folder=tmp_path, identity=MINE, resume=True)


def test_a_state_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        estimate(bitext_of(HOUSES), folder=tmp_path / "file")


def test_pruning_in_the_kernel_equals_pruning_the_table() -> None:
    model = em.estimate(bitext_of(many()))
    whole, pruned = model.rows(), model.rows(least=1e-3)
    kept = whole[2].astype(np.float64) >= 1e-3
    assert pruned[1].tolist() == whole[1][kept].tolist()
    assert pruned[2].tobytes() == whole[2][kept].tobytes()
    assert 0 < len(pruned[1]) < len(whole[1])
