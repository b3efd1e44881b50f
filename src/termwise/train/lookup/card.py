"""Facts of the model card of an encoder of kind lookup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from termwise.encode.encoder_folder import EncoderFolder
from termwise.train.export.card_facts import common_facts


def lookup_card_facts(out: Path, run: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the facts of a card.

    Parameters
    ----------
    out : Path
        The encoder folder, complete except for the card.
    run : mapping
        Facts of `train_lookup`.
    given : mapping
        See `check_card_facts`; ``reasons`` has no effect, because there is no published training to depart from.

    Returns
    -------
    dict
        Argument of `model_card`.
    """
    manifest = EncoderFolder.open(out).manifest
    prompts = "".join(
        f" The encoder read `{prompt}` before each {what}."
        for what, prompt in (("text", run.get("query_prompt")), ("document", manifest.document_prompt))
        if prompt
    )
    tokenizers = ""
    if manifest.document_tokenizer is not None:
        tokenizers = (
            " Documents have the tokenizer of the document encoder, queries the word pieces of uncased BERT."
        )
    measured = "No text was held out."
    if run["cosine"] is not None:
        centred = ", less the mean of all," if run["settings"]["centred"] else ""
        measured = (
            f"On held-out texts, the mean cosine of the vector of the encoder{centred} and the sum of the rows is "
            f"{run['cosine']:.3f}. It does not measure the ranking of documents."
        )
    return {
        **common_facts(out, run["kind"], base=run["teacher"], counts=run["sources"], given=given),
        "unit": "texts",
        "seen": f"The query table was fitted to {run['fitted']:,} texts, with {run['tokens']:,} tokens in all texts. "
        f"The document encoder was not trained.{prompts}",
        "settings": run["settings"],
        "selection": f"{run['terms']:,} tokens have a row of {run['dimensions']} dimensions, computed by ridge "
        f"regression: {len(run['residuals'])} steps of conjugate gradients, relative residual "
        f"{run['residuals'][-1]:.4f}. A token that no text has adds nothing to a query.{tokenizers}",
        "evaluation": given.get("evaluation", {"note": measured}),
    }
