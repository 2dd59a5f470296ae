"""Cuda.

body, device drivers, drivers, header, lower, newton, order, plan, residence, target, tensor map.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any
from unittest import mock

import numpy as np
import pytest

import nacelle
from nacelle.emit.cuda import tensor_map
from nacelle.emit.cuda.body import ValuePlaces, statements
from nacelle.emit.cuda.device_drivers import DeviceNewton, DeviceRk4
from nacelle.emit.cuda.drivers import SampleNumbers, ScratchColumns, driver_plan, reads_of
from nacelle.emit.cuda.lower import lowered
from nacelle.emit.cuda.newton import newton_kernel
from nacelle.emit.cuda.order import clusters, fewest_values_first, flow_of, ordered, set_aside
from nacelle.emit.cuda.plan import CudaOptions, planned, values_held
from nacelle.emit.cuda.residence import moves, residence
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

# ---- Statements of a laid-out program


def test_statements() -> None:
    code = (("input", 0), ("input", 1), ("const", -2.5), ("mul", 0, 1), ("sub", 2, 3), ("neg", 4))
    program = Program("p", (Variable("x", (2,)),), (Variable("y", (3,)),), code, (5, 2, 0))
    places = ValuePlaces(
        lambda place, names: f"load {place} {names};", lambda place, texts: f"put {place} {texts};", str
    )
    lines = statements(planned(program), "double", places)
    assert lines.index("const double t4 = nc_fma(-t0_1, t1_1, (-2.5));") > lines.index("load 1 ['t1_1'];")
    assert "const double t5 = -t4;" in lines
    assert lines[-4:] == ["put 1 ['(-2.5)'];", "double t0_2;", "load 0 ['t0_2'];", "put 2 ['t0_2'];"]
    pair = statements(planned(program, CudaOptions(real="float"), states=2), "float", places)
    assert "const float t5b = -t4b;" in pair


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


# ---- Columns of drivers


def test_columns_are_taken_in_turn() -> None:
    frame = ScratchColumns(CudaOptions(), 2, common=3)
    room = frame.room
    assert room == (227 * 1024 // 2 - 1024 - 128) // 1024
    first, second = frame.take(4), frame.take(2)
    assert (first, second) == (0, 4096)
    assert frame.at(second, 1) == "own + 5120"
    assert frame.room == room - 6
    assert frame.bytes == 128 + 6 * 1024


def test_numbers_that_are_read_most_come_first() -> None:
    frame = ScratchColumns(CudaOptions(), 3)
    frame.take(frame.room - 2)
    numbers = SampleNumbers(frame, ["a", "b", "c", "d"], [1, 5, 0, 3])
    assert frame.scratch == 2
    loads = [numbers.load(k) for k in range(4)]
    assert [text.split("(")[0] for text in loads] == ["nc_fetch", "nc_load", "nc_fetch", "nc_load"]
    assert len(numbers.fill()) == 4


def test_reads_of_an_input() -> None:
    plan = driver_plan(pendulum(), CudaOptions(), 9)
    assert reads_of(plan, 3, 2) == [1, 1]
    assert plan.states == 1


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


# ---- Quotients and roots as products with reciprocals

X = [("input", k) for k in range(3)]


def made(code: list[tuple[object, ...]], *results: int) -> Program:
    return Program("p", (Variable("x", (3,)),), (Variable("y", (len(results),)),), tuple(code), results)


def ops(program: Program, *, ieee: bool = False) -> list[str]:
    code, _ = lowered(program, ieee=ieee)
    return sorted(step[0] for step in code if step and step[0] not in ("input", "const"))


def test_quotients_share_their_reciprocal() -> None:
    program = made([*X, ("div", 0, 2), ("div", 1, 2)], 3, 4)
    assert ops(program) == ["mul", "mul", "rcp"]
    assert ops(program, ieee=True) == ["div", "div"]
    one = made([*X, ("const", 1.0), ("div", 3, 2)], 4)
    assert ops(one) == ["rcp"]


def test_a_quotient_by_a_root_is_one_product() -> None:
    program = made([*X, ("sqrt", 0), ("div", 1, 3), ("div", 2, 3)], 4, 5)
    assert ops(program) == ["mul", "mul", "rsqrt"]
    whole = made([*X, ("sqrt", 0), ("div", 1, 3)], 3, 4)
    assert ops(whole) == ["mul", "root", "rsqrt"]


def test_products_are_fused_into_all_their_sums() -> None:
    program = made([*X, ("mul", 0, 1), ("add", 3, 2), ("sub", 3, 2)], 4, 5)
    assert ops(program) == ["fma", "fms"]


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


# ---- Orders for many registers


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("registers", [6, 40])
def test_operands_come_first_and_the_best_is_no_worse(seed: int, registers: int) -> None:
    code, results = lowered(random_program(seed, 300))
    flow = flow_of(code)
    wanted = [k for k in dict.fromkeys(results) if k in flow.needs]
    best = ordered(code, results, registers)
    for order in (best, clusters(flow), fewest_values_first(wanted, flow)):
        place = {k: at for at, k in enumerate(order)}
        assert sorted(place) == sorted(flow.given)
        assert all(place[a] < place[k] for k in order for a in flow.needs[k])
    least = set_aside(best, flow, results, registers)
    assert least <= set_aside(flow.given, flow, results, registers)


def test_sums_of_pairs_need_few_registers() -> None:
    """A sum of 32 products of inputs, written breadth first, is made term by term."""
    code: list[tuple[object, ...]] = [("input", k) for k in range(64)]
    level = [len(code) + k for k in range(32)]
    code += [("abs", 2 * k) for k in range(32)]
    while len(level) > 1:
        pairs = [(level[2 * k], level[2 * k + 1]) for k in range(len(level) // 2)]
        level = [len(code) + k for k in range(len(pairs))]
        code += [("min", a, b) for a, b in pairs]
    program = Program("sum", (Variable("x", (64,)),), (Variable("y"),), tuple(code), (level[0],))
    lower, results = lowered(program)
    flow = flow_of(lower)
    inputs = {a for a in flow.users if a not in flow.needs}
    order = ordered(lower, results, 8)
    assert moves(order, flow.reads, inputs | set(results), 8) == 32  # every input once, nothing else
    assert moves(flow.given, flow.reads, inputs | set(results), 8) > 60


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


def test_few_values_leave_room_for_three_blocks() -> None:
    assert planned(random_program(0)).blocks == 3
    plan = planned(random_program(0), CudaOptions(real="float"))
    assert (plan.states, plan.blocks, plan.moved) == (2, 3, 0)


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


def test_nothing_is_put_aside_where_there_is_no_room() -> None:
    plan = planned(wide(125), fits=lambda plan: plan.slots.count == 0)
    assert plan.slots.count == 0
    assert plan.blocks == 2


# ---- Which values a thread puts aside

# Three inputs (0 to 2), read by 3 and again, in the end, by 5.
READS = {3: (0, 1), 4: (2, 3), 5: (0, 4)}


def test_the_value_needed_last_makes_room() -> None:
    assert residence([3, 4, 5], READS, 8) == [(0, 1), (2,), ()]
    assert residence([3, 4, 5], READS, 1) == [(0, 1), (2,), (0,)]


def test_a_value_that_is_loaded_again_is_stored_once() -> None:
    reads = {1: (0,), 2: (0,), 3: (2,), 4: (3, 1)}
    assert moves([1, 2, 3, 4], reads, {0}, 8) == 1
    # With one register the value of 1 goes to memory and comes back: a load, and a store that counts twice.
    assert moves([1, 2, 3, 4], reads, {0}, 1) > moves([1, 2, 3, 4], reads, {0, 1}, 1)


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
