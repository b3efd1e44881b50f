"""Lookup: vectors of documents from a network, and one vector for each query term from a table.

    w(t, d) = max over the windows i of d of  v[t] . e[i]
    score(q, d) = max over the windows i of d of  sum over the terms t of the query of  (1 + ln tf(t)) * v[t] . e[i]

e[i] is the vector of length 1 that a network computes for window i of the document. v[t] is the row of term t in a
table that was fitted to the vectors of short texts, so that the sum of the rows of a query stands for its vector [1]_.
tf(t) is the number of occurrences in the query, of which few texts of the fit have more than one; its logarithm keeps
frequent words of a long query from outweighing all others.
No network runs for a query, and a score is a sum over its terms, each of which may be negative. A term without a row
adds nothing. A document without text has no vector and is not retrieved.

=========== ============================================== =======================================================
form        index                                          scores
=========== ============================================== =======================================================
``vectors`` vectors of documents and table, in 8 bits      the formula above, in integers
``terms``   `keep` weights above 0 of w(t, d) - f(t)       sum of the weights, which is an approximation: windows are
                                                           pooled for each term, and f(t) is the mean of w(t, d) over
                                                           the documents of the collection
=========== ============================================== =======================================================

The mean of a term is the same for all documents and does not change their order. Of the weights above 0, a document
keeps the `keep` weights that are largest after multiplication by (1 + df(t))^(1/4), where df(t) is the number of
documents whose text has the term: queries have frequent terms more often. The form ``terms`` can be retrieved by every
engine that knows sparse weights only.

With ``documents="table"``, the sum of the rows of a window stands for the vector that the network would compute, too:

    e[i] = u / |u|        u = sum over the distinct terms t of window i of  (1 + ln tf(t)) * v[t]

A document scores by its best window, because a query is short and a window that answers it suffices. The mean over
windows would rank a long document below a short one with the same passage.

.. [1] The idea is that of *LightRetriever*, arXiv 2505.12260, 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.models.base import NetworkModel, QueryWeighting
from termwise.models.checks import KEEP, WINDOWS, Range

DEFAULT_KEEP = 1024
"""Default number of weights of a document in the form ``terms``."""


@dataclass(frozen=True, kw_only=True)
class Lookup(NetworkModel):
    """Lookup with its settings; the module documents the formulas.

    Parameters
    ----------
    encoder : str, optional
        Encoder of kind ``lookup``: name of one that ships with the package, or path of a folder.
    documents : {"network", "table"}, optional
        What gives the vectors of documents: the network of the encoder, or its query table. The table ranks less well,
        and is a hundred times as fast.
    form : {"vectors", "terms"}, optional
        Contents of the index, see the table of the module.
    keep : int, optional
        Largest number of weights of a document in the form ``terms``, 1 or more; 1,024 by default. Not for vectors.
    length : int, optional
        Pieces of a window, including the two special tokens; by default the length of the encoder.
    overlap : int, optional
        Pieces shared by neighbouring windows of a long document, fewer than the pieces of a window; by default an
        eighth of a window.

    Raises
    ------
    ParameterError
        If a value is out of range, or `keep` is given for vectors.
    UnknownNameError
        If there is no such form.

    Examples
    --------
    >>> Lookup(form="terms").parameters()
    {'encoder': 'lookup', 'documents': 'network', 'form': 'terms', 'keep': 1024, 'length': None, 'overlap': None}
    """

    encoder: str = "lookup"
    documents: Literal["network", "table"] = "network"
    form: Literal["vectors", "terms"] = "vectors"
    keep: int | None = None
    length: int | None = None
    overlap: int | None = None

    name: ClassVar[str] = "lookup"
    ranges: ClassVar[Mapping[str, Range]] = {"keep": KEEP, **WINDOWS}

    @property
    def query_weighting(self) -> QueryWeighting:
        """Weighting of query tokens: one plus the logarithm of their number."""
        return "log-counts"

    @property
    def runs_network(self) -> bool:
        """Whether the network of the encoder runs over the documents."""
        return self.documents == "network"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form == "vectors" and self.keep is not None:
            raise ParameterError(
                "the form of vectors keeps no term weights",
                facts=[("form", self.form), ("keep", self.keep)],
                fixes=["omit keep", Fix.use(form="terms")],
            )
        if self.form == "terms" and self.keep is None:
            object.__setattr__(self, "keep", DEFAULT_KEEP)
