"""The same robot elsewhere, turned, larger, heavier: what follows from it must follow exactly.

With lengths times L, masses times M and times by T, gravity grows by L / T^2, forces by M L / T^2, moments by
M L^2 / T^2; with the base moved by (R, t) poses become (R R_p, R p + t), and twists [R v; R w].
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, Interval, Joint, Primitive
from nacelle.model.leg import BASE, PLATFORM, Body
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose

Array = np.ndarray
# Powers of length of numbers of a cross-section that are no lengths.
_SECTION = {"area": 2, "Iy": 4, "Iz": 4, "J": 4, "shear": 0}
# Power of the rate that a friction term goes with.
_POWER = {"viscous": 1, "quadratic": 2, "cubic": 3}


@dataclass(frozen=True)
class RobotTransform:
    """A change of a robot that changes nothing but scales and place.

    Attributes:
        length: factor of all lengths.
        mass: factor of all masses.
        time: factor of all times.
        R: rotation of the base (3, 3).
        t: translation of the base (3,), m, after lengths have changed.
    """

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0
    R: Array = field(default_factory=lambda: np.eye(3))
    t: Array = field(default_factory=lambda: np.zeros(3))

    # ---- the robot

    def robot(self, robot: Robot) -> Robot:
        """The changed robot."""
        L, M, T = self.length, self.mass, self.time
        bodies = tuple(self._body(body) for body in robot.bodies)
        springs = tuple(
            dataclasses.replace(
                s,
                points=tuple(
                    self._base(p) if b == BASE else L * p for b, p in zip(s.bodies, s.points, strict=True)
                ),
                stiffness=M / T**2 * s.stiffness,
                length=L * s.length,
                damping=M / T * s.damping,
            )
            for s in robot.springs
        )
        return dataclasses.replace(
            robot,
            bodies=bodies,
            joints=tuple(self._joint(robot, joint) for joint in robot.joints),
            actuators=tuple(
                dataclasses.replace(
                    a,
                    encoder_zero=a.encoder_zero * unit,
                    position=tuple(unit * value for value in a.position),
                    speed=a.speed * unit / T,
                    force=a.force * M * L * L / T**2 / unit,
                )
                for a, unit in ((a, self._unit(robot.joints[a.joint].primitives[0])) for a in robot.actuators)
            ),
            gravity=tuple(L / T**2 * value for value in (self.R @ np.array(robot.gravity)).tolist()),
            reference=self._pose(robot.reference),
            tools=tuple(
                dataclasses.replace(tool, frame=Pose(tool.frame.R, L * tool.frame.p)) for tool in robot.tools
            ),
            payload=tuple(dataclasses.replace(p, inertia=self._inertia(p.inertia)) for p in robot.payload),
            springs=springs,
            dampers=tuple(dataclasses.replace(d, damping=M * L * L / T * d.damping) for d in robot.dampers),
            torsion_springs=tuple(
                dataclasses.replace(
                    s,
                    rotations=tuple(
                        self.R @ R if b == BASE else R for b, R in zip(s.bodies, s.rotations, strict=True)
                    ),
                    stiffness=tuple(M * L * L / T**2 * k for k in s.stiffness),
                )
                for s in robot.torsion_springs
            ),
            modes=tuple(dataclasses.replace(m, reference=self._pose(m.reference)) for m in robot.modes),
            declaration=None,
        )

    def _base(self, p: Array) -> Array:
        return self.R @ (self.length * p) + self.t

    def _pose(self, pose: Pose) -> Pose:
        return Pose(self.R @ pose.R, self._base(pose.p))

    def _inertia(self, ten: tuple[float, ...]) -> tuple[float, ...]:
        powers = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
        return tuple((self.mass * self.length**powers * np.array(ten)).tolist())

    def _body(self, body: Body) -> Body:
        L, M, flexible = self.length, self.mass, {}
        if body.section is not None:
            material, beam = dict(body.material or {}), dict(body.beam or {})
            flexible["section"] = {
                key: (np.array(value) * L ** _SECTION.get(key, 1)).tolist()
                for key, value in body.section.items()
            }
            material |= {"E": material["E"] * M / L / self.time**2, "density": material["density"] * M / L**3}
            beam |= {key: tuple(L * v for v in beam[key]) for key in ("from", "to") if key in beam}
            beam |= {"tips": {end: self._inertia(ten) for end, ten in beam.get("tips", {}).items()}}
            flexible |= {"material": material, "beam": beam}
        return dataclasses.replace(body, inertia=self._inertia(body.inertia), **flexible)

    def _unit(self, primitive: Primitive) -> float:
        return 1.0 if primitive.is_rotation else self.length

    def _coordinates(self, joint: Joint, values: Any) -> Any:
        if values is None:
            return None
        units = [self._unit(p) for p in joint.primitives for _ in range(p.nq)]
        return tuple(value * unit for value, unit in zip(values, units, strict=True))

    def _joint(self, robot: Robot, joint: Joint) -> Joint:
        L, M, T = self.length, self.mass, self.time
        frames = {}
        for side, body in (("predecessor", joint.predecessor), ("successor", joint.successor)):
            frame = getattr(joint, f"frame_{side}")
            frames[f"frame_{side}"] = self._pose(frame) if body == BASE else Pose(frame.R, L * frame.p)
        units = [self._unit(p) for p in joint.primitives]

        def along(k: int) -> float:
            return units[min(k, len(units) - 1)]

        kept: dict[str, Any] = {}
        if joint.terms:
            unit = {j: self._unit(robot.joints[j].primitives[0]) for j, _ in joint.terms}
            first = unit[joint.terms[0][0]]
            kept["terms"] = tuple((j, factor * first / unit[j]) for j, factor in joint.terms)
            kept["offset"] = joint.offset * first
        return dataclasses.replace(
            joint,
            **frames,
            friction=tuple(
                tuple(
                    FrictionTerm(
                        term.basis,
                        term.coefficient
                        * M
                        * L
                        * L
                        / T**2
                        / along(k)
                        / (along(k) / T) ** _POWER.get(term.basis, 0),
                        term.scale * along(k) / T,
                    )
                    for term in axis
                )
                for k, axis in enumerate(joint.friction)
            ),
            springs=tuple(
                s
                and dataclasses.replace(
                    s, stiffness=s.stiffness * M * L * L / (T * along(k)) ** 2, rest=s.rest * along(k)
                )
                for k, s in enumerate(joint.springs)
            ),
            stops=tuple(
                s
                and dataclasses.replace(
                    s,
                    stiffness=s.stiffness * M * L * L / (T * along(k)) ** 2,
                    damping=s.damping * M * L * L / T / along(k) ** 2,
                )
                for k, s in enumerate(joint.stops)
            ),
            rotor_inertia=joint.rotor_inertia * M * L * L / (units[0] ** 2 if units else 1.0),
            limits=tuple(
                Interval(*(value * along(k) for value in own)) for k, own in enumerate(joint.limits)
            ),
            guess=self._coordinates(joint, joint.guess),
            drive_stiffness=joint.drive_stiffness * M * L * L / T**2 / (units[0] ** 2 if units else 1.0),
            drive_damping=joint.drive_damping * M * L * L / T / (units[0] ** 2 if units else 1.0),
            **kept,
        )

    # ---- states

    def state(self, robot: Robot, changed: Robot, x: Array, y: Array) -> tuple[Array, Array]:
        """Pose and unknowns (x', y') of the changed robot, from those of the robot."""
        now = configuration(robot, x, y)
        there = mechanism_of(changed)
        at = now.motion.poses[PLATFORM]
        at = Pose(np.asarray(at.R, dtype=float), np.asarray(at.p, dtype=float))
        x_new, dependent = there.chart.coordinates(self._pose(at))
        units = [self._unit(p) for joint in robot.tree_joints for p in joint.primitives for _ in range(p.nq)]
        q = np.asarray(now.q_tree, dtype=float) * np.array(units)
        for name in robot.motion.joint_names:
            x_new[there.layout.x_index(name)] = q[robot.q_slices[robot.joint(name)]][0]
        return x_new, there.unknowns(dependent, q)

    def twist_map(self, robot: Robot) -> Array:
        """T (n, n) with v' = T v."""
        n = robot.motion.n
        T = np.zeros((n, n))
        axes = robot.motion.coordinates
        for i, a in enumerate(axes):
            for j, b in enumerate(axes):
                if a in "xyz" and b in "xyz":
                    T[i, j] = self.length * self.R["xyz".index(a), "xyz".index(b)]
                elif a[0] == b[0] == "r" and a[1:] in "xyz" and b[1:] in "xyz" and a in ("rx", "ry", "rz"):
                    T[i, j] = self.R["xyz".index(a[1]), "xyz".index(b[1])]
            if a in robot.motion.joint_names:
                T[i, i] = self._unit(robot.joints[robot.joint(a)].primitives[0])
        return T

    def force(self, robot: Robot) -> Array:
        """Factors (actuators,) of the actuators' forces."""
        revolute = np.array(robot.revolute_actuators)
        return np.where(revolute, self.length, 1.0) * self.mass * self.length / self.time**2


def random_transform(robot: Robot, seed: int) -> RobotTransform:
    """Another place up to 1000 km away, a rotation that the motion allows, other lengths and masses."""
    rng = np.random.default_rng(seed)
    axes = set(robot.motion.coordinates)
    R = np.eye(3)
    if axes in ({"x", "y", "z"}, {"x", "y", "z", "rx", "ry", "rz"}):
        R = Rotation.random(random_state=seed).as_matrix()
    elif axes in ({"x", "y"}, {"x", "y", "rz"}, {"x", "y", "z", "rz"}):
        R = Rotation.from_euler("z", rng.uniform(-np.pi, np.pi)).as_matrix()
    length, mass = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-6, 6)
    direction = rng.normal(size=3)
    t = 10.0 ** rng.uniform(-3, 6) * direction / np.linalg.norm(direction) * (1.0 if length > 1.0 else length)
    return RobotTransform(length, mass, 10.0 ** rng.uniform(-2, 2), R, t)
