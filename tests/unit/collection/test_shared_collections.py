"""All judged collections beside the repository can be read, with the counts their descriptions state."""

from pathlib import Path

import pytest

from termwise.collection import open_collection, read_qrels, read_queries, read_seeds

pytestmark = pytest.mark.shared

# documents; queries judged by split
COUNTS = {
    "adi": (82, {"test": 35}),
    "cacm": (3_204, {"test": 52}),
    "cranfield": (1_400, {"test": 225, "test_incl_source": 225}),
    "cystic_fibrosis": (1_239, {"test": 100}),
    "scifact": (5_183, {"train": 809, "test": 300}),
    "nfcorpus": (3_633, {"train": 2_590, "dev": 324, "test": 323}),
    "medquad": (15_809, {"train": 10_881, "dev": 1_406, "test": 1_350}),
    "stackfaq": (719, {"test": 1_249}),
    "cosqa": (6_267, {"dev": 500, "test": 500}),
    "csfcube": (4_205, {"test": 50, "test_aggregate": 34}),
    "covidq": (1_348, {"train": 491, "test": 490}),
    "semeval_cqa_questions": (2_507, {"train": 200, "dev": 67, "test": 50}),
}


@pytest.fixture
def collections(shared: Path) -> Path:
    return shared / "collections"


@pytest.mark.parametrize("name", COUNTS)
def test_counts(collections: Path, name: str) -> None:
    n_documents, splits = COUNTS[name]
    collection = open_collection(collections / name)
    assert collection.name == name
    doc_ids = [document.doc_id for document in collection.documents()]
    assert len(doc_ids) == len(set(doc_ids)) == n_documents
    query_ids = {query.query_id for query in read_queries(collections / name)}
    for split, n_queries in splits.items():
        qrels = read_qrels(collections / name / "qrels" / f"{split}.tsv")
        assert len({qrel.query_id for qrel in qrels}) == n_queries
        assert {qrel.query_id for qrel in qrels} <= query_ids
        assert {qrel.doc_id for qrel in qrels} <= set(doc_ids)


@pytest.mark.parametrize("name", ["csfcube", "covidq"])
def test_seeds(collections: Path, name: str) -> None:
    doc_ids = {document.doc_id for document in open_collection(collections / name).documents()}
    seeds = read_seeds(collections / name / "seeds.tsv")
    assert {query.query_id for query in read_queries(collections / name)} == set(seeds)
    assert all(len(seed) == 1 and seed <= doc_ids for seed in seeds.values())


def test_text_is_title_and_text(collections: Path) -> None:
    documents = {one.doc_id: one.text for one in open_collection(collections / "cacm").documents()}
    assert documents["CACM-1"] == "Preliminary Report-International Algebraic Language"
