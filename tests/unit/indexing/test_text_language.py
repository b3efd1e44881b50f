"""The language of texts, as far as a mixture must know it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import termwise
from termwise import BuildOptions, Document
from termwise.indexing.text_language import DIFFERENT, LEAST_SHARE, TIMES, foreign_texts

SENTENCES = {
    "German": "Der Hund und die Katze sind im Garten bei dem Haus, und sie schlafen.",
    "French": "Le chien et le chat sont dans le jardin de la maison, et ils dorment.",
    "Spanish": "El perro y el gato están en el jardín de la casa, y duermen.",
    "Dutch": "De hond en de kat zijn in de tuin van het huis, en zij slapen.",
    "Swedish": "Hunden och katten är i trädgården vid det röda huset, och de sover.",
    "Polish": "Pies i kot nie są w domu, bo jest to ich ogród, w którym się bawią, gdy nie śpią.",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_other_languages(language: str) -> None:
    assert foreign_texts([SENTENCES[language]] * 3) == ((language,), 1)


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""],
        ["AB-1200/X", "TN2420"],
        ["Red winter jacket for women", "Gift card"],
        ["The dog and the cat are in the garden of the house."],
        ["def merge(a, b): return a + b if a else None"],
        ["Walnut desk", "Brass lamp"],
    ],
)
def test_english_and_unknown(texts: list[str]) -> None:
    assert foreign_texts(texts) is None


@pytest.mark.parametrize(
    "text", ["Собака и кошка в саду", "東京で美味しいラーメンを食べました", "الكلب في الحديقة"]
)
def test_other_scripts(text: str) -> None:
    assert foreign_texts([text, "AB-1200"]) == (("a language in another script",), 1)


def test_the_shares_of_stop_words_decide() -> None:
    def text(haus: int, *stop_words: str) -> list[str]:
        return [" ".join(["haus"] * haus + list(stop_words))]

    assert (LEAST_SHARE, DIFFERENT, TIMES) == (0.08, 3, 2)
    assert foreign_texts(text(34, "und", "die", "der")) == (("German",), 1)  # 3 of 37: .081
    assert foreign_texts(text(35, "und", "die", "der")) is None  # 3 of 38: .079
    assert foreign_texts(text(3, "und") + text(3, "der")) is None  # two different ones, in two texts
    assert foreign_texts(text(3, "und") + text(3, "der") + text(3, "die")) == (("German",), 1)
    assert foreign_texts(text(10, "und", "die", "der", "ist", "the", "with")) == (("German",), 1)  # 4 and 2
    assert foreign_texts(text(10, "und", "die", "der", "the", "with")) is None  # 3 and 2


ENGLISH = "The dog and the cat are in the garden of the house, and they sleep."


@pytest.mark.parametrize(
    ("others", "english", "share"),
    [([SENTENCES["German"]], 4, 0.2), ([SENTENCES["German"]], 5, None), ([*SENTENCES.values()], 20, 6 / 26)],
)
def test_a_fifth_of_the_texts_is_a_part(others: list[str], english: int, share: float | None) -> None:
    found = foreign_texts([ENGLISH] * english + others)
    assert found == (None if share is None else (("German",), share))
    assert foreign_texts([*others[:1], *[ENGLISH] * 4, *["AB-1200/X"] * 2]) is None


def test_a_part_in_another_script() -> None:
    assert foreign_texts([ENGLISH, ENGLISH, "東京で美味しい"]) == (("a language in another script",), 1 / 3)


def test_a_text_of_the_part_has_two_stop_words() -> None:
    assert foreign_texts([ENGLISH] * 3 + ["Haus mit Hof"] * 9) is None
    assert foreign_texts([ENGLISH] * 3 + ["Haus mit einer Tür"]) == (("German",), 0.25)


def test_the_products_of_a_shop() -> None:
    path = Path(__file__).parents[3] / "docs" / "examples" / "make_shop.py"
    products, _ = runpy.run_path(str(path))["shop"]()
    found = foreign_texts(f"{each['title']}\n{each['description']}" for each in products)
    assert found is not None
    assert found.languages == ("English", "German", "French")
    assert 0.35 < found.share < 0.5  # half of them are German or French
    english = [each for each in products if each["lang"] == "en"]
    for fields in (["title"], ["title", "description"], ["title", "brand", "sku"]):
        assert foreign_texts(" ".join(str(each[name]) for name in fields) for each in english) is None


def test_several_languages() -> None:
    german, french = [SENTENCES["German"]], [SENTENCES["French"]]
    assert foreign_texts(german * 2 + [ENGLISH]) == (("German",), 2 / 3)  # two thirds
    assert foreign_texts(german * 3 + [ENGLISH] * 2) == (("German", "English"), 0.6)
    several = german * 8 + french * 4 + [ENGLISH] * 8
    assert foreign_texts(several) == (("German", "English", "French"), 0.6)
    assert foreign_texts([*several, SENTENCES["Polish"]]) == (("German", "English", "French"), 13 / 21)
    # Few of the texts have a language.
    assert foreign_texts(["AB-1200/X"] * 180 + several) == (("German", "English", "French"), 12 / 200)
    assert foreign_texts(["AB-1200/X"] * 181 + several) is None


def test_units_and_sizes_are_no_stop_words() -> None:
    assert foreign_texts(["Jacke Gr. L, 2 m x 3 m, 5 l, 10 W", "Coat size M, 3 m x 4 m, 2 l"] * 9) is None


@pytest.mark.parametrize("by_language", [False, True])
def test_a_mixture_points_to_an_analyzer_by_language(tmp_path: Path, by_language: bool) -> None:
    said: list[str] = []
    texts = {"de": SENTENCES["German"], "en": ENGLISH}
    documents = [Document(lang, text, {"lang": lang}) for lang, text in texts.items()]
    analyzer = "by-attribute:lang" if by_language else None
    options = BuildOptions(say=said.append)
    termwise.build_index(documents, tmp_path / "i", model="instant", analyzer=analyzer, options=options)
    (note,) = (line for line in said if "several languages, among them German and English" in line)
    assert ("--analyzer-by" in note) != by_language


@pytest.mark.parametrize("foreign", [0, 2])
def test_a_mixture_says_which_part(tmp_path: Path, foreign: int) -> None:
    said: list[str] = []
    texts = [SENTENCES["German"]] * foreign + [ENGLISH] * 6
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    termwise.build_index(documents, tmp_path / "i", model="instant", options=BuildOptions(say=said.append))
    beginning = "at least 25% of the texts look like another language than English, most like German: "
    assert sum(line.startswith(beginning) for line in said) == (foreign > 0)
    assert sum("English encoder" in line for line in said) == (foreign > 0)


@pytest.mark.parametrize(("language", "notes"), [("German", 1), (None, 0)])
def test_a_mixture_says_it(tmp_path: Path, language: str | None, notes: int) -> None:
    said: list[str] = []
    text = SENTENCES.get(language or "", "The dog and the cat are in the garden.")
    termwise.build_index(
        [Document("a", text)], tmp_path / "i", model="instant", options=BuildOptions(say=said.append)
    )
    assert sum(f"look like {language}" in line for line in said) == notes
    assert sum("English encoder" in line for line in said) == notes
