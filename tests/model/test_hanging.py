"""Chains of the nacelle's mechanism: written as legs, read as its bodies, written again."""

import pytest

import nacelle
from nacelle.model.hanging import hanging_chains
from support.described import NAMES, mechanism


@pytest.mark.parametrize("name", NAMES)
def test_written_and_read_again_a_robot_is_the_same(name: str) -> None:
    robot = mechanism(name)
    again = nacelle.loads(robot.to_yaml())
    assert again.hash == robot.hash
    assert again.all_names == robot.all_names
    assert again.motion == robot.motion


def test_chains_keep_the_order_of_the_tree_whatever_order_they_are_written_in() -> None:
    text = """\
format: nacelle/2
name: twigs
motion: [b.turn, a.turn, a.bend]
legs:
  - name: b
    bodies: {rod: {mass: 1 kg}}
    joints: {turn: {type: revolute, parent: a.rod, child: rod, axis: y}}
  - name: a
    bodies: {rod: {mass: 1 kg}, tip: {mass: 1 kg, com: 1 0 0 m}}
    joints:
      turn: {type: revolute, parent: base, child: rod, axis: y, active: true}
      bend: {type: revolute, parent: rod, child: tip, axis: z}
"""
    robot = nacelle.loads(text)
    assert [chain.name for chain in hanging_chains(robot)] == ["b", "a"]
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash


def test_a_biped_has_its_legs_on_the_trunk() -> None:
    robot = mechanism("biped")
    assert [chain.name for chain in hanging_chains(robot)] == ["left", "right"]
    hips = [robot.joints[robot.joint(f"{side}.hip")].frame_predecessor.p[1] for side in ("left", "right")]
    assert hips == [0.08, -0.08]
