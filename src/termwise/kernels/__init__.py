"""Pure functions on arrays: `reference` defines each number, and the modules beside it compute it fast with numba.

Kernels take and return arrays and use no files, models or text. They release the GIL, are compiled once and cached, and
use no fast-math: the same input gives the same bits on every machine.
"""
