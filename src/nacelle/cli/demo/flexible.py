"""Natural frequencies of the flexible PRRRP of [BK2013] at the poses of its Table II."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from nacelle.cli.demo.folder import DemoFolder
from nacelle.cli.demo.words import typed

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.report.demo.flexible import Flexible
    from nacelle.spatial.scalar import Array

# The paper's own beams: one Hermite element in a frame that is fixed to the beam's start.
_PAPER = {"frame": "clamped", "shapes": "hermite", "number": 1}
_BEAM, _DISTANCE = 0.4, 0.6  # length of a beam and distance of the rails, m
_POINTS = 81  # of the curves


def flexible(folder: DemoFolder) -> Flexible:
    """Compute Table II and curves between its poses; write the robots with the paper's beams."""
    from nacelle.library import load
    from nacelle.report.demo.flexible import Flexible
    from nacelle.report.published import PRRRP

    robot = load("prrrp")
    bodies = tuple(dataclasses.replace(b, beam=_PAPER) if b.section else b for b in robot.bodies)
    paper = dataclasses.replace(robot, bodies=bodies)
    sliders = np.array(list(PRRRP))
    curve = np.linspace(sliders[0], sliders[-1], _POINTS)
    return Flexible(
        sliders=sliders,
        printed=np.array(list(PRRRP.values())),
        computed=_frequencies(paper, sliders),
        converged=_frequencies(robot, sliders),
        curve=curve,
        curves=_frequencies(paper, curve),
        commands=tuple(_commands(paper, sliders, folder)),
    )


def tip(slider: float) -> Array:
    """Position (x, z) of the tip with the first slider at 0 and the second at a position, m."""
    chord = np.array([_DISTANCE, slider])
    across = np.array([-chord[1], chord[0]]) / math.hypot(*chord)
    return np.asarray(0.5 * chord + math.sqrt(_BEAM**2 - 0.25 * float(chord @ chord)) * across)


def in_working_mode(robot: Robot, slider: float) -> Robot:
    """The robot in the working mode of a position of the second slider.

    A beam that has passed the direction across its rail is in the other mode of its leg.
    """
    height = tip(slider)[1]
    branches = [1 if height >= at else -1 for at in (0.0, slider)]
    legs = [dataclasses.replace(leg, branch=b) for leg, b in zip(robot.legs, branches, strict=True)]
    return dataclasses.replace(robot, legs=tuple(legs))


def _frequencies(robot: Robot, sliders: Array) -> Array:
    """Natural frequencies (sliders, 6), Hz, actuators locked."""
    from nacelle.elastic.linear.frequencies import natural_frequencies

    modes: dict[Robot, list[int]] = {}
    for k, slider in enumerate(sliders.tolist()):
        modes.setdefault(in_working_mode(robot, slider), []).append(k)
    result = np.full((len(sliders), 6), np.nan)
    for one, places in modes.items():
        x = np.array([tip(float(sliders[k])) for k in places])
        result[places] = natural_frequencies(one, x, modes=6).frequencies
    return result


def _commands(paper: Robot, sliders: Array, folder: DemoFolder) -> list[str]:
    """Write the robot in each working mode, and give the command of each pose."""
    written: dict[Robot, str] = {}
    lines = []
    for slider in sliders.tolist():
        robot = in_working_mode(paper, slider)
        if robot not in written:
            turned = "".join(f"-{leg.name}-turned" for leg in robot.legs if leg.branch < 0)
            written[robot] = f"prrrp-one-element{turned}.yaml"
            folder.write(written[robot], robot.to_yaml())
        x, z = tip(slider).tolist()
        lines.append(typed("modes", folder / written[robot], "--at", f"x={x:.12g}", "--at", f"z={z:.12g}"))
    return lines
