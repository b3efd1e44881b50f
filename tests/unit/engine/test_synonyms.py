"""Lines of synonyms, the words that they match, and the weights of added terms."""

from __future__ import annotations

import pickle
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.engine.synonyms import (
    LONGEST,
    MOST_BYTES,
    MOST_LINES,
    MOST_WORDS,
    TWO_WAY,
    SynonymLine,
    SynonymMatcher,
    Synonyms,
)
from termwise.errors import MalformedRecordError, MissingFileError, ParameterError
from termwise.text import WordPieceAnalyzer, make_analyzer

ENGLISH = make_analyzer("english")


def matches(lines, text, analyzer=ENGLISH):
    return [
        (
            text[slice(*match.span)],
            [(each.text, each.words, each.weight) for each in match.synonyms],
            match.replaced,
        )
        for match in Synonyms.parse(lines).matcher(analyzer).matches(text)
    ]


def test_lines():
    text = "\ufeff# shop\n\nsofa, couch , settee\r\ntv, telly => television set ^0.5 # one way\nc#, csharp\n"
    assert Synonyms.parse(text.lstrip("\ufeff").split("\n")).lines == (
        SynonymLine(("sofa", "couch", "settee"), (), 0.7),
        SynonymLine(("tv", "telly"), ("television set",), 0.5),
        SynonymLine(("c#", "csharp"), (), 0.7),
    )


def test_a_file(tmp_path):
    file = tmp_path / "s.txt"
    file.write_bytes("\ufeffsofa, couch\r\n# end".encode())
    assert Synonyms.read(file).lines == (SynonymLine(("sofa", "couch"), (), 0.7),)
    assert pickle.loads(pickle.dumps(Synonyms.read(file))) == Synonyms.read(file)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sofa", "words with commas"),
        ("sofa,", "words with commas"),
        ("sofa,, couch", "words with commas"),
        ("sofa =>", "words with commas"),
        ("=> sofa", "words with commas"),
        ("a => b => c", "words with commas"),
        ("a ^0.5 => b", "words with commas"),
        ("sofa, couch ^", "above 0"),
        ("sofa, couch ^0", "above 0"),
        ("sofa, couch ^1.5", "above 0"),
        ("sofa, couch ^nan", "above 0"),
        ("sofa, couch ^much", "above 0"),
        ("sofa ^0.5", "words with commas"),
        ("x" * (LONGEST + 1) + ", y", "at most 200 characters"),
        (", ".join(map(str, range(MOST_WORDS + 1))), "at most 100"),
        ("a => " + ", ".join(map(str, range(MOST_WORDS + 1))), "at most 100"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, expected):
    file = tmp_path / "s.txt"
    file.write_text(f"sofa, couch\n\n{line}\n")
    with pytest.raises(MalformedRecordError, match=re.escape(expected)) as caught:
        Synonyms.read(file)
    facts = dict(caught.value.facts)
    assert (facts["file"], facts["line"]) == (file, 3)
    assert len(str(facts["seen"])) < 200


def test_hostile_files(tmp_path):
    with pytest.raises(MissingFileError):
        Synonyms.read(tmp_path / "absent")
    with pytest.raises(MissingFileError):
        Synonyms.read(tmp_path)
    large = tmp_path / "large"
    large.write_bytes(b"sofa, couch\n" * (10_000_000 // 12))
    with pytest.raises(MissingFileError, match=str(MOST_BYTES)):
        Synonyms.read(large)
    large.write_bytes(b"a, b\n" * (MOST_LINES + 1))
    with pytest.raises(MalformedRecordError, match="50,000"):
        Synonyms.read(large)
    large.write_bytes(b"sofa, \xff\n")
    with pytest.raises(MalformedRecordError, match="UTF-8"):
        Synonyms.read(large)
    large.write_bytes(b"x" * MOST_BYTES)
    with pytest.raises(MalformedRecordError, match="commas"):
        Synonyms.read(large)
    large.write_bytes(b"#" * MOST_BYTES)
    assert Synonyms.read(large).lines == ()


@pytest.mark.parametrize(
    ("function", "given", "options", "expected"),
    [
        (Synonyms.parse, None, {}, "lines of text"),
        (Synonyms.parse, "sofa, couch", {}, "lines of text"),
        (Synonyms.parse, [b"sofa, couch"], {}, "a line of text"),
        (Synonyms.parse, ["sofa, couch"], {"weight": "1"}, "at most 1"),
        (Synonyms.read, None, {}, "a path"),
    ],
)
def test_values_of_another_type_are_refused(function, given, options, expected):
    with pytest.raises((ParameterError, MalformedRecordError), match=expected):
        function(given, **options)


def test_both_ways():
    lines = ["sofa, couch, settee"]
    assert matches(lines, "Red SOFAS") == [("SOFAS", [("couch", 1, 0.7), ("settee", 1, 0.7)], False)]
    assert matches(lines, "settee") == [("settee", [("sofa", 1, 0.7), ("couch", 1, 0.7)], False)]
    assert matches(lines, "chair") == []


def test_one_way_replaces():
    lines = ["tv, telly => television, television set"]
    assert matches(lines, "tv") == [("tv", [("television", 1, 1.0), ("television set", 2, 1.0)], True)]
    assert matches(lines, "television") == []
    assert matches(["tv => tv, television"], "tv") == [("tv", [("television", 1, 1.0)], False)]
    # Another line that keeps the words wins.
    assert matches(["tv => television", "tv, telly"], "tv")[0][2] is False


def test_the_longest_words_from_the_left():
    lines = ["new york, ny", "york, eboracum", "new york city, nyc"]
    assert matches(lines, "new york city") == [("new york city", [("nyc", 1, 0.7 * 3)], False)]
    assert matches(lines, "new york new york cities") == [
        ("new york", [("ny", 1, 1.4)], False),
        ("new york cities", [("nyc", 1, 0.7 * 3)], False),
    ]
    assert matches(lines, "york new york") == [
        ("york", [("eboracum", 1, 0.7)], False),
        ("new york", [("ny", 1, 1.4)], False),
    ]
    assert matches(["k l, x", "l m, y"], "k l m") == [("k l", [("x", 1, 1.4)], False)]


def test_equal_words_of_several_lines():
    lines = ["sofa, couch ^0.3", "sofas, couches, sofa ^0.6", "sofa, divan"]
    assert matches(lines, "sofa") == [("sofa", [("couches", 1, 0.6), ("divan", 1, 0.7)], False)]


def test_words_without_tokens_are_ignored():
    assert matches(["the, a, it", "the => sofa"], "the it") == []
    assert matches(["the who, band"], "who band") == [
        ("who", [("band", 1, 0.7)], False),
        ("band", [("the who", 1, 0.7)], False),
    ]


def test_accents_follow_the_analyzer():
    german = make_analyzer("german")
    assert [text for text, *_ in matches(["fußball, soccer"], "Fussball", german)] == ["Fussball"]


def test_word_pieces_match_whole_words():
    pieces = WordPieceAnalyzer.shipped()
    assert "".join(pieces.tokens("kettlebell")).startswith("kettle")
    lines = ["kettle, pot", "kettlebell, iron weight"]
    assert matches(lines, "kettle", pieces) == [("kettle", [("pot", 1, 0.7)], False)]
    assert matches(lines, "a kettlebell", pieces) == [("kettlebell", [("iron weight", 2, 0.7)], False)]
    assert matches(["kettle, pot"], "kettlebell", pieces) == []
    assert matches(["\U0001f984, unicorn"], "\U0001f40d", pieces) == []  # both are [UNK]


def test_forms_of_a_phrase():
    found = Synonyms.parse(["sofa, couch", "red => crimson", "tv set, telly"]).matcher(ENGLISH)
    assert found.forms("red sofas!") == ["red sofas!", "red couch!", "crimson sofas!", "crimson couch!"]
    assert found.forms("old tv sets") == ["old tv sets", "old telly"]
    assert found.forms("chair") == ["chair"]
    with pytest.raises(ParameterError, match="too many synonyms"):
        found.forms("sofa " * 8)
    full = Synonyms.parse([", ".join(f"w{number}" for number in range(MOST_WORDS))])
    assert len(full.matcher(ENGLISH).forms("w7")) == MOST_WORDS


WORDS = st.sampled_from(["a", "b", "c", "d", "a b", "b c", "c c c"])
LINES = st.lists(
    st.one_of(
        st.lists(WORDS, min_size=2, max_size=4).map(", ".join),
        st.tuples(WORDS, WORDS).map(" => ".join),
    ),
    max_size=5,
)


@given(lines=LINES, text=st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join))
def test_matches_are_the_longest_ones_from_left_to_right(lines, text):
    whitespace = make_analyzer("whitespace")
    parsed = Synonyms.parse(lines)
    left = {tuple(each.split()) for line in parsed.lines for each in line.words}
    tokens, expected, place = text.split(), [], 0
    while place < len(tokens):
        lengths = [
            n for n in range(1, 9) if tuple(tokens[place : place + n]) in left and place + n <= len(tokens)
        ]
        if lengths:
            expected.append(tuple(tokens[place : place + max(lengths)]))
        place += max(lengths, default=1)
    found = list(parsed.matcher(whitespace).matches(text))
    assert [match.tokens for match in found] == expected
    for match in found:
        assert tuple(text[slice(*match.span)].split()) == match.tokens
        assert match.tokens not in {tuple(each.text.split()) for each in match.synonyms}


def test_parts_of_a_compound_that_matches_are_no_other_match():
    found = Synonyms.parse(["tshirt, tee", "shirt, blouse"]).matcher(make_analyzer("english-parts"))
    assert found.forms("red t-shirt") == ["red t-shirt", "red tee"]
    assert found.forms("t-shirt shirt") == ["t-shirt shirt", "t-shirt blouse", "tee shirt", "tee blouse"]


def test_a_line_of_n_words_takes_the_memory_of_n_words():
    """Storing a synonym for each pair of words of these lines would take more than 100 MB."""
    synonyms = Synonyms.parse(", ".join(f"w{line}x{place}" for place in range(100)) for line in range(100))
    tracemalloc.start()
    try:
        matcher = SynonymMatcher(synonyms, make_analyzer("whitespace"))
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    (match,) = matcher.matches("a w7x1 b")
    assert [each.text for each in match.synonyms] == [f"w7x{place}" for place in range(100) if place != 1]
    assert {each.weight for each in match.synonyms} == {TWO_WAY}


def test_lines_with_words_in_common():
    """The largest weight counts, at the place of the first line with the word."""
    lines = ["a, b, c c ^0.5", "a, c c, b ^0.5", "x y, b, a ^0.4", "a, b ^0.9", "a => d, a ^0.3"]
    matcher = SynonymMatcher(Synonyms.parse(lines), make_analyzer("whitespace"))
    (word, phrase) = matcher.matches("a x y")
    assert [(each.text, each.weight) for each in word.synonyms] == [
        ("b", 0.9),
        ("c c", 0.5),
        ("x y", 0.4),
        ("d", 0.3),
    ]
    assert [(each.text, each.weight) for each in phrase.synonyms] == [("b", 0.8), ("a", 0.8)]
