"""Measure-and-match probes: measurements, pairs, and counts for real collections."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.probes import Samples
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.matching.matched_probes import (
    FAMILY,
    FAMILY_SUM_TF,
    MatchedProbe,
    matched_pairs,
    matched_probes,
)
from termwise.probes.sources.matching.measurements import (
    LENGTH,
    OVERLAP,
    RELEVANCE,
    SUM_TERM_FREQUENCY,
    TERM_FREQUENCY,
    CountedTexts,
    PublishedTerms,
)

STOPS = frozenset({"the", "a", "of"})
TERMS = PublishedTerms(STOPS)


def judged(texts, grades=None, query="cat dog", name="toy"):
    """Make a collection of one query; unless given, all grades are 1."""
    return JudgedTexts(name, {"q": query}, texts, {"q": grades or dict.fromkeys(texts, 1)}, 0)


def pairs(variable, control, texts, grades=None, **options):
    query = options.pop("query", "cat dog")
    probe = MatchedProbe(variable, control, CountedTexts(judged(texts, grades, query), TERMS), **options)
    return sorted(tuple(sample.facts["documents"]) for sample in probe.samples(0))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cat's hats", ["cat", "s", "hat"]),
        ("naïve café", ["na", "ve", "caf"]),
        ("abcdefghijklmnopqrst abcdefghijklmnopqrstu", ["abcdefghijklmnopqrst"]),
        ("1234 12345 a1b2c3d4 a1b2c3d4e5", ["1234", "a1b2c3d4"]),
        ("aaa aaaa AAAa xaaay", ["aaa", "xaaai"]),
        ("possibly archaeology", ["possibl", "archaeolog"]),  # bli to ble, logi to log
        ("A THE Of", []),
    ],
)
def test_published_terms(text, terms):
    assert TERMS.tokens(text) == terms


def test_measurements_by_hand():
    counted = CountedTexts(
        judged({"a": "The cat, the cat and dogs", "b": "birds", "c": "the"}, {"a": 3, "b": 0, "c": 1}), TERMS
    ).of("q")
    values = {
        each.name: each.values(counted).tolist()
        for each in (RELEVANCE, LENGTH, TERM_FREQUENCY, SUM_TERM_FREQUENCY, OVERLAP)
    }
    assert values == {
        "relevance": [[3], [0], [1]],
        "length": [[4], [1], [0]],
        "tf": [[2, 1], [0, 0], [0, 0]],
        "sum-tf": [[3], [0], [0]],
        "overlap": [[0.75], [0], [0]],
    }


def test_the_control_is_exactly_equal_and_the_variable_strictly_larger():
    texts = {"a": "x x x", "b": "y y y", "c": "z z", "d": "w w w"}
    grades = {"a": 2, "b": 1, "c": 3, "d": 1}
    assert pairs(RELEVANCE, LENGTH, texts, grades) == [("a", "b"), ("a", "d")]


def test_a_vector_is_larger_if_no_entry_is_smaller():
    texts = {"a": "cat", "b": "cat dog", "c": "dog dog", "d": "bird"}
    assert pairs(TERM_FREQUENCY, RELEVANCE, texts) == [("a", "d"), ("b", "a"), ("b", "d"), ("c", "d")]


def test_texts_without_overlap_are_left_out():
    texts = {"a": "cat x x", "b": "cat dog x x x x", "c": "x", "d": "y y", "e": "cat"}
    assert pairs(LENGTH, OVERLAP, texts) == [("b", "a")]  # 1/3 and 2/6 are equal
    assert pairs(OVERLAP, RELEVANCE, texts) == [("e", "a"), ("e", "b")]


def test_vectors_of_equal_sum_are_not_equal():
    texts = {"a": "cat dog", "b": "cat cat", "c": "cat dog bird", "d": "dog dog", "e": "dog cat bird bird"}
    assert pairs(LENGTH, TERM_FREQUENCY, texts) == [("c", "a"), ("e", "a"), ("e", "c")]


def test_no_pair_is_found_twice():
    texts = {"a": "x", "b": "x x", "c": "x x x"}
    found = pairs(LENGTH, RELEVANCE, texts)
    assert found == [("b", "a"), ("c", "a"), ("c", "b")]


def test_a_query_of_stop_words_has_equal_vectors_everywhere():
    texts = {"a": "the", "b": "x y"}
    assert pairs(LENGTH, TERM_FREQUENCY, texts, query="the of") == [("b", "a")]
    assert pairs(TERM_FREQUENCY, RELEVANCE, texts, query="the of") == []
    assert pairs(OVERLAP, RELEVANCE, texts, query="the of") == []


rows = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 2), min_size=width, max_size=width), max_size=12)
)


@given(rows, st.data())
def test_pairs_equal_those_of_two_loops(variable, data):
    count = len(variable)
    control = data.draw(
        st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=count, max_size=count)
    )
    expected = [
        (one, other)
        for one, other in itertools.permutations(range(count), 2)
        if control[one] == control[other]
        and all(a >= b for a, b in zip(variable[one], variable[other], strict=True))
        and variable[one] != variable[other]
    ]
    width = len(variable[0]) if variable else 1
    higher, lower = matched_pairs(
        np.array(variable, dtype=np.int64).reshape(count, width),
        np.array(control, dtype=np.int64).reshape(count, 2),
    )
    assert list(zip(higher.tolist(), lower.tolist(), strict=True)) == expected


def test_samples_name_their_documents_and_do_not_depend_on_order():
    texts, grades = {"a": "cat", "b": "dog", "c": "cat cat"}, {"a": 2, "b": 0, "c": 1}
    turned = [dict(reversed(each.items())) for each in (texts, grades)]
    probes = [
        MatchedProbe(RELEVANCE, LENGTH, CountedTexts(judged(*given), TERMS))
        for given in ((texts, grades), turned)
    ]
    (sample,) = probes[0].samples(0)
    assert (sample.sample_id, sample.query_id, sample.query) == ("q/a > b", "q", "cat dog")
    assert (sample.first, sample.second) == ("cat", "dog")
    assert sample.facts == {"documents": ["a", "b"], "relevance": [2, 0], "length": [1, 1]}
    assert Samples.of(probes[0].samples(0)).content == Samples.of(probes[1].samples(7)).content


def test_families():
    inputs = ProbeInputs(
        language=None, stop_words=STOPS, judged=(judged({"a": "x"}), judged({"a": "x"}, name="two"))
    )
    names = [probe.name for probe in FAMILY.make(inputs)]
    assert len(names) == len(set(names)) == 24
    assert names[:4] == [
        "relevance-by-length@toy",
        "relevance-by-tf@toy",
        "relevance-by-overlap@toy",
        "length-by-relevance@toy",
    ]
    extra = [probe.name for probe in FAMILY_SUM_TF.make(inputs)]
    assert len(extra) == len(set(extra)) == 14
    assert not set(extra) & set(names)
    assert all("sum-tf" in name for name in extra)


COUNTS = {
    "trec_dl19_passage_subset": (
        *(4_067, 9_494, 1_308, 109_522, 19_512, 1_160),
        *(66_818, 4_138, 752, 106_747, 5_684, 18_153),
    ),
    "trec_dl20_passage_subset": (
        *(3_447, 10_556, 1_362, 112_641, 21_714, 1_217),
        *(53_760, 2_966, 745, 110_732, 5_071, 21_203),
    ),
    "liveqa_med_qrels": (58, 840, 15, 14_384, 3_670, 30, 8_115, 63, 18, 6_794, 54, 464),
}
"""Pairs of the 12 probes, in the order of the published table."""


@pytest.mark.shared
@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_judged_collections(shared, name):
    folder = shared / "probes" / name
    stops = frozenset((shared / "probes" / "lexicons" / "terrier_stopwords.txt").read_text().split())
    queries = next(path for path in folder.iterdir() if path.name.startswith("queries."))
    collection = JudgedTexts.read(
        folder / "docs.jsonl.gz", queries, folder / "qrels.txt", name=name, fields=["text"]
    )
    probes = matched_probes(ProbeInputs(language=None, stop_words=stops, judged=(collection,)))
    assert tuple(sum(1 for _ in probe.samples(0)) for probe in probes) == COUNTS[name]
