"""Pure functions on arrays: `reference` defines every number, the numba modules beside it compute it fast.

Nothing here knows files, models or text. Kernels take and return arrays, release the GIL, are compiled once and
cached, and use no fast-math: the same input gives the same bits on every machine.
"""
