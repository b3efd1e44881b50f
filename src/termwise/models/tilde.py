"""TILDE: how likely each term of the vocabulary is to be asked for, given the document.

A network reads the document once and gives a logit z[t] for every term t of its vocabulary. Terms are taken as
independent [1]_, so that

    P(t|d) = sigmoid(z[t])          score(q, d) = sum over the terms of the query, with repetitions, of ln P(t|d)

No logit is 0, so a row would hold the whole vocabulary. What is stored instead is how much likelier the document
makes a term than some floor f(t), which depends on the term alone:

    w(t, d) = ln P(t|d) - f(t)      score(q, d) = sum of w(t, d) + sum of f(t)

The second sum is the same for all documents, so no choice of floors changes an order. There are two forms.

=========== ============================================== =======================================================
form        floor of a term                                rows
=========== ============================================== =======================================================
``exact``   just below the smallest ln P(t|d) there is     every kept term; the order is that of the dense scores
``compact`` the mean of ln P(t|d) over training passages   `keep` weights above 0; the rest adds the floor, which is
                                                           an approximation
=========== ============================================== =======================================================

The compact form keeps the weights with the largest ``sqrt(P(t|d)) w(t, d)``: between how much a term would add, which
is most for the rarest, and how much it is expected to add, ``P(t|d) w(t, d)``, which is most for those that many
documents are asked for.

Departures from the published code [2]_: natural logarithms of a numerically stable sigmoid in place of float16
decimal ones; documents longer than the network reads are cut into windows that overlap, and a term takes its
largest likelihood over the windows, in place of dropping what follows the first window.

.. [1] S. Zhuang and G. Zuccon, *TILDE: Term Independent Likelihood moDEl for Passage Re-ranking*, SIGIR 2021.
.. [2] https://github.com/ielab/TILDE, commit 9751709.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal

from termwise.errors import ParameterError
from termwise.models.base import QueryWeighting
from termwise.models.checks import check_choice, check_name, check_whole

DEFAULT_KEEP = 256
"""Weights of a document that the compact form keeps where nothing is said."""

LONGEST_WINDOW = 1 << 16
"""No encoder reads more pieces at once."""


@dataclass(frozen=True, kw_only=True)
class Tilde:
    """TILDE with its settings; the formulae stand at the top of the module.

    Parameters
    ----------
    encoder : str, optional
        An encoder of kind ``tilde``: the name of one that ships with the package, or the path of a folder.
    form : {"compact", "exact"}, optional
        What rows hold, see the table at the top of the module.
    keep : int, optional
        Largest number of weights of a document, 1 or more, for the compact form and only for it; 256 where it is
        left out.
    length : int, optional
        Pieces of a window, the two special ones included; where it is left out, what the encoder was made for.
    overlap : int, optional
        Pieces that neighbouring windows of a long document share, fewer than a window has; an eighth of a window where
        it is left out.
    side : {"document", "query"}, optional
        The marker that texts are read with. ``query`` makes rows of documents as queries: ln P(t|q) where the query
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

    def __post_init__(self) -> None:
        check_name(self.name, "encoder", self.encoder)
        check_choice(self.name, "form", self.form, ("compact", "exact"))
        check_choice(self.name, "side", self.side, ("document", "query"))
        if self.form == "exact" and self.keep is not None:
            raise ParameterError(
                "the exact form keeps every weight",
                facts=[("form", self.form), ("keep", self.keep)],
                fixes=["leave keep out", "--set form=compact"],
            )
        if self.form == "compact":
            keep = DEFAULT_KEEP if self.keep is None else self.keep
            object.__setattr__(
                self, "keep", check_whole(self.name, "keep", keep, least=1, most=(1 << 31) - 1)
            )
        if self.length is not None:
            check_whole(self.name, "length", self.length, least=3, most=LONGEST_WINDOW)
        if self.overlap is not None:
            check_whole(self.name, "overlap", self.overlap, least=0, most=LONGEST_WINDOW)

    @property
    def query_weighting(self) -> QueryWeighting:
        """``"counts"``: every occurrence of a token in the query is a factor of the likelihood."""
        return "counts"

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name."""
        return dataclasses.asdict(self)
