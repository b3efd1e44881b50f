"""Pairs of judged texts that agree in one measurement and differ in another."""

from termwise.probes.sources.matching.counting import CountedTexts
from termwise.probes.sources.matching.family import FAMILY, FAMILY_SUM_TF, matched_probes, sum_tf_probes
from termwise.probes.sources.matching.measurements import (
    Length,
    Measurement,
    Overlap,
    Relevance,
    SumTermFrequency,
    TermFrequency,
)
from termwise.probes.sources.matching.probe import MatchedProbe
from termwise.probes.sources.matching.terms import PublishedTerms, Terms

__all__ = [
    "FAMILY",
    "FAMILY_SUM_TF",
    "CountedTexts",
    "Length",
    "MatchedProbe",
    "Measurement",
    "Overlap",
    "PublishedTerms",
    "Relevance",
    "SumTermFrequency",
    "TermFrequency",
    "Terms",
    "matched_probes",
    "sum_tf_probes",
]
