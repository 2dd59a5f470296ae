"""Names that a program has in C, and the frame of a header."""

from __future__ import annotations

from nacelle.emit.c.interface import COptions, Interface, framed
from nacelle.program.program import Program, Variable


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
