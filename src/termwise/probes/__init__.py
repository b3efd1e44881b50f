"""Probes show what a ranker really responds to.

A probe is a stream of controlled pairs: a query and two texts that differ in one thing. The scores of a ranker say
which it prefers, or that it sees no difference; the mean over many pairs is the ranker's answer (MacAvaney et al.,
ABNIRML, TACL 2022). Any `termwise.scorers.protocol.TextScorer` can be asked.
"""

from termwise.probes.core.effect_rule import ByQuery, ByRank, Constant, EffectRule
from termwise.probes.core.probe import Probe
from termwise.probes.core.result import Counts, ProbeResult
from termwise.probes.core.run_probe import run_probe
from termwise.probes.core.sample import Sample, content_hash, random_for
from termwise.probes.core.score_gaps import median_gap, percentile_gap, pooled_gaps, query_gaps, top_gaps
from termwise.probes.core.statistics import Estimate, compared, estimate, published_t
from termwise.probes.core.threshold_sweep import Sweep, sweep
from termwise.probes.probe_verb import probe_rankers

__all__ = [
    "ByQuery",
    "ByRank",
    "Constant",
    "Counts",
    "EffectRule",
    "Estimate",
    "Probe",
    "ProbeResult",
    "Sample",
    "Sweep",
    "compared",
    "content_hash",
    "estimate",
    "median_gap",
    "percentile_gap",
    "pooled_gaps",
    "probe_rankers",
    "published_t",
    "query_gaps",
    "random_for",
    "run_probe",
    "sweep",
    "top_gaps",
]
