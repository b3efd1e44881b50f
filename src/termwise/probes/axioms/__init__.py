"""Retrieval axioms as pairs of texts, made to meet their conditions exactly or found among judged texts.

An axiom says of two texts under a condition which should have the higher score. `ConstructedProbe` makes such pairs of
sentences that come with the package; `AxiomProbe` finds them among the judged texts of a query. One definition serves
both. Weak axioms allow that there is no difference: only negative effects break them (`Registered.weak`).
"""

from termwise.probes.axioms.base import Axiom, Profile, Question, Terms
from termwise.probes.axioms.constructed import Built, ConstructedProbe
from termwise.probes.axioms.family import FAMILY, axiom_probes
from termwise.probes.axioms.judged_pairs import AxiomProbe
from termwise.probes.axioms.length import RepeatedTexts
from termwise.probes.axioms.registry import REGISTRY, Registered, axiom_named
from termwise.probes.axioms.scenes import Scene, Written
from termwise.probes.axioms.term_reader import TermReader, idf_of
from termwise.probes.axioms.word_similarity import Likeness, RelatedWords, WordVectors

__all__ = [
    "FAMILY",
    "REGISTRY",
    "Axiom",
    "AxiomProbe",
    "Built",
    "ConstructedProbe",
    "Likeness",
    "Profile",
    "Question",
    "Registered",
    "RelatedWords",
    "RepeatedTexts",
    "Scene",
    "TermReader",
    "Terms",
    "WordVectors",
    "Written",
    "axiom_named",
    "axiom_probes",
    "idf_of",
]
