"""Pure functions on arrays, compiled with numba; `tests/reference` defines each number in plain loops.

Kernels take and return arrays and use no files, models or text. They release the GIL, are compiled once and cached, and
use no fast-math: the same input gives the same bits on every machine.
"""
