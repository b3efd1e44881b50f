"""Errors of termwise.

::

    TermwiseError
    ├── UsageError                 2   the call is not possible
    │   ├── UnknownNameError           a model, analyzer, parameter or measure that does not exist
    │   ├── ParameterError             a known parameter with a value outside its range
    │   ├── IndexExistsError           the output folder already holds an index
    │   ├── ForeignFolderError         the output folder has other files
    │   └── InferenceRequiredError     the call needs a network, and there is none
    ├── DataError                  3   input data are not as expected
    │   ├── MissingFileError           a path that does not exist or cannot be read
    │   ├── MalformedRecordError       a line of a collection, query, run or judgment file
    │   ├── DuplicateIdError           two records with one identifier
    │   ├── EmptyCollectionError       a collection without a single document
    │   ├── UnknownIdError             a query or document identifier that is not known
    │   ├── WeightError                term weights that are negative, not finite or out of order
    │   ├── VocabularyMismatchError    two parts with different numberings of terms
    │   ├── ModelFormatError           a trained network that is not as expected
    │   │   └── CorruptModelError          truncated or changed
    │   └── IndexFormatError           a file of an index
    │       ├── NotAnIndexError            not a termwise index
    │       ├── NewerFormatError           written by a later version
    │       └── CorruptIndexError          truncated or damaged
    ├── StorageError               3   the disk is full, read-only or fails
    ├── EngineError                3   another search engine cannot be reached, or refuses a request
    ├── IndexLockedError           3   another process is writing this index
    ├── DivergedError              3   training reached numbers that are not finite
    ├── MissingExtraError          4   an optional dependency is not installed
    └── CheckFailedError           5   a requested check failed

The number is the exit status of the command line. An error has a ``slug`` (a stable name), ``facts`` (pairs of label
and value) and ``fixes``: sentences, or values of `termwise.fixes` that each interface words in its own syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from termwise.display.safe_text import legible
from termwise.fixes import Fix

LONGEST_NAME = 200
"""Characters of an unknown name that an error repeats."""

MOST_NAMES = 40
"""Largest number of known names that an error lists in full."""


def near_names(name: str, known: Iterable[str], *, cutoff: float = 0.7) -> list[str]:
    """Return up to three known names that are similar to an unknown name, nearest first; case is ignored.

    Names are similar if they share enough characters, or if one of them is the beginning of the other and has three
    characters or more. Names that differ only in case are returned alone.

    Parameters
    ----------
    name : str
        The unknown name.
    known : iterable of str
        All names.
    cutoff : float, optional
        Least share of the characters that two names have in common, as `difflib.get_close_matches` counts it.

    Examples
    --------
    >>> near_names("TILDES", ["bm25", "tilde", "tildev2"]), near_names("TILDE", ["bm25", "tilde", "tildev2"])
    (['tilde', 'tildev2'], ['tilde'])
    >>> near_names("lang", ["language", "country"]), near_names("colour", ["country", "author"])
    (['language'], [])
    """
    import difflib

    spelt: dict[str, list[str]] = {}
    for each in known:
        spelt.setdefault(each.casefold(), []).append(each)
    folded = name.casefold()
    if folded in spelt:
        return spelt[folded]
    near = difflib.get_close_matches(folded, spelt, n=3, cutoff=cutoff)
    near += [each for each in spelt if each not in near and _begins(each, folded)]
    return [each for one in near[:3] for each in spelt[one]]


def _begins(name: str, other: str) -> bool:
    """Return whether one of two names is the beginning of the other, and has at least three characters."""
    shorter, longer = sorted((name, other), key=len)
    return len(shorter) >= 3 and longer.startswith(shorter)


class TermwiseError(Exception):
    """Base class of all errors of termwise.

    Parameters
    ----------
    message : str
        One sentence without a full stop.
    facts : iterable of (str, object), optional
        Pairs of label and value: the value seen, the expected value, the position.
    fixes : iterable of str or Fix, optional
        Ways out, best first: sentences without code, and fixes with arguments and calls.

    Examples
    --------
    >>> error = ParameterError("k must not be negative", facts=[("k", -1)], fixes=[Fix.use(k=10)])
    >>> print(error.render())
    k must not be negative  [parameter]
      k    -1
      fix  use `k=10`
    """

    slug: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self, message: str, *, facts: Iterable[tuple[str, object]] = (), fixes: Iterable[str | Fix] = ()
    ) -> None:
        self.message = message
        self.facts = tuple(facts)
        self.fixes = tuple(fixes)
        super().__init__(message)

    def __str__(self) -> str:
        return self.render()

    def fixes_worded(self, word: Callable[[Fix], str | None] = str) -> list[str]:
        """Return the fixes as an interface words them; `word` returns None for one without an equivalent there."""
        worded = (fix if isinstance(fix, str) else word(fix) for fix in self.fixes)
        return [fix for fix in worded if fix is not None]

    def render(self, word: Callable[[Fix], str | None] = str) -> str:
        """Return message, facts and fixes as lines of text, with U+FFFD for control characters.

        Parameters
        ----------
        word : callable, optional
            Words a fix for an interface other than Python, as `fixes_worded`.
        """
        fixes = self.fixes_worded(word)
        rows = [(label, legible(str(value))) for label, value in self.facts]
        rows += [("or" if number else "fix", legible(fix)) for number, fix in enumerate(fixes)]
        width = max((len(label) for label, _ in rows), default=0)
        lines = [f"{legible(self.message)}  [{self.slug}]"]
        for label, value in rows:
            padded = label.rjust(width) if label == "or" else label.ljust(width)
            first, *rest = value.split("\n")
            lines.append(f"  {padded}  {first}".rstrip())
            lines.extend(f"  {'':{width}}  {line}".rstrip() for line in rest)
        return "\n".join(lines)


class UsageError(TermwiseError):
    """The call is not possible."""

    slug = "usage"
    exit_code = 2


class UnknownNameError(UsageError):
    """A model, analyzer, parameter, measure or reader that does not exist."""

    slug = "unknown-name"

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
        """Build the error for an unknown name of a `kind`, such as ``"model"``; `known` are all names."""
        names = sorted(known)
        name = name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"
        near = near_names(name, names)
        fixes = [f"did you mean {' or '.join(near)}?"] if near else []
        listed = ", ".join(names) or "none"
        if len(names) > MOST_NAMES:
            listed = f"{len(names)} names, such as {', '.join((near + names)[:5])}"
        return cls(f"unknown {kind} {name!r}", facts=[("given", name), ("known", listed)], fixes=fixes)


class ParameterError(UsageError):
    """A known parameter with a wrong value."""

    slug = "parameter"


class IndexExistsError(UsageError):
    """The output folder already holds an index."""

    slug = "index-exists"


class ForeignFolderError(UsageError):
    """The output folder holds files that do not belong to the output."""

    slug = "foreign-folder"


class InferenceRequiredError(UsageError):
    """The call needs a network, and there is none."""

    slug = "inference-required"


class DataError(TermwiseError):
    """Input data are not as expected."""

    slug = "data"
    exit_code = 3


class MissingFileError(DataError):
    """A path that does not exist or cannot be read; `of` builds the error from that of the system."""

    slug = "missing-file"

    @classmethod
    def of(
        cls, message: str, path: Path, error: OSError, *, fixes: Iterable[str | Fix] = ()
    ) -> MissingFileError:
        """Build the error for a file that the system cannot read, with the reason."""
        return cls(message, facts=[("file", path), ("reason", error.strerror or error)], fixes=fixes)


class MalformedRecordError(DataError):
    """A record of a text file in an unexpected form; `at` builds the error for a line."""

    slug = "malformed-record"

    @classmethod
    def at(
        cls,
        path: str | Path,
        line: int,
        *,
        expected: str,
        seen: str,
        message: str = "a line is not in the expected form",
        fixes: Iterable[str | Fix] = (),
        unit: str = "line",
    ) -> MalformedRecordError:
        """Build the error for line `line` (counted from 1) of `path`; `unit` is what is counted, if not lines."""
        shown = seen if len(seen) <= 120 else seen[:117] + "..."
        return cls(
            message,
            facts=[("file", path), (unit, line), ("expected", expected), ("seen", shown)],
            fixes=fixes,
        )


class DuplicateIdError(DataError):
    """Two records with one identifier."""

    slug = "duplicate-id"


class EmptyCollectionError(DataError):
    """A collection without a single document."""

    slug = "empty-collection"


class UnknownIdError(DataError):
    """A query or document identifier that is not known."""

    slug = "unknown-id"


class WeightError(DataError):
    """Term weights that are negative, not finite, or whose rows are out of order."""

    slug = "weights"


class VocabularyMismatchError(DataError):
    """Two parts that number their terms differently."""

    slug = "vocabulary-mismatch"


class ModelFormatError(DataError):
    """A trained network that is not as expected.

    Its folder is missing, of another kind, or without the required head or vocabulary, or outputs are not finite.
    """

    slug = "model-format"


class CorruptModelError(ModelFormatError):
    """A truncated or changed file of an encoder; the facts name it."""

    slug = "corrupt-model"


class IndexFormatError(DataError):
    """A file of an index with a wrong format."""

    slug = "index-format"


class NotAnIndexError(IndexFormatError):
    """The folder or file is not a termwise index."""

    slug = "not-an-index"


class NewerFormatError(IndexFormatError):
    """An index written by a later version of termwise."""

    slug = "newer-format"


class CorruptIndexError(IndexFormatError):
    """A truncated or damaged file of an index; the facts name file and offset."""

    slug = "corrupt-index"


class StorageError(TermwiseError):
    """The disk is full, read-only, or fails for another reason."""

    slug = "storage"
    exit_code = 3


class EngineError(TermwiseError):
    """Another search engine cannot be reached, or refuses a request."""

    slug = "engine"
    exit_code = 3


class IndexLockedError(TermwiseError):
    """Another process is writing this index."""

    slug = "index-locked"
    exit_code = 3


class BudgetError(TermwiseError):
    """The work for an answer is more than its budget allows; see `termwise.budget`."""

    slug = "budget"
    exit_code = 3


class DeadlineError(BudgetError):
    """The answer was not ready in time."""

    slug = "deadline"


class DivergedError(TermwiseError):
    """Training reached a loss or weights that are not finite numbers."""

    slug = "diverged"
    exit_code = 3


class MissingExtraError(TermwiseError):
    """An optional dependency is not installed."""

    slug = "missing-extra"
    exit_code = 4

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        """Build the error for a missing `package`, which `extra` installs."""
        return cls(
            f"{purpose} needs the package {package}, which is not installed",
            facts=[("package", package), ("extra", extra)],
            fixes=[f"pip install 'termwise[{extra}]'"],
        )


class CheckFailedError(TermwiseError):
    """A requested check failed."""

    slug = "check-failed"
    exit_code = 5
