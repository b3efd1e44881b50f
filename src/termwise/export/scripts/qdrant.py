"""Qdrant: one collection with a sparse or dense vector for each part, and payload. Library: qdrant-client.

LOCATION is the address of a server, by default http://localhost:6333, whose key is in the environment (QDRANT_API_KEY);
or ``edge:FOLDER``, a shard in this process (library qdrant-edge-py); or ``path:FOLDER``, the local mode of
qdrant-client, which is for small collections.

A point has the position of its row as number. Weights are whole numbers: sums below 2**24 are exact as floats of 32
bits. The bias of a document is one more term of the vector, see ranked_lists.py.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ranked_lists import BIAS, Beginning, Row, best_documents

ADDRESS = "http://localhost:6333"
POINTS = 256
"""Points of one request."""

MARKER = "termwise_export"
"""Name in the metadata of the collection, of the digest of the exported data."""

Say = Callable[[str], None]
Json = Mapping[str, Any]


class Ranking(NamedTuple):
    """Request for the best points by one vector; `query` is in the form of the REST interface."""

    using: str
    query: Any


class Store(Protocol):
    """What loading and searching need of Qdrant. Filters, points and vectors are in the form of its REST interface."""

    def marker(self) -> str | None:
        """Return the digest of the data that the collection was made for; None if there is no collection."""

    def create(self, collection: Json, indexes: Sequence[Json], marker: str) -> None:
        """Make the collection."""

    def count(self) -> int:
        """Return the number of points."""

    def upsert(self, points: Sequence[Json]) -> None:
        """Write points."""

    def delete(self, filter: Json) -> None:
        """Delete points."""

    def rank(self, ranking: Ranking, limit: int, filter: Json | None) -> list[Row]:
        """Return the best points by one vector."""

    def add_up(
        self,
        found_by: Sequence[Ranking],
        scored_by: Sequence[tuple[float, Ranking]],
        limit: int,
        filter: Json | None,
    ) -> list[Row]:
        """Return the best points by a weighted sum, of the `limit` best ones of each ranking in `found_by`."""

    def close(self) -> None:
        """Close the connection."""


class Client:
    """Collection of a server, or of the local mode of the client."""

    def __init__(self, location: str, collection: str) -> None:
        from qdrant_client import QdrantClient, models

        self.models = models
        self.name = collection
        self.location = location
        self.is_local = location == ":memory:" or location.startswith("path:")
        if location == ":memory:":
            self.client = QdrantClient(":memory:")
        elif self.is_local:
            self.client = QdrantClient(path=location.removeprefix("path:"))
        else:
            key = os.environ.get("QDRANT_API_KEY")
            self.client = QdrantClient(location, api_key=key, timeout=120, check_compatibility=False)

    def marker(self) -> str | None:
        """Return the digest of the data that the collection was made for."""
        from qdrant_client.http.exceptions import ResponseHandlingException

        try:
            if not self.client.collection_exists(self.name):
                return None
        except ResponseHandlingException as error:
            raise SystemExit(f"{self.location}: no server of Qdrant answers: {error}") from error
        return str((self.client.get_collection(self.name).config.metadata or {}).get(MARKER, ""))

    def create(self, collection: Json, indexes: Sequence[Json], marker: str) -> None:
        """Make the collection."""
        models = self.models
        self.client.create_collection(
            self.name,
            vectors_config={
                name: models.VectorParams.model_validate(each) for name, each in collection["vectors"].items()
            },
            sparse_vectors_config={
                name: models.SparseVectorParams.model_validate(each)
                for name, each in collection["sparse_vectors"].items()
            },
            metadata={MARKER: marker},
        )
        for each in () if self.is_local else indexes:  # which have no effect in the local mode
            self.client.create_payload_index(
                self.name, each["field_name"], field_schema=models.PayloadSchemaType(each["field_schema"])
            )

    def count(self) -> int:
        """Return the number of points."""
        return int(self.client.count(self.name, exact=True).count)

    def upsert(self, points: Sequence[Json]) -> None:
        """Write points."""
        self.client.upsert(
            self.name, [self.models.PointStruct.model_validate(each) for each in points], wait=True
        )

    def delete(self, filter: Json) -> None:
        """Delete points."""
        selector = self.models.FilterSelector(filter=self.models.Filter.model_validate(filter))
        self.client.delete(self.name, selector, wait=True)

    def rank(self, ranking: Ranking, limit: int, filter: Json | None) -> list[Row]:
        """Return the best points by one vector."""
        return self._rows(query=self._query(ranking), using=ranking.using, limit=limit, filter=filter)

    def add_up(
        self,
        found_by: Sequence[Ranking],
        scored_by: Sequence[tuple[float, Ranking]],
        limit: int,
        filter: Json | None,
    ) -> list[Row]:
        """Return the best points by a weighted sum, in one request."""
        found = [self._prefetch(each, limit, filter, None) for each in found_by]
        summands = [{"mult": [weight, f"$score[{number}]"]} for number, (weight, _) in enumerate(scored_by)]
        return self._rows(
            query=self.models.FormulaQuery.model_validate({"formula": {"sum": summands}}),
            prefetch=[self._prefetch(each, limit * len(found), None, found) for _, each in scored_by],
            limit=limit * len(found),
            filter=None,
        )

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def _query(self, ranking: Ranking) -> Any:
        sparse = isinstance(ranking.query, Mapping)
        return self.models.SparseVector.model_validate(ranking.query) if sparse else ranking.query

    def _prefetch(self, ranking: Ranking, limit: int, filter: Json | None, found: list[Any] | None) -> Any:
        return self.models.Prefetch(
            prefetch=found,
            query=self._query(ranking),
            using=ranking.using,
            limit=limit,
            filter=None if filter is None else self.models.Filter.model_validate(filter),
            params=None if self.is_local else self.models.SearchParams(exact=True),
        )

    def _rows(self, *, filter: Json | None, **request: Any) -> list[Row]:
        found = self.client.query_points(
            self.name,
            query_filter=None if filter is None else self.models.Filter.model_validate(filter),
            search_params=None if self.is_local else self.models.SearchParams(exact=True),
            with_payload=["doc_id"],
            **request,
        )
        return [Row(int(each.id), (each.payload or {})["doc_id"], each.score) for each in found.points]


class Edge:
    """Shard in this process."""

    def __init__(self, folder: Path) -> None:
        import qdrant_edge

        self.library = qdrant_edge
        self.folder = folder
        self.shard: Any = None
        if (folder / "marker").is_file():
            self.shard = qdrant_edge.EdgeShard.load(str(folder / "shard"))

    def marker(self) -> str | None:
        """Return the digest of the data that the shard was made for."""
        return None if self.shard is None else (self.folder / "marker").read_text(encoding="utf-8")

    def create(self, collection: Json, indexes: Sequence[Json], marker: str) -> None:
        """Make the shard."""
        q = self.library
        multivector = q.MultiVectorConfig(q.MultiVectorComparator.MaxSim)
        config = q.EdgeConfig(
            vectors={
                name: q.EdgeVectorParams(
                    size=each["size"], distance=q.Distance.Dot, multivector_config=multivector
                )
                for name, each in collection["vectors"].items()
            },
            sparse_vectors=dict.fromkeys(collection["sparse_vectors"], q.EdgeSparseVectorParams()),
        )
        (self.folder / "shard").mkdir(parents=True)
        self.shard = q.EdgeShard.create(str(self.folder / "shard"), config)
        for each in indexes:
            schema = "integer" if each["field_schema"] == "bool" else each["field_schema"]
            kind = getattr(q.PayloadSchemaType, schema.capitalize())
            self.shard.update(q.UpdateOperation.create_field_index(each["field_name"], kind))
        (self.folder / "marker").write_text(marker, encoding="utf-8")

    def count(self) -> int:
        """Return the number of points."""
        return int(self.shard.count(self.library.CountRequest(exact=True)))

    def upsert(self, points: Sequence[Json]) -> None:
        """Write points."""
        q = self.library
        made = []
        for each in points:
            vectors = {
                name: q.SparseVector(found["indices"], found["values"])
                if isinstance(found, Mapping)
                else found
                for name, found in each["vector"].items()
            }
            payload = each["payload"]
            if (
                "attributes" in payload
            ):  # the condition of true or false is that of 1 or 0 in qdrant-edge-py 0.9
                attributes = {
                    name: int(value) if isinstance(value, bool) else value
                    for name, value in payload["attributes"].items()
                }
                payload = {**payload, "attributes": attributes}
            made.append(q.Point(each["id"], vectors, payload))
        self.shard.update(q.UpdateOperation.upsert_points(made))

    def delete(self, filter: Json) -> None:
        """Delete points."""
        self.shard.update(self.library.UpdateOperation.delete_points_by_filter(self._filter(filter)))

    def rank(self, ranking: Ranking, limit: int, filter: Json | None) -> list[Row]:
        """Return the best points by one vector."""
        return self._rows(query=self._query(ranking), limit=limit, filter=self._filter(filter))

    def add_up(
        self,
        found_by: Sequence[Ranking],
        scored_by: Sequence[tuple[float, Ranking]],
        limit: int,
        filter: Json | None,
    ) -> list[Row]:
        """Return the best points by a weighted sum."""
        q = self.library
        exact = q.SearchParams(exact=True)
        found = [
            q.Prefetch(query=self._query(each), limit=limit, filter=self._filter(filter), params=exact)
            for each in found_by
        ]
        scored = [
            q.Prefetch(prefetches=found, query=self._query(each), limit=limit * len(found), params=exact)
            for _, each in scored_by
        ]
        summands = [
            q.Expression.Mult([q.Expression.Constant(weight), q.Expression.Variable(f"$score[{number}]")])
            for number, (weight, _) in enumerate(scored_by)
        ]
        formula = q.Formula(q.Expression.Sum(summands), {})
        return self._rows(query=formula, prefetches=scored, limit=limit * len(found))

    def close(self) -> None:
        """Write what is in memory, and close the shard."""
        if self.shard is not None:
            self.shard.flush()
            self.shard.close()
            self.shard = None

    def _query(self, ranking: Ranking) -> Any:
        q, found = self.library, ranking.query
        vector = q.SparseVector(found["indices"], found["values"]) if isinstance(found, Mapping) else found
        return q.Query.Nearest(vector, using=ranking.using)

    def _rows(self, **request: Any) -> list[Row]:
        exact = self.library.SearchParams(exact=True)
        found = self.shard.query(self.library.QueryRequest(params=exact, with_payload=["doc_id"], **request))
        return [Row(each.id, each.payload["doc_id"], each.score) for each in found]

    def _filter(self, filter: Json | None) -> Any:
        if filter is None:
            return None
        given: dict[str, Any] = {
            clause: list(map(self._condition, conditions)) for clause, conditions in filter.items()
        }
        return self.library.Filter(**given)

    def _condition(self, condition: Json) -> Any:
        q = self.library
        if "has_id" in condition:
            return q.HasIdCondition(set(condition["has_id"]))
        if "is_empty" in condition:
            return q.IsEmptyCondition(condition["is_empty"]["key"])
        if "key" not in condition:
            return self._filter(condition)
        if "range" in condition:
            return q.FieldCondition(condition["key"], range=q.RangeFloat(**condition["range"]))
        match = condition["match"]
        made = q.MatchAny(match["any"]) if "any" in match else q.MatchValue(match["value"])
        return q.FieldCondition(condition["key"], match=made)


class Engine:
    """Collection of an export."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder = folder
        self.description: Mapping[str, Any] = json.loads((folder / "export.json").read_bytes())
        self.location = location or ADDRESS
        import_module("qdrant_edge" if self.location.startswith("edge:") else "qdrant_client")
        self._open: Store | None = None
        self._is_loaded = False

    @property
    def store(self) -> Store:
        """Open collection."""
        if self._open is None:
            if self.location.startswith("edge:"):
                self._open = Edge(Path(self.location.removeprefix("edge:")))
            else:
                self._open = Client(self.location, self.description["settings"]["collection"])
        return self._open

    def load(self, say: Say) -> None:
        """Make the collection, and write the points that are not there yet."""
        files = {
            name: each["sha256"] for name, each in self.description["files"].items() if name[:5] == "data/"
        }
        marker = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
        found = self.store.marker()
        if found is None:
            collection = json.loads((self.folder / "data" / "collection.json").read_bytes())
            indexes = json.loads((self.folder / "data" / "payload_indexes.json").read_bytes())
            self.store.create(collection, indexes, marker)
        elif found != marker:
            name = self.description["settings"]["collection"]
            raise SystemExit(
                f"{self.location}: the collection {name} is of another export: delete it in Qdrant, or export with "
                "--set collection=NAME"
            )
        done = self.store.count()  # points are written in order, so these are the first ones
        for file in sorted((self.folder / "data").glob("points-*.jsonl")):
            for points in batches(file):
                if done < len(points):
                    self.store.upsert(points[done:])
                done = max(0, done - len(points))
            say(f"loaded {file.name}")
        for changes in self.description.get("changes", ()):
            self.update(self.folder / changes, say)

    def update(self, changes: Path, say: Say) -> None:
        """Apply the changes of a later export; a second time, nothing changes."""
        self._require_collection()
        for ids in batches(changes / "deleted.jsonl"):
            self.store.delete({"must": [{"key": "id", "match": {"any": ids}}]})
        for points in batches(changes / "points.jsonl"):
            self.store.upsert(points)
        say(f"applied {changes}")

    def parsed_filter(self, text: str) -> Any:
        """Return a filter of the command line: JSON in the form of the REST interface."""
        return json.loads(text)

    def search(self, query: Mapping[str, Any], k: int, filter: Any = None) -> list[tuple[str, float]]:
        """Return the identifiers and scores of the best documents."""
        self._require_collection()
        lists = self._lists(query, filter)
        constant = float(query["constant"])
        settings = self.description["settings"]
        if not lists or settings["fusion"] == "exact":
            found: list[tuple[str, float]] = best_documents(lists, k, constant)
            return found
        rows = self.store.add_up(
            [each.ranking for each in lists if each.matches],
            [(each.coefficient, each.ranking) for each in lists if each.coefficient],
            max(k, settings["candidates"]),
            filter,
        )
        best: dict[str, float] = {}
        for row in sorted(rows, key=lambda row: (-row.score, row.position)):
            best.setdefault(row.doc_id, row.score + constant)
        return list(best.items())[:k]

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _require_collection(self) -> None:
        if not self._is_loaded and self.store.marker() is None:
            raise SystemExit(f"{self.location}: there is no collection: run load first")
        self._is_loaded = True

    def _lists(self, query: Mapping[str, Any], filter: Json | None) -> list[PointList]:
        """Search each part of a query separately, and return a ranked list of points for each."""
        described = {part["name"]: part for part in self.description["parts"]}
        lists: list[PointList] = []
        for each in query["parts"]:
            part = described[each["name"]]
            field, coefficient = part["field"], float(each["coefficient"])
            if each["kind"] == "dense":
                if any(each["vector"]):
                    ranking = Ranking(field, [list(map(float, each["vector"]))])
                    lists.append(PointList(self.store, ranking, filter, coefficient, True))
                continue
            if not each["numbers"]:
                continue
            terms = {int(term): float(weight) for term, weight in each["numbers"].items()}
            biased = part["bias"] and each["background"]
            if biased:  # all documents have a bias, and those without a term of the query are no results
                with_bias = sparse({**terms, BIAS: float(each["background"])})
                lists.append(PointList(self.store, Ranking(field, with_bias), filter, coefficient, False))
            ranking = Ranking(field, sparse(terms))
            lists.append(PointList(self.store, ranking, filter, 0.0 if biased else coefficient, True))
        return lists


class PointList:
    """Points ranked by one vector."""

    def __init__(
        self, store: Store, ranking: Ranking, filter: Json | None, coefficient: float, matches: bool
    ) -> None:
        self.store = store
        self.ranking = ranking
        self.filter = filter
        self.coefficient = coefficient
        self.matches = matches

    def best(self, limit: int) -> Beginning:
        """Return the best points."""
        rows = self.store.rank(self.ranking, limit, self.filter)
        return Beginning(rows, rows[-1].score if len(rows) == limit else None)

    def rows(self, positions: Sequence[int]) -> list[Row]:
        """Return the scores of some points."""
        return self.store.rank(self.ranking, len(positions), {"must": [{"has_id": list(positions)}]})


def sparse(weights: Mapping[int, float]) -> dict[str, list[Any]]:
    """Return a sparse vector."""
    return {"indices": sorted(weights), "values": [weights[term] for term in sorted(weights)]}


def batches(file: Path) -> Iterator[list[Any]]:
    """Yield the values of a file with JSON lines, some at a time."""
    found: list[Any] = []
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            found.append(json.loads(line))
            if len(found) == POINTS:
                yield found
                found = []
    if found:
        yield found
