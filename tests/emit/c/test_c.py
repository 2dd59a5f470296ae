"""C: interface, parts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.emit.c.interface import COptions, Interface, framed
from nacelle.emit.c.parts import LINE, c_constant, call, cut, expression, helpers_used
from nacelle.emit.schedule import arguments, is_operation
from nacelle.program.program import Program, Variable
from support.random_programs import random_program

# ---- Names that a program has in C, and the frame of a header


def program(*inputs: Variable) -> Program:
    code = (("const", 1.0),)
    return Program("force of leg", inputs, (Variable("n", (1,)),), code, (0,))


def test_names_are_words_of_c_and_apart() -> None:
    made = Interface(
        program(Variable("n", (2,)), Variable("x'", (3,)), Variable("x!", ()), Variable("int", (1,))),
        COptions(),
    )
    names = [array.name for array in (*made.inputs, *made.outputs)]
    strides = [array.stride for array in made.inputs]
    assert len({*names, *strides}) == len(names) + len(strides)
    assert all(name.isidentifier() for name in (*names, *strides, made.name))
    # `n` is the number of samples, `int` a word of C.
    assert "n" not in names
    assert "int" not in names


def test_heads() -> None:
    made = Interface(program(Variable("x", (3,))), COptions(name="leg", units={"x": "position, m"}))
    assert made.name == "leg_eval"
    assert made.single(restrict=False).startswith("void leg_eval(const leg_eval_real *x, leg_eval_real *")
    assert "size_t n, const leg_eval_real *restrict x, size_t x_stride" in made.batch(restrict=True).replace(
        "\n    ", " "
    )
    assert made.describe(made.inputs[0]) == "x: 3 numbers; position, m"
    assert Interface(program(), COptions(name="leg", plain=True, real="float")).real == "float"


def test_tiles_are_a_line_of_the_cache() -> None:
    assert COptions().tile * 8 == COptions(real="float").tile * 4 == 64


def test_a_header_is_read_once_by_c_and_cpp() -> None:
    lines = framed("leg_h", ["<stddef.h>"], ["void leg(void);"])
    text = "\n".join(lines)
    assert lines[0] == "#ifndef leg_h"
    assert text.count("#if") == text.count("#endif")
    assert text.index('extern "C" {') < text.index("void leg(void);") < text.index("\n}\n")


# ---- Parts of a program in C: constants read back as they are, and cuts that keep all values


@pytest.mark.parametrize("value", [0.1, -1e-300, 5e-324, 1.0, -0.0, 123456789.123456789, math.pi])
def test_constants_read_back(value: float) -> None:
    text = c_constant(value, "double").strip("()")
    assert float(text) == value
    assert math.copysign(1.0, float(text)) == math.copysign(1.0, value)
    single = c_constant(value, "float").strip("()")
    assert single.endswith("f")
    with np.errstate(all="ignore"):
        assert np.float32(single[:-1]) == np.float32(value)


def test_special_constants() -> None:
    assert c_constant(math.nan, "double") == "NAN"
    assert c_constant(-math.inf, "float") == "(-INFINITY)"
    assert c_constant(1e300, "float") == "INFINITY"


def test_long_calls_have_lines() -> None:
    assert call("f", ["a", "b"]) == "f(a, b)"
    long = call("f", ["argument" * 4] * 5)
    assert all(len(line) <= LINE for line in long.splitlines())


def test_expressions() -> None:
    assert expression("sub", ["a", "b"], "leg", "double") == "a - b"
    assert expression("where", ["a", "b", "c"], "leg", "double") == "(a > 0) ? b : c"
    assert expression("abs", ["a"], "leg", "float") == "fabsf(a)"
    assert expression("min", ["a", "b"], "leg", "double") == "leg_min(a, b)"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("apart", [False, True])
def test_parts_have_what_they_use(seed: int, apart: bool) -> None:
    """Each operation is in one part; what a part fetches was kept by one before it."""
    program = random_program(seed, 120)
    made = cut(program, 20, apart=apart)
    done: set[int] = set()
    kept: set[int] = set()
    for part in made.parts:
        inside: set[int] = set()
        for k in part.operations:
            for a in arguments(program, k):
                if is_operation(program, a):
                    assert a in inside or a in part.fetched
            inside.add(k)
        assert set(part.fetched) <= kept
        assert not inside & done
        done |= inside
        kept |= set(part.kept)
    assert done == set(made.order)
    written = sorted(place for part in made.parts for place in part.outputs)
    assert written == list(range(len(program.results)))
    assert set(helpers_used(program, made.order)) <= {"min", "max", "sign"}
