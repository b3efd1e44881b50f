"""Indexes of network weights: built, resumed, encoded in shares, searched and explained."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import subprocess
import sys
from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.encode import tiny
from tests.unit.encode.counting import path_of

import termwise
from termwise import BuildOptions, Document, build_index
from termwise.encode import (
    EncoderFolder,
    ExpansionRecord,
    open_document_encoder,
    open_query_encoder,
)
from termwise.encode.block_file import block_files
from termwise.encode.shipped_rows import open_shipped_encoder, write_rows
from termwise.errors import (
    DuplicateIdError,
    EmptyCollectionError,
    ForeignFolderError,
    IndexExistsError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    UsageError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.index import Index
from termwise.indexing import chosen_model, default_encoding, encode_collection, finished_blocks
from termwise.models import BM25, SpladeDoc, Tilde, TildeV2
from termwise.search import QueryDocumentLikelihood, StoredQueryVectors
from termwise.text import make_analyzer
from termwise.weights import TermWeights

PIECES = ["[UNK]", "the", "of", "merge", "sort", "list", "card", "##s", "file", "##ed", "line"]
KEPT = [3, 4, 5, 6, 8, 9, 10]
DOCUMENTS = [
    Document("a", "merge the sorted lists"),
    Document("b", "sort the cards of the card file"),
    Document("c", "of the"),
    Document("d", ""),
    Document("e", "list"),
    Document("f", "file line file line"),
]


def dense(text):
    """Return ln P(t|d) as a network might give it, in steps of 1/64."""
    digest = hashlib.sha256(text.encode()).digest()
    return np.array([-(digest[t] + 1) / 64 for t in range(len(PIECES))], dtype=np.float32)


class Encoder:
    """Stands in for a network; counts what it is asked for, and can be interrupted."""

    query_weights = None
    gives_log_likelihoods = False
    idf_power = 0.0
    only_text_terms = False
    term_vectors = None
    block = 2

    def __init__(self, analyzer, *, fingerprint="sha256:toy"):
        self.analyzer = analyzer
        self.vocabulary = analyzer.vocabulary
        self.fingerprint = fingerprint
        self.asked = []
        self.patience = 1 << 30

    @property
    def floors(self):
        floors = np.zeros(len(PIECES))
        floors[KEPT] = -3.0
        return floors

    @property
    def description(self):
        return {
            "name": "toy",
            "id": "sha256:toy",
            "network": {"precision": "int8", "processor": "avx2"},
            "settings": {"length": 128, "expansion": None},
        }

    def encode_documents(self, texts, *, advance=None):
        if len(self.asked) >= self.patience:
            raise KeyboardInterrupt
        self.asked.extend(texts)
        return TermWeights.from_rows([self.row(text) for text in texts], self.vocabulary.id)

    def row(self, text):
        above = dense(text) + 3.0
        return {t: float(above[t]) for t in KEPT if above[t] > 0 and text}


class Exact(Encoder):
    """The same in the exact form: rows of log-probabilities."""

    gives_log_likelihoods = True
    floors = None

    def row(self, text):
        return {t: float(dense(text)[t]) for t in KEPT} if text else {}


@pytest.fixture(scope="module")
def analyzer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n")
    return make_analyzer(f"wordpiece-clean:{path}")


@pytest.fixture
def encoder(analyzer):
    return Encoder(analyzer)


@pytest.fixture
def searcher(tmp_path, encoder):
    return build_index(
        DOCUMENTS, tmp_path / "i", model=Tilde(), store_text=True, options=BuildOptions(encoder=encoder)
    )


def plain(searcher, query, text):
    """Score a document in the plainest way, from the weights before quantisation."""
    numbers = [searcher.index.vocabulary.number(token) for token in searcher.analyzer.tokens(query)]
    row = Encoder(searcher.analyzer).row(text)
    return sum(row.get(t, 0.0) - 3.0 for t in numbers)


def test_scores_are_the_weights_of_the_network_and_the_floors(tmp_path, encoder):
    searcher = build_index(
        DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder, quantiser="float32")
    )
    for query in ("merge lists", "sorted cards of a file", "list list list"):
        ranking = searcher.rank(query, candidates=[d.doc_id for d in DOCUMENTS])
        texts = {document.doc_id: document.text for document in DOCUMENTS}
        expected = [plain(searcher, query, texts[doc_id]) for doc_id in ranking.doc_ids]
        assert ranking.scores.tolist() == pytest.approx(expected, rel=1e-6)
    assert len(searcher.rank("of the")) == 0


def test_the_manifest_describes_the_network(searcher):
    described = searcher.index.manifest.encoder.json
    assert described["model"] == {
        "name": "tilde",
        "parameters": dict(Tilde().parameters()),
        "exact": False,
    }
    assert described["network"]["network"] == {"precision": "int8", "processor": "avx2"}
    assert described["network"]["settings"]["length"] == 128
    assert described["analyzer"]["name"] == "wordpiece-clean"
    assert described["query"] == {"weighting": "counts"}


def test_the_index_does_not_need_the_encoder(searcher, tmp_path):
    again = termwise.open(tmp_path / "i")
    assert again.rank("merge lists") == searcher.rank("merge lists")
    assert again.analyzer.spec.fingerprint == searcher.analyzer.spec.fingerprint


def test_repeated_pieces_of_a_query_count_as_often_as_they_occur(searcher):
    once = searcher.explain("list", "e")
    twice = searcher.explain("lists list", "e")
    assert twice.constant == 2 * once.constant
    assert twice.score == 2 * once.score


def test_query_weights_are_stored_in_the_index(tmp_path):
    table = np.zeros(len(tiny.PIECES), dtype=np.float32)
    table[[tiny.MERGE, tiny.SORT, tiny.CAT]] = [1.0, 2.0, 0.5]
    weights = np.zeros(len(tiny.PIECES), dtype=np.float32)
    weights[[tiny.MERGE, tiny.SORT]] = [3.0, 0.25]
    counted = tiny.make_folder(tmp_path / "counted", "tildev2", table)
    weighed = tiny.make_folder(tmp_path / "weighed", "tildev2", table, query_weights=weights)
    documents = [Document("a", "merge cat"), Document("b", "sort cat"), Document("c", "sort merge")]
    plain, searcher = (
        build_index(
            documents, tmp_path / f"{model.name}.tw", model=model, options=BuildOptions(quantiser="float32")
        )
        for model in (counted, weighed)
    )
    assert searcher.index.manifest.encoder.json["query"] == {"weighting": "idf"}

    def scores(searcher, query):
        found = searcher.rank(query, k=3)
        return dict(zip(found.doc_ids, found.scores.tolist(), strict=True))

    merge, sort = scores(plain, "merge"), scores(plain, "sort")
    expected = {name: 3 * merge.get(name, 0) + 0.25 * sort.get(name, 0) for name in "abc"}
    assert scores(termwise.open(tmp_path / "weighed.tw"), "merge sort sort cat") == expected


def test_a_repeated_term_doubles_its_contribution_in_an_index_of_tildev2(tmp_path):
    table = np.zeros(len(tiny.PIECES), dtype=np.float32)
    table[[tiny.MERGE, tiny.SORT, tiny.CAT]] = [1.0, 2.0, 0.5]
    path = tiny.make_folder(tmp_path / "e", "tildev2", table)
    documents = [Document("a", "merge cat"), Document("b", "sort cat"), Document("c", "sort merge")]
    searcher = build_index(documents, tmp_path / "i", model=chosen_model(path, {"expansion_encoder": "none"}))
    for query in ("merge", "sort cat"):
        once, twice = (searcher.rank(words, k=3) for words in (query, f"{query} {query}"))
        assert twice.doc_ids == once.doc_ids
        assert twice.scores.tolist() == (2 * once.scores).tolist()
    one, other = (searcher.explain(words, "c") for words in ("merge sort", "merge sort merge"))
    weights = [{c.term: c.score for c in made.contributions} for made in (one, other)]
    assert weights[1] == {"merge": 2 * weights[0]["merge"], "sort": weights[0]["sort"]}


# --- how rare terms are in the collection -------------------------------------------------------------------------

WORDS = [
    Document("a", "merge cat"),
    Document("b", "sort cat"),
    Document("c", "sort cat merge"),
    Document("d", ""),
]


@pytest.fixture(scope="module")
def weighing(tmp_path_factory):
    """An encoder of kind tildev2: merge 1, sort 2, cat 0.5, and a quarter more for each place of a text."""
    table = np.zeros(len(tiny.PIECES), dtype=np.float32)
    table[[tiny.MERGE, tiny.SORT, tiny.CAT]] = [1.0, 2.0, 0.5]
    return tiny.make_folder(tmp_path_factory.mktemp("weighing") / "e", "tildev2", table)


def indexed(folder, encoder, **settings):
    settings = {"expansion_encoder": "none", **settings}
    return build_index(
        WORDS, folder, model=chosen_model(encoder, settings), options=BuildOptions(quantiser="float32")
    )


@pytest.mark.parametrize("power", [0.25, 1.0, 2.0])
def test_weights_are_multiplied_by_a_power_of_the_idf(tmp_path, weighing, power):
    searcher = indexed(tmp_path / "i", weighing, idf_power=str(power))
    # merge is in 2 of 4 documents, the empty one counted, and cat in 3.
    merge, cat = np.log(1 + 2.5 / 2.5) ** power, np.log(1 + 1.5 / 3.5) ** power
    found = {c.term: c.score for c in searcher.explain("merge cat", "a").contributions}
    assert found == pytest.approx({"merge": 1.25 * merge, "cat": 1.0 * cat}, rel=1e-6)
    assert searcher.index.manifest.encoder.json["network"]["idf_power"] == power
    assert searcher.index.manifest.encoder.json["query"] == {"weighting": "counts"}


def test_without_a_power_weights_are_those_of_the_network(tmp_path, weighing):
    searcher = indexed(tmp_path / "i", weighing)
    found = {c.term: c.score for c in searcher.explain("sort cat", "b").contributions}
    assert found == {"sort": 2.25, "cat": 1.0}
    assert "idf_power" not in searcher.index.manifest.encoder.json["network"]


def test_the_encoder_gives_the_default_power(tmp_path, weighing):
    table = np.ones(len(tiny.PIECES), dtype=np.float32)
    chosen = tiny.make_folder(tmp_path / "e", "tildev2", table, idf_power=0.5)
    plain, weighted, none = (
        indexed(tmp_path / name, chosen, **said)
        for name, said in (("i", {"idf_power": "0.5"}), ("j", {}), ("k", {"idf_power": "0"}))
    )
    assert plain.rank("merge cat", k=4) == weighted.rank("merge cat", k=4)
    assert weighted.rank("cat", k=1).scores[0] < none.rank("cat", k=1).scores[0] == 1.5


def test_encoded_documents_are_reused_for_every_power(tmp_path, weighing):
    rows = tmp_path / "rows"
    for name, power in (("i", 0.0), ("j", 0.5)):
        model = TildeV2(encoder=str(weighing), expansion_encoder="none", idf_power=power)
        assert finished_blocks(rows, model=model) == (0 if name == "i" else 1)
        build_index(WORDS, tmp_path / name, model=model, options=BuildOptions(encoding=rows))


def test_an_open_encoder_with_another_power_is_refused(tmp_path, weighing):
    models = [
        TildeV2(encoder=str(weighing), expansion_encoder="none", idf_power=power) for power in (0.5, 0.0)
    ]
    with pytest.raises(ParameterError, match="another power of the idf") as caught:
        build_index(
            WORDS,
            tmp_path / "i",
            model=models[1],
            options=BuildOptions(encoder=open_document_encoder(models[0])),
        )
    assert caught.value.facts == (("model", "tildev2, idf_power 0"), ("encoder", "idf_power 0.5"))


@pytest.mark.parametrize("power", [-1.0, 5.0, np.nan, np.inf, "1", None, 10**400])
def test_an_invalid_power_of_a_custom_encoder_is_refused(tmp_path, analyzer, power):
    encoder = Encoder(analyzer)
    encoder.idf_power = power
    with pytest.raises(ParameterError, match="idf_power of the encoder"):
        build_index(DOCUMENTS, tmp_path / "i", model=TildeV2(), options=BuildOptions(encoder=encoder))
    assert not (tmp_path / "i").exists()


def test_a_power_with_floors_is_refused(tmp_path, analyzer):
    for made in (Encoder(analyzer), Exact(analyzer)):
        made.idf_power = 1.0
        with pytest.raises(ParameterError, match="above a floor"):
            build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=made))


def test_the_power_of_a_custom_encoder_is_recorded(tmp_path, analyzer):
    class Plain(Encoder):
        floors = None
        idf_power = 0.5

    searcher = build_index(
        DOCUMENTS, tmp_path / "i", model=TildeV2(), options=BuildOptions(encoder=Plain(analyzer))
    )
    assert searcher.index.manifest.encoder.json["network"]["idf_power"] == 0.5
    with pytest.raises(ParameterError, match="another power of the idf"):
        build_index(
            DOCUMENTS,
            tmp_path / "j",
            model=TildeV2(idf_power=1.0),
            options=BuildOptions(encoder=Plain(analyzer)),
        )


@pytest.mark.parametrize("power", ["-0.1", "4.1", "nan", "inf"])
def test_powers_out_of_range_are_refused(tmp_path, weighing, power):
    with pytest.raises(ParameterError, match="idf_power of tildev2"):
        indexed(tmp_path / "i", weighing, idf_power=power)


# --- the exact form ---------------------------------------------------------------------------------------------


def ranked(scores, doc_ids):
    return [doc_id for _, doc_id in sorted(zip(scores, doc_ids, strict=True), key=lambda pair: -pair[0])]


@settings(max_examples=30)
@given(
    st.lists(st.text("abcdefgh", min_size=1, max_size=6), min_size=1, max_size=12, unique=True),
    st.lists(st.sampled_from(["merge", "sort", "list", "card", "file", "the", "sorted"]), max_size=8),
)
def test_the_exact_form_has_the_order_and_the_scores_of_the_dense_vectors(
    tmp_path_factory, analyzer, texts, words
):
    folder = tmp_path_factory.mktemp("exact")
    documents = [Document(f"d{i}", text) for i, text in enumerate(texts)]
    searcher = build_index(
        documents, folder / "i", model=Tilde(form="exact"), options=BuildOptions(encoder=Exact(analyzer))
    )
    assert searcher.index.manifest.quantiser.kind == "float32"
    query = " ".join(words)
    numbers = [analyzer.vocabulary.number(token) for token in analyzer.tokens(query)]
    expected = [float(dense(text).astype(np.float64)[numbers].sum()) for text in texts]
    doc_ids = [document.doc_id for document in documents]
    ranking = searcher.rank(query, candidates=doc_ids, k=len(texts))
    found = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
    assert [found[doc_id] for doc_id in doc_ids] == expected  # to the last digit: all are multiples of 2**-10
    assert list(ranking.doc_ids) == ranked(expected, doc_ids)
    if numbers:  # every document is a result, the one with the smallest of every term too
        assert searcher.rank(query, k=len(texts)) == ranking


def test_floors_of_the_exact_form_lie_just_below_the_smallest_of_the_collection(tmp_path, analyzer):
    searcher = build_index(
        DOCUMENTS, tmp_path / "i", model=Tilde(form="exact"), options=BuildOptions(encoder=Exact(analyzer))
    )
    rows = np.array([dense(document.text) for document in DOCUMENTS if document.text])
    floors = searcher.index.floors
    assert floors[KEPT].tolist() == (rows[:, KEPT].min(axis=0) - 2**-10).tolist()
    assert floors[[t for t in range(len(PIECES)) if t not in KEPT]].tolist() == [0.0] * 4
    # A document without a piece has no row: the floor of each term, and never a better place than another.
    query = "merge lists of cards"
    assert searcher.rank(query, candidates=[d.doc_id for d in DOCUMENTS]).doc_ids[-1] == "d"


def test_uint8_is_refused_for_the_exact_form(tmp_path, analyzer):
    for model, encoder in ((Tilde(form="exact"), None), (Tilde(), Exact(analyzer))):
        with pytest.raises(ParameterError, match="order of the exact form"):
            build_index(
                DOCUMENTS,
                tmp_path / "i",
                model=model,
                options=BuildOptions(encoder=encoder, quantiser="uint8"),
            )


def test_rows_of_the_exact_form_that_lack_terms_are_refused(tmp_path, analyzer):
    class Lacking(Exact):
        def row(self, text):
            return {3: -1.0} if text == "list" else super().row(text)

    with pytest.raises(WeightError, match="the same terms"):
        build_index(
            DOCUMENTS,
            tmp_path / "i",
            model=Tilde(form="exact"),
            options=BuildOptions(encoder=Lacking(analyzer)),
        )
    assert not (tmp_path / "i").exists()


# --- finished blocks --------------------------------------------------------------------------------------------


def test_an_interrupted_build_resumes(tmp_path, encoder, analyzer):
    encoder.patience = 4
    with pytest.raises(KeyboardInterrupt):
        build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder))
    work = default_encoding(tmp_path / "i")
    assert len(block_files(work)) == 2
    assert finished_blocks(work, model=Tilde(), encoder=encoder) == 2
    assert not (tmp_path / "i").exists()
    second = Encoder(analyzer)
    resumed = build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=second))
    assert second.asked == [document.text for document in DOCUMENTS[4:]]
    assert not work.exists()
    whole = build_index(
        DOCUMENTS, tmp_path / "j", model=Tilde(), options=BuildOptions(encoder=Encoder(analyzer))
    )
    assert (tmp_path / "i" / "manifest.json").read_bytes() == (tmp_path / "j" / "manifest.json").read_bytes()
    assert resumed.rank("sorted lists") == whole.rank("sorted lists")


def test_a_given_work_folder_is_kept(tmp_path, encoder, analyzer):
    build_index(
        DOCUMENTS,
        tmp_path / "i",
        model=Tilde(),
        options=BuildOptions(encoder=encoder, encoding=tmp_path / "rows"),
    )
    assert len(block_files(tmp_path / "rows")) == 3
    assert not default_encoding(tmp_path / "i").exists()
    again = Encoder(analyzer)
    build_index(
        DOCUMENTS,
        tmp_path / "j",
        model=Tilde(),
        options=BuildOptions(encoder=again, encoding=tmp_path / "rows"),
    )
    assert again.asked == []


def test_rows_of_another_encoder_are_not_reused(tmp_path, encoder, analyzer):
    build_index(
        DOCUMENTS,
        tmp_path / "i",
        model=Tilde(),
        options=BuildOptions(encoder=encoder, encoding=tmp_path / "rows"),
    )
    other = Encoder(analyzer, fingerprint="sha256:other")
    with pytest.raises(ForeignFolderError):
        build_index(
            DOCUMENTS,
            tmp_path / "j",
            model=Tilde(),
            options=BuildOptions(encoder=other, encoding=tmp_path / "rows"),
        )


def test_a_build_that_fails_before_the_first_block_leaves_nothing(tmp_path, encoder):
    with pytest.raises(ParameterError, match="consists of documents"):
        build_index([("a", 5)], tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["notes.txt", "encoding.json"])
def test_foreign_files_in_the_default_folder_stay(tmp_path, encoder, name):
    work = default_encoding(tmp_path / "i")
    work.mkdir()
    (work / name).write_text("mine")
    with pytest.raises(ForeignFolderError):
        build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder))
    assert (work / name).read_text() == "mine"


def test_temporary_files_of_a_killed_process_are_removed(tmp_path, encoder):
    work = default_encoding(tmp_path / "i")
    work.mkdir()
    (work / ".block-0123456789abcdef.rows.0a1b2c3d.tmp").write_bytes(b"TWROWS02")
    build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder))
    assert not work.exists()


def test_the_default_work_folder_is_next_to_the_index(tmp_path, monkeypatch):
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "below")
    assert str(default_encoding("docs.tw")) == str(default_encoding("docs.tw/")) == "docs.tw.encoding"
    assert default_encoding(".") == tmp_path / "here" / "below.encoding"
    assert default_encoding("..") == tmp_path / "here.encoding"


@pytest.mark.parametrize(
    ("index", "rows"), [("i", "i"), ("i", "i/rows"), ("rows/i", "rows"), ("i", "link/rows")]
)
def test_index_and_encoded_documents_lie_apart(tmp_path, encoder, index, rows):
    (tmp_path / "link").symlink_to(tmp_path / "i")
    with pytest.raises(ParameterError, match="contain each other") as caught:
        build_index(
            DOCUMENTS,
            tmp_path / index,
            model=Tilde(),
            options=BuildOptions(encoder=encoder, encoding=tmp_path / rows),
        )
    assert f"use `encoding='{tmp_path / index}.encoding'`" in caught.value.fixes_worded()
    assert encoder.asked == []
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_the_default_folder_lies_apart_as_well(tmp_path, encoder):
    default_encoding(tmp_path / "i").symlink_to(tmp_path / "i")
    with pytest.raises(ParameterError, match="contain each other"):
        build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder))
    assert encoder.asked == []
    assert [path.name for path in tmp_path.iterdir()] == ["i.encoding"]


@pytest.mark.parametrize("rows", ["i", "i/rows", "i/deep/rows", "link/rows", "i/x/.."])
def test_no_encoded_documents_in_the_folder_of_an_index(tmp_path, encoder, searcher, rows):
    (tmp_path / "link").symlink_to(tmp_path / "i")
    before, asked = sorted((tmp_path / "i").rglob("*")), list(encoder.asked)
    with pytest.raises(ParameterError, match="inside an index") as caught:
        encode_collection(DOCUMENTS, tmp_path / rows, model=Tilde(), encoder=encoder)
    assert dict(caught.value.facts)["index"] == tmp_path / "i"
    with pytest.raises(ParameterError, match="inside an index"):
        build_index(
            DOCUMENTS,
            tmp_path / "j",
            model=Tilde(),
            options=BuildOptions(encoder=encoder, encoding=tmp_path / rows),
        )
    assert (sorted((tmp_path / "i").rglob("*")), encoder.asked) == (before, asked)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["i", "link"]


def test_an_existing_index_is_refused_before_encoding(tmp_path, encoder, searcher):
    before = list(encoder.asked)
    with pytest.raises(IndexExistsError):
        build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder))
    assert encoder.asked == before


def test_shares_of_a_collection(tmp_path, analyzer):
    seen = []
    for part in (1, 2):
        encoder = Encoder(analyzer)
        share = encode_collection(
            DOCUMENTS,
            tmp_path / "rows",
            model=Tilde(),
            encoder=encoder,
            shard=(part, 2),
            progress=lambda *step: seen.append(step),
        )
        assert (share.documents, share.blocks, share.share) == (6, 3, 3 - part)
    assert (share.finished, share.left) == (3, 0)
    assert seen[-1] == ("encode documents", 6, 6)
    last = Encoder(analyzer)
    searcher = build_index(
        DOCUMENTS,
        tmp_path / "i",
        model=Tilde(),
        options=BuildOptions(encoder=last, encoding=tmp_path / "rows"),
    )
    assert last.asked == []
    assert len(searcher.index) == 6


def test_unfinished_blocks_after_one_share(tmp_path, analyzer):
    share = encode_collection(
        DOCUMENTS, tmp_path / "rows", model=Tilde(), encoder=Encoder(analyzer), shard=(3, 3)
    )
    assert (share.share, share.finished, share.left) == (1, 1, 2)


def test_only_undamaged_blocks_of_the_encoder_count_as_finished(tmp_path, analyzer):
    rows = tmp_path / "rows"

    def encode(shard=(1, 1), folder=rows, fingerprint="sha256:toy"):
        encoder = Encoder(analyzer, fingerprint=fingerprint)
        return encode_collection(DOCUMENTS, folder, model=Tilde(), encoder=encoder, shard=shard)

    assert finished_blocks(rows, model=Tilde(), encoder=Encoder(analyzer)) == 0  # no folder
    encode()
    assert finished_blocks(rows, model=Tilde(), encoder=Encoder(analyzer)) == 3
    encode(folder=tmp_path / "other", fingerprint="sha256:other")
    path = path_of(rows, *(document.text for document in DOCUMENTS[2:4]))
    for spoilt in (
        (tmp_path / "other" / path.name).read_bytes(),
        path.read_bytes()[:-1],
        b"",
        bytes(200),
    ):
        path.write_bytes(spoilt)
        share = encode((1, 3))
        assert (share.share, share.finished, share.left) == (1, 2, 1)
    path.unlink()
    assert encode((1, 3)).left == 1


def test_a_changed_collection_gives_the_index_of_a_new_build(tmp_path, analyzer):
    build_index(
        DOCUMENTS,
        tmp_path / "i",
        model=Tilde(),
        options=BuildOptions(encoder=Encoder(analyzer), encoding=tmp_path / "rows"),
    )
    changed = [*DOCUMENTS[1:4], Document("x", "merge"), *DOCUMENTS[4:]]
    encoder = Encoder(analyzer)
    build_index(
        changed,
        tmp_path / "j",
        model=Tilde(),
        options=BuildOptions(encoder=encoder, encoding=tmp_path / "rows"),
    )
    assert encoder.asked == ["merge"]
    build_index(changed, tmp_path / "k", model=Tilde(), options=BuildOptions(encoder=Encoder(analyzer)))
    assert (tmp_path / "j" / "manifest.json").read_bytes() == (tmp_path / "k" / "manifest.json").read_bytes()


def test_invalid_shares(tmp_path, encoder):
    for shard in ((0, 2), (3, 2)):
        with pytest.raises(ParameterError, match="shard"):
            encode_collection(DOCUMENTS, tmp_path / "rows", model=Tilde(), encoder=encoder, shard=shard)
    with pytest.raises(EmptyCollectionError):
        encode_collection([], tmp_path / "rows", model=Tilde(), encoder=encoder)
    with pytest.raises(ParameterError, match="only a model with a network"):
        encode_collection(DOCUMENTS, tmp_path / "rows", model="bm25")


# --- what is refused --------------------------------------------------------------------------------------------


def test_a_network_has_its_own_analyzer(tmp_path, encoder):
    for analyzer in ("english", make_analyzer("english")):
        with pytest.raises(ParameterError, match="has its own analyzer") as caught:
            build_index(
                DOCUMENTS,
                tmp_path / "i",
                model=Tilde(),
                analyzer=analyzer,
                options=BuildOptions(encoder=encoder),
            )
        assert ("given", "analyzer english") in caught.value.facts


@pytest.mark.parametrize("option", ["encoder", "encoding", "precision", "providers"])
@pytest.mark.parametrize("model", ["bm25", "vectors"])
def test_network_arguments_require_a_network(tmp_path, option, model):
    with pytest.raises(ParameterError, match="require a model with a network") as caught:
        build_index(DOCUMENTS, tmp_path / "i", model=model, options=BuildOptions(**{option: "x"}))
    assert ("given", f"{option} x") in caught.value.facts


@pytest.mark.parametrize("option", ["precision", "providers"])
def test_an_open_encoder_has_its_own_precision(tmp_path, encoder, option):
    options = BuildOptions(encoder=encoder, **{option: "x"})
    with pytest.raises(ParameterError, match="has its own precision"):
        build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=options)


def test_an_encoder_of_another_model_is_refused(tmp_path):
    documents = [Document("a", "merge"), Document("b", "sort")]
    floors = [-3.0] * len(tiny.PIECES)
    paths = {
        "one": tiny.make_folder(tmp_path / "one", "tilde", tiny.square({}, otherwise=1.0), floors=floors),
        "two": tiny.make_folder(tmp_path / "two", "tilde", tiny.square({}, otherwise=2.0), floors=floors),
        "v2": tiny.make_folder(tmp_path / "v2", "tildev2", np.ones(len(tiny.PIECES))),
    }
    one, two = Tilde(encoder=str(paths["one"])), Tilde(encoder=str(paths["two"]))
    v2 = TildeV2(encoder=str(paths["v2"]), expansion_encoder="none")
    encoder = open_document_encoder(one)
    for model, differing in ((two, "id"), (v2, "kind, id"), (paths["two"], "id")):
        with pytest.raises(ParameterError, match="not the one that the model names") as caught:
            build_index(documents, tmp_path / "i", model=model, options=BuildOptions(encoder=encoder))
        facts = dict(caught.value.facts)
        assert str(paths["two"]) in facts["model"] or str(paths["v2"]) in facts["model"]
        assert str(paths["one"]) in facts["encoder"]
        assert facts["differ in"] == differing
        assert not re.search("[0-9a-f]{64}", caught.value.render())
        with pytest.raises(ParameterError, match="not the one that the model names"):
            encode_collection(documents, tmp_path / "rows", model=model, encoder=encoder)
    odd, second = Tilde(encoder=str(paths["v2"])), open_document_encoder(v2)
    with pytest.raises(ParameterError, match="not the one that the model names"):
        build_index(documents, tmp_path / "i", model=odd, options=BuildOptions(encoder=second))
    assert not (tmp_path / "i").exists()
    assert not (tmp_path / "rows").exists()
    build_index(documents, tmp_path / "i", model=paths["one"], options=BuildOptions(encoder=encoder))
    texts = ["merge", "sort"]
    write_rows(tmp_path / "rows.npz", texts, encoder, encoder.encode_documents(texts))
    remembered = open_shipped_encoder(one, texts, tmp_path / "rows.npz")
    build_index(documents, tmp_path / "j", model=one, options=BuildOptions(encoder=remembered))
    with pytest.raises(ParameterError, match="not the one that the model names"):
        build_index(documents, tmp_path / "k", model=two, options=BuildOptions(encoder=remembered))


def test_an_encoder_with_other_settings_is_refused(tmp_path):
    documents = [Document("a", "merge"), Document("b", "sort")]
    tilde = tiny.make_folder(tmp_path / "tilde", "tilde", tiny.square({}), floors=[-9.0] * len(tiny.PIECES))
    expansion = ExpansionRecord(2, "new", 10, EncoderFolder.open(tilde).id, "tilde")
    v2 = tiny.make_folder(tmp_path / "v2", "tildev2", np.ones(len(tiny.PIECES)), expansion=expansion)
    splade = tiny.make_folder(tmp_path / "splade", "splade-doc", tiny.square({}, otherwise=1.0))
    first = {
        "tilde": Tilde(encoder=str(tilde)),
        "v2": TildeV2(encoder=str(v2)),
        "splade": SpladeDoc(encoder=str(splade)),
    }
    others = [
        ("tilde", {"keep": 3}, {"keep": ("3", "512")}),
        ("tilde", {"side": "query", "overlap": 2}, {"side": ("query", "document"), "overlap": ("2", "1")}),
        ("tilde", {"form": "exact", "keep": None}, {"form": ("exact", "compact"), "keep": ("None", "512")}),
        ("v2", {"length": 6, "overlap": 1}, {"length": ("6", "10")}),
        ("v2", {"expansion_terms": 1}, {"expansion_terms": ("1", "2")}),
        ("v2", {"counting": "raw"}, {"counting": ("raw", "new")}),
        (
            "v2",
            {"expansion_encoder": "none"},
            {
                "expansion_encoder": ("None", expansion.encoder),
                "expansion_terms": ("None", "2"),
                "counting": ("None", "new"),
            },
        ),
        ("splade", {"keep": 1}, {"keep": ("1", "None")}),
    ]
    for kind, changes, expected in others:
        model, encoder = dataclasses.replace(first[kind], **changes), open_document_encoder(first[kind])
        with pytest.raises(ParameterError, match="other settings than the model") as caught:
            build_index(documents, tmp_path / "i", model=model, options=BuildOptions(encoder=encoder))
        assert dict(caught.value.facts[1:]) == {
            name: f"{ours}, and {theirs} in the encoder" for name, (ours, theirs) in expected.items()
        }
        with pytest.raises(ParameterError, match="other settings than the model"):
            encode_collection(documents, tmp_path / "rows", model=model, encoder=encoder)
    assert not (tmp_path / "i").exists()
    assert not (tmp_path / "rows").exists()


def test_a_setting_equal_to_the_encoder_is_accepted(tmp_path):
    documents = [Document("a", "merge"), Document("b", "sort")]
    path = tiny.make_folder(tmp_path / "e", "tilde", tiny.square({}), floors=[-9.0] * len(tiny.PIECES))
    encoder = open_document_encoder(Tilde(encoder=str(path)))
    model = Tilde(encoder=str(path), keep=512, length=10)
    assert (
        len(build_index(documents, tmp_path / "i", model=model, options=BuildOptions(encoder=encoder)).index)
        == 2
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"collection": None}, "documents"),
        ({"collection": 3}, "documents"),
        ({"path": None}, "path"),
        ({"model": 3}, "model"),
        ({"model": Tilde}, "model"),
        ({"analyzer": 3, "model": "bm25"}, "analyzer"),
        ({"fields": "title"}, "fields"),
        ({"fields": (1,)}, "fields"),
        ({"options": {"threads": 2}}, "options"),
        ({"options": BuildOptions(encoder="tilde")}, "not an encoder"),
    ],
)
def test_arguments_of_the_wrong_type(tmp_path, encoder, options, named):
    given = {"collection": DOCUMENTS, "path": tmp_path / "i", "model": Tilde(), **options}
    if given["model"] == Tilde():
        given.setdefault("options", BuildOptions(encoder=encoder))
    with pytest.raises(ParameterError, match=named):
        build_index(**given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{"precision": 3}, {"providers": "cpu"}, {"providers": 3}])
def test_execution_arguments_of_the_wrong_type(tmp_path, options):
    path = tiny.make_folder(tmp_path / "e", "tildev2", np.ones(len(tiny.PIECES)))
    with pytest.raises(UsageError, match=next(iter(options))):
        build_index(DOCUMENTS, tmp_path / "i", model=path, options=BuildOptions(**options))
    assert [entry.name for entry in tmp_path.iterdir()] == ["e"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"collection": None}, "documents"),
        ({"encoding": None}, "encoding"),
        ({"threads": 1.0}, "threads"),
        ({"shard": 2}, "shard"),
        ({"fields": "title"}, "fields"),
        ({"encoder": "tilde"}, "not an encoder"),
    ],
)
def test_arguments_of_the_wrong_type_for_a_share(tmp_path, encoder, options, named):
    given = {"collection": DOCUMENTS, "encoding": tmp_path / "i", "encoder": encoder, **options}
    with pytest.raises(ParameterError, match=named):
        encode_collection(**given, model=Tilde())
    assert list(tmp_path.iterdir()) == []


def test_an_encoder_of_two_vocabularies(tmp_path, encoder):
    encoder.analyzer = make_analyzer("wordpiece-clean")
    with pytest.raises(VocabularyMismatchError, match="another vocabulary"):
        build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder))
    encoder.analyzer = make_analyzer("english")
    with pytest.raises(VocabularyMismatchError, match="open"):
        build_index(DOCUMENTS, tmp_path / "i", model=Tilde(), options=BuildOptions(encoder=encoder))
    assert not (tmp_path / "i").exists()


def test_duplicate_documents(tmp_path, encoder):
    with pytest.raises(DuplicateIdError, match="number 1 and number 3"):
        build_index(
            [*DOCUMENTS[:2], DOCUMENTS[0]],
            tmp_path / "i",
            model=Tilde(),
            options=BuildOptions(encoder=encoder),
        )


def test_models_by_name_and_by_folder(tmp_path, monkeypatch):
    assert chosen_model("tilde", {"keep": "64"}) == Tilde(keep=64)
    assert chosen_model("tildev2", {"expansion_encoder": "none"}) == TildeV2(expansion_encoder="none")
    assert chosen_model(BM25(), {}) == BM25()
    with pytest.raises(UnknownNameError, match="no folder of that name") as unknown:
        chosen_model("tildev3", {})
    assert unknown.value.fixes == ("did you mean tildev2 or tilde?",)
    for missing in ("./tildev3", tmp_path / "tildev3"):
        with pytest.raises(MissingFileError, match="no such folder") as lacking:
            chosen_model(missing, {})
        assert dict(lacking.value.facts)["folder"] == missing
        assert "bm25, dirichlet" in dict(lacking.value.facts)["models"]
    with pytest.raises(ParameterError, match="not a model object"):
        chosen_model(Tilde(), {"keep": "64"})
    with pytest.raises(ParameterError, match="given twice"):
        chosen_model(tmp_path, {"encoder": "elsewhere"})
    for wrong in (["keep=3"], {"keep": 3}):
        with pytest.raises(ParameterError, match="settings"):
            chosen_model("tilde", wrong)
    with pytest.raises(ModelFormatError, match="does not hold an encoder"):
        chosen_model(str(tmp_path), {})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(ModelFormatError, match="does not hold an encoder"):
        chosen_model("mine", {})


# --- searching --------------------------------------------------------------------------------------------------


def test_searching_loads_no_network(searcher, tmp_path):
    program = (
        "import sys, termwise\n"
        f"searcher = termwise.open({str(tmp_path / 'i')!r})\n"
        "assert searcher.rank('merge lists', k=1)\n"
        "assert searcher.rank('merge lists', candidates=['a', 'b'])\n"
        "assert searcher.explain('merge lists', 'a').contributions\n"
        "import termwise.search\n"
        "heavy = {'torch', 'onnxruntime', 'transformers', 'termwise.encode'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_documents_encoded_as_queries_are_stored(tmp_path, analyzer):
    model = Tilde(form="exact", side="query")
    index = build_index(
        DOCUMENTS, tmp_path / "i", model=model, options=BuildOptions(encoder=Exact(analyzer))
    ).index
    stored = StoredQueryVectors(Index.open(index.path))
    found = stored.encode_queries(["b", "e"])
    assert found[:, KEPT].tolist() == [dense(DOCUMENTS[1].text)[KEPT].tolist(), dense("list")[KEPT].tolist()]


# --- explaining -------------------------------------------------------------------------------------------------


def test_explanations_add_up_and_mark_expansions(searcher):
    seen = set()
    for document in DOCUMENTS:
        explanation = searcher.explain("merge the sorted lists of cards", document.doc_id, competitors=1)
        parts = explanation.contributions
        assert sum(part.score for part in parts) + explanation.constant == explanation.score
        assert explanation.constant == -3.0 * 5  # merge, sort, ##ed, list, card; ##s is cleaned away
        assert all(part.weight >= 0 for part in parts)
        tokens = searcher.analyzer.tokens(document.text)
        for part in parts:
            seen.add(part.origin)
            if part.weight > 0:
                assert part.origin in (("exact", "piece") if part.term in tokens else ("expansion",))
                assert bool(part.spans) == (part.origin != "expansion")
            for start, end in part.spans:
                assert part.term.removeprefix("##") == document.text[start:end]
    assert seen == {"exact", "piece", "expansion", "absent"}


def test_pieces_and_expansions_are_said_in_words(tmp_path, analyzer):
    class Chosen(Encoder):
        def row(self, text):
            return {4: 2.0, 9: 1.0, 6: 0.5} if text else {}

    documents = [Document("x", "the sorted file"), Document("y", "")]
    searcher = build_index(
        documents,
        tmp_path / "i",
        model=Tilde(),
        store_text=True,
        options=BuildOptions(encoder=Chosen(analyzer)),
    )
    explanation = searcher.explain("sorted cards", "x")
    from rich.console import Console

    from termwise.explain.explanation_terminal import explanation_renderable

    console = Console(width=100, no_color=True, record=True, file=StringIO())
    console.print(explanation_renderable(explanation))
    shown = console.export_text()
    assert "constant" in shown
    assert "-9.0000" in shown
    assert "sorted (##ed)" in shown
    assert "added by the model, not in the text: cards" in shown
    assert "the ‹sorted› file" in shown
    page = explanation.to_html()
    assert "added by the model, not in the text" in page
    assert "−9.0000" in page
    assert "##ed" in page


# --- the whole way, through onnxruntime -------------------------------------------------------------------------


def test_a_stored_vector_equals_a_pass_of_the_network(tmp_path):
    table = tiny.square(
        {
            tiny.DOC: {tiny.CAT: -1.0},
            tiny.QRY: {tiny.DOG: 4.0, tiny.MERGE: -2.0},
            tiny.MERGE: {tiny.MERGE: 3.0, tiny.SORT: 1.0},
            tiny.SORT: {tiny.SORT: 2.0, tiny.LIST: 0.5},
            tiny.LIST: {tiny.LIST: 1.5, tiny.MERGE: 0.0},
        }
    )
    floors = [-8.5] * len(tiny.PIECES)
    path = tiny.make_folder(tmp_path / "e", "tilde", table, floors=floors, positions=64, length=64)
    documents = [Document("a", "merge the lists"), Document("b", "sort"), Document("c", "list, sort list")]
    exact = BuildOptions(quantiser="float32")
    model = chosen_model(path, {"form": "exact"})
    searcher = build_index(documents, tmp_path / "d", model=model, options=exact)
    shares = build_index(
        documents,
        tmp_path / "s",
        model="ml",
        analyzer=searcher.analyzer,
        options=exact,
    )
    network = open_query_encoder(path)
    for form in ("exact", "compact"):
        model = chosen_model(path, {"form": form, "side": "query"})
        index = build_index(documents, tmp_path / form, model=model, options=exact).index
        stored = StoredQueryVectors(index)
        kept = network.kept
        for document in documents:
            passed = network.encode_queries([document.text])[:, kept]
            assert stored.encode_queries([document.doc_id])[:, kept] == pytest.approx(passed, abs=1e-5)
        ranked = [
            QueryDocumentLikelihood(searcher, alpha=0.5, documents=shares.index, query_encoder=encoder).rank(
                documents[2].text, candidates=["a", "b", "c"], example=example
            )
            for encoder, example in ((network, None), (stored, "c"))
        ]
        assert ranked[0].doc_ids == ranked[1].doc_ids
        assert ranked[0].scores == pytest.approx(ranked[1].scores, abs=1e-5)
