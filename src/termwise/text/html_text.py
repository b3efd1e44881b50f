"""Plain text of texts with tags and entities of HTML, as feeds of shops and content systems have them.

Only known tags, and entities that end with a semicolon, are markup: ``a < b``, ``size <M>``, ``R&D`` and the address
``?a=1&copy=2`` stay. What entities stand for can be markup again, as in ``&lt;br&gt;`` or ``&amp;uuml;``, because feeds
are often escaped twice; it is read up to `PASSES` times.
"""

from __future__ import annotations

import html
import re

PASSES = 3
"""Number of times that a text is read."""

_HIDDEN = frozenset(["head", "noscript", "script", "style", "template", "title"])
_CELLS = frozenset(["td", "th"])
_BLOCKS = frozenset(
    """
    address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol option p pre section select summary
    table tbody tfoot thead tr ul
    """.split()  # noqa: SIM905
)
_INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big button cite code data del dfn em font i iframe img input ins kbd label link mark meta
    meter nobr output picture progress q rp rt ruby s samp small source span strike strong sub sup svg time tt u var
    video wbr
    """.split()  # noqa: SIM905
)
_TAGS = _HIDDEN | _BLOCKS | _CELLS | _INLINE

_MARKUP = re.compile(r"<!--|-->|<(/?)([A-Za-z][A-Za-z0-9]*)(?:[\s/][^<>]*)?>")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" ?(?:\n ?)+")


def first_markup(text: str) -> str | None:
    """Return the first tag, or else the first entity, of a text; None if there is none.

    Examples
    --------
    >>> [first_markup(text) for text in ("h&ouml;her", "3 l <br/>rot", "size <M>, R&D", "a < b")]
    ['&ouml;', '<br/>', None, None]
    """
    if "<" in text:
        for found in _MARKUP.finditer(text):
            if found[2] is not None and found[2].lower() in _TAGS:
                return found[0]
    entities = _ENTITY.finditer(text) if "&" in text else ()
    return next((found[0] for found in entities if _character(found) != found[0]), None)


def plain_text(text: str) -> str:
    r"""Return a text without tags, and with characters in place of entities.

    Tags of blocks, such as ``<p>`` and ``<br>``, become line ends, and those of cells blanks. Comments, and what is in
    elements such as ``script`` and ``style``, are removed. As in a browser, several blanks are one. A text without
    markup stays as it is.

    Examples
    --------
    >>> plain_text("<p>H&ouml;henverstellbar,&nbsp;<b>rot</b>.<br>Fix &amp;amp; Fertig")
    'Höhenverstellbar, rot.\nFix & Fertig'
    >>> plain_text("  a < b,  R&D"), plain_text("<style>p {color: red}</style>Tee")
    ('  a < b,  R&D', 'Tee')
    """
    plain = text
    for _ in range(PASSES):
        if "<" not in plain and "&" not in plain:
            break
        before, plain = plain, _ENTITY.sub(_character, _without_tags(plain))
        if plain == before:
            break
    if plain == text:
        return text
    return _LINE_ENDS.sub("\n", _BLANKS.sub(" ", plain)).strip()


def _character(entity: re.Match[str]) -> str:
    return html.unescape(entity[0])


def _without_tags(text: str) -> str:
    kept: list[str] = []
    rest, hidden = 0, ""  # the end of what is hidden: a comment or an element
    for found in _MARKUP.finditer(text):
        name = found[0] if found[2] is None else found[2].lower()
        if hidden:
            if name == hidden and found[1] != "":
                rest, hidden = found.end(), ""
            continue
        if name not in _TAGS and name != "<!--":
            continue
        kept.append(text[rest : found.start()])
        kept.append("\n" if name in _BLOCKS else " " if name in _CELLS else "")
        rest = found.end()
        if name == "<!--":
            hidden = "-->"
        elif name in _HIDDEN and not found[1]:
            hidden = name
    if not hidden:
        kept.append(text[rest:])
    return "".join(kept)
