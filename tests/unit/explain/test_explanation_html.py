"""An explanation as a page: what is escaped, what adds up, what points where."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import pytest
from tests.unit.explain.terminal import EXPLANATION, TEXT, part

from termwise.explain.explanation import Competitor, Explanation
from termwise.explain.explanation_html import PASSAGES, WHOLE_TEXT, explanation_html

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Reads a page strictly: every element is closed where it was opened."""

    def __init__(self, source):
        super().__init__()
        self.open = []
        self.elements = []
        self.styles = ""
        self.scripts = []
        self.title = ""
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "attributes": dict(attributes), "text": "", "parents": tuple(self.open)}
        assert len(attributes) == len(element["attributes"])
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        inside = self.open[-1]["tag"] if self.open else ""
        if inside == "style":
            self.styles += data
        elif inside == "script":
            self.scripts.append(data)
        elif inside == "title":
            self.title += data
        else:
            for element in self.open:
                element["text"] += data

    def all(self, tag, **wanted):
        return [
            element
            for element in self.elements
            if element["tag"] == tag
            and all(wanted[key] in (element["attributes"].get(key) or "").split() for key in wanted)
        ]

    def within(self, tag, **wanted):
        """Return the elements inside the first of this kind."""
        outer = self.all(tag, **wanted)[0]
        return [element for element in self.elements if any(parent is outer for parent in element["parents"])]

    def text(self, tag, **wanted):
        return " ".join(self.all(tag, **wanted)[0]["text"].split())


def written(explanation):
    source = explanation_html(explanation)
    source.encode()
    return Page(source)


def value(text):
    return float(text.replace("−", "-").replace(",", "").replace("+", ""))


def test_the_page_shows_the_numbers_of_the_explanation():
    page = written(EXPLANATION)
    assert page.title == "heapq.merge · how to merge two sorted lists frobnicate"
    assert page.text("h1") == "how to merge two sorted lists frobnicate"
    assert page.text("p", **{"class": "result"}) == "heapq.merge score 9.5914 rank 2 of 1,190"
    assert [
        " ".join(li["text"].split()) for li in page.within("ul", **{"class": "remarks"}) if li["tag"] == "li"
    ] == [
        "not in this document: two",
        "not in the index: frobnicate",
        "left out of the query: how, to",
    ]
    rows = [
        [
            " ".join(cell["text"].split())
            for cell in page.elements
            if cell["tag"] in ("td", "th") and row in cell["parents"]
        ]
        for row in page.elements
        if row["tag"] == "tr" and row["attributes"].get("data-t")
    ]
    assert rows == [
        ["merge merg", "the word itself", "1 × 4.6239", "4.6239", "48%", "2×"],
        ["sorted sort", "the word itself", "1 × 3.5929", "3.5929", "37%", "2×"],
        ["lists list", "the word itself", "1 × 1.3747", "1.3747", "14%", "1×"],
    ]


def test_marks_of_the_text_are_as_strong_as_the_contributions():
    page = written(EXPLANATION)
    assert page.all("div", id="document")[0]["text"] == TEXT
    marks = [element for element in page.within("div", id="document") if element["tag"] == "mark"]
    assert [(mark["text"], mark["attributes"]["class"]) for mark in marks] == [
        ("merge", "h1 s5"),
        ("Merge", "h1 s5"),
        ("sorted", "h2 s4"),
        ("sorted", "h2 s4"),
        ("list", "h3 s2"),
    ]
    query = [element for element in page.within("h1") if element["tag"] == "mark"]
    assert [(mark["text"], mark["attributes"]["data-t"]) for mark in query] == [
        ("merge", "1"),
        ("sorted", "2"),
        ("lists", "3"),
    ]
    assert [
        element["text"] for element in page.within("h1") if element["attributes"].get("class") == "unknown"
    ] == ["frobnicate"]


@pytest.mark.parametrize("constant", [0.0, -63.10979])
@pytest.mark.parametrize("count", [0, 3, 9, 60])
def test_formula_and_table_add_up(constant, count):
    parts = tuple(part(f"t{i}", 3.70371 / (i + 1)) for i in range(count))
    score = constant + sum(p.score for p in parts)
    page = written(replace(EXPLANATION, contributions=parts, constant=constant, score=score))
    shown = [
        value(e["text"])
        for e in page.within("p", **{"class": "formula"})
        if e["attributes"].get("class") == "amount"
    ]
    signs = [
        e["text"] for e in page.within("p", **{"class": "formula"}) if e["attributes"].get("class") == "op"
    ]
    total = sum(
        round(10_000 * v) * (-1 if sign == "−" else 1) for v, sign in zip(shown[1:], signs, strict=True)
    )
    assert total == round(10_000 * shown[0])
    if count:
        table = next(element for element in page.elements if element["tag"] == "table")
        cells = [
            e
            for e in page.elements
            if table in e["parents"]
            and e["tag"] == "td"
            and "num" in (e["attributes"].get("class") or "").split()
        ]
        sums = [value(e["text"]) for e in cells if re.fullmatch(r"−?\d+\.\d{4}", e["text"])]
        assert sum(round(10_000 * v) for v in sums[:-1]) == round(10_000 * sums[-1])


def test_every_link_has_a_target_and_identifiers_are_unique():
    many = tuple(part(f"t{i}", 50.0 - i, spans=[(i, i + 1)]) for i in range(48))
    for explanation in (EXPLANATION, replace(EXPLANATION, contributions=many, text="x" * 60)):
        page = written(explanation)
        ids = [element["attributes"]["id"] for element in page.elements if "id" in element["attributes"]]
        assert len(ids) == len(set(ids))
        links = [element["attributes"]["href"] for element in page.all("a")]
        assert links
        assert all(link.startswith("#") and link[1:] in ids for link in links)
        named = [element["attributes"].get("aria-labelledby") for element in page.all("section")]
        assert set(named) <= set(ids)


def test_scrolling_boxes_are_reachable_with_the_keyboard():
    many = tuple(part(f"t{i}", 50.0 - i, spans=[(i, i + 1)]) for i in range(48))
    page = written(replace(EXPLANATION, contributions=many, text="word " * 2_000))
    boxes = [e["attributes"] for e in page.all("div") if "scroll" in e["attributes"].get("class", "")]
    assert len(boxes) == 3  # two tables and the text
    for box in boxes:
        assert (box["tabindex"], box["role"]) == ("0", "region")
        assert box["aria-label"]


def test_print_is_light():
    dark = [rule for rule in re.findall(r"@media [^{]+", written(EXPLANATION).styles) if "dark" in rule]
    assert dark == ["@media screen and (prefers-color-scheme: dark) "]


def test_segments_rows_and_words_of_a_term_share_its_number():
    page = written(EXPLANATION)
    tags = {
        tag: {e["attributes"].get("data-t") for e in page.all(tag)} - {None} for tag in ("a", "tr", "mark")
    }
    assert tags["a"] == tags["tr"] == tags["mark"] == {"1", "2", "3"}


def test_the_page_loads_no_other_files():
    page = written(EXPLANATION)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & {
        e["tag"] for e in page.elements
    }
    assert not {"src", "srcset", "action"} & {name for e in page.elements for name in e["attributes"]}
    assert not any(name.startswith("on") for e in page.elements for name in e["attributes"])
    assert not re.search(r"url\(|@import|https?:", page.styles + "".join(page.scripts))
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["attributes"]["content"]
    assert policy.startswith("default-src 'none'")


HOSTILE = (
    "<script>alert(1)</script> \"double\" 'single' & &amp; </mark></div></style> "
    "\u202eturned\u202c \ud800 nul \x00 escape \x1b[31m עברית merge {{ 7 * 7 }}"
)


def test_everything_is_escaped():
    at = HOSTILE.index("merge")
    explanation = replace(
        EXPLANATION,
        query=f"merge {HOSTILE}",
        doc_id=f'"><img src=x onerror=alert(1)>{HOSTILE}',
        text=HOSTILE,
        contributions=(
            part(f"</td>{HOSTILE}", 2.0, spans=[(at, at + 5)]),
            part("merge", 1.0, [(0, 5)], [(0, 8)]),
        ),
        unknown=((6, 6 + len(HOSTILE)),),
        competitors=(Competitor(1, f"<b>{HOSTILE}", 3.0),),
    )
    source = explanation_html(explanation)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", source)
    assert source.count("<script>") == 1
    page = Page(source)
    shown = HOSTILE.replace("\ud800", "�").replace("\x00", "�").replace("\x1b", "�")
    assert page.all("div", id="document")[0]["text"] == shown
    assert "\u202e" not in page.title
    assert not page.all("img")
    assert not page.all("b", src="x")


def test_a_notebook_shows_the_page_in_a_frame_of_its_own():
    explanation = replace(EXPLANATION, text=HOSTILE, contributions=())
    (frame,) = Page(explanation._repr_html_()).elements
    assert frame["tag"] == "iframe"
    assert frame["attributes"]["title"] == "Explanation of a score"
    assert frame["attributes"]["srcdoc"] == explanation_html(explanation)


def test_a_missing_or_empty_text_is_reported():
    bare = replace(EXPLANATION, text=None, contributions=(part("merg", 2.0, origin="unknown"),))
    page = written(bare)
    assert not page.all("div", id="document")
    assert [code["text"] for code in page.all("code")] == ["store_text=True"]
    assert "The text of this document is empty." in explanation_html(replace(EXPLANATION, text=" \n"))


def test_origins_are_explained_in_words():
    parts = (
        part("added", 2.0, origin="expansion"),
        part("[background]", 1.0, origin="background", query_weight=4.0),
        part("maybe", 0.5, origin="unknown"),
    )
    page = written(replace(EXPLANATION, contributions=parts, score=3.5))
    shown = [cell["text"] for cell in page.all("td", **{"class": "origin"})]
    assert shown == [
        "this form is not in the text; added by the model",
        "the document itself, for any query",
        "the word itself, or added by the model",
    ]
    assert "4 × 0.2500" in [cell["text"] for cell in page.all("td", **{"class": "product"})]


def test_a_document_that_is_not_a_result():
    page = written(replace(EXPLANATION, contributions=(), score=0.0, rank=None, results=3))
    assert "not a result: the document shares no term with the query" in page.text("header")
    assert not page.all("li", **{"class": "ours"})
    assert "No term of the query adds anything" in page.text("section")


def test_competitors_are_sorted_by_rank():
    page = written(EXPLANATION)
    rows = [li for li in page.within("ol", **{"class": "near"}) if li["tag"] == "li"]
    assert [" ".join(row["text"].split()) for row in rows] == [
        "rank 1 builtins.list.sort 10.1225 +0.5311",
        "rank 2 heapq.merge 9.5914 this document",
        "rank 3 bisect 6.5000 −3.0914",
    ]
    assert [row["attributes"].get("aria-current") for row in rows] == [None, "true", None]


def test_a_text_of_a_megabyte_is_shown_in_passages():
    words = "lorem ipsum dolor sit amet consectetur "
    text = (words * 26_000)[:1_000_000]
    spans = [(m.start(), m.end()) for m in re.finditer("dolor", text)]
    explanation = replace(EXPLANATION, text=text, contributions=(part("dolor", 2.0, [(0, 3)], spans),))
    source = explanation_html(explanation)
    assert len(source) < 200_000
    page = Page(source)
    parts = [element for element in page.within("div", id="document") if element["tag"] == "p"]
    assert 1 <= len(parts) <= PASSAGES
    assert "1,000,000 characters" in page.text("section", **{"aria-labelledby": "text"})
    assert "dolor" in parts[0]["text"]


def test_a_text_at_the_limit_is_whole():
    text = "word " * (WHOLE_TEXT // 5)
    page = written(replace(EXPLANATION, text=text, contributions=(part("word", 2.0, spans=[(0, 4)]),)))
    assert page.all("div", id="document")[0]["text"] == text
    assert page.all("div", id="document")[0]["attributes"]["tabindex"] == "0"


def test_a_long_query_with_many_terms_is_shortened():
    count = 400
    query = " ".join(f"w{i:03}" for i in range(count))
    parts = tuple(
        part(f"w{i:03}", 1.0, [(5 * i, 5 * i + 4)], [(0, 1)] if i < 3 else []) for i in range(count)
    )
    page = written(replace(EXPLANATION, query=query, contributions=parts, score=float(count), unknown=()))
    assert page.text("h1") == query
    assert page.all("h1")[0]["attributes"]["tabindex"] == "0"
    assert len(page.all("details")) == 1
    assert len([e for e in page.within("ul", **{"class": "bar"}) if e["tag"] == "li"]) == 1
    assert len([row for row in page.all("tr") if row["attributes"].get("data-t")]) == count


def test_the_same_explanation_gives_the_same_page():
    assert explanation_html(EXPLANATION) == explanation_html(EXPLANATION)
    assert explanation_html(EXPLANATION).startswith("<!doctype html>\n")


# --- contrast, computed as in WCAG 2.1 --------------------------------------------------------------------------


def luminance(colour):
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def schemes():
    source = resources.files("termwise.explain").joinpath("templates/explanation.html.j2").read_text("utf-8")
    light, dark = re.findall(
        r":root \{\s*color-scheme: light dark;(.*?)\}|:root \{\s*(--page: #14.*?)\}", source, re.S
    )
    for block in (light[0], dark[1]):
        yield dict(re.findall(r"--(\w+): ([^;]+);", block))


def rgb(written):
    if written.startswith("#"):
        return [int(written[i : i + 2], 16) for i in (1, 3, 5)]
    return [int(number) for number in written.split()]


def test_text_is_legible_on_every_colour_in_light_and_dark():
    both = list(schemes())
    assert len(both) == 2
    for scheme in both:
        assert contrast(rgb(scheme["muted"]), rgb(scheme["page"])) >= 4.5
        assert contrast(rgb(scheme["muted"]), rgb(scheme["faint"])) >= 4.5
        for hue in range(9):
            colour, card = rgb(scheme[f"c{hue}"]), rgb(scheme["card"])
            assert contrast(colour, rgb(scheme["on"])) >= 4.5
            share = float(scheme["base"]) + 4 * float(scheme["step"])
            strongest = [share * c + (1 - share) * b for c, b in zip(colour, card, strict=True)]
            assert contrast(strongest, rgb(scheme["ink"])) >= 4.5


def test_pieces_cover_their_word_in_different_colours():
    pieces = Explanation(
        "unlink", "d1", 5.0, 0.0,
        (part("un", 3.0, [(0, 2)], [(0, 2)]), part("##link", 2.0, [(2, 6)], [(2, 6)])), (), "Unlinked.",
    )  # fmt: skip
    page = written(pieces)
    marked = [element["text"] for element in page.within("div", id="document") if element["tag"] == "mark"]
    assert marked == ["Un", "linked"]
    named = [element["text"] for element in page.all("span", **{"class": "name"})]
    assert named[-2:] == ["unlink (un)", "unlink (##link)"]
    assert "## marks a piece that continues a word" in page.text("footer")
    assert "##" not in explanation_html(EXPLANATION)


# --- query by example -------------------------------------------------------------------------------------------

BY_EXAMPLE = Explanation(
    "Molten rock, a volcano <b>",
    "d1",
    3.0,
    0.0,
    (
        part("rock", 2.0, [(7, 11)], [(4, 8)]),
        part("volcano", 1.0, [(15, 22)], origin="expansion"),
        part("molten", 0.0, [(0, 6)], origin="absent"),
    ),
    (),
    "The rock & its heat.",
    example="seed <1>",
)


def test_the_two_texts_of_a_query_by_example_are_side_by_side():
    page = Page(explanation_html(BY_EXAMPLE))
    assert page.title == "d1 · seed <1>"
    assert [one["text"] for one in page.all("h1")] == ["Documents like seed <1>"]
    assert [one["text"] for one in page.all("h3")] == ["Example seed <1>", "Found d1"]
    texts = [one["text"] for one in page.all("div") if "text" in one["attributes"].get("class", "").split()]
    assert texts == ["Molten rock, a volcano <b>", "The rock & its heat."]


def test_words_of_the_example_alone_are_outlined():
    page = Page(explanation_html(BY_EXAMPLE))
    outlined = [one for one in page.all("mark") if "added" in one["attributes"]["class"].split()]
    assert [one["text"] for one in outlined] == ["volcano"]
    assert outlined[0]["attributes"]["data-t"] == "2"
    assert "Outlined in the example" in explanation_html(BY_EXAMPLE)
    exact = replace(BY_EXAMPLE, contributions=BY_EXAMPLE.contributions[:1])
    assert "Outlined in the example" not in explanation_html(exact)


def test_a_long_example_is_shown_in_passages():
    long = replace(BY_EXAMPLE, query="Molten rock " + "word " * (WHOLE_TEXT // 4))
    assert len(explanation_html(long)) < WHOLE_TEXT


def test_few_terms_are_listed_first_of_a_query_by_example():
    many = tuple(part(f"t{i}", 1.0, [(i, i + 1)], [(i, i + 1)]) for i in range(20))
    page = Page(explanation_html(replace(BY_EXAMPLE, contributions=many, score=20.0)))
    assert [one["text"] for one in page.all("summary")] == ["8 more terms"]


def test_the_example_is_shown_if_the_document_is_not_stored():
    page = Page(explanation_html(replace(BY_EXAMPLE, text=None)))
    texts = [one["text"] for one in page.all("div") if "text" in one["attributes"].get("class", "").split()]
    assert texts == ["Molten rock, a volcano <b>"]
    assert "does not store the texts" in explanation_html(replace(BY_EXAMPLE, text=None))
    assert "the query itself, which is not a result" in explanation_html(
        replace(BY_EXAMPLE, doc_id="seed <1>")
    )
