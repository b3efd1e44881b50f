"""Parity of dense document encoders with sentence-transformers: RoBERTa with a byte-level BPE, and MPNet.

The encoders are small and random. Each is saved as a folder of sentence-transformers, which encodes the texts; the
vectors are compared with those of the torch network and of the exported encoder folder, window by window.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")
sentence_transformers = pytest.importorskip("sentence_transformers")

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

from termwise.encode.batches import run_windows  # noqa: E402
from termwise.encode.document_tokenizer import DocumentTokenizer  # noqa: E402
from termwise.encode.onnx_session import OnnxSession  # noqa: E402
from termwise.progress import silent  # noqa: E402
from termwise.text import WordPieceAnalyzer  # noqa: E402
from termwise.train.data.teacher_vectors import VectorsManifest, teacher_vectors  # noqa: E402
from termwise.train.data.tokenised_texts import TokenisedTexts  # noqa: E402
from termwise.train.dense_encoder import load_dense_encoder  # noqa: E402
from termwise.train.export.folder_writer import EncoderContents, write_encoder_folder  # noqa: E402
from termwise.train.export.onnx_export import TOLERANCE  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402
from termwise.vectors import TermVectors  # noqa: E402

LENGTH = 14
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
TEXTS = (
    "How do banks make money?",
    "A bank earns interest from loans.",
    " Leading space, two  spaces, trailing space ",
    "naïve café 東京 …",
    "snake_case(x) != camelCase[0]",
    "[CLS] and <s> and </s>",
    "one",
    "A long text with many words has more pieces than the encoder reads, so that it is cut into several windows.",
)
PROMPTS = {"query": "ask: ", "document": "doc: "}
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def byte_pairs():
    """Return a byte-level BPE as that of RoBERTa, trained on the texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def word_pieces():
    """Return a WordPiece tokenizer as that of MPNet: the vocabulary has the special pieces of BERT, too."""
    letters = sorted(set("".join(TEXTS).lower()) - {" "})
    pieces = [*SPECIAL[:4], "[PAD]", "[UNK]", "[CLS]", "[SEP]", "bank", "money", "##s", "the", *letters]
    pieces += [f"##{letter}" for letter in letters] + [SPECIAL[4]]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens([AddedToken(piece, normalized=False) for piece in (*SPECIAL, "[UNK]")])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


ENCODERS = {
    "roberta": (byte_pairs, transformers.RobertaConfig, transformers.RobertaModel, "cls", {}),
    "roberta with prompts": (
        byte_pairs,
        transformers.RobertaConfig,
        transformers.RobertaModel,
        "mean",
        PROMPTS,
    ),
    "mpnet": (word_pieces, transformers.MPNetConfig, transformers.MPNetModel, "mean", {}),
    "mpnet with prompts": (word_pieces, transformers.MPNetConfig, transformers.MPNetModel, "cls", PROMPTS),
}


@pytest.fixture(scope="module", params=sorted(ENCODERS))
def saved(request, tmp_path_factory):
    """A model of sentence-transformers and its folder."""
    from sentence_transformers.sentence_transformer import modules

    make, configuration, network, pooling, prompts = ENCODERS[request.param]
    folder = tmp_path_factory.mktemp("saved")
    tokenizer = make()
    names = dict(zip(("cls", "pad", "sep", "unk", "mask"), SPECIAL, strict=True))
    if make is word_pieces:
        names["unk"] = "[UNK]"
    config = configuration(
        **SIZES,
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=LENGTH + 2,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(5)
    with quiet(bars=False):
        made = network(config, add_pooling_layer=False)
        for parameter in made.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        made.save_pretrained(folder / "transformer")
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            model_max_length=LENGTH,
            **{f"{role}_token": token for role, token in names.items()},
        ).save_pretrained(folder / "transformer")
        transformer = modules.Transformer(str(folder / "transformer"), max_seq_length=LENGTH)
        pooled = modules.Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling)
        model = sentence_transformers.SentenceTransformer(
            modules=[transformer, pooled], prompts=prompts, device="cpu"
        )
        model.save(str(folder / "whole"))
    yield model, folder / "whole"
    torch.set_num_threads(before)


def test_pieces_and_length(saved):
    model, folder = saved
    encoder = load_dense_encoder(folder, say=silent)
    assert encoder.length == LENGTH
    assert encoder.network.pooling == model[1].pooling_mode
    for text in TEXTS:
        ids = model.tokenizer(text)["input_ids"]
        given = [encoder.special.cls, *encoder.tokenizer.numbers(text), encoder.special.sep]
        assert given == ids, text
    assert encoder.special.pad == model.tokenizer.pad_token_id == 1


def test_the_vocabulary_of_queries(saved):
    _, folder = saved
    encoder = load_dense_encoder(folder, say=silent)
    if isinstance(encoder.tokenizer, DocumentTokenizer):
        assert encoder.analyzer.spec == WordPieceAnalyzer.shipped().spec
    else:
        assert encoder.analyzer is encoder.tokenizer


def test_vectors_of_training_texts(saved, tmp_path):
    model, folder = saved
    encoder = load_dense_encoder(folder, say=silent)
    manifest = VectorsManifest("e", "t", count=len(TEXTS), dimensions=SIZES["hidden_size"], length=LENGTH)
    texts = [encoder.query_prompt + text for text in TEXTS]
    tokenised = TokenisedTexts.of(texts, encoder.tokenizer, most=LENGTH - 2)
    shards = teacher_vectors(encoder, tokenised, tmp_path, manifest, batch=4)
    expected = model.encode_query(list(TEXTS), normalize_embeddings=True)
    np.testing.assert_allclose(np.concatenate(shards), expected, atol=1e-3)


@pytest.fixture(scope="module")
def written(saved, tmp_path_factory):
    encoder = load_dense_encoder(saved[1], say=silent)
    vocabulary = encoder.analyzer.vocabulary
    rows = np.ones((len(vocabulary), SIZES["hidden_size"]), dtype=np.float32)
    own = encoder.tokenizer if isinstance(encoder.tokenizer, DocumentTokenizer) else None
    return write_encoder_folder(
        encoder.network,
        encoder.analyzer,
        tmp_path_factory.mktemp("written") / "encoder",
        EncoderContents(
            cleaning="none",
            length=encoder.length,
            term_vectors=TermVectors.of(rows, vocabulary.id),
            document_tokenizer=own,
            document_prompt=encoder.document_prompt,
        ),
        trained={},
        weights="left out",
    )


def windows(folder, texts, precision, overlap=2):
    """Return the vectors of all windows, in the order of the texts."""
    found = []
    for documents, vectors in run_windows(
        OnnxSession(folder, precision=precision),
        texts,
        marker=folder.document_special.cls,
        size=LENGTH - 2,
        overlap=overlap,
    ):
        found += zip(documents.tolist(), vectors, strict=True)
    found.sort(key=lambda pair: pair[0])  # stable: the windows of a text keep their order
    return [number for number, _ in found], np.stack([vector for _, vector in found])


@pytest.mark.parametrize(("precision", "most"), [("float32", TOLERANCE), ("int8", 0.05)])
def test_vectors_of_documents(saved, written, precision, most):
    model, _ = saved
    owners, vectors = windows(written, TEXTS, precision)
    firsts = [owners.index(number) for number in range(len(TEXTS))]
    expected = model.encode_document(list(TEXTS), normalize_embeddings=True)  # truncated: the first window
    np.testing.assert_allclose(vectors[firsts], expected, atol=most)
    assert owners.count(len(TEXTS) - 1) > 1


def test_later_windows_are_read_as_pieces_of_the_text(saved, written):
    model, _ = saved
    text = TEXTS[-1]
    owners, vectors = windows(written, [text], "float32", overlap=0)
    prompt = model.prompts.get("document") or ""
    before = model.tokenizer(prompt.strip())["input_ids"][1:-1]
    ids = model.tokenizer(prompt + text)["input_ids"][1 + len(before) : -1]
    size = LENGTH - 2 - len(before)
    starts = [*range(0, len(ids) - size, size), len(ids) - size]
    assert len(owners) == len(starts) > 2
    rows = torch.tensor([[0, *before, *ids[start : start + size], 2] for start in starts])
    with torch.no_grad():
        given = model({"input_ids": rows, "attention_mask": torch.ones_like(rows)})["sentence_embedding"]
    expected = torch.nn.functional.normalize(given, dim=-1).numpy()
    np.testing.assert_allclose(vectors, expected, atol=TOLERANCE)


def test_a_folder_names_its_tokenizers(written):
    body = json.loads((written.folder / "encoder.json").read_text())
    own = (written.folder / "document_tokenizer.json").is_file()
    assert own == ("document_tokenizer" in body)
    assert own != (written.folder / "tokenizer.json").is_file()
