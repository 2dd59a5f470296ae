"""Joints that move nothing are left out, where nothing else holds what they carry."""

from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Coupling, Graph, Link, Solid
from nacelle.exchange.passes.weightless import weighted
from nacelle.spatial.pose import identity


def hinge(name: str, parent: str, child: str, armature: float = 0.0) -> Link:
    """A hinge about x."""
    return Link(name, parent, child, identity(), axes=(Axis(np.array([1.0, 0.0, 0.0]), armature=armature),))


def graph(*joints: Link, **more: object) -> Graph:
    """An arm with mass; what else it carries has none."""
    bodies = {joint.child: Solid(1.0) if joint.child == "arm" else Solid() for joint in joints}
    return replace(Graph("g", "file", np.zeros(3), bodies, joints), **more)


ARM = hinge("shoulder", BASE, "arm")


def test_light_ends_go_from_the_outside_inwards() -> None:
    made = weighted(graph(ARM, hinge("a", "arm", "wheel"), hinge("b", "wheel", "cap")))
    assert list(made.bodies) == ["arm"]
    assert [joint.name for joint in made.joints] == ["shoulder"]
    assert made.report.losses == [
        "the joint 'b' left out: what it moves has no mass",
        "the joint 'a' left out: what it moves has no mass",
    ]


def test_what_a_rotor_a_closure_or_a_coupling_moves_stays() -> None:
    joints = ARM, hinge("a", "arm", "wheel")
    for kept in (
        graph(ARM, hinge("a", "arm", "wheel", armature=0.1)),
        graph(*joints, closures=(hinge("c", BASE, "wheel"),)),
        graph(*joints, couplings=(Coupling("k", "a", {"shoulder": 2.0}),)),
    ):
        assert list(weighted(kept).bodies) == ["arm", "wheel"]
