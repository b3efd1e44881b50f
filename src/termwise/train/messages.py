"""Messages of a training run, and conversion of errors of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from termwise.errors import TermwiseError
from termwise.fixes import Fix

Say = Callable[[str], None]
"""Receives one line of text, without the line end."""


def silent(_: str) -> None:
    """Discard a line."""


def first_line(error: BaseException) -> str:
    r"""Return the first line of an error message, at most 200 characters; the type if the message is empty.

    Examples
    --------
    >>> first_line(ValueError("no such layer\n  in encoder")), first_line(KeyError())
    ('no such layer', 'KeyError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


@contextmanager
def errors_as(
    kind: type[TermwiseError],
    message: str,
    *,
    facts: Sequence[tuple[str, object]],
    fixes: Sequence[str | Fix] = (),
) -> Iterator[None]:
    """Convert undocumented exceptions of a library into an error of termwise; its last fact is the reason."""
    try:
        yield
    except TermwiseError:
        raise
    except Exception as error:
        raise kind(message, facts=[*facts, ("reason", first_line(error))], fixes=fixes) from error


def resumption(step: int, steps: int, folder: Path) -> str:
    """Return the message on the step from which a run is resumed; 0 without a checkpoint.

    Examples
    --------
    >>> resumption(0, 9, Path("mine/training"))
    'nothing to resume in mine/training: starting from the beginning'
    """
    if step:
        return f"resuming at step {step:,} of {steps:,}"
    return f"nothing to resume in {folder}: starting from the beginning"
