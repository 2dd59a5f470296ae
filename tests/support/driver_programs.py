"""Small programs that drivers run, and the drivers as plain loops in Python."""

from __future__ import annotations

import numpy as np

from nacelle.emit.newton import CONVERGED, ITERATION_CAP, NOT_FINITE
from nacelle.program.program import Program, Variable


def square_roots() -> Program:
    """Step and error of y_i² = p_i, i = 1, 2."""
    code: list[tuple[object, ...]] = [("input", k) for k in range(4)]
    results = []
    for i in range(2):
        code += [("mul", i, i), ("sub", 2 + i, len(code)), ("const", 2.0)]
        residual = len(code) - 2
        code += [("mul", i, len(code) - 1), ("div", residual, len(code)), ("abs", residual)]
        results.append((len(code) - 2, len(code) - 1))
    code.append(("max", results[0][1], results[1][1]))
    return Program(
        "square_roots",
        (Variable("y", (2,)), Variable("p", (2,))),
        (Variable("dy", (2,)), Variable("error")),
        tuple(code),
        (results[0][0], results[1][0], len(code) - 1),
    )


def pendulum() -> Program:
    """The equations θ̈ = -p1 sin θ - p2 θ̇ + u, x = (θ, θ̇)."""
    code = (
        *(("input", k) for k in range(5)),
        ("sin", 0),
        ("mul", 3, 5),
        ("mul", 4, 1),
        ("sub", 2, 6),
        ("sub", 8, 7),
    )
    return Program(
        "pendulum",
        (Variable("x", (2,)), Variable("u", (1,)), Variable("p", (2,))),
        (Variable("dx", (2,)),),
        code,
        (1, 9),
    )


Array = np.ndarray


def rk4_states(program: Program, x: Array, u: Array, p: Array, h: float, steps: int) -> list[Array]:
    """States after every step of the Runge-Kutta method, until one is not finite; rows of u in turn."""

    def f(x: Array, held: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.array(program.evaluate([*map(float, x), *map(float, held), *map(float, p)]))

    states = []
    for step in range(steps):
        held = u[step % len(u)]
        k1 = f(x, held)
        k2 = f(x + h / 2 * k1, held)
        k3 = f(x + h / 2 * k2, held)
        k4 = f(x + h * k3, held)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if not np.all(np.isfinite(x)):
            break
        states.append(x)
    return states


def newton_solution(
    program: Program, y: Array, p: Array, tolerance: float, cap: int, longest: float = np.inf
) -> tuple[Array, int, int, float]:
    """Newton's iteration: unknowns, status, steps taken, and the last error."""
    taken = 0
    with np.errstate(all="ignore"):
        while True:
            *step, error = map(float, program.evaluate([*map(float, y), *map(float, p)]))
            if error <= tolerance:
                return y, CONVERGED, taken, error
            if not np.all(np.isfinite([*step, error])):
                return y, NOT_FINITE, taken, error
            if taken >= cap:
                return y, ITERATION_CAP, taken, error
            length = float(np.linalg.norm(step))
            y = y + (longest / length if length > longest else 1.0) * np.array(step)
            taken += 1
