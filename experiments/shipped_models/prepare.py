"""Prepare the training pairs of the shipped models: select sources by licence, remove text of judged collections.

    python experiments/shipped_models/prepare.py --pairs PAIRS --collections COLLECTIONS --out prepared

PAIRS contains one BEIR folder per source, COLLECTIONS the judged collections of the results. Removed are pairs with a
query, a passage or a title of a collection (compared in lower case, words only), passages that share eight consecutive
words with a document or a query of a collection, texts about Python's standard library, and sources whose terms forbid
the distribution of models.

The pairs are written as JSONL to ``prepared/train/<source>.jsonl`` and, from the held-out judgments of each source, to
``prepared/validation/<source>.jsonl``; the counts are in ``prepared/counts.json``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from termwise.collection import open_collection, read_qrels, read_queries
from termwise.collection.training_pairs import normalised

SOURCES = (
    "advisories", "arxiv_cs", "arxiv_sci", "boolq", "debian", "docstrings", "manpages", "nq_qed", "proposals",
    "pubmed", "scitldr", "squad", "stackexchange", "techdocs", "tldr", "wiki_titles", "wordnet",
)  # fmt: skip
"""Sources with open licences. Not used: foldoc (GFDL), kconfig (GPL), covidqa, faq, pubmedqa (terms not checked)."""

STANDARD_LIBRARY = {
    "docstrings": lambda doc_id: doc_id.split(".")[0] in sys.stdlib_module_names,
    "techdocs": lambda doc_id: doc_id.startswith("python3.11-doc/"),
}

RUN = 8
"""Number of consecutive words that count as shared text."""

RULE = (
    "their query, title or passage is one of a judged collection, their passage has eight words in a row with one of "
    "its texts, or they are about Python's standard library"
)
"""Rule of removal, as stated in model cards."""


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--pairs", type=Path, required=True)
    arguments.add_argument("--collections", type=Path, required=True)
    arguments.add_argument("--out", type=Path, required=True)
    given = arguments.parse_args()
    judged = Judged.of(judged_texts(given.collections))
    counts = {}
    for name in SOURCES:
        folder = given.pairs / name
        left_out = STANDARD_LIBRARY.get(name, lambda doc_id: False)
        passages = {
            document.doc_id: document.text
            for document in open_collection(folder).documents()
            if not left_out(document.doc_id) and not judged.shares(normalised(document.text))
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
                if qrel.doc_id not in passages or normalised(query) in judged.texts or title in judged.texts:
                    continue
                kept.append({"query": query, "passage": passages[qrel.doc_id]})
            part = given.out / {"train": "train", "test": "validation"}[split]
            part.mkdir(parents=True, exist_ok=True)
            with (part / f"{name}.jsonl").open("w") as file:
                file.writelines(json.dumps(pair, ensure_ascii=False) + "\n" for pair in kept)
            counts[name][split] = {"pairs": total, "kept": len(kept)}
        print(name, counts[name], flush=True)
    (given.out / "counts.json").write_text(json.dumps(counts, indent=1) + "\n")


def left_out(prepared: Path, sources: Mapping[str, int]) -> dict[str, int | str] | None:
    """Return the number of removed pairs and the rule; None if the sources are not those of ``counts.json``."""
    path = prepared / "counts.json"
    counts = json.loads(path.read_text()) if path.is_file() else {}
    if {name: entry["train"]["kept"] for name, entry in counts.items()} != dict(sources):
        return None
    pairs = sum(entry["train"]["pairs"] for entry in counts.values())
    return {"pairs": pairs, "left_out": pairs - sum(sources.values()), "rule": RULE}


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


@dataclass(frozen=True)
class Judged:
    """Texts of the judged collections.

    Attributes
    ----------
    texts : frozenset of str
        Normalised texts.
    runs : frozenset of int
        Hashes of all sequences of `RUN` words.
    """

    texts: frozenset[str]
    runs: frozenset[int]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Judged:
        """Collect normalised texts and their word sequences."""
        known = frozenset(text for text in texts if text)
        return cls(known, frozenset(run for text in known for run in runs(text)))

    def shares(self, text: str) -> bool:
        """Return whether a normalised text is one of the texts, or shares `RUN` consecutive words with one."""
        return text in self.texts or any(run in self.runs for run in runs(text))


def runs(text: str) -> Iterator[int]:
    """Yield a hash of each sequence of `RUN` words of a normalised text."""
    words = text.split()
    return map(hash, zip(*(words[start:] for start in range(RUN)), strict=False))


if __name__ == "__main__":
    main()
