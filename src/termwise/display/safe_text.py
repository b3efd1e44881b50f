"""What comes from elsewhere, fit for a terminal or a page: documents, queries, identifiers, values of arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

_LINE_BREAK = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DIGEST = re.compile("((?:sha256:)?[0-9a-f]{12})[0-9a-f]{52}")
_WHITE = str.maketrans("\n\t", "  ")


def legible(text: str, *, directions: bool = False) -> str:
    r"""Replace what must not reach a screen or a file by U+FFFD; every character keeps its position.

    Replaced are control characters, among them the escape that starts a terminal command, and lone surrogates,
    which UTF-8 cannot hold. Line breaks of all kinds become ``\n``.

    Parameters
    ----------
    text : str
        Any text.
    directions : bool, optional
        Keep the characters that change the direction of writing. In a terminal they would turn the rest of the
        line around; HTML can contain them.

    Examples
    --------
    >>> legible("a\x1b[31m\ud800")
    'a�[31m�'
    """
    shown = _CONTROL.sub("�", _LINE_BREAK.sub("\n", text).replace("\r", " "))
    return shown if directions else _DIRECTION.sub("�", shown)


def legible_line(text: str) -> str:
    r"""Make a name or an identifier fit to stand in a line: as `legible`, line breaks and tabs become spaces.

    Examples
    --------
    >>> legible_line("run\t1\n\x1b[2J")
    'run 1 �[2J'
    """
    return legible(text).translate(_WHITE)


def short_digest(identity: str) -> str:
    """Cut a SHA-256, with ``sha256:`` before it or without, to its first 12 digits; other texts stay as they are.

    Examples
    --------
    >>> short_digest("sha256:" + 64 * "a"), short_digest("sha256:a")
    ('sha256:aaaaaaaaaaaa', 'sha256:a')
    """
    found = _DIGEST.fullmatch(identity)
    return identity if found is None else found[1]


def shown(value: object) -> str:
    """Write a value for an error, as code has it, in 80 characters at most.

    Examples
    --------
    >>> shown("2"), len(shown("2" * 100)), shown(10**5000)
    ("'2'", 80, 'an int that is too long to write')
    """
    kind = type(value).__name__
    kind = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    try:
        written = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return f"{kind} that is too long to write"
    except Exception:  # of others' objects anything may fail
        return f"{kind} that cannot be written"
    return written if len(written) <= 80 else written[:77] + "..."


def error_said(error: BaseException) -> str:
    """Write an error of others in a line: its type, and what it says.

    Examples
    --------
    >>> error_said(ValueError("no such layer")), error_said(KeyError())
    ('ValueError: no such layer', 'KeyError')
    """
    try:
        said = " ".join(str(error).split())[:200]
    except Exception:
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def in_words(settings: Mapping[str, object]) -> str:
    """Write settings as a line of names and values.

    Examples
    --------
    >>> in_words({"keep": 64, "steps": ["lower-case", "stop"]})
    'keep 64, steps lower-case stop'
    """
    return ", ".join(f"{name} {_written(value)}" for name, value in settings.items())


def told_apart(one: Mapping[str, object], other: Mapping[str, object]) -> tuple[str, str]:
    """Write of two descriptions what differs between them; nothing if nothing does.

    Examples
    --------
    >>> told_apart({"form": "compact", "keep": 64}, {"form": "compact", "keep": 256, "length": 128})
    ('keep 64, no length', 'keep 256, length 128')
    """
    names = [name for name in {**one, **other} if _entry(one, name) != _entry(other, name)]
    first, second = (", ".join(_entry(each, name) for name in names) for each in (one, other))
    return first, second


def _entry(settings: Mapping[str, object], name: str) -> str:
    return f"{name} {_written(settings[name])}" if name in settings else f"no {name}"


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return f"({in_words(value)})"
    if isinstance(value, list | tuple):
        return " ".join(map(_written, value))
    return short_digest(str(value))
