"""SPLADE-doc: weights over the whole vocabulary, pooled over the pieces of the document.

    w(t, d) = max over the pieces j of d of  ln(1 + relu(z[j, t]))
    score(q, d) = sum over the terms of the query, with repetitions, of w(t, d)

with z[j, t] the logit that the network's language-model head gives term t at piece j: the form of SPLADE v2 [1]_ in
which a network reads documents and none reads queries.

.. [1] T. Formal, C. Lassance, B. Piwowarski and S. Clinchant, *SPLADE v2: Sparse Lexical and Expansion Model for
   Information Retrieval*, arXiv 2109.10086, 2021.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from termwise.models.base import QueryWeighting
from termwise.models.checks import check_name, check_whole
from termwise.models.idf_power import check_power
from termwise.models.tilde import LONGEST_WINDOW


@dataclass(frozen=True, kw_only=True)
class SpladeDoc:
    """SPLADE-doc with its settings; the formulae stand at the top of the module.

    Parameters
    ----------
    encoder : str
        An encoder of kind ``splade-doc``: the path of its folder, or the name of one that ships with the package.
    keep : int, optional
        Largest number of weights of a document, 1 or more; where it is left out, all above 0.
    length : int, optional
        Pieces of a window, the two special ones included; where it is left out, what the encoder was made for.
    overlap : int, optional
        Pieces that neighbouring windows of a long document share, fewer than a window has; an eighth of a window where
        it is left out.
    idf_power : float, optional
        Power of the collection's idf that weights are multiplied by, 0 to 4, see `termwise.models.idf_power`; 0 as
        published, and where it is left out what was chosen for the encoder.

    Raises
    ------
    ParameterError
        If a value is out of range.

    Examples
    --------
    >>> SpladeDoc(encoder="runs/splade").parameters()
    {'encoder': 'runs/splade', 'keep': None, 'length': None, 'overlap': None, 'idf_power': None}
    """

    encoder: str = "splade-doc"
    keep: int | None = None
    length: int | None = None
    overlap: int | None = None
    idf_power: float | None = None

    name: ClassVar[str] = "splade-doc"

    def __post_init__(self) -> None:
        check_name(self.name, "encoder", self.encoder)
        if self.keep is not None:
            check_whole(self.name, "keep", self.keep, least=1, most=(1 << 31) - 1)
        if self.length is not None:
            check_whole(self.name, "length", self.length, least=3, most=LONGEST_WINDOW)
        if self.overlap is not None:
            check_whole(self.name, "overlap", self.overlap, least=0, most=LONGEST_WINDOW)
        if self.idf_power is not None:
            object.__setattr__(self, "idf_power", check_power(self.name, self.idf_power))

    @property
    def query_weighting(self) -> QueryWeighting:
        """``"counts"``: every occurrence of a token in the query adds its weight."""
        return "counts"

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name."""
        return dataclasses.asdict(self)
