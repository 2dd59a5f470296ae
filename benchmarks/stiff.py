"""Benchmark of implicit steps: stiff links and stiff friction, compared with explicit steps (`make bench`).

- `fivebar-flexible` under forces of its motors for 0.02 s, as it is and with E of its distal links raised, so
  that these hardly yield: time and evaluations of the native loops of `rk4`, with steps at three quarters of
  the longest stable one, and of `irk5`, with steps of the bending of the other links. Errors of the pose over
  its way and of the elastic coordinates of the soft links over the largest of them, at the end, against `rk4`
  with a quarter of its step.
- rigid robots that slide to rest on friction that turns within 1e-4 rad/s or m/s: `irk5` with steps of 2 ms,
  and SciPy's `radau`.

Times are of the processor. Nothing is asserted: ratios within a run count.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import nacelle
from nacelle.dynamics.physics import WITHOUT_FRICTION
from nacelle.elastic.forms import form_of
from nacelle.elastic.plant import vibrations

UNTIL = 0.02
FACTORS = (1.0, 1e3, 1e5)
STEPS = (50, 100, 200)
REPEATS = 9


def stiffened(robot: nacelle.Robot, factor: float) -> nacelle.Robot:
    """The robot with E of its distal links times a factor."""
    bodies = tuple(
        dataclasses.replace(body, material={**body.material, "E": body.material["E"] * factor})
        if body.material and "distal" in body.name
        else body
        for body in robot.bodies
    )
    return dataclasses.replace(robot, bodies=bodies)


def timed(run: Callable[..., Any], *given: Any, **options: Any) -> tuple[Any, float]:
    """What a function gives, and the shortest of some processor times that it took, s."""
    # SciPy is loaded here, so that no run is timed with it.
    import_module("scipy.integrate")
    best = np.inf
    for _ in range(REPEATS):
        begun = time.process_time()
        result = run(*given, **options)
        best = min(best, time.process_time() - begun)
    return result, best


def links() -> None:
    """Print the rows of the flexible robot."""
    print("fivebar-flexible, 0.02 s")
    print("| E of distal links | method | steps | evaluations | time, ms | pose | soft links |")
    print("|---|---|---|---|---|---|---|")
    for factor in FACTORS:
        link_rows(factor)


def link_rows(factor: float) -> None:
    """Print the rows of the flexible robot with E of its distal links times a factor."""
    robot = stiffened(nacelle.load("fivebar-flexible"), factor)
    plant = nacelle.elastic.elastic_plant(robot, friction=False)
    x = nacelle.reference_pose(robot)
    s, u = plant.state(x, np.zeros(2)), np.array([[0.5, 1.0]])
    explicit, implicit = plant.driver(), plant.implicit_driver()
    assert explicit is not None
    assert implicit is not None
    soft = [k for k, name in enumerate(plant.labels.elastic) if "proximal" in name]
    form = form_of(robot)
    frequencies, _ = vibrations(form, s[: form.size], WITHOUT_FRICTION)
    count = int(np.ceil(UNTIL * frequencies[-1] / 2.0))
    exact = explicit.integrate(s, u, h=UNTIL / (4 * count), steps=4 * count)[-1]
    pose, bent = plant.split(exact)[0], plant.signal(exact, "elastic")[soft]

    def row(method: str, steps: int, evaluations: int, spent: float, end: Any) -> None:
        off = np.max(np.abs(plant.split(end)[0] - pose)) / np.max(np.abs(pose - x))
        bend = np.max(np.abs(plant.signal(end, "elastic")[soft] - bent)) / np.max(np.abs(bent))
        cells = f"{method} | {steps} | {evaluations} | {1e3 * spent:.1f} | {off:.1e} | {bend:.1e}"
        print(f"| x {factor:g} | {cells} |", flush=True)

    states, spent = timed(explicit.integrate, s, u, h=UNTIL / count, steps=count)
    row("rk4", count, 4 * count, spent, states[-1])
    for steps in STEPS:
        motion, spent = timed(implicit.integrate, s, u, h=UNTIL / steps, steps=steps)
        row("irk5", steps, motion.evaluations, spent, motion.x[-1])


def friction() -> None:
    """Print the rows of rigid robots with stiff friction."""
    print("\nstiff friction, 0.3 s")
    print("| robot | irk5: ms | evaluations | error | radau: ms | evaluations |")
    print("|---|---|---|---|---|---|")
    for name in ("fivebar", "delta", "palida"):
        robot = nacelle.load(name)
        x, v = nacelle.reference_pose(robot), np.zeros(robot.motion.n)
        v[0] = 0.2
        plant = nacelle.simulation.rigid_plant(robot, smooth=1e-4)
        hold = nacelle.gravity_forces(robot, x, coordinates="actuators")
        options: dict[str, Any] = {"until": 0.3, "events": []}
        fixed = {"integration": nacelle.simulation.Integration("irk5", step=2e-3), **options}
        nacelle.simulate(plant, x, v, hold, **fixed)
        run, spent = timed(nacelle.simulate, plant, x, v, hold, **fixed)
        begun = time.process_time()
        exact = nacelle.simulate(
            plant,
            x,
            v,
            hold,
            integration=nacelle.simulation.Integration("radau", rtol=1e-8, atol=1e-10),
            **options,
        )
        other = time.process_time() - begun
        error = np.max(np.abs(run.x[-1] - exact.x[-1])) / np.max(np.abs(exact.x[-1] - x))
        cells = f"{1e3 * spent:.1f} | {run.evaluations} | {error:.1e} | {1e3 * other:.0f}"
        print(f"| `{name}` | {cells} | {exact.evaluations} |", flush=True)


if __name__ == "__main__":
    links()
    friction()
