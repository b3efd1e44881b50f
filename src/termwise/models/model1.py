"""IBM Model 1: query likelihood with translation from document words to query words.

Let T(t|u) be the probability of query word t given document word u (`termwise.translation`), tf(u, D) the number of
occurrences of u in the document, and |D| the number of its words. The document model is

    m(t, D) = sum over u of T'(t|u) * tf(u, D) / |D|,        T'(t|u) = (1 - p) * T(t|u) + p * [t = u]

where p is the probability of self-translation, that is, of a word to itself. The document model is smoothed with the
collection (Boytsov & Kolter, ECIR 2021, arXiv 2102.06815, after Berger & Lafferty, SIGIR 1999):

    P(t|D) = (1 - lambda) * m(t, D) + lambda * P(t|C),        P(t|C) = 0.9 * P(t|bitext) + 0.1 * cf(t) / C

cf(t) is the number of occurrences of t in the collection, C the number of words of the collection, and P(t|bitext) the
relative frequency of t in the training pairs. This is the background ``smoothed``; ``bitext`` and ``collection`` use
one of the two alone. P(t|C) is at least 1e-9.

The row of a document holds every term that its words translate to:

    w(t, D) = ln(P(t|D) / (lambda * P(t|C))) = ln(1 + (1 - lambda) * m(t, D) / (lambda * P(t|C)))

which is 0 where m is 0, so the sum over the words of a query, including repetitions, is ln P(q|D) minus a constant of
the query. With lambda = 0 there is no smoothing, and m is at least 1e-8:

    w(t, D) = ln max(1, m(t, D) / 1e-8),        floor(t) = ln 1e-8

A document of a few hundred words translates to thousands of terms. `keep` keeps those with the largest

    sqrt(m(t, D) * P(t|C)) * (w(t, D) - w(t, C))

The first factor is the geometric mean of the term's probability in the document and in the background; the second
compares its weight with that in the whole collection as one document. (The largest weights alone would select the
rarest words, which few queries contain.)

Departures from the published code [1]_:

- It divides by the number of distinct query words, which is the same for all documents and not part of an index; for
  fusion, the scaling ``query-length`` divides by the words of the query.
- Its export omits words without a row in the table, and their self-translation. Here every word translates to itself.
- Without smoothing, its exported weights are below 0, so that an absent word, with weight 0, scores higher than a
  present one. Here weights are relative to the floor.
- It applies the threshold for probabilities before and after scaling. Here `least` applies to T as trained.
- It counts P(t|C) in the training pairs (``background=bitext`` here); the paper counts in the collection.

A query word outside the vocabulary of the index adds nothing. With lambda = 0 it would add its floor, a constant.

.. [1] https://github.com/oaqa/FlexNeuART
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.models.attachments import TranslationColumns
from termwise.models.base import CountModel
from termwise.models.checks import UNIT, Range, between, check_counts
from termwise.text import AnalyzerSpec, Vocabulary
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics
    from termwise.translation import TranslationTable


@dataclass(frozen=True, kw_only=True)
class Model1(CountModel):
    """IBM Model 1 with a translation table; the module documents the formulas.

    Parameters
    ----------
    table : str
        Name of a translation table that ships with the package, or folder that `train_model1` wrote. Only building an
        index reads it.
    self_translation : float, optional
        p, from 0 to 1: probability that a word translates to itself.
    self_mode : {"add", "set"}, optional
        Whether p is added to T(u|u) of the table or replaces it.
    renormalise : bool, optional
        Scale each row of the table to a sum of 1 after `least` and `self_mode` were applied.
    least : float, optional
        Threshold for the probabilities of the table, applied before scaling; from 0 to 1.
    lambda_ : float, optional
        Weight of the collection model, 0 or from 1e-9 to below 1. The parameter is called ``lambda`` outside Python.
    background : {"smoothed", "bitext", "collection"}, optional
        Source of P(t|C): the training pairs of the table (``bitext``), the indexed documents (``collection``), or 0.9
        of the first and 0.1 of the second (``smoothed``).
    keep : int, optional
        Number of weights of a document, chosen by the formula of the module; 0 for all, which makes a large index.
    prune : float, optional
        Threshold for weights.

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
    expands: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Range]] = {
        "self_translation": UNIT,
        "least": UNIT,
        "lambda_": (lambda value: value == 0 or 1e-9 <= value < 1, "0, or a number from 1e-9 to below 1"),
        "keep": between(0, (1 << 31) - 1),
    }

    def __post_init__(self) -> None:
        if self.lambda_ == 1:
            raise ParameterError(
                "lambda = 1 ignores the document: every score is that of the collection",
                facts=[("lambda", self.lambda_), ("expected", "0, or a number from 1e-9 to below 1")],
                fixes=[Fix.use(**{"lambda": 0.3})],
            )
        super().__post_init__()

    @cached_property
    def _translations(self) -> TranslationTable:
        """The table after `least`, `self_mode` and `renormalise`; read once."""
        from termwise.translation import for_scoring, open_table

        table = open_table(self.table)
        return for_scoring(table, least=self.least, mode=self.self_mode, renormalise=self.renormalise)

    @cached_property
    def table_facts(self) -> dict[str, str]:
        """Name or path of the table, and its id ``sha256:…``, which is equal for equal tables."""
        from termwise.translation.table_folder import read_manifest

        return {"name": self.table, "id": read_manifest(self.table).id}

    @property
    def analyzer(self) -> AnalyzerSpec:
        """Analyzer of the training texts of the table."""
        return self._translations.analyzer

    @cached_property
    def added_terms(self) -> tuple[str, ...]:
        """All target terms of the table."""
        table = self._translations
        targets = np.flatnonzero(np.bincount(table.targets, minlength=len(table)))
        return tuple(table.vocabulary.token(term) for term in targets.tolist())

    def for_vocabulary(self, vocabulary: Vocabulary) -> CompiledModel1:
        """Return the model with its table renumbered for a vocabulary."""
        return CompiledModel1(self, vocabulary.id, *_renumbered(self._translations, vocabulary))

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Raise an error: only the model that `for_vocabulary` returns computes weights."""
        raise ParameterError(
            "the translation table is not numbered for the vocabulary of the rows",
            facts=[("table", self.table)],
            fixes=[Fix.python("model.for_vocabulary(vocabulary).weigh(counts, statistics)")],
        )

    def attachments(self, vocabulary: Vocabulary, statistics: CollectionStatistics) -> dict[str, bytes]:
        """Return the translation files of an index, restricted to source words of the collection."""
        from termwise.kernels.translation import transpose

        compiled = self.for_vocabulary(vocabulary)
        sources = np.repeat(np.arange(len(compiled.starts) - 1), np.diff(compiled.starts))
        occurs = statistics.collection_frequencies[sources] > 0
        starts = np.concatenate(([0], np.cumsum(occurs)))[compiled.starts]
        columns = transpose(starts, compiled.targets[occurs], compiled.chances[occurs])
        return TranslationColumns(
            columns[0], columns[1].astype(np.uint32), columns[2].astype(np.float16)
        ).files()


@dataclass(frozen=True, eq=False)
class CompiledModel1(CountModel):
    """`Model1` over a vocabulary of V terms.

    Attributes
    ----------
    starts : ndarray of shape (V + 1,), int64
        Boundaries of the sources in the two arrays that follow.
    targets : ndarray of shape (entries,), int32
        Increasing for each source; positions in `selected` unless that is None.
    chances : ndarray of shape (entries,), float32
        T(t|u), without self-translation.
    bitext : ndarray of shape (V,), float64
        P(t|bitext), the relative frequency of each term on the source side.
    selected : ndarray of shape (W,), int32; or None
        Terms to weigh, increasing; None for all.
    """

    model: Model1
    vocabulary: str
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]
    chances: npt.NDArray[np.float32]
    bitext: npt.NDArray[np.float64]
    selected: npt.NDArray[np.int32] | None = None

    name: ClassVar[str] = Model1.name
    expands: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Skip the checks: `Model1.for_vocabulary` and `restricted_to` compute valid fields."""

    def parameters(self) -> dict[str, object]:
        """Return the parameters of `model`."""
        return self.model.parameters()

    def floors(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64] | None:
        """Return None, or ln 1e-8 for each term if lambda is 0."""
        from termwise.kernels.translation import LEAST_MEAN

        return None if self.model.lambda_ > 0 else np.full(statistics.n_terms, np.log(LEAST_MEAN))

    def restricted_to(self, terms: npt.NDArray[np.int32]) -> CompiledModel1:
        """Return a model that translates to the given terms only, which is faster.

        With `Model1.keep` it is the same model, because choosing weights requires all of them.
        """
        if self.model.keep:
            return self
        targets = self.targets if self.selected is None else self.selected[self.targets]
        positions = self._positions(terms)[targets]
        kept = positions >= 0
        before = np.concatenate(([0], np.cumsum(kept)))
        return dataclasses.replace(
            self,
            starts=before[self.starts],
            targets=positions[kept],
            chances=self.chances[kept],
            selected=terms,
        )

    def _positions(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the position of each vocabulary term among the given ones, or -1."""
        positions = np.full(len(self.starts) - 1, -1, dtype=np.int32)
        positions[terms] = np.arange(len(terms), dtype=np.int32)
        return positions

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of weights above 0; see `CountModel.weigh`.

        Raises
        ------
        VocabularyMismatchError
            Also if rows or statistics have another vocabulary.
        """
        from termwise.kernels.translation import collection_weights, model1_weights
        from termwise.translation.background import background_probabilities

        check_counts(counts, statistics)
        if counts.vocabulary != self.vocabulary or statistics.n_terms != len(self.starts) - 1:
            raise VocabularyMismatchError(
                "the rows and the translation table have different vocabularies",
                facts=[
                    ("rows", short_digest(counts.vocabulary)),
                    ("table", short_digest(self.vocabulary)),
                    ("terms of the statistics", statistics.n_terms),
                    ("of the table", len(self.starts) - 1),
                ],
                fixes=[Fix.python("model.for_vocabulary(vocabulary)", "{} with the vocabulary of the rows")],
            )
        probabilities = background_probabilities(self.model.background, statistics.probabilities, self.bitext)
        in_collection = np.empty(0, dtype=np.float64)
        if self.model.keep:
            in_collection = collection_weights(
                self.starts, self.targets, self.chances, statistics.probabilities, probabilities,
                self.model.self_translation, self.model.lambda_,
            )  # fmt: skip
        selected = np.arange(statistics.n_terms, dtype=np.int32) if self.selected is None else self.selected
        indptr, positions, weights = model1_weights(
            counts.indptr, counts.terms, counts.weights,
            self.starts, self.targets, self.chances, self._positions(selected), probabilities[selected],
            self.model.self_translation, self.model.lambda_, self.model.prune, self.model.keep, in_collection,
        )  # fmt: skip
        return TermWeights(indptr, selected[positions], weights, counts.vocabulary)


def _renumbered(
    table: TranslationTable, vocabulary: Vocabulary
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """Return the rows of a table and P(t|bitext) over another vocabulary; terms that it lacks are dropped."""
    bitext = table.occurrences / max(1, int(table.occurrences.sum()))
    if table.vocabulary.id == vocabulary.id:
        return table.indptr, table.targets, table.probabilities, bitext
    numbers = table.numbers_in(vocabulary)
    sources, targets = numbers[table.sources], numbers[table.targets]
    kept = np.flatnonzero((sources >= 0) & (targets >= 0))
    order = kept[np.lexsort((targets[kept], sources[kept]))]
    starts = np.concatenate(([0], np.cumsum(np.bincount(sources[order], minlength=len(vocabulary)))))
    renumbered = np.zeros(len(vocabulary), dtype=np.float64)
    renumbered[numbers[numbers >= 0]] = bitext[numbers >= 0]
    return starts, targets[order], table.probabilities[order], renumbered
