"""Bytes and quality of the forms of lookup with toy data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from termwise.text import Vocabulary
from termwise.vectors import TermVectors


@pytest.fixture
def encoder(tiny, pieces, tmp_path):
    """Return the folder of an encoder with a dimension for each word, whose rows are those of the documents."""
    table = np.eye(len(pieces), dtype=np.float32) + np.float32(0.01)
    vectors = TermVectors.of(table, Vocabulary(pieces).id)
    made = tiny.make_folder(
        tmp_path / "lookup", "lookup", table, term_vectors=vectors, pieces=pieces, positions=32
    )
    return str(made)


def test_forms_of_lookup(collections, encoder, tmp_path):
    import lookup_forms

    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "lookup_forms"\ntitle = "Forms"\nmeasure = "nDCG@10"\ndepth = 20\nalpha = 0.3\nkeep = [1, 32]\n'
        '[collections]\ncats = "dev"\ndogs = "dev"\n'
    )
    lookup_forms.main(
        [
            f"--plan={plan}", f"--work={tmp_path / 'work'}", f"--encoder={encoder}",
            f"--collections={collections}", f"--out={tmp_path / 'out'}", "--threads=1",
        ]
    )  # fmt: skip
    result = json.loads((tmp_path / "out" / "lookup_forms.json").read_text())
    vectors, one, all_terms = result["macro"]
    assert one["bytes a document"] < all_terms["bytes a document"]
    assert [row["form"] for row in (vectors, one, all_terms)] == ["vectors", "1 weights", "32 weights"]
    assert vectors["alone"] > max(one["alone"], all_terms["alone"])
    assert len(result["collections"]["dogs"]["terms"]) == 2
    assert "## cats" in (tmp_path / "out" / "lookup_forms.md").read_text()
    assert (tmp_path / "out" / "lookup_forms.svg").is_file()
