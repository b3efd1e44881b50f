"""Every error termwise raises on purpose.

::

    TermwiseError
    ├── UsageError                 2   the call cannot be carried out as asked
    │   ├── UnknownNameError           a model, analyzer, parameter or measure that does not exist
    │   ├── ParameterError             a known parameter with a value outside its range
    │   ├── IndexExistsError           the output folder already holds an index
    │   ├── ForeignFolderError         the output folder holds something that is not ours
    │   └── InferenceRequiredError     only a network could give the answer, and none was handed in
    ├── DataError                  3   something that was read is not what it should be
    │   ├── MissingFileError           a path that does not exist or cannot be read
    │   ├── MalformedRecordError       a line of a collection, query, run or judgment file
    │   ├── DuplicateIdError           one identifier given to two records
    │   ├── EmptyCollectionError       a collection without a single document
    │   ├── UnknownIdError             a query or document identifier that is not there
    │   ├── WeightError                term weights that are negative, not finite or out of order
    │   ├── VocabularyMismatchError    two parts that speak of different terms
    │   ├── ModelFormatError           a trained network that is not what it should be
    │   │   └── CorruptModelError          truncated or changed
    │   └── IndexFormatError           a file of an index
    │       ├── NotAnIndexError            not a termwise index at all
    │       ├── NewerFormatError           written by a later version
    │       └── CorruptIndexError          truncated or damaged
    ├── StorageError               3   the disk is full, read-only or refuses
    ├── IndexLockedError           3   another process is writing this index
    ├── DivergedError              3   training came to numbers that are not finite
    ├── MissingExtraError          4   an optional dependency is not installed
    └── CheckFailedError           5   a check the user asked for did not hold

The number is the exit status of the command line. Each error carries the same facts in Python as on the
terminal: ``slug`` (a stable name), ``facts`` (label and value pairs) and ``fixes`` (sentences).

A fix names arguments and functions of the Python interface in backticks: ```store_text=True```, or
```build_index(model="tilde")```. The command line shows the same places as options and commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from termwise.display.safe_text import legible

_CODE = re.compile("`([^`]*)`")

MOST_NAMES = 40
"""Known names that an error lists; of more it lists some."""


def near_names(name: str, known: Iterable[str], *, likeness: float = 0.5) -> list[str]:
    """Return the known names that are spelt most like another one, whatever is upper or lower case.

    Parameters
    ----------
    name : str
        The name that was given.
    known : iterable of str
        All names that exist.
    likeness : float, optional
        From 0 to 1, as `difflib.get_close_matches` takes it.

    Returns
    -------
    list of str
        Nearest first. Names that differ in nothing but upper and lower case stand alone.

    Examples
    --------
    >>> near_names("TILDES", ["bm25", "tilde", "tildev2"]), near_names("TILDE", ["bm25", "tilde", "tildev2"])
    (['tilde', 'tildev2'], ['tilde'])
    """
    import difflib

    spelt: dict[str, list[str]] = {}
    for each in known:
        spelt.setdefault(each.casefold(), []).append(each)
    folded = name.casefold()
    near = [folded] if folded in spelt else difflib.get_close_matches(folded, spelt, n=3, cutoff=likeness)
    return [each for one in near for each in spelt[one]]


class TermwiseError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence without a full stop.
    facts : iterable of (str, object), optional
        Label and value pairs: what was seen, what was expected, where.
    fixes : iterable of str, optional
        What to do next, best first. Arguments and calls stand in backticks, see the module.

    Examples
    --------
    >>> error = ParameterError("k must not be negative", facts=[("k", -1)], fixes=["pass k=10"])
    >>> print(error.render())
    k must not be negative  [parameter]
      k    -1
      fix  pass k=10
    """

    slug: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        facts: Iterable[tuple[str, object]] = (),
        fixes: Iterable[str] = (),
    ) -> None:
        self.message = message
        self.facts = tuple(facts)
        self.fixes = tuple(fixes)
        super().__init__(message)

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders; keyword-only arguments need to be told how.
        return (_rebuild, (type(self), self.message, self.facts, self.fixes))

    def render(self, spell: Callable[[str], str] | None = None) -> str:
        """Return message, facts and fixes as lines of text; control characters are replaced by U+FFFD.

        Parameters
        ----------
        spell : callable, optional
            Translates what stands in backticks in a fix, for an interface other than Python; the backticks go.
        """
        fixes = self.fixes
        if spell is not None:
            fixes = tuple(_CODE.sub(lambda found: spell(found[1]), fix) for fix in fixes)
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


def _rebuild(
    kind: type[TermwiseError],
    message: str,
    facts: tuple[tuple[str, object], ...],
    fixes: tuple[str, ...],
) -> TermwiseError:
    error = kind.__new__(kind)
    TermwiseError.__init__(error, message, facts=facts, fixes=fixes)
    return error


class UsageError(TermwiseError):
    """The call cannot be carried out as asked."""

    slug = "usage"
    exit_code = 2


class UnknownNameError(UsageError):
    """A model, analyzer, parameter, measure or reader that does not exist."""

    slug = "unknown-name"

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
        """Build the error for a misspelt name, with the nearest known ones first.

        Parameters
        ----------
        kind : str
            What was looked up: ``"model"``, ``"analyzer"``, ``"parameter"``.
        name : str
            The name that was given.
        known : iterable of str
            All names that exist.
        """
        names = sorted(known)
        near = near_names(name, names)
        fixes = [f"did you mean {' or '.join(near)}?"] if near else []
        told = ", ".join(names) or "none"
        if len(names) > MOST_NAMES:
            told = f"{len(names)} names, such as {', '.join((near + names)[:5])}"
        return cls(f"unknown {kind} {name!r}", facts=[("given", name), ("known", told)], fixes=fixes)


class ParameterError(UsageError):
    """A known parameter with a value it cannot take."""

    slug = "parameter"


class IndexExistsError(UsageError):
    """The output folder already holds an index."""

    slug = "index-exists"


class ForeignFolderError(UsageError):
    """The output folder holds files that do not belong to the output."""

    slug = "foreign-folder"


class InferenceRequiredError(UsageError):
    """Only a pass of a network could give the answer, and the caller handed in none."""

    slug = "inference-required"


class DataError(TermwiseError):
    """Something that was read is not what it should be."""

    slug = "data"
    exit_code = 3


class MissingFileError(DataError):
    """A path that does not exist or cannot be read."""

    slug = "missing-file"


class MalformedRecordError(DataError):
    """A record of a text file that does not have the expected form.

    Use :meth:`at` to build one: it names the file, the line, what was expected and what was seen.
    """

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
        fixes: Iterable[str] = (),
    ) -> MalformedRecordError:
        """Build the error for line `line` (counted from 1) of `path`."""
        shown = seen if len(seen) <= 120 else seen[:117] + "..."
        return cls(
            message,
            facts=[("file", path), ("line", line), ("expected", expected), ("seen", shown)],
            fixes=fixes,
        )


class DuplicateIdError(DataError):
    """One identifier given to two records."""

    slug = "duplicate-id"


class EmptyCollectionError(DataError):
    """A collection without a single document."""

    slug = "empty-collection"


class UnknownIdError(DataError):
    """A query or document identifier that is not there."""

    slug = "unknown-id"


class WeightError(DataError):
    """Term weights that are negative, not finite, or whose rows are out of order."""

    slug = "weights"


class VocabularyMismatchError(DataError):
    """Two parts that number their terms differently."""

    slug = "vocabulary-mismatch"


class ModelFormatError(DataError):
    """A trained network, or its folder, is not what it should be.

    No folder of an encoder, one of another kind, without the head or the vocabulary it needs, or one whose
    outputs are not finite numbers.
    """

    slug = "model-format"


class CorruptModelError(ModelFormatError):
    """A file of an encoder is truncated or is not the one its folder was made with; the facts name it."""

    slug = "corrupt-model"


class IndexFormatError(DataError):
    """A file of an index is not as the format says."""

    slug = "index-format"


class NotAnIndexError(IndexFormatError):
    """The folder or file is not a termwise index."""

    slug = "not-an-index"


class NewerFormatError(IndexFormatError):
    """The index was written by a later version of termwise."""

    slug = "newer-format"


class CorruptIndexError(IndexFormatError):
    """A file of the index is truncated or damaged; the facts name file and offset."""

    slug = "corrupt-index"


class StorageError(TermwiseError):
    """The disk is full, read-only, or refuses for another reason."""

    slug = "storage"
    exit_code = 3


class IndexLockedError(TermwiseError):
    """Another process is writing this index."""

    slug = "index-locked"
    exit_code = 3


class DivergedError(TermwiseError):
    """Training came to a loss or to weights that are not finite numbers."""

    slug = "diverged"
    exit_code = 3


class MissingExtraError(TermwiseError):
    """An optional dependency is not installed."""

    slug = "missing-extra"
    exit_code = 4

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        """Build the error for a missing `package` that the extra `extra` would bring."""
        return cls(
            f"{purpose} needs the package {package}, which is not installed",
            facts=[("package", package), ("extra", extra)],
            fixes=[f"pip install 'termwise[{extra}]'"],
        )


class CheckFailedError(TermwiseError):
    """A check the user asked for did not hold."""

    slug = "check-failed"
    exit_code = 5
