"""The protocol of an engine: what it computes of a robot's tree; and how engines are loaded.

The tree is the robot cut open at its closures: the platform body moves freely, legs grow from the base, and
bodies beyond a cut hang on the platform. Its rates are

    u = [platform twist [v; w] at its origin, base axes (a point: v alone); rates of the tree's joints]

with the rate of a spherical joint in the axes of its second frame. Every engine takes and gives its numbers
in these.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from nacelle.distribution import install_command
from nacelle.errors import NacelleError, did_you_mean
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_T = TypeVar("_T")

# Of the difference of two inertias, as a part of the larger one.
_ROUNDING = 1e-14


class VerifyError(NacelleError):
    """A robot cannot be compared with another engine."""


class MissingEngineError(VerifyError):
    """The package of an engine is not installed."""


@dataclass(frozen=True, eq=False)
class TreeState:
    """A state of the tree.

    Attributes:
        platform: pose of the platform body.
        q_tree: coordinates of the tree's joints.
        u: its rates.
        u_dot: their derivatives.
        external: wrenches [f; n] (bodies, 6) about the bodies' origins, base axes.
    """

    platform: Pose
    q_tree: Array
    u: Array
    u_dot: Array
    external: Array


@dataclass(frozen=True, eq=False)
class TreeSnapshot:
    """Kinematics and dynamics of the tree at a state; base axes, twists and wrenches at the bodies' origins.

    Attributes:
        R: orientations (bodies, 3, 3).
        p: origins (bodies, 3).
        jacobian: twists [v; w] (bodies, 6, rates) over the rates of the tree.
        twist: twists (bodies, 6).
        bias_acceleration: their derivatives (bodies, 6) where the rates of the tree are constant.
        acceleration: their derivatives (bodies, 6).
        mass_matrix: of the tree (rates, rates).
        force: of the tree (rates,): inertia less gravity less external wrenches.
        bias: the same where the rates of the tree are constant.
        kinetic: kinetic energy, J.
        potential: potential energy of gravity, J.
        heavy: the largest weight times distance of a body, J: the scale of the potential energy.
    """

    R: Array
    p: Array
    jacobian: Array
    twist: Array
    bias_acceleration: Array
    acceleration: Array
    mass_matrix: Array
    force: Array
    bias: Array
    kinetic: float
    potential: float
    heavy: float

    def frame(self, body: int, local: Pose) -> Pose:
        """A frame of a body in the base."""
        return Pose(self.R[body] @ local.R, self.R[body] @ local.p + self.p[body])


class Engine(Protocol):
    """A robot rebuilt in another engine.

    Attributes:
        name: of the engine.
        version: of the engine.
        includes_rotors: whether mass matrix, forces and kinetic energy have the rotors of tree joints.
        notes: messages for the user.
    """

    name: str
    version: str
    includes_rotors: bool
    notes: list[str]

    def at(self, state: TreeState) -> TreeSnapshot:
        """Evaluate a state."""

    def closed_loop(self, state: TreeState, force: Array) -> Array | None:
        """Accelerations (rates,) by the engine's own solver of closed loops; None if it has none.

        Args:
            state: the state; its u_dot does not count.
            force: along the rates of the tree (rates,), external wrenches included, besides its bodies' and
                gravity's.
        """


@dataclass(frozen=True)
class EngineSource:
    """Where an engine lives: the module that builds it, the package that it needs, and its name there."""

    module: str
    package: str
    pip: str


ENGINES = {
    "pinocchio": EngineSource("nacelle.verify.engines.pinocchio", "pinocchio", "pin"),
    "mujoco": EngineSource("nacelle.verify.engines.mujoco", "mujoco", "mujoco"),
}


def engine_builder(name: str) -> Callable[[Robot], Engine]:
    """The function that rebuilds a robot in an engine.

    Raises:
        VerifyError: if there is no such engine.
        MissingEngineError: if its package is not installed.
    """
    if name not in ENGINES:
        raise VerifyError(f"there is no engine {name!r}; {did_you_mean(name, ENGINES)}")
    home = ENGINES[name]
    try:
        importlib.import_module(home.package)
        build: Callable[[Robot], Engine] = importlib.import_module(home.module).build
    except (ImportError, AttributeError) as error:
        raise MissingEngineError(
            f"comparing with {name} needs the package {home.pip!r}, which cannot be loaded ({error}): "
            f"{install_command('verify')}"
        ) from None
    return build


@dataclass(frozen=True, eq=False)
class JointIndices:
    """Where an engine keeps the tree's joints: for every entry of q and of their rates its place there."""

    q: Array
    u: Array

    def rate_map(self, linear: Array, angular: Array) -> Array:
        """Matrix from the rates of the tree to an engine's, orthonormal.

        Args:
            linear: from the platform's velocity to the engine's (3, 3).
            angular: the same of its angular velocity (3, 3); (0, 0) for a point.
        """
        m = 3 + len(angular)
        D = np.zeros((m + len(self.u), m + len(self.u)))
        D[:3, :3], D[3:m, 3:m] = linear, angular
        D[self.u, m + np.arange(len(self.u))] = 1.0
        return D


def engine_joints(joint: Joint, steps: Mapping[Primitive, _T], engine: str) -> tuple[_T, ...]:
    """The motion of a joint of the tree as joints of an engine, one for each primitive.

    Raises:
        VerifyError: if the engine has none for one of them, or joints of this kind are closures alone.
    """
    if joint.kind in (JointKind.POINT, JointKind.COUPLING) or not all(p in steps for p in joint.primitives):
        raise VerifyError(f"joint {joint.name!r} is {joint.kind}, which is not built in {engine}")
    return tuple(steps[primitive] for primitive in joint.primitives)


def depth_first_joints(robot: Robot) -> list[int]:
    """The joints of the tree branch by branch, the platform's branch first, as engines require."""
    order: list[int] = []
    waiting = [j for root in (BASE, PLATFORM) for j in reversed(_children(robot, root))]
    while waiting:
        j = waiting.pop()
        order.append(j)
        waiting += reversed(_children(robot, robot.joints[j].successor))
    return order


def _children(robot: Robot, body: int) -> list[int]:
    return [j for j, joint in enumerate(robot.tree_joints) if joint.predecessor == body]


@dataclass(frozen=True, eq=False)
class InertiaLump:
    """A rigid piece of a body: mass, centre of mass and inertia about it, in the body's frame."""

    mass: float
    com: Array
    about_com: Array = field(repr=False)


def inertia_lumps(robot: Robot, body: int) -> list[InertiaLump]:
    """The pieces of a body: its own, and the payload on it; those without mass and inertia are left out.

    Raises:
        VerifyError: if a piece has no mass but a first moment, which no engine can take.
    """
    inertias = [robot.bodies[body].inertia, *(load.inertia for load in robot.payload if load.body == body)]
    pieces = []
    for ten in inertias:
        numbers = np.asarray(ten, dtype=float)
        if not np.any(numbers):
            continue
        mass, moment = float(numbers[0]), numbers[1:4]
        xx, xy, yy, xz, yz, zz = numbers[4:]
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if mass == 0.0 and np.any(moment):
            raise VerifyError(
                f"body {robot.bodies[body].name!r} of {robot.name} has a first moment but no mass, as base "
                "parameters may; other engines take a mass and its centre alone"
            )
        com = moment / mass if mass else np.zeros(3)
        # Steiner.
        about_com = I - mass * ((com @ com) * np.eye(3) - np.outer(com, com))
        pieces.append(InertiaLump(mass, com, _without_negative_rounding(about_com, float(np.abs(I).max()))))
    return pieces


def _without_negative_rounding(I: Array, size: float) -> Array:
    """The inertia, kg m^2, with moments that are below zero by rounding alone made positive.

    What is left of a point mass, or of a thin rod, is a difference of numbers of a given size: rounding may
    make it negative, which Pinocchio refuses. Moments that are negative by more stay so, to be refused.
    """
    least = float(np.linalg.eigvalsh(I)[0])
    return I - 2.0 * least * np.eye(3) if -_ROUNDING * size < least < 0.0 else I
