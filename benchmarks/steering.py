r"""Searches with boosts, synonyms, rules, sorting and parts of the words, beside the same searches without.

    pip install -e .
    python benchmarks/steering.py --workload FOLDER --work SCRATCH      # about 3 minutes

The first 100,000 passages of the reference workload in an index of BM25, with a number (*sold*, skewed) and a date
(*added*) that are random, and its queries, k = 10. The kinds of searches take turns, so that ratios are within a round:

- *two boosts*, by the number with saturation and by the age of the date; the weight of each is a tenth, or half, of the
  median best score;
- *synonyms*: a line adds to a word of each query a word of the next query. The same words *typed* in the query are the
  cost of its terms;
- *rules*: a thousand rules, one of which pins two documents for the query and bans its first result;
- *all words*, and *75%* of them, of ``--match``;
- *sorted* by the number and the date.

The process is bound to one processor, and times are those of the processor, so that other work on the machine counts
less. The result is printed and appended as one JSON object to
``benchmarks/results/steering.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from timing import RESULTS, Timer, about, append, each, pinned, ratios, say, summary  # noqa: E402

import termwise  # noqa: E402
from termwise import Document  # noqa: E402
from termwise.search import Boost, QueryRule, Relevance, Search, Searcher, Synonyms  # noqa: E402

DOCUMENTS = 100_000

FIRST_DAY = date(2024, 1, 1)

LIMITS = {"boosts of a tenth": ("plain", 1.3), "boosts of a half": ("plain", 1.3), "synonyms": ("typed", 1.1)}
"""Searches that are compared with another one, and the largest ratio of their medians."""


def documents(workload: Path, count: int) -> Iterator[Document]:
    """Yield passages with random attributes."""
    random = np.random.default_rng(0)
    with lzma.open(workload / "passages.txt.xz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(islice(lines, count)):
            sold = int(random.pareto(1.0) * 100)
            added = FIRST_DAY + timedelta(days=int(random.integers(0, 1000)))
            yield Document(str(number), line.rstrip("\n"), {"sold": sold, "added": added})


def opened(workload: Path, work: Path, count: int) -> Searcher:
    """Return the index, which is built if it is not there."""
    folder = work / f"steering-{count}"
    if not folder.exists():
        return termwise.build_index(
            documents(workload, count), folder, model="bm25", analyzer="english", attributes="all"
        )
    return termwise.open(folder)


def searches(searcher: Searcher, queries: Sequence[str]) -> dict[str, list[Search]]:
    """Return the searches of each kind, one for each query."""
    best = float(np.median([max(searcher.rank(query, k=1).scores, default=0.0) for query in queries]))
    now = FIRST_DAY + timedelta(days=1000)

    def boosted(share: float) -> Relevance:
        boosts = [
            Boost("sold", share * best, saturation=100),
            Boost("added", share * best, half_life="90 days", now=now),
        ]
        return Relevance(boosts)

    words = [max(re.findall(r"[^\W_]+", query), key=len, default="none") for query in queries]
    others = [*words[1:], words[0]]
    synonyms = Relevance(
        synonyms=Synonyms.parse(
            [f"{word}, {other}" for word, other in zip(words, others, strict=True) if word != other]
        )
    )
    rules = []
    for query in queries:
        found = searcher.rank(query, k=12).doc_ids
        rules.append(QueryRule(query, pin=found[9:11], ban=found[:1]))
    ruled = Relevance(rules=[rule for rule in rules if rule.pin or rule.ban])
    kinds: dict[str, dict[str, Any]] = {
        "plain": {},
        "boosts of a tenth": {"relevance": boosted(0.1)},
        "boosts of a half": {"relevance": boosted(0.5)},
        "synonyms": {"relevance": synonyms},
        "rules": {"relevance": ruled},
        "all words": {"match": "all"},
        "75% of the words": {"match": "75%"},
        "sorted": {"sort": "-sold,added"},
    }
    made = {name: [Search(query, **options) for query in queries] for name, options in kinds.items()}
    made["typed"] = [Search(f"{query} {added}") for query, added in zip(queries, others, strict=True)]
    return made


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, and append to the results."""
    command = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--workload", type=Path, required=True)
    command.add_argument("--work", type=Path, required=True)
    command.add_argument("--documents", type=int, default=DOCUMENTS)
    command.add_argument("--queries", type=int, default=200)
    command.add_argument("--rounds", type=int, default=9)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    report: dict[str, Any] = {"about": about(("numpy",)) | {"processor": pinned()}}
    searcher = opened(arguments.workload, arguments.work, arguments.documents)
    lines = (arguments.workload / "queries_text.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [json.loads(line)["text"] for line in lines[: arguments.queries]]
    kinds = searches(searcher, queries)
    report |= {"documents": searcher.documents, "queries": len(queries), "rounds": arguments.rounds}
    timers: dict[str, Timer] = {
        name: each(asked, lambda search: searcher.search(search).ranking, time.thread_time)
        for name, asked in kinds.items()
    }
    seconds: dict[str, list[Any]] = {name: [] for name in timers}
    for timer in timers.values():
        for _ in range(2):  # until the boosts of all documents are kept
            timer()
    for _ in range(arguments.rounds):
        for name, timer in timers.items():
            seconds[name].append(timer())
    taken = {name: np.stack(rows) for name, rows in seconds.items()}
    say(f"{'ms':22}{'mean':>9}{'p50':>9}{'p99':>9}   times plain (mean, p50)")
    report["searches"] = {}
    for name, times in taken.items():
        row: dict[str, Any] = {"ms": summary(times), "times plain": ratios(times, taken["plain"])}
        if name in LIMITS:
            other, limit = LIMITS[name]
            found = ratios(times, taken[other])
            row |= {f"times {other}": found, "wanted": limit, "reached": found["p50"] <= limit}
        report["searches"][name] = row
        shown = f"{row['times plain']['mean']:8.3g}{row['times plain']['p50']:8.3g}"
        if name in LIMITS:
            shown += f"   {found['p50']:.3g} times {other}, wanted {limit:g}"
        say(f"{name:22}{row['ms']['mean']:9.3f}{row['ms']['p50']:9.3f}{row['ms']['p99']:9.3f}{shown}")
    append(report, "steering", arguments.out)


if __name__ == "__main__":
    main()
