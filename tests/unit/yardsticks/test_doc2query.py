"""doc2query on a T5 of a few thousand weights."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from termwise import Document  # noqa: E402
from termwise.errors import MissingFileError, ModelFormatError, ParameterError, UsageError  # noqa: E402
from termwise.rankers import ScorerContext, open_scorer  # noqa: E402
from termwise.scorers import Background  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402
from termwise.yardsticks.doc2query import Doc2Query  # noqa: E402

WORDS = [*"wing drag lift heat plate flow what is the of a how does in cone body pressure it".split()]  # noqa: SIM905
VOCABULARY = ["<pad>", "</s>", "<unk>", *(f"▁{word}" for word in WORDS), "▁", *"abcdefghijklmnopqrstuvwxyz"]
TEXTS = [
    "wing lift of a body",
    "",
    "heat of a plate in the flow how does it",
    "cone pressure",
    "  \n",
    "drag",
]


def configuration(**changes):
    return transformers.T5Config(
        **(
            {
                "vocab_size": len(VOCABULARY),
                "d_model": 16,
                "d_kv": 8,
                "d_ff": 32,
                "num_layers": 2,
                "num_heads": 2,
                "decoder_start_token_id": 0,
            }
            | changes
        )
    )


def saved(path):
    torch.manual_seed(3)
    network = transformers.T5ForConditionalGeneration(configuration())
    with torch.no_grad():
        network.shared.weight.mul_(2)
        network.shared.weight[:2] *= torch.tensor([[0.0], [0.3]])  # no padding, and ends are rare
    with quiet(bars=False):
        network.save_pretrained(path)
        transformers.T5Tokenizer(
            vocab=[(piece, -float(place)) for place, piece in enumerate(VOCABULARY)], extra_ids=0
        ).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("t5") / "asks")


@pytest.fixture(scope="module")
def expander(folder):
    return Doc2Query.open(folder, longest=12, batch=3)


def test_queries_do_not_depend_on_order_or_batch(folder, expander):
    found = expander.expand(TEXTS)
    assert [bool(queries) for queries in found] == [bool(text.strip()) for text in TEXTS]
    assert max(map(len, found)) == 4
    assert len({query for queries in found for query in queries}) > 8, "drawn, not the same for all"
    assert expander.expand(TEXTS[::-1])[::-1] == found
    assert [expander.expand([text])[0] for text in TEXTS] == found
    for batch in (1, 2, 8):
        assert Doc2Query.open(folder, longest=12, batch=batch).expand(TEXTS) == found


def test_queries_depend_on_the_seed_and_the_text_only(folder, expander):
    texts = [text for text in TEXTS if text.strip()]
    found = expander.expand(texts)
    other = Doc2Query.open(folder, longest=12, seed=1)
    assert all(mine != theirs for mine, theirs in zip(found, other.expand(texts), strict=True))
    assert other.fingerprint != expander.fingerprint
    fewer = Doc2Query.open(folder, longest=12, count=2)
    for mine, theirs in zip(fewer.expand(texts), found, strict=True):
        assert theirs[: len(mine)] == mine, "the first ones, but for those without a word"


def test_greedy_decoding_agrees_with_transformers(folder):
    with quiet(bars=False):
        network = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    expected = []
    for text in TEXTS:
        ids = tokenizer(text, return_tensors="pt")
        made = (
            network.generate(**ids, max_new_tokens=9, do_sample=False, num_beams=1) if text.strip() else [[]]
        )
        query = " ".join(tokenizer.decode(made[0], skip_special_tokens=True).split())
        expected.append((query,) if query else ())
    assert len(set(expected)) > 2
    assert Doc2Query.open(folder, top=1, count=1, longest=9).expand(TEXTS) == expected


def test_tokens_are_sampled_in_proportion_to_their_probabilities():
    """Compare two thousand sampled first tokens with the probabilities of the ten best."""
    expander = Doc2Query(
        transformers.T5ForConditionalGeneration(configuration()).eval(), None, fingerprint="", top=3
    )
    logits = torch.tensor([[0.0, 2.0, 1.0, -1.0, 1.5]]).repeat(2000, 1)
    chances = torch.from_numpy(np.random.default_rng(1).random((2000, 1)))
    counts = np.bincount(expander._next(logits, chances)[:, 0].numpy(), minlength=5) / 2000
    shares = np.exp([2.0, 1.0, 1.5]) / np.exp([2.0, 1.0, 1.5]).sum()
    assert counts[[1, 2, 4]] == pytest.approx(shares, abs=0.04)
    assert counts[[0, 3]].tolist() == [0, 0]
    ends = torch.tensor([[0.0], [1.0 - 1e-16]], dtype=torch.float64)
    assert expander._next(logits[:2], ends)[:, 0].tolist() == [1, 2]
    with pytest.raises(ModelFormatError, match="finite"):
        expander._next(logits * float("nan"), chances)


def test_lengths_of_texts_and_queries_are_limited(folder):
    short = Doc2Query.open(folder, length=8, longest=3)
    assert short.expand(["wing " * 300]) != [()]
    assert short.expand(["wing " * 7 + "drag " * 9])[0] != short.expand(["drag " * 9])[0]
    assert max(len(query.split()) for queries in short.expand(TEXTS) for query in queries) <= 3
    assert short.expand(["a \ud800"]) is not None


def test_it_is_opened_by_a_specification(folder, tmp_path):
    context = ScorerContext(
        Background(lambda: [Document("a", "wing lift"), Document("b", "drag")]), device="cpu"
    )
    line = f"doc2query:{folder},longest=8,count=2,kept={tmp_path / 'queries.sqlite'},k1=0.9,b=0.4"
    scorer = open_scorer(line, context)
    assert scorer.name == "doc2query+bm25"
    (queries,) = Doc2Query.open(folder, longest=8, count=2).expand([TEXTS[0]])
    expected = open_scorer("bm25,k1=0.9,b=0.4", context).score("wing", [" ".join([TEXTS[0], *queries])])
    assert scorer.score("wing", [TEXTS[0]]).tolist() == expected.tolist()
    assert (tmp_path / "queries.sqlite").stat().st_size
    assert open_scorer(f"mine=doc2query:{folder},scorer=jm,seed=0", context).name == "mine"
    for wrong in ("seed=-1", "count=0", "scorer=nothing", "k9=1"):
        with pytest.raises(UsageError):
            open_scorer(f"doc2query:{folder},{wrong}", context)


def test_other_networks_are_refused(folder, tmp_path):
    with pytest.raises(MissingFileError):
        Doc2Query.open(tmp_path / "none")
    (tmp_path / "bare").mkdir()
    with pytest.raises(ModelFormatError):
        Doc2Query.open(tmp_path / "bare")
    for changes in ({"count": 0}, {"top": 0}, {"longest": 0}, {"length": 3}, {"seed": -1}, {"batch": 0}):
        with pytest.raises(ParameterError):
            Doc2Query.open(folder, **changes)
    with pytest.raises(ParameterError):
        Doc2Query.open(folder).expand("one text")
