"""Keys: roles, damaged files of keys, forms of the header, and what is told to those without a key."""

import concurrent.futures
import json
import os
import stat
import time

import pytest
from tests.attack.services import Service

from termwise.serve.keys import KeyFile

ROLES = ("search", "write", "admin")


@pytest.fixture(scope="module")
def guarded(built, tmp_path_factory):
    """A service with keys, the path of their file, and a key for each role."""
    folder = tmp_path_factory.mktemp("guarded")
    path = folder / "keys.json"
    keys = {role: KeyFile(path).create(role=role, name=role) for role in ROLES}
    running = Service(built, "--read-only", "--keys", path, log=folder / "log").start()
    yield running, path, keys
    running.kill()
    assert not running.errors()


def status(service, key: str | None, method: str = "GET", path: str = "/v1/indexes") -> int:
    """Return the status of a request with a key."""
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return service.client.request(method, path, headers=headers).status_code


def replace(path, data: bytes) -> None:
    """Replace the file of keys in one step."""
    other = path.with_suffix(".new")
    other.write_bytes(data)
    os.replace(other, path)


def damaged_files(data: bytes) -> dict[str, bytes]:
    """Return files of keys that cannot be read."""
    records = json.loads(data)

    def with_first(**changes: object) -> bytes:
        first = {
            name: value for name, value in {**records["keys"][0], **changes}.items() if value != "left out"
        }
        return json.dumps({"keys": [first, *records["keys"][1:]]}).encode()

    return {
        "empty": b"",
        "zeros": bytes(100),
        "half": data[: len(data) // 2],
        "a list": b"[]",
        "no list of keys": b'{"keys": null}',
        "numbers": b'{"keys": [1, 2]}',
        "another encoding": data.replace(b'"search"', b'"\xff"'),
        "no role": with_first(role="left out"),
        "unknown role": with_first(role="root"),
        "empty hash": with_first(sha256=""),
        "no hash": with_first(sha256=None),
        "nested": b'{"keys":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "50 MB": data.rstrip()[:-1] + b" " * 50_000_000 + b"}",
    }


def test_known_keys_outlive_a_damaged_file(guarded):
    """While the file of keys is damaged, known keys stay valid, no other ones are, and the service is not ready."""
    service, path, keys = guarded
    data = path.read_bytes()
    try:
        for name, damaged in damaged_files(data).items():
            replace(path, damaged)
            end = time.monotonic() + 3
            while service.client.get("/ready").status_code != 503 and time.monotonic() < end:
                time.sleep(0.02)
            assert service.client.get("/ready").status_code == 503, name
            found = [status(service, key) for key in (*keys.values(), keys["search"][:-1] + "!", None)]
            assert found == [200, 200, 200, 401, 401], name
            replace(path, data)
        for make in (lambda: path.mkdir(), lambda: os.mkfifo(path), lambda: path.symlink_to("/dev/zero")):
            path.unlink()
            make()
            assert [status(service, key) for key in (keys["admin"], "tw_x", None)] == [200, 401, 401]
            path.rmdir() if path.is_dir() else path.unlink()
            replace(path, data)
    finally:
        replace(path, data)
    assert service.client.get("/ready").status_code == 200


def test_a_revoked_key_is_refused_at_once(guarded):
    """A key that was removed is refused by the next request, and keys that were added are known."""
    service, path, keys = guarded
    data = path.read_bytes()
    extra = KeyFile(path).create(role="search")
    assert status(service, extra) == 200
    replace(path, data)
    assert status(service, extra) == 401
    assert status(service, keys["search"]) == 200


def test_changes_of_the_file_at_the_same_time(tmp_path):
    """Keys that are made at the same time are all kept, and nobody else can read the file."""
    path = tmp_path / "keys.json"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: KeyFile(path).create(role="search"), range(16)))
    assert len(KeyFile(path).read()) == len(set(made)) == 16
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


SECRET_PATHS = [
    "/v1/indexes/{}",
    "/v1/indexes/{}/documents/d1",
    "/v1/indexes/{}/search?query=tea",
    "/v1/indexes/{}/suggest?text=te",
    "/{}/_search",
    "/{}/_doc/d1",
    "/{}/_mapping",
    "/indexes/{}",
]


@pytest.mark.parametrize("path", SECRET_PATHS)
def test_without_a_key_known_and_unknown_names_look_alike(guarded, path):
    """Without a key, or with an unknown one, nobody learns which indexes and documents exist."""
    service, _, _ = guarded
    for headers in ({}, {"authorization": "Bearer tw_00000000_x"}, {"authorization": "Basic !!"}):
        answers = [service.client.get(path.format(name), headers=headers) for name in ("docs", "nope")]
        assert {one.status_code for one in answers} == {401}
        assert answers[0].content.replace(b"docs", b"nope") == answers[1].content


def test_roles(guarded):
    """Each role may do what it is for, and nothing else; this service is read-only, so changes are 403 for all."""
    service, _, keys = guarded
    wanted = {
        ("GET", "/v1/indexes/docs/search?query=tea"): (401, 200, 200, 200),
        ("GET", "/metrics"): (401, 200, 200, 200),
        ("POST", "/v1/indexes/docs/verify"): (401, 403, 403, 200),
        ("DELETE", "/v1/indexes/docs/documents/d1"): (401, 403, 403, 403),
        ("DELETE", "/docs/_doc/d1"): (401, 403, 403, 403),
        ("GET", "/health"): (200, 200, 200, 200),
    }
    for (method, path), statuses in wanted.items():
        found = tuple(status(service, key, method, path) for key in (None, *keys.values()))
        assert found == statuses, (method, path)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("Bearer {}", 200),
        ("bearer {}", 200),
        ("Bearer  {} ", 200),
        ("Bearer {}x", 401),
        ("Bearer {}\xff", 401),
        ("Bearer", 401),
        ("{}", 401),
        ("Basic {}", 401),
        ("ApiKey {}", 401),
        ("Bearer " + "a" * 20_000, 401),
    ],
)
def test_forms_of_the_header(guarded, header, code):
    """A header with the exact key gives access; a malformed header, or one with another key, is answered with 401."""
    service, _, keys = guarded
    line = header.format(keys["search"]).encode("latin-1")
    data = (
        b"GET /v1/indexes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: "
        + line
        + b"\r\n\r\n"
    )
    assert int(service.raw(data).split()[1]) == code


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://localhost.evil.example"]
)
def test_other_sites_may_read_nothing(guarded, origin):
    """No answer allows a page of another site to read it."""
    service, _, keys = guarded
    headers = {"origin": origin, "authorization": f"Bearer {keys['search']}"}
    for method in ("GET", "OPTIONS", "POST"):
        answer = service.client.request(method, "/v1/indexes/docs/search?query=tea", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]
