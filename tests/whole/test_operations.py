"""Operation counts of the compact form, exactly, and against the figures that were published."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from typer.testing import CliRunner

import nacelle
from nacelle.cli import app
from nacelle.dynamics.models import model
from nacelle.program.cost import count
from support import published_models as published
from support.library import library_robot

# Operations of a rotation matrix from a quaternion: models take the pose with one.
QUATERNION = 24
# Name, robot, model, input, friction, what must not be exceeded.
BARS: list[tuple[str, Callable[[int], nacelle.Robot], str, str, bool, int]] = [
    ("PaLiDA", published.palida, "inverse_dynamics", "pose", True, 1100 + QUATERNION),
    (
        "PaLiDA, general anchors",
        published.palida_general,
        "inverse_dynamics",
        "pose",
        True,
        1320 + QUATERNION,
    ),
    ("Gough-Stewart", published.gough_stewart, "inverse_dynamics", "pose", False, 1360 + QUATERNION),
    ("Gough-Stewart, forward", published.gough_stewart, "forward_dynamics", "pose", False, 1955 + QUATERNION),
    ("five-bar, elements", published.fivebar, "inverse_dynamics", "elements", True, 103),
    ("five-bar, encoders", published.fivebar, "inverse_dynamics", "encoders", True, 170),
    ("DELTA", published.delta, "inverse_dynamics", "pose", False, 225),
    ("3-RRR", published.planar, "inverse_dynamics", "pose", False, 450),
    ("Hexaglide", published.hexaglide, "inverse_dynamics", "pose", False, 2200 + QUATERNION),
    ("Hexa", published.hexa, "inverse_dynamics", "pose", False, 2800 + QUATERNION),
]


@pytest.mark.costly
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("robot", "name", "source", "friction", "bar"), [row[1:] for row in BARS], ids=[row[0] for row in BARS]
)
def test_bars(
    robot: Callable[[int], nacelle.Robot], name: str, source: str, friction: bool, bar: int, seed: int
) -> None:
    """Counts after a change of every constant that keeps only the declared symmetries."""
    found = model(robot(seed), name, input=source, friction=friction)
    assert found.form == "compact"
    assert count(found.program()).total <= bar


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize(
    "robot",
    [row[1] for row in BARS if row[2] == "inverse_dynamics" and row[3] == "pose"],
    ids=[row[0] for row in BARS if row[2] == "inverse_dynamics" and row[3] == "pose"],
)
def test_changed_robots_are_right(robot: Callable[[int], nacelle.Robot]) -> None:
    """What is counted computes the right thing: the changed robots by the tree."""
    own = robot(1)
    rng = np.random.default_rng(3)
    n = own.motion.n
    x = nacelle.reference_pose(own)
    v, a = rng.normal(size=(2, n))
    for friction in (False, True):
        exact = nacelle.inverse_dynamics(own, x, v, a, formulation="tree", friction=friction).tau
        found = nacelle.inverse_dynamics(own, x, v, a, formulation="compact", friction=friction).tau
        assert np.max(np.abs(found - exact)) < 1e-12 * np.max(np.abs(exact))


# The library's own robots, exactly: a change here is a change of the form or of the passes.
COUNTS = [
    ("palida", "inverse_dynamics", "pose", True, 1074),
    ("gough-stewart", "inverse_dynamics", "pose", False, 1377),
    ("gough-stewart", "forward_dynamics", "pose", False, 1963),
    ("fivebar", "inverse_dynamics", "elements", True, 101),
    ("fivebar", "inverse_dynamics", "encoders", True, 166),
    ("delta-codourey", "inverse_dynamics", "pose", False, 205),
    ("delta", "inverse_dynamics", "pose", False, 254),
    ("3rrr", "inverse_dynamics", "pose", False, 281),
    ("hexaglide", "inverse_dynamics", "pose", False, 946),
    ("hexa", "inverse_dynamics", "pose", False, 1327),
    ("orthoglide", "inverse_dynamics", "pose", False, 190),
    ("quattro", "inverse_dynamics", "pose", True, 439),
    ("quattro", "forward_dynamics", "pose", True, 585),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "source", "friction", "total"),
    COUNTS,
    ids=[f"{name}-{kind}-{source}" for name, kind, source, *_ in COUNTS],
)
def test_counts_of_the_library(name: str, kind: str, source: str, friction: bool, total: int) -> None:
    found = nacelle.operation_count(library_robot(name), kind, input=source, friction=friction)
    assert found.total == total
    if found.stages:
        assert sum(stage.add for stage in found.stages) == found.count.add
        assert sum(stage.mul for stage in found.stages) == found.count.mul
        assert all(stage.add >= 0 and stage.mul >= 0 for stage in found.stages)


@pytest.mark.slow
def test_an_iteration_is_counted_apart() -> None:
    """The count of a robot with y leaves out the iteration that finds it; a step of that is counted apart."""
    from nacelle.kinematics.solve.newton_steps import loop_closing_step

    robot = library_robot("h4")
    found = nacelle.operation_count(robot)
    assert found.inputs["y"] != (0,)
    assert found.iteration == nacelle.compile(loop_closing_step, robot).count
    assert found.data()["per_iteration"]["total"] == found.iteration.total > 0
    assert "y is given, its iteration is counted separately" in found.includes
    shown = CliRunner().invoke(app, ["ops", "h4"]).output
    assert f"and per iteration {found.iteration.total} operations" in shown
    closed = nacelle.operation_count(library_robot("delta"))
    assert closed.iteration is None
    assert closed.data()["per_iteration"] is None
    assert "iteration" not in CliRunner().invoke(app, ["ops", "delta"]).output
