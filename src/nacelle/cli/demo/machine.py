"""The machine of the demonstration: a robot that differs from its description, behind imperfect drives.

The experiment of [AGH2005], section V, as in `examples/computed_force_palida.py`: all parameters are up to
10 % off, drives stick (LuGre friction, static 1.4 times Coulomb friction), cog by 3 N and have current loops
of 2 kHz, encoders count micrometres behind noise. It is written as files, so that commands give the same
numbers: the true robot, and a scenario with machine, path and controllers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacelle.cli.demo.folder import DemoFolder

if TYPE_CHECKING:
    from nacelle.control.scenario.scenario import Scenario
    from nacelle.model.robot import Robot

TRUE, SCENARIO = "palida-true.yaml", "circle.yaml"
PERCENT, SEED = 10.0, 7
PATH = "inclined circle of 0.2 m radius at 1 m/s, twice forth and twice back"
MACHINE = "parameters up to 10 % off the description, drives that stick, cog and lag"

_SCENARIO = f"""\
# The experiment of [AGH2005], section V, on a simulated machine; written by `nacelle demo`.
#   nacelle control ROBOT --scenario THIS_FILE
name: inclined circle
path:
  circle:
    centre: reference
    radius: 200 mm
    incline: {{axis: [1, 0, 0], angle: 30 deg}}
    speed: 1 m/s
    turns: 2
    ramp: 0.2 s
    back: true
controllers: [sj, cf-rb, cf-rb-friction]
sample: 0.5 ms
delay: 0.15 ms
settle: 2 s
seed: 3
plant:
  file: {TRUE}    # what moves: every parameter up to {PERCENT:g} % off the description
  drives:
    bandwidth: 2000 Hz
    stiction: {{static: 1.4}}
    cogging: {{amplitude: 3 N, cycles: 209.4395102393195 rad/m, phase: 0.3 rad}}
sensors: {{resolution: 1 um, noise: 1 um}}
"""


def machine(robot: Robot, folder: DemoFolder) -> Scenario:
    """The scenario with the machine, written to the folder once.

    Args:
        robot: the robot as described.
        folder: where true robot and scenario are written.
    """
    from nacelle.control.scenario.scenario import read_scenario
    from nacelle.dynamics.base_parameters.moved import moved

    if not (folder / SCENARIO).exists():
        folder.write(TRUE, moved(robot, PERCENT, seed=SEED, alike=True).to_yaml())
        folder.write(SCENARIO, _SCENARIO)
    return read_scenario(folder / SCENARIO)
