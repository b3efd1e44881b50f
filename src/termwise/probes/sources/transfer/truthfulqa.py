"""TruthfulQA: questions with a true answer and with common misconceptions (Lin et al., ACL 2022).

The first text is the best true answer, the second a false one. False answers often repeat the words of the question, so
that rankers which count words prefer them. The original file is ``TruthfulQA.csv``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs, read_table
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery

_FORMS = {"pairs": {"all": ["pairs.jsonl"]}, "original": {"all": ["TruthfulQA.csv"]}}
_COLUMNS = ("Question", "Best Answer", "Incorrect Answers")


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row."""
    form, files = chosen(folder, "TruthfulQA", _FORMS)
    read = partial(read_pairs if form == "pairs" else _original, files["all"][0])
    return [
        TransferProbe(
            "factuality@truthfulqa",
            "Factuality TruthfulQA",
            read,
            GivenQuery(),
            definition=define_pair("the best true answer to a question", "a false one, as people believe it"),
        )
    ]


def _original(path: Path) -> Iterator[Pair]:
    for row, (_, record) in enumerate(read_table(path, _COLUMNS)):
        wrong = [answer.strip() for answer in record["Incorrect Answers"].split(";") if answer.strip()]
        for number, answer in enumerate(wrong):
            yield Pair(
                f"truthfulqa-{row}-{number}",
                record["Best Answer"].strip(),
                answer,
                query=record["Question"].strip(),
                facts={"source": {"row": row, "incorrect": number}},
            )
