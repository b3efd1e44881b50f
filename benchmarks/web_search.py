r"""Search boxes without a server in Chromium: bytes and time of the first answer, quality, size of the folder.

    npm install --prefix SCRATCH/npm pagefind minisearch
    python benchmarks/web_search.py --collection BEIR_FOLDER --work SCRATCH       # about 10 minutes, encoding included

Pages are made of `--documents` documents of a judged collection: those with judgments, and the first others. termwise
exports indexes of several models, Pagefind indexes the pages, and MiniSearch loads one JSON file with titles and texts
indexed. All are served by the same server on this machine, which compresses scripts, pages and JSON as hosts do, and
waits `--delay` milliseconds before each answer.

**First answer.** From an empty cache: until the ten first results and titles are there; for termwise and Pagefind
also with excerpts, which MiniSearch does not make. Bytes are those of the bodies on the wire, scripts included. The
median over `--rounds` queries. **Warm.** The median time of all queries of the collection in one page, one after the
other; files that an earlier query has read are kept. **Quality.** nDCG@10 of all queries. Pagefind returns pages that
have all words of a query, so it has no result for many long ones.

Results are printed and appended to ``benchmarks/results/web_search.jsonl``.
"""

from __future__ import annotations

import gzip
import html
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from record import parser  # noqa: E402
from timing import RESULTS, about, append, say  # noqa: E402

import termwise  # noqa: E402
from termwise.collection import read_qrels  # noqa: E402
from termwise.evaluate import evaluate  # noqa: E402
from termwise.export import export_index  # noqa: E402
from termwise.records import Ranking, Run  # noqa: E402

MEASURE = "nDCG@10"
MODELS = ("bm25", "instant", "best")
COMPRESSED = {".js", ".mjs", ".json", ".html", ".css"}

PAGE = "<!doctype html><meta charset=utf-8><title>benchmark</title><script type=module src=run.js></script>"

TERMWISE = """
await import("./search/termwise-search.js");
const box = document.createElement("termwise-search");
document.body.append(box);
await (box.opening ??= box.open());
let id = 0;
export const search = (text) => new Promise((resolve, reject) => {
  box.worker.onmessage = ({ data }) => data.error ? reject(data.error) : resolve(data.results.map(({ url }) => url));
  box.worker.postMessage({ id: id++, manifest: box.manifest, text, options: { k: 10 } });
});
"""

PAGEFIND = """
const pagefind = await import("./pagefind/pagefind.js");
await pagefind.init();
export const search = async (text) => {
  const { results } = await pagefind.search(text);
  const found = await Promise.all(results.slice(0, 10).map((each) => each.data()));
  return found.map(({ url }) => url);
};
"""

MINISEARCH = """
import MiniSearch from "./minisearch.js";
const text = await (await fetch("index.json")).text();
const index = MiniSearch.loadJSON(text, { fields: ["title", "text"], storeFields: ["title"] });
export const search = async (query) => index.search(query).slice(0, 10).map(({ id }) => `docs/${id}.html`);
"""

RUN = """
let opened;
window.answer = async (text) => {
  const begin = performance.now();
  opened ??= import("./contestant.js");
  const { search } = await opened;
  const found = await search(text);
  return [performance.now() - begin, found];
};
"""

BUILD_MINISEARCH = """
import MiniSearch from "minisearch";
import { readFileSync, writeFileSync } from "node:fs";
const index = new MiniSearch({ fields: ["title", "text"], storeFields: ["title"] });
index.addAll(readFileSync("docs.jsonl", "utf8").trim().split("\\n").map(JSON.parse));
writeFileSync("index.json", JSON.stringify(index));
"""


class Server:
    """Static server that compresses, waits, and counts bytes and requests."""

    def __init__(self, root: Path, delay: float) -> None:
        self.bytes = self.requests = 0
        self.delay = delay
        lock = threading.Lock()
        server = self

        class Handler(SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = Path(self.translate_path(self.path))
                time.sleep(server.delay)
                if not path.is_file():
                    self.send_error(404)
                    return
                data = path.read_bytes()
                self.send_response(200)
                self.send_header("Content-Type", self.guess_type(str(path)))
                if path.suffix in COMPRESSED:
                    data = gzip.compress(data, 6)
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                with lock:
                    server.bytes += len(data)
                    server.requests += 1

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
        self.address = f"http://127.0.0.1:{self._server.server_port}/index.html"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__)
    command.add_argument("--collection", type=Path, required=True, help="BEIR folder")
    command.add_argument(
        "--work", type=Path, required=True, help="folder for indexes and sites, and npm/node_modules"
    )
    command.add_argument("--documents", type=int, default=5000)
    command.add_argument("--queries", type=int, default=300)
    command.add_argument("--rounds", type=int, default=7)
    command.add_argument(
        "--delay", type=float, default=40.0, help="milliseconds before each answer of the server"
    )
    command.add_argument("--models", default=",".join(MODELS))
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    arguments.work.mkdir(parents=True, exist_ok=True)
    documents, queries = judged_part(arguments.collection, arguments.documents, arguments.queries)
    qrels = [
        each for each in read_qrels(arguments.collection / "qrels" / "test.tsv") if each.query_id in queries
    ]
    report: dict[str, Any] = {
        "about": about(),
        "settings": {
            "collection": arguments.collection.name,
            "documents": len(documents),
            "queries": len(queries),
            "rounds": arguments.rounds,
            "delay": arguments.delay,
        },
        "contestants": {},
    }
    sites = {
        name: partial(termwise_site, name, arguments.collection.name, documents)
        for name in arguments.models.split(",")
    }
    sites |= {
        "Pagefind": partial(pagefind_site, documents),
        "MiniSearch": partial(minisearch_site, documents),
    }
    for name, make in sites.items():
        begin = time.perf_counter()
        folder, script = make(arguments.work)
        seconds = time.perf_counter() - begin
        (folder / "index.html").write_text(PAGE)
        (folder / "run.js").write_text(RUN)
        (folder / "contestant.js").write_text(script)
        row = measured(folder, queries, qrels, arguments.rounds, arguments.delay / 1000)
        row |= size_of(folder, name) | {"seconds to make": round(seconds, 1)}
        report["contestants"][name] = row
        say(f"{name:<12} {json.dumps(row)}")
    append(report, "web_search", arguments.out)


def judged_part(folder: Path, count: int, most: int) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Return the judged documents and the first others, and the judged queries."""
    judged, wanted = set(), []
    for qrel in read_qrels(folder / "qrels" / "test.tsv"):
        judged.add(qrel.doc_id)
        wanted.append(qrel.query_id)
    kept = set(list(dict.fromkeys(wanted))[:most])
    rows = [json.loads(line) for line in _open(folder / "corpus.jsonl")]
    others = count - sum(row["_id"] in judged for row in rows)
    documents = []
    for row in rows:
        if row["_id"] in judged or others > 0:
            others -= row["_id"] not in judged
            documents.append(row)
    lines = map(json.loads, _open(folder / "queries.jsonl"))
    return documents, {row["_id"]: row["text"] for row in lines if row["_id"] in kept}


def _open(path: Path) -> list[str]:
    if path.is_file():
        return path.read_text("utf-8").splitlines()
    return gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()).decode().splitlines()


def termwise_site(
    model: str, collection: str, documents: list[dict[str, str]], work: Path
) -> tuple[Path, str]:
    name = f"{collection}-{len(documents)}-{model}"
    index, folder = work / f"{name}.tw", work / f"site-{name}"
    source = work / "docs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in documents))
    if not index.exists():
        termwise.build_index(source, index, model=model, store_text=True)
    folder.mkdir(exist_ok=True)
    export_index(index, "web", folder / "search", settings={"url": "docs/{doc_id}.html"})
    return folder, TERMWISE


def pagefind_site(documents: list[dict[str, str]], work: Path) -> tuple[Path, str]:
    folder = work / "site-pagefind"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "docs").mkdir(parents=True)
    for row in documents:
        title, text = html.escape(row["title"]), html.escape(row["text"])
        body = f"<body data-pagefind-body><h1>{title}</h1><p>{text}</p></body>"
        page = f'<!doctype html><html lang="en"><head><title>{title}</title></head>{body}</html>'
        (folder / "docs" / f"{row['_id']}.html").write_text(page)
    program = work / "npm" / "node_modules" / ".bin" / "pagefind"
    subprocess.run([program, "--site", folder], check=True, stdout=subprocess.DEVNULL)
    return folder, PAGEFIND


def minisearch_site(documents: list[dict[str, str]], work: Path) -> tuple[Path, str]:
    folder, npm = work / "site-minisearch", work / "npm"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    rows = ({"id": row["_id"], "title": row["title"], "text": row["text"]} for row in documents)
    (npm / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (npm / "build.mjs").write_text(BUILD_MINISEARCH)
    subprocess.run(["node", "build.mjs"], cwd=npm, check=True)
    (npm / "index.json").rename(folder / "index.json")
    shutil.copy(npm / "node_modules" / "minisearch" / "dist" / "es" / "index.js", folder / "minisearch.js")
    return folder, MINISEARCH


def size_of(folder: Path, name: str) -> dict[str, int]:
    """Return files and bytes of what a site needs for its search."""
    part = {"Pagefind": folder / "pagefind", "MiniSearch": folder}.get(name, folder / "search")
    files = [
        path
        for path in part.rglob("*")
        if path.is_file() and path.name not in ("index.html", "run.js", "contestant.js")
    ]
    return {"files": len(files), "folder bytes": sum(path.stat().st_size for path in files)}


def measured(
    folder: Path, queries: dict[str, str], qrels: Sequence[Any], rounds: int, delay: float
) -> dict[str, Any]:
    """Measure a site in Chromium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(300)
    server = Server(folder, delay)
    call = "const done = arguments[1]; answer(arguments[0]).then(done, (error) => done([String(error)]))"
    try:
        first: dict[str, list[float]] = {"bytes": [], "requests": [], "milliseconds": []}
        texts = list(queries.values())
        for text in texts[:: max(1, len(texts) // rounds)][:rounds]:
            browser.execute_cdp_cmd("Network.clearBrowserCache", {})
            browser.get(server.address)
            time.sleep(0.2)
            before = server.bytes, server.requests
            milliseconds, *_ = browser.execute_async_script(call, text)
            time.sleep(0.2)
            first["bytes"].append(server.bytes - before[0])
            first["requests"].append(server.requests - before[1])
            first["milliseconds"].append(milliseconds)
        server.delay = 0.0
        warm, rankings = [], []
        for query_id, text in queries.items():
            answer = browser.execute_async_script(call, text)
            assert len(answer) == 2, answer
            warm.append(answer[0])
            ids = [url.rpartition("/")[2].removesuffix(".html") for url in answer[1]]
            rankings.append(Ranking(ids, [float(-place) for place in range(len(ids))], query_id))
        value = evaluate(Run(rankings, folder.name), qrels, [MEASURE]).means[MEASURE]
        return {
            **{f"first answer, {name}": round(median(values)) for name, values in first.items()},
            "warm, milliseconds": round(median(warm), 1),
            MEASURE: None if value is None else round(value, 4),
            "queries without a result": sum(not ranking.doc_ids for ranking in rankings),
        }
    finally:
        browser.quit()
        server.close()


if __name__ == "__main__":
    main()
