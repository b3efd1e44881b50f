"""Manipulations: examples by hand, properties for any text, probes and files of the user."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import (
    DataError,
    DuplicateIdError,
    MalformedRecordError,
    MissingExtraError,
)
from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.sample import Samples, random_for
from termwise.probes.language import CachedLanguage, Parsed, RuleLanguage, SpacyLanguage, Span, Token
from termwise.probes.manipulations import typos
from termwise.probes.manipulations.additions import query_expansion, read_generated_queries
from termwise.probes.manipulations.base import Manipulation, ManipulationContext, ManipulationProbe
from termwise.probes.manipulations.changes import cased_like
from termwise.probes.manipulations.manipulation_probes import FAMILY, FAMILY_BY_GRADES, halves
from termwise.probes.manipulations.registry import MANIPULATIONS
from termwise.probes.manipulations.text_edits import Place, in_a_row, replaced, without
from termwise.probes.manipulations.typos import (
    codespell_misspellings,
    misspelling,
    mistype,
    mistyped,
    read_misspellings,
)
from termwise.text import UnicodeWords
from termwise.text.stop_lists import stop_list

RULES = CachedLanguage(RuleLanguage())
STOPS = stop_list("nltk-english")
QUERY = "what do cats eat"
JUDGED = JudgedTexts(
    "toy",
    {"q1": QUERY, "q2": "where is Paris"},
    {
        "d1": "The old cats of Paris eat mice, in the house.  They don't sleep (much) on Sundays!\nDogs bark.",
        "d2": "Paris is the capital of France. It lies on the Seine with its bridges.",
        "d3": "Boats float. Ships sink in storms!",
        "d4": "Trains run.",
        "d5": "",
        "d6": "Cats",
    },
    {
        "q1": {"d1": 3, "d2": 1, "d3": 0, "d4": 0, "d5": 0, "d6": 2},
        "q2": {"d1": 1, "d2": 3, "d6": 1},
    },
    lowest=0,
)
SHUFFLES = [
    *("shuffle-words", "shuffle-words-in-sentences", "shuffle-sentences", "shuffle-prepositions"),
    *("shuffle-noun-chunks", "shuffle-words-keep-chunks", "shuffle-words-in-sentences-keep-chunks"),
    *("shuffle-some-words", "reverse-words", "reverse-sentences", "reverse-noun-chunks"),
]
NON_RELEVANT = ("Boats float.", "Ships sink in storms!", "Trains run.")
CATS = ("Cast", "Catz")
TYPOS = {
    "cats": ("cast", "catz"),
    "house": ("huose",),
    "paris": ("pairs",),
    "state-of-the-art": ("stateofart",),
}
ALL = {**MANIPULATIONS, "typos": misspelling(TYPOS)}


def context(text="", seed=0, language=RULES, judged=JUDGED):
    about = JudgedText("q1", QUERY, "d1", text, 3)
    return ManipulationContext(about, judged, language, STOPS, Random(seed))


def changed(name, text, seed=0, language=RULES):
    return ALL[name].apply(text, context(text, seed, language))


def outcomes(name, text, language=RULES):
    return {changed(name, text, seed, language) for seed in range(60)}


def terms(text):
    return Counter(word.lower() for word in UnicodeWords().words(text))


@pytest.fixture(scope="module")
def spacy():
    pytest.importorskip("spacy", reason="needs termwise[spacy], which scripts/setup dev installs")
    return CachedLanguage(SpacyLanguage())


# Examples by hand


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("rem-stops-punct", "The old cat, (black) and\n\nfat: don't ask!", "old cat black\n\nfat ask"),
        ("rem-stops-punct", "It's 3.14 - the well-known U.S. ratio...", "3.14 well known U.S. ratio"),
        ("rem-stops-punct", "end.Next", "end Next"),
        ("remove-punctuation", "The cat, (black) and fat: don't!", "The cat black and fat don't"),
        ("remove-punctuation", "It costs $5 + 3%.", "It costs $5 + 3"),
        ("remove-stops", "The old cat, and the dog!", "old cat, dog!"),
        ("remove-stops", "I don’t DON'T know", "know"),
        (
            "lemmatize",
            "Mice were  running; the cats' children don't.",
            "Mouse were  run; the cat' child don't.",
        ),
        ("fold-case", "The U.S. Army", "the u.s. army"),
        ("remove-first-sentence", "One is. Two is.\nThree is.", "Two is.\nThree is."),
        ("remove-last-sentence", "One is. Two is.\nThree is.", "One is. Two is."),
        ("reverse-words", "One two, (three) four-five.", "four-five three, (two) One."),
        ("reverse-sentences", "One is.  Two is.\nThree is.", "Three is.  Two is.\nOne is."),
        ("reverse-noun-chunks", "Black cats of the green house", "green house of the Black cats"),
        ("prepend-query", "Mice.", "what do cats eat Mice."),
        ("replace-by-query", "Mice.", "what do cats eat"),
        ("rejoin", "The cat, (black).  Don't!", "The cat , ( black ) . Don't !"),
        ("lemmatize-joined", "The mice, running.", "The mouse , run ."),
        ("rem-stops-punct-joined", "The mice, don't run.", "mice   run  "),
    ],
)
def test_by_hand(name, text, expected):
    assert changed(name, text) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("shuffle-words", "One, two.", {"two, One."}),
        (
            "shuffle-words",
            "(a) b c-d!",
            {"(a) c-d b!", "(b) a c-d!", "(b) c-d a!", "(c-d) a b!", "(c-d) b a!"},
        ),
        ("shuffle-words-in-sentences", "Cats sleep. Old dogs bark", {"sleep Cats. dogs Old bark"}),
        ("shuffle-sentences", "One is.  Two is!", {"Two is!  One is."}),
        ("shuffle-prepositions", "Cats of Paris in May", {"Cats in Paris of May"}),
        ("shuffle-noun-chunks", "Black cats of the green house", {"green house of the Black cats"}),
        ("shuffle-words-keep-chunks", "Black cats of", {"of Black cats"}),
        ("shuffle-words-in-sentences-keep-chunks", "Of black cats! And dogs.", {"black cats Of! dogs And."}),
        ("remove-random-sentence", "One is. Two is.", {"One is.", "Two is."}),
        ("shuffle-words-joined", "Cats!", {"! Cats"}),
        ("shuffle-words-in-sentences-joined", "Old cats! Dogs do", {"cats Old ! Dogs do"}),
        ("append-nonrelevant-sentence", "Mice.", {f"Mice. {added}" for added in NON_RELEVANT}),
        ("prepend-nonrelevant-sentence", "Mice.", {f"{added} Mice." for added in NON_RELEVANT}),
        (
            "typos",
            "Cats, CATS’ house",
            {f"{one}, {two}’ huose" for one in CATS for two in map(str.upper, CATS)},
        ),
    ],
)
def test_all_possible_outcomes(name, text, expected):
    assert outcomes(name, text) == expected


def test_some_words_equal_noun_chunks_in_number():
    text = "Black cats of the green house in winter"
    assert len(RULES.parse(text).chunks) == 3
    moved = {
        sum(one != two for one, two in zip(text.split(), found.split(), strict=True))
        for found in outcomes("shuffle-some-words", text)
    }
    assert moved == {2, 3}


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("text", ["", " \n", "!", "... ?! (—)", "cat", "caf\u0301e 你好 😀", "half\ud800"])
def test_almost_empty_texts(name, text, spacy):
    for language in (RULES, spacy):
        found = changed(name, text, language=language)
        assert found is None or isinstance(found, str)
        if name in SHUFFLES and len(text.split()) < 2:
            assert found in (None, text)
        if name.startswith(("rem", "lemma", "rejoin")) and text in ("", " \n", "!", "... ?! (—)", "cat"):
            assert found in (None, text)


def test_a_text_that_would_be_empty_makes_no_sample():
    assert changed("remove-stops", "The who?") is None
    assert changed("rem-stops-punct", "The who?") is None
    assert changed("rem-stops-punct-joined", "The who?") is None
    assert changed("remove-last-sentence", "Only one sentence.") is None


# Properties for any text

WORDS = st.sampled_from(
    [*"aB5é", "cat", "'", "’", "-", ".", "(", "\u0301", " ", " ", "\n", "of", "İ", "你", "😀"]
)
TEXTS = st.lists(WORDS, max_size=30).map("".join)


class Careless:
    """Splits texts anywhere except in white space, and finds sentences, chunks and prepositions at random."""

    name = "careless"

    def __init__(self, seed):
        self._seed = seed

    def parse(self, text):
        random = random_for(self._seed, text.encode("utf-8", "surrogatepass").hex())
        cuts = [0, *(place for place in range(1, len(text)) if random.random() < 0.5), len(text)]
        tokens = []
        for start, end in pairwise(cuts):
            place = start
            for part in text[start:end].split():
                place = text.index(part, place)
                tag = random.choice(["ADP", "PUNCT", ""])
                tokens.append(Token(part, place, place + len(part), part, tag))
                place += len(part)
        some = [number for number in range(1, len(tokens)) if random.random() < 0.4]
        ends = [0, *some, len(tokens)] if tokens else []
        spans = tuple(Span(first, last) for first, last in pairwise(ends))
        chunks = tuple(span for span in spans if random.random() < 0.7)
        return Parsed(text, tuple(tokens), spans, chunks, ())


@pytest.mark.parametrize("name", SHUFFLES)
@settings(max_examples=150)
@given(text=TEXTS, seed=st.integers(0, 3))
def test_a_shuffle_keeps_the_words_and_the_spaces(name, text, seed):
    for language in (RULES, Careless(seed)):
        found = changed(name, text, seed, language)
        assert terms(found) == terms(text)
        assert len(found) == len(text)
        assert Counter(found) == Counter(text)
        assert found == changed(name, text, seed, language)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"typos"}))
def test_real_texts(name, spacy):
    for language in (RULES, spacy):
        for text in JUDGED.texts.values():
            found = changed(name, text, 3, language)
            assert found == changed(name, text, 3, language)
            if name in SHUFFLES and found is not None:
                assert terms(found) == terms(text)


@given(text=TEXTS)
def test_edits_change_only_letters(text):
    for name in ("lemmatize", "typos", "keystrokes"):
        found = changed(name, text)
        kept = ["".join(c for c in one if not c.isalpha()) for one in (text, found)]
        assert kept[0] == kept[1]
        assert len(found.split()) == len(text.split())


@given(text=TEXTS)
def test_removed_parts_leave_the_other_words_separate(text):
    parsed = RULES.parse(text)
    found = changed("remove-punctuation", text)
    if found is not None:
        kept = [token.text for token in parsed.tokens if token.tag != "PUNCT"]
        assert "".join(found.split()) == "".join(kept)
        assert not terms(found) - terms(" ".join(kept))


# Editing


def test_editing_by_hand():
    assert replaced("abc", [Place(0, 1), Place(1, 2)], ["x", "yz"]) == "xyzc"
    assert without("a b  c", [Place(2, 3)]) == "a c"
    assert without("a b\n\nc", [Place(2, 3)]) == "a\n\nc"
    assert without(" a b ", [Place(1, 2)]) == "b "
    assert without("a b ", [Place(2, 3)]) == "a"
    assert without("ab", [Place(0, 1), Place(1, 2)]) == ""
    assert in_a_row("", "a", "", "b ", "c") == "a b c"


@pytest.mark.parametrize(
    ("word", "model", "expected"),
    [("catz", "Cats", "Catz"), ("catz", "I", "Catz"), ("Catz", "cats", "catz"), ("catz", "iCats", "catz")],
)
def test_capitals_are_kept(word, model, expected):
    assert cased_like(word, model) == expected


# Defects of the published manipulations, which these avoid


def test_prepositions_are_exchanged_with_prepositions_only(spacy):
    text = "Yesterday morning, the dogs of Paris ran through the park, over a bridge and into the old house."
    tokens = spacy.parse(text).tokens
    slots = [number for number, token in enumerate(tokens) if token.tag == "ADP"]
    assert [tokens[slot].text for slot in slots] == ["of", "through", "over", "into"]
    for seed in range(10):
        found = [
            token.text for token in spacy.parse(changed("shuffle-prepositions", text, seed, spacy)).tokens
        ]
        assert [word for number, word in enumerate(found) if number not in slots] == [
            token.text for number, token in enumerate(tokens) if number not in slots
        ]
        assert [found[slot] for slot in slots] != ["of", "through", "over", "into"]
        assert sorted(found[slot] for slot in slots) == ["into", "of", "over", "through"]


def test_words_stay_in_their_sentences():
    text = "One two three four. Five six seven eight."
    for seed in range(20):
        first, second = changed("shuffle-words-in-sentences", text, seed).split(". ")
        assert sorted(first.split()) == ["One", "four", "three", "two"]
        assert sorted(second.rstrip(".").split()) == ["Five", "eight", "seven", "six"]
    assert any("One" not in found.split(".")[0] for found in outcomes("shuffle-words", text))


def test_an_edit_that_changes_nothing_gives_no_sample():
    text = "The city Paris (a town), is old..."
    joined = "The city Paris ( a town ) , is old ..."
    assert changed("lemmatize", text) == text
    assert changed("lemmatize-joined", text) == changed("rejoin", text) == joined


def test_contractions_are_not_merged(spacy):
    text = "It’s gone, we're sure they don't know; can't we say the world's mice cannot?"
    found = changed("lemmatize", text, language=spacy)
    assert found == "It’s go, we're sure they don't know; can't we say the world's mouse cannot?"


def test_no_listed_word_remains_after_misspelling():
    known = {"receive": ("recieve",), "believe": ("beleive", "belive")}
    text = "Receive, (receive) re-receive: BELIEVE’s Believe's unbelievable receiver"
    found = misspelling(known).apply(text, context(text))
    assert terms(found)["receive"] == terms(found)["believe"] == 0
    assert found.startswith("Recieve, (recieve) re-recieve: BEL")
    assert found.endswith(" unbelievable receiver")


def test_stop_words_are_never_misspelt():
    text = "The cats and the house"
    found = misspelling({**TYPOS, "the": ("teh",), "and": ("adn",)}).apply(text, context(text))
    assert found.startswith("The ca")
    assert found.endswith(" and the huose")


def test_a_word_with_hyphens_can_be_listed():
    assert changed("typos", "A State-of-the-art house-cats") in {
        f"A Stateofart huose-{one.lower()}" for one in CATS
    }


def test_the_non_relevant_sentence_is_of_another_text_of_the_lowest_grade():
    texts = {"a": "Cats eat.", "b": "Boats float.", "c": "Boats float.", "d": "Rain falls.", "e": "..."}
    from_one = JudgedTexts(
        "m", {"q1": "cats"}, texts, {"q1": {"a": 4, "b": 1, "c": 1, "d": 2, "e": 1}}, lowest=1
    )
    probe = probe_of("append-nonrelevant-sentence", from_one)
    found = {sample.facts["document"]: sample.first for sample in probe.samples(0)}
    # That of b and c is the same text, which is not added to itself.
    assert found == {
        "a": "Cats eat. Boats float.",
        "d": "Rain falls. Boats float.",
        "e": "... Boats float.",
    }


def test_without_a_non_relevant_text_there_is_no_sample():
    found = probe_of("append-nonrelevant-sentence", JUDGED).samples(0)
    assert {sample.query_id for sample in found} == {"q1"}


# Probes


def probe_of(name, judged=JUDGED, **options):
    return ManipulationProbe(ALL[name], judged, ProbeInputs(RULES, STOPS), **options)


def by_id(probe, seed=5):
    return {sample.sample_id: sample for sample in probe.samples(seed)}


@pytest.mark.parametrize("name", sorted(ALL))
def test_samples_are_independent_of_other_samples(name):
    whole = by_id(probe_of(name))
    assert whole == by_id(probe_of(name))
    some = by_id(probe_of(name, grades=frozenset({1, 3})))
    assert some == {key: sample for key, sample in whole.items() if sample.facts["grade"] in (1, 3)}
    turned = replace(
        JUDGED,
        texts=dict(reversed(JUDGED.texts.items())),
        grades={query: dict(reversed(JUDGED.grades[query].items())) for query in ("q2", "q1")},
    )
    assert Samples.of(probe_of(name, turned).samples(5)).content == Samples.of(whole.values()).content
    one_query = replace(JUDGED, grades={"q1": JUDGED.grades["q1"]})
    assert by_id(probe_of(name, one_query)) == {key: whole[key] for key in whole if key.startswith("q1/")}
    if "nonrelevant" not in name:
        few = replace(JUDGED, grades={"q1": {"d1": 3}, "q2": {"d2": 3}})
        assert by_id(probe_of(name, few)) == {key: whole[key] for key in whole if key in ("q1/d1", "q2/d2")}


def test_shuffles_depend_on_the_seed():
    firsts = {by_id(probe_of("shuffle-words"), seed)["q1/d1"].first for seed in range(5)}
    assert len(firsts) == 5


def test_texts_that_do_not_change_give_no_sample():
    assert set(by_id(probe_of("shuffle-sentences"))) == {"q1/d1", "q1/d2", "q1/d3", "q2/d1", "q2/d2"}
    assert set(by_id(probe_of("fold-case"))) == {f"{key}" for key in by_id(probe_of("rejoin"))} | {
        "q1/d6",
        "q2/d6",
    }


def test_every_manipulation_has_a_name_and_makes_a_probe():
    assert all(isinstance(one, Manipulation) and one.title and one.makes for one in MANIPULATIONS.values())
    assert [one.name for one in MANIPULATIONS.values()] == list(MANIPULATIONS)
    assert len({one.title for one in MANIPULATIONS.values()}) == len(MANIPULATIONS)


def test_the_family_makes_all_for_each_collection(tmp_path):
    written = ["append-nonrelevant-sentence@written", "prepend-nonrelevant-sentence@written"]
    assert [probe.name for probe in FAMILY.make(ProbeInputs(RULES, STOPS))] == written
    other = replace(JUDGED, name="other")
    probes = FAMILY.make(ProbeInputs(RULES, STOPS, (JUDGED, other)))
    assert [probe.name for probe in probes] == [
        *(f"{name}@{collection}" for collection in ("toy", "other") for name in MANIPULATIONS),
        *written,
    ]
    assert all(len(list(probe.samples(0))) > 30 for probe in probes[-2:])


def test_halves_of_the_grades_have_the_samples_of_the_whole():
    whole = {probe.name: by_id(probe, 3) for probe in FAMILY.make(ProbeInputs(RULES, STOPS, (JUDGED,)))}
    halved = FAMILY_BY_GRADES.make(ProbeInputs(RULES, STOPS, (JUDGED,)))
    assert len(halved) == 2 * len(MANIPULATIONS)
    assert len({probe.title for probe in halved}) == len(halved)
    parts = {probe.name: by_id(probe, 3) for probe in halved}
    for name in MANIPULATIONS:
        higher, lower = parts[f"{name}-higher@toy"], parts[f"{name}-lower@toy"]
        assert higher.keys().isdisjoint(lower)
        assert {**higher, **lower} == whole[f"{name}@toy"]
        assert all(sample.facts["grade"] >= 2 for sample in higher.values())
        assert all(sample.facts["grade"] < 2 for sample in lower.values())


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ((0, 1, 2, 3), {"higher": {2, 3}, "lower": {0, 1}}),
        ((1, 2, 3, 4), {"higher": {3, 4}, "lower": {1, 2}}),
        ((0, 1, 2), {"higher": {2}, "lower": {0, 1}}),
        ((0, 1), {"higher": {1}, "lower": {0}}),
        ((1,), {}),
    ],
)
def test_the_higher_half_of_the_grades(grades, expected):
    texts = {f"d{grade}": "" for grade in grades}
    judged = JudgedTexts("j", {"q": ""}, texts, {"q": {f"d{grade}": grade for grade in grades}}, grades[0])
    assert halves(judged) == expected


def test_the_family_reads_files_of_the_user(tmp_path):
    typos, queries = tmp_path / "typos.txt", tmp_path / "queries.jsonl"
    typos.write_text("bridgez->bridges\n")
    queries.write_text('{"doc_id": "d4", "queries": ["one", "two", "three", "four", "five"]}\n')
    folders = {"typos": typos, "append-queries": queries}
    probes = {probe.name: probe for probe in FAMILY.make(ProbeInputs(RULES, STOPS, (JUDGED,), folders))}
    found = by_id(probes["typos@toy"])
    assert set(found) == {"q1/d2", "q2/d2"}
    assert found["q1/d2"].first == JUDGED.texts["d2"].replace("bridges", "bridgez")
    appended = by_id(probes["append-queries@toy"])
    assert [sample.first for sample in appended.values()] == ["Trains run. one two three four"]


# Generated queries


def test_queries_of_a_file(tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_text('{"doc_id": "d1", "queries": ["one", "two"]}\n{"doc_id": "d2", "queries": []}\n')
    queries = read_generated_queries(path)
    assert query_expansion(queries).apply("Text.", context("Text.")) == "Text. one two"
    assert query_expansion({}).apply("Text.", context("Text.")) == "Text."


@pytest.mark.parametrize(
    "record", [{"doc_id": 1, "queries": []}, {"doc_id": "a", "queries": "b"}, {"queries": []}]
)
def test_malformed_lines_of_queries_are_refused(tmp_path, record):
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"doc_id": "d", "queries": ["q"]}) + "\n" + json.dumps(record))
    with pytest.raises(MalformedRecordError) as caught:
        read_generated_queries(path)
    assert ("line", 2) in caught.value.facts


def test_a_document_with_two_lines_of_queries(tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_text('{"doc_id": "d1", "queries": []}\n' * 2)
    with pytest.raises(DuplicateIdError, match="d1"):
        read_generated_queries(path)


# Lists of typos


def test_lists_of_typos(tmp_path):
    lines, objects = tmp_path / "typos.txt", tmp_path / "typos.jsonl"
    lines.write_text(
        "# a comment\nteh->the\nHTE->the\nabotu->about, abut,\nbeed->bead, a bee,\nclas->class, a remark, of words\n"
        "alot->a lot\namerica->America\nthe->then\nsub-the->thus\n"
    )
    by_hand = {
        "the": ("HTE", "teh"),
        "about": ("abotu",),
        "abut": ("abotu",),
        "bead": ("beed",),
        "class": ("clas",),
    }
    assert (
        read_misspellings(lines) == {**by_hand, "a remark": ("clas",)} or read_misspellings(lines) == by_hand
    )
    objects.write_text('{"correct": "the", "typos": ["teh", "hte"]}\n{"correct": "The", "typo": "thw"}\n')
    assert read_misspellings(str(objects)) == {"the": ("hte", "teh", "thw")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "teh the"),
        ("a.txt", "teh->"),
        ("a.txt", "->the"),
        ("a.jsonl", '{"correct": "the"}'),
        ("a.jsonl", '{"correct": "the", "typos": "teh"}'),
        ("a.jsonl", '{"correct": "the", "typos": [""]}'),
        ("a.jsonl", '{"correct": 1, "typo": "teh"}'),
    ],
)
def test_malformed_lines_of_misspellings_are_refused(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(MalformedRecordError) as caught:
        read_misspellings(path)
    assert ("line", 1) in caught.value.facts


def test_a_list_without_usable_misspellings_is_refused(tmp_path):
    path = tmp_path / "typos.txt"
    path.write_text("alot->a lot\n")
    with pytest.raises(DataError, match="no usable entry"):
        read_misspellings(path)


def test_the_list_of_codespell():
    pytest.importorskip("codespell_lib", reason="needs termwise[probe], which scripts/setup dev installs")
    known = codespell_misspellings()
    assert len(known) > 15_000
    assert "recieve" in known["receive"]
    assert all(typo.lower() not in known for typos in known.values() for typo in typos)
    text = "You receive the government."
    found = MANIPULATIONS["typos"].apply(text, context(text))
    assert found.startswith("You ")
    assert not {"receive", "government"} & set(terms(found))


def test_without_codespell_the_error_names_the_extra(monkeypatch):
    codespell_misspellings.cache_clear()
    monkeypatch.setattr(typos, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        MANIPULATIONS["typos"].apply("text", context("text"))
    assert caught.value.fixes == ("pip install 'termwise[probe]'",)


@pytest.mark.shared
def test_the_published_list_of_misspellings(shared):
    known = read_misspellings(shared / "probes" / "lexicons" / "wiki_typos.jsonl.gz")
    assert 3_000 < len(known) <= 3_263
    assert "tommorow" in known["tomorrow"]


# Typing errors


@given(word=st.text(st.sampled_from("abcxyzAB"), min_size=2, max_size=9), seed=st.integers(0, 50))
def test_a_typing_error_keeps_the_first_letter(word, seed):
    found = mistyped(word, Random(seed))
    assert found != word
    assert found[0] == word[0]
    assert abs(len(found) - len(word)) <= 1


def test_all_typing_errors_of_a_word():
    assert {mistyped("gel", Random(seed)) for seed in range(500)} == {
        *("gl", "ge"),
        *("geel", "gell"),
        *("gwl", "grl", "gsl", "gdl", "gek", "geo", "gep"),
        *("gle",),
    }


def test_one_word_in_ten_is_mistyped():
    text = " ".join(["The lazy", *["windows"] * 38])
    found = changed("keystrokes", text)
    assert sum(one != two for one, two in zip(text.split(), found.split(), strict=True)) == 4
    assert mistype(text, context(text), every=1).split().count("windows") == 0
    assert changed("keystrokes", "the cat, 1234 über") == "the cat, 1234 über"
