"""Network of an encoder in onnxruntime: choice of precision, loading, running, and checks of its output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
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
"""Short names of execution providers; others have the names of onnxruntime."""

PROVIDER_OPTIONS = {PROVIDERS["cuda"]: {"use_tf32": "0"}}
"""Options of execution providers. On CUDA, float32 is not rounded to TF32."""

_INPUTS = {"input_ids": "tensor(int64)", "attention_mask": "tensor(int64)"}
_ERRORS_ONLY = 3


class OnnxSession:
    """Network of an encoder folder in onnxruntime, loaded by `load` or by the first `run`.

    An int8 network that termwise writes scales each row of activations separately, so the output for a text does not
    depend on the other texts of a batch of the same length. Other int8 networks may scale a whole batch.

    Parameters
    ----------
    folder : EncoderFolder
    precision : {"float32", "int8"}, optional
        Precision of the network; by default see `choose_precision`.
    threads : int, optional
        Threads within a layer, from 1 to 1024.
    providers : sequence of str, optional
        Execution providers in order of preference: names of `PROVIDERS` or of onnxruntime. Operations that they do
        not support run on the CPU.
    processor : str, optional
        Class of the CPU, see `processor_class`; by default that of this machine.

    Raises
    ------
    ParameterError
        If the folder has no network of this precision, or an argument is invalid.
    UnknownNameError
        If the precision is unknown.
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
        self.precision = choose_precision(folder, precision, processor=self.processor, on_cpu=names[0] == CPU)
        self.file = folder.manifest.networks()[self.precision]

    @property
    def description(self) -> dict[str, Any]:
        """File, precision, processor and execution providers, for the manifest of an index."""
        options = {name: PROVIDER_OPTIONS[name] for name in self.providers if name in PROVIDER_OPTIONS}
        return {
            "file": self.file,
            "precision": self.precision,
            "processor": self.processor,
            "onnxruntime": _version(),
            "providers": list(self.providers),
            **({"provider_options": options} if options else {}),
        }

    def encoder_description(self, fingerprint: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the facts about an encoder with this network, for the manifest of an index."""
        return {
            "name": self.folder.name,
            "kind": self.folder.manifest.kind,
            "id": self.folder.id,
            "fingerprint": fingerprint,
            "network": self.description,
            "settings": settings,
        }

    def load(self) -> None:
        """Load the network; check its file, its inputs and outputs, and the execution providers of this machine."""
        _ = self._session

    def run(
        self, input_ids: npt.NDArray[np.int64], attention_mask: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """Run the network over piece ids of shape (b, l), padded, and a mask of 1 for pieces and 0 for padding.

        The output is float32 of shape (b, V); for the kind tildev2 (b, l), for the kind lookup (b, dimensions). It is
        finite and, for the kind tildev2, 0 at padding.
        """
        output = OUTPUTS[self.folder.manifest.kind]
        session = self._session
        try:
            (values,) = session.run([output], {"input_ids": input_ids, "attention_mask": attention_mask})
        except Exception as error:  # the exceptions of onnxruntime have no common base class
            raise ModelFormatError(
                "the network cannot be run",
                facts=[
                    ("file", self._path),
                    ("input shape", input_ids.shape),
                    ("reason", _first_line(error)),
                ],
            ) from error
        shape = input_ids.shape if self._per_position else (len(input_ids), self._width[0])
        if not isinstance(values, np.ndarray) or values.shape != shape or values.dtype != np.float32:
            seen = (
                f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else type(values)
            )
            raise ModelFormatError(
                f"the network output {output} has the wrong shape or type",
                facts=[("file", self._path), ("expected", f"float32 of shape {shape}"), ("seen", seen)],
            )
        if self._per_position:
            values = np.where(attention_mask != 0, values, np.float32(0))
        if not np.isfinite(values).all():
            row, column = map(int, np.argwhere(~np.isfinite(values))[0])
            raise ModelFormatError(
                "the output of the network is not a finite number",
                facts=[
                    ("file", self._path),
                    ("output", output),
                    ("position" if self._per_position else self._width[1], column),
                    ("value", float(values[row, column])),
                    ("pieces of the input", int(attention_mask[row].sum())),
                ],
                fixes=["export the encoder again: its weights may be damaged"],
            )
        return cast("npt.NDArray[np.float32]", values)

    @property
    def _per_position(self) -> bool:
        return self.folder.manifest.kind == "tildev2"

    @property
    def _width(self) -> tuple[int, str]:
        """Return the width of an output that has one row for each input, and the noun for a column."""
        manifest = self.folder.manifest
        return (manifest.terms, "term") if manifest.dimensions is None else (manifest.dimensions, "dimension")

    @property
    def _path(self) -> Path:
        return self.folder.folder / self.file

    @cached_property
    def _session(self) -> Any:
        path = self.folder.path(self.file)
        _check_self_contained(path)
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError(
                "running a network needs the package onnxruntime, which is not installed",
                facts=[("package", "onnxruntime"), ("reason", error)],
                fixes=["pip install onnxruntime", "pip install onnxruntime-gpu"],
            ) from error

        available = onnxruntime.get_available_providers()
        for name in self.providers:
            if name not in available:
                raise ParameterError(
                    "the installed onnxruntime has no such execution provider",
                    facts=[("given", name), ("available", ", ".join(available))],
                    fixes=["omit the provider to run on the CPU", "pip install onnxruntime-gpu"],
                )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # such a plan fits one shape, and every batch has another shape
        options.log_severity_level = _ERRORS_ONLY
        providers = [(name, PROVIDER_OPTIONS.get(name, {})) for name in self.providers]
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        except Exception as error:
            raise ModelFormatError(
                "onnxruntime cannot load the network",
                facts=[("file", path), ("reason", _first_line(error))],
                fixes=["export the encoder again"],
            ) from error
        if session.get_providers()[0] != self.providers[0]:
            raise ParameterError(
                "the execution provider does not start on this machine",
                facts=[("given", self.providers[0]), ("started", ", ".join(session.get_providers()))],
                fixes=["omit the provider to run on the CPU"],
            )
        self._check(session, path)
        return session

    def _check(self, session: Any, path: Path) -> None:
        inputs = {value.name: value.type for value in session.get_inputs()}
        outputs = {value.name: value for value in session.get_outputs()}
        expected = OUTPUTS[self.folder.manifest.kind]
        if inputs != _INPUTS:
            raise ModelFormatError(
                "the inputs of the network are not those of an encoder",
                facts=[("file", path), ("inputs", _listed(inputs)), ("expected", _listed(_INPUTS))],
                fixes=["export the encoder again"],
            )
        if expected not in outputs:
            raise ModelFormatError(
                f"the network has no output {expected}, which its kind needs",
                facts=[
                    ("file", path),
                    ("kind", self.folder.manifest.kind),
                    ("outputs", ", ".join(outputs) or "none"),
                ],
                fixes=["export the encoder again from a checkpoint with this head"],
            )
        shape = outputs[expected].shape
        width = shape[-1] if shape else None
        columns, noun = self._width
        if not self._per_position and isinstance(width, int) and width != columns:
            what = "vocabularies" if noun == "term" else "numbers of dimensions"
            raise ModelFormatError(
                f"the network and the encoder have different {what}",
                facts=[
                    ("file", path),
                    (f"{noun}s of the network", width),
                    (f"{noun}s of the encoder", columns),
                ],
                fixes=["export the encoder again with the tokenizer of its training"],
            )


def choose_precision(
    folder: EncoderFolder, precision: str | None, *, processor: ProcessorClass, on_cpu: bool = True
) -> NetworkPrecision:
    """Choose the precision of a network.

    Without `precision`, a folder with one network gives its precision. With two networks, the choice is int8 on a CPU
    with fast 8-bit instructions (AVX512-VNNI, AVX-VNNI, ARM dot product), and float32 on other CPUs and other execution
    providers. A precision that is unknown, or that the folder lacks, is an error.
    """
    networks = folder.manifest.networks()
    if precision is None:
        preferred: NetworkPrecision = "int8" if on_cpu and has_fast_int8(processor) else "float32"
        return preferred if preferred in networks else next(iter(networks))
    for known in NETWORK_PRECISIONS:
        if known == precision and known in networks:
            return known
    if precision not in NETWORK_PRECISIONS:
        raise UnknownNameError.of("precision", str(precision), NETWORK_PRECISIONS)
    raise ParameterError(
        f"this encoder has no network in {precision}",
        facts=[("encoder", folder.name), ("available", ", ".join(networks))],
        fixes=["omit the precision"],
    )


def _check_self_contained(path: Path) -> None:
    """Raise unless the file is an ONNX network that contains all its weights."""
    try:
        external = has_external_data(path)
    except Misfit as misfit:
        raise ModelFormatError(
            "the network is not a valid ONNX file",
            facts=[("file", path), ("expected", misfit.expected), ("seen", misfit.seen)],
            fixes=["export the encoder again"],
        ) from None
    except OSError as error:
        raise MissingFileError.of("the network cannot be read", path, error) from error
    if external:
        raise ModelFormatError(
            "the network keeps weights in other files, which the manifest does not cover",
            facts=[("file", path), ("expected", "all tensors in this file")],
            fixes=["save the network as one file, without external data, and write the manifest again"],
        )


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("onnxruntime")
    except metadata.PackageNotFoundError:  # installed as onnxruntime-gpu or another build
        import onnxruntime

        return str(onnxruntime.__version__)


def _listed(types: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in sorted(types.items())) or "none"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
