"""What OpenSearch and Elasticsearch share: loading through ``_bulk`` behind an alias, and searches that add weights up.

    data/index.json           settings and mapping of the index
    data/part-00000.ndjson    documents in the form of _bulk
    changes/A-B/changes.ndjson

`load` makes a new index ALIAS-GENERATION-DIGEST and points the alias at it when it is complete, so searches never see a
part of the documents. The index that the alias pointed at before is kept. After an interruption, parts that were
loaded are not loaded again; the index itself keeps the list of them.

The score of a document is a sum over the terms of the query. The engine adds in double precision and rounds the sum to
a float of 24 bits. Documents with equal scores are in the order of the field ``position``, which is that of the index.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

BULK_BYTES = 4 << 20
RETRIES = 8
BUSY = (429, 503)
"""HTTP statuses of an engine that has too much to do, or that cannot be reached for now."""

LOST = (*BUSY, 500)
"""HTTP statuses of a search during which a shard is lost."""

EXACT_FLOAT = 1 << 24
MOST_RESULTS = 10_000
ADDRESS = "http://localhost:9200"

Say = Callable[[str], None]
Query = Mapping[str, Any]


def feature(token: str) -> str:
    """Return the name of a token as a feature: ``%``, ``.`` and ``*`` are written as in an address.

    >>> feature("node.js"), feature("100%"), feature("")
    ('node%2Ejs', '100%25', '%')
    """
    return token.replace("%", "%25").replace(".", "%2E").replace("*", "%2A") or "%"


HIGH, LOW = "%high", "%low"
"""Features of the bias of a document: no token has these names. Their sum is the bias."""


class BulkEngine:
    """Index of an export in OpenSearch or Elasticsearch.

    LOCATION is ``http://HOST:PORT[,HOST:PORT...][/ALIAS]``; by default port 9200 of this machine, and the name of the
    exported index. A user and password go before the first host, as in ``https://USER:PASSWORD@HOST:9200``.
    """

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder = folder
        self.description: Mapping[str, Any] = json.loads((folder / "export.json").read_bytes())
        self.parts: Mapping[str, Mapping[str, Any]] = {
            part["name"]: part for part in self.description["parts"]
        }
        self.hosts, alias = parsed_location(location or ADDRESS)
        self.alias = alias or str(self.description["alias"])

    # What the engines do differently

    def ask(self, method: str, path: str, body: Any, *, lines: bool, absent: bool) -> Any:
        """Return the answer to a request; with `absent`, None if something is not there."""
        raise NotImplementedError

    def named_weights(self, part: Query) -> dict[str, float]:
        """Return the weights of a part of a query by the names of their features."""
        return {feature(token): weight for token, weight in part["terms"].items()}

    def sparse_clauses(self, field: str, weights: Mapping[str, float], k: int) -> list[dict[str, Any]]:
        """Return clauses whose scores are weights times values of features, for `k` results."""
        raise NotImplementedError

    def product_script(self, vectors: str) -> str:
        """Return the expression of the product of ``params.query`` and a field of vectors."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connections."""
        raise NotImplementedError

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        lines: bool = False,
        absent: bool = False,
        passing: Sequence[int] = BUSY,
    ) -> Any:
        """Return the answer to a request, sent again if the status is one of `passing`; see `ask`."""
        for attempt in range(RETRIES):
            try:
                return self.ask(method, path, body, lines=lines, absent=absent)
            except Exception as error:
                if getattr(error, "status_code", None) not in passing or attempt == RETRIES - 1:
                    raise
            time.sleep(0.25 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    # Loading

    @property
    def digest(self) -> str:
        """Short digest of what the documents of the export depend on."""
        kept = {key: self.description[key] for key in ("settings", "source", "scales", "generation")}
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:8]

    def load(self, say: Say) -> None:
        """Load all documents into a new index, and point the alias at it."""
        before = self.current()
        if before is not None and self.meta(before)["export"] == self.digest:
            say(f"{self.alias} already holds this export, in the index {before}")
            return
        name = self.new_name()
        if before is None and self.request("HEAD", f"/{self.alias}", absent=True):
            raise SystemExit(
                f"{self.alias} is an index, and an alias of this name is needed: give another name in --at"
            )
        made = json.loads((self.folder / "data" / "index.json").read_bytes())
        replicas = made["settings"]["index"]["number_of_replicas"]
        if not self.request("HEAD", f"/{name}", absent=True):
            quick = {
                "index": {**made["settings"]["index"], "number_of_replicas": 0, "refresh_interval": "-1"}
            }
            empty: dict[str, Any] = {"termwise": {"export": None, "generation": None, "loaded": []}}
            self.request(
                "PUT", f"/{name}", {"settings": quick, "mappings": {**made["mappings"], "_meta": empty}}
            )
        loaded = list(self.meta(name)["loaded"])
        files = sorted((self.folder / "data").glob("part-*.ndjson"))
        files += [self.folder / each / "changes.ndjson" for each in self.description.get("changes", ())]
        started = time.monotonic()
        for number, file in enumerate(files, 1):
            key = file.relative_to(self.folder).as_posix()
            if key not in loaded:
                self.send(name, file)
                loaded.append(key)
                self.set_meta(name, {"export": None, "generation": None, "loaded": loaded})
            say(f"{name}: {number} of {len(files)} files, {time.monotonic() - started:.1f} s")
        settings = {"index": {"number_of_replicas": replicas, "refresh_interval": None}}
        self.request("PUT", f"/{name}/_settings", settings)
        self.request("POST", f"/{name}/_refresh")
        self.wait_for_copies(name, replicas)
        meta = {"export": self.digest, "generation": self.description["generation"], "loaded": loaded}
        self.set_meta(name, meta)
        actions = [{"add": {"index": name, "alias": self.alias}}]
        if before is not None:
            actions.insert(0, {"remove": {"index": before, "alias": self.alias}})
        self.request("POST", "/_aliases", {"actions": actions})
        say(f"{self.alias} is now {name}")
        if before is not None:
            say(f"the index {before} is kept; delete it with the request DELETE /{before}")

    def new_name(self) -> str:
        """Return the name of an index for this export: a new one, or one whose load was interrupted."""
        generation = self.description["generation"]
        name = first = f"{self.alias}-{generation}-{self.digest}"
        number = 1
        while self.request("HEAD", f"/{name}", absent=True) and self.meta(name)["generation"] not in (
            None,
            generation,
        ):  # it was updated since
            number += 1
            name = f"{first}-{number}"
        return name

    def update(self, changes: Path, say: Say) -> None:
        """Apply the changes of a later export to the index behind the alias."""
        since, generation = map(int, changes.resolve().name.split("-"))
        name = self.current()
        if name is None:
            raise SystemExit(f"there is no alias {self.alias}: run load first")
        meta = self.meta(name)
        if meta["generation"] == generation:
            say(f"{name} already has generation {generation}")
            return
        if meta["generation"] != since:
            raise SystemExit(
                f"{name} has generation {meta['generation']}, and these changes are from {since}: run load"
            )
        self.send(name, changes / "changes.ndjson")
        self.request("POST", f"/{name}/_refresh")
        export = self.digest if generation == self.description["generation"] else None
        self.set_meta(name, {**meta, "generation": generation, "export": export})
        say(f"{name}: applied {changes}, generation {generation}")

    def wait_for_copies(self, name: str, replicas: int) -> None:
        """Wait until an index has all copies of its shards, as far as there are nodes for them."""
        while True:
            health = self.request("GET", f"/_cluster/health/{name}")
            enough = health["number_of_data_nodes"] > replicas  # a node has one copy of a shard at the most
            if health["status"] == "green" or (health["status"] == "yellow" and not enough):
                return
            time.sleep(0.2)

    def current(self) -> str | None:
        """Return the name of the index behind the alias; None without one."""
        found = self.request("GET", f"/_alias/{self.alias}", absent=True)
        return next(iter(found)) if found else None

    def meta(self, name: str) -> Mapping[str, Any]:
        """Return what an index keeps about its loading."""
        mappings = self.request("GET", f"/{name}/_mapping")[name]["mappings"]
        if "termwise" not in mappings.get("_meta", {}):
            raise SystemExit(f"the index {name} is not from an export of termwise: give another name in --at")
        return dict(mappings["_meta"]["termwise"])

    def set_meta(self, name: str, meta: Mapping[str, Any]) -> None:
        """Replace what an index keeps about its loading."""
        self.request("PUT", f"/{name}/_mapping", {"_meta": {"termwise": meta}})

    def send(self, name: str, file: Path) -> None:
        """Send a file in the form of _bulk; stop at the first documents that are refused."""
        for lines in batches(file):
            for attempt in range(RETRIES):
                answer = self.request("POST", f"/{name}/_bulk", b"".join(lines), lines=True)
                items = [next(iter(each.values())) for each in answer["items"]] if answer["errors"] else []
                failed = [each for each in items if "error" in each]
                if not failed:
                    break
                if attempt == RETRIES - 1 or any(each["status"] not in BUSY for each in failed):
                    shown = "\n".join(
                        f"  {each['_id']}: {json.dumps(each['error'])[:500]}" for each in failed[:3]
                    )
                    raise SystemExit(f"{name} refused {len(failed)} documents of {file}:\n{shown}")
                time.sleep(0.5 * 2**attempt)  # the engine has too much to do

    # Searching

    def parsed_filter(self, text: str) -> Any:
        """Return a filter of the command line: a query of the engine, as JSON."""
        return json.loads(text)

    def search(
        self, query: Query, k: int, filter: Mapping[str, Any] | None = None
    ) -> list[tuple[str, float]]:
        """Return the identifiers and scores of the best documents."""
        if not 1 <= k <= MOST_RESULTS:
            raise SystemExit(f"the number of results is from 1 to {MOST_RESULTS:,}")
        body, factor, shift = self.body(query, k, filter)
        if body is None:
            return []
        hits = self.hits(body)
        scores = [float(hit["sort"][0]) for hit in hits]
        if factor != 1.0 and scores and scores[0] >= EXACT_FLOAT and not self.description["chunked"]:
            hits, scores = self.exact(query, body, k) or (hits, scores)
        ids = [hit["fields"]["doc_id"][0] for hit in hits]
        return [(doc_id, score * factor + shift) for doc_id, score in zip(ids, scores, strict=True)]

    def hits(self, body: Mapping[str, Any]) -> list[Any]:
        """Return what is found in all shards.

        When a node is lost during a search, the engine answers with the documents of the other shards, unless it is
        told not to; then it answers with an error, and the search is sent again.
        """
        path = f"/{self.alias}/_search?allow_partial_search_results=false"
        return list(self.request("POST", path, body, passing=LOST)["hits"]["hits"])

    def exact(self, query: Query, body: dict[str, Any], k: int) -> tuple[list[Any], list[float]] | None:
        """Return the best documents by sums of whole numbers, computed from the sources of all that may be among them.

        The float of a larger sum is not smaller, so only documents with equal floats have to be ordered again, and
        those that share that of the last one may be missing.
        """
        return None

    def body(
        self, query: Query, k: int, filter: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any] | None, float, float]:
        """Return the body of a search, and by what its scores are multiplied and then increased.

        The clauses of the only part have whole numbers as weights, and its coefficient is the factor. Those of a
        mixture have the coefficients in them. A product of vectors may be negative, which engines refuse, so it is
        increased by the largest possible absolute value, for documents without vectors too. A document that matches
        only one of these clauses, or only its bias, is no result.
        """
        matching: list[dict[str, Any]] = []
        adding: list[dict[str, Any]] = []
        single = len(query["parts"]) == 1
        factor, shift = 1.0, float(query["constant"])
        for part in query["parts"]:
            described = self.parts[part["name"]]
            field, coefficient = described["field"], float(part["coefficient"])
            if part["kind"] == "dense":
                length = math.sqrt(sum(float(x) * float(x) for x in part["vector"]))
                if not length:
                    continue
                most = coefficient * length * float(self.description["longest"][field])
                shift -= most
                matching.append(self.dense_clause(field, part["vector"], length, coefficient * length, most))
                empty = {"term": {f"{field}_windows": 0}}
                adding.append({"constant_score": {"filter": empty, "boost": most}})
                continue
            if single:
                factor, coefficient = coefficient, 1.0
            weights = {name: coefficient * weight for name, weight in self.named_weights(part).items()}
            matching += self.sparse_clauses(field, weights, k)
            if weights and part["background"]:
                bias = coefficient * part["background"]
                adding += self.sparse_clauses(field, {HIGH: bias, LOW: bias}, k)
        if not matching:
            return None, factor, shift
        matched = {"should": matching, "minimum_should_match": 1}
        found: dict[str, Any] = {**matched, "filter": [filter] if filter else []}
        if adding:  # one sum, so that it is rounded once
            found = {"should": [*matching, *adding], "filter": [{"bool": matched}, *found["filter"]]}
        body: dict[str, Any] = {
            "size": k,
            "query": {"bool": found},
            "sort": [{"_score": {"order": "desc"}}, {"position": {"order": "asc"}}],
            "track_total_hits": False,
            "_source": False,
            "stored_fields": "_none_",
            "docvalue_fields": ["doc_id"],
        }
        if self.description["chunked"]:
            body["collapse"] = {"field": "doc_id"}
        return body, factor, shift

    def dense_clause(
        self, field: str, vector: Sequence[float], length: float, factor: float, most: float
    ) -> dict[str, Any]:
        """Return the clause whose score is the largest product of a window and the query, plus `most`."""
        script = {
            "source": f"Math.max(0.0, params.factor * {self.product_script(f'{field}.vector')} + params.most)",
            "params": {"query": [x / length for x in vector], "factor": factor, "most": most},
        }
        scored = {"script_score": {"query": {"match_all": {}}, "script": script}}
        return {"nested": {"path": field, "score_mode": "max", "query": scored}}


def parsed_location(location: str) -> tuple[list[str], str]:
    """Return the addresses of the nodes and the alias, which may be empty.

    >>> parsed_location("http://me:secret@a:9200,b:9200/docs")
    (['http://me:secret@a:9200', 'http://me:secret@b:9200'], 'docs')
    """
    parsed = re.fullmatch(r"(https?://)?([^/@]*@)?([^/@]+)(?:/([^/]*))?", location)
    if parsed is None:
        raise SystemExit(f"{location}: a location is http://HOST:PORT[,HOST:PORT...][/ALIAS]")
    scheme, user, hosts, alias = parsed.groups()
    return [f"{scheme or 'http://'}{user or ''}{host}" for host in hosts.split(",")], alias or ""


def batches(file: Path) -> Iterator[list[bytes]]:
    """Yield the lines of a file of _bulk in requests of some megabytes; an action stays with its document."""
    lines: list[bytes] = []
    size = 0
    with file.open("rb") as source:
        for action in source:
            if size >= BULK_BYTES:
                yield lines
                lines, size = [], 0
            lines.append(action)
            if not action.startswith(b'{"delete"'):
                lines.append(next(source))
            size += len(lines[-1])
    if lines:
        yield lines
