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
        "002f9366c94dc60bf34e164c37fea8d7d52667dac37f8292402e2f16472d9269",
    ),
    "french-parts": (
        "Les crèmes brûlées d'été et L'Oréal AK-2184/Z",
        "crem brul ete loreal oreal ak2184z ak 2184 z",
        "14ea97636a4c306d41eeb5fe6e06638b33fb91c63fe7d683afe84e9f48aa2a1e",
    ),
    "italian-parts": (
        "Le qualità dell'acqua AK-2184/Z",
        "qualit acqua ak2184z ak 2184 z",
        "0266e48b4a5f25de81046fd67e1cc271e42cf32d03ed35fe275b6e5263ff1b03",
    ),
    "turkish-parts": (
        "İstanbul'un KIRMIZI çantaları AK-2184/Z",
        "istanbul kirmiz canta ak2184z ak 2184 z",
        "59bad018bb39ec8701555dfffcb95f1a7ae8800a6367d297a79326d483ad05ff",
    ),
    "basque-parts": (
        "Liburu berriak AK-2184/Z",
        "liburu berri ak2184z ak 2184 z",
        "1394c7ad98541bbe081dd1c78d81d6fec7ee6df84ede2d67adbed767828e4329",
    ),
    "czech-parts": (
        "Červené knihy a kávové hrnečky AK-2184/Z",
        "cervn knih kav hrneck ak2184z ak 2184",
        "814574d9a457e46bfb2ee8d1d7a96c11c82ce796005d6a919cdece6b0d6be494",
    ),
    "esperanto-parts": (
        "Ruĝaj ĉevaloj AK-2184/Z",
        "rug ceval ak2184z ak 2184 z",
        "e67558249bcf94326d5a18bba2e66a26d7f4d1133ef4401a3997d29813108b75",
    ),
    "estonian-parts": (
        "Punased jõulukingad AK-2184/Z",
        "punase jõulukinga ak2184z ak 2184",
        "f158bac0d84084e4516f0f43e39ad71a96e3d24091cacea5fc65f7f6e4113d05",
    ),
    "finnish-parts": (
        "Punaiset pöydät AK-2184/Z",
        "punais pöydä ak2184z ak 2184 z",
        "c61a894c89629f5422b70fa38cd35617751182bb0db89b782aa29511dc04cb99",
    ),
    "greek-parts": (
        "Τα κόκκινα βιβλία AK-2184/Z",
        "κοκκιν βιβλ ak2184z ak 2184 z",
        "d64fd9324c4a47271514e45a8c0c0cf16649a071dbe03c0d30a463c4d886c50b",
    ),
    "hungarian-parts": (
        "A piros könyvek AK-2184/Z",
        "piros konyv ak2184z ak 2184 z",
        "dc291be8b64cdd0ccb4a3cc93d2b143ec45539cd7282668606912b277dcddfff",
    ),
    "indonesian-parts": (
        "Buku-buku merah AK-2184/Z",
        "bukubu buku buku merah ak2184z ak 2184 z",
        "baf7918aa72d8dce9ace54a8b6f1169f01c40cf677b5797dbe629d0b097ce37d",
    ),
    "lithuanian-parts": (
        "Raudonos žieminės striukės AK-2184/Z",
        "raudon ziemin striuk ak2184z ak 2184 z",
        "ca4c24532404923b79229f0e769236b791feeb61ebc58091f6fc1f49c75e44cd",
    ),
    "polish-parts": (
        "Czerwone książki AK-2184/Z",
        "czerwon ksiazk ak2184z ak 2184",
        "f170423a14267ec82a5b588623221b18501162cd9f3c2355c67047fdf3b379d5",
    ),
    "portuguese-parts": (
        "As canções e os cafés AK-2184/Z",
        "canca cafe ak2184z ak 2184 z",
        "a88db263254c7fa6d091770121970687de7604f391cc7bdb8b69dba13e038082",
    ),
    "romanian-parts": (
        "Cărţile roşii AK-2184/Z",
        "cart ros ak2184z ak 2184 z",
        "a13e634fb57995895a6891943ccbfda8da063f6dd5c4ffa02d4e4f0cdcfe0a54",
    ),
    "russian-parts": (
        "Зимние куртки и ёлки AK-2184/Z",
        "зимн куртк елк ak2184z ak 2184 z",
        "a776f73b718c82d0695dc312ddb6dfcc7bd01a4757d84c0d02ceffbe3684ab6b",
    ),
    "serbian-parts": (
        "Црвене књиге i čaše AK-2184/Z",
        "crven knjig cas ak2184z ak 2184 z",
        "f28a89717d71b5fa2b06d3a459e0d88ae95584a4b5383fa51436dc50464f861b",
    ),
    "sesotho-parts": (
        "Dibuka tse ntjha AK-2184/Z",
        "dibuk tse ntjha ak2184z ak 2184 z",
        "c4ec6e046fcb44d770bf64a0716d3c2394e9cadff52436fc18dcd1f0d531793c",
    ),
    "spanish-parts": (
        "Los niños y las canciones AK-2184/Z",
        "niñ cancion ak2184z ak 2184 z",
        "e662a8ec6789011030e878a5de34db8f5bbe6cbdb83251f668b866697b7cc7a4",
    ),
    "german-codes": (
        "Rote Winterjacken für Café-Gäste AK-2184/Z",
        "rot winterjack cafegast caf gast ak2184z ak 2184 z",
        "a363018ebd46587c546b87b8d68e3a66f52011d8a1f6fac3a33f1a044f76bc10",
    ),
    "dutch-codes": (
        "Rode winterjassen, crème AK-2184/Z",
        "rod winterjass crem ak2184z ak 2184 z",
        "0733b6a9da5e48aacbe72b1701854e4bdd3f85d63e9802a11808062f35c3d3cd",
    ),
    "swedish-codes": (
        "Röda vinterjackor, idé AK-2184/Z",
        "röd vinterjack ide ak2184z ak 2184 z",
        "3afb125a693d5a0c39eeab857b3e227f18eda5c267db1ce38a1ecf8657b88afc",
    ),
    "norwegian-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjakk ide ak2184z ak 2184 z",
        "a2c769a6a81d9d91bd4ef3d85d7f285b4100b26325fcdfc2533596fec877edf3",
    ),
    "danish-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjak ide ak2184z ak 2184 z",
        "7f63626a01d5711a85a2a9433c40cac168c28988e23c8b395bf0d378b538465d",
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
