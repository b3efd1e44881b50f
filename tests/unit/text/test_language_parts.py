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
        "30e9156179535aa6fd211baa1ac49c51ab7b4b29c4bd4536b3bdd94e815c369a",
    ),
    "french-parts": (
        "Les crèmes brûlées d'été et L'Oréal AK-2184/Z",
        "crem brul ete loreal oreal ak2184z ak 2184 z",
        "d6db5f6fee632d657e098ae93c9ff551ba21fe8f926073736f8acc1f5b219c7b",
    ),
    "italian-parts": (
        "Le qualità dell'acqua AK-2184/Z",
        "qualit acqua ak2184z ak 2184 z",
        "48794ed6a3abf649490b6669968cd523287c39c973f0d2bdac014097932db7dc",
    ),
    "turkish-parts": (
        "İstanbul'un KIRMIZI çantaları AK-2184/Z",
        "istanbul kirmiz canta ak2184z ak 2184 z",
        "970730fa956673bfecd1d9385ca239193461ec477ed61959fffd3b25ad77ac7d",
    ),
    "basque-parts": (
        "Liburu berriak AK-2184/Z",
        "liburu berri ak2184z ak 2184 z",
        "211d52dbe55354f907ad483318d6f1bef8e59266e45d9ba408d0c08cac1b2699",
    ),
    "czech-parts": (
        "Červené knihy a kávové hrnečky AK-2184/Z",
        "cervn knih kav hrneck ak2184z ak 2184",
        "7d0c68687688dc3e90f86228f1bd96c698740726df06d6dcc2c07ab1963d1fb7",
    ),
    "esperanto-parts": (
        "Ruĝaj ĉevaloj AK-2184/Z",
        "rug ceval ak2184z ak 2184 z",
        "345e699798d895d3a8de3c3f3915651e4d8f210adaf656253c9c8347b4aa4190",
    ),
    "estonian-parts": (
        "Punased jõulukingad AK-2184/Z",
        "punase jõulukinga ak2184z ak 2184",
        "a7daf3598f28ac9e47d1210d5932945c514c54ac851cca1d08a21aa6a4697c0c",
    ),
    "finnish-parts": (
        "Punaiset pöydät AK-2184/Z",
        "punais pöydä ak2184z ak 2184 z",
        "3058ed0c77359cdccabdfaf38030b2bfc01b84a9c75df86cf0df6cd1889ac81d",
    ),
    "greek-parts": (
        "Τα κόκκινα βιβλία AK-2184/Z",
        "κοκκιν βιβλ ak2184z ak 2184 z",
        "ea0f9f24f36816a13b6714f91ac680e99e20d8d6d8255c70b2ca36152145ce33",
    ),
    "hungarian-parts": (
        "A piros könyvek AK-2184/Z",
        "piros konyv ak2184z ak 2184 z",
        "b45f16d2852d55503fc09421499a11c7339d10c93d31ae2f4f72fbd2a131c5d0",
    ),
    "indonesian-parts": (
        "Buku-buku merah AK-2184/Z",
        "bukubu buku buku merah ak2184z ak 2184 z",
        "95961671b89b1ae5ca4ace197813d20a655172d955b2ef11d72721fcc1e83518",
    ),
    "lithuanian-parts": (
        "Raudonos žieminės striukės AK-2184/Z",
        "raudon ziemin striuk ak2184z ak 2184 z",
        "e8a737168b6d0ae39b5e9ac420781bfdc44d2a6be598538dd06680c6859df46f",
    ),
    "polish-parts": (
        "Czerwone książki AK-2184/Z",
        "czerwon ksiazk ak2184z ak 2184",
        "acb746511de5c96978c45b85e7d065fbb104e6d9f751d8c2da0b86171552db9a",
    ),
    "portuguese-parts": (
        "As canções e os cafés AK-2184/Z",
        "canca cafe ak2184z ak 2184 z",
        "170819b2ae0cb18e918a98cf1be5fc843bd56eda613adfacc39a01b05661c358",
    ),
    "romanian-parts": (
        "Cărţile roşii AK-2184/Z",
        "cart ros ak2184z ak 2184 z",
        "772f7957fc4b6e71c8a23043c0865263a3dd33d25193ff0e951dfb92036f6af0",
    ),
    "russian-parts": (
        "Зимние куртки и ёлки AK-2184/Z",
        "зимн куртк елк ak2184z ak 2184 z",
        "98088c83c4646b3aef04d7b2aace205428bbef4a258dd221bdf79f787e394858",
    ),
    "serbian-parts": (
        "Црвене књиге i čaše AK-2184/Z",
        "crven knjig cas ak2184z ak 2184 z",
        "fe773afefa7014283764159dd04b49b4f0e48238abdbab2f6a4bb261f04558b9",
    ),
    "sesotho-parts": (
        "Dibuka tse ntjha AK-2184/Z",
        "dibuk tse ntjha ak2184z ak 2184 z",
        "aa57dbb382cfb71dba4ba9dbe24def011ad0645637a0edd6cf1ddbef4ea2a65a",
    ),
    "spanish-parts": (
        "Los niños y las canciones AK-2184/Z",
        "niñ cancion ak2184z ak 2184 z",
        "921f3792d6e882fd45f6c79bce9d1562f556943235b29d9cdffc573a470ef178",
    ),
    "german-codes": (
        "Rote Winterjacken für Café-Gäste AK-2184/Z",
        "rot winterjack cafegast caf gast ak2184z ak 2184 z",
        "9703f4d9040c915b05a808ef49632ae085e257876f922aa313f844fc99aa2a05",
    ),
    "dutch-codes": (
        "Rode winterjassen, crème AK-2184/Z",
        "rod winterjass crem ak2184z ak 2184 z",
        "c0e80b8947d416c720c32ef424df328868ff6ade65931ecd439dcac2831ed757",
    ),
    "swedish-codes": (
        "Röda vinterjackor, idé AK-2184/Z",
        "röd vinterjack ide ak2184z ak 2184 z",
        "43be1e6ae612f6ab62a2221b4310f5f549de646ba5a0605bac6af350b9dc0413",
    ),
    "norwegian-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjakk ide ak2184z ak 2184 z",
        "4c20618023233ae8018fc3da5d4c126b36535664e9a11924108c3f37cb30fd8f",
    ),
    "danish-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjak ide ak2184z ak 2184 z",
        "790e1e6c0f702fc58cb890b76e0ace8cb5aec6904834ccb554f02d5ba220aad7",
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
