"""Pictures of all results: each is drawn, its axes have units, its numbers are those of the result."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import NacelleError
from support.hostile_names import HOSTILE
from support.library import library_robot
from support.results import all_results, result_names, results, some_poses, with_names

UNITS = r"m|mm|rad|mrad|deg|s|N|N m|J|W|Hz|%|-|1/s|rad/s|m/s|m/s²|rad/s²|SI|m( or rad)? for N or N m"


def figure_of(drawn: Any) -> Any:
    return drawn.figure.figure if hasattr(drawn, "get_xlabel") else drawn


def require_units(figure: Any) -> None:
    """Every axis with numbers has a label with a unit, unless the axes below carry it for all."""
    figure.draw_without_rendering()
    for ax in figure.axes:
        for label in (ax.get_xlabel(), ax.get_ylabel()):
            if label:
                unit = re.search(r"\(([^()]+)\)$", label.replace("\n", " ").strip())
                assert unit is not None, label
                assert re.fullmatch(UNITS, unit[1]), label
        assert ax.get_xlabel() or ax.get_ylabel() or not ax.get_visible() or not ax.axison or ax.images


@pytest.mark.parametrize("name", result_names())
def test_every_result_is_drawn_with_units(name: str) -> None:
    result = all_results()[name]()
    if hasattr(result, "plot"):
        options = (
            {} if name in ("Robot", "Workspace", "FrequencyMap", "FrequencyResponse") else {"shown": False}
        )
        options = {} if name.startswith("NaturalFrequencies") else options
        require_units(figure_of(result.plot(**options)))


@pytest.mark.parametrize("name", ["InverseKinematics, many", "InverseDynamics", "Sizing"])
def test_names_of_users_are_drawn(name: str) -> None:
    robot = with_names(library_robot("fivebar"), [*HOSTILE[-8:], "$", "_"])
    require_units(results(robot)[name]().plot(shown=False))


def test_curves_are_the_numbers() -> None:
    robot = library_robot("fivebar")
    found = nacelle.inverse_dynamics(robot, some_poses(robot))
    times = np.linspace(0.0, 1.0, 5)
    (ax,) = found.plot(times=times, shown=False).axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "torque (N m)")
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(lines["left.motor"].get_ydata(), found.force[:, 0])
    assert "unreachable" in [text.get_text() for text in ax.get_legend().get_texts()]
    with pytest.raises(NacelleError, match="there are 5 samples, and 2 times"):
        found.plot(times=times[:2])
    with pytest.raises(NacelleError, match="did you mean 'forces'"):
        found.plot("force")
