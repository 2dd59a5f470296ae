"""How code is laid out for families of machines."""

from __future__ import annotations

import pytest

from nacelle.emit.jit.style import style_of
from nacelle.emit.machine import other


@pytest.mark.parametrize(
    ("triple", "cpu"),
    [
        ("aarch64-unknown-linux-gnu", "neoverse-n1"),
        ("x86_64-unknown-linux-gnu", "x86-64"),
        ("x86_64-unknown-linux-gnu", "x86-64-v3"),
        ("x86_64-unknown-linux-gnu", "x86-64-v4"),
    ],
)
def test_styles_fit_their_machines(triple: str, cpu: str) -> None:
    machine = other(triple, cpu)
    style = style_of(machine)
    # Registers remain for constants that are operands, and for what is just being made.
    assert style.registers <= machine.registers - 4
    assert style.fma == machine.fma
    assert style.accumulates == triple.startswith("aarch64")
    assert style.centred == machine.is_x86
    # Constants that one instruction repeats over the lanes need no table.
    assert style.table != machine.has("avx512f")
    assert style.whole >= style.chunk
