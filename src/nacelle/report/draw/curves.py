"""Curves over time: a simulation's pose, twist, forces and energies; the forces along a motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nacelle.dynamics.sizing import Sizing
from nacelle.errors import NacelleError, did_you_mean
from nacelle.report.draw.canvas import INK, new_axes, new_figure, plain_axes, wrapped
from nacelle.simulation.simulate import Simulation
from nacelle.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = ("pose", "twist", "forces", "energies", "balance")
_SHOWN = ("pose", "twist", "forces", "energies")
_SI = {"m": "position", "rad": "angle", "m/s": "velocity", "rad/s": "angular velocity", "N": "force"}
_SI |= {"N m": "torque"}


def plot_simulation(
    run: Simulation, panels: Sequence[str] = _SHOWN, *, title: str | None = None, shown: bool = True
) -> Figure:
    """Draw a simulation over time.

    Args:
        run: the simulation.
        panels: what to draw, from above: "pose", "twist", "forces", "energies", "balance". Entries with
            different units are in panels of their own.
        title: above the picture; plant, method and status if None.
        shown: whether pyplot keeps the figure, for `pyplot.show`.

    Raises:
        NacelleError: if there is no such panel, or matplotlib is missing.
    """
    names = [panels] if isinstance(panels, str) else list(panels)
    for name in names:
        if name not in PANELS:
            raise NacelleError(f"no panel is called {name!r}; {did_you_mean(name, PANELS)}")
    drawn = [panel for name in names for panel in _panels(run, name)]
    figure = new_figure((7.2, 0.8 + 1.75 * len(drawn)), shown=shown)
    all_axes = np.ravel(figure.subplots(len(drawn), 1, sharex=True))
    for ax, (label, curves) in zip(all_axes, drawn, strict=True):
        for k, (name, values) in enumerate(curves):
            style = ("-", "--", "-.", ":")[k // 6 % 4]
            ax.plot(run.t, values, style, linewidth=1.2, color=f"C{k % 6}", label=name)
        _finish_panel(ax, label)
        low, high = ax.get_ylim()
        middle, least = 0.5 * (low + high), 1e-9 * max(abs(low), abs(high))
        if high - low < least:
            # A curve that is constant but for rounding is drawn as a line.
            ax.set_ylim(middle - 0.05 * abs(middle), middle + 0.05 * abs(middle))
    all_axes[-1].set_xlabel("time (s)", fontsize=8)
    all_axes[-1].set_xlim(run.t[0], run.t[-1])
    usual = f"{run.plant.name}: {run.method}, {run.status} at {run.t[-1]:.4g} s"
    figure.suptitle(usual if title is None else title, fontsize=10)
    figure.align_ylabels()
    figure.set_layout_engine("tight")
    return figure


def plot_forces(sizing: Sizing, *, title: str = "", shown: bool = True) -> Figure:
    """Draw the forces of the actuators along a motion, with their limits; torques in a panel of their own.

    Args:
        sizing: the motion, sized.
        title: above the picture.
        shown: whether pyplot keeps the figure, for `pyplot.show`.

    Raises:
        NacelleError: if matplotlib is missing.
    """
    groups = [
        (label, [k for k, load in enumerate(sizing.loads) if load.revolute is revolute])
        for revolute, label in ((False, "force (N)"), (True, "torque (N m)"))
    ]
    groups = [(label, places) for label, places in groups if places]
    figure = new_figure((7.2, 0.8 + 2.9 * len(groups)), shown=shown)
    all_axes = np.ravel(figure.subplots(len(groups), 1, sharex=True))
    for ax, (label, places) in zip(all_axes, groups, strict=True):
        for n, k in enumerate(places):
            style = ("-", "--", "-.", ":")[n // 6 % 4]
            ax.plot(sizing.times, sizing.force[:, k], style, linewidth=1.2, color=f"C{n % 6}")
            ax.lines[-1].set_label(sizing.loads[k].name)
        for limit in sorted({sizing.loads[k].force_limit for k in places}):
            if np.isfinite(limit):
                for side in (-limit, limit):
                    ax.axhline(side, color="#9aa1aa", linewidth=0.8, linestyle=(0, (4, 3)))
                ax.lines[-1].set_label("limit")
        _finish_panel(ax, label)
    all_axes[-1].set_xlabel("time (s)", fontsize=8)
    all_axes[-1].set_xlim(sizing.times[0], sizing.times[-1])
    if title:
        figure.suptitle(title, fontsize=10)
    figure.set_layout_engine("tight")
    return figure


def plot_curves(
    x: Array,
    curves: dict[str, Array],
    *,
    labels: tuple[str, str],
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw curves over one axis.

    Args:
        x: values along the axis (N,).
        curves: for each name its values (N,); the first is drawn boldest.
        labels: of the two axes.
        title: above the picture.
        ax: where to draw; new axes if None.
    """
    ax = new_axes(flat=True) if ax is None else ax
    ax.set_aspect("auto")
    for k, (name, values) in enumerate(curves.items()):
        ax.plot(
            x, values, label=name, linewidth=2.0 if k == 0 else 1.3, linestyle=("-", "--", "-.", ":")[k % 4]
        )
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if title:
        ax.set_title(wrapped(title), fontsize=10, color=INK)
    # Below the picture, where it hides nothing.
    ax.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    return ax


def _finish_panel(ax: Axes, label: str) -> None:
    """Label a panel; its legend is beside it, where it hides nothing."""
    ax.set_ylabel(label)
    plain_axes(ax)
    ax.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _panels(run: Simulation, name: str) -> Iterator[tuple[str, list[tuple[str, Array]]]]:
    """Panels of one quantity: a label with its unit, and the curves by name."""
    labels = run.plant.labels
    if name == "energies":
        curves = [(what, run.energies[what]) for what in ("kinetic", "potential")]
        curves.append(("together", run.energy))
        curves += [("work of forces", run.work), ("dissipated", run.dissipated)]
        # Only changes mean something: heights are counted from anywhere.
        yield "energy since start (J)", [(what, values - values[0]) for what, values in curves]
        return
    if name == "balance":
        yield "missing energy (J)", [("balance", run.balance)]
        return
    entries, values = {
        "pose": (labels.x, run.x),
        "twist": (labels.v, run.v),
        "forces": (labels.inputs, run.inputs),
    }[name]
    groups: dict[str, list[tuple[str, Array]]] = {}
    for k, (entry, unit) in enumerate(entries):
        groups.setdefault(unit, []).append((entry.removesuffix(".force"), values[:, k]))
    for unit, curves in groups.items():
        quaternion = [entry for entry, _ in curves] == ["qx", "qy", "qz", "qw"]
        plain = "orientation (quat)" if quaternion else name
        yield f"{_SI.get(unit, name)} ({unit})" if unit else plain, curves
