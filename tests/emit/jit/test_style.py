"""How code is laid out for families of machines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_what_llvm_writes_for_each_family() -> None:
    """Next to no negations on NEON, and few values on the stack: LLVM holds what the plan holds.

    The programs have 730, 1400 and 12 000 operations. One negation is the mask of signs; on NEON the Jacobian
    has results that are negations of others. On x86 exclusive or makes masks and zeros, too.
    """
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "benchmarks/emitted_code.py", "--json"],
        cwd=root,
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    rows = json.loads(done.stdout)
    assert len(rows) == 9
    for row in rows:
        operations = {"PaLiDA's inverse dynamics": 730, "a hexapod's inverse dynamics": 1400}
        size = operations.get(row["program"], 12_000)
        if row["family"] == "Neoverse-N1":
            assert row["negations"] <= 1 + size // 1000
        assert row["stores to the stack"] <= 0.03 * size, row
        assert row["instructions"] < 2.4 * size, row
