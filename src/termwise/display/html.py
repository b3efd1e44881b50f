"""Self-contained HTML pages, from the templates of a package."""

from __future__ import annotations

from termwise.display.safe_text import legible


def render_page(package: str, template: str, **values: object) -> str:
    """Fill in a template of a package.

    Every value is escaped, and loses the characters that a page cannot hold (see `termwise.display.safe_text`). A
    value that
    the template asks for and that is not given is an error.

    Parameters
    ----------
    package : str
        Package with a folder ``templates``, such as ``"termwise.search"``.
    template : str
        Name of the file in it.
    **values : object
        What the template asks for.

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


def _printable(value: object) -> object:
    """Make a string legible, unless it is a piece of the page itself, such as what a macro returns."""
    return legible(value, directions=True) if type(value) is str else value
