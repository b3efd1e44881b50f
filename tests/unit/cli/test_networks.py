"""The verbs that run a network, with one small enough to compute by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.unit.encode import tiny
from tests.unit.encode.counting import path_of

from termwise.cli.main import run
from termwise.encode.tilde import TildeDocumentEncoder

DOCUMENTS = [
    {"_id": "a", "text": "merge the lists"},
    {"_id": "b", "text": "sort"},
    {"_id": "c", "text": "the"},
    {"_id": "d", "text": "sort lists, merge"},
    {"_id": "e", "text": "list"},
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("termwise.encode.tilde.DOCUMENTS", 2)
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(d) + "\n" for d in DOCUMENTS))
    (tmp_path / "queries.tsv").write_text("q1\tmerging sorts: merge\nq2\tlist\n")
    table = tiny.square(
        {
            tiny.DOC: {tiny.CAT: -1.0},
            tiny.QRY: {tiny.DOG: 4.0},
            tiny.MERGE: {tiny.MERGE: 3.0, tiny.SORT: 1.0},
            tiny.SORT: {tiny.SORT: 2.0, tiny.LIST: 0.5},
            tiny.LIST: {tiny.LIST: 1.5, tiny.MERGE: 0.0},
        }
    )
    tiny.make_folder(
        tmp_path / "encoder",
        "tilde",
        {"float32": table, "int8": table},
        floors=[-3.0] * len(tiny.PIECES),
        positions=64,
        length=64,
    )
    return tmp_path


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def index(*options, model="encoder", out="i.tw"):
    return run(["index", "docs.jsonl", "--model", model, "--out", out, "--threads", "1", *options])


def test_index_search_rerank_and_explain(place, capsys):
    assert index("--store-text") == 0
    assert "5 documents, 16 terms" in capsys.readouterr().out
    assert not (place / "i.tw.encoding").exists()
    assert run(["search", "i.tw", "merge", "--json"]) == 0
    *found, _ = lines(capsys)
    assert [hit["doc_id"] for hit in found] == ["a", "d", "e"]
    assert run(["rank", "i.tw", "--queries", "queries.tsv", "--out", "run.trec"]) == 0
    assert run(["rerank", "i.tw", "--run", "run.trec", "--queries", "queries.tsv", "--out", "o.trec"]) == 0
    assert (place / "o.trec").read_text() == (place / "run.trec").read_text()
    capsys.readouterr()
    assert run(["explain", "i.tw", "sort cat", "a"]) == 0
    shown = capsys.readouterr().out
    assert "constant" in shown
    assert "added by the model, not in the text: sort, cat" in shown
    assert run(["verify", "i.tw"]) == 0


def test_inspect_shows_the_network(place, capsys):
    assert index("--precision", "int8", "--set", "keep=3") == 0
    capsys.readouterr()
    assert run(["inspect", "i.tw"]) == 0
    shown = capsys.readouterr().out
    assert "encoder" in shown
    assert "sha256:" in shown
    assert "int8 on " in shown
    assert "keep 3" in shown
    assert run(["inspect", "i.tw", "--json"]) == 0
    (facts,) = lines(capsys)
    assert facts["encoder"]["network"]["network"]["precision"] == "int8"
    assert facts["encoder"]["network"]["network"]["processor"]


def test_inspect_shows_the_power_of_idf(place, capsys):
    tiny.make_folder(place / "weighing", "tildev2", np.ones(len(tiny.PIECES)), positions=64, length=64)
    for power, said in (("0", False), ("0.5", True)):
        assert index("--set", f"idf_power={power}", "--overwrite", model="weighing") == 0
        capsys.readouterr()
        assert run(["inspect", "i.tw"]) == 0
        assert ("idf to the power 0.5" in capsys.readouterr().out) == said


def test_the_exact_form_keeps_its_weights(place, capsys):
    assert index("--set", "form=exact") == 0
    capsys.readouterr()
    assert run(["inspect", "i.tw", "--json"]) == 0
    assert lines(capsys)[0]["quantiser"]["kind"] == "float32"


def test_documents_as_queries(place, capsys):
    assert index("--set", "side=query") == 0
    capsys.readouterr()
    assert run(["search", "i.tw", "dog", "--json", "-k", "1"]) == 0
    assert lines(capsys)[0]["score"] == pytest.approx(-0.0181, abs=0.01)  # ln sigmoid(4), the marker's


def test_a_skipped_header_is_noted(place, capsys):
    (place / "docs.tsv").write_text("ID\ttext\nb\tdog\n")
    assert run(["encode", "docs.tsv", "--model", "encoder", "--encoding", "rows", "--json"]) == 0
    streams = capsys.readouterr()
    assert streams.err == "docs.tsv: the first line is a header and is skipped: 'ID\\ttext'\n"
    assert json.loads(streams.out)["documents"] == 1


def test_encode_shares_then_index(place, capsys):
    encode = ["encode", "docs.jsonl", "--model", "encoder", "--encoding", "rows", "--threads", "1"]
    assert run([*encode, "--shard", "2/2", "--json"]) == 0
    (report,) = lines(capsys)
    assert {key: report[key] for key in ("documents", "blocks", "share", "left")} == {
        "documents": 5,
        "blocks": 3,
        "share": 1,
        "left": 2,
    }
    assert run([*encode, "--shard", "1/2"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("rows: 2 of 3 blocks belong to this shard, 0 remain in all, ")
    assert "resuming: texts of 1 finished block in rows are not encoded again\n" in streams.err
    assert "next: termwise index docs.jsonl --model encoder --encoding rows --out DIR" in streams.err

    def refuse(*_, **__):
        raise AssertionError("everything was encoded before")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TildeDocumentEncoder, "encode_documents", refuse)
        assert index("--encoding", "rows") == 0
    assert "resuming: texts of 3 finished blocks in rows are not encoded again\n" in capsys.readouterr().err
    assert len(list((place / "rows").glob("block-*"))) == 3
    assert index(out="j.tw") == 0
    assert (place / "i.tw" / "manifest.json").read_bytes() == (place / "j.tw" / "manifest.json").read_bytes()


def test_unusable_blocks_remain_to_be_encoded(place, capsys):
    encode = ["encode", "docs.jsonl", "--model", "encoder", "--threads", "1"]
    assert run([*encode, "--encoding", "rows"]) == 0
    assert run([*encode, "--encoding", "others", "--set", "keep=2"]) == 0
    block = path_of(place / "rows", "the", "sort lists, merge")
    capsys.readouterr()
    for spoilt in (block.read_bytes()[:-3], (place / "others" / block.name).read_bytes()):
        block.write_bytes(spoilt)
        assert run([*encode, "--encoding", "rows", "--shard", "1/3", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["left"] == 1
    assert run([*encode, "--encoding", "rows", "--set", "keep=2"]) == 2
    assert "resuming" not in capsys.readouterr().err


@pytest.mark.parametrize(("out", "rows"), [("i.tw", "i.tw/rows"), ("i.tw", "i.tw"), ("rows/i.tw", "rows")])
def test_index_and_encoded_documents_lie_apart(place, capsys, out, rows):
    assert index("--encoding", rows, out=out) == 2
    said = capsys.readouterr().err
    assert "contain each other" in said
    assert f"--encoding {out}.encoding" in said
    assert not (place / out).exists()
    assert not (place / rows).exists()


def test_no_encoded_documents_in_the_folder_of_an_index(place, capsys):
    assert index() == 0
    before = sorted((place / "i.tw").rglob("*"))
    capsys.readouterr()
    encode = ["encode", "docs.jsonl", "--model", "encoder", "--threads", "1"]
    assert run([*encode, "--encoding", "i.tw/rows"]) == 2
    said = capsys.readouterr().err
    assert "lies inside an index" in said
    assert "i.tw/rows" in said
    assert sorted((place / "i.tw").rglob("*")) == before


def test_the_reason_of_an_empty_result_holds_for_every_model(place, capsys):
    assert index() == 0
    capsys.readouterr()
    assert run(["search", "i.tw", "dog"]) == 0
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err == "no results: no document has a weight for dog\n"


def test_queries_without_candidates_are_counted(place, capsys):
    assert index() == 0
    (place / "first.trec").write_text("q1 Q0 a 1 1.0 x\nq7 Q0 a 1 1.0 x\nq8 Q0 a 1 1.0 x\n")
    capsys.readouterr()
    arguments = ["rerank", "i.tw", "--run", "first.trec", "--queries", "queries.tsv", "--out", "o.trec"]
    assert run([*arguments, "--json"]) == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out) == {
        "run": "o.trec",
        "queries": 1,
        "left_out": ["q7", "q8"],
        "without_candidates": ["q2"],
    }
    assert streams.err.splitlines() == [
        "left out: 2 queries of first.trec without a text in queries.tsv: q7, q8",
        "left out: 1 query without candidates in first.trec: q2",
        "o.trec: 1 query",
    ]


@pytest.fixture
def likelihoods(place, capsys):
    """Return a function that re-ranks by query and document likelihood, and returns status, scores and errors."""
    assert index("--set", "form=exact") == 0
    shares = ["--analyzer", "wordpiece-clean:encoder/vocab.txt", "--float"]
    assert index(*shares, model="ml", out="ml.tw") == 0
    (place / "queries.tsv").write_text("q1\tlist\nq2\tthe\n")
    (place / "first.trec").write_text("".join(f"q{q} Q0 {d} 1 1.0 x\n" for q in (1, 2) for d in "abcde"))
    capsys.readouterr()

    def call(*options, folder="i.tw"):
        files = ["--run", "first.trec", "--queries", "queries.tsv", "--out", "o.trec", "--overwrite"]
        status = run(["rerank", folder, *files, *options])
        rows = [line.split() for line in (place / "o.trec").read_text().splitlines()] if not status else []
        return status, {(row[0], row[2]): float(row[4]) for row in rows}, capsys.readouterr().err

    return call


NETWORK = ("--query-encoder", "encoder", "--documents", "ml.tw")


def test_query_and_document_likelihood_by_hand(likelihoods):
    def ln(logit):
        return -np.log1p(np.exp(-logit))

    # The logits of a text are the largest of its pieces and its marker. [DOC] has none; [QRY] has one for dog.
    query = {"a": 1.5, "b": 0.5, "d": 1.5, "e": 1.5}  # of list, given the document
    merge, sort, listing = ln(0.0), ln(-8.0), ln(1.5)  # given the query "list"
    document = {
        "a": (merge + listing) / 2,
        "b": sort,
        "d": (sort + listing + merge) / 3,
        "e": listing,
    }
    for alpha in (0.0, 0.25, 0.5, 1.0):
        given = () if alpha == 0.5 else ("--alpha", str(alpha))
        status, scores, _ = likelihoods(*NETWORK, *given)
        assert status == 0
        for doc_id in document:
            expected = alpha * ln(query[doc_id]) + (1 - alpha) * document[doc_id]
            assert scores["q1", doc_id] == pytest.approx(expected, abs=1e-5)
        # A document without a kept piece has the smallest likelihood; a query without one scores 0.
        assert scores["q1", "c"] == pytest.approx(alpha * ln(-8.0) + (1 - alpha) * ln(-8.0), abs=1e-5)
        assert {scores["q2", doc_id] for doc_id in "abcde"} == {0.0}


@pytest.mark.parametrize(
    ("options", "folder", "status", "said"),
    [
        (NETWORK[:2], "i.tw", 2, "--documents"),
        (NETWORK, "ml.tw", 2, "needs a TILDE index"),
        ((*NETWORK[:3], "i.tw"), "i.tw", 2, "exact term frequencies"),
        ((*NETWORK[:3], "words.tw"), "i.tw", 3, "different vocabularies"),
        (("--query-encoder", "nowhere", *NETWORK[2:]), "i.tw", 3, "no such encoder"),
        ((*NETWORK, "--alpha", "1.5"), "i.tw", 2, "--alpha"),
        ((*NETWORK, "--alpha", "nan"), "i.tw", 2, "alpha"),
        (("--alpha", "0.5"), "i.tw", 2, "--alpha does not apply without --query-encoder"),
        ((*NETWORK, "--table", "model1"), "i.tw", 2, "--table does not apply with --query-encoder"),
        ((*NETWORK, "--scorer", "s"), "i.tw", 2, "--query-encoder, --documents do not apply with --scorer"),
    ],
)
def test_likelihoods_that_cannot_be_computed(likelihoods, options, folder, status, said):
    if "words.tw" in options:
        assert index("--float", model="ml", out="words.tw") == 0
    found, _, errors = likelihoods(*options, folder=folder)
    assert found == status
    assert said in errors


@pytest.mark.parametrize("verb", ["index", "encode"])
def test_an_interrupted_run_resumes(place, capsys, monkeypatch, verb):
    encode = TildeDocumentEncoder.encode_documents
    calls = []

    def interrupted(self, texts, **options):
        calls.append(texts)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(self, texts, **options)

    monkeypatch.setattr(TildeDocumentEncoder, "encode_documents", interrupted)
    output, work = (["--out", "i.tw"], "i.tw.encoding") if verb == "index" else (["--encoding", "w"], "w")
    arguments = [verb, "docs.jsonl", "--model", "encoder", "--threads", "1", *output]
    assert run(arguments) == 130
    said = capsys.readouterr().err
    assert f"interrupted: finished blocks are kept in {work}; the same command resumes from them" in said
    assert run(arguments) == 0
    assert (
        f"resuming: texts of 2 finished blocks in {work} are not encoded again\n" in capsys.readouterr().err
    )
    assert calls[3:] == [["list"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["index", "docs.jsonl", "--model", "bm25", "--out", "n", "--encoding", "rows"], "encoding"),
        (["index", "docs.jsonl", "--model", "bm25", "--out", "n", "--precision", "int8"], "precision"),
        (["index", "docs.jsonl", "--model", "bm25", "--out", "n", "--provider", "cuda"], "providers"),
        (
            ["index", "docs.jsonl", "--out", "n", "--model", "encoder", "--precision", "int4"],
            "--precision int8",
        ),
        (["index", "docs.jsonl", "--out", "n", "--model", "encoder", "--provider", "gpu"], "provider"),
        (["index", "docs.jsonl", "--out", "n", "--model", "encoder", "--analyzer", "english"], "analyzer"),
        (["index", "docs.jsonl", "--out", "n", "--model", "encoder", "--set", "form=tight"], "compact"),
        (["index", "docs.jsonl", "--out", "n", "--model", "encoder", "--set", "encoder=x"], "twice"),
        (["encode", "docs.jsonl", "--model", "bm25", "--encoding", "n"], "termwise index COLLECTION"),
        (["encode", "docs.jsonl", "--model", "encoder", "--encoding", "n", "--shard", "3/2"], "1/4"),
        (["encode", "docs.jsonl", "--model", "encoder", "--encoding", "n", "--shard", "half"], "1/4"),
        (["encode", "docs.jsonl", "--model", "encoder", "--encoding", "."], "do not belong to an encoding"),
        (["encode", "docs.jsonl", "--model", "encoder"], "--encoding"),
    ],
)
def test_wrong_usage(place, capsys, arguments, said):
    assert run(arguments) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert said in streams.err
    assert not (place / "n").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["index", "docs.jsonl", "--out", "n", "--model", "./nowhere"], "no such folder"),
        (["index", "docs.jsonl", "--out", "n", "--model", "."], "encoder.json"),
        (
            [
                "index",
                "docs.jsonl",
                "--out",
                "n",
                "--model",
                "tildev2",
                "--set",
                "encoder=encoder",
                "--set",
                "expansion_encoder=none",
            ],
            "kind tildev2",
        ),
        (["encode", "nowhere.jsonl", "--model", "encoder", "--encoding", "n"], "nowhere.jsonl"),
    ],
)
def test_bad_data(place, capsys, arguments, said):
    assert run(arguments) == 3
    streams = capsys.readouterr()
    assert streams.out == ""
    assert said in streams.err
    assert not (place / "n").exists()


def test_a_network_that_was_changed_is_found(place, capsys):
    path = place / "encoder" / "model.onnx"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert index("--precision", "float32") == 3
    assert "model.onnx" in capsys.readouterr().err
    assert not (place / "i.tw").exists()
    assert not (place / "i.tw.encoding").exists()
