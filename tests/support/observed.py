"""Robots in motion with noise on their acceleration, seen by a simulated camera."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.model.reduced import layout_of
from nacelle.spatial.pose import Pose
from nacelle.vision.camera import Camera, Shutter
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measure import render_and_measure
from nacelle.vision.observer.anchors import anchors_of
from nacelle.vision.observer.observer import Observer
from nacelle.vision.observer.process import PoseDisplacement, pose_difference
from nacelle.vision.observer.settings import ObserverSettings, Start, twist_deviations
from nacelle.vision.observer.sight import SightModel
from nacelle.vision.scene import RobotScenery
from support.simulated_camera import SimulatedCamera

# Steps in which the true motion is drawn, s: finer than anything that is measured.
FINE = 2.5e-4
# Samples of the control law, s.
PERIOD = 1e-3


def camera_for_legs(robot):
    """A camera that looks at the legs of a robot obliquely from a distance of some sizes."""
    x = nacelle.reference_pose(robot)
    ik = nacelle.inverse_kinematics(robot, x)
    ends = np.array([end for c in visible_cylinders(robot) for end in c.ends_in_base(*ik.bodies)])
    middle = 0.5 * (ends.min(axis=0) + ends.max(axis=0))
    reach = float(np.linalg.norm(ends - middle, axis=1).max())
    way = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])
    return Camera.look_at(middle, middle + 3.5 * reach * way)


@dataclass
class Truth:
    """A true motion: times, poses, twists, and the accelerations that a control law would give."""

    t: np.ndarray
    x: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def at(self, time):
        """Index of a time."""
        return round((time - self.t[0]) / FINE)


def true_motion(robot, density, duration, rng, *, amplitude=0.08, frequency=1.5):
    """A sinusoidal motion about the reference pose, of a part of the robot's size, with white acceleration.

    Integrated in exact steps of the process x' = v, v' = a + noise: written apart from the observer's own.
    """
    n = robot.motion.n
    unit = twist_deviations(robot, amplitude * robot.size)
    phase = rng.uniform(0.0, 2.0 * np.pi, n)
    W = 2.0 * np.pi * frequency * rng.uniform(0.7, 1.3, n)
    steps = round(duration / FINE) + 1
    t = FINE * np.arange(steps)
    held = PERIOD * np.floor(t / PERIOD + 1e-6)
    a = -unit * W**2 * np.sin(held[:, None] * W + phase)
    c0, v0 = unit * np.sin(phase), unit * W * np.cos(phase)
    h = FINE
    root = np.linalg.cholesky(np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]]))
    layout = layout_of(robot.motion)
    x = np.empty((steps, layout.nx))
    v = np.empty((steps, n))
    x[0] = nacelle.reference_pose(robot)
    linear, linear_v = list(layout.linear_x), list(layout.linear_v)
    x[0, linear] += c0[linear_v]
    v[0] = v0
    noise = np.linalg.cholesky(density) @ rng.standard_normal((steps, n, 2))
    for k in range(steps - 1):
        # Integrals of white noise over the step: of the pose and of the twist.
        dw = noise[k] @ root.T
        s = h * v[k] + 0.5 * h * h * a[k] + dw[:, 0]
        v[k + 1] = v[k] + h * a[k] + dw[:, 1]
        x[k + 1, linear] = x[k, linear] + s[linear_v]
        if layout.quaternion is not None:
            turned = Rotation.from_rotvec(s[layout.angular]) * Rotation.from_quat(x[k, layout.quaternion])
            x[k + 1, layout.quaternion] = turned.as_quat()
    return Truth(t, x, v, a)


@dataclass
class Run:
    """What an observer said at times, and the true state: errors (k, 2n), covariances (k, 2n, 2n)."""

    time: np.ndarray
    error: np.ndarray
    covariance: np.ndarray
    observer: Observer
    last: object


def run_observer(
    robot,
    seed,
    *,
    sigma=0.02,
    duration=0.4,
    settings=None,
    shutter=None,
    encoders=None,
    displaced=None,
    start=(1e-3, 0.05),
    eye=None,
    believed_clock=0.0,
):
    """Run an observer over a noisy motion; `displaced` anchors, `encoders`: a period of readings."""
    rng = np.random.default_rng(seed)
    settings = settings or ObserverSettings()
    shutter = shutter or Shutter()
    truth = true_motion(robot, settings.density(robot), duration, rng)
    camera, cylinders = camera_for_legs(robot), visible_cylinders(robot)
    moved = anchors_of(robot) if displaced is not None else ()
    displaced = np.zeros(0) if displaced is None else displaced
    if eye is None:
        eye = SimulatedCamera(robot, camera, cylinders, sigma=sigma, rng=rng, anchors=(moved, displaced))
    else:
        eye = eye(robot, camera, rng)
    n = robot.motion.n
    sx, sv = (twist_deviations(robot, s) for s in start)
    y0 = nacelle.inverse_kinematics(robot, truth.x[0], limits=False).y
    x0 = PoseDisplacement(robot)(truth.x[0], y0, sx * rng.standard_normal(n))
    v0 = truth.v[0] + sv * rng.standard_normal(n)
    observer = Observer(robot, camera, Start(x0, v0, *start, clock=believed_clock), settings)
    exposures = shutter.exposures(0.0, duration, range(len(cylinders)))
    coming = deque(one for one in exposures if shutter.robot_time(one.time) >= 0.0)
    times, errors, covariances = [], [], []
    steps = round(duration / PERIOD)
    sight = SightModel(robot, cylinders, moved)
    guess = y0
    for k in range(steps):
        now = k * PERIOD
        i = truth.at(now)
        observer.add_acceleration(now, truth.a[i])
        if encoders and k % round(encoders / PERIOD) == 0:
            noise = np.asarray(settings.encoders) * rng.standard_normal(len(robot.actuators))
            real = sight.readings(truth.x[i], displaced, guess=guess)
            observer.read(now, real.results["q"] + noise)
            guess = real.y
        while coming and shutter.robot_time(coming[0].time) <= now:
            exposure = coming.popleft()
            seen_at = shutter.robot_time(exposure.time)
            x = truth.x[truth.at(seen_at)]
            observer.take(eye.measure(exposure, x, lambda t=seen_at: observer.estimate(t).x))
        estimate = observer.estimate(now)
        times.append(now)
        d = pose_difference(robot, truth.x[i], estimate.x, guess)
        errors.append(np.concatenate([d, truth.v[i] - estimate.v]))
        covariances.append(estimate.covariance)
    return Run(np.array(times), np.array(errors), np.array(covariances), observer, estimate)


class RenderingCamera:
    """A camera whose regions of interest are rendered and measured, where the observer expects the legs."""

    def __init__(self, robot, camera, rng):
        self._camera, self._rng, self._model = camera, rng, PixelModel()
        self._scenery = RobotScenery(robot)

    def measure(self, exposure, x, expected):
        true, predicted = (self._scenery.at(self._camera, pose) for pose in (x, expected()))
        edges = []
        for k in exposure.cylinders:
            measured = render_and_measure(true, predicted, k, self._model, self._rng, exposure=exposure)
            edges += measured.edges if measured else ()
        return edges


def displaced_anchors(robot, anchors, offsets):
    """The robot with its anchors displaced by offsets (m,) along the directions of `anchors`."""
    joints = list(robot.joints)
    for (j, e), o in zip(anchors, offsets, strict=True):
        R, p = joints[j].frame_predecessor
        joints[j] = replace(joints[j], frame_predecessor=Pose(R, p + o * np.array(e)))
    return replace(robot, joints=tuple(joints))
