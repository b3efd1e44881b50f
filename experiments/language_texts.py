"""Texts in many languages from Debian packages, for ``language_analyzers.py``.

Input
    The packages of Debian 12 in `PACKAGES`: the user documentation of GNOME and the messages of LibreOffice, GTK and
    GIMP. ``apt-get download PACKAGE…`` fetches them without installing them.
Output
    A file per language in ``--out`` with a paragraph or message per line, each once. Nothing of it is part of the
    repository.
Command
    ``python experiments/language_texts.py --packages FOLDER --out FOLDER``
"""

from __future__ import annotations

import gettext
import html
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import record

from termwise.errors import MissingFileError

PACKAGES = (
    "gnome-user-docs",
    "libgtk-3-common",
    "libgtk2.0-common",
    "gimp-data",
    *(f"libreoffice-l10n-{code}" for code in ("ar", "ca", "el", "eo", "et", "eu", "fa", "ga", "hi", "id")),
    *(f"libreoffice-l10n-{code}" for code in ("lt", "nb", "ne", "sr", "st", "ta", "tr")),
)

LOCALES = {
    "arabic": "ar",
    "armenian": "hy",
    "basque": "eu",
    "catalan": "ca",
    "chinese": "zh_CN",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "esperanto": "eo",
    "estonian": "et",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "irish": "ga",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "lithuanian": "lt",
    "nepali": "ne",
    "norwegian": "nb",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt_BR",
    "romanian": "ro",
    "russian": "ru",
    "serbian": "sr",
    "sesotho": "st",
    "spanish": "es",
    "swedish": "sv",
    "tamil": "ta",
    "turkish": "tr",
    "yiddish": "yi",
}
"""Names of analyzers and of the locales whose texts they read; Chinese, Japanese and Korean are for ``cjk``."""

WITHOUT_SPACES = ("chinese", "japanese")

_BLOCK = re.compile(r"<(p|title|item|td)\b[^>]*>(.*?)</\1>", re.DOTALL)


def page_texts(page: str) -> Iterator[str]:
    """Yield the paragraphs of a page of Mallard XML."""
    page = re.sub(r"<info>.*?</info>", " ", page, flags=re.DOTALL)
    for _, block in _BLOCK.findall(page):
        yield " ".join(html.unescape(re.sub(r"<[^>]+>", "", block)).split())


def message_texts(path: Path) -> Iterator[str]:
    """Yield the translations of a catalogue that differ from the originals, without marks of shortcuts."""
    with path.open("rb") as file:
        try:
            catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except (OSError, UnicodeDecodeError):
            return
    for original, translation in catalogue.items():
        if original and translation and translation != original:
            yield re.sub(r"[_~&](?=\w)", "", " ".join(str(translation).split()))


def language_texts(root: Path, language: str) -> list[str]:
    """Return the texts of one language in unpacked packages."""
    locale = LOCALES[language]
    texts: dict[str, None] = {}
    for path in sorted(root.glob(f"usr/share/help/{locale}/**/*.page")):
        texts.update(dict.fromkeys(page_texts(path.read_text(encoding="utf-8"))))
    for path in sorted(root.glob(f"usr/**/{locale}/LC_MESSAGES/*.mo")):
        texts.update(dict.fromkeys(message_texts(path)))
    return [text for text in texts if text and (" " in text or language in WITHOUT_SPACES)]


def main() -> None:
    """Write the texts."""
    parser = record.parser(__doc__)
    parser.add_argument("--packages", type=Path, required=True, help="folder of the .deb files")
    parser.add_argument("--out", type=Path, required=True, help="folder of the texts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        for package in PACKAGES:
            found = sorted(arguments.packages.glob(f"{package}_*.deb"))
            if not found:
                raise MissingFileError(
                    "a package is not there",
                    facts=[("looked for", arguments.packages / f"{package}_*.deb")],
                    fixes=[f"apt-get download {package}"],
                )
            subprocess.run(["dpkg", "-x", str(found[-1]), root], check=True)
        arguments.out.mkdir(parents=True, exist_ok=True)
        for language in LOCALES:
            texts = language_texts(Path(root), language)
            record.write_whole(arguments.out / f"{language}.txt", "".join(f"{text}\n" for text in texts))
            record.say(f"{language}: {len(texts)} texts, {sum(len(text.split()) for text in texts)} words")


if __name__ == "__main__":
    record.script(main)
