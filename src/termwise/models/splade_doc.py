"""SPLADE-doc: weights over the whole vocabulary, pooled over the pieces of the document.

    w(t, d) = max over the pieces j of d of  ln(1 + relu(z[j, t]))
    score(q, d) = sum over the terms of the query, with repetitions, of w(t, d)

z[j, t] is the logit of the language-model head for term t at piece j. This is the document-only form of SPLADE v2 [1]_,
in which no network encodes queries.

Three parts depend on the encoder. A network with the activation ``log1p_relu`` takes the logarithm twice [2]_:

    w(t, d) = max over the pieces j of d of  ln(1 + ln(1 + relu(z[j, t])))

A network with the pooling ``sum`` [4]_ adds the weights of the pieces of a window; windows are still pooled by maximum.
An encoder with query weights u, such as the idf of the terms among its training passages [3]_, counts a term of the
query once:

    score(q, d) = sum over the distinct terms of the query of u(t) * w(t, d)

.. [1] T. Formal, C. Lassance, B. Piwowarski and S. Clinchant, *SPLADE v2: Sparse Lexical and Expansion Model for
   Information Retrieval*, arXiv 2109.10086, 2021.
.. [2] X. Shen, Z. Geng and Y. Yang, *Exploring l0 Sparsification for Inference-free Sparse Retrievers*,
   arXiv 2504.14839, 2025.
.. [3] Z. Geng, D. Ru and Y. Yang, *Towards Competitive Search Relevance For Inference-Free Learned Sparse Retrievers*,
   arXiv 2411.04403, 2024.
.. [4] T. Formal, B. Piwowarski and S. Clinchant, *SPLADE: Sparse Lexical and Expansion Model for First Stage Ranking*,
   arXiv 2107.05720, 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from termwise.fast_dataclass import dataclass
from termwise.models.base import NetworkModel
from termwise.models.checks import KEEP, UNIT, WINDOWS, Range
from termwise.models.idf_power import POWER


@dataclass(frozen=True, kw_only=True)
class SpladeDoc(NetworkModel):
    """SPLADE-doc with its settings; the module documents the formulas.

    Parameters
    ----------
    encoder : str
        Encoder of kind ``splade-doc``: path of its folder, or name of one that ships with the package.
    keep : int, optional
        Largest number of weights of a document, 1 or more; by default all above 0.
    prune_ratio : float, optional
        Weights below this share of the largest weight of their document are dropped, 0 to 1; 0 keeps all. It is
        OpenSearch's pruning of the type ``max_ratio``.
    length : int, optional
        Pieces of a window, including the two special tokens; by default the length of the encoder.
    overlap : int, optional
        Pieces shared by neighbouring windows of a long document, fewer than the pieces of a window; by default an
        eighth of a window.
    idf_power : float, optional
        Power of the collection's idf that weights are multiplied by, 0 to 4, see `termwise.models.idf_power`. 0 is the
        published form; the default is the value recorded in the encoder.

    Raises
    ------
    ParameterError
        If a value is out of range.

    Examples
    --------
    >>> SpladeDoc(encoder="runs/splade").parameters()
    {'encoder': 'runs/splade', 'keep': None, 'prune_ratio': 0.0, 'length': None, 'overlap': None, 'idf_power': None}
    """

    encoder: str = "splade-doc"
    keep: int | None = None
    prune_ratio: float = 0.0
    length: int | None = None
    overlap: int | None = None
    idf_power: float | None = None

    name: ClassVar[str] = "splade-doc"
    ranges: ClassVar[Mapping[str, Range]] = {
        "keep": KEEP,
        "prune_ratio": UNIT,
        **WINDOWS,
        "idf_power": POWER,
    }
