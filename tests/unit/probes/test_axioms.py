"""Axioms: constructed pairs against independent conditions, definitions by hand, and known rankers."""

from __future__ import annotations

import contextlib
import functools
import gzip
import itertools
import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import DataError, MalformedRecordError, MissingFileError, ParameterError
from termwise.probes import Constant, Samples, run_probe
from termwise.probes.axioms.axiom import TermReader, idf_of
from termwise.probes.axioms.axiom_probes import (
    AXIOMS,
    FAMILY,
    JudgedAxiomProbe,
    RepeatedTextProbe,
    axiom_probes,
    random_pairs,
)
from termwise.probes.axioms.sentence_templates import LONGEST, TemplateText, template_data
from termwise.probes.axioms.word_similarity import RelatedWords, WordVectors
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.sample import random_for
from termwise.text import make_analyzer

WRITTEN = template_data()
ENGLISH, SPACES = make_analyzer("english"), make_analyzer("whitespace")
GROUPS = [set(group) for group in WRITTEN.related]
AXIOM = {axiom.name: axiom for axiom in AXIOMS}
NAMES = list(AXIOM)


def material(*judged, **folders):
    return ProbeInputs(None, frozenset(), judged, folders)


@functools.cache
def constructed(analyzer, which=0):
    """Return the probes of made pairs by the name of the axiom; another time with another `which`."""
    return {
        probe.name.split("@")[0]: probe
        for probe in axiom_probes(material(), analyzer=make_analyzer(analyzer))
    }


CONSTRUCTED = constructed("english")
SAMPLES = {name: list(probe.samples(7)) for name, probe in CONSTRUCTED.items()}


# Constructed pairs as plain words, without an analyzer.


def words(text):
    return re.findall(r"\w+", text.lower())


def frame(text):
    """Return the text with all neutral nouns, query words and related words taken out."""
    nouns = set(WRITTEN.nouns) | {word for query in WRITTEN.queries for word in query}
    nouns |= {word for pair in WRITTEN.rare for word in pair} | set().union(*GROUPS)
    return [word for word in words(text) if word not in nouns]


class Seen:
    """A sample in words."""

    def __init__(self, sample):
        self.query = words(sample.query)
        self.first, self.second = words(sample.first), words(sample.second)
        self.a, self.b = Counter(self.first), Counter(self.second)
        self.more, self.less = self.a - self.b, self.b - self.a
        self.in_a, self.in_b = ([counts[word] for word in self.query] for counts in (self.a, self.b))

    @property
    def changed(self):
        """The words at the places where two texts of one length differ."""
        assert len(self.first) == len(self.second)
        return [pair for pair in zip(self.first, self.second, strict=True) if pair[0] != pair[1]]


def neutral(words_):
    return set(words_) <= set(WRITTEN.nouns)


def tfc1(s):
    (term,) = s.more
    return term in s.query and neutral(s.less) and all(one == term for one, _ in s.changed)


def tfc2(s):
    (new,), (old,) = s.less, s.more
    both = [(s.a[word], s.b[word]) for word in (new, old)]
    return (
        {new, old} <= set(s.query)
        and s.more.total() == s.less.total() == len(s.changed)
        and min(map(min, both)) > 0
        and s.a[new] == s.a[old]
    )


def tfc3(s):
    (new,), (old,) = s.less, s.more
    return s.b[old] == 0 < s.a[old] and s.b[new] == s.a[new] + s.a[old] and len(s.changed) == s.a[old]


def mtdc(s):
    rare, common = s.query
    swap = {rare: common, common: rare}
    return (
        (rare, common) in WRITTEN.rare
        and s.second == [swap.get(word, word) for word in s.first]
        and s.a[rare] > s.a[common]
    )


def lb1(s):
    ((new, filler),) = s.changed
    return new in s.query and neutral([filler]) and s.b[new] == 0 and sum(s.in_b) == len(s.query) - 1 > 0


def lb2(s):
    (new,) = [word for word in s.more if word in s.query]
    (old,) = s.less
    return (
        old in s.query
        and (s.a[new], s.b[new]) == (1, 0)
        and s.a[old] == 1 < s.b[old]
        and neutral(set(s.more) - {new})
        and len(s.changed) == s.b[old] - 1
    )


def lnc1(s):
    rest = iter(s.second)
    return (
        not s.more
        and s.less.total() > 0
        and not set(s.less) & set(s.query)
        and s.in_a == s.in_b
        and min(s.in_a) == 1
        and all(word in rest for word in s.first)
    )


def lnc2(s):
    times = len(s.first) // len(s.second)
    return times > 1 and s.first == s.second * times and min(s.in_b) == 1


def tflnc(s):
    (term,) = s.more
    return not s.less and term in s.query and s.b[term] == 1 and sum(s.in_b) == 1


def same_words(s):
    return s.a == s.b and Counter(frame_words(s.first)) == Counter(frame_words(s.second))


def frame_words(text):
    return frame(" ".join(text))


def firsts(text, query):
    return [text.index(word) for word in query]


def apart(text, query):
    pairs = itertools.combinations(firsts(text, query), 2)
    return np.mean([abs(one - other) - 1 for one, other in pairs])


def prox1(s):
    return (
        same_words(s)
        and min(s.in_a) == max(s.in_a) == 1
        and apart(s.first, s.query) < apart(s.second, s.query)
    )


def prox2(s):
    earlier = [b - a for a, b in zip(firsts(s.first, s.query), firsts(s.second, s.query), strict=True)]
    return same_words(s) and len(set(earlier)) == 1 and earlier[0] > 0


def prox3(s):
    phrase, turned = " ".join(s.query), " ".join(reversed(s.query))
    first, second = " ".join(s.first), " ".join(s.second)
    return (
        same_words(s)
        and first.index(phrase) < second.index(phrase)
        and second == first.replace(phrase, "_").replace(turned, phrase).replace("_", turned)
    )


def windows(text, query):
    """Yield first and last place of every choice of one occurrence of each term."""
    places = [[place for place, word in enumerate(text) if word == term] for term in query]
    for choice in itertools.product(*places):
        yield min(choice), max(choice)


def prox4(s):
    def closest(text):
        inside = [
            sum(word not in s.query for word in text[begin:end]) for begin, end in windows(text, s.query)
        ]
        return min(inside), -inside.count(min(inside))

    return same_words(s) and closest(s.first) < closest(s.second)


def prox5(s):
    def mean(text):
        places = {term: [at for at, word in enumerate(text) if word == term] for term in s.query}
        spans = []
        for at, word in enumerate(text):
            if word in s.query:
                near = [min(places[term], key=lambda other, at=at: abs(other - at)) for term in s.query]
                spans.append(max(near) - min(near))
        return np.mean(spans)

    return same_words(s) and mean(s.first) < mean(s.second)


def near(one, other):
    return any({one, other} <= group for group in GROUPS)


def stmc1(s):
    (word,) = s.query
    return word not in s.a + s.b and all(near(word, new) and neutral([old]) for new, old in s.changed)


def stmc2(s):
    (word,) = s.query
    times = len(s.second) // len(s.first)
    (other,) = set(s.b) - set(s.a)
    replaced = [other if one == word else one for one in s.first]
    return s.a[word] == 1 and near(word, other) and s.second == replaced * times


def reg(s):
    one, other, far = s.query
    return (
        near(one, other)
        and not near(one, far)
        and not near(other, far)
        and set(s.changed) == {(far, one)}
        and sum(s.in_a) == sum(s.in_b)
        and min(s.in_a + s.in_b) > 0
    )


def all_terms(s):
    ((new, old),) = s.changed
    return min(s.in_a) == 1 and s.b[new] == 0 and s.b[old] == 2 and sum(s.in_a) == sum(s.in_b)


def more_terms(s):
    ((new, old),) = s.changed
    kept = len(s.query) - 1
    return (
        sum(map(bool, s.in_a)) == kept and sum(map(bool, s.in_b)) == kept - 1 and {new, old} <= set(s.query)
    )


def div(s):
    (noun,) = s.less
    both = set(s.query)
    share = [len(both & set(side)) / len(both | set(side)) for side in (s.first, s.second)]
    return neutral([noun]) and neutral(s.more) and s.in_a == s.in_b and share[0] < share[1]


CONDITIONS = {
    "tfc1": tfc1,
    "tfc2": tfc2,
    "tfc3": tfc3,
    "m-tdc": mtdc,
    "lb1": lb1,
    "lb2": lb2,
    "lnc1": lnc1,
    "lnc2": lnc2,
    "tf-lnc": tflnc,
    "prox1": prox1,
    "prox2": prox2,
    "prox3": prox3,
    "prox4": prox4,
    "prox5": prox5,
    "stmc1": stmc1,
    "stmc2": stmc2,
    "reg": reg,
    "and": all_terms,
    "m-and": more_terms,
    "div": div,
}
LONGER = {"lnc1", "lnc2", "tf-lnc", "stmc2"}
PROXIMITY = [f"prox{number}" for number in range(1, 6)]


@pytest.mark.parametrize("name", NAMES)
def test_every_constructed_pair_meets_the_condition(name):
    assert len(SAMPLES[name]) >= 50
    for sample in SAMPLES[name]:
        seen = Seen(sample)
        assert CONDITIONS[name](seen), sample
        assert name in LONGER or len(seen.first) == len(seen.second), sample
        assert sample.first != sample.second


@pytest.mark.parametrize("name", sorted(set(NAMES) - LONGER - {"prox2"}))
def test_the_sentences_of_both_texts_are_the_same(name):
    for sample in SAMPLES[name]:
        assert frame(sample.first) == frame(sample.second)


@pytest.mark.parametrize("name", sorted({"tfc1", "lb1", "prox1", "prox5", "stmc1", "and", "div"}))
def test_the_conditions_can_fail(name):
    for sample in SAMPLES[name][:5]:
        turned = Seen(sample)
        turned.first, turned.second = turned.second, turned.first
        turned.a, turned.b, turned.more, turned.less = turned.b, turned.a, turned.less, turned.more
        turned.in_a, turned.in_b = turned.in_b, turned.in_a
        with contextlib.suppress(ValueError):
            assert not CONDITIONS[name](turned)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("analyzer", ["stm2", "standard"])
def test_no_pair_is_lost_to_an_analyzer(name, analyzer):
    assert len(list(constructed(analyzer)[name].samples(7))) == len(SAMPLES[name])


def test_pairs_that_violate_the_condition_under_the_analyzer_are_left_out():
    class Blind:
        """Maps all words to one term."""

        def tokens(self, text):
            return ["x"] * len(text.split())

    blind = {probe.name: probe for probe in axiom_probes(material(), analyzer=Blind())}
    assert list(blind["tfc1@constructed"].samples(7)) == list(blind["stmc1@constructed"].samples(7)) == []


def test_all_templates_and_nouns_are_used():
    used = {word for sample in SAMPLES["tfc1"] for word in words(sample.second)}
    assert set(WRITTEN.nouns) <= used
    assert {word for sentence in WRITTEN.sentences for word in words(sentence)} <= used


@pytest.mark.parametrize("name", ["tfc2", "tfc3", "lb2"])
def test_pairs_have_twins(name):
    """Which of two terms is the more frequent one is turned around, so that their weights cancel."""
    twins = {}
    for sample in SAMPLES[name]:
        pair = re.sub(r" of (one|the other)$", "", sample.sample_id)
        twins.setdefault(pair, []).append(Seen(sample))
    for one, other in twins.values():
        assert sorted(one.in_b) == sorted(other.in_b)
        assert one.in_b != other.in_b


@pytest.mark.parametrize("name", NAMES)
def test_samples_depend_on_the_seed_only(name):
    again = constructed("english", 1)[name]
    assert Samples.of(again.samples(7)).content == Samples.of(SAMPLES[name]).content
    other = list(again.samples(8))
    assert {one.sample_id for one in other} == {one.sample_id for one in SAMPLES[name]}
    assert Samples.of(other).content != Samples.of(SAMPLES[name]).content


# Rankers with known results.


@functools.cache
def tokens(text):
    return ENGLISH.tokens(text)


class Bm25:
    """BM25 of 1,000 texts of 60 terms: each term is in 20 of them, the rare ones in 2."""

    name = "bm25"

    def __init__(self, k1=1.2, b=0.75, mean=60):
        self.k1, self.b, self.mean = k1, b, mean
        self.rare = {ENGLISH.tokens(rare)[0] for rare, _ in WRITTEN.rare}

    def score(self, query, texts):
        return np.array([self.one(tokens(query), tokens(text)) for text in texts])

    def one(self, query, text):
        counts, total = Counter(text), 0.0
        for term in query:
            df = 2 if term in self.rare else 20
            long = self.k1 * (1 - self.b + self.b * len(text) / self.mean)
            total += math.log(1 + (1000 - df + 0.5) / (df + 0.5)) * counts[term] / (counts[term] + long)
        return total


@pytest.mark.parametrize(
    "name",
    ["tfc1", "tfc2", "tfc3", "m-tdc", "lb1", "lnc1", "lnc2", "tf-lnc", "stmc2", "and", "m-and"],
)
def test_bm25_satisfies_these_axioms(name):
    assert run_probe(Bm25(), CONSTRUCTED[name], Constant(1e-9)).score == 1.0


@pytest.mark.parametrize("name", [*PROXIMITY, "stmc1"])
def test_bm25_is_exactly_neutral_for_these_axioms(name):
    result = run_probe(Bm25(), CONSTRUCTED[name], Constant(0))
    assert result.differences.tolist() == [0.0] * len(SAMPLES[name])


@pytest.mark.parametrize("name", ["reg", "div"])
def test_bm25_is_neutral_for_equal_term_weights(name):
    assert set(run_probe(Bm25(), CONSTRUCTED[name], Constant(1e-9)).effects.tolist()) == {0}


def test_bm25_violates_lb2_for_long_texts():
    """A first occurrence is worth 1 / (1 + K), four further ones 5 / (5 + K) - 1 / (1 + K): more where K > 5/3."""
    kept = run_probe(Bm25(mean=1000), CONSTRUCTED["lb2"], Constant(1e-9))
    assert kept.score == 1.0
    result = run_probe(Bm25(mean=20), CONSTRUCTED["lb2"], Constant(1e-9))
    by_number = {number: set() for number in "124"}
    for sample_id, effect in zip(result.sample_ids, result.effects.tolist(), strict=True):
        by_number[sample_id.split("/")[1][0]].add(effect)
    assert (by_number["1"], by_number["4"]) == ({1}, {-1})


class Fixed:
    """Scores a text by a function of the words of the query and its own."""

    name = "fixed"

    def __init__(self, function):
        self.function = function

    def score(self, query, texts):
        return np.array([float(self.function(words(query), words(text))) for text in texts])


def count(query, text):
    return sum(Counter(text)[word] for word in query)


def test_counts_without_length_normalization():
    counting = Fixed(count)
    assert set(run_probe(counting, CONSTRUCTED["lnc1"], Constant(0)).effects.tolist()) == {0}
    assert run_probe(counting, CONSTRUCTED["tf-lnc"], Constant(0)).score == 1.0
    assert set(run_probe(counting, CONSTRUCTED["tfc2"], Constant(0)).effects.tolist()) == {0}


def test_a_share_of_words_is_equal_for_a_repeated_text():
    share = Fixed(lambda query, text: count(query, text) / len(text))
    assert set(run_probe(share, CONSTRUCTED["lnc2"], Constant(1e-12)).effects.tolist()) == {0}


def test_convex_counts_violate_tfc2():
    squares = Fixed(lambda query, text: sum(Counter(text)[word] ** 2 for word in query))
    assert run_probe(squares, CONSTRUCTED["tfc2"], Constant(0)).score == -1.0
    assert run_probe(squares, CONSTRUCTED["lb2"], Constant(0)).score == -1.0


def test_term_weights_cancel_between_twins():
    """Counts themselves, one term ten times: no gain shrinks, so the mean is 0, though single effects are not."""
    heavy = {query[0] for query in WRITTEN.queries}
    weighing = Fixed(lambda query, text: sum((10 if w in heavy else 1) * Counter(text)[w] for w in query))
    result = run_probe(weighing, CONSTRUCTED["tfc2"], Constant(0))
    assert result.score == 0.0
    assert result.counts.positive > 0


def test_rankers_that_use_places():
    early = Fixed(lambda query, text: -min(text.index(word) for word in query))
    assert run_probe(early, CONSTRUCTED["prox2"], Constant(0)).score == 1.0
    phrase = Fixed(lambda query, text: -" ".join(text).index(" ".join(query)))
    assert run_probe(phrase, CONSTRUCTED["prox3"], Constant(0)).score == 1.0
    close = Fixed(lambda query, text: -min(end - begin for begin, end in windows(text, query)))
    assert run_probe(close, CONSTRUCTED["prox1"], Constant(0)).score == 1.0
    assert run_probe(close, CONSTRUCTED["prox2"], Constant(0)).score == 0.0
    assert run_probe(close, CONSTRUCTED["prox3"], Constant(0)).score == 0.0


def test_a_ranker_that_uses_the_groups_of_related_words():
    knowing = Fixed(lambda query, text: sum(near(one, other) for one in query for other in text))
    assert run_probe(knowing, CONSTRUCTED["stmc1"], Constant(0)).score == 1.0


# Definitions by hand.

NEAR = RelatedWords([["a", "e"], ["b", "c"], ["f", "g"]], SPACES)


def prefers(name, query, one, other, margin=0.0, idf=lambda term: 1.0, likeness=NEAR):
    reader = TermReader(SPACES)
    analyzed, axiom = reader.query(query, idf, likeness), AXIOM[name]
    first, second = (axiom.measure(analyzed, reader.terms(text)) for text in (one, other))
    return axiom.prefers(analyzed, first, second, margin)


def rare_b(term):
    return 2.0 if term == "b" else 1.0


@pytest.mark.parametrize(
    ("name", "query", "one", "other", "expected"),
    [
        ("tfc1", "a b", "a b x", "a x x", True),
        ("tfc1", "a b", "a b x x", "a x x", False),
        ("tfc1", "a", "x x x", "a x x", False),
        ("tfc2", "a b", "a a b b", "a a a b", True),
        ("tfc2", "a b", "a b x x", "a a x x", False),
        ("tfc2", "a b d", "a a b b d", "a a a b x", False),
        ("tfc3", "a b", "a b x", "a a x", True),
        ("tfc3", "a b", "a b x", "a a a", False),
        ("tfc3", "a b d", "a b x d", "a a x x", False),
        ("lb1", "a b", "a b x", "a x x", True),
        ("lb1", "a b", "a x x", "x x x", False),
        ("lb1", "a b", "a b x", "a a x", False),
        ("lb2", "a b", "a b x", "a a x", True),
        ("lb2", "a b", "a b x x", "a a a a", True),
        ("lb2", "a b", "a b b x", "a a x x", False),
        ("lnc1", "a", "a x", "a x x", True),
        ("lnc1", "a", "x x", "x x x", False),
        ("lnc1", "a", "a a", "a x x", False),
        ("lnc2", "a", "a x a x", "a x", True),
        ("lnc2", "a", "x a a x", "a x", True),
        ("lnc2", "a", "a x a", "a x", False),
        ("lnc2", "a", "a", "", False),
        ("tf-lnc", "a", "a a x", "a x", True),
        ("tf-lnc", "a", "a a x x", "a x", False),
        ("tf-lnc", "a b", "a a b x", "a b x", True),
        ("prox1", "a b", "x a b", "a x b", True),
        ("prox1", "a b", "b a x", "x a b", False),
        ("prox1", "a b", "a b", "a x", False),
        ("prox2", "a b", "a x x b", "x a b x", False),
        ("prox2", "a b", "a b x x", "a x b x", True),
        ("prox3", "a b", "x a b a", "b a x a b", True),
        ("prox3", "a b", "a b", "b a", True),
        ("prox3", "a b", "b a", "b a", False),
        ("prox3", "a", "a x", "x a", False),
        ("prox4", "a b", "a b x a", "a x b a b", False),
        ("prox4", "a b", "a x x b x", "a x b x b", False),
        ("prox4", "a b", "a b a", "a b x", True),
        ("prox4", "a b", "a b", "a a", False),
        ("prox5", "a b", "a b x x a b", "a a x x b b", True),
        ("prox5", "a b", "x a b", "a b x", False),
        ("prox5", "a b", "a x x b a", "a x b x x", True),
        ("prox5", "a b d", "a b d x a", "a b x d x", True),
        ("stmc1", "a", "e x", "x x", True),
        ("stmc1", "a", "e e x", "e x x", True),
        ("stmc1", "a", "a e", "x x", False),
        ("stmc1", "a", "c x", "x x", False),
        ("stmc2", "a", "a x", "e x", True),
        ("stmc2", "a", "a x", "e x e x", True),
        ("stmc2", "a", "a x", "e x x x", False),
        ("stmc2", "a", "a x x x", "e x", False),
        ("stmc2", "a", "a x", "c x", False),
        ("stmc2", "a d", "a d", "e d e x", False),
        ("stmc2", "a d", "a d", "e d e d", True),
        ("reg", "b c d", "d x", "b x", True),
        ("reg", "b c d", "b x", "d x", False),
        ("reg", "a b d", "d x", "b x", False),
        ("and", "a b", "a b", "a x x", True),
        ("and", "a b d", "a b", "a", False),
        ("m-and", "a b d", "a b", "a x x", True),
        ("m-and", "a b", "a", "b", False),
        ("div", "a b", "a x y", "a x", True),
        ("div", "a b", "a x x", "a x", False),
    ],
)
def test_definitions_by_hand(name, query, one, other, expected):
    assert prefers(name, query, one, other) is expected
    assert not (expected and prefers(name, query, other, one))


def test_rarity():
    assert prefers("m-tdc", "a b", "b b a", "a a b", idf=rare_b)
    assert not prefers("m-tdc", "a b", "a a b", "b b a", idf=rare_b)
    assert not prefers("m-tdc", "a b", "b b a", "a a b")
    assert not prefers("m-tdc", "a b", "b b b a", "a a b b", idf=rare_b)
    assert not prefers("tfc3", "a b", "a b", "a a", idf=rare_b)
    assert prefers("tfc3", "a b", "a b", "a a", margin=0.5, idf=rare_b)


def test_margins():
    ten, nine = "a " + "x " * 9, "x " * 9
    assert prefers("tfc1", "a", ten, nine, margin=0.1)
    assert not prefers("tfc1", "a", ten, nine)
    assert not prefers("tfc1", "a", "a " * 10, "a " * 9 + "x", margin=0.1)
    assert prefers("tfc1", "a", "a " * 10, "a " * 8 + "x x", margin=0.1)
    assert not prefers("lnc1", "a", "a x", "a x x", margin=0.4)


TEXTS = st.lists(st.sampled_from("abcdefgx"), max_size=9).map(" ".join)
QUERIES = st.lists(st.sampled_from("abcdf"), max_size=4).map(" ".join)


@given(st.sampled_from(NAMES), QUERIES, TEXTS, TEXTS, st.sampled_from([0.0, 0.1, 0.4]))
def test_no_axiom_prefers_both_or_a_text_to_itself(name, query, one, other, margin):
    both = prefers(name, query, one, other, margin, rare_b) and prefers(
        name, query, other, one, margin, rare_b
    )
    assert not both
    assert not prefers(name, query, one, one, margin, rare_b)


@given(QUERIES, TEXTS, TEXTS)
def test_some_definitions_against_independent_ones(query, one, other):
    terms, first, second = set(query.split()), one.split(), other.split()
    sums = [sum(word in terms for word in text) for text in (first, second)]
    equal = len(first) == len(second)
    covered = [terms & set(text) for text in (first, second)]
    assert prefers("tfc1", query, one, other) == (equal and sums[0] > sums[1])
    assert prefers("and", query, one, other) == (covered[0] == terms != covered[1])
    assert prefers("m-and", query, one, other) == (len(covered[0]) > len(covered[1]))
    counts = [[text.count(term) for term in terms] for text in (first, second)]
    fewer = counts[0] == counts[1] and sums[0] > 0 and len(first) < len(second)
    assert prefers("lnc1", query, one, other) == fewer
    if len(terms) > 1 and covered[0] == covered[1] == terms:
        smallest = [
            min(
                sum(word not in terms for word in text[begin:end])
                for begin, end in windows(text, sorted(terms))
            )
            for text in (first, second)
        ]
        if len(terms) == 2 and smallest[0] != smallest[1]:
            assert prefers("prox4", query, one, other) == (smallest[0] < smallest[1])
    else:
        assert not prefers("prox4", query, one, other)


# Judged texts.


def judged(texts, query="cat dog", name="toy"):
    return JudgedTexts(name, {"q": query}, texts, {"q": dict.fromkeys(texts, 1)}, 0)


PETS = judged({"1": "cat dog bird", "2": "a cat ran", "3": "cat cat fish", "4": "dog", "5": "chat naïve 猫"})


def found(collection, name, **options):
    probes = {probe.name: probe for probe in axiom_probes(material(collection), **options)}
    return probes[f"{name}@{collection.name}"]


def pairs(probe, seed=1):
    return {tuple(sample.sample_id.split("/")[1:]) for sample in probe.samples(seed)}


def test_pairs_of_judged_texts_by_hand():
    assert pairs(found(PETS, "and", margin=0)) == {("1", other) for other in "2345"}
    assert pairs(found(PETS, "m-and", margin=0)) == {("1", o) for o in "2345"} | {(o, "5") for o in "234"}
    assert pairs(found(PETS, "tfc1", margin=0)) == {("1", "5"), ("3", "5")}
    assert pairs(found(PETS, "lb1", margin=0)) == set()
    assert pairs(found(PETS, "lb2", margin=0)) == set()
    assert pairs(found(PETS, "lb2", margin=0.5)) == {("1", "3")}
    assert pairs(found(PETS, "tfc3", margin=0)) == set()
    assert pairs(found(PETS, "tfc3", margin=0.5)) == {("1", "3")}


def test_a_sample_of_judged_texts():
    (sample,) = found(PETS, "lb2", margin=0.5).samples(1)
    assert (sample.query, sample.query_id) == ("cat dog", "q")
    assert (sample.first, sample.second) == ("cat dog bird", "cat cat fish")
    assert sample.facts == {"documents": ["1", "3"], "grades": [1, 1]}


def test_rarity_is_counted_in_the_judged_texts():
    """Of 4 texts cat is in 3 and dog in 2."""
    idf = idf_of(TermReader(ENGLISH), ["cat dog", "cats", "cat", "dogs"])
    assert idf("cat") == pytest.approx(math.log(1 + 1.5 / 3.5))
    assert idf("dog") == pytest.approx(math.log(1 + 2.5 / 2.5))
    assert idf("bird") == pytest.approx(math.log(1 + 4.5 / 0.5))
    swapped = judged({"1": "dog dog cat", "2": "cat cat dog", "3": "cat", "4": "bird fish"})
    assert pairs(found(swapped, "m-tdc")) == {("1", "2")}


def many(number=30):
    drawn = random_for(3, "texts")
    return {
        str(place): " ".join(drawn.choices(["cat", "dog", "bird", "fish"], k=drawn.randint(3, 6)))
        for place in range(number)
    }


def test_order_and_seed_do_not_matter_if_all_pairs_are_used():
    texts = many()
    turned = judged(dict(reversed(texts.items())))
    for name in NAMES:
        if not AXIOM[name].in_judged_texts:
            continue
        one, other = found(judged(texts), name), found(turned, name)
        assert (
            Samples.of(one.samples(1)).content
            == Samples.of(other.samples(1)).content
            == Samples.of(one.samples(2)).content
        )


def test_an_upper_bound_is_shared_by_the_queries():
    texts = many()
    grades = {query: dict.fromkeys(texts, 0) for query in ("q", "r")}
    collection = JudgedTexts("two", {"q": "cat dog", "r": "bird cat"}, texts, grades, 0)
    whole = found(collection, "m-and")
    capped = found(collection, "m-and", most=20)
    taken = list(capped.samples(1))
    assert Counter(sample.query_id for sample in taken) == {"q": 10, "r": 10}
    assert {sample.sample_id for sample in taken} < {sample.sample_id for sample in whole.samples(1)}
    assert Samples.of(taken).content == Samples.of(capped.samples(1)).content
    assert Samples.of(taken).content != Samples.of(capped.samples(2)).content
    assert len(list(found(collection, "m-and", most=1).samples(1))) == 2


@given(st.integers(0, 12), st.integers(0, 80), st.integers(0, 5))
def test_random_pairs_are_distinct(number, most, seed):
    drawn = list(random_pairs(number, random_for(seed), most))
    assert len(set(drawn)) == len(drawn) == min(most, number * (number - 1) // 2)
    assert all(0 <= other < one < number for one, other in drawn)


def test_any_text_can_be_judged():
    strange = judged(
        {"1": "", "2": "😀 \u200b", "3": "猫 dog cat", "4": "Über cat\u2028"}, query="猫 cat über"
    )
    for probe in axiom_probes(material(strange)):
        if probe.name.endswith("@toy"):
            list(probe.samples(1))
    nothing = judged({"1": "cat", "2": "dog"}, query="the of")
    assert all(not pairs(found(nothing, name)) for name in ["tfc1", "and", "m-and", "prox3", "lnc1", "div"])


def test_repeated_texts():
    samples = list(found(PETS, "lnc2").samples(1))
    assert [(sample.first, sample.second) for sample in samples][:1] == [
        ("cat dog bird cat dog bird", "cat dog bird")
    ]
    assert len(samples) == 5
    assert len(list(RepeatedTextProbe(PETS, most=2).samples(1))) == 2
    assert list(RepeatedTextProbe(judged({"1": " "})).samples(1)) == []


def test_the_family():
    names = [probe.name for probe in FAMILY.make(material(PETS))]
    assert len(names) == len(set(names))
    assert {"tfc1@constructed", "prox5@constructed", "tfc1@toy", "lnc2@toy"} <= set(names)
    assert "tfc2@toy" not in names
    assert {probe.strategy for probe in FAMILY.make(material(PETS))} == {"axiom"}


@pytest.mark.parametrize("margin", [-0.1, 1, math.nan, "0.1", True])
def test_a_margin_is_a_share(margin):
    with pytest.raises(ParameterError, match="margin"):
        axiom_probes(material(), margin=margin)


def test_bad_input():
    with pytest.raises(ParameterError, match="most"):
        found(PETS, "tfc1", most=0)


# Shipped data and files of the user.


def test_shipped_templates_and_words_do_not_overlap():
    def terms(texts):
        return [term for text in texts for term in ENGLISH.tokens(text.replace("{}", " "))]

    sentences, nouns = set(terms(WRITTEN.sentences)), terms(WRITTEN.nouns)
    query_terms = set(terms(map(" ".join, WRITTEN.queries))) | set(terms(map(" ".join, WRITTEN.rare)))
    related = terms(map(" ".join, WRITTEN.related))
    assert len(set(nouns)) == len(nouns) == len(WRITTEN.nouns)
    assert len(set(related)) == len(related) == sum(map(len, WRITTEN.related))
    assert not sentences & (set(nouns) | query_terms | set(related))
    assert not set(nouns) & (query_terms | set(related))
    assert not set(terms(map(" ".join, WRITTEN.queries))) & set(related)


def test_rare_words_are_rare(shared):
    from termwise.collection import open_collection

    reader = TermReader(ENGLISH)
    texts = [one.text for one in open_collection(shared / "pairs" / "nq_qed" / "corpus.jsonl.gz").documents()]
    idf = idf_of(reader, texts)
    for rare, common in WRITTEN.rare:
        assert idf(ENGLISH.tokens(rare)[0]) > idf(ENGLISH.tokens(common)[0]) + 1, (rare, common)


def test_places_of_a_text():
    text = TemplateText(("The {} met {}.", "Then {} left {}."), ("a", "b", "c", "d"), ())
    assert text.render({0: "{}", 3: "x y"}) == "The {} met b. Then c left x y."
    assert list(text.places) == [0, 1, 2, 3]


def test_the_templates_that_ship_are_well_formed():
    assert all(sentence.count("{}") == 2 for sentence in WRITTEN.sentences)
    assert len(WRITTEN.sentences) >= LONGEST
    assert len(WRITTEN.nouns) >= 2 * LONGEST + 10
    groups = [*WRITTEN.queries, *WRITTEN.rare, *WRITTEN.related]
    assert all(len(set(group)) == len(group) >= 2 for group in groups)
    single = [*WRITTEN.nouns, *(word for group in groups for word in group)]
    assert all(len(word.split()) == 1 for word in single)


def test_word_vectors_from_a_file(tmp_path):
    plain = tmp_path / "vectors.txt"
    plain.write_text("5 2\ncats 3 0\ncat 0 1\ndogs 3 4\nzero 0 0\nbird -1 0\n")
    near_ = WordVectors.read(plain, ENGLISH)
    assert near_("cat", "dog") == near_("dog", "cat") == pytest.approx(0.6)
    assert near_("cat", "bird") == near_("cat", "zero") == near_("cat", "fish") == 0.0
    packed = tmp_path / "vectors.gz"
    packed.write_bytes(gzip.compress(b"cat 1 0\ndog 1 1\n"))
    assert WordVectors.read(packed, ENGLISH)("cat", "dog") == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize("text", ["cat 1 0\ndog 1\n", "cat\ndog\n", "cat 1 x\n", "cat 1 nan\n"])
def test_bad_vectors(tmp_path, text):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(MalformedRecordError):
        WordVectors.read(path, ENGLISH)


def test_truncated_vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("3 2\ncat 1 0\ndog 0 1\n")
    with pytest.raises(DataError, match="fewer words than its first line says"):
        WordVectors.read(path, ENGLISH)


@pytest.mark.parametrize("kind", ["complex128", "datetime64[s]", "bool", "U3"])
def test_vectors_that_are_not_real_numbers(tmp_path, kind):
    np.save(tmp_path / "v.npy", np.ones((2, 2)).astype(kind))
    (tmp_path / "v.txt").write_text("cat\ndog\n")
    with pytest.raises(DataError):
        WordVectors.read(tmp_path / "v.npy", ENGLISH)


def test_missing_vectors(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(DataError, match="empty"):
        WordVectors.read(tmp_path / "empty.txt", ENGLISH)
    with pytest.raises(MissingFileError):
        WordVectors.read(tmp_path / "none.txt", ENGLISH)


def test_vectors_define_similarity_for_judged_texts(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 0\nlynx 1 0.1\nstone 0 1\n")
    texts = judged({"1": "lynx here", "2": "stone here"}, query="cat")
    probes = axiom_probes(material(texts, **{"word-vectors": path}))
    (stmc,) = [probe for probe in probes if probe.name == "stmc1@toy"]
    assert isinstance(stmc, JudgedAxiomProbe)
    assert pairs(stmc) == {("1", "2")}
    assert pairs(found(texts, "stmc1")) == set()
