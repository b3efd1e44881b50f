"""Vespa: documents with weighted sets and tensors, ranked by the profile ``linear``. No library is needed.

LOCATION is the address of a container, by default http://localhost:8080. Before ``client.py load``, deploy the
application data/application.

The command-line tool of Vespa feeds faster than ``client.py load``:

    vespa deploy data/application
    cat data/feed-*.jsonl | vespa feed -

The operator ``dotProduct`` finds all documents with a term of the query; ``wand``, which skips documents, is used where
the sum of one part is the score. Tensors of 64 bits give the scores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from linear_sql import best_documents

ADDRESS = "http://localhost:8080"
TIES = 100
"""Documents that wand finds beyond the number of results, for equal scores."""

Say = Callable[[str], None]


class Engine:
    """Application of an export."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder = folder
        self.description: Mapping[str, Any] = json.loads((folder / "export.json").read_bytes())
        self.location = (location or ADDRESS).rstrip("/")
        self.schema: str = self.description["settings"]["schema"]

    def load(self, say: Say) -> None:
        """Feed all documents, one after the other; a second time, nothing changes."""
        for file in sorted((self.folder / "data").glob("feed-*.jsonl")):
            self._feed(file)
            say(f"loaded {file.name}")
        for changes in self.description.get("changes", ()):
            self.update(self.folder / changes, say)

    def update(self, changes: Path, say: Say) -> None:
        """Apply the changes of a later export; a second time, nothing changes."""
        self._feed(changes / "feed.jsonl")
        say(f"applied {changes}")

    def parsed_filter(self, text: str) -> str:
        """Return a filter of the command line: a condition in YQL."""
        return text

    def search(self, query: Mapping[str, Any], k: int, filter: str | None = None) -> list[tuple[str, float]]:
        """Return the identifiers and scores of the best documents."""

        def rows(wanted: int) -> list[tuple[str, float]]:
            body = self.request(query, wanted, filter)
            if body is None:
                return []
            root = self._send("POST", "/search/", body)["root"]
            if "errors" in root:
                raise SystemExit(f"{self.location}: {root['errors']}")
            if not root.get("coverage", {}).get("full", True):
                raise SystemExit(
                    f"{self.location}: the answer covers a part of the documents: {root['coverage']}"
                )
            hits = [(each["relevance"], each["fields"]) for each in root.get("children", ())]
            hits.sort(key=lambda hit: (-hit[0], hit[1]["position"]))
            return [(fields["doc_id"], float(score)) for score, fields in hits]

        found: list[tuple[str, float]] = best_documents(rows, k, chunked=self.description["chunked"])
        return found

    def request(self, query: Mapping[str, Any], hits: int, filter: str | None) -> dict[str, Any] | None:
        """Return the body of a search; None if no part knows a word of the query."""
        described = {part["name"]: part for part in self.description["parts"]}
        inputs: dict[str, Any] = {"constant": float(query["constant"])}
        found: list[str] = []
        for each in query["parts"]:
            part = described[each["name"]]
            field = part["field"]
            if each["kind"] == "dense":
                if not any(each["vector"]):
                    continue
                inputs[f"{field}_vector"] = each["vector"]
                found.append(f'present contains "vectors:{field}"')
            else:
                if not each["numbers"]:
                    continue
                inputs[f"{field}_terms"] = {str(term): weight for term, weight in each["numbers"].items()}
                pairs = ", ".join(f"[{int(term)}, {int(weight)}]" for term, weight in each["numbers"].items())
                if len(described) == 1 and not part["bias"] and each["coefficient"] > 0:
                    found.append(f"({{totalTargetHits: {hits + TIES}}}wand({field}, [{pairs}]))")
                else:
                    found.append(f"dotProduct({field}, [{pairs}])")
                if part["bias"]:
                    inputs[f"{field}_background"] = each["background"]
            inputs[f"{field}_coefficient"] = each["coefficient"]
        if not found:
            return None
        where = f"({' or '.join(found)})" + (f" and {filter}" if filter else "")
        return {
            "yql": f"select doc_id, position from {self.schema} where {where}",
            "hits": hits,
            "ranking.profile": "linear",
            "ranking.sorting": "-[relevance] +position",
            "timeout": "20s",
            **{f"input.query({name})": value for name, value in inputs.items()},
        }

    def close(self) -> None:
        """Do nothing: every request has a connection of its own."""

    def _feed(self, file: Path) -> None:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                operation = json.loads(line)
                kind = "put" if "put" in operation else "remove"
                _, namespace, schema, _, name = operation[kind].split(":", 4)
                path = f"/document/v1/{namespace}/{schema}/docid/{quote(name, safe='')}"
                if kind == "put":
                    self._send("POST", path, {"fields": operation["fields"]})
                else:
                    self._send("DELETE", path, None)

    def _send(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(
            self.location + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except HTTPError as error:
            reason = error.read().decode(errors="replace")
            raise SystemExit(f"{self.location}{path}: status {error.code}: {reason}") from error
        except URLError as error:
            raise SystemExit(f"{self.location}: Vespa does not answer: {error.reason}") from error
