"""Search engines with an index on disk that can be changed, with one interface, for ``living.py``."""

from __future__ import annotations

import shutil
import sqlite3
import string
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import anserini

import termwise
from termwise import Document, build_index
from termwise.text import make_analyzer

Documents = Sequence[tuple[str, str]]
"""Identifiers, which end in a number, and texts."""


def number_of(doc_id: str) -> int:
    """Return the attribute of a document, from 0 to 999, in no order of the documents."""
    return (int(doc_id.lstrip(string.ascii_letters)) * 2_654_435_761 >> 7) % 1000


def first_documents(texts: Sequence[str]) -> Documents:
    """Return texts as the documents ``d0``, ``d1``, …."""
    return [(f"d{number}", text) for number, text in enumerate(texts)]


class Contestant(ABC):
    """Search engine with an index on disk that can be changed.

    Raises
    ------
    ImportError
        If its package is not installed.
    """

    warm_passes: ClassVar[int] = 1
    """Passes over all queries before searches are timed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir():
            shutil.rmtree(path)
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"):
            path.with_name(name).unlink(missing_ok=True)

    @abstractmethod
    def build(self, texts: Sequence[str]) -> None:
        """Index texts as the documents of `first_documents`, and open the index for changes and searches."""

    @abstractmethod
    def add(self, documents: Documents) -> None:
        """Add documents, and open the newest generation."""

    @abstractmethod
    def delete(self, doc_id: str) -> None:
        """Delete a document, and open the newest generation."""

    @abstractmethod
    def find(self, word: str) -> list[str]:
        """Return the ten best documents for a word."""

    def can_search(self, bound: int | None) -> bool:
        """Return whether `search` is possible with this bound."""
        return True

    @abstractmethod
    def search(self, query: str, bound: int | None) -> list[str]:
        """Return the ten best documents for a query, of those with a number below a bound."""

    @abstractmethod
    def close(self) -> None:
        """Release the index."""


class Termwise(Contestant):
    """BM25 of termwise."""

    @staticmethod
    def documents(documents: Documents) -> list[Document]:
        """Return documents with their attribute."""
        return [Document(doc_id, text, {"number": number_of(doc_id)}) for doc_id, text in documents]

    def build(self, texts: Sequence[str]) -> None:
        """Build and open."""
        self._searcher = build_index(self.documents(first_documents(texts)), self.path, analyzer="english")
        self._writer = termwise.open_writer(self.path)

    def add(self, documents: Documents) -> None:
        """Add documents in one commit, and open the newest generation."""
        self._writer.add(self.documents(documents))
        self._writer.commit()
        self._searcher = self._searcher.refresh()

    def delete(self, doc_id: str) -> None:
        """Delete, commit, refresh."""
        self._writer.delete([doc_id])
        self._writer.commit()
        self._searcher = self._searcher.refresh()

    def find(self, word: str) -> list[str]:
        """Rank."""
        return list(self._searcher.rank(word, k=10).doc_ids)

    def search(self, query: str, bound: int | None) -> list[str]:
        """Rank with a filter."""
        condition = None if bound is None else f"number < {bound}"
        return list(self._searcher.rank(query, k=10, filter=condition).doc_ids)

    def close(self) -> None:
        """Close the writer."""
        self._writer.close()


class Tantivy(Contestant):
    """BM25 of tantivy with its tokenizer ``en_stem``, and one thread that writes."""

    def __init__(self, path: Path) -> None:
        import tantivy

        super().__init__(path)
        self._module = tantivy

    def build(self, texts: Sequence[str]) -> None:
        """Build and open."""
        schema = self._module.SchemaBuilder()
        schema.add_text_field("id", tokenizer_name="raw", stored=True, index_option="basic")
        schema.add_text_field("body", tokenizer_name="en_stem", index_option="freq")
        schema.add_unsigned_field("number", indexed=True, fast=True)
        self.path.mkdir()
        self._index = self._module.Index(schema.build(), path=str(self.path))
        self._writer = self._index.writer(heap_size=1_000_000_000, num_threads=1)
        self.add(first_documents(texts))

    def add(self, documents: Documents) -> None:
        """Add documents in one commit, and reload the index."""
        for doc_id, text in documents:
            document = self._module.Document(id=doc_id, body=text)
            document.add_unsigned("number", number_of(doc_id))
            self._writer.add_document(document)
        self._writer.commit()
        self._index.reload()

    def delete(self, doc_id: str) -> None:
        """Delete, commit, reload."""
        self._writer.delete_documents_by_term("id", doc_id)
        self._writer.commit()
        self._index.reload()

    def find(self, word: str) -> list[str]:
        """Search, and read the identifiers."""
        return self._best(word)

    def search(self, query: str, bound: int | None) -> list[str]:
        """Search with a range as a required part."""
        words = " ".join("".join(mark if mark.isalnum() else " " for mark in query.lower()).split())
        return self._best(words if bound is None else f"+({words}) +number:[0 TO {bound - 1}]")

    def _best(self, query: str) -> list[str]:
        searcher = self._index.searcher()
        found = searcher.search(self._index.parse_query(query, ["body"]), 10, count=False)
        return [searcher.doc(address)["id"][0] for _, address in found.hits]

    def close(self) -> None:
        """Stop the threads of the writer."""
        self._writer.wait_merging_threads()


class Lucene(Contestant):
    """BM25 of Lucene with its ``EnglishAnalyzer``, in this process; times include the calls from Python to Java.

    A filter is a clause ``FILTER`` of a ``BooleanQuery``. Lucene caches filters that are used again.

    Parameters
    ----------
    path : Path
    jar : Path
        Jar of Anserini, see `anserini.fetch_jar`.
    """

    OPTIONS = ("-Xmx2g", "-XX:+UseSerialGC")

    warm_passes = 10

    def __init__(self, path: Path, jar: Path) -> None:
        super().__init__(path)
        self._java = anserini.java_classes(anserini.java_home(), jar, self.OPTIONS)

    def _class(self, name: str) -> Any:
        return self._java(f"org.apache.lucene.{name}")

    def build(self, texts: Sequence[str]) -> None:
        """Build and open."""
        analyzer = self._class("analysis.en.EnglishAnalyzer")()
        self._store = self._class("store.FSDirectory").open(
            self._java("java.nio.file.Paths").get(str(self.path))
        )
        settings = self._class("index.IndexWriterConfig")(analyzer)
        settings.setRAMBufferSizeMB(500.0)
        self._writer = self._class("index.IndexWriter")(self._store, settings)
        kept, unkept = self._class("document.Field$Store").YES, self._class("document.Field$Store").NO
        self._id = self._class("document.StringField")("id", "", kept)
        self._body = self._class("document.TextField")("body", "", unkept)
        self._number = self._class("document.IntField")("number", 0, unkept)
        self._document = self._class("document.Document")()
        for field in (self._id, self._body, self._number):
            self._document.add(field)
        self._parser = self._class("queryparser.classic.QueryParser")("body", analyzer)
        self._occur = self._class("search.BooleanClause$Occur")
        self._readers = self._class("index.DirectoryReader")
        self._writer.commit()
        self._reader = self._readers.open(self._store)
        self.add(first_documents(texts))

    def _commit(self) -> None:
        """Commit, and open the newest generation."""
        self._writer.commit()
        newest = self._readers.openIfChanged(self._reader)
        self._reader.close()
        self._reader = newest
        self._searcher = self._class("search.IndexSearcher")(newest.getContext())

    def add(self, documents: Documents) -> None:
        """Add documents in one commit."""
        for doc_id, text in documents:
            self._id.setStringValue(doc_id)
            self._body.setStringValue(text)
            self._number.setIntValue(number_of(doc_id))
            self._writer.addDocument(self._document)
        self._commit()

    def delete(self, doc_id: str) -> None:
        """Delete and commit."""
        term = self._class("index.Term")("id", doc_id)
        self._writer.deleteDocuments(
            self._class("search.TermQuery")(term)
        )  # the overload that the bridge finds
        self._commit()

    def find(self, word: str) -> list[str]:
        """Search, and read the identifiers."""
        return self.search(word, None)

    def search(self, query: str, bound: int | None) -> list[str]:
        """Parse the query, search with a filter, and read the identifiers."""
        parsed = self._parser.parse(self._parser.escape(query))
        if bound is not None:
            both = self._class("search.BooleanQuery$Builder")()
            both.add(parsed, self._occur.MUST)
            both.add(
                self._class("document.IntField").newRangeQuery("number", 0, bound - 1), self._occur.FILTER
            )
            parsed = both.build()
        hits = self._searcher.search(parsed, 10).scoreDocs
        stored = self._searcher.storedFields()
        return [stored.document(hit.doc).get("id") for hit in hits]

    def close(self) -> None:
        """Close reader and writer."""
        self._reader.close()
        self._writer.close()


class Sqlite(Contestant):
    """BM25 of SQLite's FTS5 with ``porter unicode61``, WAL and synchronous=FULL; one transaction for each change."""

    def build(self, texts: Sequence[str]) -> None:
        """Build and open."""
        self._database = sqlite3.connect(self.path)
        self._database.execute("pragma journal_mode=wal")
        self._database.execute("pragma synchronous=full")
        self._database.execute("create table documents (id text primary key, number integer, bucket integer)")
        self._database.execute("create virtual table texts using fts5(body, tokenize='porter unicode61')")
        self._next = 1
        self.add(first_documents(texts))

    def add(self, documents: Documents) -> None:
        """Insert in one transaction."""
        with self._database:
            first, self._next = self._next, self._next + len(documents)
            self._database.executemany(
                "insert into texts(rowid, body) values (?, ?)",
                ((first + place, text) for place, (_, text) in enumerate(documents)),
            )
            self._database.executemany(
                "insert into documents values (?, ?, ?)",
                ((doc_id, first + place, number_of(doc_id)) for place, (doc_id, _) in enumerate(documents)),
            )

    def delete(self, doc_id: str) -> None:
        """Delete in one transaction."""
        with self._database:
            (number,) = self._database.execute(
                "select number from documents where id = ?", (doc_id,)
            ).fetchone()
            self._database.execute("delete from texts where rowid = ?", (number,))
            self._database.execute("delete from documents where id = ?", (doc_id,))

    def find(self, word: str) -> list[str]:
        """Search, and read the identifiers."""
        rows = self._database.execute(
            "select id from texts join documents on number = texts.rowid where texts match ? order by rank limit 10",
            (f'"{word}"',),
        )
        return [doc_id for (doc_id,) in rows]

    def can_search(self, bound: int | None) -> bool:
        """Return False: FTS5 scores all documents with a word of the query, which takes seconds."""
        return False

    def search(self, query: str, bound: int | None) -> list[str]:
        """Refuse."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the database."""
        self._database.close()


class SqliteSparse(Contestant):
    """sqlite-sparse with term weights computed here: BM25 without idf and document lengths, 1 for a term of a query.

    Its vocabulary is fixed. It has no attributes, and rounds weights to one byte. The analyzer is that of termwise.

    Parameters
    ----------
    path : Path
    words : iterable of str
        All words, also those of later documents.
    """

    BATCH = 50_000
    """Documents of a build in one transaction, which are held in memory."""

    K1 = 0.9

    def __init__(self, path: Path, words: Iterable[str]) -> None:
        from sqlite_sparse import SparseIndex

        super().__init__(path)
        self._analyzer = make_analyzer("english")
        self._vocabulary = sorted({token for word in words for token in self._analyzer.tokens(word)})
        self._numbers = {token: number for number, token in enumerate(self._vocabulary)}
        self._make = SparseIndex.create_external

    def build(self, texts: Sequence[str]) -> None:
        """Build and open."""
        self._index = self._make(str(self.path), self._vocabulary)
        documents = first_documents(texts)
        for first in range(0, len(documents), self.BATCH):
            self.add(documents[first : first + self.BATCH])

    def add(self, documents: Documents) -> None:
        """Add documents in one transaction, and load the newest state."""
        self._index.store.add_encoded([(doc_id, "", None, self._weights(text)) for doc_id, text in documents])
        self._index.engine.reload()

    def _weights(self, text: str) -> dict[int, float]:
        counts = Counter(self._analyzer.tokens(text))
        return {self._numbers[token]: tf * (self.K1 + 1) / (tf + self.K1) for token, tf in counts.items()}

    def delete(self, doc_id: str) -> None:
        """Delete, and load the newest state."""
        self._index.delete(doc_id)
        self._index.engine.reload()

    def find(self, word: str) -> list[str]:
        """Search."""
        return self.search(word, None)

    def can_search(self, bound: int | None) -> bool:
        """Return whether there is no bound: it has no filters."""
        return bound is None

    def search(self, query: str, bound: int | None) -> list[str]:
        """Search with the terms of a query."""
        hits = self._index.search_terms(Counter(self._analyzer.tokens(query)), k=10)
        return [hit["ext_id"] for hit in hits]

    def close(self) -> None:
        """Close the database."""
        self._index.store.db.close()
