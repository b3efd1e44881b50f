"""Tests that the service compiles its kernels when it starts, and that no request compiles another one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import gc, sys
import termwise
from numba.core.dispatcher import Dispatcher
from termwise.serve.warm_up import use_kernels
from tests.unit.serve.conftest import served

def compiled():
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {(each.__qualname__, str(types)) for each in kernels for types in each.signatures}

with served([sys.argv[1]]) as client:
    use_kernels()
    known = compiled()
    shop = "/v1/indexes/shop"
    requests = [
        {"query": "green tea", "must": ["tea", "green tea"], "must_not": ["rice"]},
        {"query": "tea", "filter": "price < 6", "facets": ["kind"], "total": True},
        {"query": "tea", "filter": 'kind = "green"', "sort": "price", "collapse": "kind"},
        {"like": "pot", "explain": True, "highlight": True, "text": True},
        {"query": "gren te", "fuzzy": True, "prefix": True, "exclude": ["pot"]},
        {"query": "tea", "candidates": ["pot"]},
    ]
    for _ in range(2):
        for request in requests:
            assert client.post(f"{shop}/search", json=request).status_code == 200
        assert client.get(f"{shop}/suggest", params={"text": "gre"}).status_code == 200
        assert client.put(f"{shop}/documents/new", json={"text": "white tea", "price": 3}).status_code < 300
        assert client.delete(f"{shop}/documents/assam").status_code in (200, 404)
    print(sorted(compiled() - known))
"""


def test_no_request_compiles_a_kernel(shop: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, shop], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stdout + done.stderr
