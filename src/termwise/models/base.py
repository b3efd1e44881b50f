"""Base classes of models: settings, query weighting, and the rows of weights that a model makes.

Every model scores a document by

    score(q, d) = sum over the terms t of the query of  q(t) * (w(t, d) + floor(t))

where w(t, d) is 0 for a term that is absent from the row of the document, and floor(t) is the contribution of an absent
term. Floors are the same for all documents: they change scores, never the order.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass
from termwise.models.checks import Range, check_parameter, parameter_types
from termwise.text import AnalyzerSpec, Vocabulary
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics

QueryWeighting = Literal["counts", "log-counts", "occurrences", "idf"]
"""Weight of a query token: its count c in the query, 1 + ln c, 1, or its entry in a table of token weights."""


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """Base class of models; a subclass is a frozen dataclass whose fields are the parameters.

    Raises
    ------
    ParameterError
        If a parameter has the wrong type or is out of range.
    UnknownNameError
        If a parameter is not one of its choices.
    """

    name: ClassVar[str]

    ranges: ClassVar[Mapping[str, Range]] = {}
    """Range of each field that is a number; 0 or more for a field that is absent."""

    def __post_init__(self) -> None:
        for name, kind in parameter_types(type(self)).items():
            value = getattr(self, name)
            if value is not None or self.__dataclass_fields__[name].default is not None:
                value = check_parameter(self.name, name.rstrip("_"), value, kind, self.ranges.get(name))
                object.__setattr__(self, name, value)

    def parameters(self) -> dict[str, object]:
        """Return the parameters as JSON-like values, ``lambda`` for ``lambda_``.

        `model_from_parameters` makes an equal model from them.
        """
        return {field.name.rstrip("_"): getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def query_weighting(self) -> QueryWeighting:
        """Weighting of query tokens: ``counts`` unless a subclass overrides it."""
        return "counts"


class CountModel(Model):
    """Base class of models that compute weights from term counts and collection statistics.

    A subclass must define `weigh`; the other members are optional. A caller calls `weigh` of the model that
    `for_vocabulary` returns for the vocabulary.
    """

    has_background_term: ClassVar[bool] = False
    """Whether rows hold the reserved background term, numbered V, which carries the document bias."""

    expands: ClassVar[bool] = False
    """Whether a row may hold terms that are absent from the document."""

    @property
    def keeps_terms(self) -> bool:
        """Whether the row of a document has a weight above 0 for each of its terms, and no other term.

        An index can then keep the counts of these terms beside their weights.
        """
        return not self.expands

    @property
    def analyzer(self) -> AnalyzerSpec | None:
        """The only analyzer that the model works with; None if it works with all."""
        return None

    @property
    def added_terms(self) -> Sequence[str]:
        """Terms that rows may hold although the collection lacks them.

        Without a closed vocabulary they are added to the vocabulary of the index, with df = cf = 0.
        """
        return ()

    @property
    def table_facts(self) -> dict[str, str] | None:
        """Name and id of the translation table of the model, for the manifest; None if it has none."""
        return None

    def for_vocabulary(self, vocabulary: Vocabulary) -> CountModel:
        """Return the model prepared for a vocabulary of V terms, without a background term.

        The vocabulary of an analyzer may lack some of `added_terms`; rows do not hold these.
        """
        return self

    def restricted_to(self, terms: npt.NDArray[np.int32]) -> CountModel:
        """Return a model that gives the same weights to these terms and may omit all others.

        Parameters
        ----------
        terms : ndarray of int32
            Term numbers, increasing.
        """
        return self

    @abstractmethod
    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of weights.

        Parameters
        ----------
        counts : TermWeights of n rows
            Number of occurrences of each term, 1 or more. With `has_background_term`, the vocabulary of the rows
            reserves a background term (`Vocabulary`), which the rows do not hold yet.
        statistics : CollectionStatistics
            Of the whole collection that the rows belong to.

        Returns
        -------
        TermWeights of n rows
            Over the same vocabulary; finite and never negative. Empty rows and weights of 0 are kept.

        Raises
        ------
        WeightError
            If the counts are not whole numbers of 1 or more, or exceed those of the statistics.
        VocabularyMismatchError
            If the rows hold terms that are unknown to the statistics.
        """

    def floors(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64] | None:
        """Return the contribution of each absent term.

        Returns
        -------
        ndarray of shape (V,) or, with a background term, (V + 1,), float64; or None
            None if it is 0 for all terms.
        """
        return None

    def attachments(self, vocabulary: Vocabulary, statistics: CollectionStatistics) -> Mapping[str, bytes]:
        """Return additional files of the index by name; `termwise.models.attachments` reads them."""
        return {}


class NetworkModel(Model):
    """Base class of models whose weights a trained network computes at index time.

    The model holds settings only; `termwise.encode` runs the network.
    """

    encoder: str
    """Name of an encoder that ships with the package, or path of an encoder folder."""

    length: int | None
    """Number of pieces in a window, including two special tokens; None for the default of the encoder."""

    overlap: int | None
    """Number of pieces that neighbouring windows share; None for an eighth of a window."""

    @property
    def runs_network(self) -> bool:
        """Whether a network runs over the documents; true unless a subclass has another way."""
        return True
