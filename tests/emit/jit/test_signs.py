"""Values kept with either sign: the same numbers, and zeros where their sign matters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.emit.jit import target as jit
from nacelle.emit.jit.plan import fuse
from nacelle.emit.jit.signs import never_negative, without_negations, zero_tells
from nacelle.program.program import Instruction, Program, Variable
from support.random_programs import assert_within, empty_outputs, evaluate, random_inputs, random_program

INPUTS: list[Instruction] = [("input", k) for k in range(4)]
# Without functions that look at more than the number itself.
ARITHMETIC = ("add", "sub", "mul", "mul", "div", "sqrt", "neg", "abs", "sign", "where", "min", "max")


def made(code: list[Instruction], results: tuple[int, ...]) -> Program:
    return Program("p", (Variable("x", (4,)),), (Variable("y", (len(results),)),), tuple(code), results)


def unfused(code: tuple[Instruction | None, ...], results: list[int], program: Program) -> Program:
    """The same program with products and sums apart, which the reference evaluates."""
    steps: list[Instruction] = []
    place: list[int] = []
    for step in code:
        assert step is not None
        op, *a = step
        if op not in ("const", "input"):
            a = [place[k] for k in a]
        if op in ("fma", "fms", "fnma"):
            steps.append(("mul", *a[:2]))
            product = len(steps) - 1
            pair = {"fma": ("add", product, a[2]), "fms": ("sub", product, a[2])}
            steps.append(pair.get(op, ("sub", a[2], product)))
        else:
            steps.append((op, *a))
        place.append(len(steps) - 1)
    return Program("p", program.inputs, program.outputs, tuple(steps), tuple(place[k] for k in results))


@pytest.mark.parametrize("seed", range(40))
def test_the_same_numbers_but_for_the_sign_of_zeros(seed: int) -> None:
    """Exactly, since rounding knows no sign; NaN and infinities alike, which divisors' zeros decide."""
    program = random_program(seed, 150, operations=ARITHMETIC)
    code, results = without_negations(fuse(program), program.results)
    assert not any(step is not None and step[0] == "fms" for step in code)
    written = unfused(code, results, program)
    written.check()
    plain = unfused(*_as_fused(program), program)
    inputs = random_inputs(program, 12, seed)
    for ours, reference in zip(evaluate(written, inputs), evaluate(plain, inputs), strict=True):
        np.testing.assert_array_equal(ours, reference)
    assert_within(program, inputs, evaluate(written, inputs))


def _as_fused(program: Program) -> tuple[tuple[Instruction | None, ...], list[int]]:
    """A program as it is fused, without what is not needed."""
    fused = fuse(program)
    kept = [k for k, step in enumerate(fused) if step is not None]
    place = {k: position for position, k in enumerate(kept)}
    steps = []
    for k in kept:
        op, *a = fused[k] or ()
        steps.append((op, *(a if op in ("const", "input") else [place[b] for b in a])))
    return tuple(steps), [place[k] for k in program.results]


def test_a_product_less_a_sum_is_one_operation() -> None:
    # (x0 x1 - (x2 + x3)) x0: the difference is kept as its negation, and so is the product, or the sum is.
    code: list[Instruction] = [*INPUTS, ("add", 2, 3), ("mul", 0, 1), ("sub", 5, 4), ("mul", 6, 0)]
    code += [("mul", 7, 7)]
    found, _ = without_negations(fuse(made(code, (8,))), (8,))
    steps = [step[0] for step in found if step is not None and step[0] != "input"]
    assert steps == ["add", "fnma", "mul", "mul"]


def test_a_result_is_never_computed_with_the_opposite_sign() -> None:
    # x2 - x0 x1 is +0 where both are equal, and so is x0 x1 - x2.
    for difference in (("sub", 4, 2), ("sub", 2, 4)):
        program = made([*INPUTS, ("mul", 0, 1), difference], (5,))
        code, results = without_negations(fuse(program), program.results)
        (value,) = unfused(code, results, program).evaluate([2.0, 3.0, 6.0, 0.0])
        assert math.copysign(1.0, value) == 1.0


def test_divisors_and_angles_keep_the_sign_of_their_zeros() -> None:
    """What a divisor is made of is computed as it is, so that 1 / 0 is the infinity of the reference."""
    for last in (("div", 3, 6), ("atan2", 6, 3), ("atan2", 3, 6)):
        code = [*INPUTS, ("mul", 0, 1), ("add", 2, 2), ("sub", 4, 5), last]
        program = made(code, (7,))
        signed = without_negations(fuse(program), program.results)
        for x in ([2.0, 3.0, 3.0, -1.0], [2.0, 3.0, 3.0, 0.0], [-2.0, 3.0, -3.0, -1.0]):
            (ours,), (reference,) = unfused(*signed, program).evaluate(x), program.evaluate(x)
            np.testing.assert_array_equal(ours, reference)


def test_which_zeros_tell() -> None:
    # x0 - x1 under a division; its square is +0 whatever its sign, and so is a sum with it.
    code: list[Instruction | None] = [*INPUTS, ("sub", 0, 1), ("mul", 4, 4), ("add", 5, 5), ("div", 2, 6)]
    certain = never_negative(code)
    assert certain[5:7] == [True, True]
    assert zero_tells(code, certain) == [False] * 6 + [True, False]
    code[6] = ("mul", 4, 3)
    assert zero_tells(code, never_negative(code)) == [True, True, False, True, True, False, True, False]


@pytest.mark.parametrize("seed", range(3))
def test_one_sample_alone_and_in_a_batch_agree_bit_by_bit(seed: int) -> None:
    program = random_program(seed, 120, operations=ARITHMETIC)
    kernel = jit.kernel(program)
    inputs = random_inputs(program, 9, seed)
    outputs = empty_outputs(program, 9)
    kernel.run(inputs, outputs, 1)
    for k in range(9):
        alone = empty_outputs(program, 1)
        kernel.bind([a[k : k + 1].copy() for a in inputs], alone)()
        for one, many in zip(alone, outputs, strict=True):
            # Of NaN the bits may differ.
            same = one[0].view(np.int64) == many[k].view(np.int64)
            assert np.all(same | (np.isnan(one[0]) & np.isnan(many[k])))
