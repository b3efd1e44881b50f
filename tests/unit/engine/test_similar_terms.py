"""Terms of similar spelling and with a prefix, by hand and against plain Python."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from types import SimpleNamespace
from weakref import ref

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.searches import searching

import termwise
from termwise import BuildOptions, Document, build_index
from termwise.engine.query_settings import QuerySettings
from termwise.engine.similar_terms import CHARACTERS, MOST_CODES, MOST_TERMS, SimilarTerms, most_edits
from termwise.errors import ParameterError
from termwise.index.container import Container, ContainerWriter
from termwise.index.string_table import SECTIONS, StringTable, write_strings
from termwise.index.terms import MappedVocabulary
from termwise.models import VectorModel
from termwise.text import make_analyzer

DOCUMENTS = [
    Document("d1", "kettle tent tent lamp"),
    Document("d2", "kettle tents"),
    Document("d3", "settle lamp kettles"),
    Document("d4", "tarp type66"),
]


def osa(one, other):
    """Return the distance as Wikipedia defines it (optimal string alignment)."""
    rows = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            if i == 0 or j == 0:
                rows[i][j] = i + j
                continue
            differs = one[i - 1] != other[j - 1]
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + differs)
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


def index_of(folder, tables, frequencies):
    """Return what `SimilarTerms` reads of an index with these terms, and of how many documents has each."""
    stored = []
    for number, terms in enumerate(tables):
        path = Path(folder) / f"{number}.tw"
        with ContainerWriter(path, "terms", SECTIONS) as writer:
            write_strings(writer, "terms", [term.encode() for term in terms])
            writer.finish()
        stored.append(StringTable(Container(path, "terms"), "terms", len(terms)))
    vocabulary = MappedVocabulary(stored, background=False, identity="")
    return SimpleNamespace(vocabulary=vocabulary, document_frequencies=np.array(frequencies, dtype=np.int64))


TERMS = st.text("abc\x81é𝔸", max_size=8)


@given(st.lists(TERMS, unique=True, max_size=40), TERMS, st.data())
@settings(max_examples=300)
def test_the_nearest_terms_are_those_of_plain_python(terms, word, data):
    frequencies = data.draw(st.lists(st.integers(0, 9), min_size=len(terms), max_size=len(terms)))
    split = data.draw(st.integers(0, len(terms)))
    with tempfile.TemporaryDirectory() as folder:
        index = index_of(folder, [terms[:split], terms[split:]], frequencies)
        found = SimilarTerms(index, make_analyzer("whitespace")).nearest(word, word)
    distances = [
        (osa(word, term), -documents, term, number)
        for number, (term, documents) in enumerate(zip(terms, frequencies, strict=True))
        if documents and term and osa(word, term) <= most_edits(word)
    ]
    assume(
        (0, word) not in {(distance, term) for distance, _, term, _ in distances}
    )  # a word that the index has
    expected = [each for each in sorted(distances) if each[0] == min(distances)[0]][:MOST_TERMS]
    assert [(each.distance, -each.documents, each.term, each.number) for each in found] == expected


@given(st.lists(TERMS, unique=True, min_size=1, max_size=40), TERMS, st.data())
def test_the_terms_with_a_prefix_are_those_of_plain_python(terms, prefix, data):
    frequencies = data.draw(st.lists(st.integers(0, 9), min_size=len(terms), max_size=len(terms)))
    split = data.draw(st.integers(0, len(terms)))
    with tempfile.TemporaryDirectory() as folder:
        index = index_of(folder, [terms[:split], terms[split:]], frequencies)
        found = SimilarTerms(index, make_analyzer("whitespace")).starting_with(prefix, without=terms[0])
    expected = sorted(
        (-documents, term)
        for term, documents in zip(terms, frequencies, strict=True)
        if documents and term.startswith(prefix) and term != terms[0]
    )
    most = MOST_CODES if any(map(str.isdigit, prefix)) else MOST_TERMS
    assert [(-each.documents, each.term) for each in found] == expected[:most]


def test_the_number_of_edits_depends_on_the_length():
    words = ("ten", "tent", "kettles", "backpack", "backpack2")
    assert [most_edits(word) for word in words] == [0, 1, 1, 2, 0]
    assert [most_edits("x" * length) for length in (100, 101)] == [2, 0]


@pytest.fixture(scope="module", params=["uint8", "float32"])
def folder(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("indexes") / "i.tw"
    build_index(DOCUMENTS, out, analyzer="whitespace", options=BuildOptions(quantiser=request.param))
    return out


def weights(folder, query, **given):
    similar = {name: given.pop(name) for name in ("fuzzy", "prefix") if name in given}
    searcher = searching(termwise.open(folder), weighting=QuerySettings(**given), **similar)
    terms, values = searcher.encode(query).row(0)
    return {searcher.index.vocabulary.token(term): value for term, value in zip(terms, values, strict=True)}


def test_similar_terms_share_the_weight_of_a_word_that_the_index_lacks(folder):
    # Two documents have kettle, and one has settle; both differ in one of six characters.
    found = weights(folder, "bettle lamp", fuzzy=True)
    assert found == pytest.approx({"kettle": 5 / 6 * 2 / 3, "settle": 5 / 6 * 1 / 3, "lamp": 1})
    assert weights(folder, "bettle lamp bettle", fuzzy=True)["kettle"] == pytest.approx(2 * 5 / 6 * 2 / 3)
    assert weights(folder, "bettle bettle", fuzzy=True, counts="once")["kettle"] == pytest.approx(5 / 9)
    # "kettels" is one transposition away from "kettles", and two edits from "kettle", which is not added.
    assert weights(folder, "kettels", fuzzy=True) == pytest.approx({"kettles": 6 / 7})


def test_a_similar_term_that_the_query_has_gets_both_weights(folder):
    assert weights(folder, "lamp lomp", fuzzy=True) == pytest.approx({"lamp": 1.75})


def test_known_words_short_words_and_numbers_have_no_similar_terms(folder):
    for query in ("settle", "ten", "type65", "zebra"):
        assert weights(folder, query, fuzzy=True) == weights(folder, query)


def test_the_last_word_matches_as_a_prefix(folder):
    # One document has tent, one has tents, and one has tarp.
    assert weights(folder, "lamp t", prefix=True) == pytest.approx(
        {"lamp": 1, "tent": 1 / 4, "tents": 1 / 4, "tarp": 1 / 4, "type66": 1 / 4}
    )
    assert weights(folder, "tent", prefix=True) == pytest.approx({"tent": 1, "tents": 1 / 2})
    for query in ("lamp t ", "t lamp", "lamps"):  # finished words, and one that no term begins with
        assert weights(folder, query, prefix=True) == weights(folder, query)
    assert weights(folder, "t lomp", prefix=True, fuzzy=True) == pytest.approx({"lamp": 3 / 4})
    assert weights(folder, "kett", prefix=True, fuzzy=True) == pytest.approx(
        {"kettle": 2 / 3, "kettles": 1 / 3}
    )


def test_codes_that_a_word_with_a_digit_begins_have_its_weight(tmp_path):
    codes = [f"rt{number}" for number in range(4300, 4360)]
    build_index([Document(code, code) for code in codes], tmp_path / "i", analyzer="whitespace")
    assert weights(tmp_path / "i", "rt430", prefix=True) == dict.fromkeys(codes[:10], 1)
    assert weights(tmp_path / "i", "rt43", prefix=True) == dict.fromkeys(codes[:MOST_CODES], 1)
    assert len(weights(tmp_path / "i", "rt", prefix=True)) == MOST_TERMS
    # The code itself is in a document: the others have the shares of their documents.
    build_index([Document("a", "m3"), Document("b", "m30 m3")], tmp_path / "j", analyzer="whitespace")
    assert weights(tmp_path / "j", "m3", prefix=True) == pytest.approx({"m3": 1, "m30": 1 / 3})


def test_a_prefix_is_compared_with_what_was_typed(tmp_path):
    documents = [Document("a", "studies"), Document("b", "studio"), Document("c", "business")]
    build_index(documents, tmp_path / "i", analyzer="english")
    assert weights(tmp_path / "i", "Stud", prefix=True) == pytest.approx({"studi": 0.5, "studio": 0.5})
    assert weights(tmp_path / "i", "studies", prefix=True) == {"studi": 1}
    assert weights(tmp_path / "i", "bus", prefix=True) == {"busi": 1}


@pytest.mark.parametrize("model", ["bm25", "jm", "dirichlet"])
def test_a_stop_word_is_a_prefix_at_the_end_of_a_query(tmp_path, model):
    # Two documents have nois, one has north, and none has the stop word no.
    documents = [Document("a", "noise, a lamp"), Document("b", "noises"), Document("c", "north was then")]
    build_index(documents, tmp_path / "i", model=model)

    def added(query, **given):
        found = weights(tmp_path / "i", query, **given)
        return {term: weight for term, weight in found.items() if term in {"nois", "north", "lamp", "then"}}

    assert added("lamp no", prefix=True) == pytest.approx({"lamp": 1, "nois": 2 / 3, "north": 1 / 3})
    assert added("No", prefix=True) == pytest.approx({"nois": 2 / 3, "north": 1 / 3})
    for query in ("no ", "no lamp", "lamp, no."):
        assert added(query, prefix=True) == added(query)
    # A stop word that begins no term is no typo: they is one edit from then, which is a stop word, too.
    assert added("they", prefix=True, fuzzy=True) == {}
    searcher = searching(termwise.open(tmp_path / "i"), prefix=True)
    explanation = searcher.explain("lamp no", "a")
    total = sum(part.score for part in explanation.contributions) + explanation.constant
    assert total == pytest.approx(explanation.score, rel=1e-12)
    assert {part.term: part.query_spans for part in explanation.contributions}["nois"] == ((5, 7),)


def test_similar_stems(tmp_path):
    documents = [Document("a", "Solutions are reasonable."), Document("b", "A simple force, sleeping gas.")]
    build_index(documents, tmp_path / "i", analyzer="english")
    # Errors in the stem, before an ending that the stemmer removes otherwise, and in the ending.
    assert weights(tmp_path / "i", "reazonable", fuzzy=True) == pytest.approx({"reason": 0.9})
    assert weights(tmp_path / "i", "Solugions", fuzzy=True) == pytest.approx({"solut": 8 / 9})
    assert weights(tmp_path / "i", "smple", fuzzy=True) == pytest.approx({"simpl": 4 / 5})
    for word in ("sleepign", "sleepin", "sleepingg", "sleepinh"):
        assert weights(tmp_path / "i", word, fuzzy=True) == pytest.approx({"sleep": 1 - 1 / len(word)})


def test_words_of_similar_terms(tmp_path):
    """The word keeps the ending of the mistyped one, if it then has the term."""
    documents = [Document("a", "Solutions merge."), Document("b", "A sleeping cat studies lists.")]
    similar = build_index(documents, tmp_path / "i", analyzer="english").backend.similar_terms
    assert similar is not None

    def words(typed):
        (token,) = similar.analyzer.tokens(typed)
        return [(each.word, each.term) for each in similar.nearest(token, typed)]

    assert words("solugions") == [("solutions", "solut")]
    assert words("Megring") == [("merging", "merg")]
    assert words("sleepign") == [("sleeping", "sleep")]
    assert words("studeis") == [("studies", "studi")]
    assert words("lsits") == [("lists", "list")]
    assert words("lsit") == [("list", "list")]


def test_a_term_of_distant_words_is_not_similar(tmp_path):
    """The stem run is one edit from grun, and dri from dril; running is five edits away, dry three and dried two."""
    documents = [
        Document("a", "Running is dry."),
        Document("b", "The running runners dried."),
        Document("c", "Lists"),
    ]

    def similar(name, texts=documents, **given):
        found = build_index(texts, tmp_path / name, analyzer="english", **given).backend.similar_terms
        assert found is not None
        return lambda typed: [each.term for each in found.nearest(found.analyzer.tokens(typed)[0], typed)]

    without, stored = similar("without"), similar("stored", store_text=True)
    assert (without("grun"), without("drils"), without("lsit")) == (["run"], ["dri"], ["list"])
    assert (stored("grun"), stored("drils"), stored("lsit")) == ([], [], ["list"])
    assert similar("more", [*documents, Document("d", "a run")], store_text=True)("grun") == ["run"]
    # Beyond the characters that are read, no word of a term is known, and it is kept.
    far = [Document("a", "x " * CHARACTERS + "running")]
    assert similar("far", far, store_text=True)("grun") == ["run"]


def test_short_words_that_differ_by_two_edits_are_not_similar(tmp_path):
    """Spaten is two edits from Spare, and its German stem, spat, one from spar."""
    documents = [
        Document("a", "Spare Zeit beim Kochen", attributes={"lang": "de"}),
        Document("b", "spare parts"),
    ]
    for number, given_ in enumerate(({"analyzer": "by-attribute:lang"}, {"analyzer": "german-codes"})):
        found = build_index(documents, tmp_path / str(number), store_text=True, **given_)
        assert found.rank("Spaten", fuzzy=True).doc_ids == ()
        assert len(found.rank("Sparre", fuzzy=True).doc_ids) == 2
    longer = build_index([Document("a", "Spatenstiel")], tmp_path / "longer", analyzer="german-codes")
    assert longer.rank("Sbatemstiel", fuzzy=True).doc_ids == ("a",)  # two edits of eleven letters


def test_accents_that_the_analyzer_removes_are_no_edits(tmp_path):
    documents = [Document("a", "Café, Tür")]
    folding = build_index(documents, tmp_path / "folding", analyzer="english-parts", store_text=True)
    keeping = build_index(documents, tmp_path / "keeping", analyzer="standard", store_text=True)
    for searcher, expected in ((folding, ["cafe", "tur"]), (keeping, [])):
        similar = searcher.backend.similar_terms
        found = [each.term for word in ("cafee", "tuer") for each in similar.nearest(word, word)]
        assert found == expected


def test_a_word_that_is_spelt_correctly_has_no_similar_terms(tmp_path):
    searcher = build_index([Document("a", "a cone")], tmp_path / "i")
    for is_word, expected in ((lambda word: word == "Come", []), (lambda word: word == "cone", ["cone"])):
        similar = SimilarTerms(searcher.index, searcher.analyzer, is_word=is_word)
        assert [each.term for each in similar.nearest("come", "Come")] == expected
        added = similar.added_to("Come", fuzzy=True, prefix=False)
        assert [each.term for each in added] == expected


def test_other_query_weightings(tmp_path):
    (tmp_path / "idf.json").write_text('{"kettle": 3, "settle": 2, "lamp": 0.5}')
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "vector": {"kettle": 1, "lamp": 1}}\n{"id": "b", "vector": {"settle": 1}}\n')
    by_idf = VectorModel(query="idf", idf=str(tmp_path / "idf.json"))
    build_index(rows, tmp_path / "idf", model=by_idf, analyzer="whitespace")
    assert weights(tmp_path / "idf", "bettle", fuzzy=True) == pytest.approx({"kettle": 1.25, "settle": 5 / 6})
    build_index(rows, tmp_path / "once", model=VectorModel(query="occurrences"), analyzer="whitespace")
    found = weights(tmp_path / "once", "bettle bettle", fuzzy=True)
    assert found == pytest.approx({"kettle": 5 / 12, "settle": 5 / 12})


def test_min_df_and_idf_apply_to_added_terms(folder):
    assert weights(folder, "bettle", fuzzy=True, min_df=2) == pytest.approx({"kettle": 5 / 9})
    alone = weights(folder, "kettle", idf_power=1.0)["kettle"]
    assert weights(folder, "bettle", fuzzy=True, idf_power=1.0)["kettle"] == pytest.approx(alone * 5 / 9)


@pytest.mark.parametrize("model", ["bm25", "jm"])
def test_a_changed_index_equals_a_new_one(tmp_path, model):
    build_index(DOCUMENTS, tmp_path / "i", analyzer="whitespace", model=model)
    before = searching(termwise.open(tmp_path / "i"), fuzzy=True, prefix=True)
    assert before.rank("lomp").doc_ids == ("d3", "d1")
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add([Document("d5", "lambs")])
        writer.delete(["d1", "d3"])
    after = before.refresh()
    assert after.rank("lomp").doc_ids == ()
    assert after.rank("lamb").doc_ids == ("d5",)
    assert after.rank("lombs").doc_ids == ("d5",)
    # The vocabulary still has settle, which no document has any more: a query for it is like one for a misspelt word.
    assert "settle" in {after.index.vocabulary.token(number) for number in range(len(after.index.vocabulary))}
    assert after.rank("settle").doc_ids == ("d2",)
    assert before.rank("lomp").doc_ids == ("d3", "d1")
    now = [DOCUMENTS[1], DOCUMENTS[3], Document("d5", "lambs")]
    build_index(now, tmp_path / "new", analyzer="whitespace", model=model)
    for query in ("lombs", "settle", "ten", "bettle tarb", "t"):
        found = weights(tmp_path / "i", query, fuzzy=True, prefix=True)
        found.pop("settle", None)  # typed, and in no document
        assert found == weights(tmp_path / "new", query, fuzzy=True, prefix=True)


def test_an_index_is_freed_with_its_searcher(folder):
    searcher = termwise.open(folder)
    assert searcher.did_you_mean("bettle")
    index = ref(searcher.index)
    gc.disable()  # the files of an index stay open until it is freed
    try:
        del searcher
        assert index() is None
    finally:
        gc.enable()


def test_an_index_of_pieces_has_no_similar_terms(tmp_path):
    build_index(DOCUMENTS, tmp_path / "i", analyzer="wordpiece")
    assert termwise.open(tmp_path / "i").did_you_mean("bettle") == []
    with pytest.raises(ParameterError, match="need an index of whole words") as caught:
        searching(termwise.open(tmp_path / "i"), prefix=True)
    assert "omit `prefix`" in caught.value.fixes_worded()
