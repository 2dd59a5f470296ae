"""Excitation: limits, motions as functions of time, criteria, better motions, files, regressor rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.limits import constraint_form, motion_limits
from nacelle.identification.excitation.motions import motion_functions
from nacelle.identification.excitation.optimise import (
    criterion_values,
    optimise_motions,
    random_motions,
    scale_columns,
)
from nacelle.identification.excitation.result import read_motion, shrink_to_limits
from nacelle.identification.excitation.sample_model import bounded_coordinates, limited_value_count
from nacelle.identification.excitation.settings import KINDS, MotionLimits
from nacelle.kinematics.jacobian import scaled_inverse
from nacelle.model.platform import Motion
from support import stress_robots
from support.excitation import problem_of, public_rows, public_states, quick_excitation, small_motion
from support.library import library_robot
from support.pairwise import FAMILIES, pairwise

# ---- Random motions that use the limits fully, and what the optimiser starts with

PROBLEM_OF_OPTIMISE = problem_of(library_robot("fivebar"), count=20, harmonics=5)


def test_limits_that_allow_nothing_are_named() -> None:
    weak = replace(
        PROBLEM_OF_OPTIMISE,
        limits=replace(PROBLEM_OF_OPTIMISE.limits, force=1e-9 * PROBLEM_OF_OPTIMISE.limits.force),
    )
    with pytest.raises(IdentificationError, match="no motion about the centre is within the force limit of"):
        random_motions(weak, 2, seed=0)


def test_improved_motions_are_better() -> None:
    z = random_motions(PROBLEM_OF_OPTIMISE, 1, seed=2)
    start = criterion_values(PROBLEM_OF_OPTIMISE, z, "log-det")
    best = optimise_motions(
        PROBLEM_OF_OPTIMISE,
        z,
        "log-det",
        iterations=2,
        check=lambda motion: shrink_to_limits(PROBLEM_OF_OPTIMISE, motion),
    )
    assert best.value < np.min(start)
    assert best.iterations > 0
    assert not best.interrupted


# ---- Excitations as results: saved and read again, tables, periods, words


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"strategy": "separate"}], ids=["combined", "separate"])
def test_saved_motions_are_read_again(tmp_path, options):
    result = quick_excitation(**options)
    path = tmp_path / "motion.yaml"
    result.save(path)
    again = read_motion(path)
    t = np.linspace(0.0, result.trajectory.duration, 57)
    for part, other in zip(again(t), result.trajectory(t), strict=True):
        assert np.array_equal(part, other)
    with pytest.raises(FileExistsError):
        result.save(path)
    path.write_text("something else")
    result.save(path, overwrite=True)
    assert read_motion(path).duration == again.duration


def test_files_that_are_none(tmp_path):
    path = tmp_path / "other.yaml"
    for text in ("name: something\n", "- 1\n", "format: 7\n", "\t\n", "format: nacelle excitation 1\n"):
        path.write_text(text)
        with pytest.raises(IdentificationError, match=r"other\.yaml"):
            read_motion(path)
    with pytest.raises(IdentificationError, match="missing"):
        read_motion(tmp_path / "missing.yaml")


def test_tables_have_the_motion(tmp_path):
    """From rest at home to rest at home, smooth, with the forces that it takes, and a fifth of them left."""
    result, robot = quick_excitation(), library_robot("fivebar")
    path = tmp_path / "motion.csv"
    result.to_csv(path, rate=200.0, approach=False)
    read = nacelle.trajectory.read_waypoints(path, robot.motion)
    assert np.allclose(read.points, result.sample(200.0)[1].x)
    result.to_csv(path, rate=1000.0)
    table = np.genfromtxt(path, delimiter=",", names=True, deletechars="", replace_space="_")
    names = [actuator.name for actuator in robot.actuators]
    q, rates, tau = (
        np.stack([table[f"{kind}.{name}_[{unit}]"] for name in names], axis=1)
        for kind, unit in (("q", "rad"), ("rate", "rad/s"), ("force", "N*m"))
    )
    x, v = (np.stack([table[f"{p}{c}_[{u}]"] for c in "xy"], axis=1) for p, u in (("", "m"), ("v_", "m/s")))
    home = nacelle.reference_pose(robot)
    assert np.allclose(x[[0, -1]], home)
    assert np.allclose([v[[0, -1]], rates[[0, -1]]], 0.0, atol=1e-12)
    assert np.allclose(q, nacelle.inverse_kinematics(robot, x).q)
    assert np.allclose((q[2:] - q[:-2]) * 500.0, rates[1:-1], atol=1e-3 * np.max(np.abs(rates)))
    a = np.stack([table[f"a_{c}_[m/s^2]"] for c in "xy"], axis=1)
    assert np.allclose(tau, nacelle.inverse_dynamics(robot, x, v, a).tau)
    assert np.all(np.abs(tau) <= 0.8 * np.array([actuator.force for actuator in robot.actuators]))
    assert np.all(np.abs(rates) <= 0.8 * np.array([actuator.speed for actuator in robot.actuators]))
    # No jump of the acceleration, also where parts meet.
    assert np.max(np.abs(np.diff(a, axis=0))) < 0.1 * np.max(np.abs(a))
    body = table["phase"] == 0.0
    assert np.count_nonzero(body) == pytest.approx(1000.0 * result.trajectory.duration, abs=1.0)
    assert np.all(np.diff(table["phase"]) >= 0.0)
    begin = sum(line.duration for line in result.approach)
    assert np.allclose(x[body], result.trajectory(table["t_[s]"][body] - begin).x)
    assert len(nacelle.trajectory.read_waypoints(path, robot.motion).points) == len(table)
    with pytest.raises(IdentificationError, match="reference pose and the start"):
        replace(result, approach=None).to_csv(path)


@pytest.mark.slow
def test_periods_follow_one_another():
    result = quick_excitation()
    t, sample = result.sample(100.0, periods=3)
    assert t[-1] == pytest.approx(3.0 * result.trajectory.duration)
    assert np.allclose(sample.x[:100], sample.x[200:300], atol=1e-12)
    with pytest.raises(IdentificationError, match="has one period"):
        quick_excitation(kind="bspline").repeat(2)
    with pytest.raises(IdentificationError, match="above zero"):
        result.repeat(0)


def test_words_name_the_weakest_combination():
    result = quick_excitation()
    words = result.weakest_combination()
    assert any(name in words for name in result.base.names)
    assert f"1/{result.condition:.3g} of the best" in words
    assert result.data()["weakest"] == words
    assert "fivebar" in repr(result)


# ---- sample model
#
# One sample of a motion against the public API: rows of the regressor, rates and accelerations, limits.

QUICK = ("fivebar",)

OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in nacelle.robot_names() if name not in QUICK]

T = np.linspace(0.03, 0.97, 7)


def _redundant() -> nacelle.Robot:
    return stress_robots.STRESS["redundant planar 4-RRR"](0)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", [*QUICK, *OTHERS])
def test_rows_say_what_the_regressor_says(name):
    _compare_rows(library_robot(name))


@pytest.mark.slow
def test_rows_of_redundant_actuators_are_those_along_the_twist():
    _compare_rows(_redundant())


def _compare_rows(robot: nacelle.Robot) -> None:
    problem = problem_of(robot)
    z = small_motion(problem, size=0.03)
    R, force = problem.rows(problem.samples(problem.coefficients(z), T))
    whitened = public_rows(problem, z, T)
    gram, truth = (np.einsum("tip,tiq->tpq", rows, rows) for rows in (R, whitened))
    assert np.max(np.abs(gram - truth)) < 1e-9 * np.max(np.abs(truth))
    state = public_states(problem, z, T)
    truth = nacelle.inverse_dynamics(robot, *state, smooth=problem.smooth).tau
    assert np.max(np.abs(force - truth)) < 1e-9 * np.max(np.abs(truth))


@pytest.mark.parametrize("name", [*QUICK, *OTHERS])
def test_limited_values_are_those_of_the_kinematics(name):
    robot = library_robot(name)
    problem = problem_of(robot)
    z = small_motion(problem, size=0.03)
    values = problem.limited_values_at(problem.samples(problem.coefficients(z), T))
    assert values.shape[-1] == limited_value_count(robot)
    state = public_states(problem, z, T)
    q, rate, acceleration = nacelle.kinematics.joint_motion(robot, *state).actuators
    m = len(robot.actuators)
    assert np.allclose(values[:, :m], rate, rtol=1e-9, atol=1e-9 * np.max(np.abs(rate)))
    assert np.allclose(
        values[:, m : 2 * m], acceleration, rtol=1e-9, atol=1e-9 * np.max(np.abs(acceleration))
    )
    for k, limit in enumerate(bounded_coordinates(robot)):
        if limit.primitive is None and np.all(np.isfinite(limit.pair)):
            low, high = limit.pair
            part = (q[:, limit.joint] - 0.5 * (low + high)) / (0.5 * (high - low))
            assert np.allclose(values[:, 2 * m + k], part, atol=1e-9)
    J = nacelle.jacobian(robot, state.x)
    s = np.linalg.svd(scaled_inverse(robot, J.inverse), compute_uv=False)
    frobenius = 1.0 / np.sqrt(np.sum(s**2, axis=-1) * np.sum(s**-2.0, axis=-1))
    turning = robot.motion.n == 6
    assert np.allclose(values[:, -1 - turning], frobenius, rtol=1e-7)
    assert np.all(frobenius <= J.conditioning * (1 + 1e-12))


# ---- Limits of motions: as described, as given, derived where there are none; impossible ones are named


def _limits(name: str = "fivebar", **options):
    robot = library_robot(name)
    return robot, motion_limits(robot, nacelle.reference_pose(robot), MotionLimits(**options))


def test_described_limits_are_those_of_the_drives():
    robot, made = _limits(reserve=0.0)
    assert made.speed.tolist() == [actuator.speed for actuator in robot.actuators]
    assert made.force.tolist() == [actuator.force for actuator in robot.actuators]
    assert made.origin["speed"] == made.origin["force"] == "described"


def test_a_reserve_is_left_of_described_limits_alone():
    robot, made = _limits()
    assert np.allclose(made.speed, [0.8 * actuator.speed for actuator in robot.actuators])
    assert np.allclose(made.force, [0.8 * actuator.force for actuator in robot.actuators])
    assert made.origin["force"] == "described, 20 % kept in reserve"
    _, made = _limits(force=2.0, reserve=0.5)
    assert made.force.tolist() == [2.0, 2.0]
    assert made.speed.tolist() == [0.5 * actuator.speed for actuator in robot.actuators]
    with pytest.raises(IdentificationError, match="reserve is a fraction"):
        _limits(reserve=1.0)


def test_acceleration_follows_from_force_and_inertia():
    robot, made = _limits()
    M = nacelle.mass_matrix(robot, nacelle.reference_pose(robot), coordinates="actuators")
    assert np.allclose(made.acceleration, made.force / np.diag(M))
    assert made.origin["acceleration"].startswith("derived")


def test_given_limits_are_taken():
    _, made = _limits(speed=2.0, acceleration=[3.0, 4.0], force=5.0, conditioning=0.01)
    assert made.speed.tolist() == [2.0, 2.0]
    assert made.acceleration.tolist() == [3.0, 4.0]
    assert made.force.tolist() == [5.0, 5.0]
    assert made.conditioning == 0.01
    assert made.origin["conditioning"] == "given"


@pytest.mark.slow
def test_a_robot_without_limits_gets_derived_ones():
    robot = stress_robots.STRESS["redundant planar 4-RRR"](0)
    made = motion_limits(robot, nacelle.reference_pose(robot))
    assert np.allclose(made.speed, np.sqrt(np.linalg.norm(robot.gravity) / robot.size))
    assert np.allclose(made.acceleration, 2.0 * np.linalg.norm(robot.gravity) / robot.size)
    weight = nacelle.gravity_forces(robot, nacelle.reference_pose(robot), coordinates="actuators")
    assert np.all(made.force >= 2.0 * np.abs(weight))
    assert all(made.origin[kind].startswith("derived") for kind in ("speed", "force", "acceleration"))


def test_uses_are_one_at_the_limits():
    robot, made = _limits(margin=0.1)
    form = constraint_form(robot, made)
    for k, (kind, _) in enumerate(form.labels):
        # The value at which the use is 1.
        value = (1.0 - form.offset[k]) / form.factor[k]
        expected = {
            "speed": made.speed[0],
            "acceleration": made.acceleration[0],
            "force": made.force[0],
            "position": 0.8,
            "conditioning": made.conditioning,
        }
        if kind in expected:
            assert value == pytest.approx(expected[kind])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"speed": -1.0}, "speed limit of left.motor must be above zero"),
        ({"acceleration": [1.0, 0.0]}, "acceleration limit of right.motor must be above zero"),
        ({"speed": [1.0, 2.0, 3.0]}, "one for each of the 2 actuators"),
        ({"force": "much"}, "force limit is one number"),
        ({"force": 1e-3}, "force limit of .*motor, 0.001, is below what holds the robot at rest"),
        ({"margin": 0.6}, "margin is a fraction of a joint's range"),
        ({"margin": 0.45}, "position limit of .* is met at the centre"),
        ({"conditioning": 0.9}, "conditioning limit 0.9 is above what the robot has at the centre, 0.4"),
        ({"conditioning": 0.0}, "conditioning limit must be above zero"),
    ],
)
def test_impossible_limits_are_named(options, words):
    with pytest.raises(IdentificationError, match=words):
        _limits(**options)


# ---- Motions as functions of time: at rest at both ends, band-limited, and the same as the trajectories

SE3 = Motion(("x", "y", "z", "rx", "ry", "rz"))
PLANE = Motion(("x", "y"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("harmonics", [3, 5, 10])
def test_functions_are_at_rest_at_both_ends(kind, harmonics):
    made = motion_functions(kind, 1.7, harmonics)
    _, rates, changes = made.at(np.array([0.0, 1.7]))
    assert np.max(np.abs(rates)) < 1e-9 * np.max(np.abs(made.at(made.times(50))[1]))
    assert np.max(np.abs(changes)) < 1e-9 * np.max(np.abs(made.at(made.times(50))[2]))


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_the_functions(kind):
    made = motion_functions(kind, 2.0, 4)
    t, h = np.linspace(0.05, 1.95, 23), 1e-5
    for order in (1, 2):
        slopes = (made.at(t + h)[order - 1] - made.at(t - h)[order - 1]) / (2.0 * h)
        exact = made.at(t)[order]
        assert np.max(np.abs(slopes - exact)) < 1e-6 * np.max(np.abs(exact))


def test_fourier_has_no_frequency_above_the_highest_harmonic():
    made = motion_functions("fourier", 1.0, 4)
    values = made.at(np.arange(64) / 64)[0]
    spectrum = np.abs(np.fft.rfft(values, axis=0))
    assert np.max(spectrum[5:]) < 1e-12 * np.max(spectrum)
    assert np.linalg.matrix_rank(values) == values.shape[1] == 7


@pytest.mark.parametrize("kind", KINDS)
def test_trajectories_move_as_the_coefficients_say(kind):
    made = motion_functions(kind, 1.5, 4)
    rng = np.random.default_rng(1)
    Z = np.where(made.free(SE3), 0.1 * rng.normal(size=(made.count, 6)), 0.0)
    center = np.array([0.1, -0.2, 0.5, 0.0, 0.0, np.sin(0.2), np.cos(0.2)])
    path = made.trajectory(center, Z, SE3)
    t = np.linspace(0.01, 1.49, 40)
    c, dc, ddc = (part @ Z for part in made.at(t))
    sample = path(t)
    assert np.allclose(sample.x[:, :3], center[:3] + c[:, :3], atol=1e-14)
    assert np.allclose(sample.v[:, :3], dc[:, :3], atol=1e-12)
    assert np.allclose(sample.a[:, :3], ddc[:, :3], atol=1e-10)
    h = 1e-5
    ahead, behind = path(t + h), path(t - h)
    assert np.allclose((ahead.v - behind.v) / (2 * h), sample.a, atol=1e-6 * np.max(np.abs(sample.a)))
    # q' = [w; 0] o q / 2 in base axes.
    q, w = sample.x[:, 3:], sample.v[:, 3:]
    rate = 0.5 * np.concatenate(
        [q[:, 3:] * w + np.cross(w, q[:, :3]), -np.sum(w * q[:, :3], axis=-1, keepdims=True)], axis=-1
    )
    assert np.allclose((ahead.x[:, 3:] - behind.x[:, 3:]) / (2 * h), rate, atol=1e-7)


def test_splines_without_rotations_are_b_splines():
    made = motion_functions("bspline", 1.2, 4)
    Z = np.random.default_rng(2).normal(size=(8, 2))
    path = made.trajectory(np.array([0.3, 0.4]), Z, PLANE)
    same = nacelle.trajectory.BSpline(
        np.array([0.3, 0.4]) + Z, motion=PLANE, degree=5, duration=1.2, rest=True, interpolate=False
    )
    t = np.linspace(0.0, 1.2, 31)
    for part, other in zip(path(t), same(t), strict=True):
        assert np.allclose(part, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("kind", "harmonics", "words"),
    [
        ("fourier", 1, "2 harmonics or more"),
        ("bspline", 2, "3 harmonics or more"),
        ("furier", 5, "'fourier'"),
    ],
)
def test_what_is_no_motion(kind, harmonics, words):
    with pytest.raises(IdentificationError, match=words):
        motion_functions(kind, 1.0, harmonics)


# ---- Criterion and limits of a motion, and their gradients against differences

MOTIONS = [
    case if case[0] == "fivebar" else pytest.param(*case, marks=pytest.mark.slow)
    for case in pairwise(name=FAMILIES, kind=["fourier", "bspline"])
]
ORDER = 6.0
SIZE, STEP = 0.1, 3e-5


def _smooth_condition(R: np.ndarray) -> float:
    """The criterion as its definition says it."""
    s = np.linalg.svd(R, compute_uv=False)
    return float(np.log(np.sum(s**ORDER)) + np.log(np.sum(s**-ORDER))) / ORDER


def _stacked(problem, z):
    rows = public_rows(problem, z, problem.times())
    return rows.reshape(-1, rows.shape[-1]) / np.sqrt(len(rows))


def _difference(function, h: float):
    """The derivative at 0 of a function of a step, of order four."""
    one, two = function(h) - function(-h), function(2 * h) - function(-2 * h)
    return (8.0 * one - two) / (12.0 * h)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("name", "kind"), MOTIONS)
def test_gradient_of_the_criterion(name, kind):
    """Along random directions, against differences of the criterion from the public regressor."""
    _check_criterion(library_robot(name), kind)


@pytest.mark.slow
def test_gradient_of_the_criterion_of_redundant_actuators():
    _check_criterion(stress_robots.STRESS["redundant planar 4-RRR"](0), "fourier")


def _check_criterion(robot, kind):
    # Splines of few control points are so slow that all digits of a derivative are lost to the condition.
    harmonics, size = (5, SIZE) if kind == "fourier" else (8, 2.0 * SIZE)
    problem = problem_of(robot, kind=kind, harmonics=harmonics)
    z = small_motion(problem, size=size)
    problem = scale_columns(problem, problem.coefficients(z[None]))
    found = problem.evaluate(z, "condition", ORDER)
    assert found.value == pytest.approx(_smooth_condition(_stacked(problem, z)), rel=1e-8)
    gradient = found.gradient()
    for seed in (1, 2):
        d = np.random.default_rng(seed).normal(size=len(z))
        # Short steps lose digits where the condition is large, long ones bend: the closest counts.
        steps = [
            _difference(lambda h, d=d: _smooth_condition(_stacked(problem, z + h * d)), STEP * factor)
            for factor in (1.0, 4.0, 16.0)
        ]
        exact = float(gradient @ d)
        along = min(steps, key=lambda slope, exact=exact: abs(slope - exact))
        assert along == pytest.approx(exact, rel=1e-6, abs=1e-7 * np.linalg.norm(gradient))


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("name", "kind"), MOTIONS)
def test_gradients_of_the_limits(name, kind):
    problem = problem_of(library_robot(name), kind=kind)
    z = small_motion(problem, size=SIZE)
    slopes = problem.evaluate(z, "condition", ORDER).constraint_slopes()
    d = np.random.default_rng(3).normal(size=len(z))
    along = _difference(lambda h: problem.evaluate(z + h * d, "condition", ORDER).constraint(), STEP)
    size = np.linalg.norm(slopes, axis=-1) * np.linalg.norm(d)
    assert np.all(np.abs(along - slopes @ d) < 1e-6 * size + 1e-8)


def test_the_smooth_use_is_just_above_the_largest():
    problem = problem_of(library_robot("fivebar"))
    found = problem.evaluate(small_motion(problem), "condition", ORDER)
    largest = np.max(np.where(problem.form.symmetric, found.uses**2, found.uses), axis=0)
    assert np.all(found.constraint() >= largest)
    assert np.all(found.constraint() <= largest + np.log(problem.count) / 150.0)


def test_fixed_rows_count_beside_those_of_the_motion():
    from dataclasses import replace

    problem = problem_of(library_robot("fivebar"))
    z = small_motion(problem)
    rows = np.random.default_rng(0).normal(size=(30, len(problem.base)))
    more = replace(problem, fixed=rows)
    found = more.evaluate(z, "log-det", 0.0)
    stacked = np.concatenate([_stacked(problem, z), rows])
    assert found.value == pytest.approx(-0.5 * np.linalg.slogdet(stacked.T @ stacked)[1], rel=1e-8)
    d = np.random.default_rng(4).normal(size=len(z))
    along = _difference(lambda h: more.evaluate(z + h * d, "log-det", 0.0).value, 1e-4)
    assert along == pytest.approx(float(found.gradient() @ d), rel=1e-6)
