"""Behaviour probes: each change is made, and nothing else changes."""

from __future__ import annotations

import dataclasses
import json
import re
import unicodedata
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import MalformedRecordError, MissingFileError
from termwise.probes import Constant, Probe, Samples, run_probe
from termwise.probes.behaviour import fact_swaps, injection, noise, queries
from termwise.probes.behaviour.fact_swaps import NamePool, listed_names
from termwise.probes.behaviour.gender import FEMALE, worded
from termwise.probes.behaviour.negation import negated
from termwise.probes.behaviour.position import moved, xquad_sources
from termwise.probes.behaviour.stuffing import AttackProbe
from termwise.probes.behaviour.words_and_sentences import (
    best_sentence,
    put_before,
    scrambled,
    sentence_starts,
)
from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.language import Entity, Parsed
from termwise.probes.language.rules import RuleLanguage
from termwise.probes.manipulations.base import ManipulationContext
from termwise.probes.registry import BEHAVIOUR
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.written_texts import (
    Passage,
    neutral_sentences,
    written,
    written_passages,
    written_texts,
)

STOPS = frozenset(
    {"how", "is", "the", "a", "of", "in", "on", "what", "when", "did", "to", "and", "it", "was"}
)
TOY = JudgedTexts(
    "toy",
    {"q1": "how tall is the tower", "q2": "when did it rain"},
    {
        "a": "It was built of iron. The tower is 330 metres tall. Paint keeps off rust.",
        "b": "Cats sleep all day. Dogs bark. Birds sing in May 1953.",
        "c": "One sentence alone",
    },
    {"q1": {"a": 3, "b": 1, "c": 1}, "q2": {"b": 2, "c": 1}},
    1,
)
MATERIAL = ProbeInputs(RuleLanguage(), STOPS, judged=(TOY,))


def all_probes(material=MATERIAL) -> dict[str, Probe]:
    return {probe.name: probe for family in BEHAVIOUR for probe in family.make(material)}


def samples(name, seed=0, material=MATERIAL):
    return {sample.sample_id: sample for sample in all_probes(material)[name].samples(seed)}


def context(text="", query="how tall is the tower", seed=0, judged=TOY, language=MATERIAL.language):
    return ManipulationContext(JudgedText("q1", query, "a", text, 3), judged, language, STOPS, Random(seed))


# Written texts


@pytest.mark.parametrize("name", ["passages", "negation", "exclusion", "roles", "units", "gender", "neutral"])
def test_written_items_are_complete(name):
    items = written(name)
    assert len({item["id"] for item in items}) == len(items) >= 25
    assert len({json.dumps({**item, "id": ""}, sort_keys=True) for item in items}) == len(items)
    assert all(set(item) == set(items[0]) for item in items)
    for item in items:
        for value in item.values():
            texts = value if isinstance(value, list) else [value]
            assert all(text == 0 or text == text.strip() != "" for text in texts if isinstance(text, str)), (
                item
            )
    if name in ("passages", "negation", "roles", "units", "gender"):
        assert len({item["query"] for item in items}) == len(items)


def test_passages():
    ids = {passage.passage_id for passage in written_passages()}
    places = Counter(passage.answer for passage in written_passages())
    assert min(places[place] for place in range(5)) >= 5, "the answer is at any place"
    for passage, item in zip(written_passages(), written("passages"), strict=True):
        assert len(passage.sentences) == len(set(passage.sentences)) == 5
        assert best_sentence(passage.query, passage.sentences, frozenset()) == passage.answer
        assert item["unrelated"] in ids - {item["id"]}
        assert not re.match(r"(It|They|He|She|This|That|These)\b", " ".join(passage.sentences))
        assert item["keywords"] != item["query"]
        text = " ".join(passage.sentences)
        assert [text[start:] for start in sentence_starts(text, MATERIAL.language)] == [
            " ".join(passage.sentences[n:]) for n in range(1, 5)
        ], "the rules find the written sentences"


def test_neutral_sentences_share_no_word_with_queries():
    used = {word for sentence in neutral_sentences() for word in re.findall(r"\w{5,}", sentence.lower())}
    query_words = {
        word for item in written("passages") for word in re.findall(r"\w{5,}", item["query"].lower())
    }
    assert used & query_words == set()


def test_statements_and_negations_differ_in_few_words():
    for item in written("negation"):
        affirmed, other = (
            Counter(re.findall(r"\w+", item[side].lower())) for side in ("affirmed", "negated")
        )
        assert sum((affirmed - other).values()) <= 7, item
        assert (other - affirmed) & Counter(dict.fromkeys(("not", "no", "cannot", "never", "without"), 1)), (
            item
        )
        assert item["query"] != item["query_negated"]


def test_exclusions_contain_the_excluded_thing():
    for item in written("exclusion"):
        assert item["excluded"] in item["with"], item
        assert item["excluded"] not in item["without"], item
        thing = item["topic"].split()[-1].removesuffix("s")
        assert thing in item["with"].lower(), item
        assert thing in item["without"].lower(), item


def test_exchanged_roles_keep_all_words():
    for item in written("roles"):
        first, second = (re.findall(r"\w+", item[side].lower()) for side in ("first", "second"))
        assert first != second
        assert sorted(first) == sorted(second), item


def test_exchanged_units_keep_the_number():
    for item in written("units"):
        first, second = (re.findall(r"\d+", item[side]) for side in ("first", "second"))
        assert first == second != []
        assert item["first"] != item["second"]


def test_gendered_words_are_in_slots_only():
    used = Counter(slot for item in written("gender") for slot in re.findall(r"\{(\w+)\}", item["text"]))
    assert {slot.lower() for slot in used} == set(FEMALE)
    forbidden = {*FEMALE, *FEMALE.values(), "mr", "mrs", "husband", "wife"}
    for item in written("gender"):
        outside = re.sub(r"\{\w+\}", "", item["text"]) + " " + item["query"]
        assert forbidden.isdisjoint(re.findall(r"\w+", outside.lower())), item
        assert "{" not in worded(item["text"], female=True)


def test_listed_names():
    names = [name for kind in listed_names().values() for name in kind]
    assert len(names) == len(set(names)) == 121
    assert {"PERSON", "CITY", "COUNTRY"} == set(listed_names())


def test_written_texts_are_a_judged_collection():
    judged = written_texts()
    assert len(judged) == 2 * len(judged.queries)
    assert {one.grade for one in judged} == {0, 1}


# All probes


def test_names_are_unique_and_cover_every_collection():
    names = [probe.name for family in BEHAVIOUR for probe in family.make(MATERIAL)]
    assert len(names) == len(set(names))
    assert len({family.name for family in BEHAVIOUR}) == len(BEHAVIOUR) == 9
    of_written = {name.removesuffix("@written") for name in names if name.endswith("@written")}
    of_toy = {name.removesuffix("@toy") for name in names if name.endswith("@toy")}
    assert of_toy <= of_written
    assert len(of_toy) > 70
    assert all(re.fullmatch(r"[a-z0-9-]+@[\w-]+", name) for name in names)


def test_every_family_has_probes_without_user_data():
    for family in BEHAVIOUR:
        probes = family.make(ProbeInputs(RuleLanguage(), STOPS))
        assert probes
        for probe in probes:
            found = Samples.of(probe.samples(3))
            assert found, probe.name
            assert not any(sample.identical for sample in found), probe.name
            assert Samples.of(found).content == Samples.of(probe.samples(3)).content, probe.name


def test_each_definition_names_the_first_text():
    for probe in all_probes().values():
        if probe.symmetric and "neither comes first" in probe.definition:
            continue
        assert re.fullmatch(r"First: .+\. Second: .+\.", probe.definition), probe.name


def test_titles_are_distinct_within_a_collection():
    for family in BEHAVIOUR:
        titles = [probe.title for probe in family.make(ProbeInputs(RuleLanguage(), STOPS))]
        assert len(titles) == len(set(titles))


def test_a_sample_does_not_depend_on_the_others():
    fewer = JudgedTexts("toy", TOY.queries, TOY.texts, {"q1": {"a": 3, "c": 1}, "q2": {}}, 1)
    few = all_probes(dataclasses.replace(MATERIAL, judged=(fewer,)))
    for name, probe in all_probes().items():
        if name.endswith("@toy") and name in few:
            every = {sample.sample_id: sample for sample in probe.samples(7)}
            for sample in few[name].samples(7):
                assert sample == every[sample.sample_id], name


def test_random_choices_depend_on_the_seed():
    for name in (
        "noise-accents",
        "length-filler-3",
        "query-typo-moves",
        "swap-numbers",
        "position-padding-3",
    ):
        probe = all_probes()[f"{name}@written"]
        assert Samples.of(probe.samples(0)).content != Samples.of(probe.samples(1)).content, name


# Negation


def test_negated_by_hand():
    assert negated("Iron can rust.") == "Iron cannot rust."
    assert negated("It WAS late and is gone.") == "It WAS not late and is gone."
    assert negated("There is no light.") is None
    assert negated("It rusts.") is None
    assert negated("It isn't so.") is None


def test_the_best_sentence_is_negated_in_place():
    found = samples("negation-inserted@toy")
    assert set(found) == {"q1/a"}, "the others have no query word or no auxiliary verb"
    assert found["q1/a"].first == TOY.texts["a"].replace("tower is", "tower is not")


def test_opposite_queries_exchange_the_texts():
    for one, other in (("negation-affirmed", "negation-negated"), ("exclusion-without", "exclusion-with")):
        original, exchanged = samples(f"{one}@written"), samples(f"{other}@written")
        assert original.keys() == exchanged.keys()
        for name, sample in original.items():
            assert (sample.first, sample.second) == (exchanged[name].second, exchanged[name].first)
            assert sample.query != exchanged[name].query
            assert sample.query_id == exchanged[name].query_id == name
    assert samples("exclusion-without@written")["bread"].query == "homemade bread without yeast"


# Stuffing and injection


@pytest.mark.parametrize("times", [1, 2, 5])
def test_the_query_is_added_at_either_end(times):
    query = " ".join(["how tall is the tower"] * times)
    text = TOY.texts["a"]
    assert samples(f"stuffing-append-{times}@toy")["q1/a"].first == f"{text} {query}"
    assert samples(f"stuffing-prepend-{times}@toy")["q1/a"].first == f"{query} {text}"


def test_stuffing_by_hand():
    text = TOY.texts["c"]
    assert samples("stuffing-terms-5@toy")["q1/c"].first == f"{text}{' tall tower' * 5}"
    assert samples("stuffing-other-query@toy")["q1/c"].first == f"{text} when did it rain"
    assert samples("stuffing-unrelated@toy")["q1/c"].first == f"{text} how tall is the tower"
    assert set(samples("stuffing-unrelated@toy")) == {"q1/b", "q1/c", "q2/c"}
    inside = samples("stuffing-unrelated@toy")["q1/b"].first
    assert inside in {put_before(TOY.texts["b"], "how tall is the tower", at) for at in (20, 31)}


def test_scrambled_payloads_have_the_same_characters():
    for sample in samples("stuffing-scrambled-5@toy").values():
        added = sample.first.removeprefix(sample.second).split()
        assert Counter("".join(added)) == Counter("".join(sample.query.split() * 5))
        assert not set(sample.query.split()) <= set(added)


def test_an_attack_is_paired_with_a_relevant_text():
    found = samples("attack-query-2@toy")
    assert set(found) == {"q1/b", "q1/c", "q2/c"}
    query, text = "how tall is the tower", TOY.texts["b"]
    assert found["q1/b"].first == f"{query} {text} {query}"
    assert found["q1/b"].second == TOY.texts["a"]
    assert samples("attack-query-1@toy")["q1/b"].first == f"{text} {query}"
    assert samples("attack-none@toy")["q1/b"].first == text


def test_all_attacks_have_the_same_targets():
    texts = {f"d{n}": f"text {n}" for n in range(12)}
    judged = JudgedTexts("many", {"q": "why"}, texts, {"q": {d: int(d > "d5") for d in texts}}, 0)
    targets = [
        {sample.sample_id: sample.second for sample in AttackProbe("x", "x", judged, times=times).samples(4)}
        for times in (0, 1, 5)
    ]
    assert targets[0] == targets[1] == targets[2]
    assert len(set(targets[0].values())) > 1


def test_without_relevant_texts_there_is_no_attack():
    judged = JudgedTexts("none", {"q": "why"}, {"a": "x", "b": "y"}, {"q": {"a": 0, "b": 0}}, 0)
    assert list(AttackProbe("x", "x", judged, times=1).samples(0)) == []


@pytest.mark.parametrize("name", injection.PAYLOADS)
def test_payloads_are_inserted_at_three_places(name):
    payload = injection.PAYLOADS[name][1].replace("{query}", "how tall is the tower")
    text = TOY.texts["b"]
    assert samples(f"injection-{name}-start@toy")["q1/b"].first == f"{payload} {text}"
    assert samples(f"injection-{name}-end@toy")["q1/b"].first == f"{text} {payload}"
    middle = samples(f"injection-{name}-middle@toy")
    assert middle["q1/b"].first == text.replace("Dogs bark. ", f"Dogs bark. {payload} ")
    assert "q1/c" not in middle, "a single sentence has no middle"
    control = samples(f"injection-{name}-end-scrambled@toy")["q1/b"].first.removeprefix(f"{text} ")
    assert control != payload
    assert len(control) == len(payload)
    assert Counter(control) == Counter(payload)


@given(st.text(max_size=40), st.integers())
def test_scrambling_moves_only_letters_and_digits(text, seed):
    mixed = scrambled(text, Random(seed))
    assert Counter(mixed) == Counter(text)
    assert [c for c in mixed if not c.isalnum()] == [c for c in text if not c.isalnum()]
    assert [c.isalnum() for c in mixed] == [c.isalnum() for c in text]


# Position and length


@given(st.integers(3, 9), st.data())
def test_moving_the_answer_keeps_the_other_sentences(count, data):
    sentences = tuple(f"Sentence {n}." for n in range(count))
    answer = data.draw(st.integers(0, count - 1))
    passage = Passage("p", "q", "?", sentences, answer)
    others = [sentence for sentence in sentences if sentence != sentences[answer]]
    for place, target in (("start", 0), ("middle", (count - 1) // 2), ("end", count - 1)):
        found = re.findall(r"Sentence \d\.", moved(passage, place))
        assert found[target] == sentences[answer]
        assert [sentence for sentence in found if sentence != sentences[answer]] == others


def test_the_answer_of_a_judged_text_moves():
    found = samples("position-start-end@toy")
    assert set(found) == {"q1/a"}, "one of the relevant texts has no query word"
    assert found["q1/a"].first == "The tower is 330 metres tall. It was built of iron. Paint keeps off rust."
    assert found["q1/a"].second == "It was built of iron. Paint keeps off rust. The tower is 330 metres tall."


def test_padding_is_the_same_on_both_sides():
    for sample in samples("position-padding-10@written").values():
        assert sorted(sample.first.split()) == sorted(sample.second.split())
        text = written_texts().texts[sample.query_id]
        assert sample.first.endswith(text)
        assert sample.second.startswith(text)
        padding = sample.second.removeprefix(text).strip()
        assert padding == sample.first.removesuffix(text).strip()
        assert sum(sentence in padding for sentence in neutral_sentences()) == 10


def test_length_by_hand():
    text = TOY.texts["a"]
    best, others = "The tower is 330 metres tall.", ("It was built of iron.", "Paint keeps off rust.")
    assert samples("length-doubled@toy")["q1/a"].first == f"{text} {text}"
    assert samples("length-best-again@toy")["q1/a"].first == f"{text} {best}"
    assert samples("length-other-again@toy")["q1/a"].first in {f"{text} {other}" for other in others}
    added = samples("length-filler-3@toy")["q1/a"].first.removeprefix(f"{text} ")
    assert sum(sentence in added for sentence in neutral_sentences()) == 3
    assert "q1/c" not in samples("length-best-again@toy")


def test_xquad_answers_are_at_their_offsets(tmp_path):
    context = "Iron rusts. The answer is 42, they say. Nothing else."
    line = {"id": "x", "question": "what?", "context": context, "answer": "42", "answer_start": 26}
    path = tmp_path / "qa.jsonl"
    path.write_text(json.dumps(line) + "\n")
    ((_, find),) = xquad_sources(path, MATERIAL.language)
    passage = find()
    assert passage == Passage(
        "x", "x", "what?", ("Iron rusts.", "The answer is 42, they say.", "Nothing else."), 1
    )
    names = all_probes(dataclasses.replace(MATERIAL, folders={"xquad": tmp_path}))
    assert len(Samples.of(names["position-start-end@xquad"].samples(0))) == 1
    path.write_text(json.dumps({**line, "answer_start": 25}) + "\n")
    with pytest.raises(MalformedRecordError, match="'42' at 'answer_start'") as caught:
        list(xquad_sources(path, MATERIAL.language))
    assert ("line", 1) in caught.value.facts


# Noise


CHANGES = {change.name: change for change in noise.MANIPULATIONS}
TEXT = "The small camel drank clear, modern water; Bill's horse hid in 150 rooms. It was 5 o'clock & cold."


def noisy(name, text=TEXT, seed=0):
    return CHANGES[name].apply(text, context(text, seed=seed))


def test_case():
    assert noisy("noise-upper-case", "a Cat") == "A CAT"
    assert noisy("noise-lower-case", "a Cat") == "a cat"


@given(st.integers())
def test_accents_leave_the_letters(seed):
    found = noisy("noise-accents", seed=seed)
    plain = "".join(c for c in unicodedata.normalize("NFD", found) if not unicodedata.combining(c))
    assert found != plain == TEXT
    assert len(found) == len(TEXT)


@given(st.integers())
def test_lookalikes_can_be_reverted(seed):
    found = noisy("noise-lookalikes", seed=seed)
    assert found != TEXT
    assert found.translate({ord(other): latin for latin, other in noise.LOOKALIKES.items()}) == TEXT


def test_lookalikes_are_cyrillic():
    for latin, other in noise.LOOKALIKES.items():
        assert unicodedata.name(latin).startswith("LATIN")
        assert unicodedata.name(other).startswith("CYRILLIC")


@given(st.integers())
def test_only_invisible_characters_are_added(seed):
    found = noisy("noise-invisible", seed=seed)
    assert found != TEXT
    assert "".join(c for c in found if c not in noise.INVISIBLE) == TEXT
    assert all(unicodedata.category(c) == "Cf" for c in noise.INVISIBLE)


@given(st.integers())
def test_scanners_misread_words_one_at_a_time(seed):
    found, given_words = noisy("noise-scanner", seed=seed).split(), TEXT.split()
    assert len(found) == len(given_words)
    different = [(old, new) for old, new in zip(given_words, found, strict=True) if old != new]
    assert len(different) >= 1
    for old, new in different:
        assert any(
            new == old[:at] + noise.MISREAD[seen] + old[at + len(seen) :]
            for seen in noise.MISREAD
            for at in range(len(old))
            if old.startswith(seen, at)
        ), (old, new)


def test_remains_of_markup_and_pages():
    assert noisy("noise-spaces", "a b\nc") == "a  b\nc"
    assert noisy("noise-html", "a < b") == '<div class="content"><p>a &lt; b</p>&nbsp;<br/></div>'
    assert TEXT in noisy("noise-markdown").replace("**", "")
    assert TEXT in noisy("noise-boilerplate")
    assert noisy("noise-urls").startswith(TEXT + " https://")
    without = noisy("noise-emoji")
    for emoji in noise.EMOJI:
        without = without.replace(f" {emoji}", "")
    assert without == TEXT
    assert len(noisy("noise-emoji")) == len(TEXT) + 2 * 2


def test_a_text_without_words_gives_no_noise():
    assert noisy("noise-accents", "...") is None
    assert noisy("noise-scanner", "?") is None


# Queries


def test_both_sides_have_one_text_and_two_queries():
    for name in ("typo", "order", "upper-case"):
        for sample in samples(f"query-{name}-moves@toy").values():
            assert sample.first == sample.second
            assert sample.second_query not in (None, sample.query)
    assert all_probes()["query-typo-moves@toy"].symmetric
    assert set(samples("query-typo-moves@toy")) == {"q1/a", "q1/b", "q1/c", "q2/b", "q2/c"}
    assert set(samples("query-typo-kept@toy")) == {"q1/a", "q2/b"}


def test_a_query_is_changed_in_one_way_for_all_texts():
    found = {
        sample.second_query for sample in samples("query-typo-moves@toy").values() if sample.query_id == "q1"
    }
    assert len(found) == 1


def test_query_changes_by_hand():
    drawing = Random(0)
    assert queries.without_stop_words("how tall is the tower", STOPS, drawing) == "tall tower"
    assert queries.reordered("one two?", STOPS, drawing) == "two one"
    assert queries.reordered("one one", STOPS, drawing) is None
    assert queries.typo("how is the it", STOPS, drawing) is None
    assert queries.NEIGHBOURS["a"] == "s"
    assert queries.NEIGHBOURS["g"] == "fh"


@given(st.text("abcdefgz", min_size=4, max_size=8), st.integers())
def test_a_typing_error_is_small(word, seed):
    found = queries.mistyped_word(word, Random(seed))
    assert found != word
    assert found[0] == word[0]
    assert abs(len(found) - len(word)) <= 1
    if len(found) == len(word):
        different = [at for at in range(len(word)) if word[at] != found[at]]
        assert len(different) == 1 or different == [different[0], different[0] + 1]


@given(st.lists(st.sampled_from("abcde"), min_size=2, max_size=6), st.integers())
def test_reordering_keeps_the_words(words, seed):
    found = queries.reordered(" ".join(words), STOPS, Random(seed))
    if len(set(words)) < 2:
        assert found is None
    else:
        assert found.split() != words
        assert sorted(found.split()) == sorted(words)


def test_keywords_are_the_written_ones():
    found = samples("query-keywords-kept@written")
    assert found["rust/rust"].second_query == "iron rust conditions"
    assert len(found) == 40


def test_variations_apply_to_collections_with_their_queries(tmp_path):
    lines = [
        {"id": "v1", "query": "How tall is the tower", "variant": "tower hight", "kind": "real_typo"},
        {"id": "v2", "query": "how tall is the tower", "variant": "tower", "kind": "synonym", "valid": False},
        {"id": "v3", "query": "who else", "variant": "whom else", "kind": "paraphrase"},
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    material = dataclasses.replace(MATERIAL, folders={"query-variations": tmp_path})
    names = [name for name in all_probes(material) if "variation" in name]
    assert names == ["query-variation-real-typo-moves@toy", "query-variation-real-typo-kept@toy"]
    assert samples(names[0], material=material)["q1/a/v1"].second_query == "tower hight"
    with pytest.raises(MissingFileError):
        all_probes(dataclasses.replace(MATERIAL, folders={"query-variations": tmp_path / "none"}))


class QueryLength:
    """Scores a text by the length of the query."""

    name = "query-length"

    def score(self, query, texts):
        return np.array([float(len(query)) for _ in texts])


def test_query_probes_run_like_other_probes():
    kept = run_probe(QueryLength(), all_probes()["query-content-words-kept@toy"], Constant(0.5))
    assert kept.score == 1.0
    assert kept.identical == 0
    moves = run_probe(QueryLength(), all_probes()["query-upper-case-moves@toy"], Constant(0.5))
    assert moves.score == 0.0


# Swaps


def swapped(name, text, query="how tall is the tower", seed=0):
    (change,) = (
        probe._manipulation for probe in fact_swaps.fact_probes(MATERIAL) if probe.name == f"{name}@toy"
    )
    return change.apply(text, context(text, query, seed))


@given(st.integers(0, 10**9), st.sampled_from(fact_swaps.FACTORS))
def test_numbers_are_multiplied(number, factor):
    assert fact_swaps.multiplied(str(number), factor) == str(number * factor)
    assert fact_swaps.multiplied(f"{number:,}", factor).replace(",", "") == str(number * factor)


def test_years_days_and_parts_of_names_stay():
    for text in (
        "In 1953 it rained.",
        "On 9 November it fell.",
        "On May 12 it fell.",
        "COVID-19 and H2O, 3/4, 1.2.3",
    ):
        assert swapped("swap-numbers", text) == text
    assert swapped("swap-numbers", "It has 12 rooms", "what has 12 rooms") == "It has 12 rooms"


@pytest.mark.parametrize("seed", range(5))
def test_equal_numbers_change_alike(seed):
    found = swapped("swap-numbers", "Of 12 rooms, 12 are red, 1,600 blue.", seed=seed)
    first, again, large = re.fullmatch(r"Of (\d+) rooms, (\d+) are red, ([\d,]+) blue\.", found).groups()
    assert first == again
    assert int(first) // 12 in fact_swaps.FACTORS
    assert int(large.replace(",", "")) // 1600 in fact_swaps.FACTORS


@pytest.mark.parametrize("seed", range(5))
def test_dates_change(seed):
    found = swapped("swap-dates", "In May 1953 and on 5 May 1953, but may 12 march?", seed=seed)
    match = re.fullmatch(r"In (\w+) (\d{4}) and on 5 (\w+) (\d{4}), but may 12 march\?", found)
    assert match[1] == match[3] != "May"
    assert match[1] in fact_swaps.MONTHS
    assert match[2] == match[4]
    assert 10 <= 1953 - int(match[2]) < 100
    assert swapped("swap-dates", "In May 1953", "what was in May 1953") == "In May 1953"


def test_listed_names_are_replaced_by_names_of_their_type():
    found = swapped("swap-names", "Isaac Newton saw Rome, and Rome saw Isaac Newton.")
    match = re.fullmatch(r"(.+) saw (.+), and (.+) saw (.+)\.", found)
    assert (match[1], match[2]) == (match[4], match[3])
    assert match[1] in set(listed_names()["PERSON"]) - {"Isaac Newton"}
    assert match[2] in set(listed_names()["CITY"]) - {"Rome"}
    assert swapped("swap-names", "Rome is old.", "how old is Rome") is None
    assert swapped("swap-names", "Nothing here.") is None


class Names(RuleLanguage):
    """Takes words in capitals for names of one kind, and words with a capital X before for another."""

    def parse(self, text):
        parsed = super().parse(text)
        entities = [
            Entity(at, at + 1, "ORG" if token.text.startswith("X") else "PERSON")
            for at, token in enumerate(parsed.tokens)
            if token.text.isupper() and len(token.text) > 1
        ]
        return Parsed(parsed.text, parsed.tokens, parsed.sentences, parsed.chunks, tuple(entities))


def test_names_come_from_the_collection_if_the_language_finds_names():
    texts = {"a": "ADA met XERO.", "b": "BOB left XYLO.", "c": "nobody"}
    judged = JudgedTexts("named", {"q": "who"}, texts, {"q": {"a": 1, "b": 1, "c": 0}}, 0)
    pool = NamePool(Names())
    assert pool.swap(texts["a"], context(judged=judged, language=Names())) == "BOB met XYLO."
    own = pool.swap("ADA saw Rome.", context(judged=written_texts(), language=Names()))
    assert own.removeprefix("ADA saw ").rstrip(".") in set(listed_names()["CITY"]) - {"Rome"}
    assert pool.swap("ADA met BOB.", context(judged=judged, language=Names())) is None, "no other is left"


# Folders


def test_semantoneg_condaqa_wikifactcheck_and_grepbiasir(tmp_path):
    def put_file(name, *lines):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    pair = {"id": "1", "query": "You are not fat.", "doc_a": "You are thin.", "doc_b": "You are fat."}
    put_file("s/pairs.jsonl", pair)
    claim = {"id": "1", "query": None, "doc_a": "Old windmills turn.", "doc_b": "Old windmills stand."}
    put_file("s/wikifactcheck_claim_vs_refuted.jsonl", claim)
    put_file(
        "c/dev.jsonl",
        *({**pair, "id": edit, "edit": edit} for edit in ("paraphrase", "scope", "affirmative")),
    )
    put_file(
        "g/pairs.jsonl",
        *({**pair, "id": c, "contrast": c} for c in ("male>female", "neutral>male", "neutral>female")),
    )
    folders = {
        "semantoneg": tmp_path / "s",
        "wikifactcheck": tmp_path / "s",
        "condaqa": tmp_path / "c",
        "grepbiasir": tmp_path / "g",
    }
    probes = all_probes(ProbeInputs(RuleLanguage(), STOPS, folders=folders))
    found = {
        name: [s.sample_id for s in probe.samples(0)]
        for name, probe in probes.items()
        if "written" not in name
    }
    assert found == {
        "negation@semantoneg": ["1"],
        "negation-claim@wikifactcheck": found["negation-claim@wikifactcheck"],
        "negation-paraphrase@condaqa": ["paraphrase"],
        "negation-scope@condaqa": ["scope"],
        "negation-affirmative@condaqa": ["affirmative"],
        "gender-male-female@grepbiasir": ["male>female"],
        "gender-told-apart@grepbiasir": ["male>female"],
        "gender-neutral-male@grepbiasir": ["neutral>male"],
        "gender-neutral-female@grepbiasir": ["neutral>female"],
    }
    symmetric = {name for name in found if probes[name].symmetric}
    assert symmetric == {*(n for n in found if n.endswith("@condaqa")), "gender-told-apart@grepbiasir"}


def put_lines(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def pairs_of(name, data_set, folder):
    probe = all_probes(ProbeInputs(RuleLanguage(), STOPS, folders={data_set: folder}))[f"{name}@{data_set}"]
    assert isinstance(probe, TransferProbe)
    return [(pair.pair_id, pair.query, pair.first, pair.second) for pair in probe.pairs()]


@pytest.mark.parametrize("name", ["SemAntoNeg.json", "SemAntoNeg_v1.0.json"])
def test_original_files_of_semantoneg(name, tmp_path):
    item = {
        "idx": 7,
        "label": 1,
        "input": "It is hot.",
        "sentences": ["It is not hot.", "It is not cold.", "Cold."],
    }
    path = tmp_path / "testsuite" / name
    put_lines(path, json.dumps(item))
    assert pairs_of("negation", "semantoneg", tmp_path) == [
        ("semantoneg-7-0", "It is hot.", "It is not cold.", "It is not hot."),
        ("semantoneg-7-1", "It is hot.", "It is not cold.", "Cold."),
    ]
    for wrong in ({"label": 3}, {"label": True}, {"label": None}, {"sentences": "x"}, {"sentences": [1, 2]}):
        put_lines(path, json.dumps(item), json.dumps(item | wrong))
        with pytest.raises(MalformedRecordError, match="label") as caught:
            pairs_of("negation", "semantoneg", tmp_path)
        assert dict(caught.value.facts)["line"] == 2


def test_original_files_of_wikifactcheck(tmp_path):
    for part in (0, 1):
        path = tmp_path / f"wikifactcheck_english_{part}.tsv"
        put_lines(path, "sentence\tnegated", f'A "claim {part}.\tNo "claim.', "One.\tNone.")
    assert pairs_of("negation-claim", "wikifactcheck", tmp_path) == [
        ("wfc-0-0", None, 'A "claim 0.', 'No "claim.'),
        ("wfc-0-1", None, "One.", "None."),
        ("wfc-1-0", None, 'A "claim 1.', 'No "claim.'),
        ("wfc-1-1", None, "One.", "None."),
    ]
    put_lines(path, "sentence\tnegated", "alone")
    with pytest.raises(MalformedRecordError, match="columns sentence, negated"):
        pairs_of("negation-claim", "wikifactcheck", tmp_path)


def test_original_files_of_condaqa(tmp_path):
    def row(edit, passage, question="q1"):
        return {
            "PassageID": 4, "QuestionID": question, "PassageEditID": edit, "sentence1": passage,
            "sentence2": f"{question}?",
        }  # fmt: skip

    rows = [row(2, "scope"), row(0, "not"), row(1, "never"), row(3, "yes"), row(1, "alone", "q2")]
    path = tmp_path / "data" / "condaqa_dev.json"
    put_lines(path, *map(json.dumps, rows))
    for edit, passage in (("paraphrase", "never"), ("scope", "scope"), ("affirmative", "yes")):
        assert pairs_of(f"negation-{edit}", "condaqa", tmp_path) == [
            (f"condaqa-dev-4-q1-{edit}", "q1?", "not", passage)
        ]
    for wrong in ({"PassageEditID": 4}, {"PassageEditID": [0]}, {"sentence1": None}, {"QuestionID": 5}):
        put_lines(path, *map(json.dumps, [rows[0], rows[1] | wrong]))
        with pytest.raises(MalformedRecordError) as caught:
            pairs_of("negation-scope", "condaqa", tmp_path)
        assert dict(caught.value.facts)["line"] == 2


def test_original_files_of_grepbiasir(tmp_path):
    names = "q_id,d_id,relevant,query,doc_title,document,content_gender,exp_stereotype"
    path = tmp_path / "csv_formatted" / "queries-documents_child-care.csv"
    rows = [
        '5,1,1,nap time,"For Him, you",He naps.,M,x',
        "5,2,1,nap time,For Her,She naps.,F,x",
        "5,3,1,nap time,For All,They nap.,N,x",
        "5,4,0,nap time,Off,He runs.,M,x",
        "5,5,0,nap time,Both,He and she.,FM,x",
    ]
    put_lines(path, names, *rows)
    male, female, neutral = "For Him, you. He naps.", "For Her. She naps.", "For All. They nap."
    start = "grep-child-care-5-1-0"
    for contrast, first, second in (
        ("male-female", male, female), ("neutral-male", neutral, male), ("neutral-female", neutral, female),
    ):  # fmt: skip
        found = pairs_of(f"gender-{contrast}", "grepbiasir", tmp_path)
        assert found == [(f"{start}-{contrast}", "nap time", first, second)]
    assert pairs_of("gender-told-apart", "grepbiasir", tmp_path)[0][2:] == (male, female)
    put_lines(path, names.replace("doc_title", "title"), *rows)
    with pytest.raises(MalformedRecordError, match="doc_title"):
        pairs_of("gender-told-apart", "grepbiasir", tmp_path)


@pytest.mark.parametrize("name", ["test.csv", "test.jsonl"])
def test_nevir_has_a_pair_for_each_query(name, tmp_path):
    item = {"id": "9", "q1": "Who came?", "q2": "Who did not?", "doc1": "She came.", "doc2": "She did not."}
    rows = {
        "test.csv": [",".join(item), ",".join(item.values())],
        "test.jsonl": [json.dumps(item)],
    }
    put_lines(tmp_path / name, *rows[name])
    line = len(rows[name])
    assert pairs_of("negation", "nevir", tmp_path) == [
        (f"nevir-test-{line}-1", "Who came?", "She came.", "She did not."),
        (f"nevir-test-{line}-2", "Who did not?", "She did not.", "She came."),
    ]
    probe = all_probes(ProbeInputs(RuleLanguage(), STOPS, folders={"nevir": tmp_path}))["negation@nevir"]
    assert {sample.query_id for sample in probe.samples(0)} == {f"nevir-test-{line}"}


def test_a_folder_without_its_file_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="SemAntoNeg"):
        all_probes(ProbeInputs(RuleLanguage(), STOPS, folders={"semantoneg": tmp_path}))


def test_the_published_files_are_read(shared):
    probes = shared / "probes"
    folders = {
        "semantoneg": probes / "semantoneg_negation",
        "condaqa": probes / "condaqa_negation",
        "grepbiasir": probes / "grepbiasir_gender",
        "xquad": probes / "xquad_factuality",
    }
    found = all_probes(ProbeInputs(RuleLanguage(), STOPS, folders=folders))
    counts = {
        "negation@semantoneg": 6304,
        "negation-paraphrase@condaqa": 276 + 1824,
        "negation-scope@condaqa": 229 + 1568,
        "negation-affirmative@condaqa": 248 + 1643,
        "gender-male-female@grepbiasir": 232,
        "position-padding-3@xquad": 1190,
    }
    assert {name: len(Samples.of(found[name].samples(0))) for name in counts} == counts
