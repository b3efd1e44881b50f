r"""Searches with required words and phrases: the first search, which reads texts, and later ones.

    pip install -e .
    python benchmarks/conditions.py corpus.jsonl.gz queries.jsonl      # a minute

Three conditions: the most frequent word; the most frequent pair of adjacent words; and two frequent words that are
nowhere adjacent, the worst case of a phrase, for which all texts with both words are read. Each for BM25, whose
postings rule out texts, and for Model 1, whose texts all have to be read. For the first search, a searcher without kept
verdicts is made for each query. The result is printed and appended as one JSON object to
``benchmarks/results/conditions.jsonl``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from timing import RESULTS, about, append, pinned, say  # noqa: E402

import termwise  # noqa: E402
from termwise.collection import read_queries  # noqa: E402
from termwise.search import Searcher  # noqa: E402

FREQUENT = 40
"""Number of frequent words among which a pair is searched that is nowhere adjacent."""


def chosen_conditions(searcher: Searcher) -> dict[str, dict[str, str]]:
    """Return a frequent word, a frequent phrase, and a phrase of frequent words that no text contains."""
    words: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    analyzer = searcher.analyzer
    forms: dict[str, str] = {}
    token_lists = []
    for text in searcher.index.texts(np.arange(len(searcher.index))):
        assert text is not None
        analysis = analyzer.analyze(text)
        for token, (start, end) in zip(analysis.tokens, analysis.spans.tolist(), strict=True):
            word = text[start:end]
            if word.isalpha() and analyzer.tokens(word) == [token]:
                forms.setdefault(token, word.lower())
        token_lists.append(analysis.tokens)
        words.update(set(analysis.tokens))
        pairs.update(set(pairwise(analysis.tokens)))
    frequent = [word for word, _ in words.most_common() if word in forms][:FREQUENT]
    for tokens in token_lists:
        together.update(combinations(sorted(set(frequent) & set(tokens)), 2))
    never = next(pair for pair, _ in together.most_common() if pair not in pairs)
    adjacent = next(pair for pair, _ in pairs.most_common() if set(pair) <= set(forms))
    return {
        "a frequent word": {"must": forms[frequent[0]]},
        "a frequent phrase": {"must": " ".join(forms[token] for token in adjacent)},
        "a phrase in no text": {"must": " ".join(forms[token] for token in never)},
    }


def milliseconds(searcher: Searcher, queries: Sequence[str], conditions: dict[str, str]) -> dict[str, float]:
    """Return the medians of the times of a first and of a later search for ten results."""
    first, later = [], []
    for query in queries:
        fresh = Searcher.of_index(searcher.index, searcher.backend.encoder)
        for times in (first, later):
            begin = time.perf_counter()
            fresh.rank(query, **conditions)
            times.append(1000 * (time.perf_counter() - begin))
    return {"first": float(np.median(first)), "later": float(np.median(later))}


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, and append to the results."""
    command = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("collection", type=Path)
    command.add_argument("queries", type=Path)
    command.add_argument("--count", type=int, default=10, help="number of queries")
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    queries = [query.text for query in islice(read_queries(arguments.queries), arguments.count)]
    report: dict[str, Any] = {"about": about(("numpy",)) | {"processor": pinned()}, "ms": {}}
    with tempfile.TemporaryDirectory() as folder:
        for model in ("bm25", "model1"):
            searcher = termwise.build_index(
                arguments.collection,
                Path(folder, model),
                model=model,
                analyzer="english" if model == "bm25" else None,
                store_text=True,
            )
            conditions = {"none": {}, **chosen_conditions(searcher)}
            searcher.rank(queries[0])
            searcher.rank(queries[0], must=conditions["a frequent word"]["must"])
            report["documents"] = len(searcher.index)
            report["ms"][model] = {}
            for name, each in conditions.items():
                times = milliseconds(searcher, queries, each)
                report["ms"][model][name] = {**each, **times}
                given = ", ".join(each.values())
                say(
                    f"{model:8} {name:20} {given:30} first {times['first']:9.2f}  later {times['later']:9.2f} ms"
                )
    append(report, "conditions", arguments.out)


if __name__ == "__main__":
    main()
