"""``termwise train lookup``: a query table for a dense document encoder."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

from termwise.cli.options import JsonFlag, Threads, model_settings, option
from termwise.cli.terminal import counted
from termwise.cli.train_options import (
    Card,
    EncoderOut,
    Resume,
    print_trained,
    read_card,
    run_training,
    training_settings,
)


def command(
    texts: Annotated[
        list[str],
        option(
            "--data DATA",
            "Short texts: a .txt file with one a line, a .jsonl file with text and optional source, or a folder of "
            "training pairs; repeatable.",
        ),
    ],
    teacher: Annotated[
        str,
        option(
            "--teacher ENCODER",
            "Dense document encoder: a folder of sentence-transformers or transformers, or a name on the Hugging Face "
            "hub, which is downloaded.",
        ),
    ],
    out: EncoderOut,
    resume: Resume = False,
    settings: Annotated[list[str] | None, training_settings("ridge=2")] = None,
    card: Card = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Fit a query table to a dense document encoder.

    A query then is the sum of one row for each of its tokens, without a network.

    Example: termwise train lookup --teacher ./all-MiniLM-L6-v2 --data questions.txt --out my-lookup
    """
    from termwise.train.requirements import require_training

    require_training()
    from termwise.train.lookup.fit import train_lookup
    from termwise.train.lookup.settings import LookupSettings

    chosen = LookupSettings.parse(model_settings(settings or ()))
    facts = run_training(
        train_lookup, texts, out, teacher=teacher, settings=chosen, card=read_card(card), resume=resume,
        threads=threads,
    )  # fmt: skip
    cosine = "" if facts["cosine"] is None else f", mean cosine {facts['cosine']:.4f} on held-out texts"
    print_trained(
        f"{out}: lookup, {counted(facts['terms'], 'row')} of {facts['dimensions']} dimensions fitted to "
        f"{counted(facts['fitted'], 'text')}{cosine}; {facts['seconds']:.0f} s",
        facts,
        next_command=f"index COLLECTION --model {quote(str(out))} --out DIR",
        as_json=as_json,
    )
