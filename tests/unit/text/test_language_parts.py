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
        "9c76a3c28b6f3d52ce5a5e777a8973c165c6d09e17da51bc23ec241694a4174c",
    ),
    "french-parts": (
        "Les crèmes brûlées d'été et L'Oréal AK-2184/Z",
        "crem brul ete loreal oreal ak2184z ak 2184 z",
        "85312072fb933b3f1a1cb2e125733f60411718a4b9addae3b29ce5c15dee3d32",
    ),
    "italian-parts": (
        "Le qualità dell'acqua AK-2184/Z",
        "qualit acqua ak2184z ak 2184 z",
        "5e2290b8ac0a1fc177395ec88b20892352c17e847cecd325e2b1cb843d89b960",
    ),
    "turkish-parts": (
        "İstanbul'un KIRMIZI çantaları AK-2184/Z",
        "istanbul kirmiz canta ak2184z ak 2184 z",
        "2d00dc45974b20bd6f78c9a8249112da7716db9ad398183d018b8101372c072c",
    ),
    "basque-parts": (
        "Liburu berriak AK-2184/Z",
        "liburu berri ak2184z ak 2184 z",
        "0e51a2c81cc67b22eec9a61f655be0bc472f2c9ad094787d39ef871c2aa3d60d",
    ),
    "czech-parts": (
        "Červené knihy a kávové hrnečky AK-2184/Z",
        "cervn knih kav hrneck ak2184z ak 2184",
        "6acee42c38e6a0aeb4d8bc83127dbfaa89c03f732c7a28c764babcd4fcc9feec",
    ),
    "esperanto-parts": (
        "Ruĝaj ĉevaloj AK-2184/Z",
        "rug ceval ak2184z ak 2184 z",
        "fa57544ae5251719d854bd339faa84acc363a18ae34bc6a53cb409bd3a36b0eb",
    ),
    "estonian-parts": (
        "Punased jõulukingad AK-2184/Z",
        "punase jõulukinga ak2184z ak 2184",
        "a5664a0576945f3dd5eb8e68db6be803b1ff1c04c5e6e27cb154b3395797439d",
    ),
    "finnish-parts": (
        "Punaiset pöydät AK-2184/Z",
        "punais pöydä ak2184z ak 2184 z",
        "f4151b1f61f8529caa8af756d54ef4027ecaf93207a1b93a430774bc0d46b615",
    ),
    "greek-parts": (
        "Τα κόκκινα βιβλία AK-2184/Z",
        "κοκκιν βιβλ ak2184z ak 2184 z",
        "7b7edfb703329536190ed7af70a1945be3e65c66c9e15106773826c15bc71f34",
    ),
    "hungarian-parts": (
        "A piros könyvek AK-2184/Z",
        "piros konyv ak2184z ak 2184 z",
        "f6a03993edde426346b696643c666a24ae2b40ad6009629c61ffbef24fb4c475",
    ),
    "indonesian-parts": (
        "Buku-buku merah AK-2184/Z",
        "bukubu buku buku merah ak2184z ak 2184 z",
        "319659a33e476d7a31c9cc0bee459dc5f505eb7e1b8b4be16e3f1adffc537051",
    ),
    "lithuanian-parts": (
        "Raudonos žieminės striukės AK-2184/Z",
        "raudon ziemin striuk ak2184z ak 2184 z",
        "d06e256f22564cca5a700557c2527ec425d81559bf0dfa215a6d68ec0091e4b4",
    ),
    "polish-parts": (
        "Czerwone książki AK-2184/Z",
        "czerwon ksiazk ak2184z ak 2184",
        "4a2669d173e32c61b19dfbc34d1f6c62f908d1414f4f215e0313658d6114c1a3",
    ),
    "portuguese-parts": (
        "As canções e os cafés AK-2184/Z",
        "canca cafe ak2184z ak 2184 z",
        "5e4729477597b31b671089e78bed8c540e5d37551e6911963e4cb56bc74a3775",
    ),
    "romanian-parts": (
        "Cărţile roşii AK-2184/Z",
        "cart ros ak2184z ak 2184 z",
        "2b0e05e7a08e50fbc2e87db5a6c8146fa76bb3dbb9477ea2ec299ff54f013c83",
    ),
    "russian-parts": (
        "Зимние куртки и ёлки AK-2184/Z",
        "зимн куртк елк ak2184z ak 2184 z",
        "457fb94bafcfd7603cc2001c1de0722cd8b64419ae652f9d8371a941c6ead7fe",
    ),
    "serbian-parts": (
        "Црвене књиге i čaše AK-2184/Z",
        "crven knjig cas ak2184z ak 2184 z",
        "31ab3168868d65c1cd20a2b0f45d58dffd585e444b8fff8837572ad0ee0e4da4",
    ),
    "sesotho-parts": (
        "Dibuka tse ntjha AK-2184/Z",
        "dibuk tse ntjha ak2184z ak 2184 z",
        "d1582bdb919c3de3ce1e6c4597e5ea8e0460c45ad50962b0d7517403854ad167",
    ),
    "spanish-parts": (
        "Los niños y las canciones AK-2184/Z",
        "niñ cancion ak2184z ak 2184 z",
        "b411694ce6b2351e92761bc3abacc94888b449590654cf2bfc8cf61391a8c3d7",
    ),
    "german-codes": (
        "Rote Winterjacken für Café-Gäste AK-2184/Z",
        "rot winterjack cafegast caf gast ak2184z ak 2184 z",
        "92ace622af76388129d48bfd3276f9cc0c51456f7462e52c4b40bf34aa218391",
    ),
    "dutch-codes": (
        "Rode winterjassen, crème AK-2184/Z",
        "rod winterjass crem ak2184z ak 2184 z",
        "e090cdfcddbad3f5e7cc19f3e5dfd9f495d9a8d55be30d17a22208ce6a0a6a11",
    ),
    "swedish-codes": (
        "Röda vinterjackor, idé AK-2184/Z",
        "röd vinterjack ide ak2184z ak 2184 z",
        "9897188582f479545093d51aaef4a78f58a62b4ede9a862e827479d117879ddc",
    ),
    "norwegian-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjakk ide ak2184z ak 2184 z",
        "eaa1dbb0c9cb5260cb08182c219e14887e679c56d3622a6eec7c18726dc1609c",
    ),
    "danish-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjak ide ak2184z ak 2184 z",
        "521d5549be1d6030722aecf2d54532c70c822ad596f8040fd5e54246b0de97d1",
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
