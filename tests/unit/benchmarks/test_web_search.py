"""The benchmark of search boxes: the part of a collection that it takes, and its server."""

from __future__ import annotations

import gzip
import json
import time
import urllib.request
from pathlib import Path


def test_judged_documents_and_the_first_others_are_taken(tmp_path: Path) -> None:
    from web_search import judged_part

    rows = [{"_id": f"d{number}", "title": "", "text": "text"} for number in range(10)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"_id": "q1", "text": "one"}, {"_id": "q2", "text": "two"}, {"_id": "q3", "text": "three"}]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td8\t1\nq1\td9\t1\n")
    documents, found = judged_part(tmp_path, 4, 1)
    assert [row["_id"] for row in documents] == ["d0", "d1", "d8", "d9"]
    assert found == {"q2": "two"}


def test_the_server_compresses_scripts_and_counts_what_it_sends(tmp_path: Path) -> None:
    from web_search import Server

    (tmp_path / "a.js").write_text("let a = 1;\n" * 100)
    (tmp_path / "b.bin").write_bytes(b"x" * 500)
    server = Server(tmp_path, 0.0)
    try:
        base = server.address.removesuffix("index.html")
        with urllib.request.urlopen(f"{base}a.js") as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            data = answer.read()
        assert gzip.decompress(data) == (tmp_path / "a.js").read_bytes()
        with urllib.request.urlopen(f"{base}b.bin") as answer:
            assert answer.headers["Content-Encoding"] is None
            assert answer.read() == b"x" * 500
        for _ in range(100):  # the server counts after it has answered
            if server.requests == 2:
                break
            time.sleep(0.02)
        assert (server.bytes, server.requests) == (len(data) + 500, 2)
    finally:
        server.close()
