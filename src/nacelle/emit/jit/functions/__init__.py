"""sin, cos, tanh, exp and atan2 as LLVM IR text over vectors of any width, without a mathematics library.

Every lane takes the same operations at every width, so a sample alone and one in a batch get the same bits, and
the results do not depend on the libraries of a machine. With fused multiply-add, or without it, the largest
error measured is below one unit in the last place; NaN, infinities, signed zeros and subnormal numbers are
what C99 (Annex F) says.

References: W. J. Cody, W. Waite, *Software Manual for the Elementary Functions*, 1980; J.-M. Muller,
*Elementary Functions: Algorithms and Implementation*, 3rd ed., 2016; M. Payne, R. Hanek, *Radian Reduction for
Trigonometric Functions*, 1983; T. J. Dekker, *A floating-point technique for extending the available
precision*, 1971.
"""

from nacelle.emit.jit.functions.arctangent import atan2
from nacelle.emit.jit.functions.exponential import exp, tanh
from nacelle.emit.jit.functions.formula import Formula
from nacelle.emit.jit.functions.trigonometry import sincos

# What writes the function of an operation; sin and cos of one argument come from one call.
_WRITERS = {"sin": sincos, "cos": sincos, "tanh": tanh, "exp": exp, "atan2": atan2}


def is_function(op: str) -> bool:
    """Say whether an operation is one of these functions."""
    return op in _WRITERS


def texts(operations: set[str], width: int, prefix: str, *, fma: bool) -> list[str]:
    """Write the functions that the operations of a program call; their names begin with `prefix`."""
    used = dict.fromkeys(write for op, write in _WRITERS.items() if op in operations)
    return [write(lambda: Formula(width, prefix, fma=fma)) for write in used]
