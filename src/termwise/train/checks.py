"""What is looked at before a training run reads or writes anything."""

from __future__ import annotations

from pathlib import Path

from termwise.errors import ParameterError
from termwise.progress import Progress
from termwise.train.messages import Say
from termwise.train.settings import TrainSettings
from termwise.validation import check, check_callable, check_flag, check_threads


def check_asked(
    kind: str,
    base: str | Path,
    settings: TrainSettings,
    *,
    expands: bool,
    resume: bool,
    threads: int,
    progress: Progress,
    say: Say,
) -> None:
    """Check what `termwise.train.fit.fit` and `termwise.train.loop.run.train_network` both take.

    Raises
    ------
    UnknownNameError
        If there is no such kind.
    ParameterError
        If an argument is of another type, or kind, settings and expansion do not go together.
    """
    check("kind", kind, isinstance(kind, str), "a name")
    check("base", base, isinstance(base, str | Path), "a name or a folder")
    check("settings", settings, isinstance(settings, TrainSettings), "TrainSettings")
    check_flag("resume", resume)
    check_threads(threads)
    check_callable("progress", progress)
    check_callable("say", say)
    settings.check_kind(kind)
    if settings.contrast and settings.objective == "document-likelihood":
        raise ParameterError(
            "contrast is added to a loss that has the query likelihood",
            facts=[("objective", settings.objective), ("contrast", settings.contrast)],
            fixes=["leave contrast out"],
        )
    if settings.taught and settings.objective != "contrastive" and not settings.contrast:
        raise ParameterError(
            "a teacher ranks the passages of a batch, and nothing else here does",
            facts=[("objective", settings.objective), ("teacher", settings.teacher)],
            fixes=["--set contrast=0.1", "leave teacher out"],
        )
    if expands and kind != "tildev2":
        raise ParameterError(
            "only a network of kind tildev2 is trained on passages that are expanded",
            facts=[("network", kind)],
            fixes=["leave the expansion out"],
        )
