"""Processor classes by their 8-bit instructions, which decide whether int8 is faster than float32."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Literal

ProcessorClass = Literal["avx512-vnni", "avx-vnni", "avx2", "arm-dotprod", "other"]

_CPUINFO = Path("/proc/cpuinfo")
_FLAGS = re.compile(r"^(?:flags|Features)\s*:(.*)$", re.MULTILINE)


def processor_class() -> ProcessorClass:
    """Return the class of this machine's processor; ``"other"`` if it is unknown."""
    try:
        cpuinfo = _CPUINFO.read_text(errors="replace")
    except OSError:
        cpuinfo = ""
    return classify(cpuinfo, platform.machine())


def classify(cpuinfo: str, machine: str) -> ProcessorClass:
    """Return the class of a processor from the content of ``/proc/cpuinfo`` and its architecture.

    Examples
    --------
    >>> classify("flags : fpu avx2 avx512f avx512_vnni", "x86_64")
    'avx512-vnni'
    >>> classify("Features : fp asimd asimddp", "aarch64"), classify("", "x86_64")
    ('arm-dotprod', 'other')
    """
    match = _FLAGS.search(cpuinfo)
    flags = set(match.group(1).split()) if match else set()
    if machine.lower() in ("aarch64", "arm64"):
        return "arm-dotprod" if "asimddp" in flags else "other"
    if "avx512_vnni" in flags:
        return "avx512-vnni"
    if "avx_vnni" in flags:
        return "avx-vnni"
    return "avx2" if "avx2" in flags else "other"


def has_fast_int8(processor: ProcessorClass) -> bool:
    """Return whether the processor multiplies and adds four bytes in one instruction.

    Other processors widen bytes first, so int8 is not faster than float32.
    """
    return processor in ("avx512-vnni", "avx-vnni", "arm-dotprod")
