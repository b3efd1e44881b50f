"""Input data of probes, and families of probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from termwise.collection.python_docs import PYTHON
from termwise.fast_dataclass import dataclass
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe import Probe
from termwise.probes.language.base import Language


@dataclass(frozen=True, eq=False)
class ProbeInputs:
    """Input data of the probes of a run; `termwise.probes.inputs.open_inputs` opens them by name.

    Attributes
    ----------
    language : Language
        Splits texts into words and sentences.
    stop_words : frozenset of str
        In lower case.
    judged : tuple of JudgedTexts
        Judged collections; may be empty.
    folders : mapping of str to Path
        Folders of the user's data sets of pairs, by the name of their format.
    collection : str
        Name of the collection of term statistics and candidates.
    """

    language: Language
    stop_words: frozenset[str]
    judged: tuple[JudgedTexts, ...] = ()
    folders: Mapping[str, Path] = field(default_factory=dict)
    collection: str = PYTHON


@dataclass(frozen=True)
class Family:
    """Probes that are made together.

    Attributes
    ----------
    name : str
        Lower case with hyphens.
    title : str
        Description of the effect that the probes measure, in one line.
    make : callable
        Returns the probes for the given inputs; empty if the inputs lack required data.
    folders : tuple of str
        Names of `ProbeInputs.folders` that the family reads.
    """

    name: str
    title: str
    make: Callable[[ProbeInputs], Sequence[Probe]]
    folders: tuple[str, ...] = ()
