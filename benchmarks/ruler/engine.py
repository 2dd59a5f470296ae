"""What an engine of the ruler is: a class `Adapter` in engines/NAME.py, derived from `Engine`.

Methods that an engine does not have are left out; their figures are blank. Coordinates, rates and
accelerations are those of the joints of the tree in the order of the description.
"""

from dataclasses import dataclass

import numpy as np
from mechanism import Mechanism, cross

# Time and step of the free motion, s.
SECONDS, STEP = 1.0, 1e-3


class UnsupportedError(Exception):
    """A robot that an engine does not hold; the message says why."""


@dataclass(frozen=True)
class Bodies:
    """Bodies in the order of the description: rotations, origins, their velocities, angular velocities."""

    R: np.ndarray
    p: np.ndarray
    v: np.ndarray
    w: np.ndarray


class Engine:
    """A robot in an engine.

    Attributes:
        robot: the description.
        files: paths of the robot's files by their endings, ".xml" (MJCF), ".urdf", ".yaml".
        mechanism: the description's frames and forces of joints in double, for what an engine lacks.
    """

    packages: tuple[str, ...] = ()
    single = False

    def __init__(self, robot, files):
        self.robot, self.files, self.mechanism = robot, files, Mechanism(robot)
        self.joints = [joint["name"] for joint in robot["joints"]]
        self.drives = self.mechanism.drives
        self.joint_forces = JointForces(robot)
        self.build()

    def build(self):
        """Make the engine's model."""

    # accelerations(q, v, tau)   of the joints, for forces of the drives
    # accelerations_at_rest(q)   for frequencies, of engines that only step
    # forces(q, v, a)            of the drives, for accelerations of the joints
    # energies(q, v)             kinetic, potential
    # start(q, v), step(), bodies()   free motion in steps of STEP; or run(seconds) in place of step()

    def run(self, seconds):
        """Move freely for a time."""
        for _ in range(round(seconds / STEP)):
            self.step()

    def tree_bodies(self, q, v):
        """Bodies at coordinates and rates of the tree."""
        state = self.mechanism.state(np.array(q, dtype=float), np.array(v, dtype=float))
        return Bodies(
            np.array([pose.R for pose in state.poses]),
            np.array([pose.p for pose in state.poses]),
            np.array([motion.v for motion in state.motions]),
            np.array([motion.w for motion in state.motions]),
        )

    def refuse(self, armature="", massless=""):
        """Raise `UnsupportedError` for rotors or massless bodies, where a reason is given."""
        if armature and np.any(self.mechanism.column("armature")):
            raise UnsupportedError(armature)
        if massless and any(body["mass"] == 0.0 for body in self.robot["bodies"]):
            raise UnsupportedError(massless)

    def drive_vector(self, tau):
        """Forces of the drives as forces of all joints."""
        forces = np.zeros(len(self.joints))
        forces[self.drives] = tau
        return forces


class JointForces:
    """Springs and friction along the joints, for engines without them."""

    def __init__(self, robot):
        keys = ("stiffness", "rest", "viscous", "coulomb", "scale")
        for key in keys:
            setattr(self, key, np.array([joint.get(key, 0.0) for joint in robot["joints"]]))
        self.smooth = np.where(self.scale > 0.0, self.scale, 1.0)
        self.has_friction = bool(np.any(self.viscous) or np.any(self.coulomb))

    def __call__(self, q, v):
        force = self.stiffness * (self.rest - q)
        if self.has_friction:
            force -= self.viscous * v + self.coulomb * np.tanh(v / self.smooth)
        return force


def runge_kutta(accelerations, q, v, dt):
    """A step of the classical fourth order, for engines that give accelerations only."""
    a1 = accelerations(q, v)
    v2 = v + 0.5 * dt * a1
    a2 = accelerations(q + 0.5 * dt * v, v2)
    v3 = v + 0.5 * dt * a2
    a3 = accelerations(q + 0.5 * dt * v2, v3)
    v4 = v + dt * a3
    a4 = accelerations(q + dt * v3, v4)
    return q + dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4), v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)


def consistent_forces(generalised, A, drives):
    """Forces of the drives with S tau + A^T l = generalised, of least norm."""
    S = np.eye(len(generalised))[:, drives]
    return np.linalg.lstsq(np.hstack([S, A.T]), generalised, rcond=1e-11)[0][: len(drives)]


# ---- what is measured of bodies in motion


def gaps(mechanism, bodies):
    """Largest distance (m) and rotation (rad) by which joints and loops are open."""
    base = mechanism.base()

    def frame(body, at):
        R, p = (bodies.R[body], bodies.p[body]) if body >= 0 else (base.R, base.p)
        return R @ at.R, R @ at.p + p

    distance, rotation = [0.0], [0.0]
    for k, parent in enumerate(mechanism.parents):
        R, p = frame(parent, mechanism.on_parent[k])
        C, c = frame(k, mechanism.from_child[k].inverse())
        u = R @ mechanism.axes[k]
        if mechanism.turns[k]:
            distance.append(np.linalg.norm(c - p))
            rotation.append(np.linalg.norm(cross(u, C @ mechanism.axes[k])))
        else:
            distance.append(np.linalg.norm(cross(u, c - p)))
            rotation.append(_angle(R, C))
    for (first, at, second, child_at), weld in zip(mechanism.ends, mechanism.welds, strict=True):
        (R, p), (C, c) = frame(first, at), frame(second, child_at)
        distance.append(np.linalg.norm(c - p))
        if weld:
            rotation.append(_angle(R, C))
    return float(np.max(distance)), float(np.max(rotation))


def _angle(R, C):
    return np.linalg.norm(sum(cross(R[:, k], C[:, k]) for k in range(3)) / 2.0)


def coordinates(mechanism, bodies):
    """Coordinates and rates of the joints of bodies in motion."""
    q, v = np.zeros(mechanism.n), np.zeros(mechanism.n)
    for k, parent in enumerate(mechanism.parents):
        at, u = mechanism.on_parent[k], mechanism.axes[k]
        R, p = (bodies.R[parent], bodies.p[parent]) if parent >= 0 else (np.eye(3), np.zeros(3))
        V, w = (bodies.v[parent], bodies.w[parent]) if parent >= 0 else (np.zeros(3), np.zeros(3))
        end = mechanism.from_child[k].inverse()
        origin, C = bodies.R[k] @ end.p + bodies.p[k], bodies.R[k] @ end.R
        a = R @ at.R @ u
        if mechanism.turns[k]:
            Q = (R @ at.R).T @ C
            sine = np.array([Q[2, 1] - Q[1, 2], Q[0, 2] - Q[2, 0], Q[1, 0] - Q[0, 1]]) @ u / 2.0
            angle, near = np.arctan2(sine, (np.trace(Q) - 1.0) / 2.0), mechanism.joints[k]["value"]
            # Of angles that differ by full turns the nearest to the assembly's.
            q[k] = angle + 2.0 * np.pi * np.round((near - angle) / (2.0 * np.pi))
            v[k] = a @ (bodies.w[k] - w)
        else:
            start = R @ at.p + p
            q[k] = a @ (origin - start)
            tip = bodies.v[k] + np.cross(bodies.w[k], origin - bodies.p[k])
            v[k] = a @ (tip - V - np.cross(w, origin - p))
    return q, v


def energy(mechanism, bodies):
    """Kinetic and potential energy of bodies in motion, with springs and rotors."""
    q, rates = coordinates(mechanism, bodies)
    total = mechanism.column("armature") @ rates**2 / 2.0
    total += mechanism.column("stiffness") @ (q - mechanism.column("rest")) ** 2 / 2.0
    for k in range(mechanism.n):
        R, m, c = bodies.R[k], mechanism.mass[k], bodies.R[k] @ mechanism.com[k]
        speed, w = bodies.v[k] + np.cross(bodies.w[k], c), R.T @ bodies.w[k]
        total += m * (speed @ speed) / 2.0 + w @ mechanism.inertia[k] @ w / 2.0
        total -= m * (mechanism.gravity @ (bodies.p[k] + c))
    return float(total)
