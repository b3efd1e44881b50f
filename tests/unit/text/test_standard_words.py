import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.text import StandardWords
from termwise.text.characters import character_table, classify
from termwise.text.standard_words import _classes, _cut

tokenizer = StandardWords()
ascii_text = st.text(st.sampled_from("aZ09_.:,;'\"-#* \n\x00") | st.characters(max_codepoint=127))
one_of_each = st.sampled_from(
    "aℹ1٣ア_\u203f:.,'\"’\u0301\u00ad\u200dאבกั漢の々\U00016ff0한"
    "😀☝❤\U0001f3fb\ufe0f\ufe0e\u20e3#*🇩🇪\U000e0067\U000e007f -"
)


# Compared with Lucene 10: each line gives the same words there.
@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("- / \r\n\t $ \x00", [], id="no word"),
        pytest.param("ab éß Ωж", ["ab", "éß", "Ωж"], id="WB5 letters"),
        pytest.param(
            "can't a.b x:y l’été don''t a..b",
            ["can't", "a.b", "x:y", "l’été", "don", "t", "a", "b"],
            id="WB6 WB7",
        ),
        pytest.param("a. 'a' .a a,b a;b", ["a", "a", "a", "a", "b", "a", "b"], id="WB6 WB7 at the edge"),
        pytest.param('צ\' ק"ג ק" "ק ב\'ג', ["צ'", 'ק"ג', "ק", "ק", "ב'ג"], id="WB7a WB7b WB7c Hebrew"),
        pytest.param("123 ٣٤ a1 1a", ["123", "٣٤", "a1", "1a"], id="WB8 WB9 WB10 digits"),
        pytest.param(
            "3.14 1,000;5 1'0 1:2 1. ,5", ["3.14", "1,000;5", "1'0", "1", "2", "1", "5"], id="WB11 WB12"
        ),
        pytest.param(
            "カタカナ カa aカ カ1", ["カタカナ", "カ", "a", "a", "カ", "カ", "1"], id="WB13 Katakana"
        ),
        pytest.param("a_b _a_ __ 1_2 ア_a a‿b", ["a_b", "_a_", "1_2", "ア_a", "a‿b"], id="WB13a WB13b"),
        pytest.param(
            "e\u0301a a\u00adb a\u200db a'\u0301b \u0301a",
            ["e\u0301a", "a\u00adb", "a\u200db", "a'\u0301b", "a"],
            id="WB4",
        ),
        pytest.param(
            "漢字 漢a 々 の漢 漢\u0301",
            ["漢", "字", "漢", "a", "々", "の", "漢", "漢\u0301"],
            id="ideographs",
        ),
        pytest.param("ひらがな がー", ["ひ", "ら", "が", "な", "が", "ー"], id="Hiragana"),
        pytest.param("한국어 한a", ["한국어", "한a"], id="Hangul"),
        pytest.param("สวัสดี ခွေး ភាសា ลา1", ["สวัสดี", "ခွေး", "ភាសា", "ลา", "1"], id="Southeast Asian"),
        pytest.param("नमस्ते हिन्दी", ["नमस्ते", "हिन्दी"], id="Devanagari"),
        pytest.param("😀😀 a😀b ❤️ ☝🏽 ©", ["😀", "😀", "a", "😀", "b", "❤️", "☝🏽", "©"], id="emoji"),
        pytest.param("👩‍👩‍👧 👩‍😀a 😀\u200d", ["👩‍👩‍👧", "👩‍😀", "a", "😀\u200d"], id="joined emoji"),
        pytest.param("🇩🇪🇫🇷🇪 🇩a", ["🇩🇪", "🇫🇷", "a"], id="flags"),
        pytest.param("1️⃣ #️⃣ *⃣ # 1⃣2", ["1️⃣", "#️⃣", "*⃣", "1⃣2"], id="keycaps"),
        pytest.param(
            "🏴\U000e0067\U000e0062\U000e007f 😀\ufe0f\U000e0067\U000e007fa",
            ["🏴\U000e0067\U000e0062\U000e007f", "😀\ufe0f\U000e0067\U000e007f", "a"],
            id="tags",
        ),
        pytest.param("ℹ️a ℹ\u200d😀 Ⓜb", ["ℹ️a", "ℹ\u200d😀", "Ⓜb"], id="letters that are emoji"),
        pytest.param(
            "https://example.org/a-b?c=d me@host.example",
            ["https", "example.org", "a", "b", "c", "d", "me", "host.example"],
            id="addresses",
        ),
        pytest.param("a\ud800b", ["a", "b"], id="lone surrogate"),
    ],
)
def test_words(text, words):
    assert tokenizer.words(text) == words
    assert [text[start:end] for start, end in tokenizer.spans(text)] == words


# Compared with Lucene 10 as well.
@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("a" * 600, [255, 255, 90]),
        ("é" * 256, [255, 1]),
        ("a" * 254 + "'b", [254, 1]),
        ("a" * 254 + "é'b", [255, 1]),
        ("_" * 300 + "a", [255]),
        ("_" * 300 + "é", [255]),
        ("𐐀" * 200, [127, 73]),
        ("a" + "\u0301" * 300, [255]),
        ("é" * 253 + "\u0301\u0301\u0301b", [255, 1]),
    ],
)
def test_words_are_cut_at_255_code_units(text, lengths):
    assert [end - start for start, end in tokenizer.spans(text)] == lengths
    assert [len(word) for word in tokenizer.words(text)] == lengths


@settings(deadline=None)
@given(ascii_text)
def test_the_short_cut_for_ascii_is_the_rule(text):
    assert tokenizer.spans(text) == _cut(text)
    assert tokenizer.words(text) == [text[start:end] for start, end in tokenizer.spans(text)]


@settings(deadline=None)
@given(st.text(one_of_each))
def test_the_quick_way_is_the_careful_way(text):
    assert tokenizer.spans(text) == _cut(text)


@settings(max_examples=400, deadline=None)
@given(st.text(one_of_each, max_size=10))
def test_words_are_the_longest_matches_of_the_grammar(text):
    assert tokenizer.spans(text) == Grammar(text).words()


class Grammar:
    """The rules as written, matched in every way there is: each method returns the ends reached from the starts."""

    def __init__(self, text):
        table = character_table()
        self.properties = [table.properties[table.classes[ord(char)]] for char in text]
        self.text = text

    def words(self):
        words, position = [], 0
        while position < len(self.text):
            end = max(self.word({position}), default=position)
            if end > position:
                words.append((position, end))
            position = max(end, position + 1)
        return words

    def word(self, at):
        return (
            self.alphanumeric(at)
            | self.emoji(at)
            | self.many(lambda at: self.one("Complex_Context", at), at, least=1)
            | self.one("Han", at)
            | self.one("Hiragana", at)
        )

    def alphanumeric(self, at):
        at = self.many(self.underscore, at)
        at = self.part(at)
        at = self.many(lambda at: self.part(self.many(self.underscore, at, least=1)), at)
        return self.many(self.underscore, at)

    def underscore(self, at):
        return self.one("ExtendNumLet", at)

    def part(self, at):
        katakana = self.chain("Katakana", None, at)
        return katakana | self.many(self.run, at, least=1)

    def run(self, at):
        hebrew = self.one("Hebrew_Letter", at)
        quoted = self.one("Hebrew_Letter", self.one("Double_Quote", hebrew))
        letters = self.chain("ALetter Hebrew_Letter", "MidLetter MidNumLet Single_Quote", at)
        digits = self.chain("Numeric", "MidNum MidNumLet Single_Quote", at)
        return self.one("Single_Quote", hebrew) | quoted | letters | digits

    def chain(self, names, between, at):
        def link(at):
            joined = self.many(self.underscore, at)
            if between:
                joined |= self.one(between, at)
            return self.one(names, joined)

        return self.many(link, self.one(names, at))

    def emoji(self, at):
        first = self.element(at)
        joined = self.many(lambda at: self.element(self.char("ZWJ", at)), first)
        tagged = self.char("Tag_End", self.many(lambda at: self.char("Tag", at), first, least=1))
        base = {p + 1 for p in at if p < len(self.text) and self.text[p] in "0123456789#*"}
        base = self.many(self.mark, base)
        keycap = self.char("Keycap", base | self.char("Emoji_Selector", base))
        flag = self.one("Regional_Indicator", self.one("Regional_Indicator", at))
        return joined | tagged | self.many(self.mark, keycap) | flag

    def element(self, at):
        joined = self.many(lambda at: self.char("ZWJ", at), at)
        picture = self.many(self.mark, self.char("Extended_Pictographic", joined))
        modifier = self.many(self.mark, self.char("Emoji_Modifier", at | picture))
        return picture | self.char("Emoji_Selector", picture) | modifier

    def mark(self, at):
        return self.char("Extend Format ZWJ", at, but="Text_Selector Emoji_Selector")

    def one(self, names, at):
        """One character and what goes with it (WB4)."""
        return self.many(lambda at: self.char("Extend Format ZWJ", at), self.char(names, at))

    def char(self, names, at, but=""):
        wanted, unwanted = set(names.split()), set(but.split())
        return {
            position + 1
            for position in at
            if position < len(self.text)
            and self.properties[position] & wanted
            and not self.properties[position] & unwanted
        }

    def many(self, rule, at, least=0):
        for _ in range(least):
            at = rule(at)
        reached = set(at)
        while at := rule(at) - reached:
            reached |= at
        return reached


@pytest.mark.parametrize(
    "text", ["a", "_", "é", "é_", "_\u0301", "\u200d", "é\u0301", "🇩", "é'", "1,", "ℹ\u200d", 'א"']
)
def test_time_does_not_grow_with_the_square_of_the_length(text):
    start = time.process_time()
    tokenizer.spans(text * (300_000 // len(text)))
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("before", "run", "after", "left"),
    [
        ("", "_\u0301", "", 0),
        ("", "_", " ", 0),
        ("\u0301", "_", "é", 255),
        ("é", "_", " ", 255),
        ("א'", "_", " ", 255),
        ("'", "_", " ", 0),
        ("é\u0301", "_", "1", 510),
    ],
)
def test_underscores_far_from_words_are_not_searched(before, run, after, left):
    text = before + run * 2000 + after
    low_line = classify("_")
    assert _classes(text).count(low_line) == left
    assert _classes(text).replace(low_line, classify(" ")) == classify(text).replace(low_line, classify(" "))
    assert all(len(word) <= 255 and word.strip("_") for word in tokenizer.words(text))
