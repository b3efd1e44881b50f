"""Registry of all axioms."""

from __future__ import annotations

from termwise.probes.axioms.axiom import Axiom
from termwise.probes.axioms.coverage import AND, DIV, M_AND
from termwise.probes.axioms.length import LNC1, LNC2, TF_LNC
from termwise.probes.axioms.lower_bound import LB1, LB2
from termwise.probes.axioms.proximity import PROX1, PROX2, PROX3, PROX4, PROX5
from termwise.probes.axioms.semantics import REG, STMC1, STMC2
from termwise.probes.axioms.term_frequency import MTDC, TFC1, TFC2, TFC3

AXIOMS: tuple[Axiom, ...] = (
    *(TFC1, TFC2, TFC3, MTDC),
    *(LB1, LB2),
    *(LNC1, LNC2, TF_LNC),
    *(PROX1, PROX2, PROX3, PROX4, PROX5),
    *(STMC1, STMC2, REG),
    *(AND, M_AND, DIV),
)
"""In the order of tables."""
