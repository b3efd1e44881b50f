"""A small shop that is served in the same process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import termwise
from termwise.records import Document
from termwise.serve import ServiceSettings, create_app

TEAS = [
    Document(
        "sencha", "green tea from Uji, grassy and fresh", {"price": 12, "kind": "green", "tags": ("loose",)}
    ),
    Document("assam", "black tea from India, strong and malty", {"price": 7, "kind": "black"}),
    Document("genmaicha", "green tea with roasted rice", {"price": 9, "kind": "green"}),
    Document("pot", "a pot for tea, of clay", {"price": 40, "kind": "ware"}),
    Document("mint/fresh", "peppermint leaves & <b>nothing</b> else", {"price": 5, "kind": "herb"}),
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop.tw"
    termwise.build_index(TEAS, folder, store_text=True)
    return folder


@pytest.fixture
def client(shop: Path) -> Iterator[TestClient]:
    with served([str(shop)]) as client:
        yield client


def served(folders: list[str], settings: ServiceSettings | None = None) -> TestClient:
    """Return a client of a service in this process."""
    app = create_app(folders, settings or ServiceSettings(threads=2))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
