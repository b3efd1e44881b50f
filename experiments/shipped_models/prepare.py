"""Prepare the training pairs of the shipped models: choose sources by licence, drop what must not be seen.

    python experiments/shipped_models/prepare.py --pairs PAIRS --collections COLLECTIONS --out prepared

PAIRS holds one BEIR folder a source, COLLECTIONS the judged collections that results are reported on. Left out are
pairs with a query, a passage or a title that a collection has (compared in lower case, words only), passages that
hold the first twelve words of one of its documents anywhere, everything about Python's standard library, and
sources whose terms forbid a model to be passed on.
What is left is written as JSONL, ``prepared/train/<source>.jsonl`` and, from the held-out judgments of each source,
``prepared/validation/<source>.jsonl``; the counts go to ``prepared/counts.json``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from termwise.collection import open_collection, read_qrels, read_queries
from termwise.train.pairs import normalised

SOURCES = (
    "advisories", "arxiv_cs", "arxiv_sci", "boolq", "debian", "docstrings", "manpages", "nq_qed", "proposals",
    "pubmed", "scitldr", "squad", "stackexchange", "techdocs", "tldr", "wiki_titles", "wordnet",
)  # fmt: skip
"""Openly licensed. Not used: foldoc (GFDL), kconfig (GPL), covidqa, faq, pubmedqa (terms to be checked)."""

STANDARD_LIBRARY = {
    "docstrings": lambda doc_id: doc_id.split(".")[0] in sys.stdlib_module_names,
    "techdocs": lambda doc_id: doc_id.startswith("python3.11-doc/"),
}


OPENING = 12
"""Words from which a text counts as the same."""


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--pairs", type=Path, required=True)
    arguments.add_argument("--collections", type=Path, required=True)
    arguments.add_argument("--out", type=Path, required=True)
    given = arguments.parse_args()
    known = frozenset(judged_texts(given.collections))
    openings = frozenset(text for texts in map(first_words, known) for text in texts)
    counts = {}
    for name in SOURCES:
        folder = given.pairs / name
        left_out = STANDARD_LIBRARY.get(name, lambda doc_id: False)
        passages = {
            document.doc_id: document.text
            for document in open_collection(folder).documents()
            if not left_out(document.doc_id) and not seen_before(normalised(document.text), known, openings)
        }
        titles = dict(fields(folder / "corpus.jsonl.gz", "title"))
        queries = {query.query_id: query.text for query in read_queries(folder / "queries.jsonl.gz")}
        counts[name] = {}
        for split, ending in (("train", "tsv.gz"), ("test", "tsv")):
            kept, total = [], 0
            for qrel in read_qrels(folder / "qrels" / f"{split}.{ending}"):
                total += 1
                query = queries[qrel.query_id]
                title = titles.get(qrel.doc_id, "")
                if qrel.doc_id not in passages or normalised(query) in known or (title and title in known):
                    continue
                kept.append({"query": query, "passage": passages[qrel.doc_id]})
            part = given.out / {"train": "train", "test": "validation"}[split]
            part.mkdir(parents=True, exist_ok=True)
            with (part / f"{name}.jsonl").open("w") as file:
                file.writelines(json.dumps(pair, ensure_ascii=False) + "\n" for pair in kept)
            counts[name][split] = {"pairs": total, "kept": len(kept)}
        print(name, counts[name], flush=True)
    (given.out / "counts.json").write_text(json.dumps(counts, indent=1) + "\n")


def judged_texts(collections: Path) -> Iterator[str]:
    """Yield the normalised queries, documents and longer titles of the judged collections."""
    for folder in sorted(path for path in collections.iterdir() if (path / "queries.jsonl").is_file()):
        yield from (normalised(query.text) for query in read_queries(folder / "queries.jsonl"))
        yield from (normalised(document.text) for document in open_collection(folder).documents())
        yield from (
            title for _, title in fields(folder / "corpus.jsonl.gz", "title") if title.count(" ") >= 3
        )
        yield from (text for _, text in fields(folder / "corpus.jsonl.gz", "text"))


def fields(corpus: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield the id and one normalised field of each record."""
    with gzip.open(corpus, "rt") as file:
        for line in file:
            record = json.loads(line)
            yield record["_id"], normalised(record.get(name) or "")


def first_words(text: str) -> Iterator[str]:
    """Yield the first words of a text, where it has enough of them."""
    words = text.split()
    if len(words) >= OPENING:
        yield " ".join(words[:OPENING])


def seen_before(text: str, known: frozenset[str], openings: frozenset[str]) -> bool:
    """Whether a judged collection has the text, or a document that begins somewhere in it."""
    words = text.split()
    runs = (" ".join(words[start : start + OPENING]) for start in range(len(words) - OPENING + 1))
    return text in known or any(run in openings for run in runs)


if __name__ == "__main__":
    main()
