"""The body that driven legs carry."""

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, Solid
from nacelle.exchange.passes.nacelle import ends_a_leg, legs_of, with_nacelle
from nacelle.spatial.pose import Pose, identity

Z = np.array([0.0, 0.0, 1.0])


def robot(legs: int) -> Graph:
    """Arms and rods that carry a plate, which hangs on the first in the tree."""
    joints, closures = [], []
    bodies = {}
    for k in range(legs):
        drive = Axis(Z, motor=Motor(f"m{k}"))
        joints += [
            Link(f"shoulder{k}", BASE, f"arm{k}", identity(), axes=(drive,)),
            Link(f"elbow{k}", f"arm{k}", f"rod{k}", identity(), spherical=True),
        ]
        bodies |= {f"arm{k}": Solid(1.0), f"rod{k}": Solid(1.0)}
        end = Link(f"end{k}", f"rod{k}", "plate", identity(), spherical=True)
        (closures if k else joints).append(end)
    return Graph("g", "g.xml", np.zeros(3), {**bodies, "plate": Solid(1.0)}, tuple(joints), tuple(closures))


def test_three_driven_legs_make_a_nacelle() -> None:
    made = with_nacelle(robot(3))
    assert made.floating == "plate"
    assert [closure.name for closure in made.closures] == ["end1", "end2", "end0"]
    assert made.report.steps == ["the nacelle is 'plate', which 3 driven legs carry"]
    assert with_nacelle(robot(2)).floating is None
    assert with_nacelle(robot(3), "").floating is None
    assert with_nacelle(robot(2), "rod1").floating == "rod1"


def test_two_driven_legs_and_a_guide_make_a_nacelle() -> None:
    graph = robot(3)
    joints = tuple(
        replace(joint, axes=(Axis(Z),)) if joint.name == "shoulder2" else joint for joint in graph.joints
    )
    made = with_nacelle(replace(graph, joints=joints))
    assert made.floating == "plate"
    assert made.report.steps == ["the nacelle is 'plate', which 2 driven legs and 1 other carry"]
    one = tuple(replace(joint, axes=(Axis(Z),)) if joint.axes else joint for joint in graph.joints[2:])
    assert with_nacelle(replace(graph, joints=(*graph.joints[:2], *one))).floating is None


def meeting(*places: float) -> Graph:
    """Rods of the second and third leg that end on the rod of the first."""
    graph = robot(3)
    bodies = {name: solid for name, solid in graph.bodies.items() if name != "plate"}
    closures = tuple(
        Link(f"end{k}", f"rod{k}", "rod0", identity(), Pose(np.eye(3), np.array([place, 0.0, 0.0])), (), True)
        for k, place in enumerate(places, 1)
    )
    return replace(graph, bodies=bodies, joints=graph.joints[:2] + graph.joints[3:], closures=closures)


def test_the_last_link_of_a_leg_that_ends_in_a_point_is_none() -> None:
    point = meeting(0.6, 0.6)
    assert ends_a_leg(point, "rod0")
    assert with_nacelle(point).floating is None
    # Where they end apart, it is a plate on three legs of which one is short.
    plate = meeting(0.6, 0.7)
    assert not ends_a_leg(plate, "rod0")
    assert with_nacelle(plate).floating == "rod0"
    assert legs_of(plate, ["rod0"]).driven == 3
    assert legs_of(plate, ["rod0", "rod1"], "rod1").driven == 1


def test_names_that_are_none() -> None:
    with pytest.raises(DescriptionError, match=r"no body is called 'plates'.*plate"):
        with_nacelle(robot(3), "plates")
    with pytest.raises(DescriptionError, match="'plate' moves freely"):
        with_nacelle(with_nacelle(robot(3)), "rod1")
