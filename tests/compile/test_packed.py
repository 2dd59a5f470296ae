"""A program and its native code as bytes: what is packed comes out again, and damage is seen."""

from __future__ import annotations

from nacelle.compile.packed import packed_function, unpack, with_code
from nacelle.program.trace import trace


def test_there_and_back() -> None:
    program = trace(lambda x: {"y": x * x + 0.1, "z": x[0]}, {"x": (3,)}, "f").program()
    signature, code, check, image = unpack(packed_function(program, b"native"))
    assert check is None
    assert image == b"native"
    assert (signature.name, signature.inputs, signature.outputs) == ("f", program.inputs, program.outputs)
    again = with_code(signature, code)
    assert again.code == program.code
    assert again.results == program.results
