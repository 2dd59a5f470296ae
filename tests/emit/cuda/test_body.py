"""Statements of a laid-out program."""

from __future__ import annotations

from nacelle.emit.cuda.body import ValuePlaces, statements
from nacelle.emit.cuda.plan import CudaOptions, planned
from nacelle.program.program import Program, Variable


def test_statements() -> None:
    code = (("input", 0), ("input", 1), ("const", -2.5), ("mul", 0, 1), ("sub", 2, 3), ("neg", 4))
    program = Program("p", (Variable("x", (2,)),), (Variable("y", (3,)),), code, (5, 2, 0))
    places = ValuePlaces(
        lambda place, names: f"load {place} {names};", lambda place, texts: f"put {place} {texts};", str
    )
    lines = statements(planned(program), "double", places)
    assert lines.index("const double t4 = nc_fma(-t0_1, t1_1, (-2.5));") > lines.index("load 1 ['t1_1'];")
    assert "const double t5 = -t4;" in lines
    assert lines[-4:] == ["put 1 ['(-2.5)'];", "double t0_2;", "load 0 ['t0_2'];", "put 2 ['t0_2'];"]
    pair = statements(planned(program, CudaOptions(real="float"), states=2), "float", places)
    assert "const float t5b = -t4b;" in pair
