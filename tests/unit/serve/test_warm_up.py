"""Tests that a service compiles what it needs when it starts, and that no request loads modules or compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REQUESTS = """
    shop = "/v1/indexes/shop"
    requests = [
        {"query": "green tea", "must": ["tea", "green tea"], "must_not": ["rice"]},
        {"query": "tea", "filter": "price < 6", "facets": ["kind"], "total": True},
        {"query": "tea", "filter": 'kind = "green"', "sort": "price", "collapse": "kind"},
        {"like": "pot", "explain": True, "highlight": True, "text": True},
        {"query": "gren te", "fuzzy": True, "prefix": True, "exclude": ["pot"]},
        {"query": "tea", "candidates": ["pot"]},
    ]
    for request in requests:
        assert client.post(f"{shop}/search", json=request).status_code == 200
    assert client.get(f"{shop}/suggest", params={"text": "gre"}).status_code == 200
    assert client.put(f"{shop}/documents/new", json={"text": "white tea", "price": 3}).status_code < 300
    assert client.delete(f"{shop}/documents/assam").status_code in (200, 404)
"""

PROGRAM = f"""
import sys
from termwise.kernels import jit
from termwise.serve.warm_up import use_modules
from tests.unit.serve.conftest import served

with served([sys.argv[1]]) as client:
    use_modules()
    known = set(sys.modules)
{REQUESTS}
    print(jit.compiled_names, sorted(each for each in set(sys.modules) - known if each.startswith("termwise")))
"""


def test_no_request_compiles_a_kernel_or_imports_a_module(shop: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, shop], capture_output=True, text=True, check=False)
    assert done.stdout == "[] []\n", done.stdout + done.stderr


EMPTY = """
import logging, sys
from pathlib import Path
from unittest import mock

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
from termwise.kernels import code_cache, jit
code_cache.places = lambda: iter([Path(sys.argv[2])])

def compiled(names):
    for name in names:
        code_cache.write_code(name, {"": None})
    print(f"{len(names)} numerical functions")

with mock.patch("termwise.serve.warm_up.compile_kernels", compiled):
    from termwise.serve.warm_up import compile_served
    compile_served()
    compile_served()
"""


NO_PLACE = """
import logging, sys
from unittest import mock

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
from termwise.kernels import code_cache
code_cache.places = lambda: iter([])

with mock.patch("termwise.serve.warm_up.compile_kernels", lambda names: print("compiled in vain")):
    from termwise.serve.warm_up import compile_served
    compile_served()
"""


def test_a_service_without_a_folder_for_code_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", NO_PLACE], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("no folder can keep compiled code")
    assert "in vain" not in done.stdout


def test_a_service_compiles_once_and_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-c", EMPTY, "", str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    first, number, last = done.stdout.splitlines()
    assert first.startswith(f"compiling {number} for this machine")
    assert last == f"compiled {number} in 0 s"
