"""Explanation for the terminal: the score as a table, and the text with marked matches.

Control characters of documents are replaced, see `termwise.display.safe_text`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
from rich.table import Table
from rich.text import Text

from termwise.display.safe_text import legible, legible_line
from termwise.explain import explanation_text as wording
from termwise.explain.attribution import Span
from termwise.explain.passages import Mark, best_passage, cut, passages
from termwise.explain.styled_line import colours_of, joined, marked_line
from termwise.explain.terminal_parts import indented, is_plain, text_of, trimmed_lines
from termwise.fast_dataclass import dataclass

if TYPE_CHECKING:
    from termwise.explain.explanation import Explanation

TERMS = 20
"""Default number of terms in the table of an explanation."""

TEXT_LINES = 8
"""Default number of lines of text with an explanation, approximately."""

_LONGEST_NAME = 32
_SHORTEST_NAME = 10
_NARROW = 26
_LONGEST_BAR = 24
_SHORTEST_BAR = 5
_BESIDE_BAR = 7
_SHARE = "share of the terms"
_WORDS = 12
_SIDE_BY_SIDE = 60
_PARTS = 4
_SHARES = (0.92, 0.8, 0.6)


def explanation_renderable(explanation: Explanation, *, full: bool = False) -> ConsoleRenderable:
    """Return an explanation for the terminal, for `rich.console.Console.print`.

    The rounded numbers of the table add up to the score; a rounding difference has its own line. With `full`, the whole
    text and all terms are written.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution, Explanation
    >>> part = Contribution("merg", "exact", 1.0, 4.5, 4.5, ((0, 5),), ((0, 5),))
    >>> shown = Explanation("merge it", "d1", 4.5, 0.0, (part,), (), "Merge lists.")
    >>> Console(width=80).print(explanation_renderable(shown))
    d1
    score 4.5000
    query ‹merge› it
    <BLANKLINE>
      term          origin  query × doc  contribution  share of the terms    in text
      merge (merg)  exact    1 × 4.5000        4.5000  ━━━━━━━━━━━━━━━ 100%       1×
                                         ────────────
      score                                    4.5000
    <BLANKLINE>
      left out of the query: it
    <BLANKLINE>
    text
      ‹Merge› lists.
    """
    return _ExplanationView(explanation, full)


@dataclass(frozen=True)
class _ExplanationView:
    explanation: Explanation
    full: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = options.max_width
        plain = is_plain(console)
        parts = self._head(columns, plain)
        if self.explanation.constant != 0 or wording.contributing(self.explanation):
            weight = "(doc - mean)" if self.explanation.centred else "doc"
            factors = f"query × {weight} × scale" if self.explanation.parts else f"query × {weight}"
            whole = wording.sum_without_signs(self.explanation)
            parts += [Text(), indented(_table(self._rows(), columns - 2, factors, whole))]
        if notes := list(self._remarks()):
            parts += [Text(), *map(indented, notes)]
        if sources := list(self._translation_sources()):
            parts += [Text(), Text("made of", "bold"), *map(indented, sources)]
        if self.explanation.field_scores:
            parts += [Text(), Text("by field", "bold"), indented(self._by_field())]
        parts += [Text(), *self._text(console, columns, plain)]
        if self.explanation.competitors:
            parts += [Text(), Text("ranking", "bold"), indented(self._competitors())]
        yield from trimmed_lines(console, options, parts)

    def _head(self, columns: int, plain: bool) -> list[ConsoleRenderable]:
        explanation = self.explanation
        score = Text.assemble(
            "score ", (wording.number(explanation.score, wording.decimals_of(explanation)), "bold")
        )
        if rank := wording.rank_text(explanation):
            score.append(f" · {rank}")
        if explanation.example is None:
            query = Text("query ") + _query(explanation, 3 * columns, plain)
        else:
            query = Text(f"like {legible_line(explanation.example)}", overflow="fold")
        lines: list[ConsoleRenderable] = []
        if explanation.parts:
            table = Table.grid(padding=(0, 2, 0, 0))
            table.add_column(overflow="fold")
            table.add_column(overflow="fold")
            for part in explanation.parts:
                table.add_row(Text(legible_line(part.name), "bold"), wording.part_line(part))
            heading = Text("weight × (score - mean) / deviation of the candidates", "dim")
            lines = [Text(), Text("parts", "bold"), indented(heading), indented(table)]
        return [Text(legible_line(explanation.doc_id), "bold", overflow="fold"), score, query, *lines]

    def _rows(self) -> list[_Row]:
        """Return the rows of the sum: parts, rounding difference, and score."""
        explanation = self.explanation
        contributions = explanation.contributions
        decimals = wording.decimals_of(explanation)
        colours = colours_of(explanation)
        positions = wording.contributing(explanation)
        weight_decimals = wording.decimals_for(contributions[position].weight for position in positions)
        rows = []
        most = None if self.full else TERMS
        shifts = {wording.shift_name(part): part for part in explanation.parts}
        heading = ""
        for title, value, position in wording.summands(explanation, positions, most, decimals):
            shift = shifts.get(title) if position is None else None
            name = "" if position is None else wording.part_name(contributions[position], explanation)
            part_name = name if shift is None else shift.name
            if part_name not in ("", heading):
                heading = part_name
                rows.append(_Row(Text(legible_line(heading), "bold"), ""))
            if shift is not None:
                rows.append(
                    _Row(
                        Text(title),
                        wording.number(value, decimals),
                        product=wording.shift_product(shift),
                        style="dim",
                    )
                )
                continue
            if position is None:
                if title != "constant" or value != 0:
                    style = "dim" if title == "rounding" else ""
                    share = None if title in ("constant", "rounding") else value
                    rows.append(_Row(Text(title), wording.number(value, decimals), share=share, style=style))
                continue
            part = contributions[position]
            term_name = Text(wording.label(part, explanation.query), colours[position])
            if term := wording.stem(part, explanation.query):
                term_name.append(f" ({term})", "dim")
            rows.append(
                _Row(
                    term_name,
                    wording.number(value, decimals),
                    share=value,
                    colour=colours[position],
                    origin="not known" if part.origin == "unknown" else part.origin,
                    product=wording.product(part, explanation, weight_decimals),
                    occurrences=f"{len(part.spans):,}×" if part.spans else "–",
                )
            )
        rows.append(_Row(Text("score"), wording.number(explanation.score, decimals), style="bold"))
        return rows

    def _remarks(self) -> Iterable[Text]:
        for remark in wording.remarks(self.explanation, words=_WORDS):
            more = [f"and {remark.more:,} more"] if remark.more else []
            yield Text.assemble((f"{remark.reason}: ", "dim"), ", ".join([*remark.words, *more]))
        positions = wording.contributing(self.explanation)
        listed = positions if self.full else wording.largest(self.explanation, positions, TERMS)
        if wording.has_pieces(self.explanation, listed):
            yield Text("##: a piece that continues a word", "dim")

    def _translation_sources(self) -> Iterable[Text]:
        """Yield one line per translated term with its source words."""
        colours = colours_of(self.explanation)
        for term in wording.translation_sources(self.explanation)[: None if self.full else TERMS]:
            part = self.explanation.contributions[term.position]
            words = ", ".join(f"{word} {wording.percent(share)}" for word, share in term.parts)
            more = f", {term.more:,} more" if term.more else ""
            yield Text.assemble(
                (wording.full_name(part, self.explanation.query), colours[term.position]), " ← ", words, more
            )

    def _by_field(self) -> Table:
        """Return the contributions split by field; the last row has the sums of all terms."""
        explanation = self.explanation
        decimals, colours = wording.decimals_of(explanation), colours_of(explanation)
        split = [position for position, part in enumerate(explanation.contributions) if part.fields]
        listed = split if self.full else wording.largest(explanation, split, TERMS)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("term", overflow="ellipsis", no_wrap=True)
        for field in explanation.contributions[split[0]].fields:
            table.add_column(field.label, justify="right", no_wrap=True)
        for position in listed:
            part = explanation.contributions[position]
            scores = [
                wording.number(part.score * field.share, decimals) if field.occurrences else "–"
                for field in part.fields
            ]
            table.add_row(Text(wording.full_name(part, explanation.query), colours[position]), *scores)
        sums = [wording.number(score, decimals) for score in explanation.field_scores.values()]
        table.add_row("all terms", *sums, style="bold")
        return table

    def _text(self, console: Console, columns: int, plain: bool) -> list[ConsoleRenderable]:
        explanation = self.explanation
        side_by_side = explanation.example is not None and columns >= _SIDE_BY_SIDE
        width = max(8, (columns - 4) // 2 if side_by_side else columns - 2)
        lines = 2 * TEXT_LINES if side_by_side else TEXT_LINES
        heading = Text("text", "bold")
        window = wording.scored_window(explanation)
        name = "" if window is None else window[0]
        if name and explanation.example is None:
            heading.append(f" · {name}", "not bold")
        if explanation.text is None:
            missing = Text("not stored in this index; build it with store_text")
            document: list[Text] = [missing]
        else:
            document = self._passages(
                console,
                explanation.text,
                wording.marks(explanation),
                width,
                lines,
                plain,
                within=None if window is None else window[1],
            )
        if explanation.example is None:
            return [heading, *map(indented, document)]
        added = wording.added_by_model(explanation)
        example = self._passages(
            console, explanation.query, wording.example_marks(explanation), width, lines, plain, added
        )
        names = [legible_line(explanation.example), legible_line(explanation.doc_id)]
        if not side_by_side:
            blocks = zip(names, (example, document), strict=True)
            shown = [part for name, texts in blocks for part in (Text(name, "bold"), *map(indented, texts))]
        else:
            table = Table.grid(padding=(0, 2, 0, 0))
            table.add_column(width=width)
            table.add_column(width=width)
            table.add_row(*(Text(name, "bold", overflow="fold") for name in names))
            table.add_row(*(Text("\n").join(texts) for texts in (example, document)))
            shown = [indented(table)]
        if name:
            shown.append(Text(f"{legible_line(explanation.doc_id)}: {name}", "dim"))
        if added:
            sign = "‹+word›" if plain else "in italics"
            shown.append(Text(f"{sign}: the word is not in the document; the model gives it a weight", "dim"))
        return shown

    def _passages(
        self,
        console: Console,
        source: str,
        text_marks: Sequence[Mark],
        width: int,
        lines: int,
        plain: bool,
        added: Container[int] = (),
        within: Span | None = None,
    ) -> list[Text]:
        """Return a text, or the most important passages of a long one, in about this number of lines."""
        text = legible(source)
        if not text.strip():
            return [Text("empty", "dim")]
        colours = colours_of(self.explanation)
        if self.full or len(text) <= width * lines:
            whole = text_of(marked_line(cut(text, text_marks), colours, plain=plain, added=added))
            if self.full or len(whole.wrap(console, width)) <= lines:
                return [whole]
        parts: list[Text] = []
        for share in _SHARES:
            size = int(share * width * lines / _PARTS)
            chosen = passages(text, text_marks, width=size, count=_PARTS, within=within)
            parts = [text_of(marked_line(part, colours, plain=plain, added=added)) for part in chosen]
            if sum(len(part.wrap(console, width)) for part in parts) <= lines:
                break
        return parts

    def _competitors(self) -> Table:
        rows = wording.neighbourhood(self.explanation)
        decimals = wording.decimals_for(score for _, _, score in rows)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(overflow="fold")
        for rank, name, score in rows:
            explained = rank == self.explanation.rank
            style, name = ("bold", f"{name} ◂") if explained else ("", name)
            table.add_row(f"{rank:,}", wording.number(score, decimals), name, style=style)
        return table


@dataclass(frozen=True)
class _Row:
    """Row of the sum; `share` is None for rows that are not terms."""

    name: Text
    score: str
    share: float | None = None
    colour: str = ""
    origin: str = ""
    product: str = ""
    occurrences: str = ""
    style: str = ""


def _table(rows: Sequence[_Row], columns: int, factors: str, whole: float) -> Table:
    """Return the table of the sum; in a narrow terminal it has fewer columns and shorter names, but all numbers.

    `whole` is the sum that the shares are parts of.
    """
    score_width = max(len(row.score) for row in rows)
    heading = "contribution" if columns >= _NARROW else "adds"
    score_width = max(score_width, len(heading))
    name_width = min(_LONGEST_NAME, max(row.name.cell_len for row in rows))
    room = columns - score_width - 2 - min(name_width, _SHORTEST_NAME)
    titles = {"product": factors, "occurrences": "in text", "origin": "origin"}
    kept = set()
    for key, title in titles.items():
        needed = 2 + max(len(title), *(len(getattr(row, key)) for row in rows))
        if needed <= room:
            kept.add(key)
            room -= needed
    room -= max(0, name_width - _SHORTEST_NAME)
    name_width = max(1, name_width + min(0, room))
    bar = min(_LONGEST_BAR, room - _BESIDE_BAR) if room - _BESIDE_BAR >= _SHORTEST_BAR else 0

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("term", no_wrap=True, overflow="ellipsis", min_width=name_width, max_width=name_width)
    before, after = (
        [key for key in keys if key in kept] for keys in (("origin", "product"), ("occurrences",))
    )
    for key in before:
        table.add_column(titles[key], justify="right" if key == "product" else "left", no_wrap=True)
    table.add_column(heading, justify="right", no_wrap=True, min_width=score_width)
    if bar:
        table.add_column(_SHARE if bar + _BESIDE_BAR - 2 >= len(_SHARE) else "share", no_wrap=True)
    for key in after:
        table.add_column(titles[key], justify="right", no_wrap=True)
    shares = [row.share for row in rows if row.share is not None]
    for row in rows:
        if row is rows[-1]:
            table.add_row(*[""] * (1 + len(before)), Text("─" * score_width, "dim"))
        bars = [_bar(row.share, shares, whole, row.colour, bar)] if bar else []
        left, right = ([getattr(row, key) for key in keys] for keys in (before, after))
        table.add_row(row.name, *left, row.score, *bars, *right, style=row.style)
    return table


def _bar(part: float | None, parts: Sequence[float], whole: float, colour: str, width: int) -> Text:
    """Draw a part as a horizontal bar with its percentage; the largest part has the full width.

    With negative parts the bars have a common zero, and those of negative parts go to the left of it.
    """
    if part is None or not whole > 0:
        return Text()
    highest, lowest = max(0.0, *parts), min(0.0, *parts)
    left = 0 if lowest == 0 else max(1, round((width - 1) * lowest / (lowest - highest)))
    right = width - left - (lowest < 0)
    most, room = (highest, right) if part >= 0 else (lowest, left)
    halves = round(2 * room * part / most) if most else 0
    if part >= 0:
        drawn = " " * left + "│" * (lowest < 0) + ("━" * (halves // 2) + "╸" * (halves % 2)).ljust(right)
    else:
        drawn = ("╺" * (halves % 2) + "━" * (halves // 2)).rjust(left) + "│" + " " * right
    return Text.assemble((drawn, colour), f" {wording.percent(part / whole):>4}")


def _query(explanation: Explanation, width: int, plain: bool) -> Text:
    colours = colours_of(explanation)
    text = Text()
    pieces = best_passage(legible(explanation.query), wording.query_marks(explanation), width)
    for piece in joined(pieces) if plain else pieces:
        if piece.term is None:
            text.append(piece.text, "dim")
        elif piece.term == wording.UNKNOWN:
            text.append(piece.text, "dim strike")
        elif explanation.contributions[piece.term].score == 0:
            text.append(piece.text, "dim")
        else:
            text.append(f"‹{piece.text}›" if plain else piece.text, f"bold {colours[piece.term]}".strip())
    return text
