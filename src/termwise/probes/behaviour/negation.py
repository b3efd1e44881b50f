"""Negation and exclusion: *not* turns a statement round, and *without* excludes something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from termwise.probes.behaviour.changes import Change, changed
from termwise.probes.behaviour.wording import best_sentence, sentence_places
from termwise.probes.manipulations.contract import Around
from termwise.probes.manipulations.editing import contents, replaced
from termwise.probes.material import Family, Material
from termwise.probes.probe import Probe, in_order
from termwise.probes.transfer.files import chosen
from termwise.probes.transfer.pair import Pair
from termwise.probes.transfer.probe import TransferProbe
from termwise.probes.transfer.queries import CommonChunk, GivenQuery
from termwise.probes.transfer.reading import read_pairs
from termwise.probes.written_texts import written

EDITS = {
    "paraphrase": ("Negation CondaQA: said in other words", "with its negation said in other words"),
    "scope": ("Negation CondaQA: scope changed", "with something else negated"),
    "affirmative": ("Negation CondaQA: taken back", "without its negation"),
}
"""What was done to passages of CondaQA. Only the first leaves the meaning as it was."""

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|can|could|will|would|should|must|might)\b(?!\s+(?:not|never|no)\b)(?!['’])",
    re.IGNORECASE,
)


def negated(sentence: str) -> str | None:
    """Negate a sentence at its first auxiliary verb; None where it has none, or is negated there.

    Examples
    --------
    >>> negated("The tower was built in Paris and is tall."), negated("It stands."), negated("It is not so.")
    ('The tower was not built in Paris and is tall.', None, None)
    """
    found = _AUXILIARY.search(sentence)
    if found is None:
        return None
    verb = found[0] + "not" if found[0].lower() == "can" else f"{found[0]} not"
    return sentence[: found.start()] + verb + sentence[found.end() :]


def _best_negated(text: str, around: Around) -> str | None:
    places = sentence_places(around.language, text)
    best = best_sentence(around.about.query, contents(text, places), around.stop_words)
    if best is None or (new := negated(text[slice(*places[best])])) is None:
        return None
    return replaced(text, [places[best]], [new])


def _statements(asked: str) -> Iterator[Pair]:
    """Yield statements with what contradicts them, for queries that ask for the affirmed or the negated one."""
    for item in written("negation"):
        affirmed, other = item["affirmed"], item["negated"]
        first, second = (affirmed, other) if asked == "query" else (other, affirmed)
        yield Pair(item["id"], first, second, query=item[asked], group=item["id"])


def _exclusions(wanted: str) -> Iterator[Pair]:
    """Yield texts with and without something, for queries that want it so."""
    other = "with" if wanted == "without" else "without"
    for item in written("exclusion"):
        query = f"{item['topic']} {wanted} {item['excluded']}"
        yield Pair(item["id"], item[wanted], item[other], query=query, group=item["id"])


def _semantoneg(folder: Path) -> list[Probe]:
    _, files = chosen(folder, "SemAntoNeg", {"pairs": {"all": ["pairs.jsonl"]}})
    (path,) = files["all"]
    return [
        TransferProbe(
            "negation@semantoneg",
            "Negation SemAntoNeg",
            partial(read_pairs, path),
            GivenQuery(),
            definition=in_order(
                "a sentence that means what the query means, in other words", "one that means the opposite"
            ),
        )
    ]


def _claims(folder: Path, material: Material) -> list[Probe]:
    forms = {"pairs": {"all": ["wikifactcheck_claim_vs_refuted.jsonl"]}}
    _, files = chosen(folder, "the claims of WikiFactCheck", forms)
    (path,) = files["all"]
    asking = CommonChunk(material.language)
    return [
        TransferProbe(
            "negation-claim@wikifactcheck",
            "Negation WikiFactCheck: claim against refuted claim",
            partial(read_pairs, path),
            asking,
            definition=in_order("a claim that is supported", "the claim changed so that it is refuted"),
        )
    ]


def _condaqa(folder: Path) -> list[Probe]:
    _, files = chosen(folder, "CondaQA", {"pairs": {split: [f"{split}.jsonl"] for split in ("dev", "test")}})
    return [
        TransferProbe(
            f"negation-{edit}@condaqa",
            title,
            partial(_edited, [path for paths in files.values() for path in paths], edit),
            GivenQuery(),
            definition=f"A passage with a negation, and the passage {changed_so}; neither comes first.",
            symmetric=True,
        )
        for edit, (title, changed_so) in EDITS.items()
    ]


def _edited(paths: list[Path], edit: str) -> Iterator[Pair]:
    for path in paths:
        yield from read_pairs(path, keep=lambda record: record.get("edit") == edit)


def negation_probes(material: Material) -> list[Probe]:
    """Make the probes.

    Of ours, ``negation-affirmed`` and ``negation-negated`` have the same texts and opposite queries, and so have
    ``exclusion-without`` and ``exclusion-with``: a ranker that does not see the negation loses in one what it wins in
    the other. CondaQA is symmetric: a ranker that reads should tell more texts apart where the meaning has changed
    than where it has not.
    """
    made: list[Probe] = [
        TransferProbe(
            "negation-affirmed@written",
            "Affirmed statement asked for",
            partial(_statements, "query"),
            GivenQuery(),
            definition=in_order("a statement, which the query asks for", "its negation"),
        ),
        TransferProbe(
            "negation-negated@written",
            "Negated statement asked for",
            partial(_statements, "query_negated"),
            GivenQuery(),
            definition=in_order(
                "a negated statement, which the query asks for", "the statement without negation"
            ),
        ),
        TransferProbe(
            "exclusion-without@written",
            "X without Y asked for",
            partial(_exclusions, "without"),
            GivenQuery(),
            definition=in_order("a text about X without Y, as the query asks", "one about X with Y"),
        ),
        TransferProbe(
            "exclusion-with@written",
            "X with Y asked for",
            partial(_exclusions, "with"),
            GivenQuery(),
            definition=in_order("a text about X with Y, as the query asks", "one about X without Y"),
        ),
        *changed(
            [
                Change(
                    "negation-inserted",
                    "Best sentence negated",
                    "a relevant text in which the sentence with most words of the query is negated",
                    _best_negated,
                )
            ],
            material,
            "relevant",
        ),
    ]
    folders = material.folders
    if "semantoneg" in folders:
        made += _semantoneg(folders["semantoneg"])
    if "wikifactcheck" in folders:
        made += _claims(folders["wikifactcheck"], material)
    if "condaqa" in folders:
        made += _condaqa(folders["condaqa"])
    return made


FAMILY = Family(
    "negation",
    "does *not* turn a statement round, and *without* exclude something?",
    negation_probes,
    ("semantoneg", "wikifactcheck", "condaqa"),
)
