"""TILDE: likelihood of each vocabulary term as a query term of the document.

A network reads the document once and gives a logit z[t] for every term t of its vocabulary. Terms are independent [1]_:

    P(t|d) = sigmoid(z[t])          score(q, d) = sum over the terms of the query, with repetitions, of ln P(t|d)

No logit is 0, so a complete row would hold the whole vocabulary. The index stores the difference to a floor f(t) that
depends on the term alone:

    w(t, d) = ln P(t|d) - f(t)      score(q, d) = sum of w(t, d) + sum of f(t)

The second sum is the same for all documents, so the floors do not change the order. There are two forms.

=========== ============================================== =======================================================
form        floor of a term                                rows
=========== ============================================== =======================================================
``exact``   just below the smallest ln P(t|d)              every kept term; the order is that of the dense scores
``compact`` mean of ln P(t|d) over training passages       `keep` weights above 0; all other terms count as their
                                                           floor, which is an approximation
=========== ============================================== =======================================================

The compact form keeps the weights with the largest ``sqrt(P(t|d)) w(t, d)``. This is the geometric mean of the weight,
which is largest for the rarest terms, and the expected weight ``P(t|d) w(t, d)``, which is largest for common ones.

Departures from the published code [2]_: natural logarithms of a numerically stable sigmoid replace decimal logarithms
in float16; documents that are longer than the network's input are split into overlapping windows and a term gets its
largest likelihood over the windows; the published code drops all text after the first window.

.. [1] S. Zhuang and G. Zuccon, *TILDE: Term Independent Likelihood moDEl for Passage Re-ranking*, SIGIR 2021.
.. [2] https://github.com/ielab/TILDE, commit 9751709.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.models.base import NetworkModel
from termwise.models.checks import KEEP, WINDOWS, Range

DEFAULT_KEEP = 512
"""Default number of weights of a document in the compact form."""


@dataclass(frozen=True, kw_only=True)
class Tilde(NetworkModel):
    """TILDE with its settings; the module documents the formulas.

    Parameters
    ----------
    encoder : str, optional
        Encoder of kind ``tilde``: name of one that ships with the package, or path of a folder.
    form : {"compact", "exact"}, optional
        Contents of the rows, see the table of the module.
    keep : int, optional
        Largest number of weights of a document in the compact form, 1 or more; 512 by default. Not for the exact form.
    length : int, optional
        Pieces of a window, including the two special tokens; by default the length of the encoder.
    overlap : int, optional
        Pieces shared by neighbouring windows of a long document, fewer than the pieces of a window; by default an
        eighth of a window.
    side : {"document", "query"}, optional
        Marker that texts are encoded with. ``query`` encodes documents as queries: rows of ln P(t|q), where the query
        is a document of the collection, for `termwise.search.StoredQueryVectors`.

    Raises
    ------
    ParameterError
        If a value is out of range, or `keep` is given for the exact form.
    UnknownNameError
        If there is no such form or side.

    Examples
    --------
    >>> Tilde(keep=128).parameters()
    {'encoder': 'tilde', 'form': 'compact', 'keep': 128, 'length': None, 'overlap': None, 'side': 'document'}
    """

    encoder: str = "tilde"
    form: Literal["compact", "exact"] = "compact"
    keep: int | None = None
    length: int | None = None
    overlap: int | None = None
    side: Literal["document", "query"] = "document"

    name: ClassVar[str] = "tilde"
    ranges: ClassVar[Mapping[str, Range]] = {"keep": KEEP, **WINDOWS}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form == "exact" and self.keep is not None:
            raise ParameterError(
                "the exact form keeps every weight",
                facts=[("form", self.form), ("keep", self.keep)],
                fixes=["omit keep", Fix.use(form="compact")],
            )
        if self.form == "compact" and self.keep is None:
            object.__setattr__(self, "keep", DEFAULT_KEEP)
