"""Agreement of the query kit, on a few texts."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

from termwise.errors import CheckFailedError

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node: install Node 20 or later")


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.jsonl.gz"
    record = {
        "_id": "Not a sentence.",
        "text": "A naïve sentence. Is it one?\nYes!",
        "more": ["Yes!", "東京"],
    }
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    return path


def test_distinct_sentences_of_all_files(texts):
    import kit_agreement

    found = list(kit_agreement.sentences([texts]))
    assert [found.count(each) for each in ("A naïve sentence.", "Is it one?", "Yes!", "東京")] == [1] * 4
    assert "Not a sentence." not in found
    assert found.index("東京") < 10


@needs_node
def test_a_difference_is_reported(texts, tmp_path, monkeypatch):
    import kit_agreement

    options = [f"--texts={texts}", "--sentences=8", "--only=english", f"--out={tmp_path}"]
    kit_agreement.main(options)
    result = json.loads((tmp_path / "kit_agreement_partial.json").read_text())
    assert result["rows"][0]["sentences"] == 8
    assert result["rows"][0]["sentences that differ"] == {"Python": 0, "JavaScript": 0}

    class Wrong:
        def tokens(self, text):
            return ["wrong"]

    monkeypatch.setattr(kit_agreement, "analyzer_of", lambda description: Wrong())
    with pytest.raises(CheckFailedError) as caught:
        kit_agreement.main(options)
    assert caught.value.facts == (("english, Python", "8 sentences"),)
    result = json.loads((tmp_path / "kit_agreement_partial.json").read_text())
    assert result["rows"][0]["sentences that differ"] == {"Python": 8, "JavaScript": 0}
