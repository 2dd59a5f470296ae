"""Curves over time: a simulation's pose, twist, forces and energies; the forces along a motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.dynamics.sizing import Sizing
from nacelle.errors import NacelleError, did_you_mean
from nacelle.report.draw.canvas import Paper, picture
from nacelle.report.draw.result import draw_panels
from nacelle.report.results.panels import Panel, panels_of
from nacelle.report.results.quantity import chosen
from nacelle.simulation.simulate import Simulation

PANELS = ("pose", "twist", "forces", "energies", "balance")


@picture
def plot_run(paper: Paper, run: Simulation, *panels: str) -> str:
    """Draw a simulation over time.

    Args:
        paper: what it is drawn on.
        run: the simulation.
        *panels: what to draw, from above: "pose", "twist", "forces", "energies", "balance"; all but the last
            if none is given. Entries with different units are in panels of their own.

    Raises:
        NacelleError: if there is no such panel.
    """
    for name in panels:
        if name not in PANELS:
            raise NacelleError(f"no panel is called {name!r}; {did_you_mean(name, PANELS)}")
    draw_panels(paper, panels_of(chosen(run, panels or PANELS[:-1])))
    return f"{run.plant.name}: {run.method}, {run.status} at {run.t[-1]:.4g} s"


@picture
def plot_forces(paper: Paper, sizing: Sizing, *keys: str) -> str:
    """Draw the forces of the actuators along a motion, with their limits; torques in a panel of their own.

    Args:
        paper: what they are drawn on.
        sizing: the motion, sized.
        *keys: "forces", "rates" or "coordinates"; the forces if none is given.

    Raises:
        NacelleError: if there is no such quantity.
    """
    selected = chosen(sizing, keys or ("forces",))
    panels = [_limited(sizing, panel) for panel in panels_of(selected)]
    draw_panels(paper, panels, flags=sizing.flags)
    return f"{sizing.robot.name}: a motion of {sizing.times[-1]:.4g} s" if len(sizing.times) else ""


def _limited(sizing: Sizing, panel: Panel) -> Panel:
    """A panel with the limits of its actuators."""
    kinds = {"forces": "force_limit", "rates": "speed_limit"}
    if panel.quantity.key not in kinds:
        return panel
    sizes = {getattr(sizing.loads[k], kinds[panel.quantity.key]) for k in panel.entries}
    return replace(panel, limits=tuple(sorted(size for size in sizes if np.isfinite(size))))
