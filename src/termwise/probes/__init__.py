"""Probes: controlled pairs of texts that measure which properties of texts a ranker responds to.

A sample of a probe is a query with two texts that differ in one property. A ranker prefers the text with the higher
score; the mean effect over the samples is the score of the ranker (MacAvaney et al., ABNIRML, TACL 2022). A ranker is
any `termwise.scorers.protocol.TextScorer`.
"""

from termwise.probes.core.effect_rule import ByQuery, ByRank, Constant, EffectRule
from termwise.probes.core.probe import Probe
from termwise.probes.core.result import Counts, ProbeResult
from termwise.probes.core.sample import Sample, Samples, random_for
from termwise.probes.core.score_gaps import median_gap, pooled_gaps, query_gaps, top_gaps
from termwise.probes.core.statistics import Estimate, Sweep, compare, estimate, published_t, sweep
from termwise.probes.inputs import open_inputs
from termwise.probes.run import ProbeSettings, probe_rankers, run_probe

__all__ = [
    "ByQuery",
    "ByRank",
    "Constant",
    "Counts",
    "EffectRule",
    "Estimate",
    "Probe",
    "ProbeResult",
    "ProbeSettings",
    "Sample",
    "Samples",
    "Sweep",
    "compare",
    "estimate",
    "median_gap",
    "open_inputs",
    "pooled_gaps",
    "probe_rankers",
    "published_t",
    "query_gaps",
    "random_for",
    "run_probe",
    "sweep",
    "top_gaps",
]


def __dir__() -> list[str]:
    return __all__
