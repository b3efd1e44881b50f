"""Fixtures of the attacks: a small index that is built once, and services of it."""

import json
import random
import shutil
from pathlib import Path

import pytest
from tests.attack.services import SCHEMA, Service, make_document

import termwise
from termwise import Document
from termwise.attributes import Schema


@pytest.fixture(scope="session")
def records() -> list[dict]:
    """The documents of the small index."""
    rng = random.Random(5)
    return [make_document(rng, f"d{number}") for number in range(300)]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, records: list[dict]) -> Path:
    """The folder of the small index, which no test changes."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "docs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    out = folder / "docs.tw"
    termwise.build_index(
        folder / "docs.jsonl", out, attributes=Schema.read(folder / "schema.json"), store_text=True
    )
    return out


@pytest.fixture
def index(built: Path, tmp_path: Path) -> Path:
    """A copy of the small index, which a test may change."""
    return Path(shutil.copytree(built, tmp_path / "docs.tw"))


@pytest.fixture(scope="session")
def languages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index with an analyzer for each language, which no test changes."""
    texts = {"de": "Jacken und Tee", "en": "jackets and tea", "fr": "vestes et thé"}
    documents = [Document(f"{lang}{n}", text, {"lang": lang}) for n, (lang, text) in enumerate(texts.items())]
    out = tmp_path_factory.mktemp("languages") / "languages.tw"
    termwise.build_index(documents, out, analyzer="by-attribute:lang", store_text=True)
    return out


@pytest.fixture(scope="session")
def started(built: Path, languages: Path, tmp_path_factory: pytest.TempPathFactory):
    """Two services that start at the same time: one that nobody changes, and one of a copy of the index."""
    folder = tmp_path_factory.mktemp("services")
    copy = Path(shutil.copytree(built, folder / "docs.tw"))
    options = ("--read-only", "--mcp", "http", "--timeout", "60")
    still = Service(built, f"languages={languages}", *options, log=folder / "still.log").launch()
    living = Service(copy, "--timeout", "60", log=folder / "living.log").launch()
    yield still, living, copy
    for one in (still, living):
        one.kill()
    assert not still.errors()
    assert not living.errors()


@pytest.fixture(scope="session")
def service(started: tuple) -> Service:
    """A running service of the small index without keys, for tests that do not change documents."""
    return started[0].wait()


@pytest.fixture
def living(started: tuple) -> tuple[Service, Path]:
    """A running service of a copy of the index that tests change, and its folder."""
    return started[1].wait(), started[2]


@pytest.fixture
def new_service(index: Path, tmp_path: Path):
    """A function that makes a service of the copy of the index, which is ended after the test."""
    made: list[Service] = []

    def make(*arguments: object, before_start=None) -> Service:
        made.append(Service(index, *arguments, log=tmp_path / f"log{len(made)}", before_start=before_start))
        return made[-1]

    yield make
    for one in made:
        one.kill()
    assert not any(one.errors() for one in made)
