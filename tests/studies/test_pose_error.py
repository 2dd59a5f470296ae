"""Errors of the pose by tolerances: against forward kinematics, and linear propagation."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.model.reduced import layout_of
from nacelle.studies import Study


def tolerances(robot: str, numbers: list[str], size: str, **quantities: object) -> Study:
    return Study(
        {
            "robot": robot,
            "limits": False,
            "variables": {"anchors": {"numbers": numbers, "normal": size, "each": True}},
            "quantities": quantities,
        }
    )


@pytest.mark.costly
@pytest.mark.parametrize(
    ("robot", "patterns"),
    [
        ("fivebar", ["half_base", "proximal", "distal"]),
        ("palida", ["strut*.A.*", "strut*.B.*"]),
        ("delta", ["rod_length", "arm_length"]),
        ("3rps", ["*"]),
    ],
)
def test_the_pose_is_where_forward_kinematics_finds_it(robot: str, patterns: list[str]) -> None:
    described = nacelle.load(robot)
    numbers = list(described.numbers.names("geometry")[:6]) if patterns == ["*"] else patterns
    lengths = [name for name in described.motion.coordinates if name in "xyz"]
    quantities = {name: {"kind": "pose error", "coordinate": name} for name in lengths}
    study = tolerances(robot, numbers, "0.2 mm", **quantities)
    space = study.evaluator.space
    values = space.values_at(np.random.default_rng(2).random((3, len(space.variables))))
    found = study.evaluate(values)
    x = nacelle.reference_pose(described)
    q = nacelle.inverse_kinematics(described, x).q
    places = [layout_of(described.motion).x_names.index(name) for name in lengths]
    for n, own in enumerate(space.numbers_at(values)):
        at = nacelle.forward_kinematics(space.robot_at(own), q, guess=x).x
        assert np.any(np.abs(at - x) > 1e-6)
        for name, place in zip(lengths, places, strict=True):
            assert found[name][n] == pytest.approx(at[place] - x[place], abs=1e-10)


def test_monte_carlo_of_palida_agrees_with_linear_propagation() -> None:
    """Anchors with 0.1 mm: the deviation of the height is that of the gradient, to its second order."""
    study = tolerances(
        "palida", ["strut*.A.*", "strut*.B.*"], "0.1 mm", z={"kind": "pose error", "coordinate": "z"}
    )
    space = study.evaluator.space
    nominal = np.zeros(len(space.variables))
    gradient = study.gradient(nominal)[0, 0]
    linear = np.sqrt(np.sum((1e-4 * gradient) ** 2))
    rng = np.random.default_rng(7)
    values = 1e-4 * rng.standard_normal((400, len(nominal)))
    found = study.evaluate(values)["z"]
    # What is left of each error is of second order in the tolerances.
    second = found - values @ gradient
    halved = study.evaluate(0.5 * values)["z"] - 0.5 * values @ gradient
    assert np.max(np.abs(second)) < 2e-2 * linear
    assert np.max(np.abs(4.0 * halved - second)) < 2e-2 * np.max(np.abs(second))
    assert np.std(found) == pytest.approx(linear, rel=4.0 / np.sqrt(2.0 * 400))
