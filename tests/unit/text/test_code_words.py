"""Identifiers of program code and their parts."""

import pytest

from termwise import Document, build_index
from termwise.text import CodeWords, make_analyzer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("HttpResponse", "HttpResponse Http Response"),
        ("getUserById()", "getUserById get User By Id"),
        ("parse_HTTPResponse", "parse_HTTPResponse parse HTTP Response"),
        ("__init__ _x_", "__init__ init _x_ x"),
        ("utf8 SHA256", "utf8 utf 8 SHA256 SHA 256"),
        ("user user_ USER User", "user user_ user USER User"),
        ("x86_64-linux", "x86_64 x 86 64 linux"),
        ("std::vector<int> a->b os.path", "std vector int a b os path"),
        ("größeÄndern НовыйФайл", "größeÄndern größe Ändern НовыйФайл Новый Файл"),
        ("ИМЯфайла", "ИМЯфайла ИМ Яфайла"),
        ("名前 ___ 🍕", "名前"),
        ("E\u0301cole HT\u00adTPGet", "E\u0301cole HT\u00adTPGet HT\u00adTP Get"),
        ("x\u0301yZ", "x\u0301yZ x\u0301y Z"),
    ],
)
def test_words(text, words):
    assert CodeWords().words(text) == words.split()
    assert [text[start:end] for start, end in CodeWords().spans(text)] == words.split()


def test_identifiers_are_found_by_their_parts_and_as_a_whole(tmp_path):
    documents = [
        Document("a", "HttpResponse r = get()"),
        Document("b", "def getUserById(user_id)"),
        Document("c", "http"),
    ]
    searcher = build_index(documents, tmp_path / "index", analyzer="code", store_text=True)
    assert searcher.rank("http response").doc_ids == ("a", "c")
    assert searcher.rank("get user by id").doc_ids == ("b", "a")
    assert searcher.rank("getuserbyid").doc_ids == ("b",)
    explanation = searcher.explain("response", "a")
    assert [
        explanation.text[start:end] for part in explanation.contributions for start, end in part.spans
    ] == ["Response"]


def test_stems_can_be_added():
    assert make_analyzer("code+porter").tokens("sortedLists") == ["sortedlist", "sort", "list"]
