"""IBM Model 1: how likely a query is, if each of its words translates a word of the document.

With T(t|u) the probability that document word u is asked for with query word t (`termwise.translation`), tf the
occurrences of u in the document and |D| its words, a query word is drawn from the document with probability

    m(t, D) = sum over u of T'(t|u) * tf(u, D) / |D|,        T'(t|u) = (1 - p) * T(t|u) + p * [t = u]

p being the probability of self-translation: of a word that is asked for with itself. That is mixed with the collection
(Boytsov & Kolter, ECIR 2021, arXiv 2102.06815, after Berger & Lafferty, SIGIR 1999):

    P(t|D) = (1 - lambda) * m(t, D) + lambda * P(t|C),        P(t|C) = 0.9 * P(t|bitext) + 0.1 * cf(t) / C

where cf(t) of the C words of the collection are t, and P(t|bitext) is its share of the words of the training pairs.
This is the background ``smoothed``; ``bitext`` and ``collection`` are one of the two alone. 1e-9 is the least P(t|C).

Compiled, a document holds every term that its words can be translated to:

    w(t, D) = ln(P(t|D) / (lambda * P(t|C))) = ln(1 + (1 - lambda) * m(t, D) / (lambda * P(t|C)))

which is 0 where m is, so that the sum over the words of a query, repetitions counted, is ln P(q|D) less a constant of
the query. With lambda = 0 there is no collection to measure by, and m counts as at least 1e-8:

    w(t, D) = ln max(1, m(t, D) / 1e-8),        floor(t) = ln 1e-8

A document of a few hundred words translates to thousands. Where only some weights are kept, it is those for which

    sqrt(m(t, D) * P(t|C)) * (w(t, D) - w(t, C))

is largest: how likely the term is asked for, between what the document and what the background says of it, times how
much more it weighs here than in the collection taken as one document. (The heaviest weights would be those of the
rarest words, which nobody asks for.)

What the published code [1]_ does otherwise, and this does not:

- It divides by the number of different words of the query. That is the same number for all documents, and no part of
  an index; where systems are mixed, the scaling ``query-length`` divides by the words of the query.
- Its export of rows leaves out words without a row in the table, and with them their self-translation. Here every word
  translates to itself.
- Without smoothing, its exported weights are below 0, so that a word that is absent, 0, is worth more than one that is
  there. Here weights are above the floor.
- Probabilities are cut twice, before and after they are scaled. Here `least` is compared with T as it was trained.
- P(t|C) is counted in the training pairs alone (``background=bitext`` here); the paper counts the collection.

A query word that is no term of the index adds nothing. With lambda = 0 it would add its floor, a constant.

.. [1] https://github.com/oaqa/FlexNeuART
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.models.attachments import TranslationColumns
from termwise.models.base import QueryWeighting
from termwise.models.checks import check_choice, check_counts, check_name, check_number, check_whole
from termwise.text import AnalyzerSpec, Vocabulary
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics
    from termwise.translation import TranslationTable


def _is_probability(value: float) -> bool:
    return 0 <= value <= 1


_RANGES: tuple[tuple[str, Callable[[float], bool], str], ...] = (
    ("self_translation", _is_probability, "a number from 0 to 1"),
    ("least", _is_probability, "a number from 0 to 1"),
    ("lambda_", lambda value: value == 0 or 1e-9 <= value < 1, "0, or a number from 1e-9 to below 1"),
    ("prune", lambda value: value >= 0, "a number of 0 or more"),
)


@dataclass(frozen=True, kw_only=True)
class Model1:
    """A translation table compiled into rows; the formulae stand at the top of the module.

    Parameters
    ----------
    table : str
        Name of a translation table that ships with the package, or a folder as ``termwise train model1`` writes it. It
        is read when an index is built and not afterwards.
    self_translation : float, optional
        p, from 0 to 1: the probability that a word is asked for with itself.
    self_mode : {"add", "set"}, optional
        Whether p joins what the table says of T(u|u), or stands in its place.
    renormalise : bool, optional
        Scale what `least` and `self_mode` leave of each row of the table to a sum of 1.
    least : float, optional
        Probabilities of the table below this are left out, before anything is scaled; from 0 to 1.
    lambda_ : float, optional
        Share of the collection in the mixture, 0 or from 1e-9 to below 1; ``lambda`` on the command line.
    background : {"smoothed", "bitext", "collection"}, optional
        Where P(t|C) is counted: in the pairs that the table was trained on (``bitext``), in the documents that are
        indexed (``collection``), or nine parts in the pairs and one in the documents (``smoothed``).
    keep : int, optional
        How many weights of a document are kept: those that tell most, see above; 0 for all, which makes a large index.
    prune : float, optional
        Weights below this are left out.

    Raises
    ------
    ParameterError
        If a value is out of range.
    UnknownNameError
        If there is no such mode or background.

    Examples
    --------
    >>> Model1(table="my-table", lambda_=0.1).parameters()["lambda"]
    0.1
    """

    table: str = "model1"
    self_translation: float = 0.1
    self_mode: Literal["add", "set"] = "add"
    renormalise: bool = False
    least: float = 1e-3
    lambda_: float = 0.3
    background: Literal["smoothed", "bitext", "collection"] = "smoothed"
    keep: int = 256
    prune: float = 0.0

    name: ClassVar[str] = "model1"

    def __post_init__(self) -> None:
        check_name(self.name, "table", self.table)
        check_choice(self.name, "self_mode", self.self_mode, ("add", "set"))
        check_choice(self.name, "background", self.background, ("smoothed", "bitext", "collection"))
        if not isinstance(self.renormalise, bool):
            raise ParameterError(
                "renormalise of model1 is true or false", facts=[("given", repr(self.renormalise))]
            )
        if self.lambda_ == 1:
            raise ParameterError(
                "with lambda = 1 a document has no say: every score is that of the collection alone",
                facts=[("lambda", self.lambda_), ("expected", "0, or a number from 1e-9 to below 1")],
                fixes=["--set lambda=0.3"],
            )
        for field, holds, expected in _RANGES:
            value = check_number(
                self.name, field.rstrip("_"), getattr(self, field), holds=holds, expected=expected
            )
            object.__setattr__(self, field, value)
        keep = check_whole(self.name, "keep", self.keep, least=0, most=(1 << 31) - 1)
        object.__setattr__(self, "keep", keep)

    @property
    def query_weighting(self) -> QueryWeighting:
        """``"counts"``: every occurrence of a word in the query is a factor of the likelihood."""
        return "counts"

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name."""
        return {name.rstrip("_"): value for name, value in dataclasses.asdict(self).items()}

    @cached_property
    def _translations(self) -> TranslationTable:
        """The table as it scores, read once."""
        from termwise.translation import for_scoring, open_table

        table = open_table(self.table)
        return for_scoring(table, least=self.least, mode=self.self_mode, renormalise=self.renormalise)

    @cached_property
    def table_id(self) -> str:
        """``sha256:`` and a digest of the table as it was written: equal ids mean equal tables."""
        from termwise.translation.table_folder import read_manifest

        return read_manifest(self.table).id

    @property
    def analyzer(self) -> AnalyzerSpec:
        """What cut the texts that the table was trained on."""
        return self._translations.analyzer

    @cached_property
    def added_terms(self) -> tuple[str, ...]:
        """All terms that words are translated to."""
        table = self._translations
        asked_for = np.flatnonzero(np.bincount(table.targets, minlength=len(table)))
        return tuple(table.vocabulary.token(term) for term in asked_for.tolist())

    def over(self, vocabulary: Vocabulary) -> CompiledModel1:
        """Return what weighs counts over a vocabulary."""
        return CompiledModel1(self, vocabulary.id, *_renumbered(self._translations, vocabulary))

    def files(self, vocabulary: Vocabulary, statistics: CollectionStatistics) -> dict[str, bytes]:
        """Return the translations of words that the collection holds, by which explanations share a weight out."""
        from termwise.kernels.translation import transpose

        compiled = self.over(vocabulary)
        held = statistics.collection_frequencies[compiled.sources] > 0
        starts = np.concatenate(([0], np.cumsum(held)))[compiled.starts]
        columns = transpose(starts, compiled.targets[held], compiled.chances[held])
        return TranslationColumns(
            columns[0], columns[1].astype(np.uint32), columns[2].astype(np.float16)
        ).files()


@dataclass(frozen=True, eq=False)
class CompiledModel1:
    """`Model1` over the vocabulary of an index: a model of counts.

    Attributes
    ----------
    model : Model1
        The parameters.
    vocabulary : str
        `Vocabulary.id` of V terms.
    starts : ndarray of shape (V + 1,), int64
        Boundaries of the sources in the two arrays that follow.
    targets : ndarray of shape (entries,), int32
        Increasing for each source; places in `asked` where that is given.
    chances : ndarray of shape (entries,), float32
        T(t|u), without self-translation.
    bitext : ndarray of shape (V,), float64
        P(t|bitext), the share of its source side that each term is.
    asked : ndarray of shape (W,), int32; or None
        The terms that are weighed, increasing; None for all.
    """

    model: Model1
    vocabulary: str
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]
    chances: npt.NDArray[np.float32]
    bitext: npt.NDArray[np.float64]
    asked: npt.NDArray[np.int32] | None = None

    @property
    def name(self) -> str:
        """``model1``."""
        return self.model.name

    @property
    def sources(self) -> npt.NDArray[np.int64]:
        """The source of each probability."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def query_weighting(self) -> QueryWeighting:
        """``"counts"``."""
        return self.model.query_weighting

    @property
    def background(self) -> bool:
        """False: nothing is added whatever the query."""
        return False

    def parameters(self) -> dict[str, object]:
        """Return the parameters of the model."""
        return self.model.parameters()

    def floors(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64] | None:
        """Return None, or ln 1e-8 for each term where nothing is smoothed."""
        from termwise.kernels.translation import LEAST_MEAN

        return None if self.model.lambda_ > 0 else np.full(statistics.n_terms, np.log(LEAST_MEAN))

    def narrowed(self, terms: npt.NDArray[np.int32]) -> CompiledModel1:
        """Return a model that translates to these terms alone, which weighs them as this one does, and sooner.

        Where only some weights of a row are kept, all have to be known to choose them: then it is this one itself.

        Parameters
        ----------
        terms : ndarray of int32
            Those that queries ask for, increasing.
        """
        if self.model.keep:
            return self
        targets = self.targets if self.asked is None else self.asked[self.targets]
        places = self._places(terms)[targets]
        kept = places >= 0
        before = np.concatenate(([0], np.cumsum(kept)))
        return dataclasses.replace(
            self, starts=before[self.starts], targets=places[kept], chances=self.chances[kept], asked=terms
        )

    def _places(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the place of each term of the vocabulary among these, or -1."""
        found = np.full(len(self.starts) - 1, -1, dtype=np.int32)
        found[terms] = np.arange(len(terms), dtype=np.int32)
        return found

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of weights.

        Parameters
        ----------
        counts : TermWeights of n rows
            How often each term occurs in each document.
        statistics : CollectionStatistics
            Of the whole collection.

        Returns
        -------
        TermWeights of n rows
            Weights above 0. An empty row stays empty.

        Raises
        ------
        WeightError
            If the counts are not counts, or the statistics are of another collection.
        VocabularyMismatchError
            If rows or statistics are over another vocabulary.
        """
        from termwise.kernels.translation import model1_weights, usual_weights
        from termwise.translation.background import background_probabilities

        check_counts(counts, statistics)
        if counts.vocabulary != self.vocabulary or statistics.n_terms != len(self.starts) - 1:
            raise VocabularyMismatchError(
                "the rows are over another vocabulary than the table was prepared for",
                facts=[
                    ("rows", short_digest(counts.vocabulary)),
                    ("table", short_digest(self.vocabulary)),
                    ("terms of the statistics", statistics.n_terms),
                    ("of the table", len(self.starts) - 1),
                ],
                fixes=["Model1.over(vocabulary) with the vocabulary of the rows"],
            )
        probabilities = background_probabilities(self.model.background, statistics.probabilities, self.bitext)
        usual = np.empty(0, dtype=np.float64)
        if self.model.keep:
            usual = usual_weights(
                self.starts, self.targets, self.chances, statistics.probabilities, probabilities,
                self.model.self_translation, self.model.lambda_,
            )  # fmt: skip
        asked = np.arange(statistics.n_terms, dtype=np.int32) if self.asked is None else self.asked
        indptr, places, weights = model1_weights(
            counts.indptr, counts.terms, counts.weights,
            self.starts, self.targets, self.chances, self._places(asked), probabilities[asked],
            self.model.self_translation, self.model.lambda_, self.model.prune, self.model.keep, usual,
        )  # fmt: skip
        return TermWeights(indptr, asked[places], weights, counts.vocabulary)


def _renumbered(
    table: TranslationTable, vocabulary: Vocabulary
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """Return rows of a table, and P(t|bitext), over another vocabulary, without what that lacks."""
    bitext = table.occurrences / max(1, int(table.occurrences.sum()))
    if table.vocabulary.id == vocabulary.id:
        return table.indptr, table.targets, table.probabilities, bitext
    found = (vocabulary.number(token) for token in table.vocabulary)
    numbers = np.array([-1 if number is None else number for number in found], dtype=np.int32)
    sources, targets = numbers[table.sources], numbers[table.targets]
    kept = np.flatnonzero((sources >= 0) & (targets >= 0))
    order = kept[np.lexsort((targets[kept], sources[kept]))]
    starts = np.concatenate(([0], np.cumsum(np.bincount(sources[order], minlength=len(vocabulary)))))
    renumbered = np.zeros(len(vocabulary), dtype=np.float64)
    renumbered[numbers[numbers >= 0]] = bitext[numbers >= 0]
    return starts, targets[order], table.probabilities[order], renumbered
