"""Complete training runs of a few steps."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file  # noqa: E402

from termwise.collection.training_pairs import PairSource  # noqa: E402
from termwise.encode.expansion import expand  # noqa: E402
from termwise.errors import (  # noqa: E402
    CorruptModelError,
    ForeignFolderError,
    MalformedRecordError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    StorageError,
    UnknownNameError,
)
from termwise.progress import Execution, silent  # noqa: E402
from termwise.text import WordPieceAnalyzer  # noqa: E402
from termwise.text.cleaned_analyzer import clean_vocabulary  # noqa: E402
from termwise.train.data.held_out import HeldOut  # noqa: E402
from termwise.train.export.folder_writer import EncoderContents, write_encoder_folder  # noqa: E402
from termwise.train.loop import callbacks  # noqa: E402
from termwise.train.loop import preparation as preparing  # noqa: E402
from termwise.train.loop.run import train_network  # noqa: E402
from termwise.train.loop.step import TrainingStep  # noqa: E402
from termwise.train.loop.warm_start import set_prior_bias  # noqa: E402
from termwise.train.networks import network_on_base, output_layer  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402
from termwise.train.settings import TrainSettings  # noqa: E402

from .conftest import SPECIAL, VOCABULARY, WORDS, configuration, made_source  # noqa: E402


class Killed(Exception):
    pass


def settings(kind="tilde", **changes):
    plain = {
        "document_length": 12,
        "query_length": 8,
        "batch": 4,
        "max_steps": 6,
        "epochs": 1,
        "learning_rate": 1e-3,
        "save_every": 2,
        "validate_every": 2,
    }
    contrastive = {} if kind == "tilde" else {"objective": "contrastive"}
    return TrainSettings(**(plain | contrastive | changes))


@pytest.fixture
def train(base, analyzer, sources, tmp_path):
    """Train with the data of the tests; `killed` is the step during which the run is killed."""

    def run(folder, kind="tilde", *, killed=None, chosen=None, data=sources, said=None, **options):
        def progress(stage, done, total):
            if killed is not None and stage.startswith("train") and done == killed:
                raise Killed

        return train_network(
            kind,
            data,
            base,
            tmp_path / folder,
            settings=chosen or settings(kind),
            execution=Execution(progress=progress, say=silent if said is None else said.append),
            **({"analyzer": analyzer} | options),
        )

    return run


def weights(trained):
    return {name: value.clone() for name, value in trained.network.state_dict().items()}


def test_the_facts_of_a_run(train, sources, tmp_path):
    held_out = HeldOut.sample([made_source("held", 12, seed=9)], queries=12, seed=1)
    trained = train("run", held_out=held_out)
    facts = trained.facts
    assert facts["steps"] == 6
    assert facts["pairs_seen"] == 4 * facts["best"]["step"]  # those of the weights that were kept
    assert facts["sources"] == {"air": 24, "code": 40}
    assert facts["settings"]["batch"] == 4
    assert facts["best"]["step"] in (2, 4, 6)
    assert 0 <= facts["best"]["nDCG@10"] <= 1
    assert json.loads((tmp_path / "run" / "facts.json").read_text())["best"] == facts["best"]
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in log if "eval_RR@10" in line] == [2, 4, 6]
    best = max((line for line in log if "eval_nDCG@10" in line), key=lambda line: line["eval_nDCG@10"])
    assert best["step"] == facts["best"]["step"]


def test_the_last_weights_are_selected_if_set(train, tmp_path):
    held_out = HeldOut.sample([made_source("held", 12, seed=9)], queries=12, seed=1)
    last = settings(take="last")
    trained = train("run", held_out=held_out, chosen=last)
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    measured = {line["step"]: line["eval_nDCG@10"] for line in log if "eval_nDCG@10" in line}
    assert trained.facts["best"]["step"] == trained.facts["steps"] == 6
    assert trained.facts["best"]["nDCG@10"] == measured[6]
    unvalidated = weights(train("plain", chosen=last))
    assert all(torch.equal(value, unvalidated[name]) for name, value in weights(trained).items())
    again = weights(train("run", held_out=held_out, chosen=last, resume=True))
    assert all(torch.equal(value, unvalidated[name]) for name, value in again.items())


def test_weights_are_saved_at_each_doubling_of_the_pairs(train, tmp_path, monkeypatch):
    monkeypatch.setattr(callbacks, "FIRST_POINT", 5)
    chosen = settings(curve=True)
    trained = train("run", chosen=chosen)
    points = sorted(path.name for path in (tmp_path / "run" / "curve").iterdir())
    assert points == [
        "checkpoint-2",
        "checkpoint-3",
        "checkpoint-5",
        "checkpoint-6",
    ]  # 8, 12 and 20 pairs; the end
    last = load_file(tmp_path / "run" / "curve" / "checkpoint-6" / "model.safetensors")
    assert all(torch.equal(value, last[name]) for name, value in weights(trained).items() if name in last)
    assert (
        json.loads((tmp_path / "run" / "curve" / "checkpoint-2" / "trainer_state.json").read_text())[
            "global_step"
        ]
        == 2
    )
    plain = weights(train("plain", chosen=settings()))
    assert all(
        torch.equal(value, plain[name]) for name, value in weights(trained).items()
    )  # nothing else changes


def test_every_step_knows_the_progress_of_the_run(train, monkeypatch):
    heard = []
    forward = TrainingStep.forward
    monkeypatch.setattr(
        TrainingStep, "forward", lambda step, batch: heard.append(step.progress) or forward(step, batch)
    )
    train("whole", "splade-doc", chosen=settings("splade-doc"))
    assert heard == [step / 6 for step in range(6)]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("tilde", {"head_steps": 5, "head_pairs": 20, "prior_bias": True, "mixing": "by-source", "block": 2}),
        ("tildev2", {"negatives": 3, "negative_depth": 10, "accumulate": 2, "flattening": 0.5}),
        ("tildev2", {"idf_power": 0.5, "block": 2, "mixing": "by-source"}),
        ("splade-doc", {"sparsity": 0.01, "sparsity_ramp": 1.0}),
        ("tilde", {"batch": 16, "epochs": 3, "max_steps": 0}),
        ("tilde", {"contrast": 0.1, "teacher": "BASE"}),
        ("tildev2", {"teacher": "BASE", "query_weights": "idf", "teacher_loss": "margin-mse"}),
        (
            "splade-doc",
            {
                "activation": "log1p_relu",
                "query_weights": "idf",
                "teacher": "BASE",
                "teacher_weight": 1.0,
                "negatives": 2,
                "negatives_from": "teacher",
                "negative_depth": 5,
                "candidates": "own",
                "sparsity": 0.01,
                "sparsity_budget": 3,
                "sparsity_ramp": 1.0,
            },
        ),
    ],
)
def test_a_killed_run_resumes_to_the_same_network(kind, changes, train, base):
    if "teacher" in changes:
        changes = changes | {"teacher": str(base)}
    chosen = settings(kind, **changes)
    whole = train("whole", kind, chosen=chosen)
    with pytest.raises(Killed):
        train("cut", kind, chosen=chosen, killed=4)
    resumed = train("cut", kind, chosen=chosen, resume=True)
    one, other = weights(whole), weights(resumed)
    assert all(torch.equal(one[name], other[name]) for name in one)
    # A finished run stays as it is.
    again = weights(train("cut", kind, chosen=chosen, resume=True))
    assert all(torch.equal(one[name], again[name]) for name in one)


def test_a_run_killed_before_its_first_checkpoint_starts_again(train, tmp_path):
    whole = weights(train("whole"))
    with pytest.raises(Killed):
        train("cut", killed=1)
    said = []
    resumed = weights(train("cut", resume=True, said=said))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert f"nothing to resume in {tmp_path / 'cut'}: starting from the beginning" in said


@pytest.mark.skipif(torch.cuda.is_available(), reason="here float16 is computed")
def test_an_unavailable_precision_leaves_the_folder_free(train, tmp_path):
    with pytest.raises(ParameterError, match="float16"):
        train("run", chosen=settings(precision="float16"))
    assert not (tmp_path / "run").exists()


def test_a_batch_larger_than_the_data_leaves_the_folder_free(train, tmp_path):
    with pytest.raises(ParameterError, match="fewer training pairs"):
        train("run", chosen=settings(batch=10_000))
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_a_run(train):
    train("run")
    with pytest.raises(ForeignFolderError) as error:
        train("run")
    assert "`resume=True`" in error.value.fixes_worded()[0]
    with pytest.raises(ForeignFolderError) as error:
        train("run", resume=True, chosen=settings(batch=8))
    assert dict(error.value.facts)["differs in"] == "settings"


def test_an_objective_of_another_network(train, tmp_path):
    for kind, objective in (("tilde", "contrastive"), ("tildev2", "biqdl")):
        with pytest.raises(ParameterError, match="objective"):
            train("run", kind, chosen=TrainSettings(objective=objective))
    assert not (tmp_path / "run").exists()


def test_a_base_that_cannot_be_loaded(analyzer, sources, tmp_path):
    with pytest.raises(ModelFormatError):
        train_network(
            "tilde", sources, tmp_path / "nowhere", tmp_path / "run", analyzer=analyzer, settings=settings()
        )


def test_the_prior_bias_by_hand(base, pieces, analyzer, number):
    queries = ["the wing wing", "wing lift", "lift wing zebra", "drag"]
    source = PairSource("mini", queries, ["p"], np.array([[i, 0] for i in range(4)], dtype=np.int32))
    network = network_on_base("tilde", base)
    set_prior_bias(network, pieces, [source], TrainSettings(objective="query-likelihood"))
    bias = output_layer(network.pretrained).bias.tolist()
    assert bias[number("wing")] == pytest.approx(math.log(3.5 / 1.5))
    assert bias[number("lift")] == pytest.approx(math.log(2.5 / 2.5), abs=1e-7)
    assert bias[number("drag")] == pytest.approx(math.log(1.5 / 3.5))
    assert bias[number("jet")] == pytest.approx(math.log(0.5 / 4.5))
    kept = clean_vocabulary(analyzer.vocabulary, "repo")
    assert {round(value, 5) for value, keep in zip(bias, kept, strict=True) if not keep} == {
        round(math.log(0.5 / 4.5), 5)
    }


@pytest.mark.parametrize(
    ("objective", "wing", "drag"),
    [("document-likelihood", 1.5 / 0.5, 0.5 / 1.5), ("biqdl", 4.5 / 1.5, 1.5 / 4.5)],
)
def test_the_prior_bias_counts_the_targets_of_the_objective(base, pieces, number, objective, wing, drag):
    """Of four queries, three have *wing* and one *drag*; the only passage has *wing*."""
    queries = ["the wing wing", "wing lift", "lift wing zebra", "drag"]
    source = PairSource("mini", queries, ["wing jet"], np.array([[i, 0] for i in range(4)], dtype=np.int32))
    network = network_on_base("tilde", base)
    set_prior_bias(network, pieces, [source], TrainSettings(objective=objective))
    bias = output_layer(network.pretrained).bias.tolist()
    assert bias[number("wing")] == pytest.approx(math.log(wing))
    assert bias[number("drag")] == pytest.approx(math.log(drag))


def test_the_prior_bias_keeps_stop_terms_out_of_expansions(base, pieces, analyzer, number):
    source = made_source("air", 300)
    torch.manual_seed(1)
    network = network_on_base("tilde", base)
    set_prior_bias(network, pieces, [source], TrainSettings())
    bias = output_layer(network.pretrained).bias
    assert bias[number("the")] < bias[number("wing")] - 3
    kept = clean_vocabulary(analyzer.vocabulary, "repo")
    seen = int((bias > bias[number("the")]).sum())
    passage = pieces(source.passages[0])
    ids, mask = pieces.padded([pieces.framed(pieces.special.document, passage)])
    with torch.no_grad():
        logits = network.eval()(ids, mask).numpy()
    (chosen,) = expand(logits, [passage[:0]], allowed=np.ones_like(kept), terms=seen, counting="raw")
    assert len(chosen) == seen
    assert kept[chosen].all()


def test_only_the_learning_rate_may_change_when_resuming(base, analyzer, sources, tmp_path):
    first = settings("tildev2", max_steps=2)
    train_network("tildev2", sources, base, tmp_path / "run", analyzer=analyzer, settings=first)
    lower = replace(first, learning_rate=1e-6, workers=1)
    train_network("tildev2", sources, base, tmp_path / "run", analyzer=analyzer, settings=lower, resume=True)
    other = replace(first, batch=3)
    with pytest.raises(ForeignFolderError, match="holds another training run"):
        train_network(
            "tildev2", sources, base, tmp_path / "run", analyzer=analyzer, settings=other, resume=True
        )


def test_a_base_that_cannot_be_loaded_leaves_the_folder_free(analyzer, sources, tmp_path):
    with pytest.raises(ModelFormatError):
        train_network(
            "tildev2",
            sources,
            tmp_path / "none",
            tmp_path / "run",
            analyzer=analyzer,
            settings=settings("tildev2"),
        )
    assert not (tmp_path / "run").exists()


class Stub:
    """Expands every passage by one term."""

    fingerprint = "stub"
    terms = 1
    session = SimpleNamespace(precision="int8")

    def expansions(self, windows):
        return [np.array([9], dtype=np.int32) for _ in windows]


class LongStub(Stub):
    """Expands passages by more than the network reads."""

    terms = 64


@pytest.fixture
def no_work(monkeypatch):
    """Slow stages fail the test."""

    def work(*_, **__):
        raise AssertionError

    for name in ("load_or_mine_negatives", "load_or_make_expansions", "fit_head", "neighbour_order"):
        monkeypatch.setattr(preparing, name, work)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("kind", "changes", "options"),
    [
        ("tildev2", {"negatives": 2, "block": 2}, {"expander": LongStub()}),
        ("tilde", {"query_length": 65, "head_steps": 2}, {}),
    ],
)
def test_too_long_inputs_are_refused_before_mining(kind, changes, options, train, tmp_path):
    with pytest.raises(ParameterError, match="longest input exceeds the encoder"):
        train("run", kind, chosen=settings(kind, **changes), **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_work")
def test_a_network_for_another_tokenizer(train, tmp_path):
    with pytest.raises(ModelFormatError, match="vocabularies of different sizes"):
        train("run", analyzer=WordPieceAnalyzer.shipped())
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("kind", "changes"),
    [("tildev2", {"negatives": 2, "block": 2}), ("tilde", {"contrast": 0.1, "head_steps": 2})],
)
def test_a_missing_teacher_is_refused_before_mining(kind, changes, train, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFormatError):
        train("run", kind, chosen=settings(kind, teacher=str(tmp_path / "empty"), **changes))
    assert not (tmp_path / "run").exists()


def test_mined_negatives_stay_when_the_expansion_fails(train, tmp_path, monkeypatch):
    class Full(Stub):
        def expansions(self, windows):
            raise StorageError("the disk is full")

    chosen = settings("tildev2", negatives=2)
    with pytest.raises(StorageError):
        train("run", "tildev2", chosen=chosen, expander=Full())
    assert (tmp_path / "run" / "negatives.npz").is_file()
    said = []
    train("run", "tildev2", chosen=chosen, expander=Stub(), resume=True, said=said)
    assert not [line for line in said if "BM25" in line]


def test_settings_for_another_kind_of_network(train, tmp_path):
    with pytest.raises(ParameterError, match="negatives is not for"):
        train("run", chosen=settings(negatives=2))
    assert not (tmp_path / "run").exists()


def test_omitted_sources_are_reported_and_recorded(train, tmp_path):
    said = []
    small = [made_source("air", 24, seed=1), made_source("law", 3, seed=3)]
    facts = train("run", data=small, chosen=settings(mixing="by-source"), said=said).facts
    assert said[0].startswith("training tilde from bare")
    assert "on 24 pairs (air 24): 6 steps" in said[0]
    assert said[1] == (
        "warning: omitted, with fewer pairs than a batch holds: law 3; the setting batch makes it smaller"
    )
    assert (facts["sources"], facts["omitted"]) == ({"air": 24}, {"law": 3})


def test_a_run_that_ends_early_expands_only_its_passages(base, analyzer, tmp_path):
    source = made_source("many", 60)
    chosen = settings("tildev2", max_steps=2, batch=3)
    trained = train_network(
        "tildev2", [source], base, tmp_path / "run", analyzer=analyzer, settings=chosen, expander=Stub()
    )
    assert trained.facts["pairs_seen"] == 6
    with np.load(tmp_path / "run" / "expansions.npz") as kept:
        assert len(kept["places"]) <= 6


def test_a_run_of_very_many_epochs_starts(train):
    endless = settings("tildev2", epochs=10**6, max_steps=0)
    with pytest.raises(Killed):
        train("run", "tildev2", chosen=endless, killed=3)


def test_a_run_of_very_many_epochs_cannot_list_the_texts_of_its_teacher(train, base, tmp_path):
    endless = settings("tildev2", epochs=10**6, max_steps=0, teacher=str(base))
    with pytest.raises(ParameterError, match="too many batches") as caught:
        train("run", "tildev2", chosen=endless)
    assert caught.value.fixes_worded() == ["use `max_steps=10000000`", "omit the teacher"]
    assert not (tmp_path / "run").exists()


def test_a_run_of_very_many_epochs_cannot_list_its_expansions(train, tmp_path):
    endless = settings("tildev2", epochs=10**6, max_steps=0, accumulate=2)
    with pytest.raises(ParameterError, match="too many batches") as caught:
        train("run", "tildev2", chosen=endless, expander=Stub())
    assert dict(caught.value.facts) == {"batches": 16 * 10**6, "most": 10**7}
    assert caught.value.fixes_worded() == ["use `max_steps=5000000`", "use `expansion=None`"]
    assert not (tmp_path / "run").exists()


def test_other_texts_or_expansions_are_another_run(base, analyzer, tmp_path):
    source = made_source("one", 30)
    chosen = settings("tildev2", max_steps=2)
    options = {"analyzer": analyzer, "settings": chosen}
    train_network("tildev2", [source], base, tmp_path / "run", **options)
    changed = replace(source, passages=[f"{text} wing" for text in source.passages])
    for data, more, what in (([changed], {}, "sources"), ([source], {"expander": Stub()}, "expansion")):
        with pytest.raises(ForeignFolderError) as caught:
            train_network("tildev2", data, base, tmp_path / "run", resume=True, **options, **more)
        assert dict(caught.value.facts)["differs in"] == what
    (tmp_path / "run" / "settings.json").write_text("[]")
    with pytest.raises(MalformedRecordError, match="damaged"):
        train_network("tildev2", [source], base, tmp_path / "run", resume=True, **options)


@pytest.fixture
def held_out():
    return HeldOut.sample([made_source("held", 12, seed=9)], queries=12, seed=1)


def test_other_held_out_queries_are_another_run(train, held_out):
    train("run", held_out=held_out)
    other = replace(held_out, queries=(*held_out.queries[:-1], "wing"))
    for changed in (other, None):
        with pytest.raises(ForeignFolderError) as caught:
            train("run", held_out=changed, resume=True)
        assert dict(caught.value.facts)["differs in"] == "validation"


def test_messages_of_a_run(train, held_out, base):
    said = []
    facts = train("run", held_out=held_out, said=said).facts
    assert said[0] == f"training tilde from {base.name} on 64 pairs (air 24, code 40): 6 steps of 4 pairs"
    assert said[1] == "validating every 2 steps; held-out queries: 12, passages to rank: 12"
    assert said[2].startswith("warning: few held-out queries (12)")
    steps = [line for line in said if line.startswith("step ")]
    assert [line.partition(":")[0] for line in steps] == ["step 2 of 6", "step 4 of 6", "step 6 of 6"]
    for line in steps:
        for part in ("loss ", "nDCG@10 0.", "RR@10 0.", ", learning rate 0.001", " elapsed", " left"):
            assert part in line
    assert steps[0].endswith("; the best so far, saved")
    assert (
        said[-1]
        == f"selected: the weights of step {facts['best']['step']} of 6, the best by nDCG@10 on held-out queries"
    )
    assert all(line.isprintable() for line in said)


def test_messages_of_a_run_without_validation(train):
    said = []
    train("run", said=said)
    assert next(line for line in said if line.startswith("step 4 of 6: loss ")).endswith("; checkpoint saved")
    assert said[-1] == "selected: the last weights, of step 6; nothing was held out"


def test_no_warning_with_enough_held_out_queries(train):
    many = HeldOut.sample([made_source("held", 50, seed=9)], queries=50, seed=1)
    said = []
    train("run", held_out=many, said=said)
    assert not [line for line in said if line.startswith("warning")]


def test_a_resumed_run_skips_a_damaged_checkpoint_with_the_same_result(train, tmp_path):
    whole = weights(train("whole"))
    with pytest.raises(Killed):
        train("cut", killed=5)
    file = tmp_path / "cut" / "checkpoints" / "checkpoint-4" / "optimizer.pt"
    file.write_bytes(file.read_bytes()[:1000])
    said = []
    resumed = train("cut", resume=True, said=said)
    assert any("checkpoint-4 is damaged" in line for line in said)
    assert "resuming at step 2 of 6" in said
    assert all(torch.equal(value, whole[name]) for name, value in weights(resumed).items())
    assert resumed.facts["seconds"] > 0
    for number in (4, 6):
        (tmp_path / "cut" / "checkpoints" / f"checkpoint-{number}" / "model.safetensors").unlink()
    with pytest.raises(CorruptModelError, match="all checkpoints of the run are damaged"):
        train("cut", resume=True)


def test_resuming_a_finished_run_keeps_its_seconds(train, tmp_path):
    train("run")
    (tmp_path / "run" / "checkpoints" / "checkpoint-6" / "time.json").write_text('{"seconds": 77.0}')
    assert 77 <= train("run", resume=True).facts["seconds"] < 90


def spoil(file, how):
    data = file.read_bytes()
    with np.load(file) as found:
        arrays = {name: found[name] for name in found.files}
    if how == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "a byte":
        place = data.index(b"NUMPY") + 130  # the first number of the first array
        file.write_bytes(data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :])
    elif how == "pickle":
        np.savez(file, **{name: np.array([{}], dtype=object) for name in arrays})
    elif how == "other keys":
        np.savez(file, a=np.zeros(3))
    elif how == "other type":
        np.savez(file, **{name: value.astype(np.float64) for name, value in arrays.items()})
    elif how == "other shape":
        np.savez(file, **{name: value[:-1] for name, value in arrays.items()})
    elif how == "out of range":
        np.savez(file, **{name: value + 10**6 for name, value in arrays.items()})
    else:
        raise AssertionError(how)


@pytest.mark.parametrize(
    "how", ["cut", "empty", "a byte", "pickle", "other keys", "other type", "other shape", "out of range"]
)
def test_damaged_caches_are_computed_again(how, base, analyzer, tmp_path):
    source = made_source("one", 30)
    folder = tmp_path / "run"
    options = {
        "analyzer": analyzer,
        "settings": settings("tildev2", max_steps=1, negatives=2),
        "expander": Stub(),
    }
    train_network("tildev2", [source], base, folder, **options)
    names = ("negatives.npz", "expansions.npz")
    before = []
    for name in names:
        with np.load(folder / name) as found:
            before.append({key: found[key] for key in found.files})
    for name in names:
        spoil(folder / name, how)
    said = []
    train_network(
        "tildev2", [source], base, folder, resume=True, execution=Execution(say=said.append), **options
    )
    for name, arrays in zip(names, before, strict=True):
        assert any(
            line.startswith(f"warning: {folder / name} is damaged and is computed again: ") for line in said
        )
        with np.load(folder / name) as found:
            assert found.files == list(arrays)
            assert all(np.array_equal(found[key], arrays[key]) for key in arrays)


def test_the_facts_have_no_local_path(train, base, tmp_path):
    file = tmp_path / "mine.npy"
    np.save(file, np.ones(len(VOCABULARY)))
    chosen = settings("tildev2", max_steps=1, teacher=str(base), query_weights=str(file))
    facts = train("run", "tildev2", chosen=chosen).facts
    assert facts["base"] == facts["settings"]["teacher"] == base.name
    assert facts["settings"]["query_weights"] == "mine.npy"
    assert str(base.parent) not in json.dumps(facts)
    assert str(tmp_path) not in json.dumps(facts)


def test_the_query_weights_of_a_run_are_returned(train, number, tmp_path):
    trained = train("run", "tildev2", chosen=settings("tildev2", max_steps=1, query_weights="idf"))
    assert trained.query_weights.shape == (len(VOCABULARY),)
    assert trained.query_weights[number("wing")] > 0
    assert trained.query_weights[number("[CLS]")] == trained.query_weights[number("the")] == 0
    with np.load(tmp_path / "run" / "query_weights.npz") as stored:
        assert np.array_equal(stored["weights"], trained.query_weights)
    assert train("counts", "tildev2", chosen=settings("tildev2", max_steps=1)).query_weights is None


@pytest.mark.usefixtures("no_work")
def test_missing_query_weights_are_refused_before_mining(train, tmp_path):
    chosen = settings("tildev2", negatives=2, query_weights=str(tmp_path / "missing.npy"))
    with pytest.raises(MissingFileError, match="query weights"):
        train("run", "tildev2", chosen=chosen)
    assert not (tmp_path / "run").exists()


def test_a_teacher_of_another_vocabulary(train, tmp_path):
    transformers = pytest.importorskip("transformers")
    other = tmp_path / "other"
    small = configuration(vocab_size=len(SPECIAL) + 20, hidden_size=8, num_hidden_layers=1)
    with quiet(bars=False):
        transformers.BertModel(small).save_pretrained(other)
    (other / "vocab.txt").write_text("\n".join((*SPECIAL, *WORDS[:20])) + "\n")
    chosen = settings("tildev2", max_steps=2, teacher=str(other), teacher_weight=1.0)
    assert train("run", "tildev2", chosen=chosen).facts["steps"] == 2


def test_the_initial_weight_of_splade_doc_is_added_to_every_bias(headed, analyzer, tmp_path):
    bias = output_layer(network_on_base("splade-doc", headed).pretrained).bias.detach().clone()
    chosen = settings("splade-doc", max_steps=1, learning_rate=0.0, initial_weight=3.0)
    trained = train_network(
        "splade-doc", [made_source("air", 8)], headed, tmp_path / "run", analyzer=analyzer, settings=chosen
    )
    assert torch.equal(output_layer(trained.network.pretrained).bias, bias + 3)


def test_the_teacher_ranks_for_hard_negatives(train, base, tmp_path):
    said = []
    chosen = settings("tildev2", max_steps=2, negatives=2, negatives_from="teacher", teacher=str(base))
    train("run", "tildev2", chosen=chosen, said=said)
    assert "ranking the passages with the teacher for hard negatives" in said
    with np.load(tmp_path / "run" / "negatives.npz") as stored:
        mined = [stored["source_0"], stored["source_1"]]
    with_negatives = sum(int((rows[:, 0] >= 0).sum()) for rows in mined)
    assert with_negatives == 8  # the pairs of the run, each with its query


def test_the_activation_of_a_trained_base_stays(headed, analyzer, tmp_path):
    network = network_on_base("splade-doc", headed)
    network.activation = "log1p_relu"
    write_encoder_folder(
        network,
        analyzer,
        tmp_path / "begun",
        EncoderContents(cleaning="repo", length=16),
        trained={},
        precisions=("int8",),
    )
    options = {"analyzer": analyzer, "settings": settings("splade-doc", max_steps=1)}
    with pytest.raises(ParameterError, match="the base has another activation") as error:
        train_network("splade-doc", [made_source("air", 8)], tmp_path / "begun", tmp_path / "run", **options)
    assert error.value.fixes_worded() == ["use `activation='log1p_relu'`"]
    assert not (tmp_path / "run").exists()
    options["settings"] = replace(options["settings"], activation="log1p_relu")
    trained = train_network(
        "splade-doc", [made_source("air", 8)], tmp_path / "begun", tmp_path / "run", **options
    )
    assert trained.network.activation == "log1p_relu"


def test_an_unknown_kind(train):
    with pytest.raises(UnknownNameError):
        train("run", "tilda", chosen=settings("tildev2"))
