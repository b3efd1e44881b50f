"""Pairs of Chinese, Japanese and Korean characters."""

import pytest

from termwise import Document, build_index
from termwise.explain.explanation_text import marks
from termwise.text import CjkWords, make_analyzer
from termwise.text.cjk import one_width

# Texts and tokens, which equal those of Lucene 10.4's CJKAnalyzer.
TOKENS = {
    "東京都は日本の首都です。": "東京 京都 都は は日 日本 本の の首 首都 都で です",
    "서울은 한국의 수도이다": "서울 울은 한국 국의 수도 도이 이다",
    "北京是中国的首都": "北京 京是 是中 中国 国的 的首 首都",
    "ラーメンを食べる": "ラー ーメ メン ンを を食 食べ べる",
    "中 文": "中 文",
    "한국abc漢字ABC": "한국abc 漢字 abc",
    "カタカナ_1 ひ": "カタカナ_1 ひ",
    "Ｔｈｅ Ｔｅｘｔ１２": "text12",
    "ﾊﾟﾝｶﾞ": "パン ンガ",
    "𠀀𠀁字": "𠀀𠀁 𠀁字",
    "the 本 of": "本",
}


@pytest.mark.parametrize("text", TOKENS)
def test_tokens_are_those_of_lucene(text):
    assert make_analyzer("cjk").tokens(text) == TOKENS[text].split()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("か\u3099き", "がき"),
        ("か\u00adき\ufe00く", "かき きく"),
        ("\u1112\u1161\u11ab국\u110b\u1166", "한국 국에"),
        ("\uac00\u11ab나", "간나"),
        ("가゙어", "가゙어"),
    ],
)
def test_marks_belong_to_the_character_before_unlike_in_lucene(text, tokens):
    assert make_analyzer("cjk").tokens(text) == tokens.split()


def test_the_fingerprint_is_for_ever():
    assert make_analyzer("cjk").spec.fingerprint == (
        "sha256:c56d95157d00c125a9540f79ff47d519d47a874ece207c2094f78d869386bed5"
    )


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("東京都 TV", [(0, 2), (1, 3), (4, 6)]),
        ("ｶﾞｲﾄﾞ", [(0, 3), (2, 5)]),
        ("𠀀𠀁字", [(0, 2), (1, 3)]),
        ("漢,字", [(0, 1), (2, 3)]),
    ],
)
def test_spans_of_pairs(text, spans):
    assert CjkWords().spans(text) == spans


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ｳﾞﾜﾞｦﾞ", "ヴヷヺ"),
        ("ﾊﾟﾊﾞ", "パバ"),
        ("ﾞｱﾟ", "\u3099ア\u309a"),
        ("ガﾞ", "ガ\u3099"),
        ("ﾊﾟﾟ", "パ\u309a"),
        ("カﾞ", "ガ"),
    ],
)
def test_one_width(word, expected):
    assert one_width(word) == expected


def test_matched_pairs_are_marked(tmp_path):
    documents = [Document("a", "東京都は日本の首都です"), Document("b", "서울은 한국의 수도이다")]
    searcher = build_index(documents, tmp_path / "index", analyzer="cjk", store_text=True)
    assert searcher.rank("日本首都").doc_ids == ("a",)
    explanation = searcher.explain("日本の首都", "a")
    marked = sorted({(mark.start, mark.end) for mark in marks(explanation)})
    assert {position for start, end in marked for position in range(start, end)} == set(range(4, 9))
    korean = searcher.explain("수도", "b")
    assert [korean.text[mark.start : mark.end] for mark in marks(korean)] == ["수도"]
