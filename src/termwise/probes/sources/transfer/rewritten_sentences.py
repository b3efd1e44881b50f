"""Data sets of rewritten texts: MSPC, JFLEG, TurkCorpus, OneStopEnglish and the Wikipedia neutrality corpus.

==============  ======================================================================================================
MSPC            Sentences from the news that people call paraphrases (Dolan & Brockett, 2005). Symmetric
JFLEG           Sentences by learners of English, corrected by four people (Napoles et al., EACL 2017). The second
                probe compares corrections with spell-checked sentences; in the test split these are in lower case and
                their corrections are not
TurkCorpus      Sentences from Wikipedia, each simplified by eight people (Xu et al., TACL 2016), in lower case and
                tokenised. Files with capitals make a separate probe
OneStopEnglish  News for learners at three levels (Vajjala & Lucic, BEA 2018): whole articles, whose query is their
                topic, and aligned sentences
WNC             Sentences from Wikipedia before and after an edit for a neutral point of view (Pryzant et al., AAAI
                2020)
==============  ======================================================================================================

As published, pairs of identical texts are left out, except in JFLEG and TurkCorpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from termwise.collection import read_lines
from termwise.errors import MalformedRecordError, MissingFileError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import find_layout
from termwise.probes.sources.transfer.pair_files import by_source, digest_of, parallel_lines, read_pairs
from termwise.probes.sources.transfer.pairs import TextPair, common_chunk
from termwise.probes.sources.transfer.probe import Layout, PairDataSet, PairProbe, by_layout, pair_layout

_MSPC_COLUMNS = "Quality, #1 ID, #2 ID, #1 String, #2 String"
_SPELL_CHECKED = "spell-checked"
_TURK_SPLITS = ("test", "tune")


def _mspc(split: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    for number, line in read_lines(paths[0]):
        if number == 1:
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 5 or columns[0] not in ("0", "1"):
            expected = f"5 columns: {_MSPC_COLUMNS}"
            raise MalformedRecordError.at(paths[0], number, expected=expected, seen=line)
        quality, first_id, second_id, first, second = columns
        if quality == "1":
            source = {"split": split, "id_a": first_id, "id_b": second_id}
            yield TextPair(f"mspc-{split}-{number - 2}", first, second, facts={"source": source})


MSPC = PairDataSet(
    by_layout(
        "the Microsoft Research paraphrase corpus",
        pair_layout("pairs", keep=lambda record: bool(record.get("paraphrase", True))),
        Layout("original", {split: [f"msr_paraphrase_{split}.txt"] for split in ("train", "test")}, _mspc),
    ),
    common_chunk,
    (
        PairProbe(
            "paraphrase@mspc",
            "Paraphrase MSPC",
            "Two sentences from the news that people call paraphrases; neither comes first.",
            symmetric=True,
        ),
    ),
)


def _jfleg_pairs(split: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    second = ("doc_b_spellchecked",) if variant == _SPELL_CHECKED else ("doc_b",)
    return read_pairs(paths[0], second=second, group=by_source("split", "line"))


def _jfleg(split: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    for line, (original, checked, *corrections) in parallel_lines(paths):
        for reference, correction in enumerate(corrections):
            yield TextPair(
                f"jfleg-{split}-{line}-{reference}",
                correction,
                checked if variant == _SPELL_CHECKED else original,
                group=f"{split}-{line}",
                facts={"source": {"split": split, "line": line, "ref": reference}},
            )


JFLEG = PairDataSet(
    by_layout(
        "JFLEG",
        Layout("pairs", {split: [f"{split}.jsonl"] for split in ("dev", "test")}, _jfleg_pairs),
        Layout(
            "original",
            {
                split: [
                    f"{split}.src",
                    f"{split}.spellchecked.src",
                    *(f"{split}.ref{number}" for number in range(4)),
                ]
                for split in ("dev", "test")
            },
            _jfleg,
        ),
    ),
    common_chunk,
    (
        PairProbe(
            "fluency@jfleg",
            "Fluency JFLEG",
            define_pair("the correction of a sentence by a learner of English", "the original sentence"),
            keep_identical=True,
        ),
        PairProbe(
            "fluency-spellchecked@jfleg",
            "Fluency JFLEG (spell-checked)",
            define_pair("the correction of a sentence by a learner of English", "the spell-checked sentence"),
            variant=_SPELL_CHECKED,
            keep_identical=True,
        ),
    ),
)


def _turkcorpus(split: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    for line, texts in parallel_lines(paths):
        original, *simpler = (text.replace("-lrb-", "(").replace("-rrb-", ")") for text in texts)
        for person, text in enumerate(simpler):
            yield TextPair(
                f"wikiturk-{split}-{line}-{person}",
                text,
                original,
                group=f"{split}-{line}",
                facts={"source": {"split": split, "line": line, "turker": person}},
            )


def _simplified(name: str, title: str) -> tuple[PairProbe, ...]:
    definition = define_pair("a simplified sentence from Wikipedia", "the original sentence")
    return (PairProbe(name, title, definition, keep_identical=True),)


_TURKCORPUS = PairDataSet(
    by_layout(
        "TurkCorpus",
        pair_layout(*_TURK_SPLITS, group=by_source("split", "line")),
        Layout(
            "original",
            {
                split: [
                    f"{split}.8turkers.tok.norm",
                    *(f"{split}.8turkers.tok.turk.{number}" for number in range(8)),
                ]
                for split in _TURK_SPLITS
            },
            _turkcorpus,
        ),
    ),
    common_chunk,
    _simplified("simplicity@turkcorpus", "Simplicity TurkCorpus"),
)

_TURKCORPUS_CASED = PairDataSet(
    by_layout(
        "TurkCorpus with capitals",
        pair_layout(*(f"{split}.truecased" for split in _TURK_SPLITS), group=by_source("split", "row")),
    ),
    common_chunk,
    _simplified("simplicity-cased@turkcorpus", "Simplicity TurkCorpus (cased)"),
)


def turkcorpus(folder: Path, inputs: ProbeInputs) -> list[Probe]:
    """Make the probe of TurkCorpus, and the one with capitals if its files exist."""
    probes = _TURKCORPUS(folder, inputs)
    try:
        return [*probes, *_TURKCORPUS_CASED(folder, inputs)]
    except MissingFileError:
        return probes


def _onestop(part: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    """Read blocks of an advanced sentence, an elementary one and a row of asterisks."""
    block: list[str] = []
    blocks = 0
    for number, line in read_lines(paths[0]):
        if not line.startswith("***"):
            block.append(line.strip())
            continue
        if len(block) != 2:
            expected = "two sentences before a row of asterisks"
            raise MalformedRecordError.at(paths[0], number, expected=expected, seen=f"{len(block)}")
        advanced, elementary = block
        source = {"file": "ADV-ELE", "block": blocks}
        yield TextPair(f"onestop-ADV-ELE-{blocks}", elementary, advanced, facts={"source": source})
        block, blocks = [], blocks + 1


_ONESTOP = "OneStopEnglish"
_ARTICLES = (pair_layout("documents"),)
_SENTENCES = (
    pair_layout("sentences_adv-ele"),
    Layout("original", {"sentences": ["ADV-ELE.txt"]}, _onestop),
)


def onestop(folder: Path, inputs: ProbeInputs) -> list[Probe]:
    """Make the probes of OneStopEnglish whose files exist: articles, sentences or both."""
    all_parts = {name: names for each in (*_ARTICLES, *_SENTENCES) for name, names in each.parts.items()}
    find_layout(folder, _ONESTOP, {part: {"all": names} for part, names in all_parts.items()})
    probes: list[Probe] = []
    for layouts, text, name, title in (
        (_ARTICLES, "an article", "simplicity@onestop", "Simplicity OneStopEnglish"),
        (
            _SENTENCES,
            "a sentence",
            "simplicity-sentences@onestop",
            "Simplicity OneStopEnglish (sentences)",
        ),
    ):
        definition = define_pair(
            f"{text} from the news in elementary English", "the same in advanced English"
        )
        rows = (PairProbe(name, title, definition),)
        try:
            probes += PairDataSet(by_layout(_ONESTOP, *layouts), common_chunk, rows)(folder, inputs)
        except MissingFileError:
            continue
    return probes


def _wnc(part: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    """Read tab-separated lines: the revision first, the biased text fourth, the neutral one fifth."""
    seen: set[str] = set()
    for number, line in read_lines(paths[0]):
        columns = line.split("\t")
        if len(columns) < 5:
            raise MalformedRecordError.at(paths[0], number, expected="5 columns or more", seen=line)
        revision, biased, neutral = columns[0].strip(), columns[3].strip(), columns[4].strip()
        pair_id = f"wnc-{revision}-{digest_of(biased, neutral)}"
        if pair_id not in seen:
            seen.add(pair_id)
            facts = {"source": {"revision": revision}}
            yield TextPair(pair_id, neutral, biased, group=f"revision {revision}", facts=facts)


WNC = PairDataSet(
    by_layout(
        "the Wikipedia neutrality corpus",
        Layout("original", {"all": ["biased.full"]}, _wnc),
        pair_layout("train", "test"),
    ),
    common_chunk,
    (
        PairProbe(
            "neutrality@wnc",
            "Neutrality WNC",
            define_pair(
                "a sentence from Wikipedia after an edit for a neutral point of view",
                "the sentence before the edit",
            ),
        ),
    ),
)
