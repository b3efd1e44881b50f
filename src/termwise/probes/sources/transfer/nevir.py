"""NevIR: two passages that a negation tells apart, and two queries, each of which only one of them answers.

O. Weller, D. Lawrie, B. Van Durme, EACL 2024. Each item makes a pair for each query, whose first text is the passage
that answers it. The published figure is the share of items of which both are right: ``consistent`` in a report, with a
δ of 0. Files are tables, ``*.csv``, or objects, ``*.jsonl``, with ``q1``, ``q2``, ``doc1`` and ``doc2``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from termwise.collection import read_json_lines
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import any_of
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_table, string_of
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery

_PATTERNS = ("*.csv", "*.jsonl")
_COLUMNS = ("q1", "q2", "doc1", "doc2")


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row."""
    return [
        TransferProbe(
            "negation@nevir",
            "Negation NevIR",
            partial(_read, any_of(folder, "NevIR", _PATTERNS)),
            GivenQuery(),
            definition=define_pair(
                "a passage that answers the query", "the passage with something negated, or no longer so"
            ),
        )
    ]


def _read(paths: Sequence[Path]) -> Iterator[Pair]:
    for path in paths:
        split = path.name.partition(".")[0]
        for number, record in _records(path):
            first_query, second_query, one, other = (
                string_of(record, (name,), path, number) for name in _COLUMNS
            )
            item = f"nevir-{split}-{number}"
            facts = {"source": {"split": split, "line": number}}
            yield Pair(f"{item}-1", one, other, query=first_query, group=item, facts=facts)
            yield Pair(f"{item}-2", other, one, query=second_query, group=item, facts=facts)


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return read_table(path, _COLUMNS) if ".csv" in path.suffixes else read_json_lines(path)
