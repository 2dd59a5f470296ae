"""Observer.

observer, anchors, consistency, edge noise, elements, history, identifiability, process, settings,
sight, update.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.errors import ObserverError
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_vector
from nacelle.vision.camera import Exposure, Shutter
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.anchors import anchor_names, anchors_of, offset_map
from nacelle.vision.observer.observer import Observer
from nacelle.vision.observer.process import (
    AccelerationSchedule,
    ObserverState,
    PoseDisplacement,
    ProcessModel,
    displacement,
    pose_difference,
)
from nacelle.vision.observer.settings import ObserverSettings, Start
from nacelle.vision.observer.sight import (
    anchored_edges,
    anchored_readings,
    camera_numbers,
    cylinder_option,
    edges,
    readings,
)
from nacelle.vision.observer.update import (
    Innovation,
    InnovationSummary,
    MeasurementRows,
    chi_square_interval,
    consistency,
    kalman_update,
    nees,
)
from support.observed import (
    FINE,
    RenderingCamera,
    camera_for_legs,
    displaced_anchors,
    run_observer,
    true_motion,
)
from support.simulated_camera import SimulatedCamera
from support.vision_scenes import contour_normals

# ---- The observer as a whole: unbiased, consistent, late measurements, clocks, outliers, silence, divergence

# How often a right observer may fail a test, were its seeds drawn anew.
CHANCE = 1e-3


def judged(runs):
    """Average NEES over its degrees with its interval, and the largest mean error over its standard error."""
    e, P = np.array([run.error[-1] for run in runs]), np.array([run.covariance[-1] for run in runs])
    count, size = e.shape
    z = e.mean(axis=0) / np.sqrt(np.diagonal(P, axis1=1, axis2=2).mean(axis=0) / count)
    return nees(e, P).mean() / size, chi_square_interval(count * size, CHANCE), np.max(np.abs(z))


@pytest.mark.costly
@pytest.mark.parametrize(("name", "count"), [("fivebar", 10), ("quattro", 12), ("gough-stewart", 12)])
def test_unbiased_and_consistent(name, count):
    """Late regions one after the other; `benchmarks/observer.py` is the long version."""
    robot = nacelle.load(name)
    shutter = Shutter(latency=5e-3)
    runs = [run_observer(robot, seed, duration=0.08, shutter=shutter) for seed in range(count)]
    average, (low, high), worst = judged(runs)
    assert low < average < high
    assert worst < 4.0
    innovations = [run.observer.consistency() for run in runs]
    assert sum(one.rejected for one in innovations) <= 1
    assert abs(np.mean([one.average for one in innovations]) - 1.0) < 4.0 / np.sqrt(count * 70)


def test_latency_is_compensated():
    """Ten times the latency costs what the noise of 20 ms costs, not 20 ms of motion (4 mm and more)."""
    robot = nacelle.load("fivebar")
    runs = [run_observer(robot, seed, duration=0.1, shutter=Shutter(latency=20e-3)) for seed in range(6)]
    average, (low, high), _ = judged(runs)
    assert low < average < high
    speed = [np.linalg.norm(run.observer.estimate(0.1).v) for run in runs]
    off = [np.linalg.norm(run.error[-1][:2]) for run in runs]
    assert np.mean(off) < 0.15 * 20e-3 * np.mean(speed)


def test_the_clock_is_found_beside_encoders():
    robot = nacelle.load("fivebar")
    settings = ObserverSettings(encoders=2e-5, clock=5e-3)
    runs, z = [], []
    for seed in range(8):
        offset = FINE * round(5e-3 * np.random.default_rng(seed).standard_normal() / FINE)
        shutter = Shutter(latency=4e-3, clock_offset=offset)
        run = run_observer(robot, seed, duration=0.08, settings=settings, shutter=shutter, encoders=2e-3)
        runs.append(run)
        z.append((run.last.clock - offset) / run.last.clock_sigma)
    assert run.last.clock_sigma < 20e-6
    low, high = chi_square_interval(len(z), CHANCE)
    assert low < np.mean(np.square(z)) < high
    average, (low, high), _ = judged(runs)
    assert low < average < high


def test_a_clock_without_encoders_stays_uncertain():
    robot = nacelle.load("fivebar")
    run = run_observer(
        robot, 0, duration=0.1, settings=ObserverSettings(clock=3e-3), shutter=Shutter(clock_offset=2e-3)
    )
    assert (run.last.clock, run.last.clock_sigma) == (0.0, pytest.approx(3e-3))
    n = robot.motion.n
    # An uncertain time is an uncertain pose where the robot moves.
    assert np.sqrt(np.trace(run.last.covariance[:n, :n])) > 2e-3 * np.linalg.norm(run.last.v)


def test_displaced_anchors_do_not_bias_the_pose():
    robot = nacelle.load("fivebar")
    settings = ObserverSettings(anchors=1e-3)
    runs, plain, squares = [], [], []
    for seed in range(6):
        displaced = 1e-3 * np.random.default_rng(100 + seed).standard_normal(4)
        run = run_observer(robot, seed, duration=0.1, settings=settings, displaced=displaced)
        runs.append(run)
        squares.append(nees(displaced - run.last.anchors, run.last.anchors_covariance))
        try:
            without = run_observer(robot, seed, duration=0.1, displaced=displaced)
            plain.append(nees(without.error[-1], without.covariance[-1]))
        except ObserverError as error:
            plain.append(np.inf if error.diverged else 0.0)
    average, (low, high), worst = judged(runs)
    assert low < average < high
    assert worst < 4.0
    low, high = chi_square_interval(4 * len(squares), CHANCE)
    assert low < np.mean(squares) / 4 < high
    # Taken for what the description says, the same anchors are wrong by many standard deviations.
    assert np.median(plain) > 50.0


def test_outliers_are_left_out():
    robot = nacelle.load("fivebar")

    class Dazzled(SimulatedCamera):
        """Every tenth edge is somewhere else."""

        def measure(self, exposure, x, expected=None):
            edges = super().measure(exposure, x)
            turned = []
            for edge in edges:
                n = edge.normal
                if self._rng.uniform() < 0.1:
                    n = n + 0.02 * np.cross(n, self._rng.standard_normal(3))
                turned.append(replace(edge, normal=n / np.linalg.norm(n)))
            return turned

    def eye(robot, camera, rng):
        return Dazzled(robot, camera, visible_cylinders(robot), sigma=0.02, rng=rng)

    runs = [run_observer(robot, seed, duration=0.1, eye=eye) for seed in range(6)]
    average, (low, high), _ = judged(runs)
    assert low < average < high
    rejected = [run.observer.consistency().rejected for run in runs]
    assert 0.05 * 6 * 98 < sum(rejected) < 0.15 * 6 * 98


@pytest.mark.slow
def test_rendered_regions():
    robot = nacelle.load("fivebar")
    run = run_observer(robot, 1, duration=0.06, eye=RenderingCamera)
    assert nees(run.error[-1], run.covariance[-1]) < 18.0
    assert run.observer.consistency().rejected == 0
    assert run.observer.consistency().count > 40


def observer_at_rest(**settings):
    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot)
    observer = Observer(robot, camera_for_legs(robot), Start(x), ObserverSettings(**settings))
    eye = SimulatedCamera(
        robot, camera_for_legs(robot), visible_cylinders(robot), sigma=0.1, rng=np.random.default_rng(0)
    )
    return observer, eye, x


def test_silence_is_flagged():
    observer, eye, x = observer_at_rest(stale=0.05)
    observer.take(eye.measure(Exposure(0.01, 0.012, (1,)), x))
    early, late = observer.estimate(0.02), observer.estimate(1.02)
    assert (early.stale, late.stale) == (False, True)
    assert late.age == pytest.approx(1.01)
    # White noise of density q on the acceleration: q t^3 / 3 of the pose.
    assert np.all(np.diag(late.covariance)[:2] > 0.2**2 / 3.0)


def test_what_is_not_finite_is_refused():
    observer, eye, x = observer_at_rest()
    edge = eye.measure(Exposure(0.25, 0.26, (3,)), x)[1]
    with pytest.raises(ObserverError, match=r"side 1 of right\.distal measured at 0\.25 s is not finite"):
        observer.take([replace(edge, normal=np.array([np.nan, 0.0, 1.0]))])
    with pytest.raises(ObserverError, match="4 cylinders"):
        observer.take([replace(edge, cylinder=4)])
    with pytest.raises(ObserverError, match=r"right\.motor at 0\.5 s"):
        observer.read(0.5, [0.0, np.nan])
    with pytest.raises(ObserverError, match=r"acceleration at 0\.1 s"):
        observer.add_acceleration(0.1, [np.inf, 0.0])


def test_divergence_is_an_error_and_a_new_start_helps():
    observer, eye, x = observer_at_rest(patience=5)
    elsewhere = x + np.array([0.05, 0.02])
    edges = [
        edge for k in range(20) for edge in eye.measure(Exposure(1e-3 * k, 1e-3 * k, (k % 4,)), elsewhere)
    ]
    observer.take(edges)
    with pytest.raises(ObserverError, match="contradict the estimate") as caught:
        observer.estimate(0.1)
    assert caught.value.diverged
    assert caught.value.time < 0.1
    observer.restart(Start(elsewhere, time=caught.value.time))
    assert np.max(np.abs(observer.estimate(0.1).x - elsewhere)) < 1e-2


def test_edges_of_one_exposure_are_used_together_and_not_before_they_arrive():
    observer, eye, x = observer_at_rest()
    observer.take(eye.measure(Exposure(0.01, 0.05, (0, 1, 2, 3)), x))
    assert observer.estimate(0.04).age == pytest.approx(0.04)
    now = observer.estimate(0.05)
    assert now.age == pytest.approx(0.04)
    assert len(observer.steps) == 2
    assert isinstance(observer.steps[1].event.measured[0], EdgeMeasurement)


# ---- Displaced anchors: which can be, and what they do to edges and readings


def test_a_planar_robot_stays_in_its_plane():
    robot = nacelle.load("fivebar")
    names = anchor_names(robot, anchors_of(robot))
    assert [name.split()[-1] for name in names] == ["x", "y", "x", "y"]
    assert len(anchors_of(nacelle.load("gough-stewart"))) == 18


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "quattro", "gough-stewart", "3rps"])
def test_edges_and_readings_of_displaced_anchors(name):
    """The displaced robot itself, its loops closed, gives the values; its differences the derivatives."""
    robot = nacelle.load(name)
    anchors, camera = anchors_of(robot), camera_numbers(camera_for_legs(robot))
    shapes = cylinder_option(visible_cylinders(robot))
    rng = np.random.default_rng(1)
    o = 1e-3 * robot.size * rng.uniform(-1.0, 1.0, len(anchors))
    ik = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))

    def truly(offsets):
        real = displaced_anchors(robot, anchors, offsets)
        y = ik.y
        for _ in range(5 if len(y) else 0):
            y = y + loop_closing_step(real, y, ik.x)["dy"]
        seen = edges(real, ik.x, y, camera, cylinders=shapes)
        return seen["frame"][:, :, 0], readings(real, ik.x, y)["q"]

    offsets = offset_map(robot, anchors) @ o
    at = anchored_edges(robot, ik.x, ik.y, camera, offsets, cylinders=shapes, anchors=anchors)
    read = anchored_readings(robot, ik.x, ik.y, offsets, anchors=anchors)
    normals, q = truly(o)
    np.testing.assert_allclose(at["frame"][:, :, 0], normals, atol=1e-10)
    np.testing.assert_allclose(read["q"], q, atol=1e-10)
    for k in rng.choice(len(anchors), 2, replace=False):
        step = 1e-6 * np.eye(len(anchors))[k]
        (n1, q1), (n0, q0) = truly(o + step), truly(o - step)
        expected = np.einsum("csij,csj->csi", at["frame"][:, :, 1:], (n1 - n0) / 2e-6)
        np.testing.assert_allclose(at["by_anchor"][..., k], expected, atol=1e-6)
        np.testing.assert_allclose(read["by_anchor"][:, k], (q1 - q0) / 2e-6, atol=1e-6)


# ---- Normalised squares against drawn errors


def test_normalised_errors():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 3)) * np.array([1e-6, 1.0, 1e3])
    e = rng.standard_normal((4000, 3)) @ A
    squares = nees(e, np.broadcast_to(A.T @ A, (4000, 3, 3)))
    low, high = chi_square_interval(3 * 4000)
    assert low < np.mean(squares) / 3 < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(2 / 12000), rel=1e-2)


def test_innovations():
    each = (Innovation(0.0, "a", 2.0, 2, True), Innovation(0.0, "b", 99.0, 2, False))
    result = consistency(
        [InnovationSummary(each, 2.0, 2), InnovationSummary((each[0],), 4.0, 2), InnovationSummary()]
    )
    assert (result.average, result.count, result.rejected) == (1.5, 2, 1)
    assert result.ok
    assert not consistency([InnovationSummary(each[:1], 40.0, 2)]).ok
    assert np.isnan(consistency([InnovationSummary(each[1:])]).average)


# ---- Simulated edges: their covariance is that of a line fitted to noisy pixels, their noise has it


def test_noise_is_that_of_fitted_lines():
    robot = nacelle.load("fivebar")
    camera, cylinders = camera_for_legs(robot), visible_cylinders(robot)
    rng, sigma = np.random.default_rng(0), 0.3
    eye = SimulatedCamera(robot, camera, cylinders, sigma=sigma, rng=rng)
    x = nacelle.reference_pose(robot)
    ik = nacelle.inverse_kinematics(robot, x)
    A, B = cylinders[1].ends_in_base(*ik.bodies)
    n = contour_normals(camera, A, B - A, cylinders[1].radius)[0]
    # Points of the edge: those of the axis less the radius along the normal, a pixel apart.
    ends = [camera.in_camera_axes(end) - cylinders[1].radius * n for end in (A, B)]
    pixels = camera.pixels(np.array(ends))
    count = round(float(np.linalg.norm(pixels[1] - pixels[0])))
    points = np.linspace(pixels[0], pixels[1], count)
    way = (pixels[1] - pixels[0]) / np.linalg.norm(pixels[1] - pixels[0])
    fits = []
    for _ in range(400):
        noisy = points + sigma * rng.standard_normal(count)[:, None] * np.array([-way[1], way[0]])
        rays = camera.ray(noisy)
        rays = rays / rays[:, 2:]
        _, _, V = np.linalg.svd(rays, full_matrices=False)
        # In the image's own measure: distances of pixels, not of rays, are what scatters.
        fit = V[-1] if V[-1] @ n > 0.0 else -V[-1]
        fits.append(fit - n)
    fitted = np.array(fits).T @ np.array(fits) / len(fits)
    drawn = []
    for _ in range(400):
        edges = eye.measure(Exposure(1.0, 2.0, (1,)), x)
        assert [(e.cylinder, e.side, e.time, e.arrival) for e in edges] == [
            (1, 0, 1.0, 2.0),
            (1, 1, 1.0, 2.0),
        ]
        assert np.max(np.abs(edges[0].covariance @ edges[0].normal)) < 1e-20
        drawn.append(edges[0].normal - n)
    stated = edges[0].covariance
    for sampled in (fitted, np.array(drawn).T @ np.array(drawn) / len(drawn)):
        assert np.max(np.abs(sampled - stated)) < 5.0 * 1.4 / np.sqrt(400) * np.max(np.abs(stated))


def test_out_of_view_there_is_nothing():
    robot = nacelle.load("fivebar")
    camera, x = camera_for_legs(robot), nacelle.reference_pose(robot)
    away = camera.at_pose(camera.pose._replace(R=camera.pose.R @ np.diag([1.0, -1.0, -1.0])))
    eye = SimulatedCamera(robot, away, visible_cylinders(robot), sigma=0.1, rng=np.random.default_rng(0))
    assert eye.measure(Exposure(0.0, 0.0, (0, 1)), x) == []


# ---- Measurements in their place: any order of arrival gives the same state


@pytest.fixture(scope="module")
def measured():
    robot = nacelle.load("fivebar")
    rng = np.random.default_rng(5)
    settings = ObserverSettings(horizon=0.5, encoders=1e-4)
    truth = true_motion(robot, settings.density(robot), 0.06, rng)
    eye = SimulatedCamera(robot, camera_for_legs(robot), visible_cylinders(robot), sigma=0.1, rng=rng)
    edges = [
        (t, eye.measure(Exposure(t, t, (k % 4,)), truth.x[truth.at(t)]))
        for k, t in enumerate(np.arange(1, 12) * 5e-3)
    ]
    readings = [
        (t, nacelle.inverse_kinematics(robot, truth.x[truth.at(t)]).q)
        for t in np.arange(1, 9) * 6e-3 + 1.5e-3
    ]
    return robot, settings, truth, edges, readings


def observer_of(measured):
    robot, settings, truth, _, _ = measured
    observer = Observer(robot, camera_for_legs(robot), Start(truth.x[0], truth.v[0]), settings)
    for k in range(0, len(truth.t), 4):
        observer.add_acceleration(truth.t[k], truth.a[k])
    return observer


def given(measured, order):
    """Feed all measurements in an order, each as soon as it is given."""
    _, _, _, edges, readings = measured
    events = [("edges", *one) for one in edges] + [("readings", *one) for one in readings]
    observer = observer_of(measured)
    for k in order(sorted(range(len(events)), key=lambda k: events[k][1])):
        kind, time, value = events[k]
        if kind == "edges":
            observer.take(value)
            observer.estimate(0.06)
        else:
            observer.read(time, value)
    return observer.estimate(0.06)


def test_any_order_gives_the_same(measured):
    in_order = given(measured, lambda order: order)
    late_edges = given(measured, lambda order: [*order[::2], *order[1::2]])
    backwards = given(measured, lambda order: order[::-1])
    for other in (late_edges, backwards):
        np.testing.assert_allclose(other.covariance, in_order.covariance, rtol=1e-6)
        np.testing.assert_allclose(other.x, in_order.x, atol=1e-12)
        np.testing.assert_allclose(other.v, in_order.v, atol=1e-10)


def test_what_is_too_late_is_counted(measured):
    robot, _, truth, edges, _ = measured
    observer = Observer(
        robot, camera_for_legs(robot), Start(truth.x[0], truth.v[0], time=0.03), ObserverSettings()
    )
    observer.take([edge for time, group in edges for edge in group if time < 0.03])
    observer.estimate(0.06)
    assert observer.too_late == 5
    assert len(observer.steps) == 1


# ---- Displacements against SciPy's rotations; predicted covariances against drawn motions


def test_displacements_of_an_orientation():
    robot = nacelle.load("gough-stewart")
    rng = np.random.default_rng(0)
    x, displaced = nacelle.reference_pose(robot), PoseDisplacement(robot)
    for scale in (1e-9, 1e-3, 0.4):
        d = scale * rng.standard_normal(6)
        moved = displaced(x, np.zeros(0), d)
        np.testing.assert_allclose(moved[:3], x[:3] + d[:3], atol=1e-15)
        expected = Rotation.from_rotvec(d[3:]) * Rotation.from_quat(x[3:])
        assert (Rotation.from_quat(moved[3:]) * expected.inv()).magnitude() < 1e-14
        np.testing.assert_allclose(pose_difference(robot, moved, x, np.zeros(0)), d, atol=1e-15)


@pytest.mark.slow
def test_tilts_move_along_the_twist():
    """3-RPS: rates of its tilts are not the angular velocity; the platform's body says what is right."""
    robot = nacelle.load("3rps")
    ik = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    d = 1e-5 * np.array([0.3, -0.5, 0.8])
    moved = nacelle.inverse_kinematics(robot, PoseDisplacement(robot)(ik.x, ik.y, d), guess=ik)
    J = nacelle.kinematics.body_jacobian(robot, ik.x)[1]
    assert np.allclose(moved.bodies.p[1] - ik.bodies.p[1], J[:3] @ d, atol=1e-9)
    turn = Rotation.from_matrix(moved.bodies.R[1] @ ik.bodies.R[1].T).as_rotvec()
    assert np.allclose(turn, J[3:] @ d, atol=1e-9)
    assert np.allclose(pose_difference(robot, moved.x, ik.x, ik.y), d, atol=1e-12)


def test_accelerations_hold_until_the_next():
    one = AccelerationSchedule(1)
    one.add(1.0, np.array([1.0]))
    one.add(3.0, np.array([3.0]))
    one.add(2.0, np.array([2.0]))
    pieces = [(round(h, 12), float(a[0])) for h, a in one.pieces(0.5, 3.5)]
    assert pieces == [(0.5, 0.0), (1.0, 1.0), (1.0, 2.0), (0.5, 3.0)]
    one.forget(2.5)
    assert one.at(2.5)[0] == 2.0
    assert one.pieces(1.0, 1.0) == []


@pytest.mark.parametrize("rate", [0.0, 4.0])
def test_the_predicted_covariance_is_that_of_drawn_motions(rate):
    """Errors of orientation turn with the robot: 4 rad/s over 0.2 s, drawn in fine steps."""
    robot = nacelle.load("gough-stewart")
    rng = np.random.default_rng(1)
    density = np.diag([1e-4] * 3 + [4e-4] * 3)
    process, h, steps, runs = ProcessModel(robot, density, np.zeros(0)), 0.2, 8, 3000
    P0 = np.diag([1e-6] * 3 + [1e-4, 4e-6, 1e-6] + [1e-4] * 3 + [1e-3, 1e-4, 1e-3])
    x, v = nacelle.reference_pose(robot), np.array([0.1, 0.0, 0.0, 0.0, 0.0, rate])
    start = ObserverState(0.0, x, np.zeros(0), v, np.zeros(0), 0.0, P0, 0.0)
    end = process.predict(start, h)
    draws = rng.standard_normal((runs, 12)) @ np.linalg.cholesky(P0).T
    turned = Rotation.from_rotvec(draws[:, 3:6]) * Rotation.from_quat(x[3:])
    position, twist, dt = x[:3] + draws[:, :3], v + draws[:, 6:], h / steps
    root = np.linalg.cholesky(np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]]))
    for _ in range(steps):
        noise = (rng.standard_normal((runs, 6, 2)) @ root.T) * np.sqrt(np.diag(density))[:, None]
        s = dt * twist + noise[..., 0]
        position, turned = position + s[:, :3], Rotation.from_rotvec(s[:, 3:]) * turned
        twist = twist + noise[..., 1]
    off = (turned * Rotation.from_quat(end.x[3:]).inv()).as_rotvec()
    errors = np.concatenate([position - end.x[:3], off, twist - end.v], axis=1)
    white = np.linalg.solve(np.linalg.cholesky(end.P), errors.T)
    # Entries of a sampled covariance of unit variables scatter by 1 / sqrt(runs), squares by 1.4 times that.
    assert np.max(np.abs(white @ white.T / runs - np.eye(12))) < 5.0 * 1.4 / np.sqrt(runs)


# ---- What an observer may be given


@pytest.mark.parametrize(
    ("name", "value"), [("acceleration", 0.0), ("encoders", -1.0), ("gate", 1.0), ("horizon", np.nan)]
)
def test_impossible_numbers_are_named(name, value):
    with pytest.raises(ObserverError, match=name):
        ObserverSettings(**{name: value})


def test_lengths_count_over_the_size_for_angles():
    robot = nacelle.load("gough-stewart")
    Q = ObserverSettings(acceleration=0.5).density(robot)
    np.testing.assert_allclose(np.diag(Q), [0.25] * 3 + [(0.5 / robot.size) ** 2] * 3)
    P = Start(None, sigma_x=np.arange(1.0, 7.0), sigma_v=2.0).covariance(robot)
    np.testing.assert_allclose(np.diag(P)[:7], [1, 4, 9, 16, 25, 36, 4])
    with pytest.raises(ObserverError, match="6 numbers"):
        ObserverSettings(acceleration=(1.0, 2.0)).density(robot)


# ---- Kalman's update against the information form and least squares; gates


@pytest.fixture
def state():
    robot = nacelle.load("fivebar")
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    P = 1e-6 * (A @ A.T + np.eye(4))
    x = nacelle.reference_pose(robot)
    return robot, ObserverState(1.0, x, np.zeros(0), np.zeros(2), np.zeros(0), 0.0, P, 0.0, rejected=(3, 2))


def test_an_update_is_that_of_least_squares(state):
    robot, before = state
    rng = np.random.default_rng(1)
    H, r = rng.standard_normal((4, 4)), 1e-3 * rng.standard_normal(4)
    R = np.diag([1e-6, 2e-6, 3e-6, 4e-6])
    rows = MeasurementRows(r, H, R, ("a", "b"), np.ones(2, dtype=bool))
    after, said = kalman_update(before, rows, 1e-9, PoseDisplacement(robot), kind=0)
    information = np.linalg.inv(before.P) + H.T @ np.linalg.inv(R) @ H
    e = np.linalg.solve(information, H.T @ np.linalg.solve(R, r))
    np.testing.assert_allclose(after.P, np.linalg.inv(information), rtol=1e-9)
    np.testing.assert_allclose(after.x - before.x, e[:2], rtol=1e-8)
    np.testing.assert_allclose(after.v, e[2:], rtol=1e-8)
    assert said.nis == pytest.approx(r @ np.linalg.solve(H @ before.P @ H.T + R, r))
    assert (said.degrees, after.rejected, after.seen) == (4, (0, 2), 1.0)


def test_what_contradicts_is_left_out(state):
    robot, before = state
    H = np.kron(np.ones((2, 1)), np.eye(2, 4))
    R = 1e-8 * np.eye(4)
    good = MeasurementRows(np.array([1e-4, 0.0, 0.1, 0.0]), H, R, ("good", "bad"), np.ones(2, dtype=bool))
    alone = MeasurementRows(good.r[:2], H[:2], R[:2, :2], ("good",), np.ones(1, dtype=bool))
    after, said = kalman_update(before, good, 1e-5, PoseDisplacement(robot), kind=0)
    expected, _ = kalman_update(before, alone, 1e-5, PoseDisplacement(robot), kind=0)
    assert [one.accepted for one in said.each] == [True, False]
    np.testing.assert_allclose(after.P, expected.P, rtol=1e-12)
    impossible = good._replace(possible=np.zeros(2, dtype=bool))
    same, _ = kalman_update(before, impossible, 1e-5, PoseDisplacement(robot), kind=0)
    assert same.P is before.P
    assert same.rejected == (5, 2)


# ---- Edges and readings at a pose: their values by the camera's own geometry, their Jacobians by differences


@pytest.fixture(params=["fivebar", "quattro", "gough-stewart", "3rps"], scope="module")
def seen(request):
    robot = nacelle.load(request.param)
    rng = np.random.default_rng(3)
    cylinders, camera = visible_cylinders(robot), camera_for_legs(robot)
    reference = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    d = 0.02 * twist_scales(robot) * rng.uniform(-1.0, 1.0, robot.motion.n)
    x = displacement(robot, reference.x, reference.y, d)["moved"]
    return robot, cylinders, camera, nacelle.inverse_kinematics(robot, x, limits=False)


def normals(robot, cylinders, camera, ik):
    ends = [cylinder.ends_in_base(*ik.bodies) for cylinder in cylinders]
    first, other = (np.array(part) for part in zip(*ends, strict=True))
    return contour_normals(camera, first, other - first, np.array([c.radius for c in cylinders]))


def differences(seen, function):
    """Central differences of a function of the solution along the entries of the reduced twist, last axis."""
    robot, _, _, ik = seen
    result = []
    for step in 1e-6 * np.diag(twist_scales(robot)):
        ends = []
        for s in (step, -step):
            x = displacement(robot, ik.x, ik.y, s)["moved"]
            ends.append(function(nacelle.inverse_kinematics(robot, x, guess=ik, limits=False)))
        result.append((ends[0] - ends[1]) / (2.0 * np.sum(step)))
    return np.moveaxis(np.array(result), 0, -1)


def test_edges_and_their_jacobian(seen):
    robot, cylinders, camera, ik = seen
    at = edges(robot, ik.x, ik.y, camera_numbers(camera), cylinders=cylinder_option(cylinders))
    n = normals(robot, cylinders, camera, ik)
    np.testing.assert_allclose(at["frame"][:, :, 0], n, atol=1e-13)
    frames = at["frame"]
    np.testing.assert_allclose(
        frames @ np.swapaxes(frames, -1, -2), np.broadcast_to(np.eye(3), frames.shape), atol=1e-13
    )
    slopes = differences(seen, lambda one: normals(robot, cylinders, camera, one))
    expected = np.einsum("csij,csjk->csik", frames[:, :, 1:], slopes)
    np.testing.assert_allclose(at["by_pose"], expected, atol=3e-8 * np.max(np.abs(expected)))


def test_a_camera_that_moves(seen):
    """Rows [0, -m], [n/q, u] of the head of the file."""
    robot, cylinders, camera, ik = seen
    at = edges(robot, ik.x, ik.y, camera_numbers(camera), cylinders=cylinder_option(cylinders))
    frame, (R, p), h = at["frame"], camera.pose, 1e-6
    for k in range(6):
        ends = []
        for s in (h, -h):
            dp, dr = np.eye(6)[k, :3] * s, np.eye(6)[k, 3:] * s
            ends.append(
                normals(robot, cylinders, camera.at_pose(Pose(R @ rotation_vector(dr), p + R @ dp)), ik)
            )
        expected = np.einsum("csij,csj->csi", frame[:, :, 1:], (ends[0] - ends[1]) / (2.0 * h))
        n, u, m = (frame[:, :, row] for row in range(3))
        first = -m[..., k - 3] if k >= 3 else np.zeros(m.shape[:2])
        second = u[..., k - 3] if k >= 3 else n[..., k] / at["tangent"][:, None]
        np.testing.assert_allclose(np.stack([first, second], axis=-1), expected, atol=1e-8)


def test_readings_and_their_jacobian(seen):
    robot, _, _, ik = seen
    at = readings(robot, ik.x, ik.y)
    np.testing.assert_allclose(at["q"], ik.q, atol=1e-12)
    expected = differences(seen, lambda one: one.q)
    np.testing.assert_allclose(at["by_pose"], expected, atol=1e-7 * np.max(np.abs(expected)))


def test_within_a_cylinder_there_are_no_edges():
    robot = nacelle.load("fivebar")
    cylinders = visible_cylinders(robot)
    ik = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    first, other = cylinders[0].ends_in_base(*ik.bodies)
    camera = replace(camera_for_legs(robot), pose=Pose(np.eye(3), 0.5 * (first + other)))
    at = edges(robot, ik.x, ik.y, camera_numbers(camera), cylinders=cylinder_option(cylinders))
    assert at["tangent"][0] == -1.0
    assert np.all(at["tangent"][1:] > 0.0)
    assert np.all(np.isfinite(at["frame"]))
