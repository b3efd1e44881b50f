"""What a translated weight is made of, as data, in the terminal and as a page."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from termwise import Document, build_index
from termwise.errors import CorruptIndexError
from termwise.explain.explanation_terminal import explanation_renderable
from termwise.explain.explanation_text import marks, translation_sources
from termwise.fusion import fuse_indexes
from termwise.models import Model1
from termwise.models.attachments import CHANCES, SOURCES, STARTS, TranslationColumns
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table

WORDS = ["artery", "cardiac", "heart", "valve"]
DOCUMENTS = [
    Document("a", "Cardiac valve and artery; cardiac care"),
    Document("b", "heart valve cardiac"),
    Document("c", "nothing here"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "t"
    analyzer = make_analyzer("standard")
    table = TranslationTable(
        Vocabulary(WORDS), [0, 1, 2, 4, 4], [2, 2, 2, 3], [0.25, 0.5, 0.5, 0.25], [1, 1, 1, 1], analyzer.spec
    )
    write_table(table, path)
    return path


def index(folder, tmp_path, **options):
    model = Model1(table=str(folder), self_translation=0.2, keep=0)
    return build_index(DOCUMENTS, tmp_path / "i", model=model, **{"store_text": True, **options})


def test_a_translation_names_its_words_and_their_shares(folder, tmp_path):
    explanation = index(folder, tmp_path).explain("heart", "a")
    (part,) = explanation.contributions
    assert (part.term, part.origin, part.spans) == ("heart", "translation", ())
    assert [(s.term, s.share) for s in part.sources] == [
        ("cardiac", pytest.approx(0.8)),
        ("artery", pytest.approx(0.2)),
    ]
    assert part.sources[0].probability == pytest.approx(0.8 * 0.5)
    assert part.sources[0].spans == ((0, 7), (26, 33))


def test_a_word_of_the_text_is_exact_and_shows_both_parts(folder, tmp_path):
    explanation = index(folder, tmp_path).explain("heart valve", "b")
    parts = {part.term: part for part in explanation.contributions}
    heart = parts["heart"]
    assert (heart.origin, heart.spans) == ("exact", ((0, 5),))
    assert {s.term: s.share for s in heart.sources} == pytest.approx({"heart": 0.6 / 1, "cardiac": 0.4 / 1})
    assert {s.term: s.share for s in parts["valve"].sources} == pytest.approx({"valve": 0.5, "heart": 0.5})
    for part in explanation.contributions:
        assert sum(source.share for source in part.sources) == pytest.approx(1)


def test_absent_and_unknown_words_have_no_sources(folder, tmp_path):
    explanation = index(folder, tmp_path).explain("heart zebra", "c")
    (part,) = explanation.contributions
    assert (part.origin, part.sources) == ("absent", ())


def test_without_texts_there_are_no_shares(folder, tmp_path):
    (part,) = index(folder, tmp_path, store_text=False).explain("heart", "a").contributions
    assert (part.origin, part.sources) == ("unknown", ())


def test_explanations_are_data(folder, tmp_path):
    found = index(folder, tmp_path).explain("heart", "a").to_dict()
    assert found["contributions"][0]["sources"][0]["term"] == "cardiac"


def test_words_are_marked_by_their_share(folder, tmp_path):
    explanation = index(folder, tmp_path).explain("heart", "a")
    weight = explanation.contributions[0].score
    assert [(mark.start, mark.weight) for mark in marks(explanation)] == [
        (0, pytest.approx(0.8 * weight)),
        (26, pytest.approx(0.8 * weight)),
        (18, pytest.approx(0.2 * weight)),
    ]


def test_source_words_are_spelt_as_in_the_text(folder, tmp_path):
    searcher = index(folder, tmp_path)
    (made,) = translation_sources(searcher.explain("heart", "a"), words=1)
    assert (made.parts, made.more) == ((("Cardiac", pytest.approx(0.8)),), 1)
    names = [made.parts[0][0] for made in translation_sources(searcher.explain("heart", "b"))]
    assert names == ["itself"]


def test_the_terminal_shows_the_source_words_of_a_term(folder, tmp_path):
    console = Console(file=io.StringIO(), width=100)
    console.print(explanation_renderable(index(folder, tmp_path).explain("heart", "a")))
    shown = console.file.getvalue()
    assert "translation" in shown
    assert "made of\n  heart ← Cardiac 80%, artery 20%\n" in shown
    assert "‹Cardiac› valve and ‹artery›; ‹cardiac› care" in shown


def test_the_page_shows_the_source_words_of_a_term(folder, tmp_path):
    page = index(folder, tmp_path).explain("heart", "a").to_html()
    assert "translated from other words of the text" in page
    assert "<b><bdi>Cardiac</bdi></b> 80%, <b><bdi>artery</bdi></b> 20%" in page
    assert ">Cardiac</mark> valve" in page


@pytest.fixture
def fused(folder, tmp_path):
    """Return BM25 and translations as one index; its vocabulary is another one than that of either part."""
    parts = [
        build_index(DOCUMENTS, tmp_path / "b", analyzer="standard", store_text=True).index,
        index(folder, tmp_path, store_text=False).index,
    ]
    return fuse_indexes(parts, [0.5, 2.0], tmp_path / "f")


def test_translations_have_shares_in_a_fused_index(fused):
    (part,) = fused.explain("heart", "a").contributions
    assert (part.term, part.origin) == ("heart", "translation")
    assert {s.term: s.share for s in part.sources} == pytest.approx({"cardiac": 0.8, "artery": 0.2})
    assert part.sources[0].probability == pytest.approx(0.8 * 0.5)


def test_words_of_the_text_have_no_shares_in_a_fused_index(fused):
    heart, valve = fused.explain("heart valve", "b").contributions
    assert {(part.origin, part.sources) for part in (heart, valve)} == {("exact", ())}
    explanation = fused.explain("heart valve", "b")
    assert sum(part.score for part in explanation.contributions) == pytest.approx(explanation.score)


def test_a_fused_index_with_two_expanding_parts_has_no_shares(folder, tmp_path):
    parts = [
        build_index(DOCUMENTS, tmp_path / name, model=Model1(table=str(folder), self_translation=p, keep=0))
        for name, p in (("one", 0.2), ("two", 0.5))
    ]
    both = fuse_indexes([part.index for part in parts], [1.0, 1.0], tmp_path / "f")
    assert STARTS not in both.index.manifest.attachments


@pytest.mark.parametrize("name", [STARTS, SOURCES, CHANCES])
def test_files_that_do_not_fit_are_refused(name):
    files = TranslationColumns(*_columns()).files()
    assert [part.tolist() for part in TranslationColumns.read(files.__getitem__, 2)] == [
        part.tolist() for part in _columns()
    ]
    files[name] = files[name][: -8 if name == STARTS else -2]
    with pytest.raises(CorruptIndexError):
        TranslationColumns.read(files.__getitem__, 2)


def _columns():
    import numpy as np

    return np.array([0, 1, 2]), np.array([1, 0], dtype=np.uint16), np.array([0.5, 0.25], dtype=np.float16)
