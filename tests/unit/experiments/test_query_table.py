"""Variants of the query table with toy data."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from termwise.text import Vocabulary
from termwise.vectors import TermVectors

pytest.importorskip("torch")


@pytest.fixture
def encoder(tiny, pieces, tmp_path):
    """Return the folder of an encoder with a dimension for each word."""
    from termwise.train import LookupSettings

    table = np.eye(len(pieces), dtype=np.float32) + np.float32(0.01)
    made = tiny.make_folder(
        tmp_path / "lookup", "lookup", table,
        term_vectors=TermVectors.of(table, Vocabulary(pieces).id), pieces=pieces, positions=32,
        trained={
            "settings": asdict(LookupSettings(length=12, held_out=0.0)),
            "fitted": 9, "cosine": None, "terms": 9, "pooling": "mean",
        },
    )  # fmt: skip
    return str(made)


def test_variants_are_compared_with_the_shipped_table(collections, encoder, pieces, tmp_path):
    import query_table

    words = [piece for piece in pieces if piece.isalpha()]
    texts = tmp_path / "made"
    vectors = texts / "lookup" / "training" / "vectors"
    vectors.mkdir(parents=True)
    lines = [json.dumps({"text": word}) for word in words]
    (texts / "texts.jsonl").write_text("\n".join(lines))
    rows = np.eye(len(pieces), dtype=np.float16)[[pieces.index(word) for word in words]]
    np.save(vectors / "0000.npy", rows[:2])
    np.save(vectors / "0001.npy", rows[2:])
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "query_table"\ntitle = "Variants"\nmeasure = "nDCG@10"\ndepth = 20\nweights = [0.3, 0.7]\n'
        '[collections]\ncats = "dev"\n[variants."two texts"]\nshare = 0.5\n[variants."not centred"]\ncentred = false\n'
    )
    query_table.main(
        [
            f"--plan={plan}", f"--work={tmp_path / 'work'}", f"--encoder={encoder}", f"--texts={texts}",
            f"--collections={collections}", f"--out={tmp_path / 'out'}", "--threads=1",
        ]
    )  # fmt: skip
    result = json.loads((tmp_path / "out" / "query_table.json").read_text())
    facts = result["variants"]
    assert facts["two texts"]["texts"] == 2
    assert facts["as shipped"]["texts"] == facts["not centred"]["texts"] == len(words)
    means = {name: system["mean"] for name, system in result["macro"]["systems"].items()}
    assert means["as shipped, alone"] >= means["two texts, alone"]
    assert "| not centred |" in (tmp_path / "out" / "query_table.md").read_text()


def test_document_encoders_are_compared_with_the_first(collections, encoder, tmp_path):
    import lookup_teachers

    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "lookup_teachers"\ntitle = "Encoders"\nmeasure = "nDCG@10"\ndepth = 20\nweights = [0.3, 0.7]\n'
        'length = 12\n[collections]\ncats = "dev"\n'
    )
    lookup_teachers.main(
        [
            f"--plan={plan}", f"--work={tmp_path / 'work'}", f"--encoder=one={encoder}", f"--encoder=two={encoder}",
            f"--collections={collections}", f"--out={tmp_path / 'out'}", "--threads=1",
        ]
    )  # fmt: skip
    result = json.loads((tmp_path / "out" / "lookup_teachers.json").read_text())
    assert result["means"]["cats"]["one, alone"] == result["means"]["cats"]["two, alone"] > 0
    assert [one["difference"] for one in result["macro"]["contrasts"]] == [0, 0]
    assert "| two, with BM25 |" in (tmp_path / "out" / "lookup_teachers.md").read_text()
