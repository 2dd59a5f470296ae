"""Programs over boxes: the results at points of a box never leave the bounds, on NumPy and compiled."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from nacelle.compile.interval import BoxFunction
from nacelle.kinematics import kinematic_model
from nacelle.program.graph import Graph
from nacelle.program.interval import ExactGraph, derivative_program, directional_program, interval_program
from nacelle.program.program import BINARY, UNARY, Program, Variable, variable_slices
from nacelle.program.trace import trace
from nacelle.spatial.interval import Interval
from support.library import NAMES, library_robot

INPUTS, OUTPUTS = 4, 3


def random_program(seed: int, length: int = 40) -> Program:
    """A program of random operations; divisors and radicands are mostly positive."""
    rng = np.random.default_rng(seed)
    code: list[tuple[object, ...]] = [("input", k) for k in range(INPUTS)]
    code += [("const", float(value)) for value in rng.normal(size=3)]
    while len(code) < length:
        op = str(rng.choice([*UNARY, *BINARY, *BINARY, "where"]))
        a, b, c = (int(k) for k in rng.integers(0, len(code), 3))
        if op in ("sqrt", "div"):
            # 1 + b^2 is the divisor or the radicand.
            code += [("mul", b, b), ("const", 1.0)]
            code.append(("add", len(code) - 2, len(code) - 1))
            b = len(code) - 1
            code.append((op, b) if op == "sqrt" else (op, a, b))
        elif op == "exp":
            code += [("sin", a), ("exp", len(code))]
        else:
            code.append((op, *(a, b, c)[: 3 if op == "where" else 2 if op in BINARY else 1]))
    last = tuple(range(len(code) - OUTPUTS, len(code)))
    return Program(
        f"random{seed}", (Variable("x", (INPUTS,)),), (Variable("y", (OUTPUTS,)),), tuple(code), last
    )


def random_boxes(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Boxes (count, size, 2) of widths from nothing to 1."""
    centre = rng.normal(size=(count, size))
    half = 10.0 ** rng.uniform(-16.0, 0.0, (count, 1)) * rng.uniform(0.0, 1.0, (count, size))
    return np.stack([centre - half, centre + half], axis=-1)


def points_leave(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Where values lie outside bounds; comparisons with NaN say nothing."""
    with np.errstate(invalid="ignore"):
        return (values < bounds[..., 0]) | (values > bounds[..., 1])


def evaluate(program: Program, rows: np.ndarray) -> np.ndarray:
    """The program in doubles, whose operations round to between the bounds, too."""
    with np.errstate(all="ignore"):
        results = program.evaluate(list(rows.T))
    return np.stack([np.broadcast_to(result, len(rows)) for result in results], axis=-1)


@pytest.mark.parametrize("seed", range(12))
def test_points_never_leave(seed: int) -> None:
    rng, program = np.random.default_rng(seed), random_program(seed)
    boxes = random_boxes(rng, 3000, INPUTS)
    compiled, plain = (BoxFunction(program, target)(boxes)["y"] for target in ("jit", "numpy"))
    for _ in range(4):
        part = rng.choice([0.0, 1.0, -1.0], (len(boxes), INPUTS)) if rng.uniform() < 0.3 else None
        t = rng.uniform(0.0, 1.0, (len(boxes), INPUTS)) if part is None else 0.5 * (1.0 + part)
        points = np.clip(boxes[..., 0] + t * (boxes[..., 1] - boxes[..., 0]), boxes[..., 0], boxes[..., 1])
        values = evaluate(program, points)
        assert not points_leave(values, compiled).any()
        assert not points_leave(values, plain).any()
    # Both targets are about as narrow.
    with np.errstate(invalid="ignore"):
        near = np.isclose(compiled, plain, rtol=1e-9, atol=1e-9) | ~np.isfinite(plain)
    assert np.mean(near) > 0.99


@pytest.mark.parametrize("seed", range(3))
def test_holds_exact_results(seed: int) -> None:
    program = random_program(seed + 100, 25)
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, INPUTS))
    bounds = BoxFunction(program)(np.stack([points, points], axis=-1))["y"]
    with mpmath.workdps(60):
        for row, bound in zip(points, bounds, strict=True):
            exact = program.evaluate([mpmath.mpf(value) for value in row])
            for value, (low, high) in zip(exact, bound, strict=True):
                assert not value < low
                assert not value > high


def test_folds_no_rounding() -> None:
    graph = ExactGraph()
    near = 0.1 + 2.0**-56
    assert graph.const(0.1) != graph.const(near)
    assert Graph().const(0.1) == 0
    x = graph.input(0)
    assert graph.nodes[graph.div(x, graph.const(3.0))][0] == "div"
    twice = graph.mul(graph.const(0.1), graph.mul(graph.const(0.3), x))
    assert graph.nodes[twice][0] == "mul"
    assert graph.nodes[graph.nodes[twice][2]][0] == "mul"
    assert graph.values[graph.mul(graph.const(0.1), graph.const(0.3))] is None
    assert graph.values[graph.sub(graph.const(0.75), graph.const(0.5))] == 0.25


def test_constants_are_not_rounded_inwards() -> None:
    # 0.1 * 3 is no double: bounds of a program of constants alone hold the exact product of the doubles.
    code = (("const", 0.1), ("const", 3.0), ("mul", 0, 1), ("input", 0), ("add", 2, 3))
    program = Program("sum", (Variable("x"),), (Variable("y"),), code, (4,))
    low, high = BoxFunction(program)(np.zeros(2))["y"]
    assert Fraction(low) < Fraction(0.1) * 3 < Fraction(high)
    assert high - low < 1e-14


@pytest.mark.parametrize("name", NAMES)
def test_kinematics_of_robots(name: str) -> None:
    robot = library_robot(name)
    x0, y0 = kinematic_model.mechanism_of(robot).reference
    program = trace(
        lambda x, y: kinematic_model.joint_positions(robot, x, y), {"x": x0.shape, "y": y0.shape}
    ).program()
    margins = next(span for variable, span in variable_slices(program.outputs) if variable.name == "margins")
    rng = np.random.default_rng(1)
    centre = np.concatenate([x0, y0])
    for size in (1e-2, 1e-5, 0.0):
        half = size * rng.uniform(0.0, 1.0, (60, len(centre)))
        low, high = centre - half, centre + half
        points = np.clip(centre + half * rng.uniform(-1.0, 1.0, half.shape), low, high)
        with np.errstate(all="ignore"):
            results = program.evaluate([Interval(*ends) for ends in zip(low.T, high.T, strict=True)])
        bounds = np.array(
            [
                np.broadcast_to([r.lo, r.hi], (2, 60)) if isinstance(r, Interval) else np.full((2, 60), r)
                for r in results
            ]
        ).transpose(2, 0, 1)
        assert not points_leave(evaluate(program, points), bounds).any()
    # At a point all margins are known to eleven digits.
    assert np.ptp(bounds[:, margins], axis=-1).max(initial=0.0) < 1e-11


def test_bounds_are_a_plain_program() -> None:
    bounds = interval_program(random_program(3))
    bounds.check()
    assert [variable.name for variable in bounds.inputs] == ["x_lo", "x_hi"]
    assert [variable.name for variable in bounds.outputs] == ["y_lo", "y_hi"]


@pytest.mark.parametrize("seed", range(4))
def test_mean_value_forms(seed: int) -> None:
    # y(x) lies in y(m) + y'(X) (x - m), by entries and along the way, where y' is known.
    program, rng = random_program(seed), np.random.default_rng(seed)
    boxes = random_boxes(rng, 800, INPUTS)
    middle = 0.5 * (boxes[..., 0] + boxes[..., 1])
    points = boxes[..., 0] + rng.uniform(0.0, 1.0, middle.shape) * (boxes[..., 1] - boxes[..., 0])
    way = points - middle
    slopes = BoxFunction(derivative_program(program, ["x"]), "numpy")(boxes)["d_y"]
    along = BoxFunction(directional_program(program), "numpy")(boxes, np.stack([way, way], axis=-1))["d_y"]
    reach = np.sort(slopes * way[:, None, :, None], axis=-1).sum(axis=2)
    change = evaluate(program, points) - evaluate(program, middle)
    size = 1e-9 * (1.0 + np.abs(change) + np.abs(evaluate(program, middle)))[..., None] * [-1.0, 1.0]
    assert not points_leave(change, reach + size).any()
    assert not points_leave(change, along + size).any()
    assert np.isfinite(along).any()
    # Entries and directions say the same at points.
    at = np.stack([middle, middle], axis=-1)
    J = BoxFunction(derivative_program(program, ["x"]), "numpy")(at)["d_y"].mean(axis=-1)
    d = BoxFunction(directional_program(program), "numpy")(at, np.stack([way, way], axis=-1))["d_y"]
    with np.errstate(invalid="ignore"):
        far = np.abs((J @ way[..., None])[..., 0] - d.mean(axis=-1)) > 1e-6 * (1.0 + np.abs(d).max(axis=-1))
    assert not far.any()


def test_derivatives_say_nothing_where_a_function_jumps() -> None:
    code = (("input", 0), ("const", 1.0), ("const", 2.0), ("where", 0, 1, 2), ("add", 0, 3))
    program = Program("jump", (Variable("x", (1,)),), (Variable("y", (1,)),), code, (4,))
    slope = BoxFunction(derivative_program(program, ["x"]), "numpy")
    assert np.isnan(slope(np.array([[-1.0, 1.0]]))["d_y"]).all()
    assert np.allclose(slope(np.array([[0.5, 1.0]]))["d_y"], 1.0)


@pytest.mark.soak
def test_a_billion_points() -> None:
    programs = [random_program(seed) for seed in range(1000, 1100)]
    for seed, program in enumerate(programs):
        rng = np.random.default_rng(seed)
        function = BoxFunction(program, "numpy")
        for _ in range(100):
            boxes = random_boxes(rng, 1000, INPUTS)
            bounds = function(boxes)["y"]
            for _ in range(100):
                t = rng.uniform(0.0, 1.0, (len(boxes), INPUTS))
                points = boxes[..., 0] + t * (boxes[..., 1] - boxes[..., 0])
                values = evaluate(program, np.clip(points, boxes[..., 0], boxes[..., 1]))
                assert not points_leave(values, bounds).any()
