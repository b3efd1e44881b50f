"""Count models that add terms to the vocabulary of the index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from termwise import BuildOptions, Document, build_index
from termwise.index import IndexWriter
from termwise.indexing.count_rows import TokenCounts, count_documents
from termwise.models import CountModel
from termwise.text import make_analyzer
from termwise.weights import TermWeights

DOCUMENTS = [
    Document("a", "red car red"),
    Document("b", "blue sky"),
    Document("c", "a lorry and a car"),
    Document("d", ""),
]


@dataclass(frozen=True)
class Translations(CountModel):
    """Counts, and half a weight for each word that another stands for."""

    words: dict[str, str]
    seen: list[object] = field(default_factory=list)

    name: ClassVar[str] = "translations"
    expands: ClassVar[bool] = True

    def __post_init__(self):
        """Skip the check of parameters: the fields have other types."""

    def parameters(self):
        return {"words": self.words}

    @property
    def added_terms(self):
        return tuple(self.words.values())

    def for_vocabulary(self, vocabulary):
        return Numbered(self.words, self.seen, vocabulary)

    def weigh(self, counts, statistics):
        raise NotImplementedError


@dataclass(frozen=True)
class Numbered(CountModel):
    words: dict[str, str]
    seen: list[object]
    vocabulary: object

    name: ClassVar[str] = "translations"

    def __post_init__(self):
        """Skip the check of parameters: the fields have other types."""

    def weigh(self, counts, statistics):
        self.seen.append((self.vocabulary, statistics))
        number = self.vocabulary.number
        rows = []
        for terms, weights in counts:
            row = dict(zip(terms.tolist(), weights.tolist(), strict=True))
            for source, target in self.words.items():
                if number(source) in row and number(target) is not None:
                    row[number(target)] = row.get(number(target), 0.0) + 0.5
            rows.append(row)
        return TermWeights.from_rows(rows, counts.vocabulary)


def build(tmp_path, words, analyzer="whitespace", name="i"):
    model = Translations(words)
    searcher = build_index(
        DOCUMENTS,
        tmp_path / name,
        model=model,
        analyzer=analyzer,
        store_text=True,
        options=BuildOptions(quantiser="float32"),
    )
    return searcher, model


def test_terms_of_the_model_join_those_of_the_collection(tmp_path):
    searcher, model = build(tmp_path, {"car": "auto", "lorry": "truck", "tram": "zug", "sky": "blue"})
    tokens = list(searcher.index.vocabulary.load())
    assert tokens == ["a", "and", "auto", "blue", "car", "lorry", "red", "sky", "truck", "zug"]
    ((vocabulary, statistics),) = model.seen
    assert list(vocabulary) == tokens
    df = dict(zip(tokens, statistics.document_frequencies.tolist(), strict=True))
    cf = dict(zip(tokens, statistics.collection_frequencies.tolist(), strict=True))
    assert [(df[token], cf[token]) for token in ("auto", "truck", "zug")] == [(0, 0)] * 3
    assert (df["blue"], cf["blue"], df["car"], cf["red"]) == (1, 1, 2, 2)
    assert (statistics.n_documents, statistics.n_tokens) == (4, 10)
    assert searcher.rank("auto").doc_ids == ("a", "c")
    assert searcher.rank("truck auto").scores.tolist() == [1.0, 0.5]
    assert searcher.rank("blue").scores.tolist() == [1.5]
    assert len(searcher.rank("zug")) == 0


def test_added_terms_are_expansions(tmp_path):
    searcher, _ = build(tmp_path, {"car": "auto"})
    origins = {part.term: part.origin for part in searcher.explain("red auto", "a").contributions}
    assert origins == {"red": "exact", "auto": "expansion"}


def test_a_model_that_adds_nothing_changes_no_vocabulary(tmp_path):
    searcher, _ = build(tmp_path, {})
    plain = build_index(DOCUMENTS, tmp_path / "j", analyzer="whitespace")
    assert searcher.index.vocabulary.id == plain.index.vocabulary.id


def test_the_vocabulary_of_an_analyzer_stays_as_it_is(tmp_path):
    (tmp_path / "vocab.txt").write_text("[UNK]\ncar\nred\nauto\nsky\n")
    analyzer = make_analyzer(f"wordpiece:{tmp_path / 'vocab.txt'}")
    searcher, _ = build(tmp_path, {"car": "auto", "sky": "heaven"}, analyzer=analyzer)
    assert searcher.index.vocabulary.id == analyzer.vocabulary.id
    assert searcher.rank("auto").doc_ids == ("a", "c")
    assert searcher.index.vocabulary.number("heaven") is None


@pytest.mark.parametrize("words", [{}, {"car": "auto"}])
def test_the_order_of_the_documents_does_not_change_the_numbers(tmp_path, words):
    first, _ = build(tmp_path, words)
    backwards = build_index(DOCUMENTS[::-1], tmp_path / "j", model=Translations(words), analyzer="whitespace")
    assert first.index.vocabulary.id == backwards.index.vocabulary.id


def test_counts_are_numbered_as_tokens_come(tmp_path):
    """Two batches, which number their tokens differently, over the vocabulary c, b, a."""
    batches = [["b a b", "", "c b"], ["a c c"]]
    with IndexWriter(tmp_path / "i") as writer:
        counts = TokenCounts(writer, ["a"])
        for place, batch in enumerate(batches):
            given = [Document(f"d{place}{number}", text) for number, text in enumerate(batch)]
            counts.add(count_documents(make_analyzer("whitespace"), False, {}, given))
        assert (writer.documents, counts.numbers) == (4, {"a": 0, "b": 1, "c": 2})
        for postings in (1, 100):
            parts = counts.rows(np.array([2, 1, 0], dtype=np.int32), "v", postings=postings)
            rows = [
                dict(zip(*map(list, part.row(i)), strict=True)) for part in parts for i in range(len(part))
            ]
            assert rows == [{1: 2.0, 2: 1.0}, {}, {0: 1.0, 1: 1.0}, {0: 2.0, 2: 1.0}]
        counts.close()
    assert not list(tmp_path.iterdir())
