"""Analyzers of languages with codes and other compounds in parts."""

from __future__ import annotations

import pytest

from termwise.text import make_analyzer
from termwise.text.language_compounds import COMPOUNDS
from termwise.text.language_parts import FOLDED_LAST, LANGUAGE_PARTS, steps_with_parts

every_language = pytest.mark.parametrize("language", LANGUAGE_PARTS)

# Text, tokens, fingerprint. If one of the last two changes without the other, old indexes stop matching their queries.
GOLDEN = {
    "catalan-parts": (
        "Les col·leccions d'àudio AK-2184/Z",
        "collec aud ak2184z ak 2184 z",
        "a18869b36f11c30717ef5fe72b07cc2a1ccefa906bf37b6345eda43de2da54c0",
    ),
    "french-parts": (
        "Les crèmes brûlées d'été et L'Oréal AK-2184/Z",
        "crem brul ete loreal oreal ak2184z ak 2184 z",
        "d9aa52fd87a740d1ad1e72ca6e188e5e644780a136fc56e0e513fbf3180cb53a",
    ),
    "italian-parts": (
        "Le qualità dell'acqua AK-2184/Z",
        "qualit acqua ak2184z ak 2184 z",
        "6e17da9b4088081bd9cc9457430e5fcec25786fcf02a71a15781b50519cc3bba",
    ),
    "turkish-parts": (
        "İstanbul'un KIRMIZI çantaları AK-2184/Z",
        "istanbul kirmiz canta ak2184z ak 2184 z",
        "4ece4f058301b0b1739e7cae3603cb94afbfa68dbc46c6b3c2f546844f7f7963",
    ),
    "basque-parts": (
        "Liburu berriak AK-2184/Z",
        "liburu berri ak2184z ak 2184 z",
        "25d5cd05e2ceda044793325a59fbccdaa2fae8283f5f39441b64ab68ffd4c564",
    ),
    "czech-parts": (
        "Červené knihy a kávové hrnečky AK-2184/Z",
        "cervn knih kav hrneck ak2184z ak 2184",
        "c7a171725b8c73302266a0a7a19e580fc2effcf99beb9c1633843f9bfedabfa6",
    ),
    "esperanto-parts": (
        "Ruĝaj ĉevaloj AK-2184/Z",
        "rug ceval ak2184z ak 2184 z",
        "cef62ef660dc0c35835da68d29cd4ad2129c1963b94333c1d456dae9ff50367d",
    ),
    "estonian-parts": (
        "Punased jõulukingad AK-2184/Z",
        "punase jõulukinga ak2184z ak 2184",
        "06772d886d7aa9c5cacab1e6c7eba2922741ea0437b5c3377012f2988a63fafd",
    ),
    "finnish-parts": (
        "Punaiset pöydät AK-2184/Z",
        "punais pöydä ak2184z ak 2184 z",
        "9d1ede46959af2151218ec21f853f2398050ce0b8e9319ebe35cb879d927a193",
    ),
    "greek-parts": (
        "Τα κόκκινα βιβλία AK-2184/Z",
        "κοκκιν βιβλ ak2184z ak 2184 z",
        "a55f6c2020efcb65c90b79e9aa67e646da889bcce80d99299167485dbeb59df5",
    ),
    "hungarian-parts": (
        "A piros könyvek AK-2184/Z",
        "piros konyv ak2184z ak 2184 z",
        "7cf861876c45d5df2b760dc27144490d420fcb45e7a26dc77a77b75fa506dccd",
    ),
    "indonesian-parts": (
        "Buku-buku merah AK-2184/Z",
        "bukubu buku buku merah ak2184z ak 2184 z",
        "e85d0b5b92857705510d577e8a5f5d0b74fb28debd49442b7cbcca97d6093c93",
    ),
    "lithuanian-parts": (
        "Raudonos žieminės striukės AK-2184/Z",
        "raudon ziemin striuk ak2184z ak 2184 z",
        "e6109c7e6230297660635a4433ee16d8cc986113c99fc10341bd9242232b63de",
    ),
    "polish-parts": (
        "Czerwone książki AK-2184/Z",
        "czerwon ksiazk ak2184z ak 2184",
        "62cc98d189790325df8c8f590a59131705e202f5b58cb5bc6080fe7584806b83",
    ),
    "portuguese-parts": (
        "As canções e os cafés AK-2184/Z",
        "canca cafe ak2184z ak 2184 z",
        "2a9a734b8d56b17165e2b75d79afb9c2c9eeaa947f7f8169c12c2bd307283f8a",
    ),
    "romanian-parts": (
        "Cărţile roşii AK-2184/Z",
        "cart ros ak2184z ak 2184 z",
        "52dd3d25266359c66c024c7b6eb9a0d7c2e7c0a1b13620247667741b2cfb2979",
    ),
    "russian-parts": (
        "Зимние куртки и ёлки AK-2184/Z",
        "зимн куртк елк ak2184z ak 2184 z",
        "eab579261bf5e218f1e0f53ea9f15511f4cbdb4b8b5093c7008c80fd8c1cfb38",
    ),
    "serbian-parts": (
        "Црвене књиге i čaše AK-2184/Z",
        "crven knjig cas ak2184z ak 2184 z",
        "ff91c7e5a731047b4f9b904836946a1f8a557abbe768cf28aebe317f2d241a9c",
    ),
    "sesotho-parts": (
        "Dibuka tse ntjha AK-2184/Z",
        "dibuk tse ntjha ak2184z ak 2184 z",
        "599bbce7d3635a6bfcdd6b33159257ffb2020a95f2e988add07b1e5164ea36da",
    ),
    "spanish-parts": (
        "Los niños y las canciones AK-2184/Z",
        "niñ cancion ak2184z ak 2184 z",
        "b35d7f6fdad433ed3eab54f5266e8bb41414c64d877f929677a714f74570f99d",
    ),
    "german-codes": (
        "Rote Winterjacken für Café-Gäste AK-2184/Z",
        "rot winterjack cafegast caf gast ak2184z ak 2184 z",
        "6dc47dc8064f0f2b6db1c731a5062fc29ef55cdc94dc2e514f6ceeb405b2cc2d",
    ),
    "dutch-codes": (
        "Rode winterjassen, crème AK-2184/Z",
        "rod winterjas crem ak2184z ak 2184 z",
        "7bad1f2889825cdcc3e6ac9616a834e030ba7f4b00eadcc9dd1e2a0761319191",
    ),
    "swedish-codes": (
        "Röda vinterjackor, idé AK-2184/Z",
        "röd vinterjack ide ak2184z ak 2184 z",
        "18d03405bcd32a86fc8976f7d24ea3b8c4fd35773f821368a5ed00876780bf3c",
    ),
    "norwegian-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjakk ide ak2184z ak 2184 z",
        "73e3fdf382979c84821030aad6955dc217d6dec21aadfc9a539631958cb13eb7",
    ),
    "danish-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjak ide ak2184z ak 2184 z",
        "cdcc2c579f238d53255eabe4ed4604004e629ad7280b59e4eb1881476c384225",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_same_fingerprint_gives_the_same_tokens_for_ever(name: str) -> None:
    text, tokens, fingerprint = GOLDEN[name]
    analyzer = make_analyzer(name)
    assert analyzer.tokens(text) == tokens.split()
    assert analyzer.spec.fingerprint == f"sha256:{fingerprint}"


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("german-parts", "Jacken für, fur und fuer Damen", "jack dam"),
        ("german-codes", "während waehrend wahrend Kinder", "kind"),
        ("french-parts", "la même meme chose", "chos"),
        ("polish-parts", "się sie", "sie"),  # the stems are folded
        ("swedish-codes", "för for", "for"),  # ö is a letter of its own
    ],
)
def test_stop_words_without_accents(name: str, text: str, tokens: str) -> None:
    assert make_analyzer(name).tokens(text) == tokens.split()


@pytest.mark.parametrize(
    "name", ["german-codes", "german-parts", "french-parts", "dutch-codes", "english-parts"]
)
@pytest.mark.parametrize("forms", ["Kellogg's Kellogg’s KELLOGG'S kelloggs kellogg", "Lay's lays"])
def test_the_s_of_names(name: str, forms: str) -> None:
    analyzer = make_analyzer(name)
    assert len({analyzer.tokens(form)[0] for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "forms",
    [
        ("9857.107.98", "985710798", "9857-107-98"),
        ("1.324-601.0", "13246010", "1-324-601-0"),
        ("0 986 494 104", "0986494104", "0986-494-104"),
    ],
)
def test_article_numbers_with_points_and_blanks(forms: tuple[str, ...]) -> None:
    for name in ("english-parts", "german-codes", "spanish-parts"):
        assert len({make_analyzer(name).tokens(form)[0] for form in forms}) == 1
    assert make_analyzer("english-parts").tokens("1.2.3 2.50 12.5.100") == ["1.2.3", "2.50", "12.5.100"]


@pytest.mark.parametrize("name", ["german-codes", "german-parts"])
def test_german_plurals_with_s(name: str) -> None:
    analyzer = make_analyzer(name)
    for one in (
        "Sofa",
        "Auto",
        "Büro",
        "Kamera",
        "Handy",
        "Hotel",
        "Laptop",
        "Pulli",
        "Taxi",
        "Menü",
        "Akku",
        "Kilo",
    ):
        assert analyzer.tokens(f"{one}s") == analyzer.tokens(one)
    for word, other in (
        *(("Glas", "Gläser"), ("Gras", "Gräser"), ("nervös", "nervöse"), ("kurios", "kuriose")),
        *(("Schnaps", "Schnapse"), ("Haus", "Häuser"), ("kabellos", "kabellose")),
    ):
        assert set(analyzer.tokens(word)) & set(analyzer.tokens(other))
    assert not set(analyzer.tokens("Pumps")) & set(analyzer.tokens("Pumpe"))
    assert analyzer.tokens("AB12os")[0] == "ab12os"


def test_every_analyzer_with_parts_has_its_tokens() -> None:
    assert list(GOLDEN) == [
        *(f"{language}-parts" for language in LANGUAGE_PARTS),
        *(f"{language}-codes" for language in COMPOUNDS),
    ]


def _meet(name: str, one: str, other: str) -> bool:
    analyzer = make_analyzer(name)
    return set(analyzer.tokens(other)) <= set(analyzer.tokens(one)) and analyzer.tokens(other) != []


@pytest.mark.parametrize("name", GOLDEN)
def test_codes_units_and_foreign_accents(name: str) -> None:
    assert _meet(name, "AK-2184/Z", "ak2184z")
    assert _meet(name, "AK–2184/Z", "AK-2184/Z")
    assert _meet(name, "10 mm", "10mm")
    assert _meet(name, "T-shirt", "tshirt")
    assert _meet(name, "crème brûlée", "creme brulee")
    assert _meet(name, "café", "cafe")
    assert not _meet(name, "AK-2184/S", "ak2184")


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("french", "troisième étage", "troisieme etage"),
        ("french", "l’avion", "avion"),
        ("french", "d'eau", "eau"),
        ("french", "D'eau", "EAU"),
        ("french", "qu'il l'arc-en-ciel", "arc en ciel"),
        ("french", "L'Oréal", "loreal"),
        ("french", "L'Oréal", "l'oréal"),
        ("italian", "dell'acqua", "acqua"),
        ("italian", "città", "citta"),
        ("italian", "L'Aquila", "laquila"),
        ("catalan", "col·lecció", "colleccio"),
        ("catalan", "l’aigua", "aigua"),
        ("spanish", "camión", "camiones"),
        ("spanish", "camion", "camiones"),
        ("portuguese", "canções", "canção"),
        ("portuguese", "maçã", "maca"),
        ("romanian", "cărţi", "carti"),
        ("hungarian", "könyvtárban", "konyvtar"),
        ("polish", "książki", "ksiazki"),
        ("czech", "knížka", "knizka"),
        ("turkish", "İstanbul'un", "istanbul"),
        ("turkish", "kırmızı Wi-Fi'nin", "kirmizi wifi"),
        ("greek", "ΚΑΦΈΣ", "καφε"),
        ("russian", "Ёлка", "елки"),
        ("serbian", "ћевапи", "cevapi"),
        ("esperanto", "ĉevalo", "cevalo"),
        ("lithuanian", "žmonės", "zmones"),
    ],
)
def test_forms_that_match(language: str, one: str, other: str) -> None:
    assert _meet(f"{language}-parts", one, other)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("spanish", "año", "ano"),
        ("finnish", "sää", "saa"),
        ("estonian", "õlu", "olu"),
        ("french", "l'avion", "lavion"),
    ],
)
def test_forms_that_do_not_match(language: str, one: str, other: str) -> None:
    assert not _meet(f"{language}-parts", one, other)


def test_words_of_one_letter_form_no_compounds() -> None:
    for language, text in (
        ("spanish", "pan y vino o agua"),
        ("italian", "mare e monti"),
        ("czech", "káva s mlékem v domě"),
        ("portuguese", "o carro"),
    ):
        analysis = make_analyzer(f"{language}-parts").analyze(text)
        assert not any(" " in text[start:end] for start, end in analysis.spans)
    assert make_analyzer("spanish-parts").tokens("t shirt") == ["tshirt", "t", "shirt"]


def test_spans_are_those_of_the_text() -> None:
    text = "Qu’il L'Oréal d'e\u0301te\u0301"
    analysis = make_analyzer("french-parts").analyze(text)
    assert list(analysis.tokens) == ["loreal", "oreal", "ete"]
    assert [text[start:end] for start, end in analysis.spans] == ["L'Oréal", "Oréal", "e\u0301te\u0301"]


@every_language
def test_accents_are_folded_before_stems_unless_the_stemmer_needs_them(language: str) -> None:
    names = [step.name for step in steps_with_parts(language)]
    folds = [place for place, name in enumerate(names) if name.startswith("folded")]
    (stem,) = (place for place, name in enumerate(names) if name.startswith("stem:"))
    assert folds[0] < stem
    assert (folds[-1] == len(names) - 1) == (language in FOLDED_LAST)


DUTCH = (
    "machine machines, wasmachine wasmachines, koekenpan koekenpannen, koksmes koksmessen, thermosfles thermosflessen, "
    "regenjas regenjassen, kussen kussens, deken dekens, fornuis fornuizen, doos dozen, vaas vazen, schroef schroeven, "
    "kaars kaarsen, laars laarzen, muts mutsen, lens lenzen, fiets fietsen, kind kinderen, adres adressen, "
    "foto foto's, proces processen, cadeau cadeaus, blouse blouses, sok sokken, zaag zagen, tafel tafels, "
    "batterij batterijen"
)


@pytest.mark.parametrize("forms", DUTCH.split(", "))
def test_a_dutch_plural_has_the_stem_of_the_singular(forms: str) -> None:
    singular, plural = map(make_analyzer("dutch-codes").tokens, forms.split())
    assert singular == plural
