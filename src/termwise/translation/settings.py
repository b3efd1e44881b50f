"""What can be set about the training of a translation table; the defaults are those of the paper's experiments."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from termwise.errors import ParameterError, UnknownNameError
from termwise.translation.manifest import Precision


@dataclass(frozen=True, kw_only=True)
class Model1Settings:
    """Settings of `train_model1`.

    Attributes
    ----------
    analyzer : str
        What cuts documents and queries, see `make_analyzer`. The default is ``wordpiece-clean``: its 28,402 terms are
        the same for every collection, so a table has a bounded size and a row for nearly everything, and shares its
        numbering with the neural models. ``english`` and ``standard+stop`` train on stems and on words.
    ratio : float
        A chunk of a passage has this many times the terms of the query; 0 for whole passages.
    longest_ratio : float
        Pairs are left out if one side has more than this many times the terms of the other.
    symmetrise : bool
        Whether each pair counts a second time with its sides swapped.
    sample : float
        Share of the pairs to train on, drawn at random.
    seed : int
        Of the sample; nothing else is random.
    iterations : int
        Iterations of EM at most.
    tolerance : float
        Stop after an iteration whose perplexity is less than this share below the one before.
    floor, drop : float
        1e-7 and 1e-7 count as MGIZA does, see `termwise.translation.em.estimate`.
    vocabulary : int
        Terms to keep, by the number of passages that hold them; see `cut_vocabulary`.
    least : float
        Probabilities below it are left out of the table.
    precision : {"float32", "float16"}
        Of the probabilities in their file.
    """

    analyzer: str = "wordpiece-clean"
    ratio: float = 1.5
    longest_ratio: float = 9.0
    symmetrise: bool = True
    sample: float = 1.0
    seed: int = 0
    iterations: int = 5
    tolerance: float = 1e-3
    floor: float = 0.0
    drop: float = 0.0
    vocabulary: int = 1_000_000
    least: float = 1e-3
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for one in dataclasses.fields(self):
            value, hint = getattr(self, one.name), hints[one.name]
            if hint in (int, float):
                number = isinstance(value, int | float) and not isinstance(value, bool)
                if not number or (hint is int and value != int(value)):
                    raise _unreadable(one.name, value, hint)
                least, most = _RANGES[one.name]
                if not least <= value <= most:
                    raise ParameterError(
                        f"{one.name} is out of range",
                        facts=[("given", value), ("least", least), ("most", most)],
                    )
            elif get_args(hint):
                if value not in get_args(hint):
                    raise UnknownNameError.of(one.name, str(value), get_args(hint))
            elif not isinstance(value, hint):
                raise _unreadable(one.name, value, hint)
        if self.drop > self.floor:
            raise ParameterError(
                "shares that are not counted must be below the floor of the probabilities",
                facts=[("drop", self.drop), ("floor", self.floor)],
                fixes=[f"--set floor={self.drop:g}"],
            )

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Model1Settings:
        """Return the defaults, changed by what the command line gives.

        Raises
        ------
        UnknownNameError
            If there is no such setting.
        ParameterError
            If a value is not of the type of its setting, or out of range.

        Examples
        --------
        >>> Model1Settings.parse({"iterations": "3", "symmetrise": "false"}).iterations
        3
        """
        hints = get_type_hints(cls)
        values: dict[str, Any] = {}
        for name, text in given.items():
            if name not in hints:
                raise UnknownNameError.of("training setting", name, hints)
            values[name] = _parsed(name, text, hints[name])
        return cls(**values)


_RANGES: Mapping[str, tuple[float, float]] = {
    "ratio": (0, 1e9),
    "longest_ratio": (1, 1e9),
    "sample": (0, 1),
    "seed": (0, 2**32 - 1),
    "iterations": (1, 1000),
    "tolerance": (0, 1),
    "floor": (0, 0.1),
    "drop": (0, 0.1),
    "vocabulary": (1, math.inf),
    "least": (0, 1),
}

_EXPECTED = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _parsed(name: str, text: str, hint: Any) -> object:
    try:
        if hint is bool:
            return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
        return hint(text) if hint in (int, float) else text
    except (ValueError, KeyError):
        raise _unreadable(name, text, hint) from None


def _unreadable(name: str, value: object, hint: Any) -> ParameterError:
    return ParameterError(
        f"the training setting {name} cannot be read",
        facts=[("given", repr(value)), ("expected", _EXPECTED.get(hint, "a text"))],
    )
