"""Which axioms there are: for each a line with its definition and what makes pairs for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from termwise.errors import UnknownNameError
from termwise.probes.axioms.constructed import Construct
from termwise.probes.axioms.contract import Axiom
from termwise.probes.axioms.coverage import And, Div, MAnd, and_pairs, div_pairs, mand_pairs
from termwise.probes.axioms.length import Lnc1, Lnc2, TfLnc, lnc1_pairs, lnc2_pairs, tflnc_pairs
from termwise.probes.axioms.lower_bound import Lb1, Lb2, lb1_pairs, lb2_pairs
from termwise.probes.axioms.meaning import Reg, Stmc1, Stmc2, reg_pairs, stmc1_pairs, stmc2_pairs
from termwise.probes.axioms.proximity import (
    Prox1,
    Prox2,
    Prox3,
    Prox4,
    Prox5,
    prox1_pairs,
    prox2_pairs,
    prox3_pairs,
    prox4_pairs,
    prox5_pairs,
)
from termwise.probes.axioms.term_frequency import (
    MTdc,
    Tfc1,
    Tfc2,
    Tfc3,
    mtdc_pairs,
    tfc1_pairs,
    tfc2_pairs,
    tfc3_pairs,
)

Define = Callable[[float], Axiom[Any]]
"""Returns the definition for a margin."""


@dataclass(frozen=True)
class Registered:
    """An axiom.

    Attributes
    ----------
    name : str
        Lower case with hyphens.
    title : str
        What tables call it.
    define : callable
        Returns the definition for a margin.
    construct : callable
        Makes pairs that meet its condition.
    weak : bool
        Whether it allows no difference: then only negative effects break it.
    among_real : bool
        Whether pairs that meet its condition are looked for among judged texts.
    """

    name: str
    title: str
    define: Define
    construct: Construct
    weak: bool = False
    among_real: bool = True

    @property
    def exact(self) -> Axiom[Any]:
        """The definition with no margin."""
        return self.define(0.0)


REGISTRY: tuple[Registered, ...] = (
    Registered("tfc1", "TFC1: more occurrences", Tfc1, tfc1_pairs),
    Registered("tfc2", "TFC2: evenly, not unevenly", Tfc2, tfc2_pairs, among_real=False),
    Registered("tfc3", "TFC3: two terms, not one twice", Tfc3, tfc3_pairs),
    Registered("m-tdc", "M-TDC: more of the rarer term", MTdc, mtdc_pairs, weak=True),
    Registered("lb1", "LB1: a term that the other lacks", Lb1, lb1_pairs),
    Registered("lb2", "LB2: a first occurrence, not further ones", Lb2, lb2_pairs),
    Registered("lnc1", "LNC1: fewer other words", Lnc1, lnc1_pairs, weak=True),
    Registered("lnc2", "LNC2: said several times", lambda _: Lnc2(), lnc2_pairs, weak=True, among_real=False),
    Registered("tf-lnc", "TF-LNC: more occurrences, longer by them", TfLnc, tflnc_pairs),
    Registered("prox1", "PROX1: terms near each other", lambda _: Prox1(), prox1_pairs),
    Registered("prox2", "PROX2: terms early", lambda _: Prox2(), prox2_pairs),
    Registered("prox3", "PROX3: the whole query early", lambda _: Prox3(), prox3_pairs),
    Registered("prox4", "PROX4: the closest group tighter", lambda _: Prox4(), prox4_pairs),
    Registered("prox5", "PROX5: groups tighter in the mean", lambda _: Prox5(), prox5_pairs),
    Registered("stmc1", "STMC1: words nearer in meaning", Stmc1, stmc1_pairs),
    Registered(
        "stmc2",
        "STMC2: the word, not one near to it",
        lambda margin: Stmc2(2 * margin),
        stmc2_pairs,
        weak=True,
    ),
    Registered("reg", "REG: the term least like the others", Reg, reg_pairs),
    Registered("and", "AND: all terms", lambda _: And(), and_pairs),
    Registered("m-and", "M-AND: more of the terms", lambda _: MAnd(), mand_pairs),
    Registered("div", "DIV: less in common with the query", Div, div_pairs),
)


def axiom_named(name: str) -> Registered:
    """Return an axiom by name.

    Raises
    ------
    UnknownNameError
        If there is none.

    Examples
    --------
    >>> axiom_named("tfc1").title
    'TFC1: more occurrences'
    """
    known = {each.name: each for each in REGISTRY}
    if name not in known:
        raise UnknownNameError.of("axiom", name, known)
    return known[name]
