"""Both programs of the query kit give the weights and vectors of termwise."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit_programs import JavaScriptKit

import termwise
from termwise import Document, build_index
from termwise.engine.query_encoder import ExplicitWeights
from termwise.engine.query_vector import query_vector
from termwise.errors import ParameterError
from termwise.export.kit.query_kit import QueryKit
from termwise.export.linear_form import LinearForm
from termwise.export.query_kit import NAME, PROGRAMS, write_query_kit
from termwise.export.source import ExportSource
from termwise.index import IndexWriter
from termwise.index.encoder_description import encoder_description
from termwise.models import VectorModel
from termwise.search import Searcher
from termwise.text import make_analyzer
from termwise.weights import TermWeights

TEXTS = [
    "Green tea and black tea, from leaves of the same shrub.",
    "Coffee is made from roasted beans; tea is not.",
    "Sorting merges sorted lists of numbers.",
    "The sea rises and falls twice a day: tides.",
    "__proto__ constructor toString 2024 naïve 東京",
    "A list of teas: green, black, white, yellow and fermented.",
]
QUERIES = [
    "green tea",
    "tea tea tea and the coffee",
    "sorted lists, sorting numbers 2024 2024",
    "__proto__ constructor toString",
    "naïve 東京 tides",
    "nothing known here: xylophone quux",
    "",
    " ".join(["tea"] * 5000 + ["coffee"] * 3 + ["tides"]),
]


def documents(texts: list[str] = TEXTS, first: int = 0) -> list[Document]:
    return [Document(f"d{first + number}", text) for number, text in enumerate(texts)]


@pytest.fixture(scope="module")
def javascript() -> Iterator[JavaScriptKit]:
    with JavaScriptKit() as kit:
        yield kit


def check_equal(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Check whole numbers and names for equality, and the products of floating-point numbers to the last bits."""
    assert found["constant"] == pytest.approx(expected["constant"], rel=1e-12, abs=1e-300)
    for one, other in zip(found["parts"], expected["parts"], strict=True):
        assert set(one) == set(other)
        for key, value in other.items():
            if key in ("coefficient", "constant"):
                assert one[key] == pytest.approx(value, rel=1e-12, abs=1e-300)
            else:
                assert one[key] == value


def check_kit(
    searcher: Searcher,
    folder: Path,
    javascript: JavaScriptKit | None = None,
    scales: Mapping[str, float] | None = None,
    queries: list[str] = QUERIES,
) -> QueryKit:
    """Write the kit of a searcher, and compare the queries of both programs with those of termwise."""
    write_query_kit(searcher, folder, scales=scales)
    kit = QueryKit(folder)
    form = LinearForm(ExportSource(searcher, scales=scales))
    for text in queries:
        expected = form.query(text)
        check_equal(kit.query(text), expected)
        assert kit.tokens(text) == {
            part.name: part.backend.encoder.analyzer.tokens(text) for part in searcher.parts
        }
    if javascript is not None:
        javascript.open(folder)
        for text in queries:
            check_equal(javascript.query(text), form.query(text))
            assert javascript.kit_tokens(text) == kit.tokens(text)
    return kit


def test_weights_of_a_small_index(tmp_path: Path) -> None:
    texts = ["green tea", "black tea tea"]
    searcher = build_index(documents(texts), tmp_path / "i", model="bm25", analyzer="whitespace")
    write_query_kit(searcher, tmp_path / "kit")
    found = QueryKit(tmp_path / "kit").query("tea green tea unknown")
    numbers = {term: searcher.index.vocabulary.number(term) for term in ("green", "tea")}
    unit = searcher.index.manifest.quantiser.scale
    assert found == {
        "parts": [
            {
                "name": "bm25",
                "kind": "sparse",
                "coefficient": unit,
                "constant": 0.0,
                "terms": {"green": 1, "tea": 2},
                "numbers": {str(numbers["green"]): 1, str(numbers["tea"]): 2},
                "background": 0,
            }
        ],
        "constant": 0.0,
    }
    impacts = dict(zip(*map(np.ndarray.tolist, searcher.index.row(0)), strict=True))
    score = unit * (impacts[numbers["green"]] + 2 * impacts[numbers["tea"]])
    assert searcher.rank("tea green tea unknown").scores[0] == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("model", ["bm25", "dirichlet", "jm", "ml"])
@pytest.mark.parametrize("analyzer", ["english", "standard", "wordpiece"])
def test_models_of_counts(tmp_path: Path, javascript: JavaScriptKit, model: str, analyzer: str) -> None:
    searcher = build_index(documents(), tmp_path / "i", model=model, analyzer=analyzer)
    check_kit(searcher, tmp_path / "kit", javascript)


def test_real_numbers(tmp_path: Path, javascript: JavaScriptKit) -> None:
    options = termwise.BuildOptions(quantiser="float32")
    searcher = build_index(documents(), tmp_path / "i", model="dirichlet", options=options)
    kit = check_kit(searcher, tmp_path / "kit", javascript)
    assert kit.query("tea coffee")["parts"][0]["coefficient"] == 1.0


@pytest.mark.parametrize("model", ["bm25", "dirichlet", "jm"])
@pytest.mark.usefixtures("no_counts")
def test_a_changed_index(tmp_path: Path, javascript: JavaScriptKit, model: str) -> None:
    path = tmp_path / "i"
    build_index(documents(), path, model=model, store_text=True)
    with termwise.open_writer(path) as writer:
        writer.add(documents(["Oolong tea with milk", "a new word: zeppelin, and tides of tea"], 10))
        writer.delete(["d1", "d5"])
    searcher = termwise.open(path)
    kit = check_kit(searcher, tmp_path / "kit", javascript, queries=[*QUERIES, "zeppelin tea tea tides"])
    if model == "bm25":
        weights = kit.query("zeppelin tea tea tides")["parts"][0]["terms"]
        assert max(weights.values()) >= 2048
        assert len(set(weights.values())) > 1
    assert "zeppelin" in kit.query("zeppelins")["parts"][0]["terms"]


@pytest.mark.parametrize("weighting", ["counts", "log-counts", "occurrences"])
def test_weightings(tmp_path: Path, javascript: JavaScriptKit, weighting: Any) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"id": "a", "vector": {"kettle": 1, "lamp": 1.5}}\n{"id": "b", "vector": {"settle": 1}}\n'
    )
    model = VectorModel(query=weighting)
    searcher = build_index(rows, tmp_path / "i", model=model, analyzer="whitespace")
    check_kit(
        searcher, tmp_path / "kit", javascript, queries=["kettle kettle lamp", "settle " * 7 + "lamp", "no"]
    )


def test_weights_of_a_file(tmp_path: Path, javascript: JavaScriptKit) -> None:
    (tmp_path / "idf.json").write_text('{"kettle": 3.1, "settle": 0, "lamp": 0.0005}')
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "vector": {"kettle": 1, "lamp": 1}}\n{"id": "b", "vector": {"settle": 1}}\n')
    model = VectorModel(query="idf", idf=str(tmp_path / "idf.json"))
    searcher = build_index(rows, tmp_path / "i", model=model, analyzer="whitespace")
    kit = check_kit(
        searcher, tmp_path / "kit", javascript, queries=["kettle kettle lamp", "lamp settle", "settle"]
    )
    assert kit.query("kettle kettle lamp")["parts"][0]["terms"] == {"kettle": 3174, "lamp": 1}


@pytest.fixture(scope="module")
def with_floors(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """Return an index in the form of TILDE, with a floor for each term."""
    folder = tmp_path_factory.mktemp("floors")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "merge", "list", "##s", "!"]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    analyzer = make_analyzer(f"wordpiece-clean:{folder / 'vocab.txt'}")
    assert analyzer.vocabulary is not None
    floors = np.array([0, 0, 0, 0, 0, 0, -3.25, -4.1, -0.3, 0])
    with IndexWriter(folder / "i") as writer:
        rows = [{6: 2.5, 7: 0.1}, {7: 4.0}]
        writer.add(["a", "b"], TermWeights.from_rows(rows, analyzer.vocabulary.id))
        description = encoder_description(
            model="tilde", parameters={}, analyzer=analyzer.spec, weighting="counts", exact=False
        )
        writer.commit(
            analyzer.vocabulary, encoder=description, floors=floors, attachments=analyzer.spec.files
        )
    return termwise.open(folder / "i")


def test_floors(tmp_path: Path, javascript: JavaScriptKit, with_floors: Searcher) -> None:
    kit = check_kit(
        with_floors, tmp_path / "kit", javascript, queries=["merge the list! list lists", "quux", "[UNK]"]
    )
    found = kit.query("merge the list! list lists")
    assert found["parts"][0]["terms"] == {"merge": 1, "list": 3}
    assert found["constant"] == pytest.approx(-3.25 - 3 * 4.1)


@pytest.fixture(scope="module")
def instant(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return build_index(documents(), tmp_path_factory.mktemp("instant") / "i", model="instant")


@pytest.fixture(scope="module")
def best(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return build_index(documents(), tmp_path_factory.mktemp("best") / "i", model="best")


def test_vectors(tmp_path: Path, javascript: JavaScriptKit, instant: Searcher) -> None:
    alone = Searcher.of_index(instant.parts[1].index)
    check_kit(alone, tmp_path / "kit", javascript)
    found = QueryKit(tmp_path / "kit").query("tea tea coffee")["parts"][0]
    table = alone.index.term_vectors
    assert table is not None
    vector = np.zeros(table.dimensions)
    for term, weight in (("tea", 1 + math.log(2)), ("coffee", 1)):
        vector += weight * table.matrix()[alone.index.vocabulary.number(term)]
    assert np.array(found["vector"]) * found["coefficient"] == pytest.approx(vector, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("name", ["instant", "best"])
def test_mixtures(
    tmp_path: Path, javascript: JavaScriptKit, request: pytest.FixtureRequest, name: str
) -> None:
    mixture = request.getfixturevalue(name)
    scales = {part.name: 0.09 * (number + 1) for number, part in enumerate(mixture.parts)}
    kit = check_kit(mixture, tmp_path / "kit", javascript, scales)
    sparse, dense = kit.query("black tea")["parts"]
    part = mixture.parts[0]
    unit = part.index.manifest.quantiser.scale
    assert sparse["coefficient"] == pytest.approx(part.weight / 0.09 * unit, rel=1e-12)
    length = math.sqrt(sum(number**2 for number in dense["vector"]))
    assert dense["coefficient"] == pytest.approx(mixture.parts[1].weight / 0.18 / length, rel=1e-12)
    check_kit(mixture, tmp_path / "own", scales=None)
    manifest = json.loads((tmp_path / "own" / NAME).read_text())
    assert [part["scale"] for part in manifest["parts"]] == [part.scale for part in mixture.parts]
    unknown = kit.query("")["parts"][1]
    assert (unknown["coefficient"], set(unknown["vector"])) == (0.0, {0})


def test_parts_share_files(tmp_path: Path, best: Searcher) -> None:
    vectors = Searcher.of_index(best.parts[1].index)
    twice = Searcher.mix({"one": vectors, "two": vectors}, [1, 2])
    write_query_kit(twice, tmp_path, scales={"one": 1.0, "two": 2.0})
    manifest = json.loads((tmp_path / NAME).read_text())
    assert sorted(manifest["files"]) == ["analyzer-1.json", "rows-1.bin", "shifts-1.bin", "vocabulary-1.json"]
    first, second = QueryKit(tmp_path).query("tea")["parts"]
    assert first["vector"] == second["vector"]
    assert first["coefficient"] == pytest.approx(second["coefficient"])


def test_equal_indexes_give_equal_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        searcher = build_index(documents(), tmp_path / name / "i", model="dirichlet")
        write_query_kit(searcher, tmp_path / name / "kit")
        write_query_kit(searcher, tmp_path / name / "kit")
        contents.append({path.name: path.read_bytes() for path in (tmp_path / name / "kit").iterdir()})
    assert contents[0] == contents[1]
    manifest = json.loads(contents[0][NAME])
    assert set(contents[0]) == {NAME, *PROGRAMS, *manifest["files"]}
    for name, record in manifest["files"].items():
        assert record["sha256"] == hashlib.sha256(contents[0][name]).hexdigest()
        assert record["bytes"] == len(contents[0][name])


def test_damaged_kits(tmp_path: Path, javascript: JavaScriptKit) -> None:
    write_query_kit(build_index(documents(), tmp_path / "i"), tmp_path / "kit")
    vocabulary = tmp_path / "kit" / "vocabulary-1.json"
    whole = vocabulary.read_bytes()
    vocabulary.write_bytes(whole.replace(b"tea", b"tee"))
    with pytest.raises(ValueError, match="damaged"):
        QueryKit(tmp_path / "kit")
    with pytest.raises(RuntimeError, match=r"damaged: vocabulary-1\.json"):
        javascript.open(tmp_path / "kit")
    vocabulary.write_bytes(whole)
    manifest = json.loads((tmp_path / "kit" / NAME).read_text())
    (tmp_path / "kit" / NAME).write_text(json.dumps({**manifest, "version": 99}))
    with pytest.raises(ValueError, match="found termwise-query-kit 99"):
        QueryKit(tmp_path / "kit")
    with pytest.raises(RuntimeError, match="found termwise-query-kit 99"):
        javascript.open(tmp_path / "kit")
    for contents in ("{", "[]", json.dumps({**manifest, "parts": [{}]})):
        (tmp_path / "kit" / NAME).write_text(contents)
        with pytest.raises(ValueError, match=rf"damaged: .*{NAME}"):
            QueryKit(tmp_path / "kit")
        with pytest.raises(RuntimeError, match=NAME):
            javascript.open(tmp_path / "kit")
    (tmp_path / "kit" / NAME).write_text(json.dumps(manifest))
    vocabulary.unlink()
    with pytest.raises(ValueError, match=r"cannot be read: .*vocabulary-1\.json: No such file"):
        QueryKit(tmp_path / "kit")
    with pytest.raises(RuntimeError, match=r"cannot be read: vocabulary-1\.json"):
        javascript.open(tmp_path / "kit")
    for program in kit_commands(tmp_path / "kit"):
        told = subprocess.run([*program, "tea"], check=False, capture_output=True, text=True)
        assert told.returncode == 1
        assert "a file of the query kit cannot be read: " in told.stderr
        assert "vocabulary-1.json" in told.stderr
        assert told.stderr.count("\n") == 1
    with pytest.raises(ValueError, match=rf"cannot be read: .*{NAME}"):
        QueryKit(tmp_path / "none")


def test_damaged_parts(tmp_path: Path, javascript: JavaScriptKit, instant: Searcher) -> None:
    """Each value of a part is checked when the kit is opened: if it is missing, of another type, or out of range."""
    scales = {part.name: 0.7 for part in instant.parts}
    write_query_kit(instant, tmp_path, scales=scales)
    manifest = json.loads((tmp_path / NAME).read_text())
    damaged = [{**manifest, "parts": parts} for parts in ([], None, [3], {})]
    for number, part in enumerate(manifest["parts"]):
        for name in part:
            values = [[], "\0", 1e999, -1, {}] if name not in ("name", "unknown") else [[], 3]
            others = [{key: value for key, value in part.items() if key != name}]
            others += [{**part, name: value} for value in values]
            if name == "largest_shift":
                others.append({**part, name: 1 << 70})
            if name in ("terms", "dimensions"):
                others.append({**part, name: part[name] + 1})
            for other in others:
                parts = list(manifest["parts"])
                parts[number] = other
                damaged.append({**manifest, "parts": parts})
    assert len(damaged) > 100
    for other in damaged:
        (tmp_path / NAME).write_text(json.dumps(other).replace("Infinity", "1e999"))
        with pytest.raises(ValueError, match=rf"damaged: .*{NAME}"):
            QueryKit(tmp_path)
        with pytest.raises(RuntimeError, match=rf"damaged: {NAME}"):
            javascript.open(tmp_path)


def kit_commands(kit: Path) -> list[list[str]]:
    """Return the command lines of both programs."""
    node = shutil.which("node")
    assert node is not None, "the other tests of JavaScript are skipped without it"
    return [[sys.executable, "-I", "-S", str(kit / "query_kit.py")], [node, str(kit / "command.js")]]


def test_the_program_in_javascript_has_help(tmp_path: Path, javascript: JavaScriptKit) -> None:
    searcher = build_index(documents(["green tea"]), tmp_path / "index", model="bm25")
    write_query_kit(searcher, tmp_path / "kit")
    for option in ("--help", "-h"):
        shown = subprocess.run(
            [*kit_commands(tmp_path / "kit")[1], option], check=True, capture_output=True, text=True
        )
        assert "node command.js --tokens" in shown.stdout


def test_a_stemmer_of_a_package(
    tmp_path: Path, javascript: JavaScriptKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["paketen av nya listor", "ett paket"]
    swedish = build_index(documents(texts), tmp_path / "swedish", model="bm25", analyzer="swedish")
    kit = check_kit(swedish, tmp_path / "kit", queries=["paketens listorna", "nya paket"])
    assert kit.query("paketens")["parts"][0]["terms"] == {"paket": 1}
    with pytest.raises(RuntimeError, match=r"only query_kit\.py stems this language"):
        javascript.open(tmp_path / "kit")
    monkeypatch.setattr("termwise.export.kit.query_kit.metadata.version", lambda name: "3.0.1")
    with pytest.raises(ImportError, match=r"snowballstemmer 3\.1, found 3\.0\.1: pip install"):
        QueryKit(tmp_path / "kit")


def test_weights_that_are_too_large(tmp_path: Path, javascript: JavaScriptKit) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "vector": {"a": 1, "b": 200}}\n')
    (tmp_path / "idf.json").write_text('{"a": 3e12, "b": 1e12}')
    model = VectorModel(query="idf", idf=str(tmp_path / "idf.json"))
    searcher = build_index(rows, tmp_path / "i", model=model, analyzer="whitespace")
    with pytest.raises(ParameterError, match="too large"):
        query_vector(searcher.index, searcher.encode("a b"))
    write_query_kit(searcher, tmp_path / "kit")
    with pytest.raises(OverflowError, match="too large"):
        QueryKit(tmp_path / "kit").query("a b")
    javascript.open(tmp_path / "kit")
    with pytest.raises(RuntimeError, match="too large"):
        javascript.query("a b")


def test_what_cannot_be_written(tmp_path: Path, instant: Searcher) -> None:
    french = build_index(documents(), tmp_path / "french", analyzer="french")
    with pytest.raises(ParameterError, match="cannot reproduce this analyzer"):
        write_query_kit(french, tmp_path / "kit")
    assert not (tmp_path / "kit").exists()
    languages = build_index(
        [{"id": 1, "text": "tea", "lang": "en"}],
        tmp_path / "lang",
        model="bm25",
        analyzer="by-attribute:lang",
    )
    with pytest.raises(ParameterError, match="cannot reproduce this analyzer"):
        write_query_kit(languages, tmp_path / "kit")
    index = instant.parts[0].index
    encoder = ExplicitWeights.of(index, instant.analyzer, {"tea": 1.0})
    with pytest.raises(ParameterError, match="encoder of its own"):
        write_query_kit(Searcher.of_index(index, encoder), tmp_path / "kit")
    with pytest.raises(ParameterError, match="scale"):
        write_query_kit(instant, tmp_path / "kit", scales={"bm25": 0})
    with pytest.raises(ParameterError, match="scales are given for parts of a mixture"):
        write_query_kit(instant, tmp_path / "kit", scales={"other": 1.0})


@pytest.mark.parametrize("number", [0, 1], ids=["python", "javascript"])
def test_the_command_line(tmp_path: Path, number: int) -> None:
    write_query_kit(build_index(documents(), tmp_path / "i"), tmp_path / "kit")
    program = kit_commands(tmp_path / "kit")[number]

    def lines(*arguments: str, given: str = "") -> list[Any]:
        done = subprocess.run([*program, *arguments], input=given.encode(), capture_output=True, check=True)
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    kit = QueryKit(tmp_path / "kit")
    for found, text in (
        (lines("green tea"), "green tea"),
        (lines("--kit", str(tmp_path / "kit"), "coffee"), "coffee"),
    ):
        check_equal(found[0], kit.query(text))
    assert lines("--tokens", "Green teas", "tea") == [{"bm25": ["green", "tea"]}, {"bm25": ["tea"]}]
    lone = lines("--tokens", given="tea\rgreen\r\nblack\u2028tea\n\ncoffee\n")
    assert lone == [{"bm25": each} for each in (["tea", "green"], ["black", "tea"], [], ["coffe"])]
    for found, text in zip(lines(given="green tea\n\ncoffee"), ("green tea", "", "coffee"), strict=True):
        check_equal(found, kit.query(text))


def test_the_programs_are_small_and_in_the_package() -> None:
    programs = resources.files("termwise.export") / "kit"
    sizes = {name: len(programs.joinpath(name).read_bytes()) for name in PROGRAMS}
    assert sizes["analyzers.js"] < 20_000
    assert sizes["query_kit.js"] < 12_000


@settings(max_examples=60)
@given(text=st.lists(st.sampled_from([*" ".join(TEXTS).split(), "quux", "Tea's", "東京都"])).map(" ".join))
def test_any_query(shared_kits: list[tuple[LinearForm, QueryKit]], text: str) -> None:
    for form, kit in shared_kits:
        check_equal(kit.query(text), form.query(text))


@pytest.fixture(scope="module")
def shared_kits(
    tmp_path_factory: pytest.TempPathFactory, instant: Searcher
) -> list[tuple[LinearForm, QueryKit]]:
    folder = tmp_path_factory.mktemp("kits")
    made = []
    changed = folder / "changed"
    build_index(documents(), changed, model="bm25", store_text=True)
    with termwise.open_writer(changed) as writer:
        writer.delete(["d0", "d3"])
    likelihood = build_index(documents(), folder / "dirichlet", model="dirichlet")
    scales = {part.name: 0.7 for part in instant.parts}
    for number, (searcher, given_scales) in enumerate(
        [(termwise.open(changed), None), (likelihood, None), (instant, scales)]
    ):
        write_query_kit(searcher, folder / f"kit{number}", scales=given_scales)
        form = LinearForm(ExportSource(searcher, scales=given_scales))
        made.append((form, QueryKit(folder / f"kit{number}")))
    return made
