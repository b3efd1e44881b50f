"""From names to a report: collections, data sets, rankers and probes come together, for the verb and in Python."""

from termwise.probes.bench.bench import Bench, Wanted
from termwise.probes.bench.probing import probe_rankers

__all__ = ["Bench", "Wanted", "probe_rankers"]
