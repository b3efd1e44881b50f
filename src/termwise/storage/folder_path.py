"""Path of a folder that leads to the same folder after a change of the working directory."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path

from termwise.fast_dataclass import dataclass


@dataclass(frozen=True)
class FolderPath:
    """Path of a folder as it was given, and the absolute path that it had then.

    Links are not resolved: a link to another folder leads there.
    """

    given: Path
    absolute: Path

    @classmethod
    def of(cls, given: str | Path) -> FolderPath:
        """Remember where a path leads now."""
        path = Path(given)
        with suppress(FileNotFoundError):  # the working directory was removed
            return cls(path, path.absolute())
        return cls(path, path)

    @property
    def current(self) -> Path:
        """The path as it was given, or the absolute path if the working directory has changed since."""
        if self.given is self.absolute or self.given.is_absolute():
            return self.given
        with suppress(FileNotFoundError):
            if self.given.absolute() == self.absolute:
                return self.given
        return self.absolute

    @cached_property
    def name(self) -> str:
        """Name of the folder, or of the folder that a link leads to when this is first used."""
        return self.absolute.resolve().name
