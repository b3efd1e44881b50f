"""``python:stdlib``: names people use, texts that never change, and modules that are never imported."""

import ast
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from termwise.collection import Collection, PythonDocumentation, PythonQuestions, open_collection
from termwise.collection.python_docs import IMPORTED, standard_library
from termwise.collection.python_runtime import ImportedDocumentation
from termwise.records import Document


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {document.doc_id: document.text for document in standard_library()}


def test_collection() -> None:
    collection = open_collection("python:stdlib")
    assert isinstance(collection, Collection)
    assert isinstance(collection, PythonDocumentation)
    documents = list(collection.documents())
    assert collection.length == len(documents) == len({document.doc_id for document in documents})
    assert documents == list(collection.documents())
    assert all(isinstance(document, Document) for document in documents)
    assert 5_000 < len(documents) < 20_000


NAMES = """
argparse.ArgumentParser.add_argument argparse.ArgumentParser.parse_args asyncio.gather asyncio.run
asyncio.Queue.get ast.Call base64.b64encode bisect.bisect bisect.bisect_right builtins.dict.get
builtins.open builtins.sorted builtins.str.split builtins.ValueError calendar.month
collections.Counter.most_common collections.abc.Mapping.get collections.deque.append
collections.namedtuple concurrent.futures.ThreadPoolExecutor concurrent.futures.as_completed
contextlib.contextmanager csv.DictReader csv.reader ctypes.c_int dataclasses.dataclass
datetime.datetime.now decimal.Decimal.quantize email.message.EmailMessage enum.Enum functools.lru_cache
glob.glob hashlib.sha256 heapq.merge hmac.compare_digest http.client.HTTPConnection.request
http.server.BaseHTTPRequestHandler importlib.import_module importlib.metadata.version io.StringIO
io.open itertools.chain itertools.chain.from_iterable json json.JSONDecoder json.dumps
logging.Logger.info logging.handlers.RotatingFileHandler math.isclose multiprocessing.Pool
operator.itemgetter os.listdir os.path os.path.join os.walk pathlib.Path.glob pickle.dumps
queue.Queue.get random.Random random.choice re.Match.group re.sub secrets.choice select.select
shutil.copytree signal.signal socket.socket socket.socket.recv sqlite3.connect statistics.median
string.Template.substitute struct.pack subprocess.Popen.communicate subprocess.run sys.getsizeof
tempfile.TemporaryDirectory textwrap.dedent threading.Lock threading.Thread.start time.sleep
timeit.timeit typing.NamedTuple unittest.TestCase.assertRaises unittest.mock.patch urllib.parse.quote
urllib.request.urlopen uuid.uuid4 weakref.ref xml.etree.ElementTree.parse zipfile.ZipFile.extractall
zlib.compress zoneinfo.ZoneInfo
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_names_people_use(texts: dict[str, str], name: str) -> None:
    assert texts[name].startswith(name)


@pytest.mark.parametrize(
    "name",
    [
        "asyncio.tasks.gather",
        "unittest.case.TestCase",
        "json.decoder.JSONDecoder",
        "posixpath.join",
        "_heapq.merge",
        "builtins.str.__len__",
        "test.support",
        "idlelib",
        "this",
        "antigravity",
        "pathlib.Path.suffix",
        "builtins.bool.to_bytes",
        "os.sys",
        "secrets.SystemRandom",
    ],
)
def test_names_that_are_not_listed(texts: dict[str, str], name: str) -> None:
    assert name not in texts


@pytest.mark.parametrize(
    ("name", "first_line"),
    [
        ("heapq.merge", "heapq.merge(*iterables, key=None, reverse=False)"),
        ("builtins.sorted", "builtins.sorted(iterable, /, *, key=None, reverse=False)"),
        ("builtins.str.split", "builtins.str.split(sep=None, maxsplit=-1)"),
        ("os.path.join", "os.path.join(a, *p)"),
        ("json", "json"),
        ("textwrap.dedent", "textwrap.dedent(text)"),
        ("datetime.datetime.now", "datetime.datetime.now(tz=None)"),
        ("builtins.str.maketrans", "builtins.str.maketrans"),
    ],
)
def test_first_lines(texts: dict[str, str], name: str, first_line: str) -> None:
    assert texts[name].split("\n")[0] == first_line


def test_docstrings_follow_cleaned(texts: dict[str, str]) -> None:
    rest = texts["heapq.merge"].split("\n")[1:]
    assert rest[0] == "Merge multiple sorted inputs into a single sorted output."
    assert not rest[2].startswith(" ")


def test_documents_are_sorted_by_module_then_name() -> None:
    names = [document.doc_id for document in standard_library()]
    modules = [name for name in names if name in {"json", "json.tool", "math", "heapq"}]
    assert modules == ["heapq", "json", "json.tool", "math"]
    math = [name for name in names if name.startswith("math.")]
    assert math == sorted(math)


def test_no_text_holds_an_address(texts: dict[str, str]) -> None:
    assert [name for name, text in texts.items() if " at 0x" in text] == []


def test_no_name_is_private(texts: dict[str, str]) -> None:
    assert [name for name in texts if any(part.startswith("_") for part in name.split("."))] == []


SCRIPT = """
import hashlib, sys
before = set(sys.modules)
import termwise.collection
assert "ir_datasets" not in set(sys.modules) - before
documents = list(termwise.collection.open_collection("python:stdlib").documents())
unwanted = {"antigravity", "this", "turtle", "tkinter", "idlelib", "ensurepip", "readline", "ir_datasets"}
digest = hashlib.sha256(repr(documents).encode("utf-8", "surrogatepass"))
print(digest.hexdigest(), unwanted & set(sys.modules))
"""


def test_another_process_reads_the_same_and_imports_nothing_unwanted() -> None:
    source = Path(__file__).parents[3] / "src"
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(source)}
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    here = hashlib.sha256(repr(list(standard_library())).encode("utf-8", "surrogatepass")).hexdigest()
    assert done.stdout.split(maxsplit=1) == [here, "set()\n"]
    assert done.stderr == ""


@pytest.mark.slow
def test_reading_is_quick() -> None:
    standard_library.cache_clear()
    start = time.process_time()
    standard_library()
    assert time.process_time() - start < 5


def test_modules_that_are_imported_exist_here_or_are_left_out() -> None:
    found = ImportedDocumentation.read(["no_such_module_anywhere", "heapq"])
    assert found.modules == {"heapq"}
    assert {entry.module for entry in found.entries} == {"heapq"}
    assert not {"antigravity", "this", "turtle", "tkinter", "readline", "idlelib"} & set(IMPORTED)


def test_replaced_hooks_do_not_change_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def hook(kind: object, value: object, trace: object) -> None:
        """Replace the original."""

    monkeypatch.setattr(sys, "excepthook", hook)
    entries = {entry.name: entry for entry in ImportedDocumentation.read(["sys"]).entries}
    assert entries["sys.excepthook"].docstring.startswith("Handle an exception")


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the judgments were written for 3.11")
def test_judged_names_exist(texts: dict[str, str]) -> None:
    questions = PythonQuestions.load(texts)
    assert len(questions.queries) >= 80
    assert len(questions.dropped) <= 5
    assert len(questions.qrels) > 500
    assert {qrel.query_id for qrel in questions.qrels} == {query.query_id for query in questions.queries}
    assert {qrel.relevance for qrel in questions.qrels} == {1, 2}


def test_judgments_of_absent_names_are_counted() -> None:
    questions = PythonQuestions.load(())
    assert questions.qrels == ()
    some = questions.dropped[0]
    again = PythonQuestions.load({some.doc_id})
    assert some in again.qrels
    assert len(again.qrels) + len(again.dropped) == len(questions.dropped)


def test_signatures_are_valid_python(texts: dict[str, str]) -> None:
    wrong = []
    for name, text in texts.items():
        head = text.split("\n")[0]
        if head != name and "..." not in head and "<" not in head:
            try:
                ast.parse(f"def f{head.removeprefix(name)}: pass")
            except SyntaxError:
                wrong.append(head)
    assert wrong == []
