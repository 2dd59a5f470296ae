"""Programs of the compiler's benchmarks: PaLiDA's inverse dynamics, a plain hexapod's, its Jacobian."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))
import hexapod

from nacelle.program.derivative import with_jacobians
from nacelle.program.trace import trace

PALIDA, HEXAPOD, JACOBIAN = "PaLiDA's inverse dynamics", "a hexapod's inverse dynamics", "its Jacobian"


def small():
    """The trace of the hexapod."""
    return trace(hexapod.inverse_dynamics, hexapod.INPUTS)


def large():
    """The trace of the hexapod's Jacobian."""
    return with_jacobians(small(), [("forces", name) for name in ("p", "V", "A")], "reverse")


def palida():
    """PaLiDA's inverse dynamics with friction as its program, minimised, and 200 states of its workspace."""
    import nacelle
    from nacelle.dynamics.models import model
    from nacelle.verify.states import random_states
    from support.model_states import Sample, inputs_of

    robot = nacelle.load("palida")
    found = model(robot, "inverse_dynamics", friction=True)
    drawn = random_states(robot, 200, 0)
    none = np.zeros((200, 0))
    states = Sample(robot, drawn.x, none, drawn.v, drawn.a, np.zeros_like(drawn.v), drawn.condition)
    inputs = inputs_of(found, states)
    program = found.program()
    return program, [inputs[variable.name].reshape(200, -1) for variable in program.inputs]
