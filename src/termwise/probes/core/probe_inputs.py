"""What probes are made from, and families: several probes that are made together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe import Probe
from termwise.probes.language.base import Language


@dataclass(frozen=True, eq=False)
class ProbeInputs:
    """What the probes of a run have to work with.

    Attributes
    ----------
    language : Language
        Cuts texts into words and sentences.
    stop_words : frozenset of str
        Words that say nothing, in lower case.
    judged : tuple of JudgedTexts
        Judged collections; none where there is none.
    folders : mapping of str to Path
        Data sets of pairs that the user has, by the name of what reads them.
    """

    language: Language
    stop_words: frozenset[str]
    judged: tuple[JudgedTexts, ...] = ()
    folders: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """Probes that are made together.

    Attributes
    ----------
    name : str
        Lower case with hyphens.
    title : str
        One line: what they ask.
    make : callable
        Returns the probes for some material; none where the material lacks what they need.
    folders : tuple of str
        Names of `ProbeInputs.folders` that it reads.
    """

    name: str
    title: str
    make: Callable[[ProbeInputs], Sequence[Probe]]
    folders: tuple[str, ...] = ()
