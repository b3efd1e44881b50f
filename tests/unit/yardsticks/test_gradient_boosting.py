"""Gradient-boosted trees: features, training, folder and invalid input."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise import Document
from termwise.errors import (
    CorruptModelError,
    DataError,
    ForeignFolderError,
    MissingExtraError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UsageError,
)
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers import Background, TokenStatistics, model_scorer
from termwise.scorers.protocol import PairScorer, fingerprint_of
from termwise.text import make_analyzer
from termwise.yardsticks.text_features import TextFeatures, longest_span, shortest_window

pytest.importorskip("lightgbm", reason="needs the extra yardsticks")

from termwise.yardsticks import (
    BoostingSettings,
    GradientBoostingScorer,
    open_gradient_boosting,
    train_gradient_boosting,
    write_gradient_boosting,
)

WORDS = make_analyzer("whitespace")
DOCUMENTS = [Document("1", "a b"), Document("2", "a c c"), Document("3", "a d"), Document("4", "e")]
QUICK = BoostingSettings(rounds=20, leaves=4, least=2, learning_rate=0.2)
letters = st.lists(st.sampled_from("abcd"), max_size=8)


def row_of(query, text):
    features = TextFeatures([(WORDS, TokenStatistics.count(DOCUMENTS, WORDS))])
    (row,) = features.of_pairs([query], [text])
    return {name.removeprefix("whitespace."): value for name, value in zip(features.names, row, strict=True)}


def test_features_by_hand():
    row = row_of("a c x", "b a y a c")
    idf = {"a": math.log(1 + 1.5 / 3.5), "c": math.log(1 + 3.5 / 1.5), "x": math.log(1 + 3.5 / 1.5)}
    bm25 = model_scorer("bm25", Background(lambda: DOCUMENTS), analyzer="whitespace")
    assert row == pytest.approx(
        {
            "query_characters": 5,
            "text_characters": 9,
            "runs_of_3": 1 / 3,  # "a c", not " c " or "c x"
            "runs_of_4": 0,
            "bm25": bm25.score("a c x", ["b a y a c"])[0],
            "query_terms": 3,
            "text_terms": 5,
            "covered": 2,
            "covered_share": 2 / 3,
            "idf": sum(idf.values()),
            "idf_covered": idf["a"] + idf["c"],
            "idf_share": (idf["a"] + idf["c"]) / sum(idf.values()),
            "tf": 3,
            "tf_most": 2,
            "tf_idf": idf["a"] * math.log(3) + idf["c"] * math.log(2),
            "overlap": 3 / 5,
            "first": 1,
            "span": 2,
            "span_share": 2 / 3,
            "window": 2 / 2,
            "pairs": 2 / 3.2,  # a and c, at distances of 3 and 1
            "ordered_pairs": 2 / 3.2,
        }
    )


def test_pairs_of_terms_are_near_in_query_and_text():
    far = "a y y y y y y y c"  # 8 apart
    assert row_of("a c", far)["pairs"] == pytest.approx(1 / 2.2)
    assert row_of("a c", "y".join(["a ", " y" * 8, " c"]))["pairs"] == 0
    assert (row_of("c a", far)["pairs"], row_of("c a", far)["ordered_pairs"]) == (pytest.approx(1 / 2.2), 0)
    assert row_of("a x x x c", "a c")["pairs"] == pytest.approx(1 / 2.2)  # 4 apart in the query
    assert row_of("a x x x x c", "a c")["pairs"] == 0
    assert row_of("a a", "a a")["pairs"] == 0


def test_undefined_features_are_nan():
    nothing = row_of("", "")
    assert {name for name, value in nothing.items() if math.isnan(value)} == {
        "runs_of_3", "runs_of_4", "covered_share", "idf_share", "overlap", "first", "span_share", "window",
    }  # fmt: skip
    assert math.isnan(row_of("a", "b a")["window"])
    assert row_of("a", "b")["span"] == 0


@given(letters, letters)
def test_spans_and_windows_agree_with_an_exhaustive_search(query, text):
    places = {term: [i for i, each in enumerate(text) if each == term] for term in set(text)}

    def pieces(row):
        return {tuple(row[i:j]) for i in range(len(row)) for j in range(i + 1, len(row) + 1)}

    assert longest_span(query, text) == max(map(len, pieces(query) & pieces(text)), default=0)
    covered = [term for term in dict.fromkeys(query) if term in places]
    if covered:
        expected = min(len(piece) for piece in pieces(text) if set(covered) <= set(piece))
        assert shortest_window([places[term] for term in covered]) == expected


def collection(seed=0):
    """Grade texts by whether two query words are adjacent, which BM25 ignores."""
    random = np.random.default_rng(seed)
    queries, texts, grades = {}, {}, {}
    for number in range(30):
        one, other = random.choice(list("abcdefgh"), 2, replace=False).tolist()
        queries[f"q{number}"] = f"{one} {other}"
        grades[f"q{number}"] = {}
        for place in range(10):
            filler = random.choice(list("uvwxyz"), 6).tolist()
            together = bool(place % 2)
            words = [one, other, *filler] if together else [one, *filler, other]
            doc_id = f"d{number}-{place}"
            texts[doc_id] = " ".join(words)
            grades[f"q{number}"][doc_id] = 2 * together
    return JudgedTexts("toy", queries, texts, grades, 0)


@pytest.fixture(scope="module")
def judged():
    return collection()


@pytest.fixture(scope="module")
def background(judged):
    return Background(lambda: [Document(*each) for each in judged.texts.items()])


@pytest.fixture(scope="module")
def scorer(judged, background):
    return train_gradient_boosting(judged, background, settings=QUICK)


def test_training_finds_the_relevant_feature(scorer, background):
    assert isinstance(scorer, PairScorer)
    assert fingerprint_of(scorer) == scorer.fingerprint
    unseen = collection(1)
    for query_id, query in unseen.queries.items():
        of_query = unseen.of(query_id)
        scores = scorer.score(query, [one.text for one in of_query])
        grades = np.array([one.grade for one in of_query])
        assert scores[grades == 2].min() > scores[grades == 0].max()
    assert next(iter(scorer.gains())).rpartition(".")[2] in {"runs_of_3", "span", "span_share", "window"}
    bm25 = model_scorer("bm25", background).score("a b", ["a b u v w x y z", "a u v w x y z b"])
    assert bm25[0] == bm25[1], "or there was nothing to learn"


def test_training_is_deterministic(scorer, judged, background):
    again = train_gradient_boosting(judged, background, settings=QUICK)
    assert again.fingerprint == scorer.fingerprint
    shuffled = JudgedTexts(
        judged.name,
        dict(reversed(judged.queries.items())),
        dict(reversed(judged.texts.items())),
        {query: dict(reversed(held.items())) for query, held in reversed(judged.grades.items())},
        judged.lowest,
    )
    assert train_gradient_boosting(shuffled, background, settings=QUICK).model == scorer.model
    other = train_gradient_boosting(judged, background, analyzers=["whitespace"], settings=QUICK)
    assert other.fingerprint != scorer.fingerprint


def test_a_score_does_not_depend_on_the_others(scorer):
    queries, texts = ["a b", "c", "a b", ""], ["a b u", "u c", "b u a", ""]
    together = scorer.score_pairs(queries, texts)
    alone = [scorer.score(query, [text])[0] for query, text in zip(queries, texts, strict=True)]
    assert together.tolist() == alone
    assert np.isfinite(together).all()
    assert scorer.score("a", []).shape == (0,)
    with pytest.raises(ParameterError):
        scorer.score("a", "a")


def test_the_folder_gives_the_same_scores(scorer, tmp_path):
    write_gradient_boosting(scorer, tmp_path / "trees", trained={"judged": "toy"})
    write_gradient_boosting(scorer, tmp_path / "trees")
    context = ScorerContext(Background(lambda: [Document("a", "another collection")]))
    opened = open_scorer(str(tmp_path / "trees"), context)
    assert isinstance(opened, GradientBoostingScorer)
    assert opened.name == "trees"
    assert opened.fingerprint == scorer.fingerprint
    texts = ["a b u", "b u a", "", "never seen"]
    assert opened.score("a b", texts).tolist() == scorer.score("a b", texts).tolist()
    assert open_scorer(f"mine={tmp_path / 'trees'}", context).name == "mine"
    with pytest.raises(UsageError):
        open_scorer(f"{tmp_path / 'trees'},rounds=3", context)


def test_damaged_files_are_refused(scorer, tmp_path):
    folder = tmp_path / "trees"
    write_gradient_boosting(scorer, folder)
    for file in ("model.txt", "statistics.json"):
        whole = (folder / file).read_bytes()
        (folder / file).write_bytes(whole.replace(b"1", b"2", 1))
        with pytest.raises(CorruptModelError):
            open_gradient_boosting(folder)
        (folder / file).unlink()
        with pytest.raises(MissingFileError):
            open_gradient_boosting(folder)
        (folder / file).write_bytes(whole)
    manifest = folder / "gradient-boosting.json"
    whole = manifest.read_text()
    manifest.write_text(whole.replace("standard.bm25", "standard.bm26"))
    with pytest.raises(CorruptModelError):
        open_gradient_boosting(folder)
    manifest.unlink()
    with pytest.raises(ModelFormatError):
        open_gradient_boosting(folder)
    with pytest.raises(MissingFileError):
        open_gradient_boosting(tmp_path / "none")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(ForeignFolderError):
        write_gradient_boosting(scorer, tmp_path / "full")


def test_a_manifest_of_other_features_is_refused(scorer, tmp_path):
    from termwise.yardsticks.gradient_boosting_folder import FOLDERS

    write_gradient_boosting(scorer, tmp_path / "trees")
    path = tmp_path / "trees" / "gradient-boosting.json"
    body = json.loads(path.read_text())
    body = {name: value for name, value in body.items() if name not in ("format", "checksum")}
    path.write_bytes(FOLDERS.sealed(body | {"features": body["features"][::-1]}))
    with pytest.raises(ModelFormatError, match="computes differently"):
        open_gradient_boosting(tmp_path / "trees")
    features = TextFeatures([(WORDS, TokenStatistics.count(DOCUMENTS, WORDS))])
    with pytest.raises(ModelFormatError, match="other features"):
        GradientBoostingScorer(scorer.model, features)
    with pytest.raises(ModelFormatError, match="cannot be read"):
        GradientBoostingScorer("no trees", features)


def test_a_folder_of_version_1_is_read(scorer, tmp_path):
    from termwise.yardsticks.gradient_boosting_folder import FOLDERS

    write_gradient_boosting(scorer, tmp_path / "trees")
    path = tmp_path / "trees" / "gradient-boosting.json"
    body = {
        name: value
        for name, value in json.loads(path.read_text()).items()
        if name not in ("format", "checksum", "mixture", "parts")
    }
    path.write_bytes(FOLDERS.sealed(body | {"version": 1}))
    assert open_gradient_boosting(tmp_path / "trees").fingerprint == scorer.fingerprint


def test_judgments_without_contrast_are_refused(judged, background):
    same = JudgedTexts("same", {"q": "a"}, {"d": "a", "e": "b"}, {"q": {"d": 1, "e": 1}}, 0)
    with pytest.raises(DataError, match="nothing to train"):
        train_gradient_boosting(same, background)
    high = JudgedTexts("high", {"q": "a"}, {"d": "a", "e": "b"}, {"q": {"d": 99, "e": 0}}, 0)
    with pytest.raises(DataError, match="too high"):
        train_gradient_boosting(high, background)
    for analyzers in ([], ["standard", "standard"], "standard"):
        with pytest.raises(ParameterError):
            train_gradient_boosting(judged, background, analyzers=analyzers)
    with pytest.raises(ParameterError):
        BoostingSettings(leaves=1)


def test_a_missing_extra_is_named(judged, background, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtraError) as caught:
        train_gradient_boosting(judged, background)
    assert "termwise[yardsticks]" in caught.value.fixes_worded()[0]
