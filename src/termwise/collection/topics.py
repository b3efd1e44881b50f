"""Reader of TREC topics, in the classic format with ``<top>`` and in XML with ``<topic>``.

Classic topics look like SGML, mostly without closing tags::

    <top>
    <num> Number: 301
    <title> International Organized Crime
    <desc> Description:
    Identify organizations ...
    </top>

XML topics have the number as an attribute, and fields as elements or a text::

    <topic number="1"><query>coronavirus origin</query><question>...</question></topic>
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from io import BytesIO
from pathlib import Path

from termwise.collection.fields import refuse_missing_fields
from termwise.collection.lines import read_bytes, read_lines
from termwise.errors import MalformedRecordError
from termwise.records import Query, join_query

LABELS = {
    "num": "Number",
    "title": "Topic",
    "desc": "Description",
    "narr": "Narrative",
    "dom": "Domain",
    "smry": "Summary",
    "con": "Concept(s)",
}
"""Labels at the start of fields in classic topics, which are not part of the text."""

DEFAULT_FIELDS = ("query", "title")
"""Fields of the default text; the first one in a topic counts."""

KNOWN_FIELDS = frozenset((*LABELS, *DEFAULT_FIELDS))
"""Tags that begin a field of a classic topic; others do if they begin a line in most topics."""

_LINE_START = re.compile(r"^\s*<([A-Za-z][\w.-]*)[^<>]*>", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)[^<>]*>")
_ENTITY = re.compile(r"&(amp|lt|gt|quot|apos);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def looks_classic(path: Path) -> bool | None:
    """Return True for a file with ``<top>``, False for ``<topic>``, None for neither."""
    for _, line in read_lines(path):
        for tag in _TAG.finditer(line):
            if tag.group(2).lower() in ("top", "topic"):
                return tag.group(2).lower() == "top"
    return None


def read_topics(path: Path, fields: tuple[str, ...] | None) -> Iterator[tuple[int, Query]]:
    """Yield the topics of a file with their first lines (0 in XML).

    `fields` are tags of the text (``title``, ``desc``) in this order, in any case; None for ``query``, or else
    ``title``, or else the text of the topic itself.
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
    refuse_missing_fields("field of topics", fields or (), missing, filter(None, seen), path)


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
        return join_query(topic.get(name, "") for name in fields)
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
    """Yield the fields of classic topics by lower-case tag, with single spaces."""
    topics = [(number, text, _line_starts(text)) for number, text in _topic_texts(path)]
    begun = Counter(name for _, _, starts in topics for name in starts)
    found = Counter(
        name
        for _, text, _ in topics
        for name in {tag[2].lower() for tag in _TAG.finditer(text) if not tag[1]}
    )
    frequent = {name for name in begun if 2 * begun[name] > len(topics)}
    inline = {name for name in KNOWN_FIELDS if 2 * found[name] > len(topics)}
    for number, text, starts in topics:
        yield number, _classic_fields(text, KNOWN_FIELDS | frequent, inline - starts)


def _topic_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the first line number and the text of each topic, from its opening tag to the closing one."""
    start, lines, line_number = 0, [], 0
    for line_number, line in read_lines(path):
        if re.match(r"\s*<top\s*>", line, re.IGNORECASE):
            if start:
                break
            start = line_number
        if start:
            lines.append(line)
            if re.search(r"</top\s*>", line, re.IGNORECASE):
                yield start, "\n".join(lines)
                start, lines = 0, []
    if start:
        raise MalformedRecordError.at(
            path,
            line_number,
            expected=f"</top> for the topic that starts in line {start}",
            seen="another topic or the end of the file",
            message="a topic is not closed",
        )


def _line_starts(text: str) -> set[str]:
    """Return the lower-case names of the opening tags at the starts of lines."""
    return {name.lower() for name in _LINE_START.findall(text)}


def _classic_fields(text: str, names: Set[str], inline: Set[str]) -> dict[str, str]:
    """Return the fields of a topic; a tag that begins no field, as in ``vector<int>``, is a part of the text.

    The tags in `names` begin a field at the start of a line, those in `inline` inside a line. Where no field is open,
    each tag does.
    """
    fields: dict[str, str] = {}
    name, start = "", 0
    for tag in _TAG.finditer(text):
        word = tag[2].lower()
        if tag[1]:
            ends = word in (name, "top")
        else:
            before = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
            ends = not name or word in (inline - {name, *fields} if before.strip() else names)
        if not ends:
            continue
        if name and not (name == "num" and name in fields):
            fields[name] = join_query((fields.get(name, ""), _content(name, text[start : tag.start()])))
        name, start = "" if tag[1] or word == "top" else word, tag.end()
    return fields


def _content(name: str, text: str) -> str:
    """Return the text of a field without its label."""
    content = _ENTITY.sub(lambda entity: _ENTITIES[entity.group(1)], " ".join(text.split()))
    label = LABELS.get(name)
    if label and content.lower().startswith(f"{label.lower()}:"):
        content = content[len(label) + 1 :].lstrip()
    return content


def _xml(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the fields of XML topics by lower-case element; ``""`` is the text outside elements."""
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
    fields: dict[str, str] = {}
    for name, value in topic.attrib.items():
        if name.lower() in ("number", "num", "id", "qid"):
            fields.setdefault("num", value.strip())
    own = [topic.text or ""]
    for child in topic:
        text = " ".join("".join(child.itertext()).split())
        name = {"number": "num"}.get(child.tag.lower(), child.tag.lower())
        if name == "num" or name not in fields:
            fields.setdefault(name, text)
        else:
            fields[name] = join_query((fields[name], text))
        own.append(child.tail or "")
    if text := " ".join(" ".join(own).split()):
        fields[""] = text
    return fields
