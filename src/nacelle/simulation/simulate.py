"""Simulating a plant: from a pose and a twist, under forces, to a time or an event.

- "rk4": the classical method with a fixed step; the whole loop runs natively where the forces are an array, a
  function of time or a compiled feedback;
- "dop853": order eight with step control and dense output;
- "radau": implicit, for stiff friction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.simulation.events import Events, checked_events
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import Plant
from nacelle.simulation.result import Simulation
from nacelle.simulation.run import Progress, Settings, execute


def simulate(
    plant: Plant | Robot,
    x0: Any,
    v0: Any = None,
    force: Any = None,
    *,
    until: float,
    start: float = 0.0,
    method: str = "dop853",
    step: float | None = None,
    max_step: float = np.inf,
    hold: bool = False,
    samples: int | None = None,
    rtol: float = 1e-12,
    atol: float = 1e-14,
    events: Events | None = None,
    progress: Progress = False,
) -> Simulation:
    """Simulate a plant from a pose and a twist.

    Args:
        plant: a robot, a `RigidPlant` of it (with its choice of friction), or anything that follows the
            protocol `Plant`.
        x0: pose (nx,).
        v0: twist (n,); zero if None.
        force: of the actuators: constant (actuators,), a function of time f(t), feedback f(t, x, v), a
            feedback that is compiled with the robot (a physics function or `nacelle.feedback` of one), or,
            for "rk4", an array with one row a step, held over it; zero if None.
        until: time at which the run ends, s.
        start: time at which it begins, s.
        method: "rk4", "dop853" or "radau".
        step: of "rk4", s, 0.001 if None; for the others the first step, chosen by the method if None.
        max_step: the longest step of "dop853" and "radau", s.
        hold: for "rk4", whether the force is taken at the begin of every step and held over it, as by a
            digital controller; else functions are evaluated at every stage.
        samples: how many results, evenly over time; every step if None.
        rtol: relative tolerance of a step ("dop853", "radau").
        atol: absolute tolerance of a step.
        events: what ends the run; the plant's own events if None.
        progress: whether to show a bar; or a function that is given the part that is done, 0 to 1.

    Raises:
        KinematicsError: if an argument cannot be used.
        UnreachableError: if the first pose is out of reach.
    """
    driven: Any = RigidPlant(plant) if isinstance(plant, Robot) else plant
    if not isinstance(driven, Plant):
        raise KinematicsError(
            f"{plant!r} is no plant: give a robot (nacelle.load), a RigidPlant, or what follows nacelle.Plant"
        )
    settings = Settings(
        force=force,
        start=float(start),
        until=float(until),
        method=method,
        step=step,
        max_step=max_step,
        hold=hold,
        samples=samples,
        rtol=rtol,
        atol=atol,
        events=checked_events(driven.events() if events is None else events),
        progress=progress,
    )
    settings.check()
    s0 = np.asarray(driven.state(x0, np.zeros(len(driven.labels.v)) if v0 is None else v0), dtype=float)
    if s0.shape != (driven.size,) or not np.all(np.isfinite(s0)):
        raise KinematicsError(f"the state of {driven.name} at the start is not finite: {s0}")
    outcome, end = execute(driven, s0, settings.start, settings, None)
    return Simulation(
        plant=driven,
        settings=settings,
        t=outcome.t,
        states=outcome.states,
        inputs=outcome.inputs,
        status=outcome.status,
        message=outcome.message,
        evaluations=outcome.evaluations,
        tracks=(outcome.track,),
        end=end,
    )
