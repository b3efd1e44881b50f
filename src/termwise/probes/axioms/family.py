"""The axioms, with texts that come with the package and with each judged collection."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from termwise.probes.axioms.base import MARGIN
from termwise.probes.axioms.constructed import ConstructedProbe
from termwise.probes.axioms.judged_pairs import MOST, AxiomProbe
from termwise.probes.axioms.length import RepeatedTexts
from termwise.probes.axioms.registry import REGISTRY, axiom_named
from termwise.probes.axioms.scenes import Written
from termwise.probes.axioms.term_reader import TermReader, idf_of
from termwise.probes.axioms.word_similarity import Likeness, RelatedWords, WordVectors
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.text import Analyzer, make_analyzer
from termwise.validation import check, is_finite_number

VECTORS = "word-vectors"
"""The name among the data sets of a user under which a file of word vectors is looked for."""


def axiom_probes(
    material: ProbeInputs,
    *,
    analyzer: Analyzer | None = None,
    margin: float = MARGIN,
    most: int = MOST,
) -> list[Probe]:
    """Make the probes of all axioms.

    Those named ``tfc1@constructed`` and so on are made of sentences that come with the package. Those named
    ``tfc1@COLLECTION`` are pairs of judged texts; how rare terms are is counted in the judged texts of the collection.
    What is near in meaning comes from the groups of words in the package or, for judged texts, from the file that the
    material names ``word-vectors``: the groups are few, and without the file STMC1, STMC2 and REG find little there.

    Parameters
    ----------
    material : ProbeInputs
    analyzer : Analyzer, optional
        What counts as a term; ``english`` unless given.
    margin : float, optional
        Numbers of judged texts that differ by no more than this share count as equal: from 0, exactly equal, to less
        than 1.
    most : int, optional
        Samples of each probe over judged texts at most.

    Examples
    --------
    >>> from termwise.probes.language.open_language import open_language
    >>> probes = axiom_probes(ProbeInputs(open_language("rules"), frozenset()))
    >>> [probe.name for probe in probes][:2]
    ['tfc1@constructed', 'tfc2@constructed']
    """
    check("margin", margin, is_finite_number(margin) and 0 <= margin < 1, "a number from 0 to less than 1")
    chosen = make_analyzer("english") if analyzer is None else analyzer
    written, reader = Written.shipped(), TermReader(chosen)
    probes: list[Probe] = [
        ConstructedProbe(
            each.name,
            each.title,
            each.definition,
            axiom=each.exact,
            construct=each.construct,
            written=written,
            reader=reader,
        )
        for each in REGISTRY
    ]
    vectors = material.folders.get(VECTORS)

    def likeness() -> Likeness:
        return RelatedWords(written.related, chosen) if vectors is None else WordVectors.read(vectors, chosen)

    once = cache(likeness)
    for judged in material.judged:
        probes += _found(judged, TermReader(chosen), once, margin, most)
    return probes


def _found(
    judged: JudgedTexts, reader: TermReader, likeness: Callable[[], Likeness], margin: float, most: int
) -> list[Probe]:
    """Make the probes of one collection."""
    idf = cache(lambda: idf_of(reader, judged.texts.values()))
    probes: list[Probe] = [
        AxiomProbe(
            each.name,
            each.title,
            each.definition,
            axiom=each.define(margin),
            judged=judged,
            reader=reader,
            idf=idf,
            likeness=likeness,
            most=most,
        )
        for each in REGISTRY
        if each.among_real
    ]
    lnc2 = axiom_named("lnc2")
    return [*probes, RepeatedTexts(judged, title=lnc2.title, definition=lnc2.definition, most=most)]


FAMILY = Family("axioms", "does the ranker prefer what retrieval axioms prefer?", axiom_probes, (VECTORS,))
