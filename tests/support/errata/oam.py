"""[OAM]: the five-bar as printed, and the spin of a strut."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.actuators import least_norm_forces
from nacelle.dynamics.physics import Physics
from nacelle.papers.elements import projection
from support.element_robots import samples
from support.errata import Evidence, relative_difference
from support.oam_fivebar import fivebar, oam_fivebar
from support.uncompiled import named_robot


def _fivebar() -> list[Evidence]:
    elbow = (0.02, 0.1)
    bare, rubbing = fivebar((0.0, 0.0)), fivebar(elbow)
    flipped, fixed, without, whole = [], [], [], []
    for robot in (bare, rubbing):
        for state, a, _ in samples(robot, 3):
            A, F = projection.implicit_model(state, a, Physics())
            torque = least_norm_forces(A, F).tau
            if robot is bare:
                flipped.append(
                    relative_difference(oam_fivebar(robot, state, a, (0.0, 0.0), along_motion=True), torque)
                )
                fixed.append(relative_difference(oam_fivebar(robot, state, a, (0.0, 0.0)), torque))
            else:
                written = oam_fivebar(robot, state, a, elbow)
                slips = np.array(
                    [state.moving.u[3 + robot.v_slices[leg.joints[1]].start] for leg in robot.legs]
                )
                reaction = elbow[0] * slips + elbow[1] * np.sign(slips)
                without.append(relative_difference(written, torque))
                whole.append(relative_difference(written - reaction, torque))
    return [
        Evidence("[OAM] (10)", "motor torques, a motor turning backwards", max(flipped), max(fixed)),
        Evidence("[OAM] (61), Table 2", "motor torques, friction in the elbows", max(without), max(whole)),
    ]


def _strut() -> Evidence:
    """Angular velocity of a strut on a universal joint, from its direction alone."""
    robot = named_robot("gough-stewart")
    state = samples(robot)[0][0]
    motion = state.now.motion
    leg = robot.legs[0]
    body = leg.bodies[1]
    twist = motion.jacobian(body) @ state.moving.u
    w = twist[3:]
    joint = robot.joints[leg.joints[0]]
    first = (motion.poses[joint.predecessor] @ joint.frame_predecessor).R[:, 2]
    slide = next(j for j in leg.joints if robot.joints[j].kind.value == "prismatic")
    x = (motion.poses[robot.joints[slide].predecessor] @ robot.joints[slide].frame_predecessor).R[:, 2]
    rate = np.cross(w, x)
    across = np.cross(first, x)
    spin = (first @ x) * (across @ rate) / (across @ across)
    return Evidence(
        "[OAM] (7)",
        "ω of a strut",
        relative_difference(np.cross(x, rate), w),
        relative_difference(np.cross(x, rate) + spin * x, w),
    )


def evidence() -> list[Evidence]:
    """The tree's forces and twists are the truth."""
    return [_strut(), *_fivebar()]
