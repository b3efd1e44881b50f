"""Damaged checkpoints."""

from __future__ import annotations

import json
import shutil

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise.errors import CorruptModelError  # noqa: E402
from termwise.train.loop.checkpoints import damage, last_checkpoint, loading, newest_complete  # noqa: E402

from .test_trainer import Run  # noqa: E402

FILES = (
    "model.safetensors",
    "optimizer.pt",
    "scheduler.pt",
    "rng_state.pth",
    "trainer_state.json",
    "time.json",
)


@pytest.fixture(scope="module")
def made(base, tmp_path_factory):
    """The folder of a run with checkpoints at steps 2 and 4."""
    from termwise.text.wordpiece import WordPieceAnalyzer
    from termwise.train.data.inputs import Pieces

    pieces = Pieces(WordPieceAnalyzer.from_file(base / "vocab.txt"), "tilde")
    folder = tmp_path_factory.mktemp("runs") / "run"
    Run("tilde", base, pieces, folder, max_steps=4, save_every=2).train()
    return folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def hurt(file, how):
    data = file.read_bytes()
    if how == "missing":
        file.unlink()
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif how == "longer":
        file.write_bytes(data + b"}")
    elif how == "other":
        file.write_bytes(b"[3]")
    else:
        file.write_bytes(
            data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 255]) + data[len(data) // 2 + 1 :]
        )


def test_complete_checkpoints(folder):
    assert damage(folder / "checkpoint-2") is None
    assert last_checkpoint(folder) == newest_complete(folder) == folder / "checkpoint-4"
    assert last_checkpoint(folder / "nowhere") is None
    (folder / "checkpoint-99").write_text("a file")
    (folder / "checkpoint-x").mkdir()
    (folder / "checkpoint-100.old").mkdir()
    assert last_checkpoint(folder) == folder / "checkpoint-4"


@pytest.mark.parametrize("how", ["missing", "empty", "cut", "other"])
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_checkpoint_is_reported_and_skipped(name, how, folder):
    hurt(folder / "checkpoint-4" / name, how)
    said = []
    found = last_checkpoint(folder, say=said.append)
    if name == "time.json" and how == "missing":  # then the time before it does not count
        assert found == folder / "checkpoint-4"
        return
    assert found == folder / "checkpoint-2"
    (line,) = said
    assert line.startswith(f"warning: {folder / 'checkpoint-4'} is damaged and is skipped: {name} ")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("name", "how"),
    [("optimizer.pt", "a byte"), ("model.safetensors", "longer"), ("rng_state.pth", "a byte")],
)
def test_damage_inside_a_file_is_found(name, how, folder):
    hurt(folder / "checkpoint-4" / name, how)
    assert damage(folder / "checkpoint-4").startswith(f"{name} cannot be read")


def test_files_of_another_step_are_refused(folder):
    shutil.copy(folder / "checkpoint-2" / "trainer_state.json", folder / "checkpoint-4")
    assert damage(folder / "checkpoint-4") == "trainer_state.json cannot be read: its step is 2"


def test_files_that_run_code_are_not_loaded(folder):
    class Payload:
        def __reduce__(self):
            return (print, ("run",))

    torch.save({"a": Payload()}, folder / "checkpoint-4" / "scheduler.pt")
    assert damage(folder / "checkpoint-4").startswith("scheduler.pt cannot be read")


def test_no_complete_checkpoint(folder):
    hurt(folder / "checkpoint-4" / "optimizer.pt", "cut")
    hurt(folder / "checkpoint-2" / "trainer_state.json", "missing")
    with pytest.raises(CorruptModelError, match="all checkpoints") as caught:
        last_checkpoint(folder)
    facts = dict(caught.value.facts)
    assert facts["folder"] == folder
    assert facts["checkpoint-4"].startswith("optimizer.pt")
    assert facts["checkpoint-2"] == "trainer_state.json is missing"
    assert caught.value.fixes_worded()[0] == f"start again: remove {folder}, then `resume=True`"
    assert newest_complete(folder) is None


@pytest.mark.parametrize("how", ["missing", "cut"])
def test_an_unfinished_first_checkpoint_is_not_damage(how, folder):
    shutil.rmtree(folder / "checkpoint-4")
    hurt(folder / "checkpoint-2" / "trainer_state.json", how)
    said = []
    assert last_checkpoint(folder, say=said.append) is None
    assert len(said) == 1


def test_errors_of_torch_name_the_file(tmp_path):
    file = tmp_path / "checkpoint-4" / "optimizer.pt"
    with pytest.raises(CorruptModelError) as caught, loading(file, "start again"):
        raise RuntimeError("size mismatch\nfor a")
    assert dict(caught.value.facts) == {"file": file, "reason": "size mismatch"}


def test_a_resumed_run_without_its_best_weights_selects_new_ones(base, pieces, tmp_path):
    measures = iter([0.7, 0.2, 0.3])

    def validate():
        return {"nDCG@10": next(measures)}

    folder = tmp_path / "run"
    Run("tilde", base, pieces, folder, max_steps=4, validate=validate).train()
    hurt(folder / "checkpoint-2" / "model.safetensors", "cut")
    said = []
    again = Run("tilde", base, pieces, folder, max_steps=6, validate=validate, say=said.append)
    again.train(last_checkpoint(folder))
    assert any("checkpoint-2, the best so far, are missing" in line for line in said)
    assert again.trainer.state.best_model_checkpoint == str(folder / "checkpoint-6")


def test_a_file_that_does_not_fit_the_network_is_named(base, folder, pieces):
    file = folder / "checkpoint-4" / "optimizer.pt"
    state = torch.load(file, weights_only=True)
    state["param_groups"] = state["param_groups"][:1]
    torch.save(state, file)
    with pytest.raises(CorruptModelError) as caught:
        Run("tilde", base, pieces, folder, max_steps=6, save_every=2).train(folder / "checkpoint-4")
    assert dict(caught.value.facts)["file"] == file


def test_the_time_of_all_sessions_counts(folder, base, pieces):
    file = folder / "checkpoint-4" / "time.json"
    assert 0 < json.loads(file.read_text())["seconds"] < 60
    file.write_text('{"seconds": 5000.0}')
    said = []
    run = Run("tilde", base, pieces, folder, max_steps=6, save_every=2, say=said.append)
    run.train(folder / "checkpoint-4")
    assert 5000 < json.loads((folder / "checkpoint-6" / "time.json").read_text())["seconds"] < 5060
    assert "1:23:" in said[0]
