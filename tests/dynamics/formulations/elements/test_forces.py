"""Forces on elements: pairs act on both bodies of a joint, and their power is that of the joint."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.formulations.elements.forces import actuator_pair, joint_forces, whole_bodies
from nacelle.dynamics.formulations.elements.motion import element_motion
from nacelle.dynamics.settings import Settings
from nacelle.kinematics.actuation import actuator_rows
from support.element_robots import general, samples
from support.uncompiled import any_robot


def test_a_unit_force_of_an_actuator_has_the_power_of_its_rate() -> None:
    """Opposite wrenches on two bodies: f . (v_2 - v_1) + n . (w_2 - w_1) = q'."""
    robot = any_robot("delta")
    state, a, _ = samples(robot)[0]
    bodies = whole_bodies(element_motion(state, a))
    rates = actuator_rows(robot, state.now.motion) @ state.moving.u
    for actuator, rate in zip(robot.actuators, rates, strict=True):
        pair = actuator_pair(state, actuator.joint)
        total = np.sum([wrench.f for _, _, wrench in pair], axis=0)
        assert np.max(np.abs(total)) < 1e-14
        power = sum(
            wrench.f @ bodies[body].at(point).now + wrench.n @ bodies[body].w.now
            for body, point, wrench in pair
        )
        assert abs(power - rate) < 1e-11


def test_friction_of_passive_joints_acts_on_both_bodies() -> None:
    """[OAM] (61) leaves the reaction out; with it all joint forces of a robot add up to nothing."""
    robot = general("delta")
    state, a, _ = samples(robot)[0]
    listed = joint_forces(state, whole_bodies(element_motion(state, a)), Settings())
    assert len(listed) > 2 * len(robot.actuators)
    f = np.sum([wrench.f for _, _, wrench in listed], axis=0)
    n = np.sum([wrench.n + np.cross(point, wrench.f) for _, point, wrench in listed], axis=0)
    size = max(np.linalg.norm(wrench.n) + np.linalg.norm(wrench.f) for _, _, wrench in listed)
    assert np.max(np.abs(f)) < 1e-12 * size
    assert np.max(np.abs(n)) < 1e-11 * size
