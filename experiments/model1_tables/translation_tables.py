"""Dev queries and training pairs of a collection, and the translation tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import record
from indexes import progress_lines
from judged_collection import PREFIX, Judged, documents_folder
from model1_plan import NEURAL, Entry, Plan, System, Variant

from termwise.progress import Execution
from termwise.translation import Model1Settings, train_model1
from termwise.translation.table_folder import TRAINING, read_manifest
from termwise.translation.table_manifest import NAME as MANIFEST


def judged_split(entry: Entry, split: str, root: Path) -> Judged:
    """Read a collection with the queries and judgments of a split."""
    return Judged.read(entry.name, split if split.startswith(PREFIX) else root / entry.name, split)


def dev_of(entry: Entry, root: Path, seed: int) -> Judged:
    """Read a collection with the queries of choices; see `Entry`."""
    judged = judged_split(entry, entry.dev or entry.train, root)
    return _only(judged, drawn([query.query_id for query in judged.queries], entry.dev_queries, seed))


def own_of(entry: Entry, root: Path, seed: int) -> Judged:
    """Read a collection with the queries of its training pairs."""
    judged = judged_split(entry, entry.train, root)
    if entry.dev:
        return judged
    query_ids = [query.query_id for query in judged.queries]
    return _only(judged, frozenset(query_ids) - drawn(query_ids, entry.dev_queries, seed))


def drawn(query_ids: Sequence[str], number: int, seed: int) -> frozenset[str]:
    """Draw a number of queries, or take all if it is 0; the draw does not depend on their order."""

    def lot(query_id: str) -> bytes:
        return hashlib.sha256(f"{seed} {query_id}".encode("utf-8", "surrogatepass")).digest()

    return frozenset(sorted(query_ids, key=lot)[: number or None])


def _only(judged: Judged, query_ids: frozenset[str]) -> Judged:
    return replace(
        judged,
        queries=[query for query in judged.queries if query.query_id in query_ids],
        qrels=[qrel for qrel in judged.qrels if qrel.query_id in query_ids],
    )


@dataclass(frozen=True)
class Table:
    """A translation table.

    Attributes
    ----------
    place : str
        Folder, or name of a shipped table.
    """

    place: str

    @cached_property
    def id(self) -> str:
        """Identifier of the table."""
        return read_manifest(self.place).id

    @cached_property
    def bytes(self) -> int:
        """Bytes of the arrays."""
        return sum(file.bytes for file in read_manifest(self.place).files.values())

    @cached_property
    def entries(self) -> int:
        """Number of probabilities."""
        return read_manifest(self.place).entries

    @cached_property
    def description(self) -> dict[str, Any]:
        """Description of the training."""
        return dict(read_manifest(self.place).description)


@dataclass(frozen=True)
class Tables:
    """Tables of an experiment, trained unless the work folder contains them.

    Attributes
    ----------
    plan : Plan
    data, work : Path
        Folder of the judged collections, and work folder.
    pairs : Path or None
        General training pairs.
    neural : mapping of str to Path
        Folders exported by ``termwise train neural-model1``, by collection; the empty name is the default.
    threads : int
        Threads of training; the tables do not depend on it.
    """

    plan: Plan
    data: Path
    work: Path
    pairs: Path | None = None
    neural: Mapping[str, Path] = field(default_factory=dict)
    threads: int = 1

    def lacking(self, system: System) -> str | None:
        """Return the reason why a system cannot run, or None."""
        if system.model == "neural-model1":
            without = [name for name in self.plan.collections if self._neural(name) is None]
            if without:
                return f"no neural table was named for {', '.join(without)} (--neural COLLECTION=FOLDER)"
        return None

    def _neural(self, collection: str) -> Table | None:
        folder = self.neural.get(collection, self.neural.get(""))
        return None if folder is None else Table(str(folder))

    def of(self, system: System, collection: str) -> dict[str, Table]:
        """Return the tables of a system on a collection, by the names of their variants."""
        if system.model == "neural-model1":
            table = self._neural(collection)
            return {} if table is None else {NEURAL: table}
        found = {
            variant.name: self.table(variant, system.field, collection)
            for variant in self.plan.tables.values()
            if collection in (variant.collections or (collection,))
        }
        return {name: table for name, table in found.items() if table is not None}

    def named(self, name: str, system: System, collection: str) -> Table | None:
        """Return one of these tables, or None if it is not available."""
        if name == NEURAL:
            return self._neural(collection)
        return self.table(self.plan.tables[name], system.field, collection)

    def table(self, variant: Variant, field: str, collection: str) -> Table | None:
        """Train or open the table of a variant; None if its analyzer or pairs are not available."""
        analyzer = self.plan.analyzer(field)
        if variant.ships:
            same = read_manifest(variant.ships).analyzer.fingerprint == analyzer.spec.fingerprint
            return Table(variant.ships) if same else None
        if variant.general and self.pairs is None:
            return None
        settings = Model1Settings.parse({**self.plan.training, "analyzer": self.plan.analyzers[field]})
        data = [self.pairs] if variant.general and self.pairs is not None else []
        known = [self._general_hash for _ in data]
        if variant.own:
            own = self._own_pairs(collection, variant.own)
            data.append(own)
            known.append(record.file_hash(own))
        body = json.dumps([asdict(settings), analyzer.spec.fingerprint, known])
        digest = hashlib.sha256(body.encode()).hexdigest()[:12]
        folder = self.work / "tables" / f"{field}-{variant.name}-{digest}"
        if not (folder / MANIFEST).is_file():
            folder.parent.mkdir(parents=True, exist_ok=True)
            facts = train_model1(
                data,
                folder,
                settings=settings,
                resume=(folder / TRAINING).exists(),
                execution=Execution(threads=self.threads, progress=progress_lines(folder.name)),
            )
            counts = f"{facts['pairs']:,} pairs, {facts['entries']:,} translations"
            record.say(f"{folder.name}: {counts}, {facts['seconds']['total']:.0f} s")
        return Table(str(folder))

    @cached_property
    def _general_hash(self) -> str:
        """Digest of the general pairs."""
        if self.pairs is None:
            return ""
        files = [path for path in (self.pairs, *self.pairs.rglob("*")) if path.is_file()]
        return record.tree_hash(files, self.pairs.parent)

    def _own_pairs(self, collection: str, times: int) -> Path:
        """Write the training pairs of the collection to a file, `times` times."""
        entry = self.plan.collections[collection]
        judged = own_of(entry, self.data, self.plan.seed)
        relevant = sorted({(qrel.query_id, qrel.doc_id) for qrel in judged.qrels if qrel.relevance > 0})
        name = f"{collection}-own-{hashlib.sha256(repr((times, relevant, judged.data)).encode()).hexdigest()[:12]}"
        path = documents_folder(self.work, judged.source) / f"{name}.jsonl"
        if path.is_file():
            return path
        wanted = {doc_id for _, doc_id in relevant}
        texts = {
            document.doc_id: document.text
            for document in judged.documents.documents()
            if document.doc_id in wanted
        }
        asked = {query.query_id: query.text for query in judged.queries}
        lines = [
            json.dumps({"query": asked[query_id], "passage": texts[doc_id]}, ensure_ascii=False) + "\n"
            for query_id, doc_id in relevant
            if asked.get(query_id, "").strip() and texts.get(doc_id, "").strip()
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".part")
        with partial.open("w", encoding="utf-8", errors="surrogatepass") as file:
            for _ in range(times):
                file.writelines(lines)
        partial.replace(path)
        return path
