"""The pose and lens of a camera from edges of a robot's legs, a first guess, and a simulated calibration.

The pose of a camera, and its lens where that is unknown, from edges of a robot's legs at given poses.

Levenberg and Marquardt's method on the bundle (`bundle`): with r and J at a point, in the unknowns' units,

    (J^T J + l 1) z = -J^T r,     l smaller after each step that lowers the cost, larger otherwise

Then edges that do not fit (their normalised residual squared beyond its chi-square quantile) are left out and
the rest is fitted again. The covariance of the result is (J^T J)^-1; the sum of squares has, where everything
is right, the chi-square distribution of rows less unknowns. With anchors and poses unknown, camera and robot
may move together as far as these are expected to: along such a long, curved valley the covariance is that of
its tangent.

A first guess of a camera's pose: places around the robot from which it looks at its middle.

Directions on a sphere (Fibonacci), distances and rolls are tried side by side on the first sightings; the sum
of the squares of the normals' errors, each not more than a cap, so that one wrong edge does not decide, says
which are best.

Simulated calibration: how well a camera would be calibrated from images of a robot at some poses.

Poses are drawn about the reference within the robot's reach and limits; at each an image is rendered and the
edges of the legs are measured in it, looked for with the true camera. The calibration begins at a camera that
is near the true one, and its result is compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.errors import CalibrationError
from nacelle.kinematics.motion import evaluate_function
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import log_rotation, quat_from_vector, rotation_quat, rotation_vector
from nacelle.spatial.scalar import Array
from nacelle.vision.calibration.bundle import (
    Bundle,
    BundlePoint,
    BundleSystem,
    CameraUnknowns,
    EdgePoints,
    PoseSighting,
)
from nacelle.vision.calibration.excitation import CameraExcitation, jacobian_excitation
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, visible_cylinders
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measure import render_and_measure
from nacelle.vision.observer.process import PoseDisplacement
from nacelle.vision.observer.sight import camera_numbers, cylinder_option, edges
from nacelle.vision.observer.update import chi_square_quantile
from nacelle.vision.placing import sphere_directions
from nacelle.vision.scene import RobotScenery

_DIRECTIONS, _ROLLS = 160, 12
# Distances as parts of the reach of the cylinders from their middle.
_DISTANCES = (1.8, 2.7, 4.0, 6.0)
# An edge whose normal is off by more, rad, counts as this.
_LARGEST_ERROR = 0.3
# Sightings that are compared.
_MOST_SIGHTINGS = 3


def first_guesses(
    robot: Robot,
    cylinders: Sequence[Cylinder],
    sightings: Sequence[PoseSighting],
    camera: Camera,
    count: int = 6,
) -> list[Camera]:
    """The best cameras of a coarse search, best first, with the lens of a given one."""
    few = sightings[:: max(1, len(sightings) // _MOST_SIGHTINGS)][:_MOST_SIGHTINGS]
    candidates = _candidates(robot, cylinders, few, camera)
    options = {"cylinders": cylinder_option(cylinders)}
    numbers = np.stack([camera_numbers(candidate) for candidate in candidates])
    cost = np.zeros(len(candidates))
    for sighting in few:
        frame = evaluate_function(
            edges, robot, np.asarray(sighting.x)[None], numbers, options=options
        ).results["frame"]
        for edge in sighting.edges:
            # The normal of the plane of points has the sign of the side that their order cannot tell.
            n = np.linalg.svd(camera.ray(edge.pixels))[2][-1] if isinstance(edge, EdgePoints) else edge.normal
            off = np.sum((frame[:, edge.cylinder, edge.side, 0] - n) ** 2, axis=-1)
            cost += np.minimum(np.nan_to_num(off, nan=_LARGEST_ERROR**2), _LARGEST_ERROR**2)
    order = np.argsort(cost)[:count]
    return [candidates[int(k)] for k in order]


def _candidates(
    robot: Robot, cylinders: Sequence[Cylinder], sightings: Sequence[PoseSighting], camera: Camera
) -> list[Camera]:
    bodies = [inverse_kinematics(robot, sighting.x, limits=False).bodies for sighting in sightings]
    ends = np.array([end for poses in bodies for c in cylinders for end in c.ends_in_base(*poses)])
    middle = 0.5 * (ends.min(axis=0) + ends.max(axis=0))
    reach = float(np.max(np.linalg.norm(ends - middle, axis=1)))
    if not reach > 0.0:
        raise CalibrationError(f"{robot.name} has no cylinder that a camera could see")
    result = []
    for way in sphere_directions(_DIRECTIONS):
        for part in _DISTANCES:
            upright = Camera.look_at(middle, middle + part * reach * way)
            for roll in np.arange(_ROLLS) * (2.0 * np.pi / _ROLLS):
                R = upright.pose.R @ rotation_vector(np.array([0.0, 0.0, roll]))
                result.append(camera.at_pose(Pose(R, upright.pose.p)))
    return result


# ---- the pose of a camera, and its lens where that is unknown, from edges of a robot's legs at given poses


# Fewer poses leave a camera to chance.
FEWEST = 4
_STEPS = 200
# Steps of fewer standard deviations than this end the iteration.
_DONE = 1e-6
# Probability with which a right edge is left out.
_GATE = 1e-5
# Rounds of leaving out edges that do not fit.
_ROUNDS = 8
# Part of the worst misfit beyond which an edge is left out with it.
_REJECTION_FRACTION = 0.2


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibrated camera.

    Attributes:
        camera: the camera.
        names: of the unknowns: the pose's displacements in camera axes (m, rad), the lens, anchors.
        covariance: of their errors (k, k), SI units and px.
        chi_square: sum of the squares of the normalised residuals.
        degrees: of freedom of it.
        rejected: edges that were left out: (sighting, place of the edge in it).
        excitation: how well everything is determined.
        anchors: displacements of anchors, m, by name.
        x: poses of the sightings (S, nx); the given ones, where these are exact.
    """

    camera: Camera
    names: tuple[str, ...]
    covariance: Array
    chi_square: float
    degrees: int
    rejected: tuple[tuple[int, int], ...]
    excitation: CameraExcitation
    anchors: dict[str, float]
    x: Array

    @property
    def sigma(self) -> dict[str, float]:
        """Standard deviations by name, SI units and px."""
        return dict(zip(self.names, np.sqrt(np.diagonal(self.covariance)).tolist(), strict=True))

    @property
    def probability(self) -> float:
        """Of a larger sum of squares, if model and covariances are right: small where they are not."""
        from scipy.special import chdtrc

        return float(chdtrc(self.degrees, self.chi_square))

    @property
    def weak(self) -> tuple[str, ...]:
        """Labels of poorly determined directions, with standard deviations in robot sizes or rad."""
        return self.excitation.weak


def calibrate_camera(
    robot: Robot,
    sightings: Sequence[PoseSighting],
    camera: Camera,
    unknowns: CameraUnknowns | None = None,
    *,
    search: bool = False,
) -> Calibration:
    """Find the pose of a camera.

    Args:
        robot: the robot.
        sightings: what was seen, at four poses at least.
        camera: the lens, and a first guess of the pose.
        unknowns: what is unknown in addition to the pose.
        search: whether the pose is sought all around the robot; the guess is then one of many.

    Raises:
        CalibrationError: if there are too few sightings, if they leave directions undetermined (named), or if
            the iteration does not converge.
    """
    estimated = unknowns or CameraUnknowns()
    cylinders = visible_cylinders(robot)
    _check_sightings(robot, sightings, cylinders, estimated)
    guesses = [camera, *(first_guesses(robot, cylinders, sightings, camera) if search else ())]
    bundle = Bundle(robot, cylinders, sightings, estimated)
    point, system = _best_fit(bundle, guesses)
    total = sum(len(sighting.edges) for sighting in sightings)
    kept = [list(range(len(sighting.edges))) for sighting in sightings]
    for _ in range(_ROUNDS):
        bad = _misfits(system)
        # With half of them gone the fit itself is wrong, and says nothing of single ones.
        if not bad or sum(map(len, kept)) - len(bad) < 0.5 * total:
            break
        kept = [[e for i, e in enumerate(left) if (k, i) not in bad] for k, left in enumerate(kept)]
        pairs = zip(sightings, kept, strict=True)
        used = [replace(seen, edges=tuple(seen.edges[e] for e in left)) for seen, left in pairs]
        bundle = Bundle(robot, cylinders, used, estimated)
        point, system = _fit_bundle(bundle, replace(bundle.start(point.camera), anchors=point.anchors))
    everything = {(k, i) for k, seen in enumerate(sightings) for i in range(len(seen.edges))}
    left_out = sorted(everything - {(k, e) for k, left in enumerate(kept) for e in left})
    return _calibration_result(bundle, point, system, tuple(left_out))


def _check_sightings(
    robot: Robot, sightings: Sequence[PoseSighting], cylinders: Sequence[Cylinder], unknowns: CameraUnknowns
) -> None:
    if len(sightings) < FEWEST:
        raise CalibrationError(
            f"a camera is calibrated at {FEWEST} poses of the robot or more, not {len(sightings)}"
        )
    if not cylinders:
        raise CalibrationError(f"{robot.name} has no cylinder that a camera could see")
    for k, sighting in enumerate(sightings):
        for edge in sighting.edges:
            if not 0 <= edge.cylinder < len(cylinders) or edge.side not in (0, 1):
                raise CalibrationError(
                    f"sighting {k} has an edge of cylinder {edge.cylinder}, side {edge.side}"
                )
            numbers = (
                edge.pixels if isinstance(edge, EdgePoints) else (*edge.normal, *edge.covariance.ravel())
            )
            if not np.all(np.isfinite(numbers)):
                name = cylinders[edge.cylinder].name
                raise CalibrationError(f"side {edge.side} of {name} in sighting {k} is not finite")
            if unknowns.lens and not isinstance(edge, EdgePoints):
                raise CalibrationError(
                    f"{', '.join(unknowns.lens)} of the lens: normals have been made with a lens already; "
                    "give the points of edges (EdgePoints)"
                )


def _best_fit(bundle: Bundle, guesses: Sequence[Camera]) -> tuple[BundlePoint, BundleSystem]:
    """The fit of the lowest cost from several guesses."""
    best: tuple[BundlePoint, BundleSystem] | None = None
    failure: CalibrationError | None = None
    for guess in guesses:
        try:
            point, system = _fit_bundle(bundle, bundle.start(guess))
        except CalibrationError as error:
            failure = failure or error
            continue
        if best is None or system.cost < best[1].cost:
            best = point, system
    if best is None:
        assert failure is not None
        raise failure
    return best


def _fit_bundle(bundle: Bundle, point: BundlePoint) -> tuple[BundlePoint, BundleSystem]:
    """Levenberg and Marquardt's method from a point.

    Raises:
        CalibrationError: if a direction is undetermined, or the iteration does not end.
    """
    system = bundle.system(point)
    damping = 1e-3
    for _ in range(_STEPS):
        units = bundle.units(point.camera)
        J = system.J * units
        scale = np.linalg.norm(J, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        U, s, Vt = np.linalg.svd(J / scale, full_matrices=False)
        good = s > 1e-12 * s[0]
        projected = U.T @ system.r
        # In standard deviations: where Gauss's step would go.
        left = float(np.linalg.norm(projected[good]))
        if left < _DONE * np.sqrt(len(system.r)):
            break
        step = -(Vt.T @ (np.where(good, s, 0.0) / (s * s + damping) * projected)) / scale
        try:
            candidate = bundle.step(point, step * units)
            trial = bundle.system(candidate)
        except CalibrationError:
            damping = 10.0 * damping
            continue
        if np.isfinite(trial.cost) and trial.cost < system.cost:
            small = system.cost - trial.cost < 1e-14 * system.cost
            point, system, damping = candidate, trial, max(1e-12, 0.1 * damping)
            if small:
                break
        elif damping > 1e8:
            break
        else:
            damping = 10.0 * damping
    else:
        raise CalibrationError(
            f"the camera's pose has not converged after {_STEPS} steps: give a better first guess"
        )
    return point, system


def _misfits(system: BundleSystem) -> set[tuple[int, int]]:
    """Edges whose residuals are beyond chance, the worst of them: (sighting, place)."""
    over = {}
    for k, i, rows in system.entries:
        r = system.r[rows]
        over[k, i] = float(r @ r) / chi_square_quantile(len(r), _GATE)
    # One wrong edge pulls at all others: those that are much better than the worst may be right.
    worst = max(over.values())
    return {edge for edge, ratio in over.items() if ratio > 1.0 and ratio > _REJECTION_FRACTION * worst}


def _calibration_result(
    bundle: Bundle, point: BundlePoint, system: BundleSystem, rejected: tuple[tuple[int, int], ...]
) -> Calibration:
    count = len(bundle.names)
    units = bundle.units(point.camera)
    info = jacobian_excitation(system.J, units, bundle.names, count)
    if info.undetermined:
        names = "; ".join(info.undetermined)
        raise CalibrationError(
            f"{bundle.robot.name}: the sightings do not determine {names} (robot sizes, rad, focal lengths; "
            "camera axes): move the robot further, show more legs, or hold what is not determined",
            info.undetermined,
        )
    C = (info.directions.T * info.sigma**2) @ info.directions * np.outer(units[:count], units[:count])
    first = count - len(point.anchors)
    anchors = dict(zip(bundle.names[first:], point.anchors.tolist(), strict=True))
    degrees = len(system.r) - bundle.count
    return Calibration(point.camera, bundle.names, C, system.cost, degrees, rejected, info, anchors, point.x)


# ---- simulated calibration: how well a camera would be calibrated from images of a robot at some poses


# How far poses are from the reference, over the robot's size and in rad, and how often one is drawn at most.
_REACH, _TRIES = 0.12, 40
# How far the first guess of the camera is away from the true one, over its distance and in rad.
_GUESS_ERROR = 0.02


@dataclass(frozen=True, eq=False)
class SimulatedCalibration:
    """What a calibration would give.

    Attributes:
        calibration: the calibrated camera, its deviations, what is weak.
        error: from the true camera to the calibrated one, in camera axes [m; m; m; rad; rad; rad] (6,).
        poses: of the robot (N, nx).
        edges: how many were measured.
    """

    calibration: Calibration
    error: Array
    poses: Array
    edges: int


def simulate_calibration(
    robot: Robot, camera: Camera, pixels: PixelModel, *, poses: int, seed: int = 0
) -> SimulatedCalibration:
    """Calibrate a camera from rendered images of a robot.

    Args:
        robot: the robot.
        camera: the true camera.
        pixels: blur, grey levels, noise.
        poses: how many.
        seed: of poses, noise and the first guess.

    Raises:
        CalibrationError: if too few poses are in reach, or they do not determine the camera.
    """
    rng = np.random.default_rng(seed)
    scenery = RobotScenery(robot)
    sightings = []
    for x in _random_poses(robot, poses, rng):
        scene = scenery.at(camera, x)
        fits = (render_and_measure(scene, scene, k, pixels, rng) for k in range(len(scenery.cylinders)))
        sightings.append(
            PoseSighting(x, tuple(edge for fit in fits if fit is not None for edge in fit.edges))
        )
    middle = float(np.linalg.norm(scenery.at(camera).rods[0].start)) if scenery.cylinders else 1.0
    rotation, way = (_GUESS_ERROR * rng.uniform(-1.0, 1.0, 3) for _ in range(2))
    start = Pose(rotation_quat(quat_from_vector(rotation)) @ camera.pose.R, camera.pose.p + middle * way)
    result = calibrate_camera(robot, sightings, camera.at_pose(start))
    pose = result.camera.pose
    across, rotated = camera.pose.R.T @ (pose.p - camera.pose.p), camera.pose.R.T @ pose.R
    error = np.concatenate([across, log_rotation(rotated)])
    edges = sum(len(sighting.edges) for sighting in sightings)
    return SimulatedCalibration(result, error, np.array([sighting.x for sighting in sightings]), edges)


def _random_poses(robot: Robot, count: int, rng: np.random.Generator) -> list[Array]:
    """Poses (nx,) within reach and limits."""
    reference = reference_pose(robot)
    y, displaced, units = inverse_kinematics(robot, reference).y, PoseDisplacement(robot), twist_scales(robot)
    kept: list[Array] = []
    for k in range(_TRIES * count):
        # Closer and closer, where the reach is small.
        reach = _REACH * (1.0 - k / (_TRIES * count))
        x = displaced(reference, y, reach * units * rng.uniform(-1.0, 1.0, robot.motion.n))
        if bool(inverse_kinematics(robot, x[None]).ok[0]):
            kept.append(x)
        if len(kept) == count:
            return kept
    raise CalibrationError(f"{robot.name}: {len(kept)} of {count} poses about the reference are in reach")
