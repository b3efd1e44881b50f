"""Shared parts of explanations and rankings for consoles of rich."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from termwise.explain.styled_line import StyledLine
from termwise.fast_dataclass import dataclass


def text_of(line: StyledLine) -> Text:
    """Return a line as text of rich."""
    return Text.assemble(*line.pieces)


@dataclass(frozen=True)
class LinesView:
    """Lines that are made when their console is known, for its width, and with or without colours."""

    lines: Callable[[int, bool], Iterable[StyledLine]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield each line."""
        for line in self.lines(options.max_width, is_plain(console)):
            yield text_of(line)


def indented(content: ConsoleRenderable, columns: int = 2) -> ConsoleRenderable:
    """Indent a part."""
    return Padding(content, (0, 0, 0, columns), expand=False)


def trimmed_lines(
    console: Console, options: ConsoleOptions, parts: Iterable[ConsoleRenderable]
) -> RenderResult:
    """Render parts below each other, without trailing spaces."""
    for line in console.render_lines(Group(*parts), options, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        yield from line
        yield Segment.line()


def is_plain(console: Console) -> bool:
    """Return whether a console has no colours."""
    return console.color_system is None or console.no_color
