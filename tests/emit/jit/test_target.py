"""The target `jit`: native code against the reference."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from nacelle.emit.jit import target as jit
from nacelle.emit.registry import TargetError, target
from nacelle.program.program import Program, Variable
from support.hostile_names import HOSTILE
from support.random_programs import (
    assert_same,
    assert_steps,
    assert_within,
    empty_outputs,
    evaluate,
    every_operation,
    program_strategy,
    random_inputs,
    random_program,
    special_grid,
    with_all_outputs,
)

ARITHMETIC = ("add", "sub", "mul", "div", "neg", "sqrt", "abs", "sign", "floor", "min", "max", "where")
WIDTHS = (2, 4, 8)


def run(program: Program, inputs: list[Any], samples: int, threads: int = 1, **options: Any) -> list[Any]:
    outputs = empty_outputs(program, samples)
    jit.compile_kernel(program, jit.JitOptions(**options)).run(inputs, outputs, threads)
    return outputs


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(program_strategy())
def test_every_instruction_agrees(program: Program) -> None:
    inputs = random_inputs(program, 21)
    inputs[0] = inputs[0][:1].copy()  # one row, broadcast over all samples
    values = run(with_all_outputs(program), inputs, 21)
    assert_steps(program, inputs, values[0])


@settings(max_examples=15, deadline=None)
@given(program_strategy())
def test_fused_results_agree_to_rounding(program: Program) -> None:
    inputs = random_inputs(program, 9, special=0.1)
    assert_within(program, inputs, run(program, inputs, 9, fma=jit.host_machine().fma))


@pytest.mark.parametrize("width", WIDTHS)
def test_special_values_of_every_operation(width: int) -> None:
    program, inputs = every_operation(), special_grid()
    values = run(with_all_outputs(program), inputs, len(inputs[0]), width=width)
    assert_steps(program, inputs, values[0])


@pytest.mark.costly
@pytest.mark.parametrize("chunk", [5, 40, 700])
@pytest.mark.parametrize("width", WIDTHS)
def test_without_fusing_arithmetic_is_exact(chunk: int, width: int) -> None:
    # Values cross the cuts between functions, and several tiles go through each.
    program = random_program(3, 300, operations=ARITHMETIC)
    inputs = random_inputs(program, 100)
    outputs = run(program, inputs, 100, width=width, chunk=chunk, fma=False, tiles=3)
    for actual, expected in zip(outputs, evaluate(program, inputs), strict=True):
        assert_same(actual, expected, 0.0, zeros=False)


@pytest.mark.parametrize("long", [6000, 20])
def test_a_sample_alone_is_the_same_as_in_a_batch(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # A long program has no code of its own for one sample.
    monkeypatch.setattr(jit, "_LONG", long)
    program = random_program(11, 200)
    inputs = random_inputs(program, 30)
    kernel = jit.compile_kernel(program)
    batch = empty_outputs(program, 30)
    kernel.run(inputs, batch, 1)
    row, out = [array[:1].copy() for array in inputs], empty_outputs(program, 1)
    call = kernel.bind(row, out)
    for k in range(30):
        for array, whole in zip(row, inputs, strict=True):
            array[:] = whole[k]
        call()
        for array, whole in zip(out, batch, strict=True):
            np.testing.assert_array_equal(array[0], whole[k])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_any_length(size: int, width: int) -> None:
    code = [("input", k) for k in range(size)] + [("neg", k) for k in range(size)]
    program = Program(
        "rows",
        (Variable("x", (size,)),),
        (Variable("y", (size,)),),
        tuple(code),
        tuple(range(size, 2 * size)),
    )
    kernel = jit.compile_kernel(program, jit.JitOptions(width=width, tiles=2))
    for samples in (1, width - 1, width, width + 1, 2 * width, 5 * width + 3):
        # What lies behind the arrays is neither read nor written.
        inside = slice(1, samples + 1)
        x = np.random.default_rng(0).normal(size=(samples + 2, size))
        y = np.full((samples + 2, size), 7.0)
        kernel.run([x[inside]], [y[inside]], 1)
        np.testing.assert_array_equal(y[inside], -x[inside])
        np.testing.assert_array_equal(y[[0, -1]], 7.0)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_and_numbers_of_samples(threads: int) -> None:
    program = random_program(5, 60)
    kernel = jit.compile_kernel(program)
    width = kernel.width
    whole = random_inputs(program, 1000)
    expected = empty_outputs(program, 1000)
    kernel.run(whole, expected, 1)
    for samples in (0, 1, width - 1, width, width + 1, 100, 1000):
        inputs = [array[:samples] for array in whole]
        outputs = empty_outputs(program, samples)
        kernel.run(inputs, outputs, threads)
        for a, b in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(a, b[:samples])


def test_one_row_serves_all_samples() -> None:
    program = random_program(8, 60)
    inputs = random_inputs(program, 50)
    inputs[-1] = inputs[-1][:1].copy()
    repeated = [np.repeat(a, 50, axis=0) if len(a) == 1 else a for a in inputs]
    for a, b in zip(run(program, inputs, 50), run(program, repeated, 50), strict=True):
        np.testing.assert_array_equal(a, b)
    shared = [array[:1].copy() for array in inputs]
    for array in run(program, shared, 9):
        np.testing.assert_array_equal(array, np.repeat(array[:1], 9, axis=0))


def test_results_that_are_inputs_or_constants() -> None:
    code = (("input", 1), ("const", -0.0), ("const", math.nan), ("add", 0, 1), ("input", 0))
    program = Program(
        "plain",
        (Variable("x", (2,)), Variable("nothing", (0,))),
        (Variable("y", (6,)), Variable("nothing", (0,))),
        code,
        (0, 1, 2, 4, 0, 1),
    )
    x = np.arange(22.0).reshape(11, 2)
    outputs = run(program, [x, np.empty((11, 0))], 11)
    expected = np.stack(
        [x[:, 1], np.full(11, -0.0), np.full(11, math.nan), x[:, 0], x[:, 1], np.full(11, -0.0)], 1
    )
    np.testing.assert_array_equal(outputs[0], expected)
    assert np.all(np.signbit(outputs[0][:, 1]))


def test_without_inputs_or_outputs() -> None:
    constant = Program("c", (), (Variable("y"),), (("const", 2.0), ("sqrt", 0)), (1,))
    np.testing.assert_array_equal(run(constant, [], 5)[0], np.full((5, 1), math.sqrt(2.0)))
    nothing = Program("n", (Variable("x", (3,)),), (), (("input", 0),), ())
    jit.compile_kernel(nothing).run([np.zeros((4, 3))], [], 1)
    jit.compile_kernel(Program("e", (), (), (), ())).run([], [], 1)
    out = np.zeros((1, 1))
    jit.compile_kernel(constant).bind([], [out])()
    assert out[0, 0] == math.sqrt(2.0)


@pytest.mark.slow
def test_names_do_not_reach_the_code() -> None:
    for name in HOSTILE:
        program = Program(
            name, (Variable(name, (1,)),), (Variable(name, (1,)),), (("input", 0), ("neg", 0)), (1,)
        )
        plain = Program("p", (Variable("x", (1,)),), (Variable("y", (1,)),), program.code, program.results)
        assert jit.module_text(program) == jit.module_text(plain)
        np.testing.assert_array_equal(run(program, [np.ones((3, 1))], 3)[0], -np.ones((3, 1)))


def test_read_only_inputs_and_checks() -> None:
    program = Program("p", (Variable("x", (2,)),), (Variable("y"),), (("input", 0), ("neg", 0)), (1,))
    kernel = jit.compile_kernel(program)
    x, y = np.ones((3, 2)), np.zeros((3, 1))
    x.flags.writeable = False
    kernel.run([x], [y], 1)
    np.testing.assert_array_equal(y, -1.0)
    for inputs, outputs in (
        ([x], []),
        ([x[:, :1]], [y]),
        ([np.ones((3, 4))[:, ::2]], [y]),
        ([x.astype(np.float32)], [y]),
        ([np.ones((2, 2))], [y]),
        ([x], [np.zeros(3)]),
        ([x], [x[:, :1]]),
    ):
        with pytest.raises(ValueError, match=r"p|x|y"):
            kernel.run(inputs, outputs, 1)
    with pytest.raises(ValueError, match="one row"):
        kernel.bind([np.ones((3, 2))], [y])


@pytest.mark.slow
def test_object_loads_in_a_fresh_process(tmp_path: Path) -> None:
    program = random_program(21, 80)
    image = jit.compile_object(program)
    assert image == jit.compile_object(program)  # byte for byte
    inputs = random_inputs(program, 13)
    expected = empty_outputs(program, 13)
    jit.load_object(image, program).run(inputs, expected, 1)
    (tmp_path / "image").write_bytes(image)
    np.savez(tmp_path / "in.npz", *inputs)
    script = (
        "import sys, pathlib, numpy as np\n"
        "from nacelle.emit.jit import target as jit\n"
        "from support.random_programs import random_program, empty_outputs\n"
        "program = random_program(21, 80)\n"
        "kernel = jit.load_object(pathlib.Path('image').read_bytes(), program)\n"
        "inputs = list(np.load('in.npz').values())\n"
        "outputs = empty_outputs(program, 13)\n"
        "kernel.run(inputs, outputs, 2)\n"
        "np.savez('out.npz', *outputs)\n"
    )
    tests = str(Path(__file__).parents[2])
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tests!r})\n{script}"],
        cwd=tmp_path,
        check=True,
    )
    for a, b in zip(np.load(tmp_path / "out.npz").values(), expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("image", [b"", b"no object at all", b"\x7fELF" + bytes(100)])
def test_damaged_objects_are_refused(image: bytes) -> None:
    with pytest.raises(TargetError, match="object"):
        jit.load_object(image, random_program(1))


def test_truncated_object_is_refused() -> None:
    program = random_program(1)
    image = jit.compile_object(program)
    with pytest.raises(TargetError, match="object"):
        jit.load_object(image[: len(image) // 2], program)


def test_registered() -> None:
    program = random_program(2)
    found = target("jit")
    assert found.kernel is not None
    assert "define void @nacelle_batch" in found.source(program)
    inputs, outputs = random_inputs(program, 5), empty_outputs(program, 5)
    found.kernel(program).run(inputs, outputs, 1)
    assert_within(program, inputs, outputs)
    assert jit.host_machine().cpu in jit.machine_key()
    assert jit.machine_key() != jit.machine_key(jit.JitOptions(fma=False))


@pytest.mark.slow
def test_many_kernels_live_and_go() -> None:
    """A kernel lives as long as what is bound to it, no longer, and computes what it did."""
    programs = [random_program(seed, 30) for seed in range(5)]
    images = [jit.compile_object(program) for program in programs]
    living, calls, expected, results = [], [], [], []
    for k in range(50):
        program = programs[k % 5]
        inputs, outputs, batch = random_inputs(program, 1, seed=k), *(empty_outputs(program, 1) for _ in "12")
        kernel = jit.load_object(images[k % 5], program)
        kernel.run(inputs, batch, 1)
        calls.append(kernel.bind(inputs, outputs))
        living.append(weakref.ref(kernel))
        expected.append(batch)
        results.append(outputs)
        del kernel
    del calls[::2]
    gc.collect()
    assert [reference() is not None for reference in living] == [False, True] * 25
    for call in calls:
        call()
    for outputs, batch in zip(results[1::2], expected[1::2], strict=True):
        for one, other in zip(outputs, batch, strict=True):
            np.testing.assert_array_equal(one, other)
    assert len({array.tobytes() for batch in expected for array in batch}) > 25
