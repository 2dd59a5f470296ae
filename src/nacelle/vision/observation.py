"""One look at a robot: an image, the edges of its legs in it, and the pose that they give.

    pose -> scene -> image (pixel model, noise) -> edges, looked for near a predicted pose -> pose, covariance

The predicted pose differs from the true one, as that of an observer does; what the image gives does not
depend on it, as long as the edges are within the distance that is searched.

The pose of a robot from edges of its legs at one time, without a motion model: weighted least squares.

Edge i gives two residuals r_i (2,) with covariance R_i and the matrix H_i (2, n) by the reduced twist
(`nacelle.vision.observer.sight`). Gauss-Newton's step from a pose x near the true one is

    N d = sum of H_i^T R_i^-1 r_i,     N = sum of H_i^T R_i^-1 H_i,     x <- x (+) d

and N^-1 is the covariance of the pose along the reduced twist. N is judged in units of the robot's size and
of 1 rad: where a motion moves no edge the pose is not determined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, NacelleError, UnobservableError
from nacelle.kinematics.motion import evaluate_function
from nacelle.kinematics.pose_input import check_poses, reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render
from nacelle.vision.measure import CylinderMeasurement, measure
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.process import PoseDisplacement, pose_difference
from nacelle.vision.observer.sight import camera_numbers, cylinder_option
from nacelle.vision.observer.sight import edges as expected
from nacelle.vision.placing import camera_for
from nacelle.vision.scene import CameraScene, RobotScenery
from nacelle.vision.views import CylinderView, View, judge_view

_STEPS = 25
# A step below this part of the standard deviations is the last.
_DONE = 1e-6
# A motion whose standard deviation is above this part of the robot's size, or of 1 rad, is not determined.
_UNSEEN = 0.1


@dataclass(frozen=True, eq=False)
class PoseEstimate:
    """A pose from edges.

    Attributes:
        x: reduced pose (nx,).
        covariance: along the reduced twist (n, n), m^2, rad^2.
        misfit: weighted sum of squared residuals over degrees of freedom: 1 where all is right.
        edges: how many edges were used.
    """

    x: Array
    covariance: Array
    misfit: float
    edges: int

    @property
    def sigma(self) -> Array:
        """Standard deviations along the reduced twist (n,), m and rad."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def pose_from_edges(
    robot: Robot, camera: Camera, edges: Sequence[EdgeMeasurement], x: Any, cylinders: Sequence[Cylinder]
) -> PoseEstimate:
    """Find the pose that fits edges best, from one nearby.

    Args:
        robot: the robot.
        camera: the camera, calibrated.
        edges: with independent errors.
        x: reduced pose (nx,) near the true one.
        cylinders: that the edges' numbers refer to.

    Raises:
        UnobservableError: if the edges do not determine the pose.
        KinematicsError: if the iteration does not converge, or leaves the robot's reach.
    """
    n, units = robot.motion.n, twist_scales(robot)
    indices = [edge.cylinder for edge in edges], [edge.side for edge in edges]
    normals, C = (np.array([getattr(edge, name) for edge in edges]) for name in ("normal", "covariance"))
    if not edges:
        raise UnobservableError(f"{robot.name}: no edge was measured", {}, n)
    start = inverse_kinematics(robot, x, limits=False)
    pose, y, displaced = start.x, start.y, PoseDisplacement(robot)
    options = {"cylinders": cylinder_option(cylinders)}
    for _ in range(_STEPS):
        at = evaluate_function(expected, robot, pose, camera_numbers(camera), guess=y, options=options)
        y = at.y
        # Along u and m of each edge's frame: what it measures, with which covariance, and how it changes.
        across, H = at.results["frame"][indices][:, 1:], at.results["by_pose"][indices]
        r = np.einsum("eij,ej->ei", across, normals)
        weight = np.linalg.inv(across @ C @ np.swapaxes(across, 1, 2))
        N = np.einsum("eki,ekl,elj->ij", H, weight, H)
        g = np.einsum("eki,ekl,el->i", H, weight, r)
        cost = float(np.einsum("ek,ekl,el->", r, weight, r))
        values, vectors = np.linalg.eigh(units[:, None] * N * units)
        seen = values > _UNSEEN**-2
        if not np.all(seen):
            missing = int(np.count_nonzero(~seen))
            raise UnobservableError(
                f"{robot.name}: {len(edges)} edges leave {missing} of {n} motions undetermined", {}, missing
            )
        d = units * (vectors @ ((vectors.T @ (units * g)) / values))
        covariance = units[:, None] * ((vectors / values) @ vectors.T) * units
        if float(np.max(np.abs(d) / np.sqrt(np.diag(covariance)))) < _DONE:
            degrees = max(1, 2 * len(edges) - n)
            return PoseEstimate(pose, covariance, cost / degrees, len(edges))
        pose = displaced(pose, y, d)
    raise KinematicsError(
        f"{robot.name}: the pose that fits {len(edges)} edges was not found within {_STEPS} steps"
    )


# ---- one look at a robot: an image, the edges of its legs in it, and the pose that they give


# How far the predicted pose is from the true one, over the robot's size.
_PREDICTION_ERROR = 5e-4
# What is searched beyond the largest distance of predicted and true edges, px.
_SEARCH_MARGIN = 2.0


@dataclass(frozen=True, eq=False)
class CylinderObservation:
    """What an image gives of one cylinder.

    Attributes:
        view: how the camera sees it, and why it is not usable where it is not.
        measured: its edges; None where none was found.
        direction_sigma: largest standard deviation of its direction, rad; NaN without both edges.
        direction_error: angle between its measured and its true direction, rad; NaN likewise.
    """

    view: CylinderView
    measured: CylinderMeasurement | None
    direction_sigma: float = float("nan")
    direction_error: float = float("nan")

    @property
    def reason(self) -> str:
        """A message that says why it gives no direction; empty if it does."""
        if self.view.reason and not self.view.usable:
            return self.view.reason
        if self.measured is None:
            return "its pixels are not those of a cylinder's edges"
        return "" if len(self.measured.edges) == 2 else "one edge alone was measured"


@dataclass(frozen=True, eq=False, repr=False)
class Observation(Plottable):
    """What a camera sees of a robot at one pose.

    Attributes:
        robot: the robot.
        camera: the camera.
        pixels: blur, grey levels, noise.
        x: the true pose (nx,).
        image: grey levels (height, width).
        scene: the solids before the camera.
        seen: the cylinders of the legs, in the order of `visible_cylinders`.
        view: what can be used of them.
        pose: that the edges give; None where they do not determine one.
        message: why no pose was estimated.
    """

    robot: Robot
    camera: Camera
    pixels: PixelModel
    x: Array
    image: Array
    scene: CameraScene
    seen: tuple[CylinderObservation, ...]
    view: View
    pose: PoseEstimate | None
    message: str = ""

    @cached_property
    def error(self) -> Array | None:
        """From the true pose to that of the edges, along the reduced twist (n,), m and rad; None without."""
        if self.pose is None:
            return None
        y = inverse_kinematics(self.robot, self.x, limits=False).y
        return pose_difference(self.robot, self.pose.x, self.x, y)

    def summary(self) -> dict[str, Any]:
        """All figures as plain data, SI units, px."""
        data: dict[str, Any] = {
            "robot": self.robot.name,
            "camera": {
                "focal": list(self.camera.focal),
                "centre": list(self.camera.centre),
                "size": list(self.camera.size),
                "R": self.camera.pose.R.tolist(),
                "p": np.asarray(self.camera.pose.p).tolist(),
                "distortion": list(self.camera.distortion),
            },
            "x": self.x.tolist(),
            "cylinders": [
                {
                    "name": cylinder.view.name,
                    "width": cylinder.view.width,
                    "length": cylinder.view.length.tolist(),
                    "edges": 0 if cylinder.measured is None else len(cylinder.measured.edges),
                    "direction_sigma": cylinder.direction_sigma,
                    "direction_error": cylinder.direction_error,
                    "reason": cylinder.reason,
                }
                for cylinder in self.seen
            ],
            "boxes": [box.name for box in self.view.boxes],
            "message": self.message,
        }
        if self.pose is not None:
            data["pose"] = {
                "x": self.pose.x.tolist(),
                "sigma": self.pose.sigma.tolist(),
                "error": None if self.error is None else self.error.tolist(),
                "misfit": self.pose.misfit,
                "edges": self.pose.edges,
            }
        return data


def observe(
    robot: Robot,
    x: Any = None,
    *,
    camera: Camera | None = None,
    pixels: PixelModel | None = None,
    seed: int = 0,
    prediction_error: float = _PREDICTION_ERROR,
) -> Observation:
    """Look at a robot once.

    Args:
        robot: the robot.
        x: the true pose (nx,); the reference pose if None.
        camera: the camera; one that sees all legs if None.
        pixels: blur, grey levels, noise; the usual ones if None.
        seed: of the noise and of the predicted pose.
        prediction_error: how far the predicted pose is from the true one, over the robot's size.

    Raises:
        UnreachableError: if the pose is out of reach.
        KinematicsError: if the legs have no cylinders.
    """
    model = pixels or PixelModel()
    scenery = RobotScenery(robot)
    if not scenery.cylinders:
        raise KinematicsError(f"{robot.name}: its legs have no cylinders that a camera could measure")
    true = check_poses(robot, reference_pose(robot) if x is None else x)[0]
    at = camera or camera_for(robot, true, model=model)
    rng = np.random.default_rng(seed)
    scene = scenery.at(at, true)
    image = render(scene, model, rng=rng)
    guess = _predicted_pose(robot, true, prediction_error, rng)
    predicted = scenery.at(at, guess)
    judged = judge_view(scenery, at, true, model)
    search = _SEARCH_MARGIN + _largest_edge_distance(scene, predicted)
    seen = tuple(
        _observe_cylinder(
            view,
            scene,
            measure(image, predicted, view.cylinder, model, search=search) if view.sides else None,
        )
        for view in judged.cylinders
    )
    edges = [edge for cylinder in seen if cylinder.measured is not None for edge in cylinder.measured.edges]
    pose, message = None, ""
    try:
        judged.require()
        pose = pose_from_edges(robot, at, edges, guess, scenery.cylinders)
    except NacelleError as error:
        message = str(error)
    return Observation(robot, at, model, true, image, scene, seen, judged, pose, message)


def _predicted_pose(robot: Robot, x: Array, off: float, rng: np.random.Generator) -> Array:
    """A pose (nx,) a little away from another."""
    y = inverse_kinematics(robot, x, limits=False).y
    d = off * twist_scales(robot) * rng.uniform(-1.0, 1.0, robot.motion.n)
    return PoseDisplacement(robot)(x, y, d)


def _largest_edge_distance(scene: CameraScene, predicted: CameraScene) -> float:
    """The largest distance of the ends of cylinders in the image between two scenes, px."""
    ends = [
        scene.camera.pixels(np.array([[rod.start, rod.stop] for rod in view.rods]))
        for view in (scene, predicted)
    ]
    gaps = np.linalg.norm(ends[0] - ends[1], axis=-1)
    return float(np.max(gaps[np.isfinite(gaps)], initial=0.0))


def _observe_cylinder(
    judged: CylinderView, scene: CameraScene, measured: CylinderMeasurement | None
) -> CylinderObservation:
    if measured is None or len(measured.edges) < 2:
        return CylinderObservation(judged, measured)
    rod = scene.rods[judged.cylinder]
    line = measured.line(rod.radius)
    true = (rod.stop - rod.start) / np.linalg.norm(rod.stop - rod.start)
    sigma = float(np.sqrt(np.linalg.eigvalsh(line.direction_covariance)[-1]))
    error = float(np.arctan2(np.linalg.norm(np.cross(line.direction, true)), line.direction @ true))
    return CylinderObservation(judged, measured, sigma, error)
