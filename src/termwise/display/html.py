"""Self-contained HTML pages, rendered from the templates of a package."""

from __future__ import annotations

from termwise.display.safe_text import legible


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
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**values)


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
