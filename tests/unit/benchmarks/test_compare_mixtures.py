"""The benchmark of the three mixtures, with a few documents and a dense encoder of a few thousand weights."""

from __future__ import annotations

import json

import pytest

TEXTS = (
    "merge two sorted lists",
    "a heap is a tree in a list",
    "read a file byte by byte",
    "the flow of heat over a plate",
    "lock a thread",
)
CONTESTANTS = ("bm25s", "bm25", "instant", "best", "best-large", "dense", "dense + bm25s")


@pytest.fixture
def collection(tmp_path):
    """Return the folder of a collection; the third query has only stop words."""
    folder = tmp_path / "toy"
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": f"d{place}", "title": "", "text": text} for place, text in enumerate(TEXTS)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    queries = ["merge lists", "heat", "the"]
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": f"q{place}", "text": text}) + "\n" for place, text in enumerate(queries))
    )
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq0\td0\t1\nq1\td3\t1\nq2\td4\t1\n"
    )
    return folder


@pytest.fixture
def dense(tmp_path):
    """Save a small encoder with sentence-transformers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    library = pytest.importorskip("sentence_transformers")
    from tests.unit.train.conftest import configuration, save

    torch.manual_seed(7)
    base = save(transformers.BertModel(configuration(initializer_range=0.3)), tmp_path / "base")
    library.SentenceTransformer(str(base), device="cpu").save(str(tmp_path / "dense"))
    return tmp_path / "dense"


@pytest.fixture
def threads():
    """Restore the number of threads of torch."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
def test_the_result_is_a_line_and_a_figure(collection, dense, tmp_path, monkeypatch):
    pytest.importorskip("bm25s")
    pytest.importorskip("Stemmer")
    import compare_mixtures

    monkeypatch.setattr(compare_mixtures, "THREADS", 1)
    folders = ["--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
    data = ["--collection", str(collection), "--dense", str(dense)]
    compare_mixtures.main([*folders, *data, "--rounds", "1", "--read", "3", "--queries", "2"])
    (line,) = (tmp_path / "out" / "mixtures.jsonl").read_text().splitlines()
    report = json.loads(line)
    assert (report["collection"], report["documents"]) == ("toy", len(TEXTS))
    assert report["words of a document"] == pytest.approx(
        sum(len(text.split()) for text in TEXTS) / len(TEXTS)
    )
    # The speed of the fusion follows from those of its parts.
    assert list(report["documents a second"]) == list(CONTESTANTS[:-1])
    for rates in report["documents a second"].values():
        assert 0 < rates["least"] == rates["median"] == rates["most"]
    assert set(report["nDCG@10"]) == set(report["queries"]) == set(CONTESTANTS)
    for name in ("bm25s", "bm25", "instant", "best", "best-large"):
        assert report["nDCG@10"][name] >= 2 / 3 - 1e-9, name  # both queries with words find their document
    assert report["queries"]["bm25s"]["ms"]["p50"] > 0
    assert "ours / theirs" not in report["queries"]["best"]
    bytes_of = report["bytes of a document"]
    assert 0 < bytes_of["bm25"] < bytes_of["instant"]
    assert bytes_of["best"] < bytes_of["best-large"]

    ratios = {"bm25": 1.0, "instant": 1.1, "best": 1.2, "best-large": 1.25, "dense": 1.15, "dense+bm25": 1.22}
    results = tmp_path / "results"
    results.mkdir()
    systems = {name: {"ratio": {"ratio": ratio}} for name, ratio in ratios.items()}
    (results / "zero_shot.jsonl").write_text(
        f"an older line\n{json.dumps({'macro': {'systems': systems}})}\n"
    )
    monkeypatch.setattr(compare_mixtures, "EXPERIMENTS", results)
    compare_mixtures.main([*folders, "--figure", str(tmp_path / "mixtures.svg")])
    drawn = (tmp_path / "mixtures.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg ")
    for name in CONTESTANTS:
        assert f">{name}, {report['queries'][name]['ms']['p50']:.2g} ms</text>" in drawn
    assert (
        len((tmp_path / "out" / "mixtures.jsonl").read_text().splitlines()) == 1
    )  # nothing was measured again


def test_measuring_needs_a_collection_and_a_dense_encoder(tmp_path, capsys):
    import compare_mixtures

    for given in ([], ["--collection", str(tmp_path)], ["--dense", str(tmp_path)]):
        with pytest.raises(SystemExit):
            compare_mixtures.main(["--work", str(tmp_path / "work"), *given])
        assert "measuring needs --collection and --dense" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


def test_rankings_are_fused_by_reciprocal_ranks():
    import compare_mixtures

    asked = []

    def one(query, k):
        asked.append((query, k))
        return ["a", "b"]

    search = compare_mixtures.fused(one, lambda query, k: ["c", "b", "a"])
    # a: 1/61 + 1/63, b: 1/62 + 1/62, c: 1/61
    assert search("any", 10) == ["a", "b", "c"]
    assert search("any", 1) == ["a"]
    assert asked == [("any", 100)] * 2


def test_a_figure_has_only_the_measured_systems():
    import compare_mixtures

    rate, times = {"median": 100.0, "least": 90.0, "most": 110.0}, {"ms": {"p50": 1.5}}
    report = {
        "documents a second": {"bm25s": rate, "dense": {**rate, "median": 50.0}},
        "queries": {"bm25s": times, "dense": times, "dense + bm25s": times},
        "words of a document": 20.4,
    }
    systems = {name: {"ratio": {"ratio": 1.0}} for name in ("bm25", "dense+bm25", "best")}
    drawn = compare_mixtures.figure(report, {"macro": {"systems": systems}})
    assert ">bm25s, 1.5 ms</text>" in drawn
    assert ">dense + bm25s, 1.5 ms</text>" in drawn
    assert ">dense, " not in drawn
    assert ">best, " not in drawn
    assert ">33</text>" in drawn  # a document takes 1/100 s and 1/50 s: 33.3 a second, rounded
    assert "documents a second, of 20 words" in drawn
