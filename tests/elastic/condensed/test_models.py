"""The small form against the general one, whose loops are closed: forces, accelerations and energies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from nacelle.elastic.condensed.energy import condensed_energies
from nacelle.elastic.condensed.models import condensed_forward, condensed_inverse
from nacelle.elastic.condensed.structure import CondensedStructure, structure_of
from nacelle.elastic.dynamics.models import elastic_energies, elastic_forward, elastic_inverse
from nacelle.model.robot import Robot
from support.elastic_states import general_state, natural_state
from support.flexible_robots import flexible, prrrp
from support.random_flexible import random_planar, turned_links
from support.rigid_robots import delta_with_tolerances

RAYLEIGH = {"damping": {"rayleigh": {"mass": 3.0, "stiffness": 1e-4}}}


def drives_with_springs() -> Robot:
    robot = prrrp((1.0, 0.0, -3.0))
    joints = [
        dataclasses.replace(joint, drive_stiffness=3e4, drive_damping=2.0, rotor_inertia=0.3)
        if k in [actuator.joint for actuator in robot.actuators]
        else joint
        for k, joint in enumerate(robot.joints)
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


CASES: dict[str, Callable[[], Robot]] = {
    "prrrp": lambda: prrrp((1.0, 2.0, -9.0), damping={"ratio": 0.05}),
    "prrrp-shear": lambda: prrrp((1.0, 2.0, -9.0), shear=True, number=3, geometric=False),
    "springs": drives_with_springs,
    "fivebar": lambda: flexible("fivebar", **RAYLEIGH),
    "fivebar-distal": lambda: flexible("fivebar", ("distal",)),
    "3rrr": lambda: flexible("3rrr"),
    "delta": lambda: flexible("delta", damping={"ratio": 0.01}),
    "delta-tolerances": lambda: flexible(delta_with_tolerances(4), ("rod",)),
    "delta-turned": lambda: turned_links(flexible("delta"), np.random.default_rng(5), planar=False),
    "delta-arms": lambda: flexible("delta", ("arm", "rod"), number=1),
    "random-point-0": lambda: random_planar(0, point=True),
    "random-point-1": lambda: random_planar(1, point=True),
    "random-plate-0": lambda: random_planar(0, point=False),
    "random-plate-2": lambda: random_planar(2, point=False, turned_plate=True),
}


@pytest.mark.parametrize("case", CASES)
def test_as_the_general_form(case: str) -> None:
    robot = CASES[case]()
    assert isinstance(structure_of(robot), CondensedStructure)
    state = general_state(robot, np.random.default_rng(3))
    p, y = natural_state(robot, state)
    na = len(robot.actuators)
    expected, found = elastic_inverse(robot, *state[:2], state.a), condensed_inverse(robot, p, y, state.a)
    size = np.max(np.abs(expected["force"]))
    np.testing.assert_allclose(found["force"], expected["force"], rtol=0.0, atol=1e-10 * size)
    forward = condensed_forward(robot, p, y, expected["force"])["acceleration"]
    general = elastic_forward(robot, *state[:2], expected["force"])["acceleration"]
    scale = np.max(np.abs(forward))
    np.testing.assert_allclose(forward[:na], state.a, rtol=0.0, atol=1e-10 * scale)
    np.testing.assert_allclose(forward[na:], found["acceleration"], rtol=0.0, atol=1e-9 * scale)
    np.testing.assert_allclose(general[:na], state.a, rtol=0.0, atol=1e-9 * np.max(np.abs(general)))
    energies = condensed_energies(robot, p, y)
    for name, value in elastic_energies(robot, *state[:2]).items():
        if name != "rates":
            assert energies[name] == pytest.approx(value, rel=1e-11), name
