"""A network in onnxruntime: choosing its precision, running it, and checking its output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from termwise.encode.cpu_features import ProcessorClass, has_fast_int8, processor_class
from termwise.encode.encoder_folder import OUTPUTS, EncoderFolder
from termwise.encode.encoder_manifest import NETWORK_PRECISIONS, NetworkPrecision
from termwise.encode.onnx_check import has_external_data
from termwise.errors import (
    MissingExtraError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
)
from termwise.storage.manifest_json import Misfit
from termwise.validation import check_names, check_threads

CPU = "CPUExecutionProvider"

PROVIDERS = {"cpu": CPU, "cuda": "CUDAExecutionProvider"}
"""Short names of execution providers; others go by the name onnxruntime gives them."""

PROVIDER_OPTIONS = {PROVIDERS["cuda"]: {"use_tf32": "0"}}
"""Options of execution providers: on CUDA, float32 is not rounded to TF32."""

_INPUTS = {"input_ids": "tensor(int64)", "attention_mask": "tensor(int64)"}
_ERRORS_ONLY = 3


class OnnxSession:
    """A network of an encoder folder, run by onnxruntime.

    The network is loaded by `load`, or when it is first run.

    The int8 networks that termwise writes scale each row of activations separately, so the output for a text does not
    depend on the other texts of a batch of the same length; those from elsewhere may scale a whole batch.

    Parameters
    ----------
    folder : EncoderFolder
        Where the network is.
    precision : {"float32", "int8"}, optional
        Which network, if there are both; by default see `choose_precision`.
    threads : int, optional
        Threads for the arithmetic within a layer, 1024 at most.
    providers : sequence of str, optional
        Execution providers in order of preference, by the names in `PROVIDERS` or onnxruntime's. Operations they do
        not support run on the processor.
    processor : str, optional
        Class of the processor, see `processor_class`; by default this machine's.

    Raises
    ------
    ParameterError
        If the folder has no network of this precision, `threads` is not a whole number from 1 to 1024, or `providers`
        is not several names.
    UnknownNameError
        If there is no such precision.
    """

    def __init__(
        self,
        folder: EncoderFolder,
        *,
        precision: NetworkPrecision | None = None,
        threads: int = 1,
        providers: Sequence[str] | None = None,
        processor: ProcessorClass | None = None,
    ) -> None:
        check_threads(threads)
        if providers is not None:
            check_names("providers", providers)
        names = tuple(PROVIDERS.get(name.lower(), name) for name in providers or ("cpu",))
        self.folder = folder
        self.threads = threads
        self.processor = processor_class() if processor is None else processor
        self.providers = names if CPU in names else (*names, CPU)
        self.precision = choose_precision(
            folder, precision, processor=self.processor, on_processor=names[0] == CPU
        )
        self.file = folder.manifest.networks()[self.precision]

    @property
    def description(self) -> dict[str, Any]:
        """How the network runs, for the manifest of an index."""
        options = {name: PROVIDER_OPTIONS[name] for name in self.providers if name in PROVIDER_OPTIONS}
        return {
            "file": self.file,
            "precision": self.precision,
            "processor": self.processor,
            "onnxruntime": _version(),
            "providers": list(self.providers),
            **({"provider_options": options} if options else {}),
        }

    def load(self) -> None:
        """Load the network now and check that it has the inputs and the output of its kind.

        Raises
        ------
        MissingFileError, CorruptModelError
            If its file is missing, truncated or changed.
        ModelFormatError
            If onnxruntime cannot load it, it keeps weights in other files, or it has other inputs or outputs.
        ParameterError
            If this machine has no such execution provider.
        """
        _ = self._session

    def run(
        self, input_ids: npt.NDArray[np.int64], attention_mask: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """Run the network.

        Parameters
        ----------
        input_ids : ndarray of shape (b, l), int64
            Numbers of pieces, padded.
        attention_mask : ndarray of shape (b, l), int64
            1 for pieces, 0 for padding.

        Returns
        -------
        ndarray of shape (b, V) or, for the kind tildev2, (b, l), float32
            Finite; for the kind tildev2, 0 at padding.

        Raises
        ------
        ModelFormatError
            If the output has the wrong shape or is not finite.
        """
        output = OUTPUTS[self.folder.manifest.kind]
        given = {"input_ids": input_ids, "attention_mask": attention_mask}
        session = self._session
        try:
            (values,) = session.run([output], given)
        except Exception as error:  # onnxruntime has no type of its own above its many kinds
            raise ModelFormatError(
                "the network cannot be run",
                facts=[
                    ("file", self._path),
                    ("input shape", input_ids.shape),
                    ("onnxruntime says", _said(error)),
                ],
            ) from error
        shape = input_ids.shape if self._per_position else (len(input_ids), self.folder.manifest.terms)
        if not isinstance(values, np.ndarray) or values.shape != shape or values.dtype != np.float32:
            seen = (
                f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else type(values)
            )
            raise ModelFormatError(
                f"the output {output} of the network has not the shape of its kind",
                facts=[("file", self._path), ("expected", f"float32 of shape {shape}"), ("seen", seen)],
            )
        if self._per_position:
            values = np.where(attention_mask != 0, values, np.float32(0))
        if not np.isfinite(values).all():
            row, place = map(int, np.argwhere(~np.isfinite(values))[0])
            raise ModelFormatError(
                "the network gives something that is not a finite number",
                facts=[
                    ("file", self._path),
                    ("output", output),
                    ("position" if self._per_position else "term", place),
                    ("value", float(values[row, place])),
                    ("pieces of the input", int(attention_mask[row].sum())),
                ],
                fixes=["export the encoder again; its weights may be damaged"],
            )
        return cast("npt.NDArray[np.float32]", values)

    @property
    def _per_position(self) -> bool:
        return self.folder.manifest.kind == "tildev2"

    @property
    def _path(self) -> Path:
        return self.folder.folder / self.file

    @cached_property
    def _session(self) -> Any:
        path = self.folder.path(self.file)
        _check_whole(path)
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError(
                "running a network needs the package onnxruntime, which is not installed",
                facts=[("package", "onnxruntime"), ("Python says", error)],
                fixes=["pip install onnxruntime", "pip install onnxruntime-gpu"],
            ) from error

        available = onnxruntime.get_available_providers()
        for name in self.providers:
            if name not in available:
                raise ParameterError(
                    "the installed onnxruntime has no such execution provider",
                    facts=[("given", name), ("available", ", ".join(available))],
                    fixes=["leave the provider out to run on the processor", "pip install onnxruntime-gpu"],
                )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # plans memory for one shape; here every batch has another
        options.log_severity_level = _ERRORS_ONLY
        providers = [(name, PROVIDER_OPTIONS.get(name, {})) for name in self.providers]
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        except Exception as error:
            raise ModelFormatError(
                "onnxruntime cannot load the network",
                facts=[("file", path), ("onnxruntime says", _said(error))],
                fixes=["export the encoder again"],
            ) from error
        wanted = self.providers[0]
        if session.get_providers()[0] != wanted:
            raise ParameterError(
                "the execution provider does not start on this machine",
                facts=[("given", wanted), ("started", ", ".join(session.get_providers()))],
                fixes=["leave the provider out to run on the processor"],
            )
        self._check(session, path)
        return session

    def _check(self, session: Any, path: Path) -> None:
        inputs = {value.name: value.type for value in session.get_inputs()}
        outputs = {value.name: value for value in session.get_outputs()}
        expected = OUTPUTS[self.folder.manifest.kind]
        if inputs != _INPUTS:
            raise ModelFormatError(
                "the network takes other inputs than an encoder has",
                facts=[("file", path), ("inputs", _listed(inputs)), ("expected", _listed(_INPUTS))],
                fixes=["export the encoder again"],
            )
        if expected not in outputs:
            raise ModelFormatError(
                f"the network lacks the head of its kind: it has no output {expected}",
                facts=[
                    ("file", path),
                    ("kind", self.folder.manifest.kind),
                    ("outputs", ", ".join(outputs) or "none"),
                ],
                fixes=["export the encoder again, from a checkpoint with the head"],
            )
        shape = outputs[expected].shape
        width = shape[-1] if shape else None
        terms = self.folder.manifest.terms
        if not self._per_position and isinstance(width, int) and width != terms:
            raise ModelFormatError(
                "the network has another vocabulary than the encoder",
                facts=[("file", path), ("terms of the network", width), ("terms of the encoder", terms)],
                fixes=["export the encoder again with the tokenizer it was trained with"],
            )


def network_description(session: OnnxSession, fingerprint: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return JSON-like facts about an encoder, for the manifest of an index."""
    folder = session.folder
    return {
        "name": folder.name,
        "kind": folder.manifest.kind,
        "id": folder.id,
        "fingerprint": fingerprint,
        "network": session.description,
        "settings": settings,
    }


def choose_precision(
    folder: EncoderFolder, precision: str | None, *, processor: ProcessorClass, on_processor: bool = True
) -> NetworkPrecision:
    """Choose one of the networks of a folder.

    The one that is named, or the only one. Of two, int8 if the processor multiplies bytes in one instruction
    (AVX512-VNNI, AVX-VNNI, ARM dot product), otherwise float32, since int8 would be no faster. Other execution
    providers get float32.

    Parameters
    ----------
    folder : EncoderFolder
        The encoder.
    precision : str or None
        The precision asked for, if any.
    processor : str
        See `processor_class`.
    on_processor : bool
        Whether the network runs on the processor.

    Raises
    ------
    UnknownNameError
        If there is no such precision.
    ParameterError
        If the folder has no such network.
    """
    networks = folder.manifest.networks()
    if precision is None:
        preferred: NetworkPrecision = "int8" if on_processor and has_fast_int8(processor) else "float32"
        return preferred if preferred in networks else next(iter(networks))
    for known in NETWORK_PRECISIONS:
        if known == precision and known in networks:
            return known
    if precision not in NETWORK_PRECISIONS:
        raise UnknownNameError.of("precision", str(precision), NETWORK_PRECISIONS)
    raise ParameterError(
        f"this encoder has no network in {precision}",
        facts=[("encoder", folder.name), ("has", ", ".join(networks))],
        fixes=["leave the precision out"],
    )


def _check_whole(path: Path) -> None:
    """Refuse a network that keeps weights in files that the manifest does not list."""
    try:
        elsewhere = has_external_data(path)
    except Misfit as misfit:
        raise ModelFormatError(
            "the network is not a file as ONNX has it",
            facts=[("file", path), ("expected", misfit.expected), ("seen", misfit.seen)],
            fixes=["export the encoder again"],
        ) from None
    except OSError as error:
        raise MissingFileError(
            "the network cannot be read", facts=[("file", path), ("system says", error.strerror)]
        ) from error
    if elsewhere:
        raise ModelFormatError(
            "the network keeps numbers in other files, which no manifest checks",
            facts=[("file", path), ("expected", "all tensors in the file itself")],
            fixes=["save the network as one file, without external data, and write the manifest again"],
        )


def _version() -> str:
    try:
        return metadata.version("onnxruntime")
    except metadata.PackageNotFoundError:  # installed as onnxruntime-gpu or another build
        import onnxruntime

        return str(onnxruntime.__version__)


def _listed(types: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in sorted(types.items())) or "none"


def _said(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
