"""Grep-BiasIR: documents in female, male and neutral wording, for queries that say nothing of it.

K. Krieg et al., CHIIR 2023. The original files are those of the folder ``csv_formatted``, named
``queries-documents_CATEGORY.csv``, with columns ``q_id``, ``relevant``, ``query``, ``doc_title``, ``document`` and
``content_gender``: F, M or N. A text is title and document. The first male one of a query belongs to the first female
one of equal relevance, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import any_of
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs, read_table
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery

CONTRASTS = {
    "male>female": ("gender-male-female", "Male against female wording"),
    "neutral>male": ("gender-neutral-male", "Neutral against male wording"),
    "neutral>female": ("gender-neutral-female", "Neutral against female wording"),
}
"""Which wordings a pair has, and what probes and tables call it."""

_PATTERNS = ("pairs.jsonl", "queries-documents_*.csv")
_COLUMNS = ("q_id", "relevant", "query", "doc_title", "document", "content_gender")
_WORDINGS = {"F": "female", "M": "male", "N": "neutral"}


class _Asked(NamedTuple):
    """What the texts of a triple have in common."""

    q_id: str
    relevant: str
    query: str


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make a row for each contrast, and a symmetric one of male and female."""
    paths = any_of(folder, "Grep-BiasIR", _PATTERNS)
    rows = [
        TransferProbe(
            f"{name}@grepbiasir",
            title,
            partial(_read, paths, contrast),
            GivenQuery(),
            definition=define_pair(*(f"a text in {wording} wording" for wording in contrast.split(">"))),
        )
        for contrast, (name, title) in CONTRASTS.items()
    ]
    apart = TransferProbe(
        "gender-told-apart@grepbiasir",
        "Male and female wording told apart",
        partial(_read, paths, "male>female"),
        GivenQuery(),
        definition="A text in male and in female wording; neither comes first.",
        symmetric=True,
    )
    return [rows[0], apart, *rows[1:]]


def _read(paths: Sequence[Path], contrast: str) -> Iterator[Pair]:
    for path in paths:
        if ".csv" in path.suffixes:
            yield from _original(path, contrast)
        else:
            yield from read_pairs(path, keep=lambda record: record.get("contrast") == contrast)


def _original(path: Path, contrast: str) -> Iterator[Pair]:
    category = path.name.partition(".")[0].partition("_")[2]
    worded: dict[_Asked, dict[str, list[str]]] = {}
    for _, row in read_table(path, _COLUMNS):
        wording = _WORDINGS.get(row["content_gender"].strip())
        if wording is not None:
            asked = _Asked(row["q_id"], row["relevant"], row["query"].strip())
            text = f"{row['doc_title'].strip()}. {row['document'].strip()}"
            worded.setdefault(asked, {}).setdefault(wording, []).append(text)
    first, second = contrast.split(">")
    for asked, texts in worded.items():
        both = zip(texts.get(first, ()), texts.get(second, ()), strict=False)
        for place, (one, other) in enumerate(both):
            yield Pair(
                f"grep-{category}-{asked.q_id}-{asked.relevant}-{place}-{first}-{second}",
                one,
                other,
                query=asked.query,
                facts={"source": {"q_id": asked.q_id}},
            )
