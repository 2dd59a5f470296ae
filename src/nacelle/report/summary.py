"""A robot at a glance, as plain data: tree, joints, loops, mobility, parameters, legs."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from nacelle.compile import refused_form
from nacelle.errors import NacelleError
from nacelle.kinematics.legs.leg_type import LegType, leg_type, robot_elements
from nacelle.kinematics.mechanism.check import Check
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.mechanism.mobility import Mobility
from nacelle.model.joint import Joint
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.numbers.parameters import GROUPS
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.rotation import quat_from_rotation


def summary(check: Check) -> dict[str, Any]:
    """Give everything that `nacelle show` prints, as plain data ready for JSON."""
    robot = check.robot
    types = [leg_type(robot, leg) for leg in robot.legs]
    methods = _methods(check, types)
    return {
        "name": robot.name,
        "title": robot.title,
        "notes": " ".join(robot.notes.split()),
        "sources": list(robot.sources),
        "hash": robot.hash,
        "motion": robot.motion.name,
        "gravity": list(robot.gravity),
        "reference": {
            "position": _numbers(robot.reference.p),
            "quat_xyzw": _numbers(quat_from_rotation(robot.reference.R)),
        },
        "elements": robot_elements(types),
        "legs": [
            {
                "name": leg.name,
                "type": kind.name,
                "method": method,
                "reason": reason,
                "elements": kind.elements,
                "bodies": [robot.bodies[b].name for b in leg.bodies],
                "joints": [robot.joints[j].name for j in leg.joints],
                "closures": _cuts(robot, leg.closures),
                "branch": leg.branch or None,
            }
            for leg, kind, (method, reason) in zip(robot.legs, types, methods, strict=True)
        ],
        "nacelle": {
            "kind": robot.nacelle.kind,
            "bodies": [robot.bodies[b].name for b in robot.nacelle.bodies if b in robot.written_bodies],
            "joints": [robot.joints[j].name for j in robot.nacelle.joints],
            "closures": _cuts(robot, robot.nacelle.closures),
        },
        "bodies": [_body(robot, k) for k in robot.written_bodies],
        "joints": [_joint(robot, k) for k in robot.written_joints],
        "couplings": [_coupling(robot, k) for k in robot.couplings],
        "actuators": [_actuator(robot, k) for k in range(len(robot.actuators))],
        "tools": [{"name": t.name, "body": robot.bodies[t.body].name} for t in robot.tools],
        "payload": [
            {"name": p.name, "body": robot.bodies[p.body].name, "mass": p.inertia[0]} for p in robot.payload
        ],
        "springs": [
            {
                "name": s.name,
                "between": [robot.bodies[b].name for b in s.bodies],
                "stiffness": s.stiffness,
                "length": s.length,
                "damping": s.damping,
            }
            for s in robot.springs
        ],
        "dampers": [
            {"name": d.name, "between": [robot.bodies[b].name for b in d.bodies], "damping": d.damping}
            for d in robot.dampers
        ],
        "modes": [{"name": m.name, "motion": m.motion.name} for m in robot.modes],
        "loops": _loops(robot),
        "refused_form": refused_form(robot),
        "parameters": {group: len(robot.parameter_names(group)) for group in GROUPS},
        "mobility": None if check.mobility is None else mobility_data(check.mobility),
        "problems": [problem.as_dict() for problem in check.problems],
    }


def _methods(check: Check, types: list[LegType]) -> list[tuple[str, str]]:
    """How each leg is solved, "closed form" or "Newton", and why not in closed form."""
    try:
        mechanism = mechanism_of(check.robot)
    except NacelleError:
        return [(kind.method, kind.reason) for kind in types]
    if mechanism.parasitic:
        return [("Newton", "the nacelle has parasitic motion, so that all legs are solved together")] * len(
            types
        )
    missed = "no root of its closed form is the reference configuration"
    return [
        ("Newton", kind.reason or missed) if plan.recipe is None else ("closed form", "")
        for plan, kind in zip(mechanism.legs, types, strict=True)
    ]


def mobility_data(m: Mobility) -> dict[str, Any]:
    """Mobility as plain data, with its sentences."""
    data = dataclasses.asdict(m)
    data["spinning"] = [spin.body for spin in m.spinning]
    return {**data, "sentences": m.sentences()}


def _cuts(robot: Robot, closures: tuple[int, ...]) -> list[str]:
    """Names of the joints where loops are cut, couplings and the ground left out."""
    return [robot.joints[c].name for c in closures if c in robot.written_joints]


def _loops(robot: Robot) -> int:
    """Number of independent loops: joints less moving bodies of the graph."""
    # At a point the joint between two legs does not close another loop than the point itself.
    joints = sum(not (joint.at_point or joint.is_coupling) for joint in robot.joints)
    return joints - (len(robot.bodies) - 1)


def _coupling(robot: Robot, k: int) -> dict[str, Any]:
    """A coupling as plain data: the joint that follows, ratios by joint, offset in rad or m."""
    joint = robot.joints[k]
    (first, _), *others = joint.terms
    return {
        "name": joint.name,
        "joint": robot.joints[first].name,
        "follows": {robot.joints[j].name: -factor for j, factor in others},
        "offset": joint.offset,
    }


def shown_body(robot: Robot, body: int) -> str:
    """Name of a body as it is written: the ground of a robot without a nacelle is the base."""
    return robot.bodies[BASE if body == PLATFORM and not robot.has_nacelle else body].name


def _numbers(values: Any) -> list[float]:
    return [float(value) + 0.0 for value in np.ravel(values)]


def _finite(values: tuple[float, ...]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]


def _body(robot: Robot, k: int) -> dict[str, Any]:
    body = robot.bodies[k]
    ten = np.array(body.inertia)
    com = ten[1:4] / ten[0] if ten[0] else np.zeros(3)
    return {
        "name": body.name,
        "mass": float(ten[0]),
        "com": _numbers(com),
        "inertia_about_com": _numbers(inertia_about_com(ten)[np.triu_indices(3)]),
        "flexible": body.section is not None,
    }


def _friction_words(joint: Joint) -> list[str]:
    terms = {term.basis for axis in joint.friction for term in axis}
    return sorted(terms)


def force_words(joint: dict[str, Any]) -> str:
    """What acts in a joint of the summary, in words: friction, springs, end stops."""
    kinds = (kind for kind, word in (("spring", "spring"), ("end stop", "stop")) if joint[word])
    return " ".join([*joint["friction"], *kinds])


def _joint(robot: Robot, k: int) -> dict[str, Any]:
    joint = robot.joints[k]
    return {
        "name": joint.name,
        "kind": str(joint.kind),
        "role": "tree" if k < robot.tree else "closure",
        "active": any(actuator.joint == k for actuator in robot.actuators),
        "predecessor": shown_body(robot, joint.predecessor),
        "successor": shown_body(robot, joint.successor),
        "freedoms": joint.nv,
        "friction": _friction_words(joint),
        "spring": any(spring is not None for spring in joint.springs),
        "stop": any(stop is not None for stop in joint.stops),
        "rotor_inertia": joint.rotor_inertia,
        "limits": [_finite(pair) for pair in joint.limits],
    }


def _actuator(robot: Robot, k: int) -> dict[str, Any]:
    actuator = robot.actuators[k]
    joint = robot.joints[actuator.joint]
    return {
        "name": actuator.name,
        "joint": joint.name,
        "kind": str(joint.kind),
        "gear_ratio": joint.gear_ratio,
        "rotor_inertia": joint.rotor_inertia,
        "torque_constant": actuator.torque_constant or None,
        "encoder": {"zero": actuator.encoder_zero, "sign": actuator.encoder_sign},
        "position": _finite(actuator.position),
        "speed": _finite((actuator.speed,))[0],
        "force": _finite((actuator.force,))[0],
    }


def tree_data(robot: Robot) -> dict[int, list[int]]:
    """Children in the tree: for every body the joints that hang on it, base and platform first."""
    children: dict[int, list[int]] = {BASE: [], PLATFORM: []}
    for k, joint in enumerate(robot.tree_joints):
        children.setdefault(joint.predecessor, []).append(k)
    return children
