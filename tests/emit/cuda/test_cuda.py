"""CUDA on this machine: arithmetic, kernels, Newton's iteration, values put aside, device errors."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import nacelle
from nacelle.emit.cuda import device, tensor_map
from nacelle.emit.cuda.device import DeviceNewton, DeviceRk4, LoadedKernels, cupy, device_array, run_on_device
from nacelle.emit.cuda.drivers import newton_kernel
from nacelle.emit.cuda.plan import CudaOptions, plan_program, register_capacity
from nacelle.emit.cuda.target import array_layout, kernels, source_text
from nacelle.emit.newton import NewtonRules
from nacelle.emit.registry import target
from nacelle.errors import CompileError, DeviceError
from nacelle.program.program import Program, Variable
from support import cuda_host, fake_cupy
from support.drivers import circle_and_line, pendulum
from support.fake_cupy import fake_module
from support.random_programs import (
    OPERATIONS,
    assert_within,
    error_bounds,
    every_operation,
    random_inputs,
    random_program,
    special_grid,
)

# ---- Programs through their plain kernel on this machine (`cuda_host`), several of them in one source

Array = np.ndarray


class Many:
    """Programs in one source; `run` evaluates one of them."""

    def __init__(self, programs: Sequence[Program], options: CudaOptions, shared: Sequence[str] = ()) -> None:
        self.programs, self.shared = programs, shared
        self.made = [
            kernels(program, replace(options, name=f"program_{k}"), shared)
            for k, program in enumerate(programs)
        ]
        self.text = source_text("\n".join(one.text for one in self.made), options)
        self.kind = np.float64 if options.real == "double" else np.float32

    def run(self, k: int, inputs: Sequence[Array]) -> list[Array]:
        """Outputs (N, size) of program k at inputs (N, size); of shared ones the first row counts."""
        program, count = self.programs[k], max((len(array) for array in inputs), default=1)
        arguments: list[Any] = []
        held = []
        for variable, array in zip(program.inputs, inputs, strict=True):
            if not variable.size:
                continue
            own = variable.name not in self.shared
            rows = np.ascontiguousarray(array.T if own else array[0], dtype=self.kind)
            held.append(rows)
            arguments.append(ctypes.c_void_p(rows.ctypes.data))
            arguments += [ctypes.c_uint64(count)] if own else []
        outputs = [np.full((v.size, count), 77.0, dtype=self.kind) for v in program.outputs]
        for rows in outputs:
            if len(rows):
                arguments += [ctypes.c_void_p(rows.ctypes.data), ctypes.c_uint64(count)]
        launch = self.made[k].plain
        cuda_host.call(self.text, launch.kernel, 2, (*arguments, ctypes.c_uint64(count)))
        return [rows.T for rows in outputs]


# ---- Drivers on rows of numbers: kernels are made once for each way that inputs are given


def test_nothing_to_do() -> None:
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        none = cupy.empty((2, 0))
        motion = DeviceRk4(pendulum()).integrate(none, cupy.empty((1, 0)), none, h=0.1, steps=3, every=1)
        assert motion.x.shape == (3, 2, 0)
        solution = DeviceNewton(circle_and_line()).solve(none, none, NewtonRules(1e-9, 5, np.inf, False))
        assert solution.y.shape == (2, 0)


def test_float() -> None:
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        y0, p = (cupy.asarray(np.float32([value] * 3).T.copy()) for value in ([1.0, 0.5], [4.0, 0.7]))
        solver = DeviceNewton(circle_and_line(), CudaOptions(real="float"))
        rules = NewtonRules(1e-6, 20, np.inf, False)
        first = solver.solve(y0, p, rules)
        assert first.y.dtype == np.float32
        assert np.allclose(np.sum(first.y**2, axis=0), 4.0, rtol=1e-6)
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
    program = wide(register_capacity(options, 1, 2) + 20)
    plan = plan_program(program)
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


# ---- Tensor maps as the driver is asked for them; the driver is replaced


def test_what_the_driver_is_given() -> None:
    given: list[Any] = []

    def encode(*arguments: Any) -> int:
        given[:] = arguments
        ctypes.memset(arguments[0], 7, 128)
        return 0

    rows = fake_module().asarray(np.zeros((9, 300)))[:, :260]
    with mock.patch.object(tensor_map, "_encoder", return_value=encode):
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
    rows = fake_module().asarray(np.zeros((2, 8)))
    with (
        mock.patch.object(tensor_map, "_encoder", return_value=lambda *arguments: 1),
        pytest.raises(DeviceError, match="error 1"),
    ):
        tensor_map.tensor_map(rows, 128)


# ---- Errors without a device, and arrays of the wrong kind; CuPy is replaced


def test_without_cupy() -> None:
    with (
        fake_cupy.in_place(None),
        pytest.raises(DeviceError, match=r"needs CuPy \(.*'nacelle-robotics\[gpu\]'\).*target='jit'"),
    ):
        cupy()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"devices": 0}, "there is no CUDA device"),
        ({"failure": fake_cupy.CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device")}, "there is no"),
        ({"failure": fake_cupy.CUDARuntimeError("cudaErrorInsufficientDriver: ...")}, "driver .* update it"),
        ({"failure": fake_cupy.CUDARuntimeError("cudaErrorSystemNotReady")}, "no CUDA device can be used"),
    ],
)
def test_without_a_device(made: dict[str, object], words: str) -> None:
    with fake_cupy.in_place(fake_cupy.fake_module(**made)), pytest.raises(DeviceError, match=f"{words}.*jit"):
        cupy()


def test_failures_say_what_else_there_is() -> None:
    with fake_cupy.in_place(fake_cupy.fake_module(memory=1000)) as module:
        with pytest.raises(DeviceError, match=r"does not suffice for it.*1.0 of 2.0 GB.*fewer states.*jit"):
            run_on_device("it", lambda: module.empty(1000))

        def fail(error: Exception) -> None:
            raise error

        for error in (fake_cupy.CompileError("x"), fake_cupy.CUDADriverError("y")):
            with pytest.raises(DeviceError, match=r"it: .*jit"):
                run_on_device("it", lambda error=error: fail(error))


def test_arrays_of_the_wrong_kind() -> None:
    class Foreign:
        """An array of another package, by DLPack."""

        def __init__(self, kind: int) -> None:
            self.kind, self.array = kind, np.ones(3)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.kind, 0

    with fake_cupy.in_place(fake_cupy.fake_module()) as module:
        for wrong in (np.ones(3), [1.0, 2.0], Foreign(1)):
            with pytest.raises(DeviceError, match=r"'x' is .* in the processor's memory.*cupy.asarray.*jit"):
                device_array(wrong, "x", "double")
        with pytest.raises(DeviceError, match=r"float32, the program computes in float64.*CudaOptions"):
            device_array(module.asarray(np.ones(3, np.float32)), "x", "double")
        assert np.array_equal(device_array(Foreign(2), "x", "double"), np.ones(3))
    assert issubclass(DeviceError, CompileError)


def test_tiles_need_aligned_rows() -> None:
    with fake_cupy.in_place(fake_cupy.fake_module()) as module:
        rows = module.asarray(np.zeros((3, 4)))
        assert device._is_aligned([(rows, "own")]) == (rows.ctypes.data % 16 == 0)
        assert not device._is_aligned([(module.asarray(np.zeros((3, 5))), "own")])
        assert device._is_aligned([(module.asarray(np.zeros(3)), "shared")])
        loaded = LoadedKernels(kernels(random_program(3)), CudaOptions(), "it")
        assert loaded.used == {"plain": {"registers": 100, "spilled": 0}}  # no tiles before capability 9


# ---- Kernels, compiled for this machine and compared number by number with the reference

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
