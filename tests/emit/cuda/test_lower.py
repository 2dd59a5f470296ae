"""Quotients and roots as products with reciprocals."""

from __future__ import annotations

from nacelle.emit.cuda.lower import lowered
from nacelle.program.program import Program, Variable

X = [("input", k) for k in range(3)]


def made(code: list[tuple[object, ...]], *results: int) -> Program:
    return Program("p", (Variable("x", (3,)),), (Variable("y", (len(results),)),), tuple(code), results)


def ops(program: Program, *, ieee: bool = False) -> list[str]:
    code, _ = lowered(program, ieee=ieee)
    return sorted(step[0] for step in code if step and step[0] not in ("input", "const"))


def test_quotients_share_their_reciprocal() -> None:
    program = made([*X, ("div", 0, 2), ("div", 1, 2)], 3, 4)
    assert ops(program) == ["mul", "mul", "rcp"]
    assert ops(program, ieee=True) == ["div", "div"]
    one = made([*X, ("const", 1.0), ("div", 3, 2)], 4)
    assert ops(one) == ["rcp"]


def test_a_quotient_by_a_root_is_one_product() -> None:
    program = made([*X, ("sqrt", 0), ("div", 1, 3), ("div", 2, 3)], 4, 5)
    assert ops(program) == ["mul", "mul", "rsqrt"]
    whole = made([*X, ("sqrt", 0), ("div", 1, 3)], 3, 4)
    assert ops(whole) == ["mul", "root", "rsqrt"]


def test_products_are_fused_into_all_their_sums() -> None:
    program = made([*X, ("mul", 0, 1), ("add", 3, 2), ("sub", 3, 2)], 4, 5)
    assert ops(program) == ["fma", "fms"]
