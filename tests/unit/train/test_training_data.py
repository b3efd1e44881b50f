"""Training pairs and held-out pairs."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise.errors import ParameterError
from termwise.train.data.training_data import read_training_data

from .conftest import write_jsonl

PAIRS = [{"query": f"query {number}", "passage": f"passage {number}"} for number in range(100)]


def test_a_fiftieth_of_the_queries_is_held_out_without_a_split(tmp_path):
    write_jsonl(tmp_path / "pairs.jsonl", *PAIRS)
    read = read_training_data([tmp_path / "pairs.jsonl"], validation=None, queries=10, seed=3)
    assert read.origin == "a fiftieth of the queries, drawn with seed 3"
    (source,) = read.sources
    trained = {source.queries[query] for query in source.pairs[:, 0]}
    assert len(read.held_out.queries) == 2
    assert len(trained) == 98
    assert trained.isdisjoint(read.held_out.queries)


@pytest.mark.parametrize(("validation", "queries"), [("none", 10), (None, 0)])
def test_no_validation(tmp_path, validation, queries):
    write_jsonl(tmp_path / "pairs.jsonl", *PAIRS)
    read = read_training_data([tmp_path / "pairs.jsonl"], validation=validation, queries=queries, seed=3)
    assert read.held_out is None
    assert read.origin == "none"
    assert len(read.sources[0].pairs) == 100


def test_two_sources_of_one_name(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_jsonl(tmp_path / folder / "pairs.jsonl", *PAIRS[:4])
    data = [tmp_path / folder / "pairs.jsonl" for folder in ("one", "two")]
    with pytest.raises(ParameterError, match="the same name") as caught:
        read_training_data(data, validation=None, queries=10, seed=3)
    assert dict(caught.value.facts)["name"] == "pairs"
    assert caught.value.fixes
