"""Small programs that the drivers in C run."""

from __future__ import annotations

from nacelle.program.program import Program, Variable
from support.cc import EXACT, WARNINGS

FLAGS = (*WARNINGS, "-O2", *EXACT)


def circle_and_line(name: str = "meet", names: tuple[str, str] = ("y", "p")) -> Program:
    """A Newton step for y0^2 + y1^2 = p0, y0 = p1 y1."""
    code = (
        *(("input", k) for k in range(4)),  # y0 y1 p0 p1
        ("mul", 0, 0),
        ("mul", 1, 1),
        ("add", 4, 5),
        ("sub", 2, 6),  # 7: f = p0 - |y|^2
        ("mul", 3, 1),
        ("sub", 8, 0),  # 9: g = p1 y1 - y0
        ("mul", 3, 0),
        ("add", 10, 1),  # 11: half of the determinant
        ("const", 0.5),
        ("mul", 12, 7),  # f / 2
        ("div", 13, 11),  # 14: along the line
        ("mul", 3, 14),
        ("div", 9, 11),
        ("mul", 1, 16),
        ("add", 15, 17),  # 18: dy0
        ("mul", 0, 16),
        ("sub", 14, 19),  # 20: dy1
        ("abs", 7),
        ("abs", 9),
        ("max", 21, 22),
    )
    inputs = (Variable(names[0], (2,)), Variable(names[1], (2,)))
    return Program(name, inputs, (Variable("dy", (2,)), Variable("error")), code, (18, 20, 23))


def pendulum(name: str = "pendulum", names: tuple[str, str, str] = ("x", "u", "p")) -> Program:
    """x = (angle, rate): the rate's derivative is u - p0 sin(angle) - p1 rate^3."""
    code = (
        *(("input", k) for k in range(5)),  # angle rate u p0 p1
        ("sin", 0),
        ("mul", 3, 5),
        ("mul", 1, 1),
        ("mul", 7, 1),
        ("mul", 4, 8),
        ("sub", 2, 6),
        ("sub", 10, 9),
    )
    inputs = (Variable(names[0], (2,)), Variable(names[1]), Variable(names[2], (2,)))
    return Program(name, inputs, (Variable("dx", (2,)),), code, (1, 11))
