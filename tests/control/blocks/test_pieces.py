"""Pieces: adaptation gain, adapted, admissible, ahead, desired, friction, poles, pose, signals, sliding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import cont2discrete

import nacelle
from nacelle.control.blocks.admissible import (
    Tolerance,
    check_state,
    determinant,
    parallel_singularity_margin,
    release_force,
    setpoint_memory,
    setpoint_memory_at_rest,
)
from nacelle.control.blocks.desired import (
    desired_coordinates,
    friction_along_twist,
    model_force,
    solve_passive_coordinates,
    without_internal_forces,
)
from nacelle.control.blocks.pose import (
    PlatformEstimate,
    PredictedPlatform,
    TrackingErrors,
    desired_mid_sample,
    displace_pose,
    estimate_platform,
    inertial_response,
    least_forces,
    platform_gains,
    platform_memory,
    platform_memory_after,
    platform_memory_at_rest,
    platform_mid_sample,
    pose_difference,
    twist_from_rates,
)
from nacelle.control.blocks.signals import (
    StopReason,
    coordinate_difference,
    error_rate,
)
from nacelle.control.kind import ControlStep, DesiredMotion, Tuning, VectorLayout
from nacelle.control.laws.adaptive import (
    RegressorSamples,
    adaptation_gain,
    adapted_parameters,
    default_payload,
    gram_matrix,
    parameter_bounds,
    parameter_scales,
    regressors_along_motion,
    sliding_variable,
)
from nacelle.control.laws.computed_torque import gains_from_poles
from nacelle.dynamics.physics import Physics
from nacelle.export.states import random_states
from nacelle.export.vectors import relation_error
from nacelle.kinematics.branch import branch_of, unknown_units
from nacelle.kinematics.kinematic_model import coordinate_motions, inverse_jacobian
from nacelle.kinematics.margins import NEAR_MARGIN
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.trajectory.paths import Fourier
from support.adaptive_runs import desired_rows, lissajous, parameters_with_payload
from support.library import library_robot
from support.uncompiled import named_robot

# ---- The gain of adaptation: one time constant for all that a motion feels


def test_the_linear_form_along_a_motion_is_the_public_one():
    """Y and J of a desired motion, beside the API's."""
    robot = library_robot("fivebar")
    base = adapted_parameters(robot)
    rows = desired_rows(lissajous(robot, 0.04, 0.0, 1.0), 1, 1.0)[:500]
    felt = regressors_along_motion(robot, base, rows, 0.01)
    x, v, a = rows[:, :2], rows[:, 2:4], rows[:, 4:]
    Y = nacelle.regressor(robot, x, v, a, smooth=0.01, parameters=base).Y
    np.testing.assert_allclose(felt.Y, Y, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(felt.J @ v[..., None], _rates(robot, x, v)[..., None], rtol=1e-7, atol=1e-8)


def _rates(robot, x, v, h=1e-6):
    predicted_state, behind = (nacelle.inverse_kinematics(robot, x + s * h * v).q for s in (1.0, -1.0))
    return (predicted_state - behind) / (2.0 * h)


def test_all_that_is_felt_has_the_time_constant():
    """Eigenvalues of P G are 1 / t for what is felt well, and smaller for what is hardly felt."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(400, 2, 5)) * np.array([1.0, 0.3, 10.0, 0.1, 1e-6])
    K = np.array([[3.0, 1.0], [1.0, 2.0]])
    G = gram_matrix(RegressorSamples(Y, np.broadcast_to(np.eye(2), (400, 2, 2))), K)
    P = adaptation_gain(G, np.array([1.0, 1.0, 0.1, 1.0, 1.0]), 0.2)
    values = np.sort(np.linalg.eigvals(P @ G).real)
    np.testing.assert_allclose(values[1:], 5.0, rtol=1e-2)
    assert values[0] < 1e-3
    assert np.linalg.eigvalsh(P)[0] > 0.0


def test_scales_of_units_do_not_matter():
    """Parameters in other units have the gain in other units."""
    robot = library_robot("fivebar")
    base = adapted_parameters(robot)
    rows = desired_rows(lissajous(robot, 0.04, 0.0, 1.0), 1, 1.0)
    felt = regressors_along_motion(robot, base, rows, 0.01)
    scale = parameter_scales(robot, base, default_payload(robot))
    units = np.geomspace(1e-3, 1e3, len(base))
    P = adaptation_gain(gram_matrix(felt, np.eye(2)), scale, 0.2)
    other = adaptation_gain(
        gram_matrix(RegressorSamples(felt.Y * units, felt.J), np.eye(2)), scale / units, 0.2
    )
    np.testing.assert_allclose(other * units * units[:, None], P, rtol=1e-6, atol=1e-9 * np.abs(P).max())


# ---- The parameters that are adapted, their scales and bounds


@pytest.mark.parametrize(("name", "com"), [("fivebar", (0.0, 0.0, 0.0)), ("3rrr", (0.02, -0.01, 0.0))])
def test_a_payload_is_within_what_is_adapted(name, com):
    """Forces of a robot with a payload are Y times the parameters that count it to the platform.

    The point of a five-bar has no mass of its own; legs that are described alike share their parameters.
    """
    robot = library_robot(name)
    loaded = nacelle.with_payload(robot, 0.4, com=com)
    base = adapted_parameters(robot)
    x = mechanism_of(robot).reference[0]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    Y = nacelle.regressor(robot, x, v, a, parameters=base).Y
    truth = nacelle.inverse_dynamics(loaded, x, v, a).tau
    np.testing.assert_allclose(Y @ parameters_with_payload(robot, loaded), truth, rtol=1e-9)


@pytest.mark.slow
def test_bounds_hold_what_is_half_as_much_again_and_a_payload():
    """Of a model that is half or one and a half times the truth, the truth with a payload is within."""
    robot = library_robot("delta-codourey")
    base = adapted_parameters(robot)
    scale = parameter_scales(robot, base, default_payload(robot))
    low, high = parameter_bounds(base, scale, 2.0)
    assert np.all(low < base.values)
    assert np.all(base.values < high)
    truth = parameters_with_payload(robot, nacelle.with_payload(robot, 0.6))
    for factor in (0.5, 1.5):
        model = nacelle.dynamics.with_linear_parameters(
            robot, factor * nacelle.dynamics.linear_parameters(robot).values
        )
        own = adapted_parameters(model)
        low, high = parameter_bounds(own, parameter_scales(model, own, default_payload(model)), 2.0)
        assert np.all(low <= truth)
        assert np.all(truth <= high)


def test_masses_stay_positive():
    """Sums of positive quantities have positive bounds; a first moment has both signs."""
    robot = library_robot("delta-codourey")
    base = adapted_parameters(robot)
    low, _ = parameter_bounds(base, parameter_scales(robot, base, 0.0), 2.0)
    by_name = dict(zip(base.names, low, strict=True))
    assert by_name["plate.m"] > 0.0
    assert by_name["leg*.shoulder.rz.coulomb"] > 0.0
    assert by_name["leg*.arm.mz"] < 0.0


# ---- The platform ahead of a sample

K = {"stiffness": np.array([100.0, 200.0]), "damping": np.array([10.0, 20.0])}


def test_errors_go_on_at_their_second_derivatives() -> None:
    e, rate, second, t = np.array([1.0, -2.0]), np.array([3.0, 0.5]), np.array([-4.0, 7.0]), 0.3
    later, faster = e + t * rate + t * t * second / 2.0, rate + t * second
    expected = K["stiffness"] * later + K["damping"] * faster
    errors = TrackingErrors(e, rate, second)
    np.testing.assert_allclose(errors.after(np.array([t]), K), expected)
    matrices = {name: np.diag(gains).ravel() for name, gains in K.items()}
    np.testing.assert_allclose(errors.after(np.array([t]), matrices), expected)


def test_the_middle_is_that_of_a_constant_acceleration() -> None:
    robot = library_robot("quattro")
    x, y = (np.asarray(part, dtype=float) for part in mechanism_of(robot).reference)
    v, a = np.array([0.5, -0.3, 0.2, 1.0]), np.array([3.0, 2.0, -4.0, 5.0])
    one = np.zeros(1)
    platform = PlatformEstimate(x, y, v, np.zeros(4), one, one)
    predicted_state = platform_mid_sample(
        robot, platform, a, {"period": np.array([1e-3]), "delay": np.array([5e-4])}
    )
    np.testing.assert_allclose(predicted_state.x, x + 1e-3 * v + 5e-7 * a, atol=1e-15)
    np.testing.assert_allclose(predicted_state.v, v + 1e-3 * a)
    np.testing.assert_allclose(
        predicted_state.y, nacelle.inverse_kinematics(robot, predicted_state.x).y, atol=1e-10
    )


def test_the_desired_motion_goes_on_at_its_jerk() -> None:
    T, D, a, jerk = 1e-3, 4e-4, np.array([2.0, -1.0]), np.array([50.0, 20.0])
    k = {"period": np.array([T]), "delay": np.array([D])}
    motion = DesiredMotion(np.zeros(2), np.array([0.1, 0.2]), a)
    for started, expected in ((1.0, a + (D + 0.5 * T) * jerk), (0.0, a)):
        z = {"a_d": a - T * jerk, "started": np.array([started])}
        there = desired_mid_sample(z, motion, k)
        np.testing.assert_allclose(there.a, expected)
        np.testing.assert_allclose(there.v, motion.v + (D + 0.5 * T) * a)


def test_what_forces_add_is_that_of_forward_dynamics() -> None:
    robot = library_robot("fivebar")
    x, y = mechanism_of(robot).reference
    v, force, more = np.array([0.4, 0.2]), np.array([1.0, 2.0]), np.array([0.7, -1.1])
    before, after = (nacelle.forward_dynamics(robot, x, v, f).a for f in (force, force + more))
    added = inertial_response(robot, PredictedPlatform(x, y, v), np.zeros(2), more).acceleration
    np.testing.assert_allclose(added, after - before, rtol=1e-9)
    J = nacelle.jacobian(robot, x).inverse
    np.testing.assert_allclose(
        inertial_response(robot, PredictedPlatform(x, y, v), J.T @ more, 0.0 * more).acceleration, added
    )


# ---- The desired motion at the actuators: legs that are followed, forces of the model, redundant drives


@pytest.mark.slow
def test_legs_found_by_iteration_are_followed() -> None:
    robot = library_robot("3rps")
    mechanism = mechanism_of(robot)
    assert mechanism.unknown_count
    x, y = mechanism.reference
    # 2 mm and 2 mrad are far for a sample.
    after = x + 2e-3
    there = nacelle.inverse_kinematics(robot, after)
    y = solve_passive_coordinates(robot, y, after)
    assert np.max(np.abs(y - there.y)) < 1e-9
    motion = DesiredMotion(after, np.full(robot.motion.n, 0.1), np.full(robot.motion.n, 0.5))
    assert np.max(np.abs(desired_coordinates(robot, y, motion) - there.q)) < 1e-10
    force = nacelle.inverse_dynamics(robot, *motion, friction=False).tau
    assert np.max(
        np.abs(model_force(robot, y, motion, physics=Physics(friction=False)) - force)
    ) < 1e-9 * np.max(np.abs(force))


def test_redundant_drives_keep_what_moves_the_robot() -> None:
    robot = nacelle.load(Path(__file__).parents[2] / "robots" / "redundant.yaml")
    x, y = mechanism_of(robot).reference
    J = nacelle.jacobian(robot, x).inverse
    force = np.random.default_rng(0).normal(size=len(robot.actuators))
    kept = without_internal_forces(robot, y, x, force)
    assert np.max(np.abs(J.T @ (kept - force))) < 1e-12
    assert np.max(np.abs(without_internal_forces(robot, y, x, kept) - kept)) < 1e-12
    assert np.linalg.norm(kept) < np.linalg.norm(force)


def test_friction_does_the_work_of_the_forces_that_it_costs() -> None:
    """Friction along the twist."""
    robot = library_robot("fivebar")
    x, y = mechanism_of(robot).reference
    v, zero = np.array([0.3, -0.2]), np.zeros(2)
    costs = (
        nacelle.inverse_dynamics(robot, x, v, zero, smooth=1e-3).tau
        - nacelle.inverse_dynamics(robot, x, v, zero, friction=False).tau
    )
    assert np.linalg.norm(costs) > 0.0
    J = nacelle.jacobian(robot, x).inverse
    np.testing.assert_allclose(friction_along_twist(robot, x, y, v, 1e-3), J.T @ costs, rtol=1e-9)


# ---- Gains of a sampled double integrator from its poles


@pytest.mark.parametrize("damping", [0.4, 0.7, 1.0, 1.5])
@pytest.mark.parametrize("period", [1e-4, 5e-4, 5e-3])
def test_the_sampled_loop_has_the_samples_of_the_poles(damping: float, period: float) -> None:
    """Against the exact discretisation of both, the loop and the system that it is to be."""
    k_p, k_d = gains_from_poles(10.0, damping, period)
    A, B, C, D = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), np.eye(2), np.zeros((2, 1))
    F, G, *_ = cont2discrete((A, B, C, D), period)
    closed = np.poly(F - G @ np.array([[k_p, k_d]]))
    w = 20.0 * np.pi
    wanted = np.exp(period * np.roots([1.0, 2.0 * damping * w, w * w]))
    np.testing.assert_allclose(closed, np.poly(wanted).real, atol=1e-9)


def test_without_a_sample_time_they_are_those_of_the_continuous_loop() -> None:
    w = 20.0 * np.pi
    np.testing.assert_allclose(gains_from_poles(10.0, 0.7, 1e-6), [w * w, 1.4 * w], rtol=1e-3)


# ---- Signals of a sample: what is missing, what is limited, what stops a controller


def test_angles_are_compared_within_half_a_turn() -> None:
    turned = coordinate_difference(library_robot("fivebar"), np.array([3.0, 0.1]), np.array([-3.0, 0.3]))
    np.testing.assert_allclose(turned, [6.0 - 2.0 * np.pi, -0.2])
    slid = coordinate_difference(library_robot("prrrp"), np.array([3.0, 0.1]), np.array([-3.0, 0.3]))
    np.testing.assert_allclose(slid, [6.0, -0.2])


def test_rate_follows_a_ramp_and_starts_at_zero() -> None:
    T, share = 1e-3, 0.5
    k = {"period": np.array([T]), "smoothing": np.array([share])}
    z = {"error": np.zeros(1), "rate": np.zeros(1), "started": np.zeros(1)}
    for sample in range(30):
        error = np.array([2.0 * T * (sample + 5)])
        rate = error_rate(error, z, k)
        assert abs(rate[0] - 2.0 * (1.0 - (1.0 - share) ** sample)) < 1e-10
        z = {"error": error, "rate": rate, "started": np.ones(1)}


# ---- The sliding variable: its reference is the derivative of itself

RATE = 30.0


def _platform(x, v):
    return PredictedPlatform(x, np.zeros(0), v)


@pytest.mark.parametrize("name", ["fivebar", "hexaglide"])
def test_the_reference_acceleration_is_the_derivative_of_the_reference_twist(name):
    """Along two motions, one of the platform and one that is desired, far apart by up to a radian."""
    robot = library_robot(name)
    n = robot.motion.n
    rng = np.random.default_rng(3)
    centre = [0.02, 0.25] if name == "fivebar" else [0.0, 0.0, -0.4, 0.0, 0.0, 0.0, 1.0]
    own, wanted = (
        Fourier(centre, *0.4 * rng.normal(size=(2, 2, n)), motion=robot.motion, frequency=0.7)
        for _ in range(2)
    )

    def at(t):
        a, b = own(t), wanted(t)
        return sliding_variable(robot, DesiredMotion(b.x, b.v, b.a), _platform(a.x, a.v), RATE)

    h = 1e-5
    for t in (0.1, 0.4, 0.9):
        slope = (at(t + h).v_ref - at(t - h).v_ref) / (2.0 * h)
        np.testing.assert_allclose(at(t).a_ref, slope, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(at(t).s, at(t).v_ref - own(t).v)


def test_a_small_error_leads_back():
    """A platform that follows the reference, s = 0, comes to the desired orientation at the rate."""
    robot = library_robot("hexaglide")
    x_d = np.array([0.0, 0.0, -0.4, 0.0, 0.0, 0.0, 1.0])
    angle = 0.02
    x = np.array([0.001, 0.0, -0.4, np.sin(0.5 * angle), 0.0, 0.0, np.cos(0.5 * angle)])
    still = np.zeros(6)
    found = sliding_variable(robot, DesiredMotion(x_d, still, still), _platform(x, still), RATE)
    np.testing.assert_allclose(found.v_ref, RATE * np.array([-0.001, 0, 0, -angle, 0, 0]), rtol=1e-4)


# ---- The platform from the encoders

T = 5e-4
Array = np.ndarray


def reference(robot: Robot) -> tuple[Array, Array]:
    x, y = mechanism_of(robot).reference
    return np.asarray(x, dtype=float), np.asarray(y, dtype=float)


# ---- displacements


@pytest.mark.parametrize("name", ["fivebar", "palida", "3rps"])
def test_a_displacement_and_back(name: str) -> None:
    robot = named_robot(name)
    x, y = reference(robot)
    w = 1e-5 * (1.0 + np.arange(robot.motion.n))
    there = displace_pose(robot, x, y, w)
    np.testing.assert_allclose(pose_difference(robot, there, x, y), w, rtol=1e-9)
    if mechanism_of(robot).layout.quaternion is not None:
        quat = there[mechanism_of(robot).layout.quaternion]
        np.testing.assert_allclose(np.linalg.norm(quat), 1.0, rtol=1e-14)
        # Half a turn of the sign of a quaternion is no rotation.
        flipped = there.copy()
        flipped[mechanism_of(robot).layout.quaternion] *= -1.0
        np.testing.assert_allclose(pose_difference(robot, flipped, x, y), w, rtol=1e-9)


def test_parasitic_motion_is_along_the_twist() -> None:
    """Rates of coordinates are not the entries of the twist; another function of the package says which."""
    robot = named_robot("3rps")
    x, y = reference(robot)
    x = x + np.array([0.01, 0.08, -0.05])
    y = inverse_kinematics(robot, x).y
    dx = np.array([1e-3, 2e-3, -1e-3])
    v = coordinate_motions(robot, x, y, dx, np.zeros(3))["v"]
    assert np.max(np.abs(v - dx)) > 1e-6
    np.testing.assert_allclose(pose_difference(robot, x + dx, x, y), v, rtol=1e-9)
    np.testing.assert_allclose(displace_pose(robot, x, y, v), x + dx, rtol=1e-9)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3)])
def test_between_actuators_and_twist(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    J, v, load = rng.normal(size=shape), rng.normal(size=3), rng.normal(size=3)
    np.testing.assert_allclose(twist_from_rates(J, J @ v), v)
    np.testing.assert_allclose(least_forces(J, load), np.linalg.pinv(J.T) @ load)


# ---- the observer


class Follower:
    """The observer on readings of a pose that moves as is given."""

    def __init__(self, name: str, *, bandwidth: float = 100.0, delay: float = 0.0) -> None:
        self.robot = named_robot(name)
        self.x, self.y = reference(self.robot)
        tuning = Tuning(T, 10.0, 1.0, delay, np.ones(2), np.ones(2), np.zeros(2))
        gains = platform_gains(tuning, bandwidth)
        self.k = {part: np.array([value]) for part, value in gains.items()}
        fields = VectorLayout(**platform_memory(self.robot))
        self.z = fields.split(fields.join(platform_memory_at_rest(self.x, self.y)))

    def sample(self, x: Array, acceleration: Any, missing: int | None = None) -> Any:
        q = np.array(inverse_kinematics(self.robot, x, limits=False).q)
        if missing is not None:
            q[missing] = np.nan
        platform = estimate_platform(self.robot, self.z, q, self.k)
        self.z = platform_memory_after(self.z, platform, np.asarray(acceleration, dtype=float))
        return platform


@pytest.mark.parametrize("name", ["fivebar", "redundant", "quattro"])
def test_a_motion_as_the_model_has_it_has_no_lag(name: str) -> None:
    """Constant acceleration from rest, with an initial position error of 1 mm."""
    follower = Follower(name)
    n = follower.robot.motion.n
    a, off = 4.0 * (1.0 + np.arange(n)), np.full(n, 1e-3)
    for k in range(8):
        t = T * k
        platform = follower.sample(follower.x + off + 0.5 * t * t * a, a)
        if k >= 2:
            np.testing.assert_allclose(platform.v, t * a, rtol=1e-6)
            np.testing.assert_allclose(platform.x, follower.x + off + 0.5 * t * t * a, atol=1e-11)
            np.testing.assert_allclose(platform.unmodelled, 0.0, atol=1e-4)
    np.testing.assert_allclose(platform.y, inverse_kinematics(follower.robot, platform.x).y, atol=1e-9)


@pytest.mark.parametrize("delay", [0.0, 2e-4, T])
def test_forces_act_after_their_delay(delay: float) -> None:
    """Accelerations that change with every sample, each from the delay on."""
    follower = Follower("fivebar", delay=delay)
    rng = np.random.default_rng(2)
    x, v, before = follower.x, np.zeros(2), np.zeros(2)
    for _ in range(8):
        a = 10.0 * rng.normal(size=2)
        platform = follower.sample(x, a)
        np.testing.assert_allclose(platform.v, v, atol=1e-9)
        for time, acting in ((delay, before), (T - delay, a)):
            x, v = x + time * v + 0.5 * time * time * acting, v + time * acting
        before = a


def test_what_the_model_lacks_is_found_with_the_stated_poles() -> None:
    """u of a constant acceleration that is not asked for: 1 - (1 + k (1 - p)) p^k, up to a sample's shift."""
    bandwidth = 40.0
    follower = Follower("fivebar", bandwidth=bandwidth)
    lacking = np.array([2.0, -1.0])
    for _ in range(5):
        follower.sample(follower.x, np.zeros(2))
    found = []
    for k in range(1, 50):
        t = T * k
        found.append(follower.sample(follower.x + 0.5 * t * t * lacking, np.zeros(2)).unmodelled / lacking)
    p = np.exp(-2.0 * np.pi * bandwidth * T)
    # The error of (v, u) from (0, 1) by its own matrix, of which both poles are p.
    b, c = follower.k["correction"][0], follower.k["learning"][0]
    A = np.array([[1.0 - b, 1.0 - 0.5 * b], [-c, 1.0 - 0.5 * c]])
    np.testing.assert_allclose(np.poly(A), [1.0, -2.0 * p, p * p], atol=1e-12)
    expected = [1.0 - (np.linalg.matrix_power(A, k) @ [0.0, 1.0])[1] for k in range(1, 50)]
    np.testing.assert_allclose(found, np.column_stack([expected, expected]), atol=1e-6)
    np.testing.assert_allclose(found[-1], 1.0, atol=0.02)


def test_missing_readings_are_bridged_and_then_stop() -> None:
    follower = Follower("fivebar")
    a = np.array([3.0, -2.0])
    patience = int(follower.k["patience"][0])
    for k in range(5 + patience + 1):
        t = T * k
        platform = follower.sample(follower.x + 0.5 * t * t * a, a, missing=1 if k >= 5 else None)
        np.testing.assert_allclose(platform.x, follower.x + 0.5 * t * t * a, atol=1e-9)
        assert (platform.stopped[0] > 0.0) == (k >= 5 + patience)
    assert follower.sample(follower.x, a).stopped[0] > 0.0


# ---- The check before a force leaves: determinants, singularities that are crossed, reasons and their order

K_OF_ADMISSIBLE = {"period": np.array([1e-3])}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_determinants_are_those_of_numpy(n: int) -> None:
    A = np.random.default_rng(n).normal(size=(n, n))
    assert determinant(A) == pytest.approx(np.linalg.det(A), rel=1e-12)
    A[-1] = A[0] if n > 1 else 0.0
    assert abs(determinant(A)) < 1e-14


@pytest.mark.parametrize("name", ["fivebar", "delta", "palida", "quattro"])
def test_the_parallel_margin_is_that_of_normalised_rows(name: str) -> None:
    """s d |d| / prod |J_i|^2 by NumPy; beyond the singularity the other side is refused."""
    robot = library_robot(name)
    rng, n = np.random.default_rng(3), robot.motion.n
    units = np.array([robot.size if c in "xyz" else 1.0 for c in robot.motion.coordinates])
    for _ in range(5):
        J = rng.normal(size=(n, n))
        rows = J * units / units[0]
        lengths = np.prod(np.sum(rows**2, axis=1))
        p = np.linalg.det(rows) ** 2 / lengths
        side = np.sign(np.linalg.det(rows))
        for own, expected in ((side, p), (-side, -p)):
            found = parallel_singularity_margin(robot, J, np.array([own]))
            assert found == pytest.approx((expected - NEAR_MARGIN) * lengths, rel=1e-9)


def test_the_other_side_of_a_parallel_singularity_is_refused() -> None:
    """A five-bar reaches poses on both sides of its singularity with the same legs."""
    robot = library_robot("fivebar")
    x = np.asarray(nacelle.reference_pose(robot), dtype=float)
    poses = x + np.random.default_rng(0).uniform(-1.5, 1.5, (600, 2)) * robot.size
    ok = nacelle.inverse_kinematics(robot, poses).ok
    z = {**setpoint_memory_at_rest(robot, x, np.zeros(0)), "started": np.zeros(1)}
    sides = []
    for pose in poses[ok][:60]:
        J = np.asarray(inverse_jacobian(robot, pose, np.zeros(0))["J"])
        same = np.sign(np.linalg.det(J)) == z["side"][0]
        numbers = check_state(robot, z, (pose, np.zeros(0), np.zeros(2)), Tolerance(0.0, 1.0)).numbers
        assert (min(numbers) > 0.0) == same
        sides.append(same)
    assert 0 < np.sum(sides) < len(sides)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "delta", "palida"])
def test_states_are_those_that_inverse_kinematics_takes(name: str) -> None:
    """Reach, branch and limits of all joints over random poses; room beyond limits takes more of them."""
    robot = library_robot(name)
    x = np.asarray(nacelle.reference_pose(robot), dtype=float)
    spread = np.array([robot.size if c in "xyz" else 0.0 for c in robot.motion.coordinates])
    reach = 0.35 if name == "palida" else 0.6
    moves = np.random.default_rng(1).uniform(-reach, reach, (60, robot.motion.n)) * spread
    poses = np.tile(x, (60, 1))
    poses[:, : np.count_nonzero(spread)] += moves[:, : np.count_nonzero(spread)]
    ok = nacelle.inverse_kinematics(robot, poses).ok
    z, n, none = setpoint_memory_at_rest(robot, x, np.zeros(0)), robot.motion.n, np.zeros(0)
    taken = {}
    for share in (0.0, 0.1):
        states = (check_state(robot, z, (pose, none, np.zeros(n)), Tolerance(share, 1.0)) for pose in poses)
        with np.errstate(all="ignore"):
            taken[share] = np.array([all(number > 0.0 for number in state.numbers) for state in states])
    # What is refused though it is reached lies beyond a parallel singularity.
    assert not np.any(taken[0.0] & ~ok)
    sides = [np.sign(np.linalg.det(np.asarray(inverse_jacobian(robot, p, none)["J"]))) for p in poses[ok]]
    assert np.array_equal(taken[0.0][ok], np.array(sides) == z["side"][0])
    assert not np.any(taken[0.0] & ~taken[0.1])
    assert 3 < np.sum(taken[0.0]) < 57


@pytest.mark.parametrize("name", ["quattro", "h4", "3rps"])
def test_a_relation_of_unknowns_that_is_off_is_refused_in_double(name: str) -> None:
    """By 1e-4 in any of its unknowns; the room of single precision takes what that leaves."""
    robot = library_robot(name)
    x, y = mechanism_of(robot).reference
    wide = Tolerance(0.0, 1.0, relation_error(random_states(robot)))
    z, v, units = (
        setpoint_memory_at_rest(robot, x, y),
        np.zeros(robot.motion.n),
        unknown_units(mechanism_of(robot)),
    )
    relations = branch_of(robot).relations
    assert relations
    for off, room, is_taken in (
        (0.0, Tolerance(0.0, 1.0), True),
        (1e-4, Tolerance(0.0, 1.0), False),
        (2e-5, wide, True),
    ):
        for relation in relations:
            moved = np.array(y)
            moved[relation.first] += off * units[relation.first]
            assert (min(check_state(robot, z, (x, moved, v), room).numbers) > 0.0) == is_taken


@pytest.mark.parametrize(
    ("x_off", "reading", "force", "before", "expected"),
    [
        (0.0, 0.0, 1.0, 0.0, 0.0),
        (9.0, 0.0, 1.0, 0.0, StopReason.DESIRED_OUT_OF_REACH),
        (0.0, 3.0, 1.0, 0.0, StopReason.MEASURED_BEYOND_LIMITS),
        (9.0, 3.0, 1.0, 0.0, StopReason.DESIRED_OUT_OF_REACH),
        (0.0, 3.0, np.nan, 0.0, StopReason.MEASURED_BEYOND_LIMITS),
        (0.0, 0.0, np.nan, 0.0, StopReason.FORCE_NOT_FINITE),
        (9.0, 3.0, np.nan, 2.0, StopReason.READINGS_MISSING),
        (np.nan, 0.0, 1.0, 0.0, StopReason.DESIRED_NOT_FINITE),
        (0.0, np.nan, 1.0, 0.0, 0.0),
    ],
)
def test_reasons_and_what_is_kept(
    x_off: float, reading: float, force: float, before: float, expected: float
) -> None:
    robot = library_robot("fivebar")
    x = np.asarray(nacelle.reference_pose(robot), dtype=float)
    z = {
        **setpoint_memory_at_rest(robot, x, np.zeros(0)),
        "q_d": nacelle.inverse_kinematics(robot, x).q,
        "started": np.ones(1),
        "stopped": np.array([before]),
        "own": np.array([5.0]),
    }
    assert {name: len(z[name]) for name in setpoint_memory(robot)} == setpoint_memory(robot)
    step = ControlStep(
        np.array([force, -1.0]), {"stopped": np.array([before]), "own": np.array([7.0])}, rate=np.zeros(2)
    )
    motion = DesiredMotion(x + x_off, np.zeros(2), np.zeros(2))
    with np.errstate(all="ignore"):
        result = release_force(robot, z, step, motion, K_OF_ADMISSIBLE, q=z["q_d"] + np.array([reading, 0.0]))
    assert result.memory["stopped"][0] == expected
    if expected:
        assert result.tau.tolist() == [0.0, 0.0]
        assert result.memory["own"][0] == 5.0
        np.testing.assert_array_equal(result.memory["q_d"], z["q_d"])
    else:
        assert result.tau.tolist() == [1.0, -1.0]
        assert result.memory["own"][0] == 7.0
