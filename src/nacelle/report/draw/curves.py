"""Curves over time: a simulation's pose, twist, forces and energies; the forces along a motion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nacelle.dynamics.sizing import Sizing
from nacelle.errors import NacelleError, did_you_mean
from nacelle.report.draw.result import draw_panels
from nacelle.report.results.panels import Panel, panels_of
from nacelle.report.results.quantity import chosen
from nacelle.simulation.simulate import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = ("pose", "twist", "forces", "energies", "balance")


def plot_run(run: Simulation, *panels: str, title: str | None = None, shown: bool = True) -> Figure:
    """Draw a simulation over time.

    Args:
        run: the simulation.
        *panels: what to draw, from above: "pose", "twist", "forces", "energies", "balance"; all but the last
            if none is given. Entries with different units are in panels of their own.
        title: above the picture; plant, method and status if None.
        shown: whether pyplot keeps the figure, for `pyplot.show`.

    Raises:
        NacelleError: if there is no such panel, or matplotlib is missing.
    """
    for name in panels:
        if name not in PANELS:
            raise NacelleError(f"no panel is called {name!r}; {did_you_mean(name, PANELS)}")
    usual = f"{run.plant.name}: {run.method}, {run.status} at {run.t[-1]:.4g} s"
    drawn = panels_of(chosen(run, panels or PANELS[:-1]))
    return draw_panels(drawn, title=usual if title is None else title, shown=shown)


def plot_forces(sizing: Sizing, *keys: str, title: str | None = None, shown: bool = True) -> Figure:
    """Draw the forces of the actuators along a motion, with their limits; torques in a panel of their own.

    Args:
        sizing: the motion, sized.
        *keys: "forces", "rates" or "coordinates"; the forces if none is given.
        title: above the picture; robot and duration if None.
        shown: whether pyplot keeps the figure, for `pyplot.show`.

    Raises:
        NacelleError: if there is no such quantity, or matplotlib is missing.
    """
    found = chosen(sizing, keys or ("forces",))
    drawn = [_limited(sizing, panel) for panel in panels_of(found)]
    usual = f"{sizing.robot.name}: a motion of {sizing.times[-1]:.4g} s" if len(sizing.times) else ""
    return draw_panels(drawn, title=usual if title is None else title, flags=sizing.flags, shown=shown)


def _limited(sizing: Sizing, panel: Panel) -> Panel:
    """A panel with the limits of its actuators."""
    kinds = {"forces": "force_limit", "rates": "speed_limit"}
    if panel.quantity.key not in kinds:
        return panel
    sizes = {getattr(sizing.loads[k], kinds[panel.quantity.key]) for k in panel.entries}
    return replace(panel, limits=tuple(sorted(size for size in sizes if np.isfinite(size))))
