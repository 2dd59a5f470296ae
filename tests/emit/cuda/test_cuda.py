"""CUDA on this machine: arithmetic, Newton's iteration, values put aside, what the driver is given."""

from __future__ import annotations

import ctypes
import math
from typing import Any
from unittest import mock

import numpy as np
import pytest

import nacelle
from nacelle.emit.cuda import tensor_map
from nacelle.emit.cuda.device_drivers import DeviceNewton, DeviceRk4
from nacelle.emit.cuda.newton import newton_kernel
from nacelle.emit.cuda.plan import CudaOptions, planned, values_held
from nacelle.emit.cuda.target import source_text
from nacelle.emit.newton import NumpyNewton, Rules
from nacelle.emit.registry import target
from nacelle.errors import DeviceError
from nacelle.program.program import Program, Variable
from support import fake_cupy
from support.cuda_run import Many
from support.driver_programs import pendulum, square_roots
from support.fake_cupy import fake
from support.random_programs import random_program

# ---- Drivers on rows of numbers: kernels are made once for each way that inputs are given


def test_nothing_to_do() -> None:
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        none = cupy.empty((2, 0))
        motion = DeviceRk4(pendulum()).integrate(none, cupy.empty((1, 0)), none, h=0.1, steps=3, every=1)
        assert motion.x.shape == (3, 2, 0)
        solution = DeviceNewton(square_roots()).solve(none, none, Rules(1e-9, 5, np.inf, False))
        assert solution.y.shape == (2, 0)


def test_float() -> None:
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        y0, p = (cupy.asarray(np.full((2, 3), value, np.float32)) for value in (1.0, 2.0))
        solver = DeviceNewton(square_roots(), CudaOptions(real="float"))
        rules = Rules(1e-6, 20, np.inf, False)
        first = solver.solve(y0, p, rules)
        assert first.y.dtype == np.float32
        assert np.allclose(first.y, np.sqrt(2.0), rtol=1e-6)
        assert solver._driver(True) is solver._driver(True)


# ---- Arithmetic of the header on this machine

OPS = ("sqrt", "sin", "cos", "sign", "rcp")


def functions() -> Program:
    code = (("input", 0), ("const", 1.0), *((op, 0) for op in OPS[:4]), ("div", 1, 0))
    outputs = tuple(Variable(op) for op in OPS)
    return Program("functions", (Variable("x"),), outputs, code, (2, 3, 4, 5, 6))


@pytest.mark.parametrize(("real", "ulps"), [("double", 2.0), ("float", 3.0)])
def test_functions_are_within_units_in_the_last_place(real: str, ulps: float) -> None:
    many = Many([functions()], CudaOptions(real=real))
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-10, 10, 4000), 10.0 ** rng.uniform(-30, 30, 4000)])
    x = x.astype(many.kind)
    root, sine, cosine, sign, reciprocal = (column[:, 0] for column in many.run(0, [x[:, None]]))
    exact = x.astype(np.longdouble)
    positive, near = x > 0, np.abs(x) < 100
    for got, want, chosen in (
        (root, np.sqrt(np.abs(exact)), positive),
        (reciprocal, 1 / exact, np.full(len(x), True)),
    ):
        want = want.astype(many.kind)
        assert np.all(np.abs(got - want)[chosen] <= ulps * np.spacing(np.abs(want))[chosen])
    # Sines near their zeros are relative to the angle.
    unit = np.finfo(many.kind).eps
    assert np.max(np.abs(sine - np.sin(exact.astype(float)))[near]) < ulps * unit
    assert np.max(np.abs(cosine - np.cos(exact.astype(float)))[near]) < ulps * unit
    assert np.array_equal(sign, np.sign(x))


def test_what_is_not_plain() -> None:
    """√0 = 0; NaN where IEEE gives an infinity; NaN passes; sines of large angles are NaN."""
    many = Many([functions()], CudaOptions())
    special = np.array([0.0, -0.0, math.inf, math.nan, -4.0, 5e-324, 1e300])
    root, sine, cosine, sign, reciprocal = (column[:, 0] for column in many.run(0, [special[:, None]]))
    assert np.array_equal(root[:2], [0.0, 0.0])
    assert np.all(np.isnan(root[2:5]))
    assert np.isclose(root[6], 1e150)
    assert np.all(np.isnan(reciprocal[[0, 1, 2, 3, 5]]))
    assert reciprocal[6] == pytest.approx(1e-300)
    assert np.array_equal(sign[:2], [0.0, 0.0])
    assert np.array_equal(sign[[2, 4, 5]], [1.0, -1.0, 1.0])
    assert np.isnan(sign[3])
    assert np.all(np.isnan(sine[[2, 3, 6]]))
    assert np.all(np.isnan(cosine[[2, 3, 6]]))


# ---- Newton's iteration on the device's terms, on this machine, against the same in NumPy


@pytest.mark.parametrize(
    "rules",
    [Rules(1e-12, 50, np.inf, False), Rules(1e-3, 50, 0.3, True), Rules(1e-12, 3, np.inf, False)],
)
@pytest.mark.parametrize("own", [True, False])
def test_the_same_as_numpy(rules: Rules, own: bool) -> None:
    rng = np.random.default_rng(2)
    y0, p = rng.uniform(0.5, 3.0, (140, 2)), rng.uniform(0.5, 9.0, (140 if own else 1, 2))
    if own:
        p[4, 0] = np.nan
        p[9, 1] = -1.0
    kernel = target("numpy").kernel
    assert kernel is not None
    program = square_roots()
    want = NumpyNewton(program, kernel(program)).solve(
        y0,
        p,
        tolerance=rules.tolerance,
        max_iterations=rules.max_iterations,
        max_step=rules.max_step,
        polish=rules.polish,
    )
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        parameters = cupy.asarray(p.T.copy() if own else p[0])
        got = DeviceNewton(program).solve(cupy.asarray(y0.T.copy()), parameters, rules)
    assert np.array_equal(got.status, want.status)
    # A sample without a solution wanders, and rounding decides where to.
    plain = want.status != 1 if rules.max_iterations > 3 else want.iterations >= 0
    assert np.array_equal(got.iterations[plain], want.iterations[plain])
    assert np.allclose(got.y.T[plain], want.y[plain], rtol=1e-9, equal_nan=True)


def test_a_program_of_another_form() -> None:
    with pytest.raises(ValueError, match="not a step program"):
        newton_kernel(pendulum())


# ---- Layouts of threads: registers, blocks, values put aside


def wide(count: int) -> Program:
    """All squares of many inputs are alive until the last of them is made."""
    code: list[tuple[object, ...]] = [("input", k) for k in range(count)]
    code += [("exp", k) for k in range(count)]
    code += [("min", count, 2 * count - 1)]
    for k in range(1, count):
        code.append(("max", len(code) - 1, count + k))
    code += [("atan2", len(code) - 1, count + k) for k in range(count)]
    results = tuple(range(len(code) - count, len(code)))
    return Program("wide", (Variable("x", (count,)),), (Variable("y", (count,)),), tuple(code), results)


def test_values_that_do_not_fit_are_put_aside() -> None:
    options = CudaOptions()
    program = wide(values_held(options, 1, 2) + 20)
    plan = planned(program)
    assert plan.blocks == 2
    assert 0 < plan.slots.count <= 30
    # Whatever is loaded was stored before, in a slot that nothing else has taken meanwhile.
    held: dict[int, int] = {}
    for k, fetched in zip(plan.order, plan.fetched, strict=True):
        for a in fetched:
            step = plan.code[a]
            assert step is not None
            assert step[0] == "input" or held[plan.slots.slot[a]] == a
        if k in plan.slots.slot:
            held[plan.slots.slot[k]] = k


# ---- The target "cuda" gives source without CuPy, and without a device


def test_source() -> None:
    compiled = nacelle.compile(lambda x: x @ x, inputs={"x": (3,)}, target="numpy")
    text = compiled.source("cuda")
    assert text.startswith("#ifndef NACELLE_CUDA_HEADER")
    assert text.count("__global__") == 2
    assert target("cuda").source(random_program(1)).count("__global__") >= 1
    assert source_text("", CudaOptions(ieee=True)).startswith("#define NACELLE_IEEE")


def test_options_of_the_device_are_no_options_of_the_processor() -> None:
    with pytest.raises(nacelle.CompileError, match="precision and ieee are for target='cuda'"):
        nacelle.compile(lambda x: x, inputs={"x": ()}, precision="float")


# ---- Tensor maps as the driver is asked for them; the driver is replaced


def test_what_the_driver_is_given() -> None:
    given: list[Any] = []

    def encode(*arguments: Any) -> int:
        given[:] = arguments
        ctypes.memset(arguments[0], 7, 128)
        return 0

    rows = fake().asarray(np.zeros((9, 300)))[:, :260]
    with mock.patch.object(tensor_map, "_encode", return_value=encode):
        assert tensor_map.has_tensor_maps()
        made = tensor_map.tensor_map(rows, 128)
    place, kind, rank, address, sizes, strides, box, steps = given[:8]
    assert place.value % 64 == 0
    assert (kind.value, rank.value, address.value) == (8, 2, rows.ctypes.data)
    assert list(sizes) == [260, 9]
    assert list(strides) == [300 * 8]
    assert list(box) == [128, 9]
    assert list(steps) == [1, 1]
    # One number of 128 bytes, as CuPy passes structures.
    assert (made.size, made.nbytes) == (1, 128)
    assert np.all(made["words"] == 0x0707070707070707)


def test_a_refusal() -> None:
    rows = fake().asarray(np.zeros((2, 8)))
    with (
        mock.patch.object(tensor_map, "_encode", return_value=lambda *arguments: 1),
        pytest.raises(DeviceError, match="error 1"),
    ):
        tensor_map.tensor_map(rows, 128)
