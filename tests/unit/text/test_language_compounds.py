"""Parts of compounds of German, Dutch, Swedish, Norwegian and Danish."""

from __future__ import annotations

import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise import build_index
from termwise.errors import MissingExtraError
from termwise.search import Search
from termwise.text import make_analyzer
from termwise.text.language_compounds import _LANGUAGES, COMPOUNDS, _parts_of
from termwise.text.stop_lists import stop_list

needs_simplemma = pytest.mark.skipif(
    find_spec("simplemma") is None, reason="needs termwise[simplemma], which scripts/setup dev installs"
)

SPLIT = {
    "german": "Winter+jacke Regen+jacken Kinder+jacke Arbeits+zimmer Hand+schuhe Wasch+maschine Sonnen+brille "
    "Auto+tür Groß+stadt Küchen+tisch Wander+schuhe Zahn+bürste Kranken+haus Versicherungs+vertrag Schnitt+stelle",
    "dutch": "winter+jas winter+jassen kinder+schoenen koffie+zet+apparaat fiets+helm slaap+kamer "
    "verjaardag+s+cadeau tafel+lamp boeken+kast stad+huis keuken+tafel zwem+broek tanden+borstel",
    "swedish": "vinter+jacka vinter+jackor barn+skor tvätt+maskin kaffe+bryggare cykel+hjälm bords+lampa skriv+bord "
    "bok+hylla sjuk+hus köks+bord rygg+säck bad+byxor tand+borste löpar+skor",
    "norwegian": "vinter+jakke vinter+jakker barn+e+sko vaske+maskin kaffe+trakter sykkel+hjelm sol+briller "
    "arbeid+s+rom bursdag+s+gave bok+hylle syke+hus rygg+sekk tann+børste løpe+sko hånd+vesker",
    "danish": "vinter+jakke vinter+jakker børne+sko vaske+maskine cykel+hjelm sol+briller sove+værelse hånd+taske "
    "bord+lampe bog+reol syge+hus køkken+bord bade+bukser tand+børste løbe+sko",
}
"""Compounds, with ``+`` between parts and linking letters, which are ``s`` and ``e``."""

WHOLE = {
    "german": "Wissenschaft Freundschaft Beleuchtung verkaufen untergehen Information Temperatur Schönheit Kartoffel "
    "Schokolade Elefanten Wunderbar Programm Dokumente bekommen Personen Einstellungen Jacke Polyester",
    "dutch": "wasmachine theekan wetenschap vriendschap mogelijkheid verkopen informatie temperatuur verlichting "
    "gebruiker bestanden restaurant universiteit chocolade verwijderen verschillende jassen",
    "swedish": "vetenskap vänskap möjlighet information temperatur belysning utveckling användare restaurang "
    "universitet arbetarna choklad installera material jackor",
    "norwegian": "vitenskap vennskap mulighet informasjon temperatur belysning utvikling brukeren restaurant "
    "universitet arbeiderne sjokolade installere materiale jakker",
    "danish": "videnskab venskab mulighed information temperatur belysning udvikling brugeren restaurant universitet "
    "arbejderne chokolade installere materiale jakker",
}
"""Words that are no compounds."""

every_language = pytest.mark.parametrize("language", COMPOUNDS)


@needs_simplemma
@every_language
def test_compounds_are_split(language: str) -> None:
    tokenizer = COMPOUNDS[language]
    for written in SPLIT[language].split():
        word = written.replace("+", "")
        parts = [part for part in written.split("+") if len(part) > 1]
        assert tokenizer.words(word) == [word, *parts]
        assert tokenizer.words(word.lower()) == [word.lower(), *(part.lower() for part in parts)]


@needs_simplemma
@every_language
def test_other_words_are_not_split(language: str) -> None:
    assert COMPOUNDS[language].words(WHOLE[language]) == WHOLE[language].split()


@needs_simplemma
@pytest.mark.parametrize(
    "word", ["Spülmaschine", "Kühlschrank", "Führerschein", "Wäscheklammer", "Gartenschläuche"]
)
def test_umlauts_that_are_spelled_out_do_not_hide_parts(word: str) -> None:
    analyzer = make_analyzer("german-parts")
    spelled_out = word.replace("ä", "ae").replace("ü", "ue")
    assert analyzer.tokens(spelled_out) == analyzer.tokens(word)
    assert len(analyzer.tokens(word)) == 3


@every_language
def test_no_short_part_is_a_stop_word(language: str) -> None:
    assert _LANGUAGES[language].short.isdisjoint(stop_list(f"lucene-{language}"))


@needs_simplemma
def test_soft_hyphens_and_decomposed_letters_do_not_hide_parts() -> None:
    text = "Winter\u00adjacken, Wa\u0308scheklammer"
    analysis = make_analyzer("german-parts").analyze(text)
    assert list(analysis.tokens) == ["winterjack", "wint", "jack", "wascheklamm", "wasch", "klamm"]
    assert [text[start:end] for start, end in analysis.spans] == [
        *("Winter\u00adjacken", "Winter", "jacken"),
        *("Wa\u0308scheklammer", "Wa\u0308sche", "klammer"),
    ]


@needs_simplemma
def test_parts_are_split_again() -> None:
    words = COMPOUNDS["german"].words("Schreibtischlampe, Winterjacken-Set")
    assert words[:5] == ["Schreibtischlampe", "Schreibtisch", "Schreib", "tisch", "lampe"]
    assert words[5:] == ["Winterjacken-Set", "Winterjacken", "Winter", "jacken", "Set"]


@needs_simplemma
@pytest.mark.parametrize(
    "word",
    ["winterj4cke", "W" + "i" * 70 + "nterjacke", "WİNTERJACKE", "radhut", "ΧΕΙΜΩΝΑΣ"],
)
def test_words_with_other_characters_and_lengths_are_not_split(word: str) -> None:
    assert _parts_of("german")[word] == ()


@needs_simplemma
@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(("winter", "jacken", "arbeits", "Tür", "s", "-", " ", "é", "😀", "x1"))).map(
        "".join
    )
)
def test_parts_are_within_their_compound(text: str) -> None:
    spans = COMPOUNDS["german"].spans(text)
    assert spans == sorted(spans, key=lambda span: (span[0], -span[1]))
    for place, (start, end) in enumerate(spans):
        for first, last in spans[place + 1 :]:
            assert last <= end or first >= end
            assert (first, last) != (start, end)


@needs_simplemma
def test_a_compound_has_the_positions_of_its_parts() -> None:
    analysis = make_analyzer("german-parts").analyze("rote Winterjacke kaufen")
    assert analysis.tokens == ("rot", "winterjack", "wint", "jack", "kauf")
    assert analysis.positions().tolist() == [[0, 1], [1, 3], [1, 2], [2, 3], [3, 4]]


@needs_simplemma
def test_hyphens_do_not_matter() -> None:
    analyzer = make_analyzer("german-parts")
    assert (
        analyzer.tokens("Winter-Jacke") == analyzer.tokens("Winterjacken") == ["winterjack", "wint", "jack"]
    )


@needs_simplemma
def test_a_part_finds_its_compounds_and_a_compound_itself_first(tmp_path: Path) -> None:
    texts = ["Jacke für den Winter", "Rote Winterjacken", "Jacken", "Wanderschuhe"]
    records = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    searcher = build_index(
        records, tmp_path / "shop.tw", model="bm25", analyzer="german-parts", store_text=True
    )
    assert set(searcher.rank("Jacke").doc_ids) == {"0", "1", "2"}
    assert searcher.rank("Winterjacke").doc_ids[0] == "1"
    for phrase, found in (("rote winter jacke", {"1"}), ("winterjacke", {"1"}), ("jacke rote", set())):
        assert set(searcher.search(Search("jacke schuhe", must=[phrase])).ranking.doc_ids) == found
    assert set(searcher.search(Search("Winterjacke", match="all")).ranking.doc_ids) == {"0", "1"}


@needs_simplemma
@every_language
def test_accents_and_commas_do_not_matter(language: str) -> None:
    analyzer = make_analyzer(f"{language}-parts")
    for forms in (
        ("Zoë", "zoe", "ZOË", "Zoe\u0308"),
        ("café", "cafe", "CAFÉ"),
        ("crème brûlée", "creme brulee"),
        ("señor", "senor"),
        ("L’Oréal", "L'Oreal", "l oreal"),
        ("co\u00adoperation", "cooperation"),
        ("3,5 mm", "3.5mm", "3,5mm"),
        ("1,200", "1200"),
    ):
        assert len({tuple(analyzer.tokens(text)) for text in forms}) == 1, forms


@needs_simplemma
@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("german", "Größe Äpfel Öl über Straße STRAẞE A\u0308pfel Häuser"),
        ("swedish", "Åre Älg Ö räksmörgås Malmø"),
        ("norwegian", "Å ærlig Ærø smørbrød blåbær a\u030apen"),
        ("danish", "Århus Ærø smørrebrød rød"),
    ],
)
def test_letters_of_the_language_stay(language: str, words: str) -> None:
    wholes = [make_analyzer(f"{language}-parts").tokens(word)[:1] for word in words.split()]
    assert wholes == [
        make_analyzer(language).tokens(unicodedata.normalize("NFC", word)) for word in words.split()
    ]


@needs_simplemma
def test_languages_of_an_attribute_can_have_parts() -> None:
    analyzer = make_analyzer("by-attribute:lang:de=german-parts,sv=swedish-parts")
    assert analyzer.of_language("de").tokens("Winterjacke") == ["de:winterjack", "de:wint", "de:jack"]
    assert analyzer.of_language("sv").tokens("vinterjacka") == ["sv:vinterjack", "sv:vint", "sv:jack"]


@needs_simplemma
def test_a_fingerprint_stands_for_one_dictionary() -> None:
    assert make_analyzer("danish-parts").spec.options["tokenizer"] == "compounds-danish-4-simplemma-2.0.0"


def test_without_simplemma_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    analyzer = make_analyzer("dutch-parts")
    with pytest.raises(MissingExtraError) as caught:
        analyzer.tokens("vensterbankje")
    assert caught.value.fixes == ("pip install 'termwise[simplemma]'",)
