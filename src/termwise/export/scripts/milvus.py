"""Milvus: a collection of documents with sparse vectors, and one of windows for each part with vectors.

LOCATION is the address of a server, by default http://localhost:19530, whose token is in the environment
(MILVUS_TOKEN); or a path that ends in .db, a local file (library milvus-lite). Library: pymilvus.

    NAME             one row for each document, or chunk of a document: position, id, doc_id, text, attributes, weights
    NAME_PART        one row for each window of a document: row, position, doc_id, attributes, vector

Weights are whole numbers: sums below 2**24 are exact as floats of 32 bits. The bias of a document is one more term, and
a row without terms has a term that no query has, see ranked_lists.py.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pymilvus import DataType, MilvusClient, MilvusException
from ranked_lists import BIAS, Beginning, Row, best_documents

ADDRESS = "http://localhost:19530"
ROWS = 500
"""Rows of one request."""

MOST = 16_384
"""Largest number of results of one search."""

UNUSED = "no_terms"
"""Sparse vector of the documents, if no part has one: Milvus wants a vector."""

TYPES = {
    "Int64": DataType.INT64,
    "Double": DataType.DOUBLE,
    "Bool": DataType.BOOL,
    "VarChar": DataType.VARCHAR,
    "Array": DataType.ARRAY,
    "SparseFloatVector": DataType.SPARSE_FLOAT_VECTOR,
    "FloatVector": DataType.FLOAT_VECTOR,
}
"""Types by their names in the REST interface."""

Say = Callable[[str], None]


class Engine:
    """Collections of an export."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder = folder
        self.description: Mapping[str, Any] = json.loads((folder / "export.json").read_bytes())
        self.location = location or ADDRESS
        self.collections = json.loads((folder / "data" / "collections.json").read_bytes())
        self.sparse = {part["field"] for part in self.description["parts"] if part["kind"] == "sparse"} | {
            UNUSED
        }
        self._open: MilvusClient | None = None

    @property
    def name(self) -> str:
        """Name of the collection of documents."""
        name: str = self.description["settings"]["collection"]
        return name

    @property
    def client(self) -> MilvusClient:
        """Open connection."""
        if self._open is None:
            try:
                self._open = MilvusClient(self.location, token=os.environ.get("MILVUS_TOKEN", ""), timeout=10)
            except MilvusException as error:
                raise SystemExit(f"{self.location}: Milvus does not answer: {error.message}") from error
        return self._open

    def load(self, say: Say) -> None:
        """Make the collections, and write the rows that are not there yet."""
        files = {
            name: each["sha256"] for name, each in self.description["files"].items() if name[:5] == "data/"
        }
        digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
        for collection in self.collections:
            name = collection["collectionName"]
            if not self.client.has_collection(name):
                self._create(collection)
            if not self._is_marked(name, digest):
                raise SystemExit(
                    f"{self.location}: the collection {name} is of another export: drop it in Milvus, or export with "
                    "--set collection=NAME"
                )
            self.client.load_collection(name)
            done = self._count(name)  # rows are written in order, so these are the first ones
            for file in sorted((self.folder / "data").glob(f"{collection['files']}-*.jsonl")):
                for rows in self._batches(file):
                    if done < len(rows):
                        self.client.upsert(name, rows[done:])
                    done = max(0, done - len(rows))
                say(f"loaded {file.name}")
        for changes in self.description.get("changes", ()):
            self.update(self.folder / changes, say)

    def update(self, changes: Path, say: Say) -> None:
        """Apply the changes of a later export; a second time, nothing changes."""
        self._require_collection()
        for ids in self._batches(changes / "deleted.jsonl"):
            rows = self.client.query(self.name, filter=f"id in {json.dumps(ids)}", output_fields=["position"])
            positions = [int(row["position"]) for row in rows]
            if positions:
                for collection in reversed(
                    self.collections
                ):  # first windows, whose documents are still known
                    self.client.delete(collection["collectionName"], filter=f"position in {positions}")
        for collection in self.collections:
            for rows in self._batches(changes / f"{collection['files']}.jsonl"):
                self.client.upsert(collection["collectionName"], rows)
        say(f"applied {changes}")

    def parsed_filter(self, text: str) -> str:
        """Return a filter of the command line: a boolean expression of Milvus."""
        return text

    def search(self, query: Mapping[str, Any], k: int, filter: str | None = None) -> list[tuple[str, float]]:
        """Return the identifiers and scores of the best documents."""
        self._require_collection()
        described = {part["name"]: part for part in self.description["parts"]}
        lists: list[VectorList] = []
        for each in query["parts"]:
            part = described[each["name"]]
            field, coefficient = part["field"], float(each["coefficient"])
            if each["kind"] == "dense":
                if any(each["vector"]):
                    vector = list(map(float, each["vector"]))
                    lists.append(
                        VectorList(self.client, f"{self.name}_{field}", "vector", vector, filter, coefficient)
                    )
                continue
            if not each["numbers"]:
                continue
            terms = {int(term): float(weight) for term, weight in each["numbers"].items()}
            biased = part["bias"] and each["background"]
            if biased:  # all documents have a bias, and those without a term of the query are no results
                with_bias = {**terms, BIAS: float(each["background"])}
                lists.append(
                    VectorList(self.client, self.name, field, with_bias, filter, coefficient, matches=False)
                )
            lists.append(
                VectorList(self.client, self.name, field, terms, filter, 0.0 if biased else coefficient)
            )
        found: list[tuple[str, float]] = best_documents(lists, k, float(query["constant"]))
        return found

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _require_collection(self) -> None:
        if self._open is None:
            if not self.client.has_collection(self.name):
                raise SystemExit(f"{self.location}: there is no collection {self.name}: run load first")
            for collection in self.collections:
                self.client.load_collection(collection["collectionName"])

    def _is_marked(self, name: str, digest: str) -> bool:
        """Return whether a collection has an alias that names the exported data; give it to an empty collection."""
        alias = f"{name}_{digest[:32]}"
        if alias in self.client.list_aliases(name)["aliases"]:
            return True
        self.client.load_collection(name)
        if self._count(name):
            return False
        self.client.create_alias(name, alias)
        return True

    def _create(self, collection: Mapping[str, Any]) -> None:
        """Make a collection, described in the form of the REST interface."""
        schema = self.client.create_schema(auto_id=False, enable_dynamic_field=False)
        for field in collection["schema"]["fields"]:
            options = dict(field.get("elementTypeParams", {}))
            if "elementDataType" in field:
                options["element_type"] = TYPES[field["elementDataType"]]
            if field.get("nullable"):
                options["nullable"] = True
            schema.add_field(
                field["fieldName"],
                TYPES[field["dataType"]],
                is_primary=field.get("isPrimary", False),
                **options,
            )
        indexes = self.client.prepare_index_params()
        for index in collection["indexParams"]:
            indexes.add_index(
                index["fieldName"],
                index_type=index["params"]["index_type"],
                metric_type=index["metricType"],
                params={name: value for name, value in index["params"].items() if name != "index_type"},
            )
        self.client.create_collection(
            collection["collectionName"], schema=schema, index_params=indexes, consistency_level="Strong"
        )

    def _count(self, name: str) -> int:
        return int(self.client.query(name, filter="", output_fields=["count(*)"])[0]["count(*)"])

    def _batches(self, file: Path) -> Iterator[list[Any]]:
        """Yield the values of a file with JSON lines, some at a time."""
        found: list[Any] = []
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                for field in self.sparse:
                    if field in row:  # names in JSON are strings
                        row[field] = {int(term): float(weight) for term, weight in row[field].items()}
                found.append(row)
                if len(found) == ROWS:
                    yield found
                    found = []
        if found:
            yield found


class VectorList:
    """Rows ranked by one vector; of several windows of a row, the best one counts."""

    def __init__(
        self,
        client: MilvusClient,
        collection: str,
        field: str,
        vector: Any,
        filter: str | None,
        coefficient: float,
        *,
        matches: bool = True,
    ) -> None:
        self.client = client
        self.collection = collection
        self.field = field
        self.vector = vector
        self.filter = filter
        self.coefficient = coefficient
        self.matches = matches

    def best(self, limit: int) -> Beginning:
        """Return the best rows."""
        if limit <= MOST:
            found = self._search(self.filter, limit)
            return Beginning(best_windows(found), found[-1].score if len(found) == limit else None)
        rows: list[Row] = []  # all rows, in ranges of positions
        first, size = 0, MOST
        while self.client.query(
            self.collection, filter=f"position >= {first}", output_fields=["position"], limit=1
        ):
            within = f"position >= {first} and position < {first + size}"
            found = self._search(within if self.filter is None else f"({self.filter}) and {within}", MOST)
            if len(found) == MOST and size > 1:  # more windows than results
                size //= 2
                continue
            rows += found
            first += size
        return Beginning(best_windows(rows), None)

    def rows(self, positions: Sequence[int]) -> list[Row]:
        """Return the scores of some rows."""
        found = self._search(f"position in {list(positions)}", MOST)
        if len(found) == MOST and len(positions) > 1:  # more windows than results
            half = len(positions) // 2
            return self.rows(positions[:half]) + self.rows(positions[half:])
        return best_windows(found)

    def _search(self, filter: str | None, limit: int) -> list[Row]:
        (found,) = self.client.search(
            self.collection,
            data=[self.vector],
            anns_field=self.field,
            filter=filter or "",
            limit=limit,
            output_fields=["position", "doc_id"],
            search_params={
                "metric_type": "IP",
                "params": {"drop_ratio_search": 0.0} if self.field != "vector" else {},
            },
        )
        return [
            Row(int(hit["entity"]["position"]), hit["entity"]["doc_id"], float(hit["distance"]))
            for hit in found
        ]


def best_windows(rows: Sequence[Row]) -> list[Row]:
    """Return the best row of each position."""
    best: dict[int, Row] = {}
    for row in sorted(rows, key=lambda row: -row.score):
        best.setdefault(row.position, row)
    return list(best.values())
