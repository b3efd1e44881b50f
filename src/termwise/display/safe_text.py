"""Text made safe for terminals and HTML, and short texts for values, digests and settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import islice

MOST_LISTED = 20
"""Number of words or documents listed on one line."""

_LINE_BREAK = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DIGEST = re.compile("((?:sha256:)?[0-9a-f]{12})[0-9a-f]{52}")
_WHITE = str.maketrans("\n\t", "  ")


def legible(text: str, *, directions: bool = False) -> str:
    r"""Replace characters that are unsafe on a screen or in a file with U+FFFD; the length stays the same.

    These are control characters, such as the escape that starts a terminal command, lone surrogates, which UTF-8
    cannot encode, and marks of writing direction. Line breaks of all kinds become ``\n``.

    Parameters
    ----------
    text : str
        Any text.
    directions : bool, optional
        Keep the marks of writing direction. They reorder the rest of a line in a terminal; HTML contains them.

    Examples
    --------
    >>> legible("a\x1b[31m\ud800")
    'a�[31m�'
    """
    safe = _CONTROL.sub("�", _LINE_BREAK.sub("\n", text).replace("\r", " "))
    return safe if directions else _DIRECTION.sub("�", safe)


def legible_line(text: str) -> str:
    r"""Make a name or an id safe within a line: `legible`, with spaces for line breaks and tabs.

    Examples
    --------
    >>> legible_line("run\t1\n\x1b[2J")
    'run 1 �[2J'
    """
    return legible(text).translate(_WHITE)


def listed(words: Collection[str], separator: str = ", ") -> str:
    """Return the first words of a list on one line.

    Examples
    --------
    >>> listed(["tea", "pot"], " or ")
    'tea or pot'
    """
    first = separator.join(map(legible_line, islice(words, MOST_LISTED)))
    return first if len(words) <= MOST_LISTED else f"{first} and {len(words) - MOST_LISTED:,} more"


def lone_surrogate(value: object) -> tuple[str, str] | None:
    r"""Find a lone surrogate, which UTF-8 cannot encode, in a string, or in mappings and sequences at any depth.

    Returns
    -------
    tuple of (str, str) or None
        Name of the field, after the names of those that it is inside of, and the surrogate as an escape.

    Examples
    --------
    >>> lone_surrogate({"size": 3, "meta": {"tags": ["tea", "half \ud83d"]}})
    ('meta.tags', '\\ud83d')
    """
    pending = [("", value)]
    while pending:
        place, each = pending.pop()
        if isinstance(each, str):
            if not each.isascii() and (found := _SURROGATE.search(each)):
                return ascii(place)[1:-1], f"\\u{ord(found[0]):04x}"
        elif isinstance(each, Mapping):
            for key, inner in each.items():
                inside = f"{place}.{key}" if place else str(key)
                pending += [(inside, inner), (inside, key)]
        elif isinstance(each, list | tuple | set | frozenset):
            pending += [(place, inner) for inner in each]
    return None


def short_digest(identity: str) -> str:
    """Shorten a SHA-256, with or without ``sha256:``, to its first 12 digits; return other texts unchanged.

    Examples
    --------
    >>> short_digest("sha256:" + 64 * "a"), short_digest("sha256:a")
    ('sha256:aaaaaaaaaaaa', 'sha256:a')
    """
    match = _DIGEST.fullmatch(identity)
    return identity if match is None else match[1]


def shown(value: object) -> str:
    """Return the repr of a value for an error, in at most 80 characters.

    Examples
    --------
    >>> shown("2"), len(shown("2" * 100)), shown(10**5000)
    ("'2'", 80, 'an int that is too long to write')
    """
    kind = type(value).__name__
    kind = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    try:
        text = repr(value)
    except ValueError:  # Python converts no integer of more than 4300 digits
        return f"{kind} that is too long to write"
    except Exception:  # the repr of a foreign object can raise anything
        return f"{kind} that cannot be written"
    return text if len(text) <= 80 else text[:77] + "..."


def error_text(error: BaseException) -> str:
    """Describe a foreign error in one line: its type and its message.

    Examples
    --------
    >>> error_text(ValueError("no such layer")), error_text(KeyError())
    ('ValueError: no such layer', 'KeyError')
    """
    try:
        message = " ".join(str(error).split())[:200]
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def human_bytes(size: int) -> str:
    """Format a number of bytes with a decimal unit.

    Examples
    --------
    >>> human_bytes(82_285_390), human_bytes(512), human_bytes(999_999)
    ('82.3 MB', '512 B', '1.0 MB')
    """
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if round(value, 1) < 1000:
            return f"{value:.1f} {unit}" if unit != "B" else f"{size} B"
        value /= 1000
    return f"{value:.1f} TB"


def settings_text(settings: Mapping[str, object]) -> str:
    """Write settings in one line, as names and values.

    Examples
    --------
    >>> settings_text({"keep": 64, "steps": ["lower-case", "stop"]})
    'keep 64, steps lower-case stop'
    """
    return ", ".join(f"{name} {_value_text(value)}" for name, value in settings.items())


def settings_differences(first: Mapping[str, object], second: Mapping[str, object]) -> tuple[str, str]:
    """Write the settings in which two descriptions differ, one text for each description.

    Examples
    --------
    >>> settings_differences({"form": "compact", "keep": 64}, {"form": "compact", "keep": 256, "length": 128})
    ('keep 64, no length', 'keep 256, length 128')
    """
    names = [name for name in {**first, **second} if _entry(first, name) != _entry(second, name)]
    return ", ".join(_entry(first, name) for name in names), ", ".join(_entry(second, name) for name in names)


def _entry(settings: Mapping[str, object], name: str) -> str:
    return f"{name} {_value_text(settings[name])}" if name in settings else f"no {name}"


def _value_text(value: object) -> str:
    if isinstance(value, Mapping):
        return f"({settings_text(value)})"
    if isinstance(value, list | tuple):
        return " ".join(map(_value_text, value))
    return short_digest(str(value))
