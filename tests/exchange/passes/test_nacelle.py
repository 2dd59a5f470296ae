"""The body that driven legs carry."""

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, Solid
from nacelle.exchange.passes.nacelle import with_nacelle
from nacelle.spatial.pose import identity

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


def test_names_that_are_none() -> None:
    with pytest.raises(DescriptionError, match=r"no body is called 'plates'.*plate"):
        with_nacelle(robot(3), "plates")
    with pytest.raises(DescriptionError, match="'plate' moves freely"):
        with_nacelle(with_nacelle(robot(3)), "rod1")
