"""Small programs that the drivers of the JIT run."""

from __future__ import annotations

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
