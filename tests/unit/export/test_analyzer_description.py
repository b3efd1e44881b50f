"""Both programs of the query kit make the tokens of termwise from the description of an analyzer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.kit_programs import JavaScriptKit

from termwise.errors import ParameterError
from termwise.export.analyzer_description import SUPPORTED, describe_analyzer
from termwise.export.kit.query_kit import analyzer_of
from termwise.export.language_steps import LANGUAGES, SNOWBALL_LANGUAGES, language_steps
from termwise.text import Analyzer, light_stems, make_analyzer, spelling
from termwise.text.spelling import DEVANAGARI_WHOLE

ELSEWHERE = ("sa", "bert-token", "scibert-token", *LANGUAGES)
"""Analyzers that do what others do, or that another test compares."""

NAMES = [
    *(name for name in SUPPORTED if name not in ELSEWHERE),
    "standard+stop+porter",
    "whitespace+lower+snowball",
]

HARD_PIECES = [
    *("AB–1200", "5–10 mm", "–", "M6−M8", "978–3–16", "Sofas", "Akkus", "Gläser"),
    *("a", "The", "don’t", "world’s", "e\u0301", "İ", "ΣΣ", "ǅ", "ß", "ﬁ", "𐐀", "𝐱", "Å", "ñandú"),
    *(
        "한국",
        "서울역",
        "漢字",
        "東京都の",
        "カﾞ",
        "ｶﾞｲﾄﾞ",
        "ﾊﾟ",
        "Ｔｅｘｔ",
        "ー",
        "ไทย",
        "豈",
        "ﾞ",
        "\u1100\u1161",
    ),
    *(
        "\ud800",
        "\udc00",
        "\x00",
        "\x7f",
        "\u200d",
        "\ufeff",
        "\u202e",
        "\u00ad",
        "\u0301\u0301",
        "\ufffd",
        "|",
    ),
    *("😀", "❤\ufe0f", "👩\u200d💻", "🇩🇪", "1\ufe0f\u20e3", "👍🏽", "🏴\U000e0067\U000e007f", "ℹ", "Ⓜ", "*"),
    *("שלום", 'א"ב', "א'", " ", "\u00a0", "\u3000", "\n", "_", "__", "'", "’", "1,5", "3.14", "a.b", "a:b"),
    *("##s", "[CLS]", "[UNK]", "[MASK]", "snake_case2", "getUserById", "HTTPResponse", "ⅷ", "①", "٣"),
    *(
        "\u302e\U0001d165",
        "\U0001d165\u0f7f\u302e",
        "\U0001d15e\u302e",
        "\U00016ff0\u1bab",
        "\u09fe\u302e",
        "\u1dfa",
    ),
    *(
        "AB-1200/X",
        "5 GHz",
        "t shirt",
        "2.5 mm",
        "1,200",
        "3,5",
        ",7",
        "O'Neill’s",
        "L’Été",
        "co\u00adop",
        "ǿ",
        "й",
        "и\u0306",
        "l'eau",
        "dell’Aquila L'É",
        "año y vino",
        "cre\u0300me\u0327",
        "E\u0301cole\u00ad",
        "HT\u00adTPGet",
        "\u1112\u1161\u11ab\u110b",
        "か\u3099\u00adき",
        "ｶﾞｱﾞ",
    ),
    *("running", "sties", "ponies", "dying", "generously", "exceeding", "news", "sayings", "yyyy", "skies's"),
    *("x" * 130, "_" * 300, "𝐱" * 140),
]
HARD_TEXTS = st.text(st.characters(exclude_categories=())) | st.lists(st.sampled_from(HARD_PIECES)).map(
    "".join
)


def joined_pairs(text: str) -> str:
    """Join surrogates that are a pair in UTF-16, which a text in JavaScript cannot have as two characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@pytest.fixture(scope="module")
def javascript() -> Iterator[JavaScriptKit]:
    with JavaScriptKit() as kit:
        yield kit


@pytest.fixture(scope="module", params=NAMES)
def described(request: pytest.FixtureRequest) -> tuple[Analyzer, dict[str, Any]]:
    analyzer = make_analyzer(request.param)
    return analyzer, json.loads(json.dumps(describe_analyzer(analyzer)))


@example("The world’s “sorted” lists, e-mail: 3,14 snake_case 東京 naïve dying")
@example("3,5mm 1,7 l 1,200 1,200mm 1,2,3 1.200,50 2,5x1,5 M3,5/X")
@example("_" * 300 + "a" + "_" * 600 + "b")
@example("a" * 600)
@example("𝐱" * 200 + "ys")
@settings(max_examples=40)
@given(HARD_TEXTS)
def test_python_makes_the_same_tokens(described: tuple[Analyzer, dict[str, Any]], text: str) -> None:
    analyzer, description = described
    program = _programs.setdefault(analyzer.spec.name, analyzer_of(description))
    assert program.tokens(text) == analyzer.tokens(text)


_programs: dict[str, Any] = {}


def test_javascript_makes_the_same_tokens(
    javascript: JavaScriptKit, described: tuple[Analyzer, dict[str, Any]]
) -> None:
    analyzer, description = described
    javascript.use(description)

    @example("The world’s “sorted” lists, e-mail: 3,14 snake_case 東京 naïve dying")
    @example("3,5mm 1,7 l 1,200 1,200mm 1,2,3 1.200,50 2,5x1,5 M3,5/X")
    @example("_" * 300 + "a" + "_" * 600 + "b")
    @example("a" * 600)
    @example("𝐱" * 200 + "ys")
    @settings(max_examples=40)
    @given(HARD_TEXTS.map(joined_pairs))
    def check(text: str) -> None:
        assert javascript.tokens(text) == analyzer.tokens(text)

    check()


def test_javascript_gives_the_ranges_of_words(javascript: JavaScriptKit) -> None:
    javascript.use(describe_analyzer(make_analyzer("english")))
    text = "𝐱 The sorted 𝐱𝐲 lists"
    found = javascript.analyze(text)
    units = text.encode("utf-16-le")
    cut = [units[2 * start : 2 * end].decode("utf-16-le") for _, start, end in found]
    assert cut == ["𝐱", "sorted", "𝐱𝐲", "lists"]
    assert [token for token, *_ in found] == make_analyzer("english").tokens(text)


@settings(max_examples=100)
@given(
    st.sampled_from(["", "gener", "past", "succ", "out", "dy", "sk", "y", "éa", "𝐱", "Ya", "inn", "ha"]),
    st.text("aeiouybcdlmnrstvwxY'", max_size=6),
    st.lists(
        st.sampled_from(
            [
                *("ational", "izer", "fulli", "logi", "li", "ative", "eed", "eedly", "ing", "ingly", "ed"),
                *("edly", "s", "es", "ies", "ied", "'", "'s", "'s'", "y", "e", "l", "ll", "us", "ss"),
            ]
        ),
        max_size=3,
    ).map("".join),
)
@pytest.mark.parametrize("name", ["whitespace+snowball", "whitespace+porter"])
def test_stems_of_any_letters(name: str, beginning: str, middle: str, end: str) -> None:
    analyzer = make_analyzer(name)
    program = _programs.setdefault(name, analyzer_of(describe_analyzer(analyzer)))
    word = beginning + middle + end
    assert program.tokens(word) == analyzer.tokens(word)


LETTERS = {
    "arabic": (
        "ابتثجحخدذرزسشآأإىةيهوً٣ـ",
        [*light_stems.ARABIC_PREFIXES, *light_stems.ARABIC_SUFFIXES],
    ),
    "czech": (
        "aábcčdďeéěghiíklmnoóprřsštťuúůvyýzž",
        [
            *(ending for _, ending, _ in (*light_stems.CZECH_CASES, *light_stems.CZECH_POSSESSIVES)),
            *(ending for ending, _ in light_stems.CZECH_CONSONANTS),
        ],
    ),
    "german": (
        "abdefghklmnoqrstuyäöüßéàAÜ",
        [
            *(ending for _, ending, _ in (*light_stems.GERMAN_1, *light_stems.GERMAN_2)),
            *("ae", "oe", "ue", "äu"),
        ],
    ),
    "hindi": (
        "".join(map(chr, range(0x901, 0x970))),
        [*(ending for _, ending, _ in light_stems.HINDI), *DEVANAGARI_WHOLE, "\u0928\u094d"],
    ),
    "italian": (
        "abcdeghilmnoprstuàèéìòùAÈ'’",
        [*(ending for _, ending, _ in light_stems.ITALIAN), "dell'", "L’", "D'", "sull'"],
    ),
    "persian": ("ابتثجحخدذرزسشیکۀہيه\u200c۳", list(light_stems.PERSIAN_SUFFIXES)),
    "portuguese": (
        "abcdefghilmnoprstuãõáéíóúâêôàç",
        [ending for _, ending, _ in (*light_stems.PORTUGUESE_PLURALS, *light_stems.PORTUGUESE_FEMININES)],
    ),
    "spanish": ("abcdeghilmnñoprstuzáéíóúü", [ending for _, ending, _ in light_stems.SPANISH]),
}
"""Letters and endings of each language."""

_LETTERS_OF_SNOWBALL = "".join(
    [
        "aábcčdđeéěfgğhiíîıjklmnñoóöőøprsșşštțţuúüűvyzžåäæâăïçõàèòŋð'’s",
        *(
            chr(point)
            for block in ((0x3AC, 0x3CF), (0x430, 0x460), (0x561, 0x588))
            for point in range(*block)
        ),
        *(
            chr(point)
            for block in ((0x5D0, 0x5EB), (0x901, 0x950), (0xB85, 0xBD0))
            for point in range(*block)
        ),
    ]
)


@settings(max_examples=200)
@given(st.text(_LETTERS_OF_SNOWBALL, max_size=14))
@pytest.mark.parametrize(
    "name",
    [
        *SNOWBALL_LANGUAGES,
        "catalan-parts",
        "finnish-parts",
        "hungarian-parts",
        "serbian-parts",
        "swedish-codes",
    ],
)
def test_words_of_languages_of_snowball(name: str, word: str) -> None:
    analyzer = make_analyzer(name)
    if name not in _programs:
        _programs[name] = analyzer_of(json.loads(json.dumps(describe_analyzer(analyzer, snowball=True))))
    for text in (word, word.upper(), f"L'{word}l·l{word}", f"AB-1/{word}"):
        assert _programs[name].tokens(text) == analyzer.tokens(text)


def test_only_a_kit_describes_stemmers_of_snowball() -> None:
    with pytest.raises(ParameterError, match="cannot reproduce this analyzer"):
        describe_analyzer(make_analyzer("swedish"))


@pytest.mark.parametrize("name", LANGUAGES)
def test_words_of_languages(javascript: JavaScriptKit, name: str) -> None:
    analyzer = make_analyzer(name)
    description = json.loads(json.dumps(describe_analyzer(analyzer)))
    program = analyzer_of(description)
    javascript.use(description)
    letters, endings = LETTERS[name]
    word = st.lists(st.text(letters, max_size=4) | st.sampled_from([*endings, "𐐨"]), max_size=4).map("".join)

    @settings(max_examples=50)
    @given(st.lists(word, max_size=8).map(" ".join))
    def check(text: str) -> None:
        expected = analyzer.tokens(text)
        assert program.tokens(text) == expected
        assert javascript.tokens(text) == expected

    check()


def test_every_character_alone_and_in_a_word() -> None:
    for name in ("english", "standard", "cjk", "code", "english-parts", "persian", "hindi", "wordpiece"):
        analyzer = make_analyzer(name)
        program = analyzer_of(describe_analyzer(analyzer))
        for start in range(0, 0x30000, 97):
            text = " ".join(f"{chr(point)} a{chr(point)}b" for point in range(start, start + 97, 13))
            assert program.tokens(text) == analyzer.tokens(text)


@pytest.mark.parametrize("name", ["lemmas-simple", "swedish", "french", "turkish"])
def test_other_analyzers_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="cannot reproduce this analyzer") as caught:
        describe_analyzer(make_analyzer(name))
    facts = dict(caught.value.facts)
    assert facts["analyzer"] == name
    assert "english" in str(facts["supported"])


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"normalizer": {"type": "Lowercase"}}, "normalizer"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer"),
    ],
)
def test_other_word_pieces_are_refused(tmp_path: Any, change: dict[str, Any], part: str) -> None:
    content = json.loads(make_analyzer("wordpiece").tokenizer_json)  # type: ignore[attr-defined]
    (tmp_path / "tokenizer.json").write_text(json.dumps({**content, **change}))
    analyzer = make_analyzer(f"wordpiece:{tmp_path / 'tokenizer.json'}")
    with pytest.raises(ParameterError, match="cannot reproduce this analyzer") as caught:
        describe_analyzer(analyzer)
    assert ("parts of the tokenizer in another form", part) in caught.value.facts


def test_a_cased_tokenizer_keeps_case_and_accents(tmp_path: Any, javascript: JavaScriptKit) -> None:
    content = json.loads(make_analyzer("wordpiece").tokenizer_json)  # type: ignore[attr-defined]
    content["normalizer"] |= {"lowercase": False, "strip_accents": False, "handle_chinese_chars": False}
    pieces = ["[UNK]", "Çok", "漢字", "A", "##b", "!"]
    content["model"]["vocab"] = {piece: number for number, piece in enumerate(pieces)}
    content["added_tokens"] = [{**content["added_tokens"][1], "id": 0}]
    assert content["added_tokens"][0]["content"] == "[UNK]"
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    analyzer = make_analyzer(f"wordpiece:{tmp_path / 'tokenizer.json'}")
    description = json.loads(json.dumps(describe_analyzer(analyzer)))
    javascript.use(description)
    text = "Çok 漢字!Ab[UNK]A çok"
    expected = ["Çok", "漢字", "!", "A", "##b", "[UNK]", "A", "[UNK]"]
    assert analyzer.tokens(text) == expected
    assert analyzer_of(description).tokens(text) == expected
    assert javascript.tokens(text) == expected


def test_unknown_descriptions_are_refused(javascript: JavaScriptKit) -> None:
    words = {"kind": "words", "tokenizer": "whitespace", "patterns": {"word": "a"}, "steps": []}
    for description, message in (
        ({"kind": "phonemes"}, "unknown kind of analyzer"),
        ({**words, "tokenizer": "syllables"}, "unknown tokenizer"),
        ({**words, "steps": [{"stem": "latin", "rules": {}}]}, "unknown step"),
    ):
        with pytest.raises(ValueError, match=message):
            analyzer_of(description)
        with pytest.raises(RuntimeError, match=message):
            javascript.use(description)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("digits:ascii", spelling.ascii_digits),
        ("letters:hindi", spelling.hindi_letters),
        ("letters:german", spelling.german_letters),
        ("letters:serbian", spelling.serbian_latin),
        ("lower-case:greek", spelling.greek_lower_case),
    ],
)
def test_replaced_characters_are_all_that_a_function_changes(
    name: str, function: Callable[[str], str]
) -> None:
    forms = {char: function(char) for char in map(chr, range(0x20000))}
    assert language_steps()[name][-1]["replace"] == {
        char: form for char, form in forms.items() if form != char
    }
    others = "".join(map(chr, range(0x20000, 0x110000)))
    assert function(others) == others
