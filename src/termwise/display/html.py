"""HTML pages, rendered from the templates of a package, and results in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from termwise.display.safe_text import legible

if TYPE_CHECKING:
    from jinja2 import Environment


def render_page(package: str, template: str, **values: object) -> str:
    """Render a template of a package.

    Values are escaped, and characters that HTML cannot contain are replaced (see `termwise.display.safe_text`).
    A missing value is an error.

    Parameters
    ----------
    package : str
        Package with a folder ``templates``, such as ``"termwise.explain"``.
    template : str
        Name of a file in that folder.
    **values : object
        Variables of the template.

    Returns
    -------
    str
        The document, to be written as UTF-8. Equal values give equal text.
    """
    return _environment(package).get_template(template).render(**values)


@cache
def _environment(package: str) -> Environment:
    """Return the environment of a package, which keeps its compiled templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )


def notebook_frame(page: str, title: str) -> str:
    """Return a page as a frame for a notebook, so that neither changes the styles of the other.

    Parameters
    ----------
    page : str
        The whole document. Its scripts run, without access to the notebook.
    title : str
        Name of the frame for screen readers.

    Examples
    --------
    >>> notebook_frame("<p>a</p>", "A page")
    '<iframe title="A page" sandbox="allow-scripts" srcdoc="&lt;p&gt;a&lt;/p&gt;" style=...></iframe>'
    """
    style = "width: 100%; height: 40em; border: 0"
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts" srcdoc="{escape(page)}" '
        f'style="{style}"></iframe>'
    )


def notebook_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table without styles, which takes those of the notebook.

    Examples
    --------
    >>> notebook_table("a < b", ["rank"], [["1"]])
    '<table><caption>a &lt; b</caption><thead><tr><th>rank</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """

    def row(cells: Iterable[str], tag: str) -> str:
        written = (f"<{tag}>{escape(legible(cell, directions=True))}</{tag}>" for cell in cells)
        return f"<tr>{''.join(written)}</tr>"

    title = f"<caption>{escape(legible(caption, directions=True))}</caption>" if caption else ""
    body = "".join(row(cells, "td") for cells in rows)
    return f"<table>{title}<thead>{row(header, 'th')}</thead><tbody>{body}</tbody></table>"


def css_number(value: float) -> str:
    """Write a number of CSS or SVG with at most two decimals.

    Examples
    --------
    >>> css_number(12.0), css_number(0.126)
    ('12', '0.13')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _printable(value: object) -> object:
    """Make a string legible; leave markup, such as the result of a macro, as it is."""
    return legible(value, directions=True) if type(value) is str else value
