"""Agreement of naive, gathered and compiled scores of a translation table."""

from __future__ import annotations

import dataclasses
import math
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import translation as reference

from termwise import BuildOptions, Document, Query, Ranking, Run, build_index
from termwise.errors import (
    DuplicateIdError,
    ModelFormatError,
    ParameterError,
    UnknownIdError,
    UnknownNameError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.models import Model1
from termwise.search import TranslationScorer
from termwise.search import translation_scorer as module
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table

WORDS = ["auto", "car", "doctor", "heart", "cardiac", "valve", "road", "nurse"]
DOCUMENTS = [
    Document("a", "cardiac valve cardiac surgeon"),
    Document("b", "car on a road"),
    Document("empty", ""),
    Document("c", "nurse and doctor in a car"),
    Document("d", "valve"),
]
ROWS = {
    "cardiac": {"heart": 0.5, "cardiac": 0.25},
    "car": {"auto": 0.25, "car": 0.25, "road": 0.125},
    "nurse": {"doctor": 0.5},
    "doctor": {"nurse": 0.125, "doctor": 0.5, "heart": 0.0625},
    "road": {"car": 0.5},
}


def table_of(rows, words=WORDS, *, analyzer=None, **options):
    vocabulary = Vocabulary(words)
    entries = [sorted((vocabulary.number(t), p) for t, p in rows.get(word, {}).items()) for word in words]
    flat = [pair for row in entries for pair in row]
    return TranslationTable(
        vocabulary,
        np.cumsum([0, *map(len, entries)]),
        np.array([t for t, _ in flat], dtype=np.int64),
        np.array([p for _, p in flat], dtype=np.float64),
        np.arange(1, len(words) + 1),
        (analyzer or make_analyzer("whitespace")).spec,
        **options,
    )


def said_by(folder, documents=DOCUMENTS, analyzer="whitespace", **options):
    options = {"model": "ml", "analyzer": analyzer, "options": BuildOptions(quantiser="float32"), **options}
    return build_index(documents, folder, **options).index


BITEXT = {word: (place + 1) / 36 for place, word in enumerate(WORDS)}


def naive(rows, documents, query, *, p, lambda_, least=1e-3, mode="add", background="smoothed"):
    """Score all documents from dictionaries of words."""
    words = [document.text.split() for document in documents]
    collection = Counter(word for text in words for word in text)
    total = sum(collection.values())
    known = set(collection) | {t for targets in rows.values() for t, q in targets.items() if q >= least}
    scores = {}
    for document, text in zip(documents, words, strict=True):
        score = 0.0
        for word in query.split():
            if word not in known:
                continue
            mean = 0.0
            for source, count in Counter(text).items():
                chance = rows.get(source, {}).get(word, 0.0)
                if chance < least or (mode == "set" and source == word):
                    chance = 0.0
                mean += ((1 - p) * chance + p * (source == word)) * count / len(text)
            counted, asked = collection[word] / max(1, total), BITEXT.get(word, 0.0)
            probability = {"smoothed": 0.9 * asked + 0.1 * counted, "collection": counted, "bitext": asked}[
                background
            ]
            probability = max(probability, 1e-9)
            if lambda_ == 0:
                score += math.log(max(1e-8, mean))
            else:
                score += math.log((1 - lambda_) * mean + lambda_ * probability) - math.log(
                    lambda_ * probability
                )
        scores[document.doc_id] = score
    return scores


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return said_by(tmp_path_factory.mktemp("said") / "i")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "t"
    write_table(table_of(ROWS), path)
    return path


QUERIES = ["heart doctor", "heart heart auto", "valve", "zebra car", "", "zebra"]
SETTINGS = [
    {"p": 0.35, "lambda_": 0.3},
    {"p": 0.0, "lambda_": 0.05},
    {"p": 1.0, "lambda_": 0.5},
    {"p": 0.5, "lambda_": 0.0},
    {"p": 0.2, "lambda_": 0.1, "mode": "set"},
    {"p": 0.2, "lambda_": 0.1, "least": 0.2},
    {"p": 0.5, "lambda_": 0.1, "least": 0.2},  # 0.25 stays, though half of it is less
    {"p": 0.2, "lambda_": 0.1, "background": "collection"},
    {"p": 0.2, "lambda_": 0.1, "background": "bitext"},
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("given_", SETTINGS, ids=str)
def test_naive_gathered_and_compiled_scores_agree(index, folder, tmp_path, query, given_):
    wanted = naive(ROWS, DOCUMENTS, query, **given_)
    options = {
        "least": given_.get("least", 1e-3),
        "self_mode": given_.get("mode", "add"),
        "background": given_.get("background", "smoothed"),
    }
    scorer = TranslationScorer(
        index, table_of(ROWS), self_translation=given_["p"], lambda_=given_["lambda_"], **options
    )
    ids = [document.doc_id for document in DOCUMENTS]
    gathered = scorer.rank(query, candidates=ids, k=9)
    model = Model1(
        table=str(folder), self_translation=given_["p"], lambda_=given_["lambda_"], keep=0, **options
    )
    compiled = build_index(DOCUMENTS, tmp_path / "c", model=model, options=BuildOptions(quantiser="float32"))
    again = compiled.rank(query, candidates=ids, k=9)
    for ranking in (gathered, again):
        assert len(ranking) == len(ids)
        found = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert list(gathered.doc_ids) == sorted(ids, key=lambda one: (-round(wanted[one], 9), ids.index(one)))


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=6),
    st.dictionaries(
        st.sampled_from(WORDS),
        st.dictionaries(st.sampled_from(WORDS), st.floats(0.0078125, 0.125, width=32), max_size=6),
        max_size=len(WORDS),
    ),
    st.lists(st.sampled_from([*WORDS, "zebra"]), max_size=4),
    st.sampled_from([0.0, 0.35, 1.0]),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.sampled_from(["smoothed", "collection", "bitext"]),
)
@settings(max_examples=25)
def test_compiled_retrieval_finds_the_top_of_all_documents(texts, rows, query, p, lambda_, background):
    documents = [Document(f"d{i}", " ".join(words)) for i, words in enumerate(texts)]
    text = " ".join(query)
    wanted = naive(rows, documents, text, p=p, lambda_=lambda_, background=background)
    with tempfile.TemporaryDirectory() as place:
        write_table(table_of(rows), Path(place, "t"))
        model = Model1(table=f"{place}/t", self_translation=p, lambda_=lambda_, keep=0, background=background)
        try:
            searcher = build_index(
                documents, Path(place, "i"), model=model, options=BuildOptions(quantiser="float32")
            )
        except WeightError:  # nothing translates to anything
            return
        ranking = searcher.rank(text, k=3)
        least = min(wanted.values())
        constant = 0.0 if lambda_ else least
        best = sorted((score for score in wanted.values() if score > constant + 1e-9), reverse=True)[:3]
        assert ranking.scores.tolist()[: len(best)] == pytest.approx(best, rel=1e-6, abs=1e-6)
        for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True):
            assert score == pytest.approx(wanted[doc_id], rel=1e-6, abs=1e-6)


def test_repeated_query_words_count_repeatedly(index):
    scorer = TranslationScorer(index, table_of(ROWS))
    once = scorer.parts("heart auto", ["a", "b"]).scores(0.35, 0.3)
    twice = scorer.parts("heart heart auto auto", ["a", "b"]).scores(0.35, 0.3)
    assert twice.tolist() == pytest.approx((2 * once).tolist())


def test_parts_are_reused_for_tuning(index):
    scorer = TranslationScorer(index, table_of(ROWS))
    parts = scorer.parts("heart valve zebra", ["a", "empty", "d"])
    assert parts.words == ("heart", "valve")
    assert parts.translated.tolist() == [[0.25, 0], [0, 0], [0, 0]]
    assert parts.untranslated.tolist() == [[0, 0.25], [0, 0], [0, 1]]
    assert parts.times.tolist() == [1, 1]
    assert parts.probabilities.tolist() == pytest.approx(
        [0.9 * BITEXT["heart"], 0.9 * BITEXT["valve"] + 0.1 * 2 / 15]
    )
    for p, lambda_ in [(0.1, 0.3), (0.9, 0.0)]:
        other = TranslationScorer(index, table_of(ROWS), self_translation=p, lambda_=lambda_)
        ranking = other.rank("heart valve zebra", candidates=["a", "empty", "d"])
        assert sorted(parts.scores(p, lambda_), reverse=True) == ranking.scores.tolist()


@pytest.mark.parametrize(
    ("background", "heart", "surgeon"),
    [
        ("smoothed", 0.9 * BITEXT["heart"], 0.1 / 15),
        ("collection", 1e-9, 1 / 15),
        ("bitext", BITEXT["heart"], 1e-9),
    ],
)
def test_words_known_to_table_or_collection_only(index, background, heart, surgeon):
    scorer = TranslationScorer(index, table_of(ROWS), background=background)
    parts = scorer.parts("heart surgeon", ["a", "d"])
    assert parts.words == ("heart", "surgeon")
    assert parts.probabilities.tolist() == pytest.approx([heart, surgeon])


def test_defaults_equal_those_of_the_compiled_model():
    for field in dataclasses.fields(Model1):
        if field.name not in ("table", "keep", "prune"):
            assert getattr(TranslationScorer, field.name) == field.default, field.name


def test_a_closed_vocabulary(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(["[UNK]", *WORDS]) + "\n")
    analyzer = make_analyzer(f"wordpiece:{tmp_path / 'vocab.txt'}")
    table = table_of(ROWS, ["[UNK]", *WORDS], analyzer=analyzer)
    write_table(table, tmp_path / "t")
    index = said_by(tmp_path / "ml", analyzer=analyzer)
    model = Model1(table=str(tmp_path / "t"), keep=0)
    compiled = build_index(DOCUMENTS, tmp_path / "c", model=model, options=BuildOptions(quantiser="float32"))
    assert compiled.index.vocabulary.id == table.vocabulary.id
    for query in ("heart", "auto valve valve"):
        first = TranslationScorer(index, table).rank(query, candidates=["a", "b", "c", "d"])
        second = compiled.rank(query, candidates=["a", "b", "c", "d"])
        assert first.doc_ids == second.doc_ids
        assert first.scores.tolist() == pytest.approx(second.scores.tolist(), rel=1e-6)


def test_many_queries_over_a_run(index):
    scorer = TranslationScorer(index, table_of(ROWS))
    run = Run([Ranking(["a", "c"], [2.0, 1.0], query_id="q1")], "first")
    timed = scorer.timed_run([Query("q1", "doctor"), Query("q2", "car")], candidates=run)
    assert timed.run["q1"].doc_ids == ("c", "a")
    assert len(timed.run) == len(timed.encoding) == len(timed.scoring) == 1


def test_concurrent_scoring(index, monkeypatch):
    scorer = TranslationScorer(index, table_of(ROWS))
    asked = ["heart doctor", "valve auto"]
    ids = [document.doc_id for document in DOCUMENTS]
    alone = [scorer.rank(query, candidates=ids) for query in asked]
    meeting = threading.Barrier(2, timeout=30)

    def gather(*given_):
        meeting.wait()  # whoever held a lock here would wait for the other in vain
        return gather_translations(*given_)

    gather_translations = module.gather_translations
    monkeypatch.setattr(module, "gather_translations", gather)
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda query: scorer.rank(query, candidates=ids), asked))
    assert [one.doc_ids for one in together] == [one.doc_ids for one in alone]
    assert [one.scores.tolist() for one in together] == [one.scores.tolist() for one in alone]


def test_sums_over_a_long_document_are_exact(tmp_path):
    random = np.random.default_rng(4)
    words = ["asked", *(f"w{number}" for number in range(10_000))]
    times = random.integers(1, 5, 10_000).tolist()
    chances = random.uniform(0.01, 0.9, 10_000).astype(np.float32).tolist()
    rows = {word: {"asked": chance} for word, chance in zip(words[1:], chances, strict=True)}
    text = " ".join(" ".join([word] * count) for word, count in zip(words[1:], times, strict=True))
    index = said_by(tmp_path / "i", [Document("long", text)])
    scorer = TranslationScorer(index, table_of(rows, words), background="bitext")
    shares = [float(np.float32(count / sum(times))) for count in times]
    mean = math.fsum(chance * share for chance, share in zip(chances, shares, strict=True))
    parts = scorer.parts("asked", ["long"])
    assert parts.translated.item() == pytest.approx(mean, rel=1e-12)
    probability = 1 / sum(range(1, 10_002))
    expected = math.log1p(0.7 * 0.9 * mean / (0.3 * probability))
    assert scorer.rank("asked", candidates=["long"]).scores.item() == pytest.approx(expected, rel=1e-12)


def test_candidates_are_checked(index):
    scorer = TranslationScorer(index, table_of(ROWS))
    with pytest.raises(UnknownIdError):
        scorer.rank("car", candidates=["nobody"])
    with pytest.raises(DuplicateIdError):
        scorer.rank("car", candidates=["a", "a"])
    with pytest.raises(ParameterError):
        scorer.rank("car", candidates=["a"], k=0)


def test_indexes_of_another_kind_are_refused(tmp_path):
    short = build_index(DOCUMENTS, tmp_path / "short", model="ml", analyzer="whitespace").index
    bm25 = build_index(DOCUMENTS, tmp_path / "bm25", analyzer="whitespace").index
    for wrong in (short, bm25):
        with pytest.raises(ParameterError, match=r"terms of the documents|term frequencies"):
            TranslationScorer(wrong, table_of(ROWS))


def test_documents_of_another_analyzer_are_refused(tmp_path):
    with pytest.raises(VocabularyMismatchError, match="different analyzers") as caught:
        TranslationScorer(said_by(tmp_path / "i", analyzer="english"), table_of(ROWS))
    facts = dict(caught.value.facts)
    assert (facts["index"], facts["table"]) == (f"{tmp_path / 'i'}  english", table_of(ROWS).analyzer.name)


@pytest.mark.parametrize(
    "setting",
    [{"self_translation": 2}, {"lambda_": 1}, {"lambda_": -0.1}, {"self_translation": "a"}, {"least": 2}],
)
def test_values_out_of_range_are_refused(index, setting):
    with pytest.raises(ParameterError):
        TranslationScorer(index, table_of(ROWS), **setting)


def test_unknown_choices_are_refused(index):
    with pytest.raises(UnknownNameError):
        TranslationScorer(index, table_of(ROWS), background="web")
    with pytest.raises(UnknownNameError):
        TranslationScorer(index, table_of(ROWS), self_mode="sub")


def test_parts_refuse_values_out_of_range(index):
    parts = TranslationScorer(index, table_of(ROWS)).parts("car", ["a"])
    for p, lambda_ in [(0.5, 1), (1.5, 0.5), (float("nan"), 0.5)]:
        with pytest.raises(ParameterError):
            parts.scores(p, lambda_)


def test_tables_with_nan_are_refused(folder, tmp_path):
    with pytest.raises(WeightError, match="is out of range"):
        table_of({"car": {"auto": float("nan")}})
    copy = tmp_path / "t"
    write_table(table_of(ROWS), copy)
    data = bytearray((copy / "probabilities.npy").read_bytes())
    data[-4:] = np.float32("nan").tobytes()
    (copy / "probabilities.npy").write_bytes(bytes(data))
    with pytest.raises(ModelFormatError):
        Model1(table=str(copy)).for_vocabulary(Vocabulary(WORDS))


def test_scores_are_the_reference(index):
    parts = TranslationScorer(index, table_of(ROWS)).parts("heart car", ["a", "b", "c"])
    slow = reference.model1_scores(
        parts.translated.tolist(),
        parts.untranslated.tolist(),
        parts.times.tolist(),
        parts.probabilities.tolist(),
        0.3,
        0.2,
    )
    assert parts.scores(0.3, 0.2).tolist() == pytest.approx(slow, rel=1e-12)
