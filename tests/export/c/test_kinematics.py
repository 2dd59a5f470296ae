"""Kinematics in C: any calls in any order, and the three implementations of what follows solutions."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import make_program
from nacelle.compile.native import numpy_kernel
from nacelle.dynamics.jacobian import sample_poses
from nacelle.emit.c.driver import track_source
from nacelle.emit.c.target import COptions
from nacelle.emit.jit.track import Track, compile_track
from nacelle.emit.track import BLOCKED, FOLLOWED, ROUNDS, NumpyTrack, TrackRules, TrackSolver
from nacelle.kinematics.branch import pose_units, unknown_units
from nacelle.kinematics.mechanism.mechanism import mechanism_of, with_turn_counting
from nacelle.kinematics.solve.newton_steps import closing_path_step, pose_path_step
from nacelle.model.robot import Robot
from nacelle.tree.actuation import actuator_scales
from support.cc import COMPILERS, EXACT, WARNINGS, compile_shared, pointer, run_executable
from support.kinematics_fuzz import (
    FLAGS,
    FORWARD,
    INVALID,
    INVERSE,
    OUT_OF_LIMITS,
    RESET,
    Calls,
    check_calls,
    draw_calls,
    export_kinematics,
    run_calls,
)
from support.library import NAMES, library_robot
from support.random_robots import random_robot
from support.random_robots.legs import CASES
from support.stress_robots import STRESS

Array = np.ndarray

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


# ---- any calls in any order, under sanitizers


def fuzz(robot: Robot, folder: Path, count: int, seed: int = 0) -> Calls:
    """Run calls in double and check them."""
    package, name = export_kinematics(robot, folder)
    calls = run_calls(robot, package, name, draw_calls(robot, count, seed), compiler=COMPILERS[0])
    assert not check_calls(calls).wrong
    return calls


@pytest.mark.costly
@needs_compiler
@pytest.mark.parametrize("name", ["fivebar", "delta", "3rrr"])
def test_calls_in_any_order(tmp_path: Path, name: str) -> None:
    calls = fuzz(library_robot(name), tmp_path / "package", 500)
    # All of it happens: results within and beyond limits, invalid input, and what is out of reach.
    for kind in (FORWARD, INVERSE):
        assert {0, 2, 3} <= set(calls.status[calls.kind == kind])
    assert OUT_OF_LIMITS in calls.status


@pytest.mark.slow
@needs_compiler
def test_angles_that_count_turns(tmp_path: Path) -> None:
    """As in a package with a controller: they are unknowns, and begin where they are."""
    calls = fuzz(with_turn_counting(library_robot("dymo")), tmp_path / "package", 500)
    for kind in (FORWARD, INVERSE):
        assert np.mean(calls.status[calls.kind == kind] <= OUT_OF_LIMITS) > 0.3


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("name", "seed"), [("redundant planar 4-RRR", 1), ("loop inside a leg", 3)])
def test_robots_of_no_family(tmp_path: Path, name: str, seed: int) -> None:
    """Redundant drives fit at poses alone, not on the way; an angle begins a turn from its guess."""
    done = nacelle.export(STRESS[name](seed), "kinematics", out=tmp_path / "package")
    assert (done.out / "test" / "self_test.c").exists()


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("name", NAMES)
def test_calls_of_the_library(tmp_path: Path, name: str) -> None:
    fuzz(library_robot(name), tmp_path / "package", 5000, seed=1)


@pytest.mark.soak
@needs_compiler
@pytest.mark.parametrize("name", NAMES)
def test_a_million_calls_of_the_library(tmp_path: Path, name: str) -> None:
    fuzz(library_robot(name), tmp_path / "package", 40_000, seed=2)


@pytest.mark.soak
@needs_compiler
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("profile", CASES)
def test_a_million_calls_of_random_robots(tmp_path: Path, profile: str, seed: int) -> None:
    fuzz(random_robot(profile, seed), tmp_path / "package", 10_000, seed)


@pytest.mark.slow
@needs_compiler
def test_a_wrong_result_is_seen(tmp_path: Path) -> None:
    """What is checked can fail: results changed in their last digits, swapped, or on the other side."""
    robot = library_robot("fivebar")
    package, name = export_kinematics(robot, tmp_path / "package")
    calls = run_calls(robot, package, name, draw_calls(robot, 200, 0), compiler=COMPILERS[0])
    good = (calls.status <= OUT_OF_LIMITS) & (calls.kind == FORWARD)
    index = int(np.flatnonzero(good)[3])
    for what, change in (
        ("loops", {"x": calls.x + 1e-9 * robot.size * (np.arange(len(good)) == index)[:, None]}),
        ("invalid input", {"status": np.where(np.arange(len(good)) == index, INVALID, calls.status)}),
        ("actuators", {"q": np.where((np.arange(len(good)) == index)[:, None], calls.q[:, ::-1], calls.q)}),
        ("margin", {"margin": np.where(np.arange(len(good)) == index, 0.0, calls.margin)}),
    ):
        wrong = check_calls(Calls(**(vars(calls) | change))).wrong
        assert index in wrong[what], what


@pytest.mark.slow
@needs_compiler
def test_floats_stay_near_doubles(tmp_path: Path) -> None:
    """The same calls in float: the same results where both have one, and never a number that is none."""
    robot = library_robot("gough-stewart")
    package, name = export_kinematics(robot, tmp_path / "package", "both")
    kind, given = draw_calls(robot, 400, 3, length=2)
    single = run_calls(robot, package, name, (kind, given), real="float", compiler=COMPILERS[0])
    double = run_calls(robot, package, name, (kind, given), compiler=COMPILERS[0])
    assert np.all(single.is_state == 1)
    assert np.all(single.is_kept == 1)
    assert np.all((single.margin > 0.0) & np.all(np.isfinite(np.column_stack([single.q, single.x])), axis=1))
    both = (single.status <= OUT_OF_LIMITS) & (double.status <= OUT_OF_LIMITS) & (kind != RESET)
    near = both & (np.max(np.abs(double.x), axis=1) < 3.0 * robot.size) & (double.margin > 0.1)
    assert np.sum(near) > 50
    off = np.abs(single.x - double.x)[near]
    assert np.max(np.median(off, axis=0)) < 1e-6
    assert np.max(off) < 1e-2


# ---- geometry that is given at run time


_SET = """
#include "NAME.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    static NAME_kinematics s, before;
    double parameters[3][PARAMETERS], q[M], x[NX], status[4];
    NAME_kinematics_reset(&s);
    if (fread(parameters, sizeof parameters, 1, stdin) != 1) {
        return 1;
    }
    fwrite(s.q, sizeof s.q, 1, stdout);
    status[0] = NAME_kinematics_set(&s, parameters[0]);
    before = s;
    status[1] = NAME_kinematics_set(&s, parameters[1]);
    status[2] = NAME_kinematics_set(&s, parameters[2]);
    status[3] = memcmp(&s, &before, sizeof s) == 0;
    fwrite(status, sizeof status, 1, stdout);
    fwrite(s.q, sizeof s.q, 1, stdout);
    while (fread(x, sizeof x, 1, stdin) == 1) {
        status[0] = NAME_inverse(&s, x, q);
        status[1] = NAME_forward(&s, q, x);
        status[2] = s.margin;
        fwrite(status, sizeof status, 1, stdout);
        fwrite(q, sizeof q, 1, stdout);
        fwrite(x, sizeof x, 1, stdout);
    }
    return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize(
    "name", ["fivebar", *(pytest.param(name, marks=pytest.mark.slow) for name in ("delta", "hexaglide"))]
)
def test_geometry_at_run_time(tmp_path: Path, name: str) -> None:
    """Other numbers are another robot; those that are none, or out of reach, change nothing."""
    robot = library_robot(name)
    nominal = robot.numbers.vector("geometry")
    changed = nominal * (1.0 + 2e-3 * np.random.default_rng(0).uniform(-1.0, 1.0, len(nominal)))
    modified = robot.with_numbers(changed, "geometry")
    package, prefix = export_kinematics(robot, tmp_path / "package", parameters="geometry")
    files = {path.name: path.read_text() for path in (*package.glob("include/*.h"), *package.glob("src/*.c"))}
    x = sample_poses(robot, 20, seed=1)
    m, nx = len(robot.actuators), x.shape[1]
    text = _SET
    for word, value in (("PARAMETERS", len(nominal)), ("NAME", prefix), ("NX", nx), ("M", m)):
        text = re.sub(rf"\b{word}(?=\b|_)", str(value), text)
    unreachable = nominal * np.random.default_rng(1).uniform(-9.0, 9.0, len(nominal))
    given = [changed, np.where(np.arange(len(nominal)) == 1, np.nan, nominal), unreachable, x.ravel()]
    out = run_executable(files | {"main.c": text}, COMPILERS[0], FLAGS, np.concatenate(given).tobytes())
    values = np.frombuffer(out)
    first, status, second, rows = np.split(values, np.cumsum([m, 4, m]))
    reference = mechanism_of(robot).reference[0]
    for q, made_for in ((first, robot), (second, modified)):
        expected = nacelle.inverse_kinematics(made_for, reference, limits=False).q
        np.testing.assert_allclose(q, expected, atol=1e-12)
    assert list(status) == [0, INVALID, 3, 1]
    table = rows.reshape(len(x), 4 + m + nx)
    solution = nacelle.inverse_kinematics(modified, x, limits=False)
    assert np.all(table[:, :2] <= OUT_OF_LIMITS)
    np.testing.assert_allclose(table[:, 4 : 4 + m], solution.q, atol=1e-11)
    np.testing.assert_allclose(table[:, 4 + m :], x, atol=1e-11)


def test_forward_kinematics_means_both(tmp_path: Path) -> None:
    robot, target = library_robot("fivebar"), nacelle.io.CTarget(precision="double", self_test=False)
    done = nacelle.export(robot, "forward_kinematics", out=tmp_path / "package", target=target)
    assert {"spheres_at", "joints_at"} <= set(done.counts)
    with pytest.raises(nacelle.NacelleError, match="did you mean 'forward_kinematics'"):
        nacelle.export(robot, "forward_kinematic", out=tmp_path / "other", target=target)


def test_iterated_legs_refuse_geometry(tmp_path: Path) -> None:
    target = nacelle.io.CTarget(parameters="geometry")
    with pytest.raises(nacelle.NacelleError, match="legs of quattro are solved numerically"):
        nacelle.export(library_robot("quattro"), "kinematics", out=tmp_path / "quattro", target=target)
    assert not (tmp_path / "quattro").exists()


# ---- the driver that follows solutions, in NumPy, in native code and in C


class CompiledTrack:
    """The driver in C, a sample after the other; the first evaluation is the caller's."""

    def __init__(self, solver: NumpyTrack, units: Array, compiler: str) -> None:
        program = solver.program
        options = COptions(name="follow_way", batch=False)
        files = track_source(program, options, units=units.tolist())
        library = compile_shared(files, compiler, (*WARNINGS, "-O2", *EXACT))
        self._step, self._follow, self._sizes = library.follow_way, library.follow_way_track, solver.sizes

    def solve(self, y0: Array, p0: Array, p1: Array, rules: TrackRules) -> tuple[Array, ...]:
        """Unknowns, statuses, evaluations and distances, as the others give them."""
        n, _, m = self._sizes
        assert len(y0) == 1
        y, distances = np.tile(y0, (len(p1), 1)), np.zeros((len(p1), m))
        status, taken = np.zeros(len(p1), dtype=np.int64), np.zeros(len(p1), dtype=np.int64)
        step, error, count = np.zeros(n), np.zeros(1), ctypes.c_int()
        for k in range(len(p1)):
            row, start, goal = y[k], np.ascontiguousarray(p0[k % len(p0)]), np.ascontiguousarray(p1[k])
            self._step(*map(pointer, (row, start, step, error, distances[k])))
            status[k] = self._follow(
                *map(pointer, (row, start, goal, distances[k])),
                *(ctypes.c_double(rules.tolerance), ctypes.c_int(rules.cap), ctypes.byref(count)),
            )
            taken[k] = count.value + 1
        return y, status, taken, distances


@needs_compiler
@pytest.mark.parametrize("name", ["fivebar", "gough-stewart", pytest.param("3rps", marks=pytest.mark.slow)])
def test_all_targets_follow_alike(name: str) -> None:
    """NumPy, native code and C: the same statuses and evaluations, unknowns to rounding, also at the cap."""
    robot = library_robot(name)
    mechanism = mechanism_of(robot)
    shapes = {"u": (mechanism.layout.nx + mechanism.unknown_count,), "q": (len(robot.actuators),)}
    program = make_program(pose_path_step, robot, shapes)
    units = np.concatenate([pose_units(mechanism), unknown_units(mechanism)])
    numpy = NumpyTrack(program, numpy_kernel(program))
    native: TrackSolver = Track(compile_track(program), program)
    of_actuators = np.full(len(robot.actuators), np.inf)
    both = np.concatenate([units, of_actuators])
    compiled = [CompiledTrack(numpy, both, compiler) for compiler in COMPILERS]
    start = np.concatenate(mechanism.reference)[None]
    rng = np.random.default_rng(4)
    away = rng.uniform(-1.0, 1.0, (60, len(robot.actuators))) * rng.choice([0.02, 0.3, 1.5], (60, 1))
    q0 = nacelle.inverse_kinematics(robot, mechanism.reference[0], limits=False).q[None]
    q1 = q0 + away * actuator_scales(robot)
    for cap in (400, 7):
        rules = TrackRules(1e-12, units, of_actuators, cap)
        results = [
            (r.y, r.status, r.taken, r.distances)
            for r in (s.solve(start, q0, q1, rules) for s in (numpy, native))
        ]
        results += [driver.solve(start, q0, q1, rules) for driver in compiled]
        y, status, taken, distances = results[0]
        assert {FOLLOWED, BLOCKED if cap == 400 else ROUNDS} <= set(status)
        assert np.max(taken) <= cap + 1
        for other in results[1:]:
            np.testing.assert_array_equal(other[1], status)
            np.testing.assert_array_equal(other[2], taken)
            np.testing.assert_allclose(other[0], y, atol=1e-9)
            np.testing.assert_allclose(other[3], distances, atol=1e-8)


@pytest.mark.parametrize("cap", [400, 12])
def test_paths_follow_alike(cap: int) -> None:
    """Along a path native code counts as NumPy does, up to what fails and behind it."""
    robot = library_robot("gough-stewart")
    mechanism = mechanism_of(robot)
    program = make_program(pose_path_step, robot, {"u": (mechanism.layout.nx,), "q": (6,)})
    solvers = (NumpyTrack(program, numpy_kernel(program)), Track(compile_track(program), program))
    q = nacelle.inverse_kinematics(robot, sample_poses(robot, 6, seed=2), limits=False).q
    q[4, 0] += 3.0 * robot.size
    q0 = nacelle.inverse_kinematics(robot, mechanism.reference[0], limits=False).q[None]
    rules = TrackRules(1e-12, pose_units(mechanism), np.full(6, np.inf), cap)
    first, second = (s.solve(mechanism.reference[0][None], q0, q, rules, follow=True) for s in solvers)
    np.testing.assert_array_equal(first.status, second.status)
    np.testing.assert_array_equal(first.taken, second.taken)
    assert first.status[-1] == ROUNDS
    assert first.taken[-1] == 0
    good = first.status == FOLLOWED
    assert np.any(good)
    np.testing.assert_allclose(first.y[good], second.y[good], atol=1e-12)


def follow_natively(robot: Robot, function: Callable[..., Any], start: Array, p: tuple[Array, Array]) -> Any:
    """A way from a solution, in units of 1 but for lengths of poses."""
    mechanism = mechanism_of(robot)
    poses = pose_units(mechanism)
    if function is pose_path_step:
        units = np.concatenate([poses, unknown_units(mechanism)]), np.full(len(p[0]), np.inf)
        shapes = {"u": start.shape, "q": p[0].shape}
    else:
        units = unknown_units(mechanism), poses
        shapes = {"y": start.shape, "x": p[0].shape}
    program = make_program(function, robot, shapes)
    solver = Track(compile_track(program), program)
    return solver.solve(start[None], p[0][None], p[1][None], TrackRules(1e-12, *units, 400))


def test_a_way_ends_at_a_singularity_behind_which_solutions_go_on() -> None:
    """Between 0.857 and 0.89 of this way Dymo has no pose; the one at its end has det J of the other sign."""
    robot = library_robot("dymo")
    start = np.array([-0.0538207, -0.01558604, 0.3140181])
    q = np.array([-1.07786523, -0.84815091, -0.75258194]), np.array([-1.01874332, 0.0, -1.31743666])
    q[0][:] = nacelle.inverse_kinematics(robot, start, limits=False).q
    result = follow_natively(robot, pose_path_step, start, q)
    assert result.status[0] == BLOCKED
    assert 0.8 < result.part[0] < 0.8572


def test_a_pose_that_goes_far_takes_its_passive_joints_along() -> None:
    """Quattro's parallelogram also closes flat: near by in the unknowns, not in the swing."""
    robot = library_robot("quattro")
    x = np.array([0.168, 0.307, 0.556, 1.401]), np.array([-0.08, -0.112, -0.856, -0.077])
    start = np.array([x[0][3], -x[0][3]])
    result = follow_natively(robot, closing_path_step, start, x)
    assert result.status[0] == FOLLOWED
    np.testing.assert_allclose(result.y[0], [x[1][3], -x[1][3]], atol=1e-12)


@pytest.mark.parametrize("angle", [1e300, 1e6, 4.0 * np.pi])
def test_whole_turns_are_turned(angle: float) -> None:
    """What is known at the ends of a way of many turns says nothing of what is between."""
    robot = library_robot("quattro")
    x = np.array([0.0, 0.0, -0.75, 0.0]), np.array([0.0, 0.0, -0.75, angle])
    assert follow_natively(robot, closing_path_step, np.zeros(2), x).status[0] != FOLLOWED
