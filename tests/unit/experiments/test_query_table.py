"""Variants of the query table with toy data."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

pytest.importorskip("torch")


@pytest.fixture
def encoder(lookup_encoder):
    """Return the folder of an encoder with facts of its training."""
    from termwise.train import LookupSettings

    settings = asdict(LookupSettings(length=12, held_out=0.0))
    return lookup_encoder(
        trained={"settings": settings, "fitted": 9, "cosine": None, "terms": 9, "pooling": "mean"}
    )


def test_variants_are_compared_with_the_shipped_table(experiment, encoder, pieces, tmp_path):
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
    result = experiment(
        query_table.main,
        'name = "query_table"\ntitle = "Variants"\nmeasure = "nDCG@10"\ndepth = 20\nweights = [0.3, 0.7]\n'
        '[collections]\ncats = "dev"\n[variants."two texts"]\nshare = 0.5\n[variants."not centred"]\ncentred = false\n',
        f"--encoder={encoder}",
        f"--texts={texts}",
    )
    facts = result["variants"]
    assert facts["two texts"]["texts"] == 2
    assert facts["as shipped"]["texts"] == facts["not centred"]["texts"] == len(words)
    means = {name: system["mean"] for name, system in result["macro"]["systems"].items()}
    assert means["as shipped, alone"] >= means["two texts, alone"]
    assert "| not centred |" in (tmp_path / "out" / "query_table.md").read_text()


def test_document_encoders_are_compared_with_the_first(experiment, encoder, tmp_path):
    import lookup_teachers

    result = experiment(
        lookup_teachers.main,
        'name = "lookup_teachers"\ntitle = "Encoders"\nmeasure = "nDCG@10"\ndepth = 20\nweights = [0.3, 0.7]\n'
        'length = 12\n[collections]\ncats = "dev"\n',
        f"--encoder=one={encoder}",
        f"--encoder=two={encoder}",
    )
    assert result["means"]["cats"]["one, alone"] == result["means"]["cats"]["two, alone"] > 0
    assert [one["difference"] for one in result["macro"]["contrasts"]] == [0, 0]
    assert "| two, with BM25 |" in (tmp_path / "out" / "lookup_teachers.md").read_text()
