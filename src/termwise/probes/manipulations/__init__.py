"""Changes of a text that show what a ranker responds to: each is one file, and one line in `registry`."""

from termwise.probes.manipulations.base import Around, Manipulation, ManipulationProbe

__all__ = ["Around", "Manipulation", "ManipulationProbe"]
