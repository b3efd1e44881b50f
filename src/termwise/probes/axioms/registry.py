"""Which axioms there are: for each a line with its definition and what makes pairs for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from termwise.errors import UnknownNameError
from termwise.probes.axioms.base import Axiom
from termwise.probes.axioms.constructed import Construct
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
    condition : str
        What the two texts are, and which is the first.
    source : str
        Where it was published.
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
    condition: str
    source: str
    define: Define
    construct: Construct
    weak: bool = False
    among_real: bool = True

    @property
    def definition(self) -> str:
        """What a probe of it says of its texts."""
        weak = " Only negative effects break it." if self.weak else ""
        return f"{self.condition}{weak} {self.source}."

    @property
    def exact(self) -> Axiom[Any]:
        """The definition with no margin."""
        return self.define(0.0)


REGISTRY: tuple[Registered, ...] = (
    Registered(
        "tfc1",
        "TFC1: more occurrences",
        "Two texts of one length; the first has more occurrences of terms of the query.",
        "Fang, Tao & Zhai, SIGIR 2004",
        Tfc1,
        tfc1_pairs,
    ),
    Registered(
        "tfc2",
        "TFC2: evenly, not unevenly",
        "Two texts of one length with equally many occurrences of two terms together; in the first they are more even.",
        "Fang, Tao & Zhai, SIGIR 2004",
        Tfc2,
        tfc2_pairs,
        among_real=False,
    ),
    Registered(
        "tfc3",
        "TFC3: two terms, not one twice",
        "Two texts of one length with equally many occurrences of two equally rare terms together; the "
        "first has both, the second only one.",
        "Fang, Tao & Zhai, TOIS 2011",
        Tfc3,
        tfc3_pairs,
    ),
    Registered(
        "m-tdc",
        "M-TDC: more of the rarer term",
        "Two texts of one length with the counts of two terms exchanged; the first has more of the rarer one.",
        "Shi et al., SIGIR 2005",
        MTdc,
        mtdc_pairs,
        weak=True,
    ),
    Registered(
        "lb1",
        "LB1: a term that the other lacks",
        "Two texts of one length with equally many occurrences of all terms of the query but one, which "
        "only the first has.",
        "Lv & Zhai, CIKM 2011",
        Lb1,
        lb1_pairs,
    ),
    Registered(
        "lb2",
        "LB2: a first occurrence, not further ones",
        "Two texts of one length; the first has a term of the query once that the second lacks, the "
        "second more occurrences of an equally rare one that both have.",
        "Lv & Zhai, CIKM 2011",
        Lb2,
        lb2_pairs,
    ),
    Registered(
        "lnc1",
        "LNC1: fewer other words",
        "Two texts with equally many occurrences of each term of the query; the first has fewer other words.",
        "Fang, Tao & Zhai, SIGIR 2004",
        Lnc1,
        lnc1_pairs,
        weak=True,
    ),
    Registered(
        "lnc2",
        "LNC2: said several times",
        "First: the text said several times over. Second: the text once.",
        "Fang, Tao & Zhai, SIGIR 2004",
        lambda _: Lnc2(),
        lnc2_pairs,
        weak=True,
        among_real=False,
    ),
    Registered(
        "tf-lnc",
        "TF-LNC: more occurrences, longer by them",
        "Two texts with equally many other words; the first has more occurrences of a term of the query, "
        "and is longer by them.",
        "Fang, Tao & Zhai, SIGIR 2004",
        TfLnc,
        tflnc_pairs,
    ),
    Registered(
        "prox1",
        "PROX1: terms near each other",
        "Two texts with the same terms of the query; where they first occur, they are nearer to each "
        "other in the first.",
        "Hagen et al., CIKM 2016",
        lambda _: Prox1(),
        prox1_pairs,
    ),
    Registered(
        "prox2",
        "PROX2: terms early",
        "Two texts with the same terms of the query; the first has them earlier.",
        "Hagen et al., CIKM 2016",
        lambda _: Prox2(),
        prox2_pairs,
    ),
    Registered(
        "prox3",
        "PROX3: the whole query early",
        "Two texts with the same terms of the query; the first says the whole query, word for word, earlier or alone.",
        "Hagen et al., CIKM 2016",
        lambda _: Prox3(),
        prox3_pairs,
    ),
    Registered(
        "prox4",
        "PROX4: the closest group tighter",
        "Two texts with all terms of the query; in the first the closest group of them all has fewer "
        "other words inside, or there are more such groups.",
        "Hagen et al., CIKM 2016",
        lambda _: Prox4(),
        prox4_pairs,
    ),
    Registered(
        "prox5",
        "PROX5: groups tighter in the mean",
        "Two texts with all terms of the query; in the first an occurrence and the nearest of each other "
        "term span fewer words, in the mean.",
        "Hagen et al., CIKM 2016",
        lambda _: Prox5(),
        prox5_pairs,
    ),
    Registered(
        "stmc1",
        "STMC1: words nearer in meaning",
        "Two texts of one length with equally many occurrences of each term of the query; the other "
        "words of the first are nearer to the query in meaning.",
        "Fang & Zhai, SIGIR 2006",
        Stmc1,
        stmc1_pairs,
    ),
    Registered(
        "stmc2",
        "STMC2: the word, not one near to it",
        "First: a text with a term of the query. Second: a text several times as long, with a word near "
        "in meaning as many times as often.",
        "Fang & Zhai, SIGIR 2006",
        lambda margin: Stmc2(2 * margin),
        stmc2_pairs,
        weak=True,
    ),
    Registered(
        "reg",
        "REG: the term least like the others",
        "Two texts of one length; the first has more occurrences of the term that is least like the "
        "others of the query.",
        "Zheng & Fang, ECIR 2010",
        Reg,
        reg_pairs,
    ),
    Registered(
        "and",
        "AND: all terms",
        "The first text has all terms of the query, the second lacks some.",
        "Bondarenko et al., SIGIR 2022",
        lambda _: And(),
        and_pairs,
    ),
    Registered(
        "m-and",
        "M-AND: more of the terms",
        "The first text has more of the terms of the query than the second.",
        "Bondarenko et al., SIGIR 2022",
        lambda _: MAnd(),
        mand_pairs,
    ),
    Registered(
        "div",
        "DIV: less in common with the query",
        "The words of the first text have less in common with those of the query: the terms that both "
        "have, among those that either has.",
        "After Gollapudi & Sharma, WWW 2009",
        Div,
        div_pairs,
    ),
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
