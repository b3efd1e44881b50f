"""TILDEv2: one weight for each piece of the document, made by a network that reads them in context.

    w(t, d) = max over the occurrences j of t in d of  relu(u . h[j] + c)
    score(q, d) = sum over the terms of the query, with repetitions, of w(t, d)

with h[j] what the network makes of the piece at place j [1]_. A term that the document lacks weighs 0; to weigh
terms that it does not hold, it is expanded first: the terms that a TILDE encoder finds likeliest are appended, and
the network weighs them like its own [1]_.

Departures from the published code [2]_: `expansion_terms` counts what is appended, where the code counts what it
looks at before stop words, symbols and pieces of the text are taken out (``counting="raw"`` does as the code does);
`expansion_lift` prefers terms that are likely here and seldom elsewhere to those that are likely anywhere (0 does as
the code does); weights stay as they are, in place of 16-bit floats; documents longer than a window are cut into
windows that overlap, each expanded by itself, and a term takes its largest weight over the windows.

.. [1] S. Zhuang and G. Zuccon, *Fast Passage Re-ranking with Contextualized Exact Term Matching and Efficient
   Passage Expansion*, arXiv 2108.08513, 2021.
.. [2] https://github.com/ielab/TILDE, commit 9751709.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal

from termwise.errors import ParameterError
from termwise.models.base import QueryWeighting
from termwise.models.checks import check_between, check_choice, check_name, check_whole
from termwise.models.idf_power import check_power
from termwise.models.tilde import LONGEST_WINDOW

Counting = Literal["new", "raw"]
"""What the number of expansion terms counts: terms that are appended, or terms looked at before filtering."""

AS_TRAINED, NO_EXPANSION = "as-trained", "none"
"""The `TildeV2.expansion_encoder` of documents that are expanded as in training, and of those that are not."""


def check_lift(model: str, lift: object) -> float:
    """Return a lift as a float if it is a number from 0 to 1.

    Raises
    ------
    ParameterError
        If it is not.
    """
    return check_between(model, "expansion_lift", lift, least=0, most=1)


@dataclass(frozen=True, kw_only=True)
class TildeV2:
    """TILDEv2 with its settings; the formulae stand at the top of the module.

    Parameters
    ----------
    encoder : str, optional
        An encoder of kind ``tildev2``: the name of one that ships with the package, or the path of a folder.
    expansion_encoder : str, optional
        The encoder of kind ``tilde`` that expands documents: one that ships, a folder, or ``none``. Where nothing is
        said, ``as-trained``: the one that expanded the passages the encoder was trained on, or none if they were not
        expanded. It is looked for among those that ship and beside the encoder's folder.
    expansion_terms : int, optional
        How many terms, 1 or more; where it is left out, what the encoder was trained with or chosen for since.
    counting : {"new", "raw"}, optional
        ``new``: so many terms are appended. ``raw``: so many of the likeliest terms of the whole vocabulary are
        looked at, and those that are neither cleaned away nor in the text are appended, as in the published
        code. Where it is left out, as the encoder was trained.
    expansion_lift : float, optional
        Terms are appended by ln P(t|d) − expansion_lift · floor(t). The floor is what is usual for the term, the mean
        of ln P(t|d) over passages, which the expanding encoder knows. 0 for the likeliest, as published; 1 for those
        that are likeliest in comparison with other passages. Where it is left out, as the encoder was trained.
    length : int, optional
        Pieces of a window of the text, the two special ones included and expansions not; where it is left out,
        what the encoder was made for.
    overlap : int, optional
        Pieces that neighbouring windows of a long document share, fewer than a window has; an eighth of a window where
        it is left out.
    idf_power : float, optional
        Power of the collection's idf that weights are multiplied by, 0 to 4, see `termwise.models.idf_power`; 0 as
        published, and where it is left out what was chosen for the encoder.

    Raises
    ------
    ParameterError
        If a value is out of range, or there are settings of an expansion and no encoder that makes it.
    UnknownNameError
        If there is no such way of counting.

    Examples
    --------
    >>> TildeV2(expansion_terms=100).expansion_encoder
    'as-trained'
    """

    encoder: str = "tildev2"
    expansion_encoder: str = AS_TRAINED
    expansion_terms: int | None = None
    counting: Counting | None = None
    expansion_lift: float | None = None
    length: int | None = None
    overlap: int | None = None
    idf_power: float | None = None

    name: ClassVar[str] = "tildev2"

    def __post_init__(self) -> None:
        check_name(self.name, "encoder", self.encoder)
        check_name(self.name, "expansion_encoder", self.expansion_encoder)
        how = {name: getattr(self, name) for name in ("expansion_terms", "counting", "expansion_lift")}
        given = [(name, value) for name, value in how.items() if value is not None]
        if self.expansion_encoder == NO_EXPANSION and given:
            raise ParameterError(
                "documents that are not expanded have no settings of an expansion",
                facts=[("expansion_encoder", self.expansion_encoder), *given],
                fixes=[f"leave {' and '.join(how)} out", "leave expansion_encoder out"],
            )
        if self.expansion_terms is not None:
            check_whole(self.name, "expansion_terms", self.expansion_terms, least=1, most=LONGEST_WINDOW)
        if self.counting is not None:
            check_choice(self.name, "counting", self.counting, ("new", "raw"))
        if self.expansion_lift is not None:
            object.__setattr__(self, "expansion_lift", check_lift(self.name, self.expansion_lift))
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
