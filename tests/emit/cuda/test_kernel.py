"""Kernels, compiled for this machine and compared number by number with the reference."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.emit.cuda.kernel import array_layout, kernels
from nacelle.emit.cuda.plan import CudaOptions
from support.cuda_run import Many
from support.random_programs import (
    OPERATIONS,
    assert_within,
    error_bounds,
    every_operation,
    random_inputs,
    random_program,
    special_grid,
)

SEEDS = range(5)


def test_random_programs_in_the_ieee_form() -> None:
    """All operations on all special values: NaN, infinities, zeros, subnormals."""
    programs = [*(random_program(seed) for seed in SEEDS), every_operation()]
    many = Many(programs, CudaOptions(ieee=True))
    compared = 0
    for k, program in enumerate(programs):
        inputs = special_grid() if k == len(SEEDS) else random_inputs(program, 15, k)
        compared += assert_within(program, inputs, many.run(k, inputs))
    assert compared > 10_000


def test_random_programs_in_the_fast_form() -> None:
    """At plain numbers the same as IEEE's to rounding; where IEEE gives infinity at most NaN."""
    programs = [random_program(seed) for seed in SEEDS]
    many = Many(programs, CudaOptions())
    compared = 0
    for k, program in enumerate(programs):
        inputs = random_inputs(program, 40, k, special=0.0)
        outputs = np.concatenate(many.run(k, inputs), axis=1)
        flat = np.concatenate(inputs, axis=1)
        for row, values in zip(flat, outputs, strict=True):
            wanted, errors = error_bounds(program, list(row))
            for value, want, error in zip(values, wanted, errors, strict=True):
                if np.isfinite(error) and np.isfinite(want) and not np.isnan(value):
                    compared += 1
                    assert abs(value - want) <= 4.0 * error
                elif np.isfinite(error) and np.isnan(want):
                    assert np.isnan(value)
    assert compared > 300


@pytest.mark.costly
@pytest.mark.parametrize("real", ["double", "float"])
def test_a_robot(real: str) -> None:
    """Inverse dynamics of the five-bar with friction: errors of rounding, and NaN passes through."""
    robot = nacelle.load("fivebar")
    program = nacelle.model(robot, "inverse_dynamics").program()
    many = Many([program], CudaOptions(real=real), shared=("a",))
    rng = np.random.default_rng(3)
    x0, count = np.asarray(nacelle.reference_pose(robot)), 300
    inputs = [
        x0 + rng.uniform(-0.02, 0.02, (count, 2)),
        np.zeros((count, 0)),
        rng.normal(size=(count, 2)),
        rng.normal(size=(1, 2)),
    ]
    inputs[2][7, 0] = np.nan
    flat = np.concatenate([np.broadcast_to(a, (count, a.shape[1])) for a in inputs], axis=1)
    want = np.array(program.evaluate(list(flat.T))).T
    (got,) = many.run(0, inputs)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    assert np.isnan(got[7]).any()
    scale = np.nanmax(np.abs(want))
    assert np.nanmax(np.abs(got - want)) <= (1e-13 if real == "double" else 1e-5) * scale


def test_launches_and_names() -> None:
    program = random_program(1, operations=OPERATIONS)
    made = kernels(program, CudaOptions(name="it"))
    assert made.plain.kernel == "it_eval_plain"
    assert made.tiled is not None
    assert made.tiled.kernel in made.text
    assert made.tiled.shared_bytes >= 2 * array_layout(program, CudaOptions()).rows * 1024
    # Two states a thread in float, side by side.
    pair = kernels(program, CudaOptions(real="float", name="it"))
    assert pair.tiled is not None
    assert (pair.tiled.states, pair.plain.states) == (2, 1)


def test_more_rows_than_shared_memory_are_read_where_they_are_used() -> None:
    from nacelle.program.program import Program, Variable

    size = 240
    code = [("input", k) for k in range(size)]
    code += [("add", 0, 1)] + [("add", size + k, k + 2) for k in range(size - 2)]
    program = Program("wide", (Variable("x", (size,)),), (Variable("y"),), tuple(code), (len(code) - 1,))
    many = Many([program], CudaOptions(ieee=True))
    assert many.made[0].tiled is None
    assert many.made[0].plain.shared_bytes == 0
    x = np.random.default_rng(0).normal(size=(3, size))
    assert np.allclose(many.run(0, [x])[0][:, 0], x.sum(axis=1), rtol=1e-12)
