"""Compiling physics: trace, minimise, emit, keep.

    inverse = nacelle.compile(function, robot)
    inverse.count            # operations, by class
    inverse(x, v, a)         # NumPy arrays with leading batch dimensions
    step = inverse.bind(x=x, v=v, a=a)     # prebound buffers for a control loop
    inverse.source("c")      # the same program as C99

    inverse = nacelle.compile(function, robot, parameters="input")
    inverse(robot.numbers.vector(), x, v, a)      # numbers and states with leading batch dimensions

The physics is an argument: nothing here knows any. A compiled program is kept in the user's cache under
a key made of the robot's hash, the function, the options, the package's source and the machine, so that a
second process loads it without tracing.
"""

from nacelle.compile.cache import cached_search
from nacelle.compile.compiled import Compiled, Parametric
from nacelle.compile.drivers import (
    BatchNewton,
    BatchRk4,
    compile_irk5,
    compile_newton,
    compile_rk4,
    compile_track,
)
from nacelle.compile.function import Differentiable, compile_function
from nacelle.compile.refusals import refusal_reason
from nacelle.compile.specification import Specification, make_program
from nacelle.emit.cuda.plan import CudaOptions

__all__ = [
    "BatchNewton",
    "BatchRk4",
    "Compiled",
    "CudaOptions",
    "Differentiable",
    "Parametric",
    "Specification",
    "cached_search",
    "compile_function",
    "compile_irk5",
    "compile_newton",
    "compile_rk4",
    "compile_track",
    "make_program",
    "refusal_reason",
]
