"""The language of texts, as far as a mixture must know it."""

from __future__ import annotations

from pathlib import Path

import pytest

import termwise
from termwise import BuildOptions, Document
from termwise.indexing.text_language import DIFFERENT, LEAST_SHARE, TIMES, foreign_language

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
    assert foreign_language([SENTENCES[language]] * 3) == language


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
    assert foreign_language(texts) is None


@pytest.mark.parametrize(
    "text", ["Собака и кошка в саду", "東京で美味しいラーメンを食べました", "الكلب في الحديقة"]
)
def test_other_scripts(text: str) -> None:
    assert foreign_language([text, "AB-1200"]) == "a language in another script"


def test_the_shares_of_stop_words_decide() -> None:
    def text(haus: int, *stop_words: str) -> list[str]:
        return [" ".join(["haus"] * haus + list(stop_words))]

    assert (LEAST_SHARE, DIFFERENT, TIMES) == (0.08, 3, 2)
    assert foreign_language(text(34, "und", "die", "der")) == "German"  # 3 of 37: .081
    assert foreign_language(text(35, "und", "die", "der")) is None  # 3 of 38: .079
    assert foreign_language(text(10, "und", "und", "der")) is None  # two different ones
    assert foreign_language(text(10, "und", "die", "der", "ist", "the", "with")) == "German"  # 4 and 2
    assert foreign_language(text(10, "und", "die", "der", "the", "with")) is None  # 3 and 2


@pytest.mark.parametrize(("language", "notes"), [("German", 1), (None, 0)])
def test_a_mixture_says_it(tmp_path: Path, language: str | None, notes: int) -> None:
    said: list[str] = []
    text = SENTENCES.get(language or "", "The dog and the cat are in the garden.")
    termwise.build_index(
        [Document("a", text)], tmp_path / "i", model="instant", options=BuildOptions(say=said.append)
    )
    assert sum(f"look like {language}" in line for line in said) == notes
    assert sum("English encoder" in line for line in said) == notes
