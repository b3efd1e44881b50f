"""Grep-BiasIR: documents in female, male and neutral wording for gender-neutral queries (Krieg et al., CHIIR 2023).

The original files are those of the folder ``csv_formatted``, named ``queries-documents_CATEGORY.csv``, with columns
``q_id``, ``relevant``, ``query``, ``doc_title``, ``document`` and ``content_gender``: F, M or N. A text is title and
document. Texts of a query with equal relevance are paired in file order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from termwise.probes.core.probe import define_pair
from termwise.probes.sources.transfer.pair_files import read_pairs, read_table
from termwise.probes.sources.transfer.pairs import TextPair, given_queries
from termwise.probes.sources.transfer.probe import PairDataSet, PairProbe, by_pattern

_COLUMNS = ("q_id", "relevant", "query", "doc_title", "document", "content_gender")
_WORDINGS = {"F": "female", "M": "male", "N": "neutral"}
TOLD_APART = (
    "Male and female wording distinguished",
    "A text in male and in female wording; neither comes first.",
)
"""Title and definition of the symmetric probe."""


def wording_contrast(first: str, second: str) -> str:
    """Return the definition of a probe that contrasts two wordings."""
    return define_pair(f"a text in {first} wording", f"the same text in {second} wording")


def _read(path: Path, contrast: str) -> Iterator[TextPair]:
    if ".csv" not in path.suffixes:
        yield from read_pairs(path, keep=lambda record: record.get("contrast") == contrast)
        return
    category = path.name.partition(".")[0].partition("_")[2]
    texts_of: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for _, row in read_table(path, _COLUMNS):
        wording = _WORDINGS.get(row["content_gender"].strip())
        if wording is not None:
            key = row["q_id"], row["relevant"], row["query"].strip()
            text = f"{row['doc_title'].strip()}. {row['document'].strip()}"
            texts_of.setdefault(key, {}).setdefault(wording, []).append(text)
    first, second = contrast.split(">")
    for (query_id, relevant, query), texts in texts_of.items():
        for position, pair in enumerate(zip(texts.get(first, ()), texts.get(second, ()), strict=False)):
            pair_id = f"grep-{category}-{query_id}-{relevant}-{position}-{first}-{second}"
            yield TextPair(pair_id, *pair, query=query, facts={"source": {"q_id": query_id}})


def _contrast(first: str, second: str) -> PairProbe:
    return PairProbe(
        f"gender-{first}-{second}@grepbiasir",
        f"{first.capitalize()} against {second} wording",
        wording_contrast(first, second),
        variant=f"{first}>{second}",
    )


GREPBIASIR = PairDataSet(
    by_pattern("Grep-BiasIR", ("pairs.jsonl", "queries-documents_*.csv"), _read),
    given_queries,
    (
        _contrast("male", "female"),
        PairProbe("gender-told-apart@grepbiasir", *TOLD_APART, variant="male>female", symmetric=True),
        _contrast("neutral", "male"),
        _contrast("neutral", "female"),
    ),
)
