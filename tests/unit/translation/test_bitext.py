"""Bitexts from judged pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import EmptyCollectionError, MalformedRecordError
from termwise.kernels.translation_training import Side
from termwise.progress import Execution
from termwise.text import make_analyzer
from termwise.translation import Bitext, Model1Settings, make_bitext
from termwise.translation import bitext as bitext_module

from .conftest import bitext_of, source_of


def words(bitext: Bitext, side: Side, row: int) -> list[str]:
    return [
        " ".join(
            bitext.vocabulary.token(int(token))
            for token in side.tokens[side.first[piece] : side.first[piece] + side.length[piece]]
        )
        for piece in range(side.starts[row], side.starts[row + 1])
    ]


def shown(bitext: Bitext) -> list[tuple[str, list[str]]]:
    rows = range(len(bitext.queries.starts) - 1)
    return [(*words(bitext, bitext.queries, row), words(bitext, bitext.chunks, row)) for row in rows]


def walked(query: list[str], passage: list[str], ratio: float) -> list[list[str]]:
    """Cut as the published program does: word by word."""
    chunks, current = [], []
    for word in passage:
        current.append(word)
        if ratio > 0 and len(current) / len(query) >= ratio:
            chunks.append(current)
            current = []
    return [*chunks, current] if current else chunks


def test_chunk_boundaries() -> None:
    bitext = bitext_of([("a b", "1 2 3 4 5 6 7")])
    assert shown(bitext) == [("a b", ["1 2 3", "4 5 6", "7"])]
    assert (bitext.facts.pairs, bitext.facts.chunks, bitext.sequences) == (1, 3, 6)


def test_a_query_has_the_chunks_of_all_its_passages() -> None:
    bitext = bitext_of([("a b", "1 2 3 4"), ("c", "1 2"), ("a b", "5 6")])
    assert shown(bitext) == [("a b", ["1 2 3", "4", "5 6"]), ("c", ["1 2"])]


def test_pairs_of_very_different_lengths_are_skipped() -> None:
    query = " ".join("abcdefghij")
    assert shown(bitext_of([(query, "1"), ("a", "1")])) == [("a", ["1"])]
    long = bitext_of([(query[:17], "1"), (query, "1 2")])
    assert shown(long) == [(query[:17], ["1"]), (query, ["1 2"])]  # nine times is allowed
    whole = bitext_of([("a", "1 2 3 4 5 6 7 8 9 10"), ("b", "1")], ratio=0.0)
    assert shown(whole) == [("b", ["1"])]
    assert (whole.facts.uneven, whole.facts.chunks) == (1, 1)


def test_pairs_without_terms_on_a_side_are_counted() -> None:
    bitext = bitext_of([("a", " "), (" ", "1"), ("b", "1")])
    assert shown(bitext) == [("b", ["1"])]
    assert bitext.facts.empty == 2


def test_nothing_to_train_on() -> None:
    with pytest.raises(EmptyCollectionError, match="nothing to train on") as caught:
        bitext_of([("a", " "), (" ", "1")])
    assert dict(caught.value.facts)["pairs without terms on a side"] == 2
    with pytest.raises(EmptyCollectionError):
        bitext_of([])
    with pytest.raises(EmptyCollectionError):
        make_bitext([], make_analyzer("whitespace"))
    with pytest.raises(EmptyCollectionError):
        make_bitext([source_of([("the", "of the")])], make_analyzer("wordpiece-clean"))


def test_counts_of_terms_on_each_side() -> None:
    bitext = bitext_of([("a b", "a 1 1 1")])  # a b | a 1 1, and a b | 1
    named = dict(zip(bitext.vocabulary, bitext.occurrences.tolist(), strict=True))
    assert named == {"a": 3, "b": 2, "1": 3}
    assert bitext.target_counts.tolist() == bitext.occurrences.tolist()
    plain = bitext_of([("a b", "a 1 1 1")], symmetrise=False)
    assert dict(zip(plain.vocabulary, plain.occurrences.tolist(), strict=True)) == {"a": 1, "b": 0, "1": 3}
    assert dict(zip(plain.vocabulary, plain.target_counts.tolist(), strict=True)) == {"a": 2, "b": 2, "1": 0}


def test_terms_of_a_closed_vocabulary_keep_their_numbers() -> None:
    analyzer = make_analyzer("wordpiece-clean")
    bitext = make_bitext([source_of([("sorting lists", "merge sort")])], analyzer)
    assert bitext.vocabulary == analyzer.vocabulary
    assert shown(bitext) == [("sorting lists", ["merge sort"])]


def test_frequencies_count_distinct_passages() -> None:
    bitext = bitext_of([("a", "x x y"), ("b", "x x y"), ("a", "x")])
    named = dict(zip(bitext.vocabulary, bitext.passage_frequencies.tolist(), strict=True))
    assert named == {"a": 0, "b": 0, "x": 2, "y": 1}


def test_sources_are_concatenated() -> None:
    analyzer = make_analyzer("whitespace")
    one, two = source_of([("a", "1 2 3")], "one"), source_of([("b", "2 3"), ("a", "4")], "two")
    bitext = make_bitext([one, two], analyzer)
    assert shown(bitext) == [("a", ["1 2", "3"]), ("b", ["2 3"]), ("a", ["4"])]
    assert bitext.facts.pairs == 3


def test_the_largest_pair_is_reported_once() -> None:
    def text(side: str, different: int) -> str:
        return " ".join(f"{side}{place}" for place in range(different))

    analyzer = make_analyzer("whitespace")
    said: list[str] = []
    one = source_of(
        [(" ", "a"), ("a", "b c"), (text("q", 2300), f"{text('p', 2200)} q0 q0"), ("b", "b")], "one"
    )
    make_bitext([one], analyzer, execution=Execution(say=said.append))
    make_bitext(
        [one], analyzer, Model1Settings(symmetrise=False), execution=Execution(say=said.append)
    )  # half as many
    same = source_of([(text("q", 2300), text("q", 2300))], "same")
    make_bitext([same], analyzer, execution=Execution(say=said.append))  # both ways the same
    often = source_of([("q " * 4000, "p " * 4000), ("q", text("p", 9000))], "often")
    make_bitext([often], analyzer, execution=Execution(say=said.append))
    two = source_of([(text("q", 3300), text("p", 3200))], "two")
    make_bitext([one, two], analyzer, Model1Settings(ratio=0.0), execution=Execution(say=said.append))
    assert said == [
        "pair 3 of one, 2,300 x 2,202 terms, makes 10,124,599 cells: such pairs take much time and memory",
        "pair 1 of two, 3,300 x 3,200 terms, makes 21,120,000 cells, and 1 more above 10,000,000: "
        "such pairs take much time and memory",
    ]


def test_samples_are_reproducible() -> None:
    pairs = [(f"q{number}", "1 2 3 4 5 6 7 8") for number in range(200)]
    parts = [bitext_of(pairs, sample=0.25, seed=seed) for seed in (1, 1, 2)]
    assert shown(parts[0]) == shown(parts[1]) != shown(parts[2])
    assert 120 < parts[0].facts.chunks < 280
    assert parts[0].facts.chunks + parts[0].facts.unsampled == 800


def test_large_arrays_are_mapped_from_files(tmp_path: Path) -> None:
    pairs = [("a b", "1 2 3 4 5 6 7"), ("c", "1 2")]
    mapped = make_bitext([source_of(pairs)], make_analyzer("whitespace"), folder=tmp_path, memory=0)
    assert isinstance(mapped.chunks.tokens.base, np.memmap)
    assert shown(mapped) == shown(bitext_of(pairs))
    assert mapped.chunk_postings.counts.tolist() == bitext_of(pairs).chunk_postings.counts.tolist()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["whitespace", "wordpiece-clean"])
def test_the_bitext_does_not_depend_on_processes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitext_module, "_BATCH_LENGTH", 200)
    monkeypatch.setattr("termwise.parallel.WORTH_PROCESSES", 0)
    pairs = [
        (f"word{n % 13} b{n % 7}", f"sort the list{n % 5} quickly, word{n % 11} naïve" * 2) for n in range(90)
    ]
    sources = [source_of(pairs[:60], "one"), source_of(pairs[40:], "two")]
    told: list[list[tuple[str, int, int | None]]] = [[], []]
    one, two = (
        make_bitext(
            sources,
            make_analyzer(name),
            Model1Settings(sample=0.5),
            execution=Execution(
                threads=threads, progress=lambda *what, seen=told[threads - 1]: seen.append(what)
            ),
        )
        for threads in (1, 2)
    )
    assert list(one.vocabulary) == list(two.vocabulary)
    assert one.facts == two.facts
    for part in ("queries", "chunks", "query_postings", "chunk_postings"):
        for first, second in zip(getattr(one, part), getattr(two, part), strict=True):
            assert first.dtype == second.dtype
            assert first.tobytes() == second.tobytes()
    assert one.passage_frequencies.tolist() == two.passage_frequencies.tolist()
    assert told[0] == told[1]
    assert told[0][-1] == ("read passages: two", 50, 50)
    assert [total for _, _, total in told[0]].count(60) > 1


@dataclass(frozen=True)
class Refusing:
    """Cuts between white space, and refuses one word."""

    vocabulary: None = None

    def tokens(self, text: str) -> list[str]:
        if "poison" in text:
            raise MalformedRecordError.at("terms.txt", 3, expected="a word", seen="poison")
        return text.split()


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_of_an_analyzer_are_passed_on(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("termwise.parallel.WORTH_PROCESSES", 0)
    source = source_of([("a", "b c"), ("poison", "d")])
    with pytest.raises(MalformedRecordError) as caught:
        make_bitext([source], Refusing(), execution=Execution(threads=threads))  # type: ignore[arg-type]
    assert (dict(caught.value.facts)["file"], dict(caught.value.facts)["line"]) == ("terms.txt", 3)


def test_batches_have_bounded_length() -> None:
    texts = ["x" * 60_000, "y" * 60_000, "z" * 60_000, *["w"] * 600, "v" * 200_000]
    parts = list(bitext_module._batches(texts))
    assert [text for part in parts for text in part] == texts
    assert [len(part) for part in parts] == [2, 512, 89, 1]
    assert list(bitext_module._batches([])) == [[]]


WORDS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=12)


@given(
    st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.3, 1.0, 1.1, 1.5, 2.7]),
    st.sampled_from([1.0, 2.0, 9.0]),
)
def test_chunks_are_those_of_the_published_program(
    pairs: list[tuple[list[str], list[str]]], ratio: float, longest: float
) -> None:
    expected = Counter(
        (" ".join(query), " ".join(chunk))
        for query, passage in pairs
        for chunk in walked(query, passage, ratio)
        if max(len(query), len(chunk)) <= longest * min(len(query), len(chunk))
    )
    given_ = [(" ".join(query), " ".join(passage)) for query, passage in pairs]
    if not expected:
        with pytest.raises(EmptyCollectionError):
            bitext_of(given_, ratio=ratio, longest_ratio=longest)
        return
    bitext = bitext_of(given_, ratio=ratio, longest_ratio=longest)
    found = Counter((query, chunk) for query, chunks in shown(bitext) for chunk in chunks)
    assert found == expected
