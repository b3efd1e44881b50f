"""The training loop: checkpoints, resumption, log, divergence."""

from __future__ import annotations

import json
import math
import shutil

import pytest

from termwise.progress import Execution, no_progress, silent
from termwise.train.run_folder import RunFolder

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors import safe_open  # noqa: E402
from transformers import TrainerCallback, set_seed  # noqa: E402

from termwise.errors import DivergedError, ParameterError  # noqa: E402
from termwise.train.data.batches import plan_batches  # noqa: E402
from termwise.train.loop.checkpoints import last_checkpoint  # noqa: E402
from termwise.train.loop.step import Collator, PlannedBatches, TrainingStep  # noqa: E402
from termwise.train.loop.trainer import TermTrainer, training_arguments  # noqa: E402
from termwise.train.networks import network_on_base, report_slow_bfloat16, set_dropout  # noqa: E402
from termwise.train.settings import TrainSettings  # noqa: E402

from .conftest import SIZE, VOCABULARY, made_source  # noqa: E402

pytestmark = (
    pytest.mark.filterwarnings(  # Python 3.12 and later warn of what torch does for the setting workers
        "ignore:.*multi-threaded, use of fork:DeprecationWarning"
    )
)


class Killed(Exception):
    pass


class KillAt(TrainerCallback):
    """Stops a run like a kill, after a step and its checkpoint."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_begin(self, args, state, control, **_):
        if state.global_step == self.step:
            raise Killed


SHORT = {
    "document_length": 12,
    "query_length": 8,
    "batch": 4,
    "learning_rate": 1e-3,
    "save_every": 3,
    "validate_every": 2,
    "dropout": 0.1,
}


class Run:
    """A trainer over forty pairs, built like that of a training run."""

    def __init__(
        self, kind, base, pieces, folder, *, callbacks=(), validate=None, progress=None, say=None, **changes
    ):
        contrastive = {} if kind == "tilde" else {"objective": "contrastive"}
        self.settings = TrainSettings(**(SHORT | contrastive | changes))
        set_seed(self.settings.seed)
        self.network = network_on_base(kind, base)
        set_dropout(self.network, self.settings.dropout)
        if self.settings.checkpointing:
            self.network.checkpoint_activations()
        source = made_source("air", 40)
        self.batches = PlannedBatches(
            lambda epoch: plan_batches([40], batch=4, seed=self.settings.seed, epoch=epoch), epochs=2
        )
        steps = self.settings.max_steps or -(-len(self.batches) // self.settings.accumulate)
        self.trainer = TermTrainer(
            TrainingStep(self.network, self.settings, pieces),
            training_arguments(folder, self.settings, steps=steps, validation=validate is not None),
            self.batches,
            Collator(kind, self.settings, pieces, [source], self.batches),
            settings=self.settings,
            validate=validate,
            folder=RunFolder(
                folder, execution=Execution(progress=progress or no_progress, say=say or silent)
            ),
            callbacks=callbacks,
        )

    def train(self, checkpoint=None):
        self.trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        return self

    @property
    def weights(self):
        return {name: value.clone() for name, value in self.network.state_dict().items()}


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("kind", "changes", "killed", "saved"),
    [
        ("tilde", {}, 8, 6),
        ("tilde", {"accumulate": 3, "save_every": 2}, 3, 2),
        ("tildev2", {"schedule": "linear", "warm_up": 0.2, "clip": 0.5}, 4, 3),
        ("tilde", {"precision": "bfloat16"}, 4, 3),
        ("tilde", {"checkpointing": True}, 4, 3),
        ("tilde", {"workers": 2}, 4, 3),
    ],
)
def test_a_killed_run_resumes_to_the_same_weights(kind, changes, killed, saved, base, pieces, tmp_path):
    changes = {"max_steps": 10 if "accumulate" not in changes else 5} | changes
    whole = Run(kind, base, pieces, tmp_path / "whole", **changes).train()
    assert whole.trainer.state.global_step == changes["max_steps"]
    with pytest.raises(Killed):
        Run(kind, base, pieces, tmp_path / "cut", callbacks=[KillAt(killed)], **changes).train()
    checkpoint = last_checkpoint(tmp_path / "cut")
    assert checkpoint == tmp_path / "cut" / f"checkpoint-{saved}"
    resumed = Run(kind, base, pieces, tmp_path / "cut", **changes).train(checkpoint)
    assert equal(resumed.weights, whole.weights)
    assert not equal(whole.weights, Run(kind, base, pieces, tmp_path / "new", **changes).weights)


def test_the_weights_do_not_depend_on_workers(base, pieces, tmp_path):
    alone, helped = (
        Run(
            "tildev2", base, pieces, tmp_path / str(workers), workers=workers, max_steps=5, dropout=0.1
        ).train()
        for workers in (0, 2)
    )
    assert equal(alone.weights, helped.weights)


def test_every_loss_is_read_when_losses_are_logged(base, pieces, tmp_path):
    changes = {"max_steps": 10, "save_every": 10, "validate_every": 10}
    seen, said = [], []
    Run(
        "tilde",
        base,
        pieces,
        tmp_path / "run",
        progress=lambda *g: seen.append(g),
        say=said.append,
        **changes,
    ).train()
    shown = [stage for stage, _, _ in seen]
    assert shown[:9] == [shown[0]] * 9
    assert shown[9] != shown[0]
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    first, others = (line["loss"] for line in lines if "loss" in line)
    assert said[-1].startswith(f"step 10 of 10: loss {(first + 9 * others) / 10:.4g}, ")


def test_training_lowers_the_reported_loss(base, pieces, tmp_path):
    seen = []
    Run("tilde", base, pieces, tmp_path / "run", progress=lambda *given: seen.append(given)).train()
    assert [(done, total) for _, done, total in seen] == [(step, 20) for step in range(1, 21)]
    losses = [float(stage.removeprefix("train: loss ")) for stage, _, _ in seen]
    assert losses[-1] < 0.9 * losses[0]


def test_the_reported_loss_is_the_mean_of_accumulated_batches(base, pieces, tmp_path):
    changes = {"dropout": 0.0, "max_steps": 1}
    shown = []
    run = Run(
        "tilde", base, pieces, tmp_path / "run", accumulate=3, progress=lambda *g: shown.append(g), **changes
    )
    step, collator = run.trainer.model, run.trainer.data_collator
    with torch.no_grad():
        expected = sum(step(**collator([number]))["loss"].item() for number in range(3)) / 3
    run.train()
    assert float(shown[0][0].removeprefix("train: loss ")) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("changes", [{}, {"checkpointing": True}, {"workers": 2}])
def test_only_progress_reaches_the_terminal(changes, base, pieces, tmp_path, capfd, caplog):
    Run(
        "tildev2",
        base,
        pieces,
        tmp_path / "run",
        max_steps=3,
        validate=lambda: {"nDCG@10": 0.5},
        **changes,
    ).train()
    seen = capfd.readouterr()
    assert (seen.out, seen.err) == ("", "")
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


def test_the_best_checkpoint_is_kept_and_loaded(base, pieces, tmp_path):
    measures = iter([0.2, 0.7, 0.7, 0.4, 0.3])
    at_best = {}

    def validate():
        value = next(measures)
        if value == 0.7 and not at_best:
            at_best.update(run.weights)
        return {"nDCG@10": value, "RR@10": value / 2}

    run = Run("tilde", base, pieces, tmp_path / "run", max_steps=9, validate=validate)
    run.train()
    assert run.trainer.state.best_model_checkpoint == str(tmp_path / "run" / "checkpoint-4")
    assert equal(run.weights, at_best)
    assert (tmp_path / "run" / "checkpoint-4").is_dir()
    # The last step is validated too, though 9 is no multiple of 2.
    assert next(measures, None) is None
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "eval_nDCG@10" in line] == [2, 4, 6, 8, 9]


def test_checkpoints_are_written_between_validations(base, pieces, tmp_path):
    saved = []

    class Saved(TrainerCallback):
        def on_save(self, args, state, control, **_):
            saved.append(state.global_step)

    Run(
        "tilde",
        base,
        pieces,
        tmp_path / "run",
        max_steps=9,
        save_every=2,
        validate_every=5,
        validate=lambda: {"nDCG@10": 0.5},
        callbacks=[Saved()],
    ).train()
    assert saved == [2, 4, 5, 6, 8, 9]
    assert (tmp_path / "run" / "checkpoint-5").is_dir()  # the best, though newer ones were written


def test_a_finished_run_that_was_moved_and_resumed_has_the_best_weights(base, pieces, tmp_path):
    measures = iter([0.7, 0.2])
    run = Run(
        "tilde", base, pieces, tmp_path / "run", max_steps=4, validate=lambda: {"nDCG@10": next(measures)}
    ).train()
    shutil.move(tmp_path / "run", tmp_path / "moved")
    again = Run("tilde", base, pieces, tmp_path / "moved", max_steps=4, validate=lambda: {"nDCG@10": 0.0})
    log = (tmp_path / "moved" / "log.jsonl").read_text()
    again.train(last_checkpoint(tmp_path / "moved"))
    assert (tmp_path / "moved" / "log.jsonl").read_text() == log
    assert again.trainer.state.global_step == 4
    assert again.trainer.state.best_model_checkpoint == str(tmp_path / "moved" / "checkpoint-2")
    assert equal(again.weights, run.weights)


def test_a_moved_run_resumes_and_keeps_its_best_checkpoint(base, pieces, tmp_path, caplog):
    measures = iter([0.7, 0.2, 0.1, 0.1])

    def validate():
        return {"nDCG@10": next(measures)}

    with pytest.raises(Killed):
        Run(
            "tilde", base, pieces, tmp_path / "run", max_steps=6, validate=validate, callbacks=[KillAt(5)]
        ).train()
    shutil.move(tmp_path / "run", tmp_path / "moved")
    run = Run("tilde", base, pieces, tmp_path / "moved", max_steps=6, validate=validate)
    run.train(last_checkpoint(tmp_path / "moved"))
    assert run.trainer.state.best_model_checkpoint == str(tmp_path / "moved" / "checkpoint-2")
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


def test_the_log_has_every_step_once_after_a_kill(base, pieces, tmp_path):
    with pytest.raises(Killed):
        Run("tilde", base, pieces, tmp_path / "run", max_steps=9, callbacks=[KillAt(8)]).train()
    log = tmp_path / "run" / "log.jsonl"
    before = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text(log.read_text() + '{"step": 8, "los')  # the line that was being written
    Run("tilde", base, pieces, tmp_path / "run", max_steps=9).train(last_checkpoint(tmp_path / "run"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [line["step"] for line in lines if "loss" in line]
    assert steps == sorted(set(steps))
    assert steps[-1] == 9
    assert lines[0] == before[0]
    assert lines[0].keys() == {"step", "seconds", "loss", "learning_rate", "grad_norm"}
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)


def test_a_run_that_starts_again_has_a_new_log(base, pieces, tmp_path):
    for _ in range(2):
        Run("tilde", base, pieces, tmp_path / "run", max_steps=2).train()
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert sum(line["step"] == 1 for line in lines) == 1


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_checkpoint(base, pieces, tmp_path):
    class Poison(TrainerCallback):
        def on_step_begin(self, args, state, control, model=None, **_):
            if state.global_step == 4:
                with torch.no_grad():
                    model.network.pretrained.get_output_embeddings().bias[20] = math.nan

    run = Run("tilde", base, pieces, tmp_path / "run", max_steps=9, callbacks=[Poison()])
    with pytest.raises(DivergedError) as error:
        run.train()
    facts = dict(error.value.facts)
    assert facts["step"] == 5
    assert math.isnan(facts["loss"])
    assert facts["last checkpoint"] == tmp_path / "run" / "checkpoint-3"
    assert error.value.fixes_worded()[0] == "continue with `resume=True, learning_rate=0.0005`"
    assert error.value.exit_code == 3


def test_weights_that_are_not_finite_are_not_saved(base, pieces, tmp_path):
    class Poison(TrainerCallback):
        def on_step_end(self, args, state, control, model=None, **_):
            if state.global_step == 6:
                with torch.no_grad():
                    next(model.network.parameters())[30, 2] = math.inf

    with pytest.raises(DivergedError) as error:
        Run("tildev2", base, pieces, tmp_path / "run", max_steps=9, callbacks=[Poison()]).train()
    assert "word_embeddings" in dict(error.value.facts)["tensor"]
    assert last_checkpoint(tmp_path / "run") == tmp_path / "run" / "checkpoint-3"


def test_a_run_can_resume_at_a_lower_rate(base, pieces, tmp_path):
    changes = {"max_steps": 6, "schedule": "linear", "head_learning_rate": 4e-3}
    with pytest.raises(Killed):
        Run("tilde", base, pieces, tmp_path / "run", callbacks=[KillAt(3)], **changes).train()
    lower = changes | {"learning_rate": 1e-4, "head_learning_rate": 2e-4}
    run = Run("tilde", base, pieces, tmp_path / "run", **lower)
    seen = []

    class Rates(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            seen.append([group["lr"] for group in run.trainer.optimizer.param_groups])

    run.trainer.add_callback(Rates())
    run.train(last_checkpoint(tmp_path / "run"))
    expected = [[1e-4 * left / 6, 2e-4 * left / 6] for left in (3, 2, 1)]
    assert [rate for pair in seen for rate in pair] == pytest.approx(
        [rate for pair in expected for rate in pair]
    )


def test_the_constant_rate_has_a_warm_up(base, pieces, tmp_path):
    run = Run("tilde", base, pieces, tmp_path / "run", max_steps=4, warm_up=0.5)
    seen = []

    class Rates(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            seen.append(run.trainer.optimizer.param_groups[0]["lr"])

    run.trainer.add_callback(Rates())
    run.train()
    assert seen == pytest.approx([0.0, 5e-4, 1e-3, 1e-3])


def test_a_tied_embedding_is_stored_once_and_stays_tied(base, pieces, tmp_path):
    run = Run("tilde", base, pieces, tmp_path / "run", max_steps=3).train()
    network = run.network.pretrained
    assert network.get_output_embeddings().weight is network.get_input_embeddings().weight
    with safe_open(tmp_path / "run" / "checkpoint-3" / "model.safetensors", "pt") as file:
        shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
    assert shapes.count([len(VOCABULARY), SIZE]) == 1


def test_the_rates_of_encoder_and_head(base, pieces, tmp_path):
    run = Run("tilde", base, pieces, tmp_path / "run", head_learning_rate=5e-3)
    groups = run.trainer.create_optimizer().param_groups
    assert [group["lr"] for group in groups] == [1e-3, 5e-3]
    assert {id(p) for p in groups[1]["params"]} == {id(p) for p in run.network.head_parameters()}
    assert all(group["weight_decay"] == 0 for group in groups)


def test_float16_needs_a_gpu(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ParameterError, match="needs a GPU"):
        training_arguments(tmp_path, TrainSettings(precision="float16"), steps=1, validation=False)


@pytest.mark.parametrize(("capability", "lines"), [("AVX2", 1), ("AVX512", 0)])
def test_bfloat16_without_instructions_is_slow(monkeypatch, capability, lines):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: capability)
    said: list[str] = []
    report_slow_bfloat16("bfloat16", said.append)
    assert len(said) == lines
    report_slow_bfloat16("float32", said.append)
    assert len(said) == lines


def test_workers_need_fork(tmp_path, monkeypatch):
    monkeypatch.setattr("termwise.train.loop.trainer.get_all_start_methods", lambda: ["spawn"])
    training_arguments(tmp_path, TrainSettings(), steps=1, validation=False)
    with pytest.raises(ParameterError, match="fork"):
        training_arguments(tmp_path, TrainSettings(workers=2), steps=1, validation=False)


def test_without_tensorboard(monkeypatch, tmp_path):
    import termwise.train.loop.trainer as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert training_arguments(tmp_path, TrainSettings(), steps=1, validation=False).report_to == []
