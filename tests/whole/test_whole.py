"""Whole: errata, far states, large, leg without freedoms, mechanisms, other engines, trajectories."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nacelle
from nacelle.compact.plan import reason_for_tree
from nacelle.dynamics import model_functions, reference
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.platform import Motion, parse_motion
from nacelle.model.reduced import layout_of
from nacelle.program.trace import trace
from nacelle.simulation.rigid_plant import event_margins
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.rotation import quat_conjugate, quat_multiply
from nacelle.trajectory import (
    BSpline,
    Circle,
    Fourier,
    Line,
    Polyline,
    Trajectory,
    scale_to_limits,
    time_scaled,
)
from nacelle.verify import verify as leg_without_freedoms_verify
from nacelle.verify.comparison import verify
from support.compare import relative_error
from support.described import NAMES, description_text, mechanism
from support.errata import PAPERS, evidence_of
from support.errata.bk2013 import closure
from support.far_pinocchio import PinocchioForces
from support.far_states import random_states, search
from support.flexible.prrrp import EULER
from support.flexible_robots import prrrp
from support.library import NAMES as LIBRARY_NAMES
from support.library import library_robot
from support.pinocchio_motion import PinocchioMotion
from support.random_robots import random_robot
from support.snakes import snake_robot
from support.sprung import sprung_robot

# ---- The page of errata: its table is what the equations give, as printed and as corrected

PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")

ROWS = {
    (row[0], row[1]): (float(row[2]), float(row[3]))
    for row in re.findall(r"^\| (\[\w+\][^|]*?) \| ([^|]*?) \| ([\d.e+-]+) \| ([\d.e+-]+) \|$", PAGE, re.M)
}


@pytest.mark.costly
@pytest.mark.parametrize("paper", PAPERS)
def test_equations_as_printed_and_as_corrected(paper: str) -> None:
    for found in evidence_of(paper):
        printed, corrected = ROWS.pop((found.equation, found.quantity))
        assert printed == pytest.approx(found.printed, rel=0.06)
        assert found.printed > 0.05
        assert found.corrected < 1e-4
        assert max(found.corrected, corrected) < max(1e-9, 3.0 * min(found.corrected, corrected))


def test_the_closure_of_the_prrrp_has_no_inverse() -> None:
    """Six equations for seven rates: the platform turns freely about P."""
    assert closure().shape == (6, 7)
    freedom = np.linalg.svd(closure())[2][-1]
    np.testing.assert_allclose(freedom / freedom[-1], [0, 1, 0, 1, 0, 0, 1], atol=1e-12)


def test_the_weight_at_the_end_buckles_the_beams() -> None:
    """1 kg under gravity in the plane loads each beam with 7.4 N, more than Euler's load of 5.76 N."""
    factor = nacelle.elastic.buckling(prrrp((0.0, 0.0, -9.81)), [0.3, 0.264575131106459]).factors[0]
    assert pytest.approx(5.757, rel=1e-3) == EULER
    assert factor == pytest.approx(EULER / 7.4, rel=0.01)


# ---- No silent error at 1e6 states of robots placed, turned, scaled and weighed at random


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(26))
def test_no_silent_error(seed: int) -> None:
    found = search(seed, states=40_000, engine_states=200)
    assert found.silent_errors == 0, found


@pytest.mark.thinned(3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 117))
def test_no_silent_error_at_some_states(seed: int) -> None:
    found = search(seed, states=200, engine_states=10)
    assert found.silent_errors == 0, found


@pytest.mark.parametrize("name", LIBRARY_NAMES)
@pytest.mark.thinned
def test_forces_by_pinocchio_see_a_millionth_of_a_mass(name: str) -> None:
    """The comparison of the search agrees to rounding, and is not blind."""
    robot = library_robot(name)
    x, v, a = random_states(robot, 60, 3)
    found = nacelle.inverse_dynamics(robot, x, v, a)
    good = found.flags == 0
    assert np.sum(good) > 20
    expected = PinocchioForces(robot).forces(x[good], v[good], a[good])
    assert np.max(expected.gap) < 1e-13
    assert np.min(expected.pivot) > 1e-4
    assert relative_error(found.tau[good], expected.force) < 1e-12
    heavier = robot.with_parameters(1.000001 * robot.parameter_vector("inertia"), "inertia")
    off = PinocchioForces(heavier).forces(x[good], v[good], a[good])
    assert relative_error(found.tau[good], off.force) > 1e-7


# ---- Mechanisms of more than eighty bodies in one closed chain of loops and couplings


@pytest.mark.costly
@pytest.mark.parametrize("cells", [4, 28])
def test_the_general_form_is_that_of_the_tree(cells: int) -> None:
    robot = snake_robot(cells)
    assert len(robot.bodies) == 3 * cells + 2
    assert not reason_for_tree(robot, direct=True)
    x, y = mechanism_of(robot).reference
    v, a = np.random.default_rng(1).normal(size=(2, robot.motion.n))
    found = model_functions.inverse(robot.without_rounding_differences, x, y, v, a)["force"]
    expected = reference.inverse(robot.without_rounding_differences, x, y, v, a, np.zeros(robot.motion.n))[
        "force"
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))


def test_what_a_run_watches_grows_far_less_than_with_the_cube_of_the_cells() -> None:
    """Loops share few unknowns: least squares that did not see this would take eight times as much."""
    sizes = []
    for cells in (6, 12):
        robot = snake_robot(cells, free=cells)
        shapes = input_shapes(event_margins, robot)
        assert shapes is not None
        sizes.append(
            len(trace(lambda *inputs, robot=robot: event_margins(robot, *inputs), shapes).program().code)
        )
    assert sizes[1] < 4 * sizes[0]


@pytest.mark.slow
def test_eighty_bodies_agree_with_the_other_engines() -> None:
    report = verify(snake_robot(28), states=2)
    assert report.ok, str(report)


@pytest.mark.slow
def test_eighty_bodies_keep_their_energy() -> None:
    robot = snake_robot(28)
    robot = robot.with_parameters(np.zeros(len(robot.parameter_names("friction"))), "friction")
    run = nacelle.simulate(robot, nacelle.reference_pose(robot), until=0.05, samples=5)
    assert run.t[-1] == pytest.approx(0.05)
    energy = nacelle.kinetic_energy(robot, run.x, run.v) + nacelle.potential_energy(robot, run.x)
    assert np.ptp(energy) < 1e-9 * np.max(np.abs(energy))


# ---- leg without freedoms
#
# A leg whose joints are all fixed: a central post with a ball on it, as many wrists and simulators have.

POST = description_text("central_post")


@pytest.mark.slow
def test_dynamics_with_a_leg_without_freedoms() -> None:
    """Forces, accelerations and energies belong together; the post itself moves nothing."""
    robot = nacelle.loads(POST)
    rng = np.random.default_rng(5)
    q = np.concatenate([0.1 * rng.normal(size=(20, 3)), np.ones((20, 1))], axis=1)
    x = q / np.linalg.norm(q, axis=1, keepdims=True)
    v, a = rng.normal(size=(2, 20, 3))
    found = nacelle.inverse_dynamics(robot, x, v, a)
    assert not np.any(found.flags)
    moved = nacelle.forward_dynamics(robot, x, v, found.tau)
    assert relative_error(moved.a, a) < 1e-10
    tree = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree")
    assert relative_error(found.tau, tree.tau) < 1e-10
    heavier = nacelle.loads(POST.replace("column: {mass: 5 kg", "column: {mass: 50 kg"))
    assert relative_error(nacelle.inverse_dynamics(heavier, x, v, a).tau, found.tau) < 1e-12


def test_a_leg_without_freedoms_is_never_singular() -> None:
    robot = nacelle.loads(POST)
    measured = nacelle.singularities(robot, nacelle.reference_pose(robot))
    assert measured.serial[[leg.name for leg in robot.legs].index("mast")] == 1.0
    assert 0.0 < measured.parallel < 1.0


@pytest.mark.slow
def test_other_engines_agree() -> None:
    assert leg_without_freedoms_verify(nacelle.loads(POST), against="pinocchio", states=5).ok


# ---- Mechanisms beyond parallel robots against the other engines, and what a free base conserves


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_agrees_with_the_other_engines(name: str) -> None:
    report = verify(mechanism(name), states=5)
    assert report.ok, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.thinned
def test_random_mechanisms_on_a_free_base_agree_with_the_other_engines(seed: int) -> None:
    report = verify(random_robot("free", seed), states=4)
    assert report.ok, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.thinned
def test_rods_that_spin_idly_on_a_free_base_agree_with_the_other_engines(seed: int) -> None:
    robot = random_robot("free", seed, spins=True)
    assert [robot.bodies[spin.body].name for spin in mechanism_of(robot).platform_internal_freedoms] == [
        "arm.rod"
    ]
    report = verify(robot, states=4)
    assert report.ok, str(report)


@pytest.mark.slow
def test_a_free_base_without_gravity_keeps_energy_and_momentum() -> None:
    text = mechanism("biped").to_yaml()
    at = text.index("gravity: ")
    robot = nacelle.loads(text[:at] + "gravity: [0.0, 0.0, 0.0]\n" + text[text.index("\n", at) + 1 :])
    robot = robot.with_parameters(np.zeros(len(robot.parameter_names("friction"))), "friction")
    x = nacelle.reference_pose(robot)
    v = 0.3 * np.random.default_rng(2).normal(size=robot.motion.n)
    run = nacelle.simulate(robot, x, v, until=0.2, samples=5)
    energy = nacelle.kinetic_energy(robot, run.x, run.v)
    assert np.ptp(energy) < 1e-9 * energy[0]
    # Linear momentum: of unit motions of the base with all joints at rest.
    momentum = np.einsum("kij,kj->ki", nacelle.mass_matrix(robot, run.x), run.v)[:, :3]
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-9)


# ---- other engines
#
# Simulation beside Pinocchio: the same motion from its tree, its loops and its accelerations.
#
# Only pose and twist at the start are handed over. Pinocchio carries all coordinates of the tree, each
# platform with its six freedoms, and the rods that spin idly; nothing of nacelle's dynamics is used there.

Array = np.ndarray

# Springs, and pushes that take the platform far through its workspace.
PUSHED = [
    ("gough-stewart", 2e4, [0.8, -0.5, 0.4, 1.0, -1.5, 2.0]),
    ("delta", 60.0, [1.5, 0.9, 0.6]),
    ("quattro", 100.0, [1.5, 0.8, -0.5, 3.0]),
]


def reduced_poses(robot: nacelle.Robot, moved: PinocchioMotion, q: Array) -> tuple[Array, Array]:
    """From Pinocchio's configurations the poses x without orientation, and the orientations (quat_xyzw)."""
    joints = [robot.q_slices[robot.joint(name)].start for name in robot.motion.joint_names]
    return np.concatenate([q[:, :3], q[:, moved.engine.indices.q[joints]]], axis=1), q[:, 3:7]


def largest(array: Array) -> float:
    return float(np.max(np.abs(array)))


def motion_difference(name: str, stiffness: float, push: list[float], until: float) -> float:
    """How far the two motions are apart: positions over the platform's way, orientations, joints."""
    robot, x = sprung_robot(name, stiffness)
    t = np.linspace(0.0, until, round(20.0 * until) + 1)
    plant = nacelle.simulation.rigid_plant(robot, friction=False)
    ours = nacelle.simulate(plant, x, push, until=until, samples=len(t), events=[])
    assert ours.ok
    moved = PinocchioMotion(robot)
    q, v = moved.move(x, np.array(push), t)
    assert max(largest(moved.loops(*now).gap) for now in zip(q, v, strict=True)) < 1e-12
    theirs, quat = reduced_poses(robot, moved, q)
    if robot.motion.name == "se3":
        mine, turned = ours.x[:, :3], ours.x[:, 3:]
    else:
        mine, turned = ours.x, np.tile([0.0, 0.0, 0.0, 1.0], (len(t), 1))
    way = largest(np.ptp(mine[:, :3], axis=0))
    assert way > 0.1 * robot.size
    gaps = theirs - mine
    gaps[:, :3] /= way
    same_side = np.sign(np.sum(quat * turned, axis=1))[:, None]
    return max(largest(gaps), largest(same_side * quat - turned))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stiffness", "push"), PUSHED)
def test_the_same_motion_in_pinocchio(name: str, stiffness: float, push: list[float]) -> None:
    assert motion_difference(name, stiffness, push, 1.0) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stiffness", "push"), PUSHED)
def test_the_same_motion_in_pinocchio_over_ten_seconds(
    name: str, stiffness: float, push: list[float]
) -> None:
    assert motion_difference(name, stiffness, push, 10.0) < 3e-11


# ---- trajectories
#
# Every kind of trajectory: v and a are the derivatives of x, quaternions are unit and continuous.

MOTIONS = {
    "xyz": parse_motion("xyz"),
    "xy+rz": parse_motion("xy+rz"),
    "se3": parse_motion("se3"),
    "odd": Motion(("x", "rx", "ry", "rz", "z", "swing")),
}

# Central differences of order 8.
WEIGHTS = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840


def random_poses(motion: Motion, rng: np.random.Generator, count: int) -> np.ndarray:
    layout = layout_of(motion)
    poses = rng.uniform(-1, 1, size=(count, layout.nx))
    if layout.quaternion is not None:
        poses[:, layout.quaternion] = rng.normal(size=(count, 4))  # not of unit length, of any sign
    return poses


def line_maker(timing: str) -> Callable[[Motion, np.random.Generator], Trajectory]:
    def make(motion: Motion, rng: np.random.Generator) -> Trajectory:
        return Line(*random_poses(motion, rng, 2), motion=motion, duration=1.3, timing=timing)

    return make


def circle(motion: Motion, rng: np.random.Generator) -> Trajectory:
    return Circle(
        random_poses(motion, rng, 1)[0], 0.3, motion=motion, turns=-1.7, start_angle=0.4, duration=2.0
    )


def polyline(motion: Motion, rng: np.random.Generator) -> Trajectory:
    times = np.cumsum(rng.uniform(0.5, 1.5, 6))
    return Polyline(random_poses(motion, rng, 6), motion=motion, times=times, blend=0.3)


def fast_polyline(motion: Motion, rng: np.random.Generator) -> Trajectory:
    return Polyline(random_poses(motion, rng, 4), motion=motion, speed=2.0, acceleration=3.0)


def spline_maker(
    degree: int, rest: bool, interpolate: bool
) -> Callable[[Motion, np.random.Generator], Trajectory]:
    def make(motion: Motion, rng: np.random.Generator) -> Trajectory:
        points = random_poses(motion, rng, 8)
        if interpolate:
            times = np.cumsum(rng.uniform(0.5, 1.5, 8))
            return BSpline(points, motion=motion, times=times, degree=degree, rest=rest)
        return BSpline(points, motion=motion, duration=6.0, degree=degree, rest=rest, interpolate=False)

    return make


def fourier(motion: Motion, rng: np.random.Generator) -> Trajectory:
    a, b = rng.normal(size=(2, 3, motion.n)) * 0.4
    return Fourier(random_poses(motion, rng, 1)[0], a, b, motion=motion, frequency=0.2)


def chain(motion: Motion, rng: np.random.Generator) -> Trajectory:
    p = random_poses(motion, rng, 3)
    first = Line(p[0], p[1], motion=motion, duration=1.0)
    second = BSpline(p[1:], motion=motion, duration=2.0)
    return time_scaled(first.then(second, second.reverse()), 1.4).reverse()


def speed_limited_spline(motion: Motion, rng: np.random.Generator) -> Trajectory:
    return scale_to_limits(spline_maker(5, True, True)(motion, rng), speed=1.0)


KINDS: dict[str, Callable[[Motion, np.random.Generator], Trajectory]] = {
    **{
        f"line-{name}": line_maker(name) for name in ("quintic", "cubic", "trapezoid", "bang-bang", "uniform")
    },
    "circle": circle,
    "polyline": polyline,
    "fast-polyline": fast_polyline,
    **{
        f"spline-{degree}-{'rest' if rest else 'free'}": spline_maker(degree, rest, True)
        for degree in (3, 5, 7)
        for rest in (True, False)
    },
    "control-points": spline_maker(4, True, False),
    "control-points-free": spline_maker(5, False, False),
    "fourier": fourier,
    "chain": chain,
    "limited": speed_limited_spline,
}


@pytest.mark.parametrize("motion", list(MOTIONS.values()), ids=list(MOTIONS))
@pytest.mark.parametrize("make", list(KINDS.values()), ids=list(KINDS))
class TestEveryKind:
    def test_derivatives(self, make: Callable[..., Trajectory], motion: Motion) -> None:
        rng = np.random.default_rng(1)
        trajectory = make(motion, rng)
        layout = trajectory.layout
        h = 2e-3
        t = rng.uniform(5 * h, trajectory.duration - 5 * h, 200)
        # Differences do not reach over knots, where higher derivatives jump.
        t = t[np.min(np.abs(t[:, None] - trajectory.knots), axis=1) > 4.5 * h]
        assert len(t) > 50
        here = trajectory(t)
        around = trajectory(t[:, None] + h * np.arange(-4, 5))
        dx = np.einsum("k,mki->mi", WEIGHTS, around.x) / h
        if layout.quaternion is not None and layout.angular is not None:
            w = 2 * quat_multiply(dx[:, layout.quaternion], quat_conjugate(here.x[:, layout.quaternion]))
            np.testing.assert_allclose(here.v[:, layout.angular], w[:, :3], atol=2e-9)
            np.testing.assert_allclose(w[:, 3], 0.0, atol=2e-9)
        np.testing.assert_allclose(here.v[:, layout.linear_v], dx[:, layout.linear_x], atol=2e-10)
        da = np.einsum("k,mki->mi", WEIGHTS, around.v) / h
        np.testing.assert_allclose(here.a, da, atol=1e-8 * max(1.0, np.abs(here.a).max()))

    def test_positions_and_quaternions_are_continuous(
        self, make: Callable[..., Trajectory], motion: Motion
    ) -> None:
        trajectory = make(motion, np.random.default_rng(2))
        times = np.sort(
            np.concatenate([np.linspace(-0.1, trajectory.duration + 0.1, 2001), trajectory.knots])
        )
        x, v, _ = trajectory(times)
        quaternion = trajectory.layout.quaternion
        if quaternion is not None:
            np.testing.assert_allclose(np.linalg.norm(x[:, quaternion], axis=-1), 1.0, atol=1e-14)
        # No step is longer than the highest speed times the time.
        step = np.abs(np.diff(x, axis=0)).max(axis=1)
        speed = np.linalg.norm(v, axis=1).max()
        assert np.all(step <= 1.5 * speed * np.diff(times) + 1e-12)
        before, after = trajectory(trajectory.knots - 1e-12), trajectory(trajectory.knots + 1e-12)
        np.testing.assert_allclose(before.x, after.x, atol=1e-9)

    def test_it_rests_outside(self, make: Callable[..., Trajectory], motion: Motion) -> None:
        trajectory = make(motion, np.random.default_rng(3))
        x, v, a = trajectory([-1e-9, -5.0, trajectory.duration + 1e-9, trajectory.duration + 5.0])
        ends = trajectory([0.0, trajectory.duration]).x
        np.testing.assert_array_equal(x, ends[[0, 0, 1, 1]])
        assert not v.any()
        assert not a.any()

    def test_shapes(self, make: Callable[..., Trajectory], motion: Motion) -> None:
        trajectory = make(motion, np.random.default_rng(4))
        layout = trajectory.layout
        for shape in [(), (0,), (3,), (2, 3), (2, 0, 3)]:
            x, v, a = trajectory(np.full(shape, 0.3))
            assert (x.shape, v.shape, a.shape) == (
                (*shape, layout.nx),
                (*shape, layout.n),
                (*shape, layout.n),
            )
        x, v, a = trajectory([0.2, np.nan, np.inf, -np.inf])
        for part in (x, v, a):
            assert np.isfinite(part[0]).all()
            assert np.isnan(part[1:]).all()
        np.testing.assert_allclose(trajectory(0.2).x, x[0], rtol=0, atol=1e-15)

    def test_knots_span_the_duration(self, make: Callable[..., Trajectory], motion: Motion) -> None:
        trajectory = make(motion, np.random.default_rng(5))
        assert trajectory.knots[0] == 0.0
        assert trajectory.knots[-1] == pytest.approx(trajectory.duration, rel=1e-15)
        assert np.all(np.diff(trajectory.knots) > 0)


VELOCITY_CONTINUOUS = [
    name for name in KINDS if "uniform" not in name and "free" not in name and name != "fourier"
]


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("motion", list(MOTIONS.values()), ids=list(MOTIONS))
@pytest.mark.parametrize("kind", VELOCITY_CONTINUOUS)
@given(seed=st.integers(0, 1000))
def test_from_rest_to_rest_with_continuous_velocity(kind: str, motion: Motion, seed: int) -> None:
    trajectory = KINDS[kind](motion, np.random.default_rng(seed))
    knots = trajectory.knots
    before, after = trajectory(knots - 1e-11), trajectory(knots + 1e-11)
    scale = 1.0 + np.abs(trajectory.sample(200)[1].a).max()
    np.testing.assert_allclose(before.v, after.v, atol=1e-9 * scale)
    np.testing.assert_allclose(trajectory([0.0, trajectory.duration]).v, 0.0, atol=1e-9 * scale)


@pytest.mark.parametrize("kind", ["line-quintic", "spline-5-rest", "spline-7-rest", "control-points"])
def test_acceleration_is_continuous(kind: str) -> None:
    trajectory = KINDS[kind](MOTIONS["se3"], np.random.default_rng(7))
    before, after = trajectory(trajectory.knots - 1e-11), trajectory(trajectory.knots + 1e-11)
    np.testing.assert_allclose(before.a, after.a, atol=1e-6)
