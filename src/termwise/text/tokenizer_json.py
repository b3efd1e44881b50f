"""Reader of ``tokenizer.json``, the file of the `tokenizers` library."""

from __future__ import annotations

import json

from tokenizers import Tokenizer


def model_type(data: bytes) -> str | None:
    """Return the type of the model in a file, such as ``WordPiece``, or None; raise `ValueError` if it is not JSON.

    Examples
    --------
    >>> model_type(b'{"model": {"type": "BPE"}}'), model_type(b'{"model": {}}')
    ('BPE', None)
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from error
    model = content.get("model") if isinstance(content, dict) else None
    kind = model.get("type") if isinstance(model, dict) else None
    return kind if isinstance(kind, str) else None


def load_tokenizer(data: bytes) -> Tokenizer:
    """Make the tokenizer of a file, without truncation and padding; raise `ValueError` if it cannot be read."""
    try:
        tokenizer = Tokenizer.from_str(data.decode("utf-8"))
    except BaseException as error:  # the library raises no specific error, and its panics are not Exceptions
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ValueError(str(error)) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
