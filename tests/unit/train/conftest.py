"""A BERT of a few thousand weights with a vocabulary of its own, in the layout of transformers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from termwise.collection.training_pairs import PairSource  # noqa: E402
from termwise.text.wordpiece import WordPieceAnalyzer  # noqa: E402
from termwise.train.inputs import Pieces  # noqa: E402

SPECIAL = ("[PAD]", "[unused0]", "[unused1]", "[unused2]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
STOP = ("the", "of", "a", "is", ".", ",", "?")
SPOKEN = """
how what wing flutter lift drag shock wave body flow heat transfer plate jet nozzle pressure speed mach
boundary layer cone angle attack merge sort list tree graph node edge path cycle stack queue heap hash
table key value string byte file disk page cache lock thread process signal socket packet route port
"""
WORDS = tuple(SPOKEN.split())
ENDINGS = ("##s", "##ing", "##er")
VOCABULARY = (*SPECIAL, *STOP, *WORDS, *ENDINGS)
SIZE = 16
POSITIONS = 64


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def configuration(**changes: object) -> object:
    settings = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": SIZE,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": POSITIONS,
    }
    return transformers.BertConfig(**(settings | changes))


def save(model: object, folder: Path) -> Path:
    """Write a model of transformers and the vocabulary, without terminal output."""
    from termwise.train.pretrained import quiet

    with quiet(bars=False):
        model.save_pretrained(folder)  # type: ignore[attr-defined]
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    return folder


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare encoder, with a pooling layer and without a language-model head."""
    torch.manual_seed(7)
    return save(transformers.BertModel(configuration()), tmp_path_factory.mktemp("encoders") / "bare")


@pytest.fixture(scope="session")
def headed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder with its language-model head."""
    torch.manual_seed(8)
    return save(transformers.BertForMaskedLM(configuration()), tmp_path_factory.mktemp("encoders") / "headed")


@pytest.fixture(scope="session")
def byte_teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa with a byte-level BPE, as `teacher`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join(WORDS)], trainer)
    return roberta(tmp_path_factory.mktemp("teachers") / "roberta", tokenizer)


@pytest.fixture(scope="session")
def unigram_teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa with the unigram model of SentencePiece, as `teacher`."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Nmt()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join(WORDS)] * 4, trainer)
    return roberta(tmp_path_factory.mktemp("teachers") / "unigram", tokenizer)


def roberta(folder: Path, tokenizer: Tokenizer) -> Path:
    """Write a RoBERTa with a tokenizer of at most 400 tokens, of which the first three are special."""
    from termwise.train.pretrained import quiet

    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    torch.manual_seed(9)
    config = transformers.RobertaConfig(
        vocab_size=400,
        hidden_size=SIZE,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=POSITIONS,
        pad_token_id=1,
    )
    with quiet(bars=False):
        transformers.RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return with_modules(folder)


def with_modules(folder: Path) -> Path:
    """Add the modules of sentence-transformers to the folder of a transformer."""
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    (folder / "modules.json").write_text(
        json.dumps([{"path": path, "type": f"sentence_transformers.models.{name}"} for name, path in modules])
    )
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 20}')
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    return folder


@pytest.fixture(scope="session")
def analyzer(base: Path) -> WordPieceAnalyzer:
    return WordPieceAnalyzer.from_file(base / "vocab.txt")


@pytest.fixture(scope="session")
def pieces(analyzer: WordPieceAnalyzer) -> Pieces:
    return Pieces(analyzer, "tilde")


@pytest.fixture(scope="session")
def number(pieces: Pieces) -> Callable[[str], int]:
    """The number of a piece by its name."""
    return {token: position for position, token in enumerate(VOCABULARY)}.__getitem__


def made_source(name: str, pairs: int, *, seed: int = 0) -> PairSource:
    """Pairs of a passage of eight words and a query of two of them."""
    random = np.random.default_rng(seed)
    passages = [" ".join(random.choice(WORDS, size=8, replace=False)) for _ in range(pairs)]
    queries = [" ".join(text.split()[2:4]) + " ?" for text in passages]
    numbers = np.arange(pairs, dtype=np.int32)
    return PairSource(name, queries, passages, np.stack([numbers, numbers], axis=1))


@pytest.fixture
def sources() -> Sequence[PairSource]:
    return [made_source("air", 24, seed=1), made_source("code", 40, seed=2)]


def write_jsonl(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
