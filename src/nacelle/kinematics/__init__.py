"""Poses, joints, Jacobians, singularities and the workspace.

    result = nacelle.inverse_kinematics(robot, x)
    result.q, result.ok, result.flags  # actuators, and which samples can be trusted
    motion = nacelle.kinematics.joint_motion(robot, x, v, a)  # every joint, passive ones included
    volume = nacelle.kinematics.workspace(robot, over={"x": (-0.3, 0.3, 61), "y": (-0.3, 0.3, 61)})

Positions in m and rad in the base frame; twists (v, omega) of the platform's origin in the base frame.
"""

from nacelle.lazy import attach

attach(__name__)
