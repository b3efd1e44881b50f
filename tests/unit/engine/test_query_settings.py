"""Weighting of the terms of long queries, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searches import searching

import termwise
from termwise import BuildOptions, Document, build_index
from termwise.engine.query_settings import QuerySettings
from termwise.engine.query_vector import query_vector
from termwise.errors import ParameterError, UnknownNameError
from termwise.index import Index
from termwise.models import BM25, VectorModel
from termwise.search import Search

DOCUMENTS = [
    Document("d1", "apple pear"),
    Document("d2", "apple plum plum"),
    Document("d3", "apple fig"),
    Document("d4", "pear quince"),
]
QUERY = "apple apple apple pear plum plum fig unheard"


@pytest.fixture(scope="module", params=["uint8", "float32"])
def folder(request, tmp_path_factory):
    """An index with an inverted view, and one without."""
    out = tmp_path_factory.mktemp("indexes") / "i.tw"
    build_index(
        DOCUMENTS, out, analyzer="whitespace", model=BM25(), options=BuildOptions(quantiser=request.param)
    )
    assert (Index.open(out).segments[0].inverted is None) is (request.param == "float32")
    return out


def weights(folder, **given):
    searcher = searching(termwise.open(folder), weighting=QuerySettings(**given))
    terms, values = searcher.encode(QUERY).row(0)
    return {searcher.index.vocabulary.token(term): value for term, value in zip(terms, values, strict=True)}


def idf(folder, frequency):
    documents = len(Index.open(folder))
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def test_documents_are_counted(folder):
    index = Index.open(folder)
    found = {
        token: int(index.document_frequencies[index.vocabulary.number(token)])
        for token in ("apple", "pear", "plum", "fig", "quince")
    }
    assert found == {"apple": 3, "pear": 2, "plum": 1, "fig": 1, "quince": 1}
    with pytest.raises(ValueError, match="read-only"):
        index.document_frequencies[0] = 1


def test_the_default_weight_is_the_count(folder):
    assert weights(folder) == {"apple": 3, "pear": 1, "plum": 2, "fig": 1}
    searcher = termwise.open(folder)
    assert type(searcher.backend.encoder).__name__ == "CountQueryEncoder"


def test_once(folder):
    assert weights(folder, counts="once") == {"apple": 1, "pear": 1, "plum": 1, "fig": 1}


def test_saturated(folder):
    found = weights(folder, counts="saturated", k3=2.0)
    assert found == pytest.approx({"apple": 9 / 5, "pear": 1, "plum": 6 / 4, "fig": 1})


def test_a_power_of_the_idf(folder):
    found = weights(folder, idf_power=0.5)
    assert found["apple"] == pytest.approx(3 * idf(folder, 3) ** 0.5)
    assert found["fig"] == pytest.approx(idf(folder, 1) ** 0.5)


def test_max_terms_selects_by_idf_without_changing_weights(folder):
    # plum 2 x 1.20, fig 1.20, apple 3 x .36, pear .69
    assert weights(folder, max_terms=2) == {"plum": 2, "fig": 1}
    assert weights(folder, max_terms=3) == {"plum": 2, "fig": 1, "apple": 3}


def test_the_selection_is_continuous_in_the_power(folder):
    for power in (0.0, 0.01, 1.0):
        assert set(weights(folder, max_terms=2, idf_power=power)) == {"plum", "fig"}


def test_terms_unique_to_the_example_are_skipped(folder):
    searcher = searching(termwise.open(folder), weighting=QuerySettings(max_terms=1))
    index = searcher.index
    (encoding,) = searcher.searcher.backend.encodings(Search(**searcher.options), example=1)
    of_second = encoding.encoder.encode_query(QUERY).row(0)[0].tolist()
    assert [index.vocabulary.token(term) for term in of_second] == ["fig"]  # plum is in d2 alone, fig in d3


def test_min_df_drops_rare_terms(folder):
    assert weights(folder, min_df=2) == {"apple": 3, "pear": 1}
    assert weights(folder, min_df=2, max_terms=1) == {"apple": 3}
    assert weights(folder, min_df=9) == {}


def test_a_background_follows_its_terms(tmp_path):
    build_index(DOCUMENTS, tmp_path / "lm.tw", analyzer="whitespace", model="dirichlet")
    searcher = searching(termwise.open(tmp_path / "lm.tw"), weighting=QuerySettings(max_terms=1))
    terms, values = searcher.encode(QUERY).row(0)
    assert terms.tolist()[-1] == searcher.index.vocabulary.background
    assert values.tolist() == [2.0, 2.0]  # plum twice, and as much for the document bias


def test_a_bias_does_not_make_weights_coarse(tmp_path):
    random = np.random.default_rng(0)
    words = [f"w{number}" for number in range(400)]
    documents = [Document(f"d{n}", " ".join(random.choice(words, 60))) for n in range(50)]
    build_index(documents, tmp_path / "lm.tw", analyzer="whitespace", model="dirichlet")
    searcher = searching(termwise.open(tmp_path / "lm.tw"), weighting=QuerySettings(idf_power=1.0))
    row = searcher.encode(" ".join(random.choice(words, 200)))
    vector = query_vector(searcher.index, row)
    real = row.row(0)[1].astype(np.float64)
    bits = searcher.index.manifest.quantiser.bias_bits
    made = (vector.weights >> bits) * vector.query_scale
    assert np.abs(made / real[:-1] - 1).max() < 0.001
    assert vector.background * vector.query_scale == pytest.approx(real[-1], rel=1e-4)


def test_sums_of_very_long_queries_do_not_overflow(tmp_path):
    words = [f"w{number}" for number in range(30_000)]
    build_index(
        [Document("a", " ".join(words)), Document("b", "w1 w2")],
        tmp_path / "lm.tw",
        analyzer="whitespace",
        model="dirichlet",
    )
    searcher = searching(
        termwise.open(tmp_path / "lm.tw"), weighting=QuerySettings(counts="saturated", idf_power=0.5)
    )
    assert searcher.rank(" ".join(words + words[:7])).doc_ids == ("a", "b")


def test_max_terms_equals_the_shortened_query(folder):
    cut = searching(termwise.open(folder), weighting=QuerySettings(min_df=2)).rank(QUERY)
    assert cut == termwise.open(folder).rank("apple apple apple pear")


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["apple", "pear", "plum", "fig", "quince"]), max_size=30), st.integers(1, 6))
def test_max_terms_limits_the_number_of_terms(folder, words, terms):
    searcher = searching(termwise.open(folder), weighting=QuerySettings(max_terms=terms))
    found, values = searcher.encode(" ".join(words)).row(0)
    assert len(found) == min(terms, len(set(words)))
    assert (values > 0).all()


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"counts": "twice"}, UnknownNameError, "unknown counts"),
        ({"k3": "-1"}, ParameterError, "out of range"),
        ({"k3": "2"}, ParameterError, "requires saturated counts"),
        ({"idf_power": "nan"}, ParameterError, "out of range"),
        ({"max_terms": "1.5"}, ParameterError, "the query setting max_terms cannot be read"),
        ({"max_terms": "-1"}, ParameterError, "out of range"),
        ({"terms": "3"}, UnknownNameError, "unknown query setting"),
    ],
)
def test_unknown_and_invalid_settings(given, error, said):
    with pytest.raises(error, match=said):
        QuerySettings.parse(given)


def test_counts_settings_require_count_weighting(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "vector": {"apple": 1.5}}\n{"id": "b", "vector": {"pear": 2.0}}\n')
    model = VectorModel(query="occurrences")
    build_index(rows, tmp_path / "v.tw", analyzer="whitespace", model=model)
    with pytest.raises(ParameterError, match="does not use counts"):
        searching(termwise.open(tmp_path / "v.tw"), weighting=QuerySettings(counts="saturated"))
    kept = searching(termwise.open(tmp_path / "v.tw"), weighting=QuerySettings(max_terms=1)).encode(
        "apple pear pear"
    )
    assert len(kept.row(0)[0]) == 1
