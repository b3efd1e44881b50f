"""The vectorizer: scikit-learn's own checks, pipelines, and equality with the weights of an index."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import termwise
from termwise.errors import EmptyCollectionError, ParameterError, TermwiseError, UnknownNameError
from termwise.models import BM25, Lookup, Model1, Tilde, VectorModel

sklearn = pytest.importorskip("sklearn", reason="install the extra sklearn")

from scipy.sparse import csr_array  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402

from termwise.integrations.vectorizer import TermWeightVectorizer  # noqa: E402

TEXTS = [
    "merge two sorted lists",
    "shuffle a list",
    "merge dictionaries, merge lists and merge sets",
    "",
    "a sorted dictionary of sorted lists of lists",
]

QUERIES = ["merging lists", "sorted sorted dictionary", "nothing known", ""]


def indexed(texts, model, folder, **options):
    """Rows and scores of an index of the texts, without quantisation."""
    documents = [termwise.Document(str(number), text) for number, text in enumerate(texts)]
    exact = termwise.BuildOptions(quantiser="float32")
    searcher = termwise.build_index(documents, folder / "a.tw", model=model, options=exact, **options)
    index = searcher.index
    rows = index.weights(np.arange(len(texts)))
    columns = index.manifest.terms + (index.vocabulary.background is not None)
    return searcher, csr_array((rows.weights, rows.terms, rows.indptr), shape=(len(texts), columns))


def scores(vectorizer, texts, queries) -> np.ndarray:
    asked = vectorizer.transform_queries(queries)
    return (asked @ vectorizer.transform(texts).T).toarray() + (asked @ vectorizer.floors_)[:, None]


CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_output_transform",
    "check_set_params",
    "check_valid_tag_types",
]
"""The checks of scikit-learn that need no matrix of numbers as input; `check_estimator` runs one of them for texts."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator():
    results = estimator_checks.check_estimator(TermWeightVectorizer(), on_skip=None)
    assert {result["status"] for result in results} == {"passed"}


@pytest.mark.parametrize("name", [name for name in CHECKS if hasattr(estimator_checks, name)])
def test_other_checks_of_scikit_learn(name):
    getattr(estimator_checks, name)("TermWeightVectorizer", TermWeightVectorizer())


@pytest.mark.parametrize("model", ["bm25", "jm", "dirichlet", "ml", BM25(k1=0.9, b=0.4)])
def test_scores_are_those_of_an_index(model, tmp_path):
    searcher, _ = indexed(TEXTS, model, tmp_path)
    vectorizer = TermWeightVectorizer(model)
    rows = vectorizer.fit_transform(TEXTS)
    assert isinstance(rows, csr_array)
    assert (rows.dtype, rows.shape) == (np.float32, (5, len(vectorizer.get_feature_names_out())))
    found = scores(vectorizer, TEXTS, QUERIES)
    for query, row in zip(QUERIES, found, strict=True):
        ranked = searcher.rank(query, candidates=[str(number) for number in range(len(TEXTS))])
        expected = {scored.doc_id: scored.score for scored in ranked}
        assert row == pytest.approx([expected[str(number)] for number in range(len(TEXTS))], abs=1e-5)


@pytest.mark.parametrize("model", ["bm25", "jm", "ml"])
def test_rows_are_those_of_an_index(model, tmp_path):
    searcher, expected = indexed(TEXTS, model, tmp_path)
    vectorizer = TermWeightVectorizer(model).fit(TEXTS)
    assert vectorizer.get_feature_names_out().tolist() == list(searcher.index.vocabulary.load())
    assert abs(vectorizer.transform(TEXTS) - expected).max() < 1e-6


def test_one_weight_by_hand():
    vectorizer = TermWeightVectorizer("bm25", settings={"k1": "1.2", "b": "0.75"}, analyzer="whitespace")
    rows = vectorizer.fit_transform(["a a b", "b"])
    idf = np.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert rows[0, vectorizer.vocabulary_["a"]] == pytest.approx(idf * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)))
    assert rows[1, vectorizer.vocabulary_["a"]] == 0


def test_new_documents_have_the_statistics_of_the_fit():
    vectorizer = TermWeightVectorizer().fit(TEXTS)
    one = vectorizer.transform(["merge unseen words"])
    among_others = vectorizer.transform(["sorted lists", "merge unseen words", "other unseen things"])
    assert (one != among_others[[1]]).nnz == 0
    assert one.nnz == 1
    longer = vectorizer.transform(["merge unseen words and many more of them"])
    assert longer[0, vectorizer.vocabulary_["merg"]] < one[0, vectorizer.vocabulary_["merg"]], (
        "unseen words count"
    )
    assert vectorizer.transform([]).shape == (0, len(vectorizer.vocabulary_))


def test_a_model_with_a_translation_table_expands_texts():
    vectorizer = TermWeightVectorizer(Model1())
    rows = vectorizer.fit_transform(["a file is read", "the file was closed by the reader"])
    plain = TermWeightVectorizer("bm25").fit_transform(
        ["a file is read", "the file was closed by the reader"]
    )
    assert rows.nnz > 3 * plain.nnz
    assert rows.shape[1] == len(vectorizer.vocabulary_)
    again = pickle.loads(pickle.dumps(vectorizer))
    assert (again.transform(["a file is read"]) != rows[[0]]).nnz == 0


@pytest.mark.parametrize(
    "model", [Tilde(keep=16), Lookup(form="terms", keep=32), Lookup(form="terms", documents="table")]
)
def test_networks(model, tmp_path):
    _, expected = indexed(TEXTS, model, tmp_path)
    vectorizer = TermWeightVectorizer(model)
    rows = vectorizer.fit_transform(TEXTS)
    assert abs(rows - expected).max() < 1e-6
    assert rows.nnz > 40
    assert abs(vectorizer.transform(TEXTS[:2]) - rows[:2]).max() < 1e-6
    again = pickle.loads(pickle.dumps(vectorizer))
    assert abs(again.transform(TEXTS[1:2]) - rows[[1]]).max() < 1e-6
    assert again.transform_queries(["merge lists"]).nnz >= 2


@pytest.mark.parametrize("model", ["bm25", "dirichlet", "jm"])
def test_a_fitted_vectorizer_is_pickled_and_cloned(model):
    vectorizer = TermWeightVectorizer(model, analyzer="standard").fit(TEXTS)
    again = pickle.loads(pickle.dumps(vectorizer))
    assert (again.transform(["merge lists"]) != vectorizer.transform(["merge lists"])).nnz == 0
    fresh = clone(vectorizer)
    assert fresh.get_params() == vectorizer.get_params()
    with pytest.raises(NotFittedError):
        fresh.transform(TEXTS)


def test_it_is_a_step_of_a_pipeline():
    texts = [*TEXTS[:3], "bees collect nectar", "a queen bee lays eggs", "bees and flowers"] * 3
    labels = [0, 0, 0, 1, 1, 1] * 3
    pipeline = make_pipeline(TermWeightVectorizer(), LogisticRegression())
    assert pipeline.fit(texts, labels).predict(["sorting a list", "eggs of bees"]).tolist() == [0, 1]
    search = GridSearchCV(pipeline, {"termweightvectorizer__model": ["bm25", "jm"]}, cv=2)
    assert search.fit(texts, labels).best_score_ == 1.0
    assert pipeline[:-1].get_feature_names_out().tolist() == sorted(pipeline[0].vocabulary_)


def test_texts_of_arrays_and_series():
    expected = TermWeightVectorizer().fit_transform(TEXTS)
    series = pytest.importorskip("pandas").Series(TEXTS)
    for given in (np.array(TEXTS), np.array(TEXTS, dtype=object), series, iter(TEXTS), tuple(TEXTS)):
        assert (TermWeightVectorizer().fit_transform(given) != expected).nnz == 0


@pytest.mark.parametrize(("texts", "row"), [(["a", None], 1), ([float("nan")], 0), (["a", "b", b"c"], 2)])
def test_texts_that_are_none(texts, row):
    with pytest.raises(ParameterError) as caught:
        TermWeightVectorizer().fit(texts)
    assert dict(caught.value.facts)["row"] == row


def test_wrong_input():
    for texts in ("one text", None, 5):
        with pytest.raises(ParameterError, match="raw_documents"):
            TermWeightVectorizer().fit(texts)
    with pytest.raises(EmptyCollectionError):
        TermWeightVectorizer().fit([])
    with pytest.raises(UnknownNameError):
        TermWeightVectorizer("bm26").fit(TEXTS)
    with pytest.raises(ParameterError, match="own analyzer"):
        TermWeightVectorizer("tilde", analyzer="english").fit(TEXTS)
    with pytest.raises(ParameterError, match="cannot weigh"):
        TermWeightVectorizer(VectorModel()).fit(TEXTS)
    with pytest.raises(ParameterError, match="exact form"):
        TermWeightVectorizer("tilde", settings={"form": "exact"}).fit(TEXTS)
    with pytest.raises(ParameterError, match="vectors of documents"):
        TermWeightVectorizer("lookup").fit(TEXTS)
    with pytest.raises(TermwiseError):
        TermWeightVectorizer("model1", analyzer="whitespace").fit(TEXTS)
    with pytest.raises(ParameterError):
        TermWeightVectorizer(threads=0).fit(TEXTS)


def test_sparse_matrices_stay_sparse():
    with pytest.raises(ValueError, match="sparse"):
        TermWeightVectorizer().set_output(transform="pandas").fit_transform(TEXTS)
    assert TermWeightVectorizer().set_output(transform="default").fit_transform(TEXTS).nnz
