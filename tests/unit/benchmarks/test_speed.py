"""The benchmarks of encoding and of the query side: contestants compute the same values."""

from __future__ import annotations

import json
from argparse import Namespace

import numpy as np
import pytest

from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage
from termwise.errors import CheckFailedError, ParameterError
from termwise.index import IndexWriter
from termwise.index.encoder_description import encoder_description
from termwise.text import CleanedAnalyzer
from termwise.weights import TermWeights

ROWS = [
    ([3000, 3001, 3002], [1.0, 2.0, 0.5]),
    ([3001, 3005], [0.25, 4.0]),
    ([3002, 3003, 3004, 3005], [1.0, 1.0, 2.0, 3.0]),
]


@pytest.fixture
def source(tmp_path):
    """Write an index like that of a network."""
    analyzer = CleanedAnalyzer.shipped()
    rows = [dict(zip(terms, weights, strict=True)) for terms, weights in ROWS]
    with IndexWriter(tmp_path / "source") as writer:
        writer.add(["a", "b", "c"], TermWeights.from_rows(rows, analyzer.vocabulary.id))
        description = encoder_description(
            model="tildev2", parameters={}, analyzer=analyzer.spec, weighting="counts", exact=False
        )
        writer.commit(analyzer.vocabulary, encoder=description, attachments=analyzer.spec.files)
    return tmp_path / "source"


@pytest.fixture
def searcher(source, tmp_path):
    import query_side

    return query_side.made("tildev2", str(source), Namespace(work=tmp_path / "work", documents=40, seed=0))


def test_the_plain_forms_give_the_scores_of_termwise(searcher):
    import query_side

    index = searcher.index
    assert len(index) == 40
    impacts = query_side.Impacts.of(index)
    postings = impacts.postings(index.manifest.terms)
    words = " ".join(index.vocabulary.token(term) for term in (3001, 3005, 3005))
    vector = query_vector(index, searcher.encode(words))
    assert vector.weights.sum() in (2, 3)
    chosen = np.arange(40)
    assert np.allclose(impacts.one_by_one(vector, chosen), impacts.gathered(vector, chosen))
    assert np.allclose(query_side.scored(index, vector, chosen), impacts.gathered(vector, chosen))
    assert query_side.agreement(index, [vector], postings, 10) == 1.0
    peer = query_side.bm25s_engine(postings)
    if peer is not None:
        terms = np.repeat(vector.terms, vector.weights).tolist()
        _, scores = peer.retrieve([terms], k=5, show_progress=False, n_threads=1)
        _, ours = first_stage(index, vector, 5)
        assert np.allclose(scores[0], ours / vector.unit)


def test_documents_are_mixed_from_rows_that_share_a_term():
    import query_side

    rows = [(np.array(terms, np.int32), np.array(weights, np.float32)) for terms, weights in ROWS]
    made = list(query_side.grown([*rows, (rows[0][0][:0], rows[0][1][:0])], 50, np.random.default_rng(1)))
    assert len(made) == 50
    assert all(0 < len(terms) <= 4 and (np.diff(terms) > 0).all() for terms, _ in made)
    assert sorted(len(terms) for terms, _ in made[:3]) == [2, 3, 4]
    # Every weight is one that some row has for its term.
    known = {pair for terms, weights in rows for pair in zip(terms.tolist(), weights.tolist(), strict=True)}
    assert {
        pair for terms, weights in made for pair in zip(terms.tolist(), weights.tolist(), strict=True)
    } <= known
    assert len({tuple(terms.tolist()) for terms, _ in made}) > 3


def test_the_shipped_collection_is_indexed_with_the_shipped_rows(tmp_path, monkeypatch):
    import query_side

    def build_index(documents, path, *, options, **settings):
        return len(documents), options.encoder.description["remembered"]["rows"]

    monkeypatch.setattr(query_side, "build_index", build_index)
    documents, rows = query_side.shipped("tilde", tmp_path)
    assert documents == rows > 10_000


def test_queries_are_many_and_some_are_long():
    import query_side

    analyzer = CleanedAnalyzer.shipped()
    found = query_side.queries(analyzer, Namespace(queries=300, long_queries=20, seed=0))
    assert [len(found[name]) for name in ("short", "long")] == [300, 20]
    assert {len(analyzer.tokens(text)) for text in found["long"]} == {150}
    assert np.median([len(text.split()) for text in found["short"]]) <= 12
    assert len(set(found["short"])) > 250


def test_every_part_is_compared_with_its_limit(searcher, capsys):
    import query_side

    texts = [" ".join(searcher.index.vocabulary.token(term) for term in (3001, 3002))] * 3
    report = query_side.measure("tildev2, short queries", searcher, texts, 2)
    assert set(report["verdicts"]) == set(query_side.LIMITS)
    for name, verdict in report["verdicts"].items():
        assert verdict["reached"] == (report[name]["termwise"]["ms"]["p50"] <= query_side.LIMITS[name])
    assert report["re-ranking, same scores"] == 1.0
    slow = {
        name: {"termwise": {"ms": {"p50": limit + 1, "p99": 9.0}}}
        for name, limit in query_side.LIMITS.items()
    }
    assert not any(row["reached"] for row in query_side.verdicts(slow).values())
    both = {"verdicts": query_side.verdicts(slow)}
    query_side.conclude({"kinds": {"tilde": {"short": report, "long": both, "by length": both}}})
    said = capsys.readouterr()
    assert (said.out + said.err).count("NOT REACHED") >= 4


# --- encoding ---------------------------------------------------------------------------------------------------


def test_batches_are_counted_with_their_padding():
    import encoding

    batches = [np.array([0, 2]), np.array([1])]
    assert encoding.filled(batches, [3, 9, 5]) == 2 * 5 + 9


def test_comparisons_and_targets():
    import encoding

    ours = [
        f"onnxruntime {p}, {way}"
        for p in ("float32", "int8")
        for way in ("by length", "as come", "whole way")
    ]
    found = encoding.pairs([encoding.TORCH, encoding.TORCH_AS_COME, *ours])
    assert ("onnxruntime float32, by length", encoding.TORCH) in found
    assert ("onnxruntime int8, by length", "onnxruntime float32, by length") in found
    assert ("onnxruntime int8, whole way", "onnxruntime int8, by length") in found
    ratios = {f"{one} / {other}": {"median": 1.3} for one, other in found}
    verdicts = encoding.verdicts(ratios)
    assert {(row["wanted"], row["reached"]) for row in verdicts.values()} == {(1.0, True), (1.6, False)}
    assert len(verdicts) == 4  # both precisions, by length


def test_networks_are_compared_over_all_batches():
    import encoding

    inputs = [np.arange(1, 1 + length, dtype=np.int32) for length in (3, 9, 5)]
    batches = [np.array([1]), np.array([2, 0])]
    seen = []

    def one(ids, mask):
        seen.append(int(mask.sum()))
        return ids.astype(np.float32)

    def other(ids, mask):
        return one(ids, mask) + np.where(ids == 5, np.float32(0.5), np.float32(0)) + 7 * (1 - mask)

    found = encoding.difference(one, other, batches, inputs, 0)
    assert seen == [9, 9, 8, 8]
    assert found["largest"] == pytest.approx(0.5 / 5.5)  # in both batches; padding does not count
    assert found["mean"] == pytest.approx(2 * 0.5 / 17)
    with pytest.raises(CheckFailedError, match="does not compute"):
        encoding.check({"float32": found})
    with pytest.raises(CheckFailedError):
        encoding.check({"float32": found | {"largest": float("nan")}})
    encoding.check({"float32": found | {"largest": 1e-5}, "int8": found})


SPECIAL = ("[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("merge", "sort", "list", "cat")
PIECES = (*SPECIAL, *WORDS, *(f"word{number}" for number in range(60)))


@pytest.fixture
def base(tmp_path):
    """Write an untrained encoder in the layout of transformers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("onnx")
    from termwise.train.pretrained import quiet

    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    with quiet(bars=False):
        transformers.BertForMaskedLM(config).save_pretrained(tmp_path / "base")
    (tmp_path / "base" / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    return tmp_path / "base"


@pytest.mark.parametrize("kind", ["tilde", "tildev2"])
def test_the_whole_benchmark_of_encoding(base, tmp_path, kind, capsys):
    import encoding
    import torch

    random = np.random.default_rng(0)
    with (tmp_path / "docs.jsonl").open("w") as file:
        for number in range(12):
            words = " ".join(random.choice(WORDS, size=random.integers(2, 40)))
            file.write(json.dumps({"_id": str(number), "text": words}) + "\n")
    common = [
        f"--work={tmp_path / 'work'}", f"--data={tmp_path / 'docs.jsonl'}", "--rounds=1", "--threads=1", "--batch=4",
        f"--out={tmp_path}",
    ]  # fmt: skip
    threads = torch.get_num_threads()
    try:
        encoding.main([f"--base={base}", f"--kind={kind}", "--length=16", "--length=30", *common])
        made = tmp_path / "work" / f"base-{kind}-0"
        encoding.main([f"--encoder={made}", "--length=16", *common])
    finally:
        torch.set_num_threads(threads)
    first, second = map(json.loads, (tmp_path / "encoding.jsonl").read_text().splitlines())
    assert list(first["lengths"]) == ["16", "30"]
    for entry in (*first["lengths"].values(), *second["lengths"].values()):
        assert entry["pieces"]["most"] in (16, 30)
        assert entry["agreement with torch, all batches"]["float32"]["largest"] <= encoding.TOLERANCE
        assert "onnxruntime int8, whole way" in entry["passages a second"]
        assert len(entry["verdicts"]) == 4
    said = capsys.readouterr()
    assert "wanted 1.6: " in said.out + said.err


def test_torch_needs_a_network_in_float32(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    import encoding

    from termwise.encode import EncoderFolder, shipped_encoders

    if "tilde" not in shipped_encoders():
        pytest.skip("no encoder ships with this distribution")
    shipped = EncoderFolder.open("tilde").folder
    with pytest.raises(ParameterError, match="no network in float32"):
        encoding.main([f"--encoder={shipped}", f"--work={tmp_path}", f"--out={tmp_path}", "--threads=1"])


def test_queries_are_cut_after_a_number_of_terms(searcher):
    import query_side

    vocabulary = searcher.index.vocabulary
    first, second, third = (vocabulary.token(term) for term in (3001, 3005, 3002))
    text = f"{first} {first} {second} {third} more"
    cut = query_side.beginning(searcher, text, 2)
    assert cut == f"{first} {first} {second}"
    assert len(searcher.encode(cut).row(0)[0]) == 2
    assert query_side.beginning(searcher, first, 2) is None


def test_the_first_stage_by_length(searcher, monkeypatch):
    import query_side

    monkeypatch.setattr(query_side, "LENGTHS", (1, 2))
    texts = [" ".join(searcher.index.vocabulary.token(term) for term in (3001, 3002))] * 2
    report = query_side.by_length("tildev2", searcher, texts, 2)
    assert (list(report["terms"]), list(report["verdicts"])) == ([1, 2], ["first stage, 2 terms"])
