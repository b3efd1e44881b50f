"""SemAntoNeg: sentences beside one that means the same, by an antonym that is negated, and two that mean the opposite.

T. Vahtola, M. Creutz, J. Tiedemann, BlackboxNLP 2022. The query is the sentence, the first text the one that means the
same, the second one of the others, which have more words of the query. The original file is ``SemAntoNeg.json``, or
``SemAntoNeg_v1.0.json``, with ``idx``, ``input``, ``sentences`` and ``label`` on each line: the place of the right one
among the sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs, string_of
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery
from termwise.validation import is_integer

_FORMS = {
    "pairs": {"all": ["pairs.jsonl"]},
    "original": {"all": ["SemAntoNeg.json"]},
    "version 1.0": {"all": ["SemAntoNeg_v1.0.json"]},
}


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row."""
    form, files = chosen(folder, "SemAntoNeg", _FORMS)
    (path,) = files["all"]
    return [
        TransferProbe(
            "negation@semantoneg",
            "Negation SemAntoNeg",
            partial(read_pairs if form == "pairs" else _original, path),
            GivenQuery(),
            definition=define_pair(
                "a sentence that means what the query means, in other words", "one that means the opposite"
            ),
        )
    ]


def _original(path: Path) -> Iterator[Pair]:
    for number, record in read_json_lines(path):
        query = string_of(record, ("input",), path, number)
        sentences, label, item = (record.get(name) for name in ("sentences", "label", "idx"))
        if (
            not isinstance(sentences, list)
            or not all(isinstance(one, str) for one in sentences)
            or not is_integer(label)
            or not 0 <= label < len(sentences)
        ):
            raise MalformedRecordError.at(
                path,
                number,
                expected="sentences, and as label the place of one of them",
                seen=f"sentences: {sentences!r}, label: {label!r}",
            )
        others = sentences[:label] + sentences[label + 1 :]
        for place, other in enumerate(others):
            yield Pair(
                f"semantoneg-{item}-{place}",
                sentences[label],
                other,
                query=query,
                facts={"source": {"idx": item, "distractor": place}},
            )
