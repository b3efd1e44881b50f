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
        "4229fe2034a01743f485a25313be166e8c22d2e91342d53df864b18da3510bf5",
    ),
    "french-parts": (
        "Les crèmes brûlées d'été et L'Oréal AK-2184/Z",
        "crem brul ete loreal oreal ak2184z ak 2184 z",
        "d210a76869f6734a5cdece41690690a325f7657fbbded8305b7b937b01941a40",
    ),
    "italian-parts": (
        "Le qualità dell'acqua AK-2184/Z",
        "qualit acqua ak2184z ak 2184 z",
        "cce293435566c3ecc7025214cb6571f381baad90d92074dd70d2f1796ffbdb62",
    ),
    "turkish-parts": (
        "İstanbul'un KIRMIZI çantaları AK-2184/Z",
        "istanbul kirmiz canta ak2184z ak 2184 z",
        "59ced87bad05b9275fb636c9dd51e2cf22a57ee1986d60ec0606ca250f6df97f",
    ),
    "basque-parts": (
        "Liburu berriak AK-2184/Z",
        "liburu berri ak2184z ak 2184 z",
        "7db9a04c3c0763e890bda87902e15f4bbcd9c91f8437b36b782b55aa95616cb5",
    ),
    "czech-parts": (
        "Červené knihy a kávové hrnečky AK-2184/Z",
        "cervn knih kav hrneck ak2184z ak 2184",
        "71f847c98256e6857ccf79e603d0e631c90ce6c6610208d080bb38482f049c6f",
    ),
    "esperanto-parts": (
        "Ruĝaj ĉevaloj AK-2184/Z",
        "rug ceval ak2184z ak 2184 z",
        "004eafde4a49709063f1be8abc43352f60dee2a75e1e9743adf133f307ec44be",
    ),
    "estonian-parts": (
        "Punased jõulukingad AK-2184/Z",
        "punase jõulukinga ak2184z ak 2184",
        "c8478e57aae952d2cf7498776f386c66093294d931a985a0a8d6ea3a6f12b412",
    ),
    "finnish-parts": (
        "Punaiset pöydät AK-2184/Z",
        "punais pöydä ak2184z ak 2184 z",
        "3f288470e803efacb5a8c387efe5484883e3228018d8daeaebcc852765fcdebe",
    ),
    "greek-parts": (
        "Τα κόκκινα βιβλία AK-2184/Z",
        "κοκκιν βιβλ ak2184z ak 2184 z",
        "2a987d831b6910a57c58ff70e748791fbf9e7eb441a5db8562548087ab9098ae",
    ),
    "hungarian-parts": (
        "A piros könyvek AK-2184/Z",
        "piros konyv ak2184z ak 2184 z",
        "252f579f36bc10d4da41d119e73bbea78524ade9368762a85569fb6019c7840c",
    ),
    "indonesian-parts": (
        "Buku-buku merah AK-2184/Z",
        "bukubu buku buku merah ak2184z ak 2184 z",
        "3ae79833e3f479e4afce394a320063a7324e4aca85703a1ddd14a62b6f565182",
    ),
    "lithuanian-parts": (
        "Raudonos žieminės striukės AK-2184/Z",
        "raudon ziemin striuk ak2184z ak 2184 z",
        "d0aae33aed8b36f9ba06de6b66bafbcfb53bba7ba59c8ad9d392e9c56edc7c48",
    ),
    "polish-parts": (
        "Czerwone książki AK-2184/Z",
        "czerwon ksiazk ak2184z ak 2184",
        "d3620270b4b0332ad2c2ce17a3cd4e6ae65b3056cab18ca4cde36b4fac7261e9",
    ),
    "portuguese-parts": (
        "As canções e os cafés AK-2184/Z",
        "canca cafe ak2184z ak 2184 z",
        "d3a0292837d78638013223dd9aed67d28e748cd156faab367267c3f2662eac20",
    ),
    "romanian-parts": (
        "Cărţile roşii AK-2184/Z",
        "cart ros ak2184z ak 2184 z",
        "5dd4fa955bdd01ba70993930e312ae6f179852cf41cba7e222147406c22c8ea5",
    ),
    "russian-parts": (
        "Зимние куртки и ёлки AK-2184/Z",
        "зимн куртк елк ak2184z ak 2184 z",
        "50af304779f144198746585677b3eb3c8cca7032ae16e5a6ee61e8e7eda6ccae",
    ),
    "serbian-parts": (
        "Црвене књиге i čaše AK-2184/Z",
        "crven knjig cas ak2184z ak 2184 z",
        "2e3ab41eaf4032bcf329e1f6450f5313bc008117d54a14e5140c5f1eb62fd09e",
    ),
    "sesotho-parts": (
        "Dibuka tse ntjha AK-2184/Z",
        "dibuk tse ntjha ak2184z ak 2184 z",
        "ffae630a867c94de87a8a78ee4c39a039a8f9a4b6b677de09b0a741b30e73fa6",
    ),
    "spanish-parts": (
        "Los niños y las canciones AK-2184/Z",
        "niñ cancion ak2184z ak 2184 z",
        "ef63d305df26778c3a3c2cc97f0acbfae7bda2748606807e0cc750bb02285cfc",
    ),
    "german-codes": (
        "Rote Winterjacken für Café-Gäste AK-2184/Z",
        "rot winterjack cafegast caf gast ak2184z ak 2184 z",
        "24914b7459b05b6bf96d3278926c896a21596c084ef00f25d5544c21613ee699",
    ),
    "dutch-codes": (
        "Rode winterjassen, crème AK-2184/Z",
        "rod winterjass crem ak2184z ak 2184 z",
        "1793350e262674da2e9e665b0b5f1cb0d5ab40b927d89e4b64f4e8665dfa88ef",
    ),
    "swedish-codes": (
        "Röda vinterjackor, idé AK-2184/Z",
        "röd vinterjack ide ak2184z ak 2184 z",
        "5083fcbd5b70335322c83f1aee715a0a4ed08d15af1fe4fe55b3348ba066ecbf",
    ),
    "norwegian-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjakk ide ak2184z ak 2184 z",
        "383ab3f0b76d689e3a8d8e2314231b4d818ded6476ebeb0a0dbd3cfc357c2093",
    ),
    "danish-codes": (
        "Røde vinterjakker, idé AK-2184/Z",
        "rød vinterjak ide ak2184z ak 2184 z",
        "f0422caf532a6ebd7f824a77cae76faad5a35284bb3ad9c409dc4314394360c3",
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
