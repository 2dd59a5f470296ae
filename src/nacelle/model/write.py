"""Writing a robot as YAML: joint by joint, in SI units, every number exactly."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.model.data import Actuator, RobotData, platform_branches
from nacelle.model.description.version import NEWEST, oldest_format
from nacelle.model.joint import Interval, Joint, JointKind, neutral_coordinates, reversed_planar_joint
from nacelle.model.leg import BASE, PLATFORM, Body, Damper, Leg, LineSpring, TorsionSpring
from nacelle.spatial.pose import Pose

_INERTIA = ("xx", "xy", "yy", "xz", "yz", "zz")


def write_yaml(robot: RobotData) -> str:
    """Write a robot in full; reading the text back gives a robot of the same hash."""
    return _Writer(robot).text()


class _Writer:
    def __init__(self, robot: RobotData) -> None:
        self.robot = robot
        self.chains = (*platform_branches(robot), *robot.legs)
        self.leg_of = {body: leg.name for leg in self.chains for body in leg.bodies}
        self.actuators = {actuator.joint: actuator for actuator in robot.actuators}

    def text(self) -> str:
        robot = self.robot
        n_motion = robot.motion.name
        data: dict[str, Any] = {"format": NEWEST, "name": robot.name, "units": "SI"}
        data |= _nonempty({"title": robot.title, "notes": robot.notes, "sources": list(robot.sources)})
        data["motion"] = n_motion if not n_motion.startswith("[") else list(robot.motion.coordinates)
        data["gravity"] = list(robot.gravity)
        data["reference"] = self.reference(robot.reference)
        if robot.bodies[0].display:
            data["base"] = {"display": list(robot.bodies[0].display)}
        if robot.has_platform:
            data["platform"] = self.platform()
        data["legs"] = [self.leg(chain) for chain in self.chains]
        if not robot.has_platform and (cuts := self.joints_outside_chains(robot.platform.closures[1:])):
            data["closures"] = {self.joint_name(c): self.joint(c, None) for c in cuts}
        data |= _nonempty(
            {
                "couplings": {
                    _name_without_dot(robot.joints[k].name): self.coupling(k)
                    for k in robot.couplings
                    if self.coupling_leg(k) is None
                }
            }
        )
        data["actuators"] = [self.joint_name(actuator.joint) for actuator in robot.actuators]
        shared = robot.shared or ()
        data |= _nonempty(
            {
                "shared": shared if isinstance(shared, str) else [list(legs) for legs in shared],
                "tools": {
                    tool.name: {"body": self.body_name(tool.body, None), **_frame_entry("at", tool.frame)}
                    for tool in robot.tools
                },
                "payload": {
                    load.name: {"body": self.body_name(load.body, None), **_inertia_entry(load.inertia)}
                    for load in robot.payload
                },
                "springs": {_name_without_dot(spring.name): self.spring(spring) for spring in robot.springs},
                "dampers": {_name_without_dot(damper.name): self.damper(damper) for damper in robot.dampers},
                "torsion_springs": {
                    _name_without_dot(spring.name): self.torsion_spring(spring)
                    for spring in robot.torsion_springs
                },
                "modes": {mode.name: self.mode(k) for k, mode in enumerate(robot.modes)},
            }
        )
        if len(self.chains) == len(robot.legs):
            data["format"] = oldest_format(data)
        return "\n".join(yaml_block(data, 0)) + "\n"

    # ---- names

    def local(self, name: str, leg: str) -> str:
        return name[len(leg) + 1 :] if name.startswith(f"{leg}.") else _name_without_dot(name)

    def platform_body_name(self, body: int) -> str:
        return _name_without_dot(self.robot.bodies[body].name)

    def body_name(self, body: int, leg: str | None) -> str:
        """Name of a body as seen from a leg, or in full."""
        if body == PLATFORM and not self.robot.has_platform:
            return self.robot.bodies[BASE].name
        if body not in self.leg_of:
            return self.platform_body_name(body)
        own_leg = self.leg_of[body]
        short = self.local(self.robot.bodies[body].name, own_leg)
        return short if own_leg == leg else f"{own_leg}.{short}"

    def joint_leg(self, index: int) -> str | None:
        for leg in self.chains:
            if index in leg.joints or index in leg.closures:
                return leg.name
        return None

    def coupling_leg(self, index: int) -> str | None:
        """The leg that a coupling is written in: its name begins with the leg's."""
        leg = self.robot.joints[index].name.rpartition(".")[0]
        return leg if any(leg == chain.name for chain in self.chains) else None

    def joints_outside_chains(self, joints: tuple[int, ...]) -> list[int]:
        """The joints of the platform that are written by themselves, not in a chain that hangs on it."""
        return [j for j in joints if self.joint_leg(j) is None and not self.robot.joints[j].is_coupling]

    def joint_name(self, index: int) -> str:
        leg, name = self.joint_leg(index), self.robot.joints[index].name
        return f"{leg}.{self.local(name, leg)}" if leg else _name_without_dot(name)

    # ---- parts

    def reference(self, pose: Pose) -> dict[str, Any]:
        return {"position": [float(v) for v in pose.p], **_rotation_entry(pose)}

    def platform(self) -> dict[str, Any]:
        robot, spec = self.robot, self.robot.platform
        data: dict[str, Any] = {"type": spec.kind, "name": self.platform_body_name(PLATFORM)}
        if spec.kind == "articulated":
            loose_bodies = [b for b in spec.bodies if b not in self.leg_of]
            data["bodies"] = {self.platform_body_name(b): self.body(robot.bodies[b]) for b in loose_bodies}
        elif spec.kind == "point":
            if robot.bodies[PLATFORM].mass:
                data["mass"] = robot.bodies[PLATFORM].mass
        else:
            data |= self.body(robot.bodies[PLATFORM])
        for key, indices in (("joints", spec.joints), ("closures", spec.closures)):
            if joints := self.joints_outside_chains(indices):
                data[key] = {self.joint_name(j): self.joint(j, None) for j in joints}
        return data

    def leg(self, leg: Leg) -> dict[str, Any]:
        data: dict[str, Any] = {"name": leg.name}
        if leg.branch:
            data["branch"] = leg.branch
        data["bodies"] = {
            self.local(self.robot.bodies[b].name, leg.name): self.body(self.robot.bodies[b])
            for b in leg.bodies
        }
        cuts = tuple(c for c in leg.closures if not self.robot.joints[c].is_coupling)
        for key, indices in (("joints", leg.joints), ("closures", cuts)):
            data[key] = {
                self.local(self.robot.joints[j].name, leg.name): self.joint(j, leg.name) for j in indices
            }
        couplings = [k for k in self.robot.couplings if self.coupling_leg(k) == leg.name]
        return data | _nonempty(
            {
                "couplings": {
                    self.local(self.robot.joints[k].name, leg.name): self.coupling(k) for k in couplings
                }
            }
        )

    def body(self, body: Body) -> dict[str, Any]:
        data = {} if body.massless else _inertia_entry(body.inertia)
        beam = body.beam or {}
        tips = {key: _inertia_entry(ten) for key, ten in beam.get("tips", {}).items()}
        entries = {
            "section": body.section,
            "material": body.material,
            "beam": beam | _nonempty({"tips": tips}),
        }
        return data | _nonempty(entries | {"spin": body.spin, "display": list(body.display)})

    def joint(self, index: int, leg: str | None) -> dict[str, Any]:
        joint = self.robot.joints[index]
        data: dict[str, Any] = {"type": str(joint.kind)}
        if joint.kind is JointKind.POINT:
            data["type"] = "spherical"
        elif joint.kind is JointKind.SPHERICAL_PLANAR:
            joint = _in_written_order(joint)
            data = {"type": str(joint.kind), "plane": "child"}
        data["parent"] = self.body_name(joint.predecessor, leg)
        data["child"] = self.body_name(joint.successor, leg)
        data |= _frame_entry("at", joint.frame_predecessor) | _frame_entry("child_at", joint.frame_successor)
        if index in self.actuators:
            data["actuator"] = self.actuator(self.actuators[index], joint)
        elif joint.rotor_inertia:
            data["rotor_inertia"] = joint.rotor_inertia
        if any(joint.friction):
            data["friction"] = [
                {term.basis.replace("-", "_"): term.coefficient for term in axis}
                | ({"scale": max(t.scale for t in axis)} if any(t.scale for t in axis) else {})
                for axis in joint.friction
            ]
        if any(joint.springs):
            data["spring"] = [
                spring and {"stiffness": spring.stiffness, "rest": spring.rest} for spring in joint.springs
            ]
        if any(joint.stops):
            data["stop"] = [
                stop and {"stiffness": stop.stiffness, "damping": stop.damping} for stop in joint.stops
            ]
        if any(math.isfinite(end) for pair in joint.limits for end in pair):
            pairs = [_limits_pair(pair) for pair in joint.limits]
            data["limits"] = pairs[0] if len(pairs) == 1 else pairs
        if joint.guess and joint.guess != neutral_coordinates(joint.kind):
            data["guess"] = list(joint.guess)
        return data

    def coupling(self, index: int) -> dict[str, Any]:
        (first, factor_of_first), *others = self.robot.joints[index].terms
        assert factor_of_first == 1.0
        follows = {self.joint_name(j): -factor for j, factor in others}
        data: dict[str, Any] = {"joint": self.joint_name(first), "follows": follows}
        return data | ({"offset": offset} if (offset := self.robot.joints[index].offset) else {})

    def actuator(self, actuator: Actuator, joint: Joint) -> dict[str, Any]:
        data: dict[str, Any] = {}
        leg = self.joint_leg(actuator.joint)
        if actuator.name != joint.name:
            data["name"] = self.local(actuator.name, leg) if leg else _name_without_dot(actuator.name)
        data |= {} if joint.gear_ratio == 1.0 else {"gear_ratio": joint.gear_ratio}
        data |= _nonempty(
            {
                "rotor_inertia": joint.rotor_inertia,
                "stiffness": joint.drive_stiffness,
                "damping": joint.drive_damping,
                "torque_constant": actuator.torque_constant,
            }
        )
        if actuator.encoder_zero or actuator.encoder_sign != 1:
            data["encoder"] = {"zero": actuator.encoder_zero, "sign": actuator.encoder_sign}
        limits: dict[str, Any] = {}
        if actuator.position != joint.limits[0]:
            limits["position"] = _limits_pair(actuator.position)
        for key in ("speed", "force"):
            if math.isfinite(getattr(actuator, key)):
                limits[key] = getattr(actuator, key)
        return data | _nonempty({"limits": limits})

    def spring(self, spring: LineSpring) -> dict[str, Any]:
        data: dict[str, Any] = {
            "between": [self.body_name(body, None) for body in spring.bodies],
            "at": [[float(v) for v in point] for point in spring.points],
            "stiffness": spring.stiffness,
            "length": spring.length,
        }
        return data | _nonempty({"damping": spring.damping})

    def damper(self, damper: Damper) -> dict[str, Any]:
        between = [self.body_name(body, None) for body in damper.bodies]
        return {"between": between, "damping": damper.damping}

    def torsion_spring(self, spring: TorsionSpring) -> dict[str, Any]:
        data: dict[str, Any] = {
            "between": [self.body_name(body, None) for body in spring.bodies],
            "rotations": [{"matrix": R.tolist()} for R in spring.rotations],
            "stiffness": list(spring.stiffness),
        }
        return data | _nonempty({"rest": spring.rest})

    def mode(self, k: int) -> dict[str, Any]:
        mode = self.robot.modes[k]
        data: dict[str, Any] = {
            "motion": list(mode.motion.coordinates),
            "reference": self.reference(mode.reference),
        }
        branch = {leg.name: b for leg, b in zip(self.robot.legs, mode.branch, strict=True) if b}
        joints = self.robot.joints
        guess = {
            self.joint_name(j): list(_in_written_order(replace(joints[j], guess=values)).guess)
            for j, values in mode.guess
        }
        return data | _nonempty({"branch": branch, "guess": guess})


def _nonempty(data: dict[str, Any]) -> dict[str, Any]:
    """The entries that say something."""
    return {key: value for key, value in data.items() if value}


def _name_without_dot(name: str) -> str:
    """A name outside of any leg, which has no dot."""
    return name.replace(".", "-")


def _in_written_order(joint: Joint) -> Joint:
    """A joint with its axes in the order in which they are written: of a C5 joint u, v, rotation."""
    return reversed_planar_joint(joint) if joint.kind is JointKind.SPHERICAL_PLANAR else joint


def _limits_pair(limits: Interval) -> list[float | None]:
    return [end if math.isfinite(end) else None for end in limits]


def _rotation_entry(pose: Pose) -> dict[str, Any]:
    return {} if np.array_equal(pose.R, np.eye(3)) else {"rotation": {"matrix": pose.R.tolist()}}


def _frame_entry(key: str, pose: Pose) -> dict[str, Any]:
    data = {"translation": [float(v) for v in pose.p]} if np.any(pose.p) else {}
    return _nonempty({key: data | _rotation_entry(pose)})


def _inertia_entry(ten: tuple[float, ...]) -> dict[str, Any]:
    moments = dict(zip(_INERTIA, ten[4:], strict=True))
    return {
        "mass": ten[0],
        "first_moment": list(ten[1:4]),
        "inertia": {"about": "frame"} | {key: value for key, value in moments.items() if value},
    }


# ---- text

_BARE = re.compile(r"[A-Za-z][\w\-./]*")
# Numbers with a unit: "0 0 -9.81 m/s^2".
_QUANTITY = re.compile(r"-?\d[\d.e+-]*(?: -?\d[\d.e+-]*)* [A-Za-z][A-Za-z0-9*/^]*")
_RESERVED = {"null", "true", "false", "yes", "no", "on", "off", "n", "~"}


def _yaml_scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(float(value) + 0.0)
    if isinstance(value, str):
        if _BARE.fullmatch(value) and value.lower() not in _RESERVED:
            return value
        if _QUANTITY.fullmatch(value):
            return value
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _yaml_flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_yaml_scalar(str(k))}: {_yaml_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_yaml_flow(v) for v in value) + "]"
    return _yaml_scalar(value)


def yaml_block(value: dict[str, Any], depth: int) -> list[str]:
    """Write a mapping in block style; short values stay on their line."""
    pad = "  " * depth
    lines = []
    for key, item in value.items():
        head = f"{pad}{_yaml_scalar(str(key))}:"
        flow = _yaml_flow(item)
        if not isinstance(item, dict | list | tuple) or not item or len(head) + len(flow) < 100:
            lines.append(f"{head} {flow}")
        elif isinstance(item, dict):
            lines += [head, *yaml_block(item, depth + 1)]
        elif all(isinstance(entry, dict) for entry in item):
            lines.append(head)
            for entry in item:
                inner = yaml_block(entry, depth + 2)
                lines.append(f"{pad}  - {inner[0].lstrip()}")
                lines += inner[1:]
        elif any(isinstance(entry, dict | list | tuple) for entry in item):
            lines += [head, *(f"{pad}  - {_yaml_flow(entry)}" for entry in item)]
        else:
            lines += _yaml_list(head, [_yaml_scalar(entry) for entry in item])
    return lines


def _yaml_list(head: str, entries: list[str]) -> list[str]:
    """A list of scalars in flow style, over several lines where it is long."""
    lines, line = [], f"{head} [{entries[0]}"
    indent = " " * (len(head) + 2)
    for entry in entries[1:]:
        if len(line) + len(entry) > 98:
            lines.append(f"{line},")
            line = f"{indent}{entry}"
        else:
            line = f"{line}, {entry}"
    return [*lines, f"{line}]"]
