"""``termwise serve``: serve indexes over HTTP."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from termwise.cli.options import argument, available_processors, flag, option
from termwise.cli.terminal import note
from termwise.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")

ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]+)?|https?://\[[0-9a-f:]+\](:[0-9]+)?")
"""Origin as browsers write it: in lower case, without a slash at the end."""


def command(
    indexes: Annotated[
        list[str],
        argument("INDEX...", "Folders of indexes or mixtures; NAME=FOLDER gives a name for addresses."),
    ],
    host: Annotated[str, option("--host ADDRESS", "Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, option("--port N", "Port to listen at, 0 for a free one.")] = 8000,
    keys: Annotated[
        Path | None, option("--keys FILE", "Allow requests with an API key of this file only; see serve-key.")
    ] = None,
    without_keys: Annotated[
        bool, flag("--without-keys", "Allow all requests at an address that is not of this machine.")
    ] = False,
    mcp: Annotated[
        str | None,
        option(
            "--mcp http|stdio",
            "Offer the tools for assistants (Model Context Protocol): http at /mcp of the service, stdio on standard "
            "input and output instead of the service.",
        ),
    ] = None,
    read_only: Annotated[bool, flag("--read-only", "Refuse changes.")] = False,
    create_in: Annotated[
        Path | None,
        option(
            "--create-in DIR",
            "Folder in which PUT /NAME creates indexes; those that it has are served, too. Without it, no request "
            "creates one.",
        ),
    ] = None,
    workers: Annotated[int, option("--workers N", "Processes that answer requests.")] = 1,
    threads: Annotated[
        int | None,
        option("--threads N", "Searches of one process at the same time.  [default: the processors]"),
    ] = None,
    queue: Annotated[int, option("--queue N", "Searches that wait; further ones are refused.")] = 64,
    timeout: Annotated[float, option("--timeout SECONDS", "Time from a request to its answer.")] = 5.0,
    refresh_interval: Annotated[
        float, option("--refresh-interval SECONDS", "Time that a search may lag behind the newest change.")
    ] = 0.0,
    relevance: Annotated[
        list[str] | None,
        option(
            "--relevance FILE",
            "Relevance file of searches that give none, read again when it changes; with several indexes, NAME=FILE, "
            "repeatable.",
        ),
    ] = None,
    max_results: Annotated[int, option("--max-results N", "Results of a search.")] = 1_000,
    max_body: Annotated[
        int, option("--max-body MB", "Size of the body of a request; that of a search has at most 2.")
    ] = 16,
    without_log: Annotated[
        bool, flag("--without-log", "Write no line to standard error for each request.")
    ] = False,
    allowed_hosts: Annotated[
        list[str] | None,
        option(
            "--allowed-host NAME",
            "Name of this service in the header Host, besides those of this machine; repeat it for several.  "
            "[default: only this machine, or any with --host]",
        ),
    ] = None,
    allowed_origins: Annotated[
        list[str] | None,
        option(
            "--allowed-origin ORIGIN",
            "Another site whose pages may send requests and read the answers, such as https://shop.example; repeat it "
            "for several.",
        ),
    ] = None,
) -> None:
    """Serve indexes over HTTP, with a page for people.

    For example:

    termwise serve shop.tw

    termwise serve tea=shop.tw docs.tw --port 8080 --keys keys.json --host 0.0.0.0

    termwise serve shop.tw --mcp stdio
    """
    if mcp not in (None, "http", "stdio"):
        raise UsageError("unknown transport of --mcp", facts=[("given", mcp), ("known", "http, stdio")])
    if mcp == "stdio" and keys is not None:
        raise UsageError(
            "the tools over stdio have no API keys", fixes=["leave out --keys, or use --mcp http"]
        )
    if host not in LOOPBACK and keys is None and not without_keys:
        raise UsageError(
            "this address can be reached from other machines, and there are no API keys",
            facts=[("host", host)],
            fixes=[
                "termwise serve-key --keys keys.json --role search, then --keys keys.json",
                "--without-keys, to allow all requests",
            ],
        )
    for origin in allowed_origins or ():
        if not ORIGIN.fullmatch(origin):
            raise UsageError(
                "an origin has a scheme and a host, without a path",
                facts=[("given", origin)],
                fixes=["--allowed-origin https://shop.example", "--allowed-origin http://localhost:3000"],
            )
    from termwise.serve import ServiceSettings, serve

    hosts = tuple(allowed_hosts or (("localhost",) if host in LOOPBACK else ()))
    settings = ServiceSettings(
        threads=available_processors() if threads is None else threads,
        queue=queue,
        timeout=timeout,
        refresh_interval=refresh_interval,
        relevance=tuple(relevance or ()),
        max_results=max_results,
        max_body=max_body << 20,
        read_only=read_only,
        create_in=create_in,
        keys=keys,
        hosts=hosts,
        origins=tuple(allowed_origins or ()),
        mcp=mcp == "http",
    )
    if mcp == "stdio":
        from termwise.serve.mcp_server import serve_stdio

        serve_stdio(indexes, settings)
        return
    serve(
        indexes,
        settings,
        host=host,
        port=port,
        workers=workers,
        log_requests=not without_log,
        announce=lambda address: note(f"serving at {address} (Ctrl-C stops)"),
    )
