"""Reads TREC topics, in the classic form with ``<top>`` and in XML with ``<topic>``.

Classic topics look like SGML, but mostly leave out the closing tags::

    <top>
    <num> Number: 301
    <title> International Organized Crime
    <desc> Description:
    Identify organizations ...
    </top>

XML topics carry the number as an attribute and the fields as elements, or the text directly::

    <topic number="1"><query>coronavirus origin</query><question>...</question></topic>
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path

from termwise.collection.fields import join
from termwise.collection.lines import read_bytes, read_lines
from termwise.errors import MalformedRecordError, UnknownNameError
from termwise.records import Query

LABELS = {
    "num": "Number",
    "title": "Topic",
    "desc": "Description",
    "narr": "Narrative",
    "dom": "Domain",
    "smry": "Summary",
    "con": "Concept(s)",
}
"""What classic topics print at the start of a field; it is not part of the text."""

DEFAULT_FIELDS = ("query", "title")
"""Where no field is chosen, the text is the first of these that a topic has."""

_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)[^<>]*>")
_ENTITY = re.compile(r"&(amp|lt|gt|quot|apos);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def looks_classic(path: Path) -> bool | None:
    """Tell the form of a topics file: True for ``<top>``, False for ``<topic>``, None if neither is found."""
    for _, line in read_lines(path):
        for tag in _TAG.finditer(line):
            if tag.group(2).lower() in ("top", "topic"):
                return tag.group(2).lower() == "top"
    return None


def read_topics(path: Path, fields: tuple[str, ...] | None) -> Iterator[tuple[int, Query]]:
    """Yield the topics of a file with the lines they start in (0 in XML).

    Parameters
    ----------
    path : Path
        Plain or gzip-compressed.
    fields : tuple of str, or None
        Names of tags that make up the text (``title``, ``desc``), in this order and any case; None for
        ``query`` or, where a topic has none, ``title``, or else the text of the topic itself.

    Raises
    ------
    MalformedRecordError
        If a topic is not closed, has no number or no text, or XML is not well-formed.
    UnknownNameError
        If a chosen field is in none of the topics.
    """
    classic = looks_classic(path)
    if classic is None:
        raise MalformedRecordError.at(
            path, 1, expected="topics: <top> or <topic>", seen="no such tag", message="a file holds no topics"
        )
    fields = None if fields is None else tuple(name.lower() for name in fields)
    missing = set(fields or ())
    seen: dict[str, None] = {}
    for number, topic in _classic(path) if classic else _xml(path):
        missing.difference_update(topic)
        seen.update(dict.fromkeys(topic))
        yield number, Query(_number(topic, path, number), _text(topic, fields, path, number))
    for name in fields or ():
        if name in missing and seen:
            error = UnknownNameError.of("field of topics", name, [name for name in seen if name])
            raise UnknownNameError(error.message, facts=[("file", path), *error.facts], fixes=error.fixes)


def _number(topic: Mapping[str, str], path: Path, number: int) -> str:
    query_id = topic.get("num", "")
    if not query_id:
        raise MalformedRecordError.at(
            path,
            number,
            expected='<num> Number: 301, or <topic number="301">',
            seen=", ".join(name for name in topic if name) or "no fields",
            message="a topic has no number",
        )
    return query_id


def _text(topic: Mapping[str, str], fields: tuple[str, ...] | None, path: Path, number: int) -> str:
    if fields is not None:
        return join(topic.get(name, "") for name in fields)
    for name in (*DEFAULT_FIELDS, ""):
        if name in topic:
            return topic[name]
    raise MalformedRecordError.at(
        path,
        number,
        expected=f"one of the fields {', '.join(DEFAULT_FIELDS)}",
        seen=", ".join(topic),
        message=f"topic {topic.get('num')} has no text under a known name",
        fixes=["name the fields that hold the text"],
    )


def _classic(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield classic topics: the fields by lower-case tag, white space runs made one space."""
    start, lines, line_number = 0, [], 0
    for line_number, line in read_lines(path):
        if start == 0 and re.match(r"\s*<top\b", line, re.IGNORECASE):
            start = line_number
        elif start and re.match(r"\s*<top\b", line, re.IGNORECASE):
            break
        if start:
            lines.append(line)
            if re.search(r"</top\s*>", line, re.IGNORECASE):
                yield start, _classic_fields(" ".join(lines))
                start, lines = 0, []
    if start:
        raise MalformedRecordError.at(
            path,
            line_number,
            expected=f"</top> for the topic that starts in line {start}",
            seen="another topic or the end of the file",
            message="a topic is not closed",
        )


def _classic_fields(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    pieces = _TAG.split(text)
    for closing, tag, content in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        name = "" if closing else tag.lower()
        if name in ("", "top") or name in found:
            continue
        content = _ENTITY.sub(lambda entity: _ENTITIES[entity.group(1)], " ".join(content.split()))
        label = LABELS.get(name)
        if label and content.lower().startswith(f"{label.lower()}:"):
            content = content[len(label) + 1 :].lstrip()
        found[name] = content
    return found


def _xml(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield XML topics: the fields by lower-case element, the text outside elements under ``""``."""
    try:
        for _, element in ET.iterparse(BytesIO(read_bytes(path))):
            if element.tag.lower() == "topic":
                yield 0, _xml_fields(element)
                element.clear()
    except (ET.ParseError, LookupError, ValueError) as error:
        raise MalformedRecordError.at(
            path,
            error.position[0] if isinstance(error, ET.ParseError) else 1,
            expected="well-formed XML",
            seen=str(error),
            message="a file of topics is not well-formed XML",
        ) from error


def _xml_fields(topic: ET.Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in topic.attrib.items():
        if name.lower() in ("number", "num", "id", "qid"):
            found.setdefault("num", value.strip())
    own = [topic.text or ""]
    for child in topic:
        text = " ".join("".join(child.itertext()).split())
        name = {"number": "num"}.get(child.tag.lower(), child.tag.lower())
        if name == "num" or name not in found:
            found.setdefault(name, text)
        else:
            found[name] = join((found[name], text))
        own.append(child.tail or "")
    if text := " ".join(" ".join(own).split()):
        found[""] = text
    return found
