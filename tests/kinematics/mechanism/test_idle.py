"""Idle motions: rods between two spherical joints spin about themselves, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from ruamel.yaml import YAML

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.described import mechanism
from support.uncompiled import any_robot


@pytest.mark.parametrize(("name", "count"), [("delta", 6), ("h4", 8), ("gough-stewart", 0), ("fivebar", 0)])
def test_spins(name: str, count: int) -> None:
    mechanism = mechanism_of(any_robot(name))
    robot = mechanism.robot
    spins = [spin for plan in mechanism.legs for spin in plan.spins]
    assert len(spins) == count
    for spin in spins:
        # The axis runs through the spherical joints at both ends of the body.
        ends = []
        for joint in robot.joints:
            if spin.body in (joint.predecessor, joint.successor):
                frame = joint.frame_successor if joint.successor == spin.body else joint.frame_predecessor
                ends.append(np.asarray(frame.p, dtype=float))
        line = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
        assert abs(abs(line @ np.array(spin.axis)) - 1.0) < 1e-9
        assert np.linalg.norm(np.cross(line, np.array(spin.point) - ends[0])) < 1e-9


def test_spins_of_a_robot_without_a_nacelle() -> None:
    known = mechanism_of(mechanism("tied_arm"))
    rod, mobility = known.robot.body("arm.rod"), known.mobility
    assert [spin.body for spin in known.nacelle_spins] == [rod]
    np.testing.assert_allclose(np.abs(known.nacelle_spins[0].axis), [1.0, 0.0, 0.0], atol=1e-9)
    assert (mobility.true, mobility.platform, mobility.idle_count) == (3, 2, 1)
    assert mobility.idle == ("arm.rod spins about its own axis",)


def test_bodies_of_a_cylinder_spin_together_and_one_of_them_is_held() -> None:
    known = mechanism_of(mechanism("digger"))
    names = [known.robot.bodies[spin.body].name for spin in known.mobility.spinning]
    assert names == ["cylinder.barrel", "cylinder.piston", "bucket.barrel", "bucket.piston"]
    held = [known.robot.bodies[spin.body].name for spin in known.nacelle_spins]
    assert held == ["cylinder.barrel", "bucket.barrel"]
    assert known.mobility.platform == 3


def test_a_rod_that_carries_the_rest_of_the_tree_spins_too() -> None:
    data = YAML(typ="safe").load(mechanism("tied_arm").to_yaml())
    leg = data["legs"][0]
    leg["joints"]["tip"] = leg["closures"].pop("tip")
    leg["closures"]["elbow"] = leg["joints"].pop("elbow")
    del leg["closures"]["elbow"]["guess"]
    known = mechanism_of(nacelle.build(data))
    assert known.mobility.idle == ("arm.rod spins about its own axis",)
    assert [known.robot.bodies[spin.body].name for spin in known.nacelle_spins] == ["arm.rod"]
