"""Definition of each number in plain loops in float64, which the tests compare with the fast kernels.

A function is in the module of the same name as its kernel. It has the name and the parameters of the kernel, with
sequences instead of arrays, unless its docstring states others.
"""
