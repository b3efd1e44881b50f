"""Probes of the axioms, over constructed pairs and over judged texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from math import isqrt
from random import Random

from termwise.probes.axioms.axiom import MARGIN, Axiom, Idf, TermReader, idf_of
from termwise.probes.axioms.coverage import AND, DIV, M_AND
from termwise.probes.axioms.length import LNC1, LNC2, TF_LNC
from termwise.probes.axioms.lower_bound import LB1, LB2
from termwise.probes.axioms.proximity import PROX1, PROX2, PROX3, PROX4, PROX5
from termwise.probes.axioms.semantics import REG, STMC1, STMC2
from termwise.probes.axioms.sentence_templates import TemplateData, TemplateSampler, template_data
from termwise.probes.axioms.term_frequency import MTDC, TFC1, TFC2, TFC3
from termwise.probes.axioms.word_similarity import RelatedWords, Similarity, WordVectors
from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.core.probe import Probe, Strategy
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.text import Analyzer, make_analyzer
from termwise.validation import check, check_count, is_finite_number

AXIOMS: tuple[Axiom, ...] = (
    *(TFC1, TFC2, TFC3, MTDC),
    *(LB1, LB2),
    *(LNC1, LNC2, TF_LNC),
    *(PROX1, PROX2, PROX3, PROX4, PROX5),
    *(STMC1, STMC2, REG),
    *(AND, M_AND, DIV),
)
"""In the order of tables."""

CONSTRUCTED = "constructed"
"""Collection in names of probes of constructed pairs."""

MAX_SAMPLES = 20_000
"""Default upper bound for the samples of a probe over judged texts."""

MAX_CANDIDATES = 100_000
"""Upper bound for the pairs of a query that are examined."""

VECTORS = "word-vectors"
"""Name of the file of word vectors in `ProbeInputs.folders`."""

_COMMON_IDF, _RARE_IDF = 1.0, 2.0


class _AxiomProbe(Probe):
    """Probe with the name, title and definition of an axiom."""

    strategy: Strategy = "axiom"

    def __init__(self, axiom: Axiom, collection: str) -> None:
        self.name = f"{axiom.name}@{collection}"
        self.title = axiom.title
        self.definition = axiom.definition


class ConstructedProbe(_AxiomProbe):
    """Pairs that meet the condition of an axiom exactly; a positive effect agrees with the axiom.

    Each pair is verified by the definition of the axiom, with margin 0: a pair that violates the condition under the
    analyzer, because two words have the same term, is left out. Only the rare words of the data count as rarer than
    others, and its groups of related words define similarity.
    """

    def __init__(self, axiom: Axiom, data: TemplateData, reader: TermReader) -> None:
        super().__init__(axiom, CONSTRUCTED)
        self._axiom = axiom
        self._data = data
        self._reader = reader

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`. Sentences, nouns, places and the varied term are random; the queries are fixed."""
        rare = {term for word, _ in self._data.rare for term in self._reader.terms(word).tokens}
        similarity = RelatedWords(self._data.related, self._reader.analyzer)
        sampler = TemplateSampler(self._data, partial(random_for, seed, self.name))
        for sample in self._axiom.construct(sampler):
            query = self._reader.query(
                sample.query, lambda term: _RARE_IDF if term in rare else _COMMON_IDF, similarity
            )
            first, second = (
                self._axiom.measure(query, self._reader.terms(text)) for text in (sample.first, sample.second)
            )
            if self._axiom.prefers(query, first, second, 0.0):
                yield sample


@dataclass(eq=False)
class JudgedAxiomProbe(_AxiomProbe):
    """Pairs of judged texts of a query that meet the condition of an axiom; a positive effect agrees with the axiom.

    Grades are not used. All queries have an equal share of at most `most` samples, at least one. If more pairs of a
    query meet the condition, a random part is used; of more than 100,000 pairs, a random part is examined. `idf` and
    `similarity` are called when samples are made, and return the rarity of terms and the similarity of words.
    """

    axiom: Axiom
    judged: JudgedTexts
    reader: TermReader
    margin: float
    idf: Callable[[], Idf]
    similarity: Callable[[], Similarity]
    most: int

    def __post_init__(self) -> None:
        super().__init__(self.axiom, self.judged.name)

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        idf, similarity = self.idf(), self.similarity()
        share = max(1, self.most // max(1, len(self.judged.grades)))
        for query_id in sorted(self.judged.grades):
            texts = self.judged.of(query_id)
            query = self.reader.query(self.judged.queries[query_id], idf, similarity)
            measured = [self.axiom.measure(query, self.reader.terms(text.text)) for text in texts]
            made = 0
            for pair in random_pairs(len(texts), random_for(seed, self.name, query_id)):
                for first, second in (pair, pair[::-1]):
                    if self.axiom.prefers(query, measured[first], measured[second], self.margin):
                        yield _sample(texts[first], texts[second])
                        made += 1
                        break
                if made == share:
                    break


def random_pairs(number: int, random: Random, most: int = MAX_CANDIDATES) -> Iterator[tuple[int, int]]:
    """Yield pairs of different integers below `number`, the larger first, in random order, at most `most`.

    Examples
    --------
    >>> sorted(random_pairs(3, Random(1)))
    [(1, 0), (2, 0), (2, 1)]
    """
    total = number * (number - 1) // 2
    for place in random.sample(range(total), min(total, most)):
        larger = (1 + isqrt(1 + 8 * place)) // 2
        yield larger, place - larger * (larger - 1) // 2


def _sample(first: JudgedText, second: JudgedText) -> Sample:
    return Sample(
        sample_id=f"{first.query_id}/{first.doc_id}/{second.doc_id}",
        query=first.query,
        first=first.text,
        second=second.text,
        query_id=first.query_id,
        facts={"documents": [first.doc_id, second.doc_id], "grades": [first.grade, second.grade]},
    )


class RepeatedTextProbe(_AxiomProbe):
    """LNC2 with judged texts: each text twice, against the text once. Only negative effects violate the axiom.

    Empty texts make no sample. Of more than `most` texts, a random part is used.
    """

    def __init__(self, judged: JudgedTexts, most: int = MAX_SAMPLES) -> None:
        super().__init__(LNC2, judged.name)
        self._judged = judged
        self._most = most

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        texts = [text for text in self._judged if text.text.strip()]
        if len(texts) > self._most:
            texts = random_for(seed, self.name).sample(texts, self._most)
        for text in texts:
            yield Sample(
                sample_id=text.judgment_id,
                query=text.query,
                first=f"{text.text} {text.text}",
                second=text.text,
                query_id=text.query_id,
                facts={"document": text.doc_id, "grade": text.grade},
            )


def axiom_probes(
    inputs: ProbeInputs, *, analyzer: Analyzer | None = None, margin: float = MARGIN, most: int = MAX_SAMPLES
) -> list[Probe]:
    """Make the probes of all axioms.

    Probes ``tfc1@constructed`` and so on consist of constructed texts. Probes ``tfc1@COLLECTION`` consist of judged
    texts; the rarity of terms is counted in the judged texts of the collection. Similarity of words comes from the
    shipped groups of words or, for judged texts, from the file ``word-vectors`` of the user. There are few groups, so
    STMC1, STMC2 and REG find few pairs without the file. The analyzer, ``english`` by default, defines the terms.
    Probes over judged texts have at most `most` samples and use the margin, from 0 to less than 1.

    Examples
    --------
    >>> from termwise.probes.language import open_language
    >>> probes = axiom_probes(ProbeInputs(open_language("rules"), frozenset()))
    >>> [probe.name for probe in probes][:2]
    ['tfc1@constructed', 'tfc2@constructed']
    """
    check("margin", margin, is_finite_number(margin) and 0 <= margin < 1, "a number from 0 to less than 1")
    check_count("most", most)
    chosen = make_analyzer("english") if analyzer is None else analyzer
    data, reader = template_data(), TermReader(chosen)
    probes: list[Probe] = [ConstructedProbe(axiom, data, reader) for axiom in AXIOMS]
    path = inputs.folders.get(VECTORS)

    @cache
    def similarity() -> Similarity:
        return RelatedWords(data.related, chosen) if path is None else WordVectors.read(path, chosen)

    for judged in inputs.judged:
        own_reader = TermReader(chosen)
        idf = cache(partial(idf_of, own_reader, judged.texts.values()))
        probes += [
            JudgedAxiomProbe(axiom, judged, own_reader, margin, idf, similarity, most)
            for axiom in AXIOMS
            if axiom.in_judged_texts
        ]
        probes.append(RepeatedTextProbe(judged, most))
    return probes


FAMILY = Family("axioms", "agreement with retrieval axioms", axiom_probes, (VECTORS,))
