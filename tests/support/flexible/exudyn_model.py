"""A robot with flexible links in Exudyn, and its natural frequencies there.

Spatial robots: every link is a chain of geometrically exact beams on SE(3) with two nodes
(`ObjectBeamGeometricallyExact`, lumped mass). Planar robots: geometrically exact beams with three nodes
(`ObjectBeamGeometricallyExact2D`). Both are Timoshenko beams; their shear stiffness is raised, so that
what is left is Euler-Bernoulli's beam with the rotary inertia of its section. Joints are
`ObjectJointGeneric`, actuators are locked. Exudyn linearises the model, and the problem is projected on
the null space of its constraints.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import exudyn as exu
import exudyn.itemInterface as items  # noqa: N813 the package's own name is in camel case
import numpy as np
from exudyn.rigidBodyUtilities import RotationMatrix2EulerParameters

from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from support.flexible.beams import Beam, PlacedJoint, Structure, rigid_bodies, structure
from support.flexible.frame import free_motions, frequencies, null_space

Array = np.ndarray

# The shear stiffness of a slender beam over its axial stiffness: its true one, about 0.3, times 100.
_SHEAR = 30.0

# Which of x y z, and rotations about x y z, of the joint's frame are locked.
_LOCKED_AXES: dict[JointKind, tuple[int, ...]] = {
    JointKind.REVOLUTE: (1, 1, 1, 1, 1, 0),
    JointKind.PRISMATIC: (1, 1, 0, 1, 1, 1),
    JointKind.CYLINDRICAL: (1, 1, 0, 1, 1, 0),
    JointKind.UNIVERSAL: (1, 1, 1, 0, 0, 1),
    JointKind.SPHERICAL: (1, 1, 1, 0, 0, 0),
    JointKind.POINT: (1, 1, 1, 0, 0, 0),
    JointKind.PLANAR_SPHERICAL: (0, 0, 1, 0, 0, 0),
    JointKind.SPHERICAL_PLANAR: (0, 0, 1, 0, 0, 0),
    JointKind.FIXED: (1, 1, 1, 1, 1, 1),
}


def exudyn_frequencies(
    robot: Robot, x: Sequence[float] | Array, elements: int = 16, modes: int = 10
) -> Array:
    """Natural frequencies (modes,), Hz, ascending, of the undeformed robot at x with locked actuators.

    Args:
        robot: the robot; bodies with section and material are beams.
        x: reduced pose (nx,).
        elements: elements a beam.
        modes: how many; free motions, as idle spins of rods, are no modes.
    """
    at = structure(robot, x)
    system = exu.SystemContainer().AddSystem()
    (_Spatial if at.normal is None else _Planar)(system, at, elements).build()
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse  # else it warns of large models
    M, K, _, C, *_ = system.ComputeLinearizedSystem(
        simulationSettings=settings, returnConstraintJacobian=True
    )
    N = null_space(C.T)
    stiffness = N.T @ K @ N
    return frequencies(N.T @ M @ N, 0.5 * (stiffness + stiffness.T), modes, free_motions(at))


def extrapolated_frequencies(
    robot: Robot, x: Sequence[float] | Array, elements: Sequence[int] = (8, 16), modes: int = 10
) -> Array:
    """Limit of a refined mesh by Richardson's extrapolation; arguments as in `exudyn_frequencies`.

    Args:
        robot: the robot.
        x: reduced pose (nx,).
        elements: elements a beam, each mesh with twice those of the one before.
        modes: how many.
    """
    # The error is a series of even powers of the element's length; planar elements have no term of power 2.
    power = 2 if structure(robot, x).normal is None else 4
    table = [exudyn_frequencies(robot, x, n, modes) for n in elements]
    while len(table) > 1:
        table = [b + (b - a) / (2.0**power - 1.0) for a, b in itertools.pairwise(table)]
        power += 2
    return table[0]


class _Model(ABC):
    """Bodies and joints of a robot, added to an Exudyn system: what is common to plane and space."""

    def __init__(self, system: Any, at: Structure, elements: int) -> None:
        self.system, self.at, self.elements = system, at, elements
        self.ground = system.AddObject(items.ObjectGround())
        # The Exudyn bodies that carry joints: for a beam one at each end, else the same twice.
        self.carriers: dict[int, tuple[int, int]] = {BASE: (self.ground, self.ground)}
        # Where the Exudyn body is placed, if not at the origin of the body frame.
        self.centres: dict[int, Array] = {}
        # Nodes of beams, and the mass that weighs on each.
        self.beam_nodes: list[tuple[list[int], Array]] = []

    def build(self) -> None:
        """Add everything."""
        robot = self.at.robot
        for body in rigid_bodies(robot, self.at.beams):
            point = body == PLATFORM and robot.platform.kind == "point"
            made = self.point(body) if point else self.rigid(body)
            self.carriers[body] = (made, made)
        for body, beam in self.at.beams.items():
            self.carriers[body] = self.beam(beam)
        for placed in self.at.joints:
            self.joint(placed)

    @abstractmethod
    def point(self, body: int) -> int:
        """A mass point."""

    @abstractmethod
    def rigid(self, body: int) -> int:
        """A rigid body."""

    @abstractmethod
    def beam(self, beam: Beam) -> tuple[int, int]:
        """A chain of elements; gives rigid bodies on the nodes of its two ends."""

    @abstractmethod
    def joint(self, placed: PlacedJoint) -> None:
        """A joint."""

    def options(self, placed: PlacedJoint) -> dict[str, Any]:
        """What a generic joint has beyond its markers and locks."""
        del placed
        return {}

    def add_marker(self, carrier: int, point: Array, frame: Array, kind: JointKind) -> int:
        """A frame on an Exudyn body; for a joint with a mass point its position alone."""
        if kind is JointKind.POINT:
            return self.system.AddMarker(items.MarkerBodyPosition(bodyNumber=carrier, localPosition=point))
        return self.system.AddMarker(
            items.MarkerBodyRigid(bodyNumber=carrier, localHT=exu.HT(rotation=frame, translation=point))
        )

    def spring(self, placed: PlacedJoint, markers: list[int], slide: list[float]) -> None:
        """The elastic drive of a joint: about z of its markers, or along `slide`."""
        if placed.stiffness and placed.joint.kind is JointKind.REVOLUTE:
            self.system.AddObject(
                items.ObjectConnectorTorsionalSpringDamper(markerNumbers=markers, stiffness=placed.stiffness)
            )
        elif placed.stiffness:
            assert placed.joint.kind is JointKind.PRISMATIC
            self.system.AddObject(
                items.ObjectConnectorLinearSpringDamper(
                    markerNumbers=markers, stiffness=placed.stiffness, axisMarker0=slide
                )
            )

    def pose(self, body: int, at_tip: bool) -> tuple[Array, Array]:
        """Orientation and origin of the Exudyn body that carries joints of a body."""
        beam = self.at.beams.get(body)
        if beam is not None:
            return beam.R, beam.tip if at_tip else beam.start
        return (np.eye(3), np.zeros(3)) if body == BASE else (self.at.R[body], self.at.p[body])


def _first_moment(mass: Array) -> Array:
    """Mass times centre of mass (3,), from the lower left block of a mass matrix (6, 6)."""
    return np.array([mass[5, 1], mass[3, 2], mass[4, 0]])


class _Spatial(_Model):
    """A robot in space."""

    slide_axis = 2

    def node(self, R: Array, p: Array) -> int:
        """A node with Euler parameters."""
        return self.system.AddNode(
            items.NodeRigidBodyEP(referenceCoordinates=[*p, *RotationMatrix2EulerParameters(R)])
        )

    def point(self, body: int) -> int:
        """A mass point."""
        node = self.system.AddNode(items.NodePoint(referenceCoordinates=self.at.p[body]))
        return self.system.AddObject(
            items.ObjectMassPoint(mass=self.at.robot.bodies[body].mass, nodeNumber=node)
        )

    def rigid(self, body: int) -> int:
        """A rigid body."""
        m, hx, hy, hz, xx, xy, yy, xz, yz, zz = self.at.robot.bodies[body].inertia
        return self.system.AddObject(
            items.ObjectRigidBody(
                mass=m,
                inertia=[xx, yy, zz, yz, xz, xy],
                centerOfMass=[h / m if m else 0.0 for h in (hx, hy, hz)],
                nodeNumber=self.node(self.at.R[body], self.at.p[body]),
            )
        )

    def beam(self, beam: Beam) -> tuple[int, int]:
        """A chain of geometrically exact beams."""
        s, n = beam.section, self.elements
        data = exu.BeamSection()
        EA = s.E * s.A
        data.stiffnessMatrix = np.diag([EA, _SHEAR * EA, _SHEAR * EA, s.G * s.J, s.E * s.Iy, s.E * s.Iz])
        data.inertia = s.rho * np.diag([s.Iy + s.Iz, s.Iy, s.Iz])
        data.massPerLength = s.rho * s.A
        nodes = [self.node(beam.R, beam.start + (beam.tip - beam.start) * k / n) for k in range(n + 1)]
        for pair in itertools.pairwise(nodes):
            self.system.AddObject(
                items.ObjectBeamGeometricallyExact(
                    nodeNumbers=list(pair), length=beam.length / n, sectionData=data
                )
            )
        part = s.rho * s.A * beam.length / n
        self.beam_nodes.append((nodes, part * np.array([0.5, *[1.0] * (n - 1), 0.5])))
        pairs = zip((nodes[0], nodes[-1]), beam.tips, strict=True)
        first, last = (self.end(node, beam.R, mass) for node, mass in pairs)
        return first, last

    def end(self, node: int, R: Array, mass: Array) -> int:
        """A rigid body on a node with axes R, of the mass matrix (6, 6) of what is rigid there; often 0."""
        m, h, I = mass[0, 0], R.T @ _first_moment(mass), R.T @ mass[3:, 3:] @ R
        return self.system.AddObject(
            items.ObjectRigidBody(
                mass=m,
                inertia=[I[0, 0], I[1, 1], I[2, 2], I[1, 2], I[0, 2], I[0, 1]],
                centerOfMass=h / m if m else np.zeros(3),
                nodeNumber=node,
            )
        )

    def joint(self, placed: PlacedJoint) -> None:
        """A generic joint; at a point a spherical one."""
        joint = placed.joint
        bodies = [joint.predecessor, joint.successor]
        frames = [
            self.at.R[joint.predecessor] @ np.asarray(joint.frame_predecessor.R, dtype=float),
            self.at.R[joint.successor] @ np.asarray(joint.frame_successor.R, dtype=float),
        ]
        locked = np.array(_LOCKED_AXES[joint.kind] if placed.allowed.size else (1,) * 6)
        if joint.at_point:
            locked[:3] = 0
        at_tip = list(placed.at_tip)
        if joint.kind is JointKind.SPHERICAL_PLANAR:
            bodies, frames, at_tip = bodies[::-1], frames[::-1], at_tip[::-1]
        if joint.kind is not JointKind.UNIVERSAL or not placed.allowed.size:
            frames[1] = frames[0]  # a joint at its coordinates of this pose is one at zero
        markers = []
        for body, frame, tip in zip(bodies, frames, at_tip, strict=True):
            R, p = self.pose(body, tip)
            markers.append(
                self.add_marker(
                    self.carriers[body][int(tip)], R.T @ (placed.point - p), R.T @ frame, joint.kind
                )
            )
        if joint.kind is JointKind.POINT:
            self.system.AddObject(items.ObjectJointSpherical(markerNumbers=markers))
        else:
            self.system.AddObject(
                items.ObjectJointGeneric(
                    markerNumbers=markers, constrainedAxes=locked.tolist(), **self.options(placed)
                )
            )
        self.spring(placed, markers, [0.0, 0.0, 1.0])


class _Planar(_Model):
    """A robot in its plane; positions along two axes of the plane, angles zero in the undeformed robot."""

    slide_axis = 0

    def __init__(self, system: Any, at: Structure, elements: int) -> None:
        super().__init__(system, at, elements)
        assert at.normal is not None
        across = np.eye(3)[np.argmin(np.abs(at.normal))]
        e_1 = np.cross(across, at.normal)
        e_1 /= np.linalg.norm(e_1)
        self.plane = np.vstack([e_1, np.cross(at.normal, e_1), at.normal])

    def node(self, p: Array) -> int:
        """A node with two coordinates and an angle."""
        return self.system.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*(self.plane @ p)[:2], 0.0]))

    def point(self, body: int) -> int:
        """A mass point."""
        node = self.system.AddNode(items.NodePoint2D(referenceCoordinates=(self.plane @ self.at.p[body])[:2]))
        return self.system.AddObject(
            items.ObjectMassPoint2D(mass=self.at.robot.bodies[body].mass, nodeNumber=node)
        )

    def rigid(self, body: int) -> int:
        """A rigid body, placed at its centre of mass."""
        m, hx, hy, hz, xx, xy, yy, xz, yz, zz = self.at.robot.bodies[body].inertia
        h, n = np.array([hx, hy, hz]), self.at.R[body].T @ self.plane[2]
        across = h - n * (n @ h)
        moment = n @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ n - (
            across @ across / m if m else 0.0
        )
        self.centres[body] = self.at.p[body] + (self.at.R[body] @ h / m if m else 0.0)
        return self.system.AddObject(
            items.ObjectRigidBody2D(mass=m, inertia=float(moment), nodeNumber=self.node(self.centres[body]))
        )

    def beam(self, beam: Beam) -> tuple[int, int]:
        """A chain of geometrically exact beams with three nodes."""
        s, n = beam.section, self.elements
        y, z = beam.R[:, 1] @ self.plane[2], beam.R[:, 2] @ self.plane[2]
        I = s.Iy * y**2 + s.Iz * z**2
        assert min(abs(y), abs(z)) < 1e-9 or s.Iy == s.Iz, "a principal axis of the section is in the plane"
        nodes = [self.node(beam.start + (beam.tip - beam.start) * k / (2 * n)) for k in range(2 * n + 1)]
        for k in range(n):
            self.system.AddObject(
                items.ObjectBeamGeometricallyExact2D(
                    nodeNumbers=nodes[2 * k : 2 * k + 3],
                    length=beam.length / n,
                    massPerLength=s.rho * s.A,
                    crossSectionInertia=s.rho * I,
                    bendingStiffness=s.E * I,
                    axialStiffness=s.E * s.A,
                    shearStiffness=_SHEAR * s.E * s.A,
                )
            )
        part = s.rho * s.A * beam.length / n / 6.0
        self.beam_nodes.append((nodes, part * np.array([1.0, *([4.0, 2.0] * n)[:-1], 1.0])))
        pairs = zip((nodes[0], nodes[-1]), beam.tips, strict=True)
        first, last = (self.end(node, mass) for node, mass in pairs)
        return first, last

    def end(self, node: int, mass: Array) -> int:
        """A rigid body on a node, of the mass matrix (6, 6) of what is rigid there; often 0."""
        m, h = mass[0, 0], self.plane @ _first_moment(mass)
        return self.system.AddObject(
            items.ObjectRigidBody2D(
                mass=m,
                inertia=float(self.plane[2] @ mass[3:, 3:] @ self.plane[2]),
                centerOfMass=h[:2] / m if m else np.zeros(2),
                nodeNumber=node,
            )
        )

    def joint(self, placed: PlacedJoint) -> None:
        """A generic joint between frames in the plane."""
        joint = placed.joint
        if joint.at_point:
            return  # the bodies turn freely about the point
        slides = joint.kind is JointKind.PRISMATIC
        locked = [0, 1, 0, 0, 0, 1] if slides else [1, 1, 0, 0, 0, 0]
        if joint.kind is JointKind.FIXED or not placed.allowed.size:
            locked = [1, 1, 0, 0, 0, 1]
        c, s = (self.plane @ placed.allowed[:3, 0])[:2] if slides and placed.allowed.size else (1.0, 0.0)
        frame = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        markers = []
        for body, tip in zip((joint.predecessor, joint.successor), placed.at_tip, strict=True):
            arm = self.plane @ (placed.point - self.centres.get(body, self.pose(body, tip)[1]))
            arm[2] = 0.0
            markers.append(self.add_marker(self.carriers[body][int(tip)], arm, frame, joint.kind))
        if joint.kind is JointKind.POINT:
            self.system.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))
        else:
            self.system.AddObject(
                items.ObjectJointGeneric(
                    markerNumbers=markers, constrainedAxes=locked, **self.options(placed)
                )
            )
        self.spring(placed, markers, [1.0, 0.0, 0.0])
