"""Encoder that records the texts it encodes, and documents for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from termwise.encode import encoded_blocks
from termwise.encode.document_encoder import Advance, no_advance
from termwise.records import Document
from termwise.text import Analyzer, Vocabulary, make_analyzer
from termwise.weights import TermWeights

DOCUMENTS = [Document(f"d{number}", "ab" * number) for number in range(8)]


class Counting:
    """Encodes a text as its length and a constant, and records the texts in `seen`."""

    vocabulary = Vocabulary(["length", "first"])
    analyzer: Analyzer = make_analyzer("whitespace")
    query_weights = None
    floors = None
    gives_log_likelihoods = False
    idf_power = 0.0
    only_text_terms = False
    term_vectors = None
    block = 3

    def __init__(self, fingerprint: str = "sha256:a") -> None:
        self.fingerprint = fingerprint
        self.seen: list[str] = []
        self.fail_at: str | None = None

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "toy", "network": {"precision": "int8"}, "settings": {"keep": 2}}

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        rows = []
        for number, text in enumerate(texts):
            if text == self.fail_at:
                raise KeyboardInterrupt
            self.seen.append(text)
            rows.append({0: float(len(text)), 1: 0.1} if text else {})
            advance((number + 1) / len(texts))
        return TermWeights.from_rows(rows, self.vocabulary.id)


def read(folder: Path, encoder: Counting, **options: Any) -> list[tuple[list[Document], TermWeights]]:
    return list(encoded_blocks(options.pop("documents", DOCUMENTS), encoder, folder, **options))


def texts(*numbers: int) -> list[str]:
    return [DOCUMENTS[number].text for number in numbers]


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


def path_of(folder: Path, *texts: str) -> Path:
    """Return the file of a block of these texts."""
    name = hashlib.sha256(b"".join(map(digest, texts))).hexdigest()[:16]
    return folder / f"block-{name}.rows"
