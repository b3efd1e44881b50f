"""Quantisation of term weights to impacts, with a record of its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from termwise.index.manifest_records import MAX_BIAS_BITS, QuantiserRecord

LEVELS = 255
"""Largest impact."""

BIAS_LEVELS = 65535
"""Largest stored document bias."""

EXCESS = 0.25
"""Share by which weights of added documents may exceed the largest impact, which they are stored as."""

SCALE_BITS = 14
"""Significant bits of the scale; see `Quantiser`."""


@dataclass
class WeightRange:
    """Range of all weights, which quantisation needs in advance."""

    largest: float = 0.0
    largest_bias: float = 0.0
    whole: bool = True
    dropped: int = 0

    def add_weights(self, weights: npt.NDArray[np.float32]) -> None:
        """Extend the range by term weights."""
        if len(weights):
            self.largest = max(self.largest, float(weights.max()))
            self.whole = self.whole and bool((weights == np.rint(weights)).all())

    def add_biases(self, weights: npt.NDArray[np.float32]) -> None:
        """Extend the range by document biases."""
        if len(weights):
            self.largest_bias = max(self.largest_bias, float(weights.max()))


class Quantiser:
    """Linear quantisation to impacts 1 to 255.

    ``impact = round(weight / scale)``, at least 1, with ``scale = largest weight / 255``. Whole-number weights up to
    255 are unchanged (scale 1). Positive weights never become 0, so no posting is lost.

    The scale is rounded up to 14 significant bits. With sums below ``2**38``, each score and each contribution to it is
    then an exact float64, and contributions add up to the score exactly.
    """

    def __init__(self, weights: WeightRange) -> None:
        exact = weights.whole and 0 < weights.largest <= LEVELS
        self.scale = 1.0 if exact or weights.largest == 0 else _rounded_up(weights.largest / LEVELS)
        self._range = weights
        self.bias_bits = MAX_BIAS_BITS
        while self.bias_bits > 0 and not self.bias_fits:
            self.bias_bits -= 1
        self._sum_of_errors = 0.0
        self._count = 0
        self._max_error = 0.0
        self._bias_error = 0.0
        self._raised = 0

    @classmethod
    def with_scale(cls, scale: float, bias_bits: int, weights: WeightRange) -> Quantiser:
        """Return a quantiser with a given scale, for documents that join an index; see `fits`."""
        quantiser = cls(weights)
        quantiser.scale, quantiser.bias_bits = scale, bias_bits
        return quantiser

    @property
    def fits(self) -> bool:
        """Whether the scale is large enough for weights of added documents; see `EXCESS`."""
        return self._range.largest <= (1 + EXCESS) * LEVELS * self.scale and self.bias_fits

    @property
    def bias_fits(self) -> bool:
        """Whether the largest bias can be stored."""
        return bool(self._range.largest_bias <= BIAS_LEVELS * self.scale / 2**self.bias_bits)

    def impacts(self, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
        """Quantise positive term weights; agrees with `reference.retrieval.quantise`."""
        exact = weights.astype(np.float64)
        units = np.rint(exact / self.scale)
        self._raised += int((units < 1).sum())
        units = np.clip(units, 1, LEVELS)
        errors = np.abs(exact - units * self.scale)
        self._sum_of_errors += float(errors.sum())
        self._count += len(errors)
        self._max_error = max(self._max_error, float(errors.max(initial=0.0)))
        return units.astype(np.uint8)

    def biases(self, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
        """Quantise document biases, in units of ``scale / 2**bias_bits``; 0 stays 0."""
        exact = weights.astype(np.float64)
        unit = self.scale / 2**self.bias_bits
        units: npt.NDArray[np.float64] = np.minimum(np.rint(exact / unit), BIAS_LEVELS)
        self._bias_error = max(self._bias_error, float(np.abs(exact - units * unit).max(initial=0.0)))
        return units.astype(np.uint16)

    def record(self) -> QuantiserRecord:
        """Return scale and errors for the manifest."""
        return QuantiserRecord(
            kind="uint8",
            scale=self.scale,
            bias_bits=self.bias_bits,
            largest=self._range.largest,
            max_error=self._max_error,
            mean_error=self._sum_of_errors / self._count if self._count else 0.0,
            bias_error=self._bias_error,
            raised=self._raised,
            dropped=self._range.dropped,
        )


def _rounded_up(value: float) -> float:
    """Round a positive number up to `SCALE_BITS` significant bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.ceil(math.ldexp(mantissa, SCALE_BITS)), exponent - SCALE_BITS)
