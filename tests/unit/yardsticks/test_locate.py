"""Networks of the hub: downloads from a local server that imitates it."""

from __future__ import annotations

import hashlib
import json
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import huggingface_hub
from huggingface_hub import constants
from tests.unit.yardsticks import test_ance, test_colbert, test_cross_encoder, test_mono_t5

from termwise.errors import MissingExtraError, MissingFileError, ModelFormatError
from termwise.rankers import ScorerContext, open_scorer
from termwise.rankers import from_name as opening
from termwise.scorers import Background
from termwise.train import hub
from termwise.yardsticks.locate import default_name, is_hub_name, locate_model

CONTEXT = ScorerContext(Background(list), device="cpu")
COMMIT = "0" * 39 + "1"
QUERY, TEXTS = "wing drag", ["wing lift", "heat of a plate"]


class Hub:
    """Serves folders as models of ``somebody``, and records the downloaded files."""

    def __init__(self, root: Path) -> None:
        self.root, self.fetched = root, []
        hub_of = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                self._answer(body=False)

            def do_GET(self):
                self._answer(body=True)

            def _answer(self, *, body):
                status, content, headers = hub_of.answer(unquote(urlsplit(self.path).path), body)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if body:
                    self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()

    def answer(self, path, body):
        api, files = "/api/models/somebody/", "/somebody/"
        if path.startswith(api):
            name, _, rest = path.removeprefix(api).partition("/")
            held = self.files(name)
            if held and rest.startswith("tree/"):
                content = [{"type": "file", "path": one, "size": 1, "oid": one} for one in held]
                return 200, json.dumps(content).encode(), {"Content-Type": "application/json"}
            if held:
                content = {
                    "id": f"somebody/{name}",
                    "sha": COMMIT,
                    "siblings": [{"rfilename": f} for f in held],
                }
                return 200, json.dumps(content).encode(), {"Content-Type": "application/json"}
        elif path.startswith(files):
            name, _, rest = path.removeprefix(files).partition("/")
            file = self.root / name / rest.split("/", 2)[-1]
            if file.is_file():
                if body:
                    self.fetched.append(rest.split("/", 2)[-1])
                held = file.read_bytes()
                return 200, held, {"ETag": f'"{hashlib.sha256(held).hexdigest()}"', "X-Repo-Commit": COMMIT}
        return 404, b"{}", {"X-Error-Code": "RepoNotFound"}

    def files(self, name):
        folder = self.root / name
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Return an empty hub with an empty cache."""
    (tmp_path / "hub").mkdir()
    here = Hub(tmp_path / "hub")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constants, "ENDPOINT", here.address)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        f"{here.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    huggingface_hub.close_session()
    hub._refusal.cache_clear()
    yield here
    here.server.shutdown()
    here.server.server_close()
    hub._refusal.cache_clear()


def stopped(served):
    served.server.shutdown()
    served.server.server_close()
    hub._refusal.cache_clear()


def test_a_cross_encoder_is_downloaded_once_and_works_offline(served):
    pytest.importorskip("sentence_transformers")
    folder = test_cross_encoder.saved(served.root / "crossed")
    (folder / "onnx").mkdir()
    for other in ("onnx/model.onnx", "onnx/config.json", "pytorch_model.bin", "tf_model.h5", "rust_model.ot"):
        (folder / other).write_bytes(b"of other libraries")
    here = open_scorer(str(folder), CONTEXT)
    found = open_scorer("somebody/crossed", CONTEXT)
    assert found.name == "crossed"
    assert found.score(QUERY, TEXTS) == pytest.approx(here.score(QUERY, TEXTS))
    assert found.fingerprint is not None
    assert {"model.safetensors", "config.json"} <= set(served.fetched)
    assert not any(file.startswith(("onnx", "pytorch", "tf", "rust")) for file in served.fetched)
    before = len(served.fetched)
    again = open_scorer("mine=somebody/crossed", CONTEXT)
    assert (again.name, len(served.fetched)) == ("mine", before)
    stopped(served)
    offline = open_scorer("again=somebody/crossed,length=16", CONTEXT)
    assert offline.name == "again"
    assert offline.score(QUERY, TEXTS) == pytest.approx(here.score(QUERY, TEXTS))


def test_a_bi_encoder_is_downloaded_with_its_modules(served, base):
    made = pytest.importorskip("sentence_transformers")
    made.SentenceTransformer(str(base), device="cpu").save(str(served.root / "two"))
    scorer = open_scorer("somebody/two,similarity=dot", CONTEXT)
    assert scorer.name == "two"
    assert any(file.endswith("_Pooling/config.json") for file in served.fetched)
    here = open_scorer(f"{served.root / 'two'},similarity=dot", CONTEXT)
    assert scorer.score(QUERY, TEXTS) == pytest.approx(here.score(QUERY, TEXTS))


@pytest.mark.parametrize(("prefix", "made"), [("colbert:", test_colbert), ("ance:", test_ance)])
def test_published_checkpoints_are_downloaded(served, prefix, made):
    folder = made.saved(served.root / "one")
    scorer = open_scorer(f"{prefix}somebody/one", CONTEXT)
    assert scorer.name == "one"
    assert scorer.score(QUERY, TEXTS) == pytest.approx(
        open_scorer(f"{prefix}{folder}", CONTEXT).score(QUERY, TEXTS), abs=1e-5
    )


def test_a_tokenizer_of_another_model_is_downloaded(served, tmp_path):
    folder = test_mono_t5.saved(served.root / "whole")
    bare = shutil.copytree(folder, served.root / "bare")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (bare / file).unlink()
    with pytest.raises(ModelFormatError, match="no tokenizer of monoT5") as caught:
        open_scorer("mono-t5:somebody/bare", CONTEXT)
    assert "tokenizer=google-t5/t5-base" in caught.value.fixes_worded()[0]
    served.fetched.clear()
    scorer = open_scorer("mono-t5:somebody/bare,tokenizer=somebody/whole", CONTEXT)
    assert "tokenizer.json" in served.fetched
    assert "model.safetensors" not in served.fetched, "it has those of its own"
    whole = open_scorer(f"mono-t5:{folder}", CONTEXT)
    assert scorer.score(QUERY, TEXTS) == pytest.approx(whole.score(QUERY, TEXTS))
    other = test_mono_t5.saved(tmp_path / "other", [*test_mono_t5.VOCABULARY[:-1], "ü"])
    assert open_scorer(f"mono-t5:somebody/bare,tokenizer={other}", CONTEXT).fingerprint != scorer.fingerprint
    with pytest.raises(MissingFileError, match="no such tokenizer"):
        open_scorer("mono-t5:somebody/bare,tokenizer=nowhere", CONTEXT)


def test_unknown_hub_names_are_refused(served, monkeypatch):
    with pytest.raises(ModelFormatError, match="no checkpoint of ColBERT of that name") as caught:
        open_scorer("colbert:somebody/nothing", CONTEXT)
    facts = dict(caught.value.facts)
    assert (facts["name"], facts["local folder"]) == ("somebody/nothing", "does not exist")
    assert "404" in facts["hub"]
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ModelFormatError, match="no ranker of that name"):
        open_scorer("somebody/nothing", CONTEXT)
    stopped(served)
    with pytest.raises(ModelFormatError, match="no ranker of that name"):
        open_scorer("somebody/nothing", CONTEXT)
    monkeypatch.setattr(opening, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="sentence_transformers, which is not installed") as missing:
        open_scorer("somebody/nothing", CONTEXT)
    assert "termwise[cross-encoder]" in missing.value.fixes_worded()[0]
    assert "no folder here" in dict(missing.value.facts)["ranker"]


def test_existing_paths_are_not_hub_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "mine").mkdir(parents=True)
    assert locate_model("ranker", "models/mine", ()) == Path("models/mine")
    assert (is_hub_name("models/mine"), is_hub_name("models/other")) == (False, True)
    assert (default_name("models/mine"), default_name(tmp_path / "models"), default_name(".")) == (
        "mine",
        "models",
        tmp_path.name,
    )
    for path in ("./models/other", "/models/other", "models/mine/other", "models", "../models/other"):
        assert not is_hub_name(path)
        if path != "models":
            with pytest.raises(MissingFileError, match="no such ranker"):
                locate_model("ranker", path, ())
