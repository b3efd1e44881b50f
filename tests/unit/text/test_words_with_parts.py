"""Compounds, joined and in parts, and letters without accents."""

from __future__ import annotations

import pickle
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.text import WordsWithParts, make_analyzer
from termwise.text.analyzer import Analysis
from termwise.text.folding import folded, folded_except, joined
from termwise.text.words_with_parts import LONGEST_JOINED

ANALYZER = make_analyzer("english-parts")

PIECES = [
    *(
        "AB-1200/X",
        "getUserById",
        "HTTPResponse2",
        "T-shirt",
        "t shirt",
        "5GHz",
        "5 GHz",
        "2.5 mm",
        "1,200",
        "3,5",
        ",",
        "wi-fi",
        "AB–1200",
        "5–10 mm",
        "–",
    ),
    *(
        "L’Oréal",
        "O'Neill's",
        "don't",
        "cre\u0300me",
        "co\u00adop",
        "a\u200bb",
        "й",
        "и\u0306",
        "हिन्दी",
        "한국",
        "漢字",
    ),
    *(
        "U.S.A.",
        "AT&T",
        "x" * 70 + "-y",
        "the",
        "_",
        "-",
        ".",
        "'",
        " ",
        "\x1f",
        "\u0301",
        "²",
        "½",
        "𝐱",
        "É",
        "ǅ",
    ),
]
TEXTS = st.text(st.characters(exclude_categories=("Cs",))) | st.lists(st.sampled_from(PIECES)).map("".join)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("AB-1200/X", ["AB-1200/X", "AB", "1200", "X"]),
        ("getUserById()", ["getUserById", "get", "User", "By", "Id"]),
        ("get_user_by_id", ["get_user_by_id", "get", "user", "by", "id"]),
        (
            "parseHTTPResponse XMLHttp",
            ["parseHTTPResponse", "parse", "HTTP", "Response", "XMLHttp", "XML", "Http"],
        ),
        ("GHz iPhone mRNA PhD PDFs kWh eBay", ["GHz", "iPhone", "mRNA", "PhD", "PDFs", "kWh", "eBay"]),
        ("5GHz, 5 GHz", ["5GHz", "5", "GHz", "5 GHz", "5", "GHz"]),
        ("10\u202fmm 2.5 mm", ["10\u202fmm", "10", "mm", "2.5 mm", "2.5", "mm"]),
        ("5 men, 10 in, 3 XLs", ["5", "men", "10", "in", "3", "XLs"]),
        (
            "a dog I think t shirt X ray",
            ["a", "dog", "I", "think", "t shirt", "t", "shirt", "X ray", "X", "ray"],
        ),
        ("b-52 t of", ["b-52", "b", "52", "t", "of"]),
        ("1,200 1,20 3.11.5", ["1,200", "1,20", "3.11.5"]),
        ("3,5mm 1,200mm", ["3,5mm", "3,5", "mm", "1,200mm", "1,200", "mm"]),
        ("2,5x1,75m", ["2,5x1,75m", "2,5", "x", "1,75", "m"]),
        ("M3,5/X-0,5", ["M3,5/X-0,5", "M3,5", "M", "3,5", "X", "0,5"]),
        ("1,2,3 10-1,20,300 mm", ["1", "2", "3", "10-1", "10", "1", "20", "300 mm", "300", "mm"]),
        ("1.200,50 1.5,2.5 1,234,5 1,2.5", ["1.200", "50", "1.5", "2.5", "1,234", "5", "1", "2.5"]),
        ("a,5 5,a 3,5. 3,5, 7", ["a", "5", "5", "a", "3,5", "3,5", "7"]),
        ("don’t world's O'Neill's", ["don’t", "world's", "O'Neill's", "O", "Neill's"]),
        ("U.S.A. R&D - end.", ["U.S.A", "U", "S", "A", "R&D", "R", "D", "end"]),
        ("snake__case -x- a/-b", ["snake", "case", "x", "a", "b"]),
        ("cre\u0300me E\u0301COLE co\u00adop", ["cre\u0300me", "E\u0301COLE", "co\u00adop"]),
        ("größeÄndern НовыйФайл", ["größeÄndern", "größe", "Ändern", "НовыйФайл", "Новый", "Файл"]),
        ("漢字 漢 字字字 हिन्दी m²", ["漢字", "漢", "字字字", "हिन्दी", "m²", "m", "²"]),
        ("\u0301 \x1f \x1e ☃", []),
        ("AB–1200/X AB—1200–20", ["AB–1200/X", "AB", "1200", "X", "AB—1200–20", "AB", "1200", "20"]),
        ("978–3–16 DIN–A4", ["978–3–16", "978", "3", "16", "DIN–A4", "DIN", "A4", "A", "4"]),
        ("5–10 mm 1990–2000 −5 °C", ["5", "10 mm", "10", "mm", "1990", "2000", "5", "C"]),
        ("5mm–10mm M6–M8", ["5mm", "5", "mm", "10mm", "10", "mm", "M6", "M", "6", "M8", "M", "8"]),
        ("north–south AB –1200 –", ["north", "south", "AB", "1200"]),
        (
            "MacBook-Hülle 20V/AB",
            ["MacBook-Hülle", "MacBook", "Mac", "Book", "Hülle", "20V/AB", "20V", "20", "V", "AB"],
        ),
        ("Wi-Fi-Router", ["Wi-Fi-Router", "Wi-Fi", "Wi", "Fi", "Router"]),
        ("Hose/T-Shirt", ["Hose/T-Shirt", "Hose", "T-Shirt", "T", "Shirt"]),
        ("H&M-Gutschein", ["H&M-Gutschein", "H&M", "H", "M", "Gutschein"]),
        ("O'Neill's-Jacke", ["O'Neill's-Jacke", "O'Neill's", "O", "Neill's", "Jacke"]),
        ("Wi-Fi-5GHz", ["Wi-Fi-5GHz", "Wi-Fi", "Wi", "Fi", "5GHz", "5", "GHz"]),
        (
            "don't-do 0A's-A a/b/c",
            ["don't-do", "don't", "do", "0A's-A", "0A's", "0", "A's", "A", "a/b/c", "a", "b", "c"],
        ),
        (
            "Mini-USB-C state-of-the-art",
            ["Mini-USB-C", "Mini", "USB", "C", "state-of-the-art", "state", "of", "the", "art"],
        ),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert WordsWithParts().words(text) == words
    assert [text[start:end] for start, end in WordsWithParts().spans(text)] == words


@pytest.mark.parametrize(
    "forms",
    [
        ("AB-1200/X", "ab1200x", "AB 1200 X", "ab-1200", "AB_1200_X"),
        ("getUserById", "get user by id", "get_user_by_id", "getuserbyid"),
        ("T-shirt", "tshirt", "t shirt", "T-Shirts"),
        ("5GHz", "5 GHz", "5ghz"),
        ("10mm", "10 mm", "10-mm"),
        ("2.5mm", "2.5 mm", "2,5mm", "2,5\u00a0mm"),
        ("1.7 l", "1,7l"),
        ("wi-fi", "wifi", "WiFi", "Wi-Fi-Router"),
        ("macbook", "MacBook-Hülle", "Hülle/MacBook", "MacBook"),
        ("L'Oréal", "loreal", "L’Oreal's"),
        ("café", "cafe", "cafe\u0301", "CAFÉ"),
        ("crème brûlée", "creme brulee"),
        ("cooperate", "co\u00adoperate", "co\u200boperate", "\ufeffcooperate"),
        ("U.S.A.", "USA"),
        ("knives", "knife"),
        ("women's", "woman", "women"),
        ("1,200", "1200"),
        ("й", "и\u0306"),
        ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),
    ],
)
def test_forms_match_each_other(forms: tuple[str, ...]) -> None:
    for text in forms:
        for other in forms:
            if {text, other} == {"getuserbyid", "get user by id"}:
                continue  # only the parts are in one, and only the whole in the other
            assert not set(ANALYZER.tokens(text)).isdisjoint(ANALYZER.tokens(other)), (text, other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("2.5mm", "25 cm"),
        ("3,500", "3.5"),
        ("3,5", "35"),
        ("5 m", "3,5 cm"),
        ("a mail", "amail"),
        ("й", "и"),
        ("well", "we'll"),
        ("lives", "life"),
    ],
)
def test_others_do_not(text: str, other: str) -> None:
    assert set(ANALYZER.tokens(text)).isdisjoint(ANALYZER.tokens(other))


@pytest.mark.parametrize("dash", "‐‑‒–—―−")
def test_a_dash_in_a_code_is_a_hyphen(dash: str) -> None:
    for code in ("AB-1200", "AB-1200/X", "1200-AB", "AB-1200-20", "978-3-16-148410-0", "AB-12.5"):
        assert ANALYZER.tokens(code.replace("-", dash)) == ANALYZER.tokens(code)
    if dash not in "‐‑":
        for text in ("5-10 mm", "1990-2000", "M6-M8", "5mm-10mm", "2.5-3.5 kg", "north-south"):
            assert ANALYZER.tokens(text.replace("-", dash)) == ANALYZER.tokens(text.replace("-", f" {dash} "))


def test_a_decimal_comma_is_a_point() -> None:
    for text in ("3,5mm x 30mm", "1,7 l", "0,75", "M3,5x20", "12,5/15,5"):
        assert ANALYZER.tokens(text) == ANALYZER.tokens(text.replace(",", "."))
    assert "5mm" not in ANALYZER.tokens("3,5mm")
    analysis = ANALYZER.analyze("Draht 3,5 mm")
    assert analysis.tokens == ("draht", "3.5mm", "3.5", "mm")
    assert analysis.spans.tolist() == [[0, 5], [6, 12], [6, 9], [10, 12]]


def test_a_long_compound_is_its_parts_alone() -> None:
    word = "x" * (LONGEST_JOINED - 2)
    assert WordsWithParts().words(f"{word}-y") == [f"{word}-y", word, "y"]
    assert WordsWithParts().words(f"{word}-yz") == [word, "yz"]
    assert WordsWithParts().words(f"{word}-Mini5") == [word, "Mini5", "Mini", "5"]


def test_positions_of_compounds() -> None:
    analysis = ANALYZER.analyze("red AB-1200/X state-of-the-art the-end")
    placed = dict(zip(analysis.tokens, map(tuple, analysis.positions().tolist()), strict=True))
    assert placed == {
        "red": (0, 1),
        "ab1200x": (1, 4),
        "ab": (1, 2),
        "1200": (2, 3),
        "x": (3, 4),
        "stateoftheart": (4, 6),
        "state": (4, 5),
        "art": (5, 6),
        "theend": (6, 7),
        "end": (6, 7),
    }
    assert analysis.compounds() == [range(1), range(1, 5), range(5, 8), range(8, 10)]
    pieces = Analysis(
        ("a", "b", "c"), np.array([[0, 1], [0, 1], [1, 2]], dtype=np.int32)
    )  # of two characters
    assert pieces.compounds() == [range(1), range(1, 2), range(2, 3)]
    assert ANALYZER.analyze("").positions().shape == (0, 2)


@given(TEXTS)
@settings(max_examples=300)
def test_ranges_lie_in_the_text_and_are_nested(text: str) -> None:
    analysis = ANALYZER.analyze(text)
    assert ANALYZER.tokens(text) == list(analysis.tokens)
    spans = analysis.spans.tolist()
    open_ones: list[int] = []
    for (start, end), token in zip(spans, analysis.tokens, strict=True):
        assert 0 <= start < end <= len(text)
        while open_ones and open_ones[-1] <= start:
            open_ones.pop()
        assert not open_ones or end <= open_ones[-1]
        open_ones.append(end)
        assert not unicodedata.category(text[start]).startswith("M")
        assert token in ANALYZER.tokens(text[start:end]) or " " in text
    starts, ends = analysis.positions().T.tolist()
    assert all(start < end for start, end in zip(starts, ends, strict=True))


@given(TEXTS, TEXTS)
def test_neighbours_do_not_matter(text: str, other: str) -> None:
    assert ANALYZER.tokens(f"{text}\n{other}") == ANALYZER.tokens(text) + ANALYZER.tokens(other)


@given(TEXTS)
def test_normal_forms_and_characters_that_are_not_seen_do_not_matter(text: str) -> None:
    text = "".join(char for char in text if folded(char).isascii() and unicodedata.category(char)[0] != "M")
    expected = ANALYZER.tokens(text)
    assert ANALYZER.tokens(unicodedata.normalize("NFD", text)) == expected
    assert ANALYZER.tokens("\u200b".join(text)) == expected
    assert ANALYZER.tokens("\u00ad" + text) == expected


def test_folded() -> None:
    words = "Ångström ÅNGSTRÖM ǿ Łódź straße Œuvre ﬁn Ｔｅｘｔ Ἀθῆναι ёж й हिन्दी がぎ 𝐱é ½"
    folded_words = "Angstrom ANGSTROM o Lodz strasse OEuvre fin Text Αθηναι ёж й हिन्दी がぎ 𝐱é 1⁄2"
    assert folded(words.replace(" 𝐱é", "")) == folded_words.replace(" 𝐱é", "")
    assert folded("𝐱é") == "𝐱é", "not normalised"
    assert folded("") == joined("") == ""


def test_some_letters_are_kept() -> None:
    words = "Größe ZOË cafe\u0301 u\u0308ber a\u0308\u0301 Ǖ Å straẞe\u0301 \u0301ä ﬁn й 𝐱é"
    assert (
        folded_except("äöüßÄÖÜẞ", words.replace(" 𝐱é", ""))
        == "Größe ZOE cafe über ä U A straẞe \u0301ä fin й"
    )
    assert folded_except("äöüß", "𝐱éü") == "𝐱éü", "not normalised"


def test_every_character_is_folded_once() -> None:
    for char in map(chr, range(0x10000)):
        if not 0xD800 <= ord(char) < 0xE000:
            assert folded(folded(char)) == folded(char)


def test_it_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(ANALYZER)).tokens("T-shirt") == ["tshirt", "t", "shirt"]
