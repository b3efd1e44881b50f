"""Files of an index that are damaged at random, with and without new checksums, and are then used in many ways."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attack import fuzz_files
from tests.attack.services import SECONDS, environment

import termwise
from termwise.index import verify

SEED = 1


@pytest.fixture(scope="module")
def changed(built, tmp_path_factory) -> Path:
    """A copy of the small index with a second segment, added terms and deleted documents."""
    folder = Path(shutil.copytree(built, tmp_path_factory.mktemp("changed") / "docs.tw"))
    with termwise.open_writer(folder) as writer:
        writer.add([termwise.Document(f"e{n}", f"tea other{n} words{n % 3}") for n in range(30)])
        writer.commit()
        writer.delete(["d1", "d2", "e3"])
    return folder


def test_damages_are_errors_of_termwise(changed, tmp_path):
    """No damage crashes the interpreter, or raises another error than those of termwise."""
    source = Path(shutil.copytree(changed, tmp_path / "docs.tw"))
    words = [sys.executable, fuzz_files.__file__, source, SEED, 1.5 * SECONDS, 15]
    done = subprocess.run(
        list(map(str, words)), env=environment(), capture_output=True, text=True, timeout=300
    )
    last = (tmp_path / "last").read_text()
    assert done.returncode == 0, (last, done.stderr[-2000:])
    found = json.loads(done.stdout)
    assert not found["wrong"], found["wrong"][0]
    assert found["outcomes"].get("corrupt-index", 0) > 0


def test_verify_finds_each_flipped_byte(index):
    """`verify` names a damage for a flipped bit in every file, or it is an error of termwise."""
    assert not verify(index)
    for path in sorted(index.iterdir()):
        if path.name.startswith("."):
            continue
        data = path.read_bytes()
        for place in (0, len(data) // 3, len(data) - 1):
            changed = bytearray(data)
            changed[place] ^= 1
            path.write_bytes(changed)
            try:
                found = bool(verify(index))
            except termwise.TermwiseError:
                found = True
            assert found, (path.name, place)
        path.write_bytes(data)


def test_a_service_of_an_index_that_vanishes(living):
    """If the files of the index vanish or change, the service goes on, says so, and recovers with the index."""
    service, index = living
    aside = index.with_name("aside.tw")
    index.rename(aside)
    codes = {service.client.get("/v1/indexes/docs/search?query=tea").status_code for _ in range(3)}
    assert codes == {200}, "the index that was open still answers"
    assert service.client.get("/ready").status_code == 503
    assert service.client.put("/v1/indexes/docs/documents/vanished", json={"text": "x"}).status_code >= 500
    index.mkdir()
    (index / "manifest.json").write_text("{}")
    assert service.client.get("/v1/indexes/docs/search?query=tea").status_code == 200
    assert service.client.get("/ready").status_code == 503
    (index / "manifest.json").unlink()
    index.rmdir()
    aside.rename(index)
    assert service.client.get("/ready").status_code == 200
    assert (
        service.client.put("/v1/indexes/docs/documents/vanished", json={"text": "volcano"}).status_code == 201
    )
    assert (
        service.client.get("/v1/indexes/docs/search?query=volcano").json()["hits"][0]["doc_id"] == "vanished"
    )
