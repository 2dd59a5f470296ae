"""Any robot with its links made slender beams: what joins them is tested on all kinds of joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import parameters_from_com
from support.flexible.beams import structure

_SHORTEST = 0.02


def with_beam_links(robot: Robot) -> Robot:
    """The robot with a beam for every leg's body that joins two places; rectangular sections, 4 x 7 mm.

    The inertia of these bodies is left as it is: the reference models read section and material alone.
    """
    ends: dict[int, tuple[list[np.ndarray], list[np.ndarray]]] = {
        k: ([], []) for k in range(len(robot.bodies))
    }
    for placed in structure(robot, reference_pose(robot)).joints:
        bodies = (placed.joint.predecessor, placed.joint.successor)
        for body, at_tip in zip(bodies, placed.at_tip, strict=True):
            if not placed.joint.at_point:
                ends[body][int(at_tip)].append(placed.point)
    bodies = list(robot.bodies)
    for k in (body for leg in robot.legs for body in leg.bodies):
        starts, tips = ends[k]
        if starts and tips and np.linalg.norm(np.mean(tips, axis=0) - np.mean(starts, axis=0)) > _SHORTEST:
            bodies[k] = replace(
                bodies[k],
                section={"rectangle": (4e-3, 7e-3)},
                material={"E": 70e9, "density": 2700.0, "nu": 0.3},
            )
    return replace(robot, bodies=tuple(bodies))


def with_end_masses(robot: Robot) -> Robot:
    """A flexible robot with rigid masses beside the ends of its beams, and elastic drives."""
    near = parameters_from_com(0.05, np.array([0.02, 0.01, -0.015]), np.diag([2e-5, 3e-5, 2.5e-5]))
    bodies, joints = list(robot.bodies), list(robot.joints)
    for k, body in enumerate(bodies):
        if body.section is not None:
            far = 2.0 * np.array(body.inertia[1:4]) / body.mass + [0.01, 0.02, 0.01]
            tip = parameters_from_com(0.03, far, np.diag([2e-5, 3e-5, 2.5e-5]))
            bodies[k] = replace(body, beam={"tips": {"from": near.tolist(), "to": tip.tolist()}})
    for actuator in robot.actuators:
        joint = joints[actuator.joint]
        stiffness = 3e4 if joint.kind is JointKind.PRISMATIC else 40.0
        joints[actuator.joint] = replace(joint, drive_stiffness=stiffness)
    return replace(robot, bodies=tuple(bodies), joints=tuple(joints))
