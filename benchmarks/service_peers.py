"""Other services, for comparison; uvicorn runs them, too: ``service_peers.py KIND FOLDER PORT``.

=============  ===================================================================================================
constant       an answer of a file, by a bare Starlette application
in-service     the same answer by the application of termwise, with its headers, metrics and log, but without a search
tantivy        an index of tantivy, searched in a function that Starlette runs in a thread
bm25s          an index of bm25s, in the same way
=============  ===================================================================================================

Each answers ``POST /search`` with ``{"query": TEXT, "k": N}``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

ANSWER = "answer.json"
WORD = re.compile(r"\w+")

Search = Callable[[str, int], list[dict[str, Any]]]


def constant(folder: Path) -> Starlette:
    """Answer with the bytes of a file."""
    return Starlette(routes=[_constant_route(folder)])


def in_service(folder: Path) -> Starlette:
    """Answer with the bytes of a file, in the application of termwise."""
    from termwise.serve import create_app

    app = create_app([str(folder / "termwise.tw")])
    app.router.routes.insert(0, _constant_route(folder))
    return app


def _constant_route(folder: Path) -> Route:
    body = (folder / ANSWER).read_bytes()

    async def answer(request: Request) -> Response:
        await request.body()
        return Response(body, media_type="application/json")

    return Route("/search", answer, methods=["POST"])


def tantivy(folder: Path) -> Starlette:
    """Search an index of tantivy."""
    import tantivy

    index = tantivy.Index.open(str(folder / "tantivy"))
    searcher = index.searcher()

    def search(query: str, k: int) -> list[dict[str, Any]]:
        parsed = index.parse_query(" ".join(WORD.findall(query)), ["text"])
        found = searcher.search(parsed, k).hits
        return [
            {"rank": rank, "doc_id": searcher.doc(address)["doc_id"][0], "score": score}
            for rank, (score, address) in enumerate(found, 1)
        ]

    return _application(search)


def bm25s(folder: Path) -> Starlette:
    """Search an index of bm25s."""
    import bm25s
    import Stemmer

    retriever = bm25s.BM25.load(str(folder / "bm25s"), mmap=True)
    retriever.backend = "numba"
    stemmer = Stemmer.Stemmer("english")

    def search(query: str, k: int) -> list[dict[str, Any]]:
        tokens = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        documents, scores = retriever.retrieve(tokens, k=k, show_progress=False)
        pairs = zip(documents[0].tolist(), scores[0].tolist(), strict=True)
        return [
            {"rank": rank, "doc_id": str(document), "score": score}
            for rank, (document, score) in enumerate(pairs, 1)
        ]

    return _application(search)


def _application(search: Search) -> Starlette:
    async def answer(request: Request) -> Response:
        asked = await request.json()
        return JSONResponse({"hits": await run_in_threadpool(search, asked["query"], asked["k"])})

    return Starlette(routes=[Route("/search", answer, methods=["POST"])])


def build(folder: Path, texts: list[str]) -> None:
    """Build the indexes of all services."""
    import bm25s
    import Stemmer
    import tantivy

    import termwise

    documents = [termwise.Document(str(number), text) for number, text in enumerate(texts)]
    termwise.build_index(documents, folder / "termwise.tw", analyzer="english", store_text=True)
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("doc_id", stored=True, tokenizer_name="raw")
    schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
    (folder / "tantivy").mkdir()
    index = tantivy.Index(schema.build(), path=str(folder / "tantivy"))
    writer = index.writer(num_threads=1)
    for document in documents:
        writer.add_document(tantivy.Document(doc_id=document.doc_id, text=document.text))
    writer.commit()
    writer.wait_merging_threads()
    retriever = bm25s.BM25(backend="numba")
    stemmer = Stemmer.Stemmer("english")
    retriever.index(
        bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False
    )
    retriever.save(str(folder / "bm25s"))
    (folder / "texts.json").write_text(json.dumps(len(texts)))


KINDS = {"constant": constant, "in-service": in_service, "tantivy": tantivy, "bm25s": bm25s}

if __name__ == "__main__":
    from termwise.serve.protocol import BoundedProtocol

    application = KINDS[sys.argv[1]](Path(sys.argv[2]))
    uvicorn.run(application, port=int(sys.argv[3]), http=BoundedProtocol, log_config=None, access_log=False)
