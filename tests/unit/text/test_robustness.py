from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.text import analyzer_names, make_analyzer
from termwise.text.language_compounds import COMPOUNDS
from termwise.text.language_parts import LANGUAGE_PARTS
from termwise.text.languages import LANGUAGES

# sa and bert-token do what standard and wordpiece do.
# lemmas is tested by itself: it is slower by far.
NAMES = sorted({*analyzer_names(), "standard+stop+porter"} - {"sa", "bert-token", "scibert-token", "lemmas"})
PARTS = tuple(f"{name}-parts" for name in COMPOUNDS)
for name, package in (
    *((name, "simplemma") for name in ("lemmas-simple", *PARTS)),
    *(("chinese", "jieba"), ("japanese", "fugashi")),
):
    if find_spec(package) is None:
        NAMES.remove(name)
every_analyzer = pytest.mark.parametrize("analyzer", [make_analyzer(name) for name in NAMES], ids=NAMES)
CODES = (*(f"{name}-codes" for name in COMPOUNDS), *(f"{name}-parts" for name in LANGUAGE_PARTS))
OVERLAPPING = ("chinese", "cjk", "code", "english-parts", *PARTS, *CODES)
# Other languages have the same steps.
SOME = [
    name
    for name in NAMES
    if name not in (*LANGUAGES, *PARTS, *CODES)
    or name in ("french", "french-parts", "german-parts", "hindi", "irish", "persian", "turkish")
]
some_analyzers = pytest.mark.parametrize("analyzer", [make_analyzer(name) for name in SOME], ids=SOME)
hard_pieces = [
    *(
        "a",
        "The",
        "don’t",
        "e\u0301",
        "İ",
        "ΣΣ",
        "한국",
        "漢字",
        "\ud800",
        "\x00",
        "\u200d",
        "😀",
        "❤\ufe0f",
        "\u202e",
    ),
    *("שלום", " ", "_", "'", "1,5", "##s", "[CLS]", "[UNK]", "\ufeff", "\u0301\u0301", "𐐀", "ﬁ", "x" * 130),
]
hard_text = st.text(st.characters(exclude_categories=())) | st.lists(st.sampled_from(hard_pieces)).map(
    "".join
)


def check(analyzer, text):
    analysis = analyzer.analyze(text)
    assert analyzer.tokens(text) == list(analysis.tokens)
    assert analysis.spans.dtype == np.int32
    assert analysis.spans.shape == (len(analysis.tokens), 2)
    starts, ends = analysis.spans[:, 0], analysis.spans[:, 1]
    assert (starts >= 0).all()
    assert (starts < ends).all()
    assert (ends <= len(text)).all()
    if analyzer.spec.name in OVERLAPPING:
        assert (np.diff(starts) >= 0).all()
    elif analyzer.vocabulary is None:
        assert (ends[:-1] <= starts[1:]).all()
    else:  # two pieces can come from one character
        assert (np.diff(starts) >= 0).all()
        assert (np.diff(ends) >= 0).all()
    for token in analysis.tokens:
        assert token
        token.encode()


@every_analyzer
@settings(max_examples=40)
@given(text=hard_text)
def test_any_text_can_be_analysed(analyzer, text):
    first = analyzer.tokens(text)
    analyzer.tokens(text[::-1])
    check(analyzer, text)
    assert analyzer.tokens(text) == first


@some_analyzers
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "word " * 20_000 + "é",
        "x" * 200_000,
        "ß" * 60_000,
        "\u0301" * 200_000,
        "漢" * 20_000,
        "\ud800" * 60_000,
        "\x00" * 200_000,
        "_'" * 40_000,
        "\u202eשלום مرحبا " * 5_000,
    ],
    ids=lambda text: ascii(text[:10]),
)
def test_a_long_text_can_be_analysed(analyzer, text):
    check(analyzer, text)


@every_analyzer
def test_ascii_letters_of_both_cases_are_words(analyzer):
    assert len(analyzer.tokens("Merge sorted LISTS")) == 3
