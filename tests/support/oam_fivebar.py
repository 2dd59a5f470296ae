"""The five-bar as [OAM] writes it, equation by equation, for comparison."""

from __future__ import annotations

import dataclasses

import numpy as np

from nacelle.dynamics.state import State
from nacelle.model.joint import FrictionTerm
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from support.uncompiled import named_robot


def oam_fivebar(
    robot: Robot, state: State, a: Array, elbow: tuple[float, float], *, along_motion: bool = False
) -> Array:
    """Motor torques by [OAM] (27)-(65), y = z x x; friction of the elbows as in (61) and Table 2.

    Args:
        robot: the five-bar.
        state: its state.
        a: acceleration of the end point.
        elbow: viscous and Coulomb coefficients of the passive joints.
        along_motion: whether y of the driven bars is x'/|x'|, as (10) has it.
    """
    z = np.array([0.0, 0.0, 1.0])
    g = np.array(robot.gravity)
    speed, rate = np.append(state.moving.u[:2], 0.0), np.append(a, 0.0)
    A, b = np.zeros((3, 2)), np.zeros(3)
    for i, leg in enumerate(robot.legs):
        p, q = leg.bodies
        proximal, distal = state.now.motion.poses[p], state.now.motion.poses[q]
        x_p, x_a = proximal.R[:, 0], distal.R[:, 0]
        l_p = np.linalg.norm(distal.p - proximal.p)
        l_a = np.linalg.norm(state.now.motion.poses[1].p - distal.p)
        m_p, m_a = (robot.bodies[body].inertia[0] for body in (p, q))
        I_p, I_a = (
            robot.bodies[body].inertia[9] - m * l * l / 4.0 for body, m, l in ((p, m_p, l_p), (q, m_a, l_a))
        )
        y_p = np.cross(z, x_p)
        M_p = np.outer(y_p, x_a) / (l_p * (x_a @ y_p))
        M_a = (np.eye(3) - l_p * M_p) / l_a
        dx_p, dx_a = M_p @ speed, M_a @ speed
        # x_a . (X'' - l_p x_p'') = l_a |x_a'|^2, with x_p'' = q'' y_p - q'^2 x_p, and (38) differentiated.
        qd = np.cross(x_p, dx_p) @ z
        qdd = (x_a @ rate + l_a * dx_a @ dx_a + l_p * qd * qd * (x_a @ x_p)) / (l_p * (x_a @ y_p))
        ddx_p = qdd * y_p - qd * qd * x_p
        ddx_a = (rate - l_p * ddx_p) / l_a
        w_p, w_a = np.cross(x_p, dx_p), np.cross(x_a, dx_a)
        drive = robot.joints[leg.joints[0]]
        rotor = drive.rotor_inertia * drive.gear_ratio**2
        f_p = m_p * (g - l_p / 2.0 * ddx_p)
        f_a = m_a * (g - l_p * ddx_p - l_a / 2.0 * ddx_a)
        t_p = -(I_p + rotor) * np.cross(x_p, ddx_p)
        slip = (w_a - w_p) @ z
        t_a = -I_a * np.cross(x_a, ddx_a) - (elbow[0] * slip + elbow[1] * np.sign(slip)) * z
        F_p = l_p / 2.0 * f_p + np.cross(t_p, x_p) + l_p * f_a
        F_a = l_a / 2.0 * f_a + np.cross(t_a, x_a)
        A[:, i] = M_p.T @ (dx_p / np.linalg.norm(dx_p) if along_motion else y_p)
        b += M_p.T @ F_p + M_a.T @ F_a
    return -np.linalg.lstsq(A, b, rcond=None)[0]


def fivebar(elbow: tuple[float, float]) -> Robot:
    """The five-bar with friction in its elbows alone."""
    robot = named_robot("fivebar")
    elbows = {leg.joints[1] for leg in robot.legs}
    terms = (FrictionTerm("viscous", elbow[0]), FrictionTerm("coulomb", elbow[1]))
    joints = tuple(
        dataclasses.replace(joint, friction=tuple(terms if k in elbows else () for _ in joint.friction))
        for k, joint in enumerate(robot.joints)
    )
    return dataclasses.replace(robot, joints=joints)
