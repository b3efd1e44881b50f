"""Dense encoders that map a text to one vector: folders of sentence-transformers or transformers, and the hub.

====================  =============================================================================================
module                supported
====================  =============================================================================================
Transformer           any encoder that `load_encoder` loads, with a WordPiece tokenizer or another ``tokenizer.json``
                      that puts a text between two special tokens, such as the byte-level BPE of RoBERTa
Pooling               the mean of all outputs, or the output at position 0
Normalize, optional   always applied: the vectors of `LookupNetwork` have length 1
prompts               ``query``, and the first one of ``document``, ``passage`` and ``corpus``
====================  =============================================================================================

A folder without ``modules.json`` is a transformer whose outputs are averaged.

The vocabulary of a WordPiece tokenizer is also that of queries. With any other tokenizer, queries have the word pieces
of the shipped vocabulary, unless the setting ``vocabulary`` of `LookupSettings` names a file.
"""

from __future__ import annotations

from pathlib import Path

from termwise.encode.document_tokenizer import DocumentTokenizer
from termwise.encode.encoder_manifest import SpecialIds
from termwise.errors import ModelFormatError
from termwise.fast_dataclass import dataclass
from termwise.progress import Say
from termwise.storage.model_folder import kind_of
from termwise.storage.safe_read import is_file, is_folder, read_input
from termwise.text import WordPieceAnalyzer
from termwise.text.analyzer import MAX_ANALYZER_FILE
from termwise.text.tokenizer_json import model_type
from termwise.train.base_encoder import base_analyzer
from termwise.train.export.checkpoint_files import check_finite, misfit, read_json, read_settings
from termwise.train.export.folder_writer import document_special
from termwise.train.export.sentence_modules import (
    DOCUMENT_PROMPTS,
    MODULE_SETTINGS,
    MODULES,
    QUERY_PROMPT,
    TRANSFORMER_SETTINGS,
    Module,
    listed,
    listed_prompts,
    read_modules,
    read_prompts,
)
from termwise.train.hub import TOKENIZER, hub_snapshot
from termwise.train.inputs import special_ids
from termwise.train.networks import POOLINGS, LookupNetwork, Pooling, positions
from termwise.train.pretrained import load_encoder

_LENGTH, _LOWER = "max_seq_length", "do_lower_case"
_POOLING = "pooling_mode"
_OLDER_POOLING = {"cls_token": "cls", "mean_tokens": "mean"}
"""Names of the pooling in older files, without ``pooling_mode_``."""

_FIX = "name a folder of sentence-transformers whose modules are Transformer, Pooling (mean or cls) and Normalize"


@dataclass(frozen=True)
class DenseEncoderFolder:
    """Modules of a dense encoder: the folder of its transformer, pooling and prompts.

    `length` is the largest number of pieces of a text, the special ones included; None if the folder does not state it.
    `stated` is whether the folder states the pooling; otherwise it is the mean.
    """

    transformer: Path
    pooling: Pooling
    length: int | None
    stated: bool
    query_prompt: str = ""
    document_prompt: str = ""

    @classmethod
    def read(cls, folder: Path) -> DenseEncoderFolder:
        """Read the modules of a folder; refuse one of termwise, and modules or a pooling that are not supported."""
        known = kind_of(folder)
        if known is not None:
            raise ModelFormatError(
                f"this folder is {known.noun} of termwise, not a dense encoder",
                facts=[("folder", folder), ("found", known.manifest)],
                fixes=[_FIX],
            )
        if not is_file(folder / MODULES):
            return cls(folder, "mean", _length(folder), stated=False)
        modules = read_modules(folder)
        kinds = [module.kind for module in modules]
        supported = ["Transformer", "Pooling", "Normalize"]
        if kinds[:2] != supported[:2] or kinds[2:] not in ([], supported[2:]):
            other = next((kind for kind in kinds if kind not in supported), listed(modules))
            raise _unsupported(folder, other, "Transformer, Pooling and Normalize", listed(modules))
        prompts = read_prompts(folder)
        query = prompts.get(QUERY_PROMPT, "")
        document = next((prompts[name] for name in DOCUMENT_PROMPTS if name in prompts), "")
        pooling, with_prompt = _pooling(folder, modules[1])
        if (query or document) and not with_prompt:
            raise _unsupported(
                folder, "Pooling without the prompt", "include_prompt true", listed_prompts(folder)
            )
        transformer = modules[0].folder
        return cls(
            transformer,
            pooling,
            _length(transformer),
            stated=True,
            query_prompt=query,
            document_prompt=document,
        )


@dataclass(frozen=True)
class DenseEncoder:
    """A loaded dense encoder; its network is in evaluation mode and float32.

    `tokenizer` and `special` belong to the network, `analyzer` is the tokenizer of queries. `length` is the largest
    number of pieces of a text, the special ones included.
    """

    network: LookupNetwork
    tokenizer: WordPieceAnalyzer | DocumentTokenizer
    special: SpecialIds
    analyzer: WordPieceAnalyzer
    length: int
    folder: Path
    query_prompt: str = ""
    document_prompt: str = ""


def load_dense_encoder(encoder: str | Path, *, say: Say) -> DenseEncoder:
    """Load a dense encoder from a folder of sentence-transformers or transformers, or by its name on the hub.

    A note says if the folder does not state the pooling.
    """
    folder = Path(encoder)
    if not is_folder(folder):
        folder = hub_snapshot(str(encoder), noun="encoder", fixes=(_FIX,))
    read = DenseEncoderFolder.read(folder)
    if not read.stated:
        say(f"note: {encoder} has no {MODULES}, so the vector of a text is the mean of its outputs")
    tokenizer = _tokenizer(read.transformer)
    network = LookupNetwork(load_encoder(read.transformer), read.pooling)
    network.eval()
    check_finite(read.transformer, {name: one.detach().numpy() for name, one in network.named_parameters()})
    if isinstance(tokenizer, DocumentTokenizer):
        analyzer, special = WordPieceAnalyzer.shipped(), document_special(tokenizer, network)
        terms, fits = tokenizer.terms, tokenizer.terms <= network.config.vocab_size
    else:
        analyzer, special = tokenizer, special_ids(tokenizer.vocabulary, network.kind)
        terms = len(tokenizer.vocabulary)
        fits = terms == network.config.vocab_size
    if not fits:
        raise ModelFormatError(
            "the encoder and its tokenizer have vocabularies of different sizes",
            facts=[
                ("folder", read.transformer),
                ("encoder", f"{network.config.vocab_size:,} terms"),
                ("tokenizer", f"{terms:,} terms"),
            ],
            fixes=["put its own tokenizer.json or vocab.txt into the folder"],
        )
    length = min(read.length or positions(network), positions(network))
    return DenseEncoder(
        network, tokenizer, special, analyzer, length, folder, read.query_prompt, read.document_prompt
    )


def _tokenizer(transformer: Path) -> WordPieceAnalyzer | DocumentTokenizer:
    """Read the tokenizer of a transformer."""
    file = transformer / TOKENIZER[0]
    data = read_input(file, MAX_ANALYZER_FILE, "the tokenizer cannot be read") if is_file(file) else b"{}"
    try:
        kind = model_type(data)
    except ValueError:
        kind = None  # base_analyzer reports what is wrong
    if kind in (None, "WordPiece"):
        return base_analyzer(transformer)
    settings = transformer / TRANSFORMER_SETTINGS
    if read_settings(settings).get(_LOWER):
        raise _unsupported(transformer, _LOWER, "a tokenizer.json that makes texts lower-case", str(settings))
    return DocumentTokenizer(data, source=file)


def _pooling(folder: Path, module: Module) -> tuple[Pooling, bool]:
    """Read the settings of a pooling module, in their present or older form: mode, and whether prompts are pooled."""
    file = module.folder / MODULE_SETTINGS
    settings = read_json(file, dict)
    if _POOLING in settings:
        given = settings[_POOLING]
        modes = [str(mode) for mode in given] if isinstance(given, list) else [str(given)]
    else:
        prefix = f"{_POOLING}_"
        names = [name.removeprefix(prefix) for name in settings if name.startswith(prefix)]
        modes = [_OLDER_POOLING.get(name, name) for name in names if settings[prefix + name]]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        expected = " or ".join(POOLINGS)
        raise _unsupported(
            folder, f"Pooling ({', '.join(modes) or 'none'})", f"Pooling ({expected})", str(file)
        )
    return modes[0], settings.get("include_prompt", True) is True


def _length(transformer: Path) -> int | None:
    file = transformer / TRANSFORMER_SETTINGS
    length = read_settings(file).get(_LENGTH)
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 3):
        raise misfit(file, _LENGTH, "a whole number of at least 3", length)
    return length


def _unsupported(folder: Path, what: str, expected: str, seen: str) -> ModelFormatError:
    return ModelFormatError(
        f"termwise does not support this dense encoder: {what}",
        facts=[("folder", folder), ("expected", expected), ("seen", seen)],
        fixes=[_FIX],
    )
