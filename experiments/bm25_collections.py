r"""BM25 with default settings on twelve judged collections, in comparison with bm25s.

Question
    Is the default BM25 of termwise within 0.01 nDCG@10 of the published figures, and if not, which rule of
    tokenisation causes the difference?
Tables
    1. nDCG@10: published, bm25s here, termwise; the paired difference.
    2. AP@1000 and R@100, likewise.
    3. The same tokens in both: difference of the engines alone.
    4. From the tokens of bm25s to those of termwise, one rule after the other.
    5. Each rule alone, and the share of queries it changes.
    6. Effect of evaluation conventions and of the order of equal scores on the figures of both.
bm25s
    bm25s 0.3.16, form ``lucene``, k1 0.9, b 0.4; its tokens: text in lower case, ``(?u)\b\w\w+\b``, its 33
    English stop words, Snowball English. Documents without a positive score are removed.
termwise
    The defaults of `termwise.build_index`: BM25 (``lucene``, k1 0.9, b 0.4), the analyzer ``english``, 8-bit impacts.
    Tables 3 to 5 use 32-bit weights unless they state otherwise, so that only the tokens differ.
Both
    Title + " " + text; the split ``test`` (CSFCube also ``test_aggregate``); 1,000 documents per query. If a
    collection has a ``seeds.tsv``, the document that is the query is removed from runs and judgments.

This is a comparison without tuning: no setting was chosen by it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import record
import Stemmer

from termwise import BuildOptions, Document, Qrel, Query, Ranking, Run, Searcher, build_index
from termwise.collection import open_collection, read_qrels, read_queries, read_seeds
from termwise.errors import CheckFailedError
from termwise.evaluate import Evaluation, compare, evaluate, holm
from termwise.text import make_analyzer, stop_list

MEASURES = ("nDCG@10", "AP@1000", "R@100")
K1, B, K = 0.9, 0.4, 1000


@dataclass(frozen=True)
class Row:
    """Row of the tables: a collection, a split, and the published figures."""

    collection: str
    split: str
    published: tuple[float | None, float | None, float | None]

    @property
    def name(self) -> str:
        """Name of the row."""
        return self.collection if self.split == "test" else f"{self.collection} ({self.split})"


ROWS = (
    Row("adi", "test", (0.477, 0.400, 0.883)),
    Row("cacm", "test", (0.487, 0.341, 0.677)),
    Row("cranfield", "test", (0.343, 0.280, 0.722)),
    Row("cystic_fibrosis", "test", (0.437, 0.256, 0.437)),
    Row("scifact", "test", (0.676, 0.637, 0.913)),
    Row("nfcorpus", "test", (0.318, 0.149, 0.246)),
    Row("medquad", "test", (0.573, 0.488, 0.917)),
    Row("stackfaq", "test", (0.704, 0.665, 0.962)),
    Row("cosqa", "test", (0.320, 0.282, 0.742)),
    Row("csfcube", "test", (0.464, None, None)),
    Row("csfcube", "test_aggregate", (0.515, None, None)),
    Row("covidq", "test", (0.382, None, 0.679)),
    Row("semeval_cqa_questions", "test", (0.344, 0.277, 0.626)),
)
"""The published figures are those in the README of the collections, with the settings of bm25s above."""


# --- tokens -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """Tokenizer of bm25s with some rules of termwise.

    Without rules it is ``bm25s.tokenize``, which the experiment checks on every text. The remaining rules are those of
    the last step, the analyzer of termwise: marks (accents as separate characters) belong to words, letters and
    numbers are those of Unicode 17, and each character is lower-cased separately.

    Attributes
    ----------
    underscore : bool
        The underscore separates words.
    apostrophe : bool
        An apostrophe between letters belongs to the word; the stemmer then removes ``'s``.
    single : bool
        Words of one character are kept.
    """

    underscore: bool = False
    apostrophe: bool = False
    single: bool = False
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _forms: dict[str, str | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        word = r"[^\W_]+" if self.underscore else r"\w+"
        if self.apostrophe:
            word = rf"{word}(?:(?<=[^\W\d_])['’](?=[^\W\d_]){word})*"
        object.__setattr__(self, "_pattern", re.compile(word))

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        found = (self._form(word) for word in self._pattern.findall(text.lower()))
        return [token for token in found if token is not None]

    def _form(self, word: str) -> str | None:
        if word not in self._forms:
            kept = (self.single or len(word) > 1) and word not in stop_list("lucene-english")
            self._forms[word] = _stemmer.stemWord(word.replace("’", "'")) if kept else None
        return self._forms[word]


_stemmer = Stemmer.Stemmer("english")

THEIRS = Rules()
LADDER: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
    ("underscore separates", Rules(underscore=True).tokens),
    ("apostrophe within words", Rules(underscore=True, apostrophe=True).tokens),
    ("single characters", Rules(underscore=True, apostrophe=True, single=True).tokens),
    ("marks, Unicode 17", make_analyzer("english").tokens),
)
"""Steps from the tokens of bm25s to those of ``english``, cumulative."""
ALONE: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
    ("underscore separates", LADDER[0][1]),
    ("apostrophe within words", Rules(apostrophe=True).tokens),
    ("single characters", Rules(single=True).tokens),
)


def _check_stop_lists(theirs: Iterable[str]) -> None:
    if set(theirs) != stop_list("lucene-english"):
        raise CheckFailedError(
            "the stop lists of bm25s and of the analyzer english differ",
            facts=[("words in only one", sorted(set(theirs) ^ stop_list("lucene-english")))],
            fixes=["add the stop list as a rule of the experiment"],
        )


# --- one collection ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """Collection in memory, with the queries of the evaluated splits."""

    name: str
    documents: list[Document]
    queries: list[Query]
    qrels: dict[str, list[Qrel]]
    seeds: dict[str, frozenset[str]] | None

    @classmethod
    def read(cls, folder: Path, splits: Sequence[str]) -> Data:
        """Read a collection."""
        qrels = {split: read_qrels(folder / "qrels" / f"{split}.tsv") for split in splits}
        judged = {qrel.query_id for split in qrels.values() for qrel in split}
        seeds = folder / "seeds.tsv"
        return cls(
            folder.name,
            list(open_collection(folder).documents()),
            [query for query in read_queries(folder / "queries.jsonl") if query.query_id in judged],
            qrels,
            read_seeds(seeds) if seeds.is_file() else None,
        )

    def grades(self) -> dict[str, dict[str, int]]:
        """Return the grades of the judged documents of each query, without seeds."""
        table: dict[str, dict[str, int]] = {query.query_id: {} for query in self.queries}
        for qrel in (qrel for split in self.qrels.values() for qrel in split):
            if qrel.doc_id not in (self.seeds or {}).get(qrel.query_id, ()):
                table[qrel.query_id][qrel.doc_id] = qrel.relevance
        return table

    def texts(self) -> Iterator[str]:
        """Yield all texts, documents first."""
        yield from (document.text for document in self.documents)
        yield from (query.text for query in self.queries)


def rank(
    data: Data,
    name: str,
    *,
    tokens: Callable[[str], list[str]] | None = None,
    quantiser: Literal["uint8", "float32"] = "float32",
) -> Run:
    """Index and rank with termwise, with given tokens or those of `english`."""
    documents, queries = data.documents, data.queries
    if tokens is not None:
        # Tokens are passed as text separated by blanks, so that only the tokens differ.
        documents = [Document(document.doc_id, " ".join(tokens(document.text))) for document in documents]
        queries = [Query(query.query_id, " ".join(tokens(query.text))) for query in queries]
    with tempfile.TemporaryDirectory() as folder:
        searcher: Searcher = build_index(
            documents,
            Path(folder) / "index",
            analyzer="english" if tokens is None else "whitespace",
            options=BuildOptions(quantiser=quantiser, threads=2),
        )
        return searcher.rank_many(queries, k=K, threads=2, name=name)


@dataclass(frozen=True)
class Peer:
    """Runs of bm25s on a collection.

    Attributes
    ----------
    run : Run
        Its ranking, with ties in the order of its partial sort.
    ordered, best, worst : Run
        The same scores with ties in the order of the documents, as in termwise; with the most relevant of tied
        documents first; and last.
    largest_difference : float
        Largest difference between its scores and those of termwise on the same tokens, relative to the best score of
        the query.
    """

    run: Run
    ordered: Run
    best: Run
    worst: Run
    largest_difference: float


def rank_with_bm25s(data: Data, ours: Run) -> Peer:
    """Index and rank with bm25s, after a check that `Rules` produces its tokens."""
    bm25s = record.need("bm25s", "bm25s", "the yardstick")
    _check_stop_lists(bm25s.stopwords.STOPWORDS_EN)
    options = {"stopwords": "en", "stemmer": _stemmer, "show_progress": False}
    documents = bm25s.tokenize([document.text for document in data.documents], **options)
    queries = bm25s.tokenize([query.text for query in data.queries], **options, return_ids=False)
    token_of = {number: token for token, number in documents.vocab.items()}
    made = [*([token_of[number] for number in row] for row in documents.ids), *queries]
    for text, tokens in zip(data.texts(), made, strict=True):
        if THEIRS.tokens(text) != tokens:
            raise CheckFailedError(
                "the rules of the experiment do not produce the tokens of bm25s",
                facts=[
                    ("collection", data.name),
                    ("theirs", tokens[:20]),
                    ("made", THEIRS.tokens(text)[:20]),
                ],
            )
    engine = bm25s.BM25(method="lucene", k1=K1, b=B)
    engine.index(documents, show_progress=False)
    doc_ids = [document.doc_id for document in data.documents]
    position = {doc_id: number for number, doc_id in enumerate(doc_ids)}
    grades = data.grades()
    names = ("bm25s", "bm25s, our order of ties", "bm25s, relevant first", "bm25s, relevant last")
    rankings: tuple[list[Ranking], ...] = tuple([] for _ in names)
    largest = 0.0
    for query, tokens in zip(data.queries, queries, strict=True):
        known = [token for token in tokens if token in documents.vocab]
        if not known:
            for made_so_far in rankings:
                made_so_far.append(Ranking([], [], query.query_id))
            continue
        found, _ = engine.retrieve([known], k=min(K, len(doc_ids)), show_progress=False)
        scores = np.asarray(engine.get_scores(known), dtype=np.float64)
        relevance = np.zeros(len(doc_ids))
        for doc_id, grade in grades[query.query_id].items():
            relevance[position[doc_id]] = grade
        input_order = np.arange(len(doc_ids))
        orders = (found[0], *(np.lexsort((by, -scores))[:K] for by in (input_order, -relevance, relevance)))
        for made_so_far, order in zip(rankings, orders, strict=True):
            kept = order[scores[order] > 0]
            made_so_far.append(Ranking([doc_ids[number] for number in kept], scores[kept], query.query_id))
        ranking = ours[query.query_id]
        theirs = scores[[position[doc_id] for doc_id in ranking.doc_ids]]
        largest = max(largest, float(np.abs(theirs - ranking.scores).max(initial=0.0) / scores.max()))
    run, ordered, best, worst = (Run(part, name) for part, name in zip(rankings, names, strict=True))
    return Peer(run, ordered, best, worst, largest)


@dataclass(frozen=True)
class Runs:
    """Runs of one collection."""

    peer: Peer
    default: Run
    default_reversed: Run
    theirs: Run
    theirs_quantised: Run
    ladder: list[Run]
    alone: list[Run]


def rank_all(data: Data) -> Runs:
    """Return the runs of the tables."""
    base = rank(data, "their tokens", tokens=THEIRS.tokens)
    ladder = [rank(data, f"+ {name}", tokens=tokens) for name, tokens in LADDER]
    return Runs(
        peer=rank_with_bm25s(data, base),
        default=rank(data, "termwise", quantiser="uint8"),
        default_reversed=rank(
            replace(data, documents=data.documents[::-1]), "termwise, reversed", quantiser="uint8"
        ),
        theirs=base,
        theirs_quantised=rank(data, "their tokens, uint8", tokens=THEIRS.tokens, quantiser="uint8"),
        ladder=ladder,
        alone=[ladder[0], *(rank(data, f"only {name}", tokens=tokens) for name, tokens in ALONE[1:])],
    )


# --- one line of the tables -------------------------------------------------------------------------------------


def identical_tops(one: Run, other: Run, depth: int = 10) -> float:
    """Return the share of queries with the same first documents in the same order."""
    return float(
        np.mean([ranking.doc_ids[:depth] == other[ranking.query_id].doc_ids[:depth] for ranking in one])
    )


def measure(row: Row, data: Data, runs: Runs) -> dict[str, Any]:
    """Evaluate and compare the runs on one split."""
    qrels = data.qrels[row.split]
    judged = {qrel.query_id for qrel in qrels}

    def mine(run: Run) -> Run:
        return Run((ranking for ranking in run if ranking.query_id in judged), run.name)

    def means(run: Run) -> dict[str, float | None]:
        return evaluate(mine(run), qrels, MEASURES, exclude=data.seeds).means

    def effects(baseline: Run, run: Run) -> dict[str, Any]:
        compared = compare(
            [evaluate(mine(each), qrels, MEASURES, exclude=data.seeds) for each in (baseline, run)],
            resamples=record.RESAMPLES,
            seed=record.SEED,
        )
        return {contrast.measure: record.contrast_record(contrast) for contrast in compared.contrasts}

    def changed(before: Callable[[str], list[str]], after: Callable[[str], list[str]]) -> float:
        texts = [query.text for query in data.queries if query.query_id in judged]
        return float(np.mean([before(text) != after(text) for text in texts]))

    evaluation: Evaluation = evaluate(mine(runs.default), qrels, MEASURES, exclude=data.seeds)
    steps = [runs.theirs, *runs.ladder]
    makers = [THEIRS.tokens, *(tokens for _, tokens in LADDER)]
    without_own = evaluate(_without_own(mine(runs.peer.run), data.seeds), qrels, MEASURES)
    return {
        "row": row.name,
        "collection": row.collection,
        "split": row.split,
        "documents": len(data.documents),
        "queries": len(evaluation.query_ids),
        "published": dict(zip(MEASURES, row.published, strict=True)),
        "bm25s": means(runs.peer.run),
        "termwise": evaluation.means,
        "termwise_interval": {
            name: record.mean_interval(values) for name, values in evaluation.values.items()
        },
        "termwise_minus_bm25s": effects(runs.peer.run, runs.default),
        "same_tokens": {
            "bm25s": means(runs.peer.run),
            "bm25s, our order of ties": means(runs.peer.ordered),
            "termwise float32": means(runs.theirs),
            "termwise uint8": means(runs.theirs_quantised),
            "identical top 10, float32 and bm25s in our order of ties": identical_tops(
                mine(runs.theirs), mine(runs.peer.ordered)
            ),
            "identical top 10, float32 and uint8": identical_tops(
                mine(runs.theirs), mine(runs.theirs_quantised)
            ),
            "largest score difference, relative": runs.peer.largest_difference,
        },
        "ladder": [
            {
                "rule": name,
                "queries changed": changed(makers[number], makers[number + 1]),
                "means": means(steps[number + 1]),
                "effects": effects(steps[number], steps[number + 1]),
            }
            for number, (name, _) in enumerate(LADDER)
        ],
        "quantisation": effects(runs.ladder[-1], runs.default),
        "alone": [
            {
                "rule": name,
                "queries changed": changed(THEIRS.tokens, tokens),
                "means": means(run),
                "effects": effects(runs.theirs, run),
            }
            for (name, tokens), run in zip(ALONE, runs.alone, strict=True)
        ],
        "conventions": {
            "bm25s, own document dropped from the run only": without_own.means,
            "bm25s, ties with relevant first": means(runs.peer.best),
            "bm25s, ties with relevant last": means(runs.peer.worst),
            "termwise, documents in reverse": means(runs.default_reversed),
        },
    }


def _without_own(run: Run, seeds: Mapping[str, frozenset[str]] | None) -> Run:
    """Remove seeds and documents with the id of the query from a run, but not from the judgments."""
    rankings = []
    for ranking in run:
        own = {ranking.query_id, *(seeds or {}).get(ranking.query_id, ())}
        kept = [number for number, doc_id in enumerate(ranking.doc_ids) if doc_id not in own]
        doc_ids = [ranking.doc_ids[number] for number in kept]
        rankings.append(Ranking(doc_ids, ranking.scores[kept], ranking.query_id))
    return Run(rankings, run.name)


# --- the page ---------------------------------------------------------------------------------------------------


def page(result: dict[str, Any]) -> str:
    """Return the page."""
    rows = result["rows"]
    parts = [
        "# BM25 on twelve judged collections, in comparison with bm25s",
        "Made by `experiments/bm25_collections.py`, whose docstring states the settings. Published: the figures in the "
        "README of the collections (bm25s 0.3.16). The 95 % interval of a difference in bold excludes 0.",
        "## 1. nDCG@10",
        _first(rows),
        "## 2. AP@1000 and R@100",
        _second(rows),
        "## 3. The same tokens in both engines",
        "nDCG@10. termwise gets the tokens of bm25s. bm25s orders equal scores by a partial sort; its second column "
        "has the same scores with ties in the order of the documents, as in termwise. The largest difference of a "
        "score is relative to the best score of the query.",
        _third(rows),
        "## 4. From the tokens of bm25s to those of termwise, one rule after the other",
        "Change of the measure by each rule, in addition to those at its left; 32-bit weights. Both have the same 33 "
        "stop words. The last step is the analyzer `english`; uint8 is the further change by 8-bit impacts.",
        *(f"{name}\n\n{_ladder(rows, name)}" for name in MEASURES),
        "## 5. Each rule alone, on the tokens of bm25s",
        "Change of nDCG@10, and in brackets the share of queries with changed tokens.",
        _alone(rows),
        "## 6. Conventions of evaluation, and the order of equal scores",
        "Own document: the run of bm25s, from which the document that is the query and documents with the id of the "
        "query are removed, but not from the judgments. Ties: least and largest value of the measure for bm25s over "
        "all orders of equal scores. Reversed: termwise with the documents indexed in reverse, which reverses the "
        "order of equal scores.",
        *(f"{name}\n\n{_sixth(rows, name)}" for name in ("nDCG@10", "R@100")),
        record.about(result),
    ]
    return "\n\n".join(parts)


def _first(rows: Sequence[dict[str, Any]]) -> str:
    head = (
        "collection",
        "queries",
        "published",
        "bm25s here",
        "termwise",
        "95 %",
        "− published",
        "− bm25s here",
        "95 %",
        "p",
    )
    corrected = holm([row["termwise_minus_bm25s"]["nDCG@10"]["p_permutation"] for row in rows])
    lines = []
    for row, p_holm in zip(rows, corrected, strict=True):
        contrast = row["termwise_minus_bm25s"]["nDCG@10"]
        lines.append(
            (
                row["row"],
                str(row["queries"]),
                record.number(row["published"]["nDCG@10"]),
                record.number(row["bm25s"]["nDCG@10"]),
                record.number(row["termwise"]["nDCG@10"]),
                record.interval(row["termwise_interval"]["nDCG@10"]),
                record.number(row["termwise"]["nDCG@10"] - row["published"]["nDCG@10"], signed=True),
                _effect(contrast),
                record.interval(contrast["interval"], signed=True),
                record.p_value(contrast["p_permutation"]),
                record.p_value(p_holm),
            )
        )
    return record.table((*head, "p (Holm)"), lines)


def _second(rows: Sequence[dict[str, Any]]) -> str:
    head = ["collection"]
    for name in MEASURES[1:]:
        head += [f"{name} published", "bm25s here", "termwise", "95 %", "difference"]
    lines = []
    for row in rows:
        cells = [row["row"]]
        for name in MEASURES[1:]:
            cells += [
                record.number(row["published"][name]),
                record.number(row["bm25s"][name]),
                record.number(row["termwise"][name]),
                record.interval(row["termwise_interval"][name]),
                _effect(row["termwise_minus_bm25s"][name]),
            ]
        lines.append(cells)
    return record.table(head, lines)


def _third(rows: Sequence[dict[str, Any]]) -> str:
    names = ("bm25s", "bm25s, our order of ties", "termwise float32", "termwise uint8")
    head = (
        "collection",
        *names,
        "same top 10, float32 and bm25s in our order",
        "… float32 and uint8",
        "largest score difference",
    )
    lines = []
    for row in rows:
        same = row["same_tokens"]
        lines.append(
            (
                row["row"],
                *(record.number(same[name]["nDCG@10"], digits=4) for name in names),
                f"{same['identical top 10, float32 and bm25s in our order of ties']:.1%}",
                f"{same['identical top 10, float32 and uint8']:.1%}",
                f"{same['largest score difference, relative']:.0e}",
            )
        )
    return record.table(head, lines)


def _ladder(rows: Sequence[dict[str, Any]], name: str) -> str:
    head = ("collection", "tokens of bm25s", *(rule for rule, _ in LADDER), "`english`", "uint8", "termwise")
    return record.table(
        head,
        [
            (
                row["row"],
                record.number(row["same_tokens"]["termwise float32"][name]),
                *(_effect(step["effects"][name]) for step in row["ladder"]),
                record.number(row["ladder"][-1]["means"][name]),
                _effect(row["quantisation"][name]),
                record.number(row["termwise"][name]),
            )
            for row in rows
        ],
    )


def _alone(rows: Sequence[dict[str, Any]]) -> str:
    return record.table(
        ("collection", "tokens of bm25s", *(name for name, _ in ALONE)),
        [
            (
                row["row"],
                record.number(row["same_tokens"]["termwise float32"]["nDCG@10"]),
                *(
                    f"{_effect(step['effects']['nDCG@10'])} ({step['queries changed']:.0%})"
                    for step in row["alone"]
                ),
            )
            for row in rows
        ],
    )


def _sixth(rows: Sequence[dict[str, Any]], name: str) -> str:
    head = ("collection", "published", "bm25s here", "own document", "ties", "termwise", "reversed")
    lines = []
    for row in rows:
        own, best, worst, reverse = (means[name] for means in row["conventions"].values())
        lines.append(
            (
                row["row"],
                record.number(row["published"][name]),
                record.number(row["bm25s"][name]),
                record.number(own),
                record.interval((worst, best)),
                record.number(row["termwise"][name]),
                record.number(reverse),
            )
        )
    return record.table(head, lines)


def _effect(contrast: dict[str, Any]) -> str:
    text = record.number(contrast["difference"], signed=True)
    shown = abs(contrast["difference"]) >= 0.0005
    return f"**{text}**" if shown and record.excludes_zero(contrast["interval"]) else text


# --- the command ------------------------------------------------------------------------------------------------


def main() -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "collections", "out")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=sorted({row.collection for row in ROWS}))
    arguments = parser.parse_args()
    provenance = record.provenance(("termwise", "bm25s", "PyStemmer", "numpy", "scipy", "ir-measures"))
    wanted = [row for row in ROWS if not arguments.only or row.collection in arguments.only]
    splits: dict[str, list[str]] = {}
    for row in wanted:
        splits.setdefault(row.collection, []).append(row.split)
    folders = {name: record.collection_folder(arguments.collections, name) for name in splits}
    for name, folder in folders.items():
        record.check_splits(folder, splits[name])
    rows = []
    for name, folder in folders.items():
        data = Data.read(folder, splits[name])
        runs = rank_all(data)
        rows += [measure(row, data, runs) for row in wanted if row.collection == name]
        record.say(f"{name}: {record.number(rows[-1]['termwise']['nDCG@10'])}, {record.seconds()} s")
    result: dict[str, Any] = {
        "experiment": "bm25_collections",
        "settings": {
            "measures": MEASURES,
            "k": K,
            "theirs": {
                "package": "bm25s",
                "method": "lucene",
                "k1": K1,
                "b": B,
                "pattern": r"(?u)\b\w\w+\b",
                "stop words": "en",
                "stemmer": "Snowball English",
            },
            "ours": {
                "model": "bm25",
                "k1": K1,
                "b": B,
                "analyzer": make_analyzer("english").spec.fingerprint,
                "quantiser": "uint8",
            },
            "resamples": record.RESAMPLES,
            "seed": record.SEED,
        },
        "rows": rows,
        "data": {name: record.data_hash(folder, splits[name]) for name, folder in folders.items()},
        "provenance": provenance | {"seconds": record.seconds()},
    }
    name = "bm25_collections" if not arguments.only else "bm25_collections_partial"
    record.save(result, page(result), arguments.out, name)


if __name__ == "__main__":
    record.script(main)
