"""Bytes and quality of the forms of lookup with toy data."""

from __future__ import annotations


def test_forms_of_lookup(experiment, lookup_encoder, tmp_path):
    import lookup_forms

    result = experiment(
        lookup_forms.main,
        'name = "lookup_forms"\ntitle = "Forms"\nmeasure = "nDCG@10"\ndepth = 20\nalpha = 0.3\nkeep = [1, 32]\n'
        '[collections]\ncats = "dev"\ndogs = "dev"\n',
        f"--encoder={lookup_encoder()}",
    )
    vectors, one, all_terms = result["macro"]
    assert one["bytes a document"] < all_terms["bytes a document"]
    assert [row["form"] for row in (vectors, one, all_terms)] == ["vectors", "1 weights", "32 weights"]
    assert vectors["alone"] > max(one["alone"], all_terms["alone"])
    assert len(result["collections"]["dogs"]["terms"]) == 2
    assert "## cats" in (tmp_path / "out" / "lookup_forms.md").read_text()
    assert (tmp_path / "out" / "lookup_forms.svg").is_file()
