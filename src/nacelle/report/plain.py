"""Results as plain data, ready for JSON: what commands print with `--json`, and pages show."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from nacelle.dynamics.derivatives.linear import LinearModel
from nacelle.dynamics.reactions import PeakReactions
from nacelle.dynamics.sizing import Load, Sizing
from nacelle.kinematics.flags import failed
from nacelle.kinematics.singularity import lowest_measures
from nacelle.kinematics.workspace import Reach, Workspace
from nacelle.report.flagged import reasons


def workspace_data(grid: Workspace, *, singular: bool = False) -> dict[str, Any]:
    """What a grid of poses says: counts, size, extent and conditioning, m and rad.

    Args:
        grid: the grid.
        singular: whether to measure how near its poses within limits come to singularities, too.
    """
    inside = grid.inside_limits
    finite = grid.conditioning[inside]
    data: dict[str, Any] = {
        "robot": grid.robot.name,
        "over": {
            n: [float(v[0]), float(v[-1]), len(v)] for n, v in zip(grid.names, grid.values, strict=True)
        },
        "tool": grid.tool,
        "turned": list(grid.turned),
        "at": grid.at.tolist(),
        "points": int(grid.flags.size),
        "reachable": int(np.count_nonzero(grid.reachable)),
        "inside_limits": int(np.count_nonzero(inside)),
        "other_branch": int(np.count_nonzero(grid.other_branch)),
        "volume": grid.volume,
        "unit": grid.unit,
        "extent": None
        if grid.extent is None
        else {name: list(ends) for name, ends in zip(grid.names, grid.extent, strict=True)},
        "conditioning": {
            "lowest": float(np.min(finite)) if finite.size else None,
            "median": float(np.median(finite)) if finite.size else None,
            "highest": float(np.max(finite)) if finite.size else None,
        },
    }
    if len(grid.names) == 1:
        data["intervals"] = [list(ends) for ends in grid.intervals]
    if singular:
        data["singularities"] = {
            kind: {"measure": lowest.measure, "at": lowest.x.tolist(), "leg": lowest.leg}
            for kind, lowest in lowest_measures(grid.robot, grid.x[inside]).items()
        }
    return data


def reach_data(reached: Reach) -> dict[str, Any]:
    """How far rays go, m, and what they enclose, m^2 or m^3."""
    return {
        "robot": reached.robot.name,
        "rays": len(reached.distance),
        "volume": reached.volume,
        "shortest": float(reached.distance.min()),
        "longest": float(reached.distance.max()),
        "endless": int(reached.endless.sum()),
    }


def sizing_data(sizing: Sizing) -> dict[str, Any]:
    """What a motion requires of the actuators: N or N m, m/s or rad/s, W."""
    return {
        "robot": sizing.robot.name,
        "duration": float(sizing.times[-1]),
        "samples": len(sizing.times),
        "failed": int(np.count_nonzero(failed(sizing.flags))),
        "reasons": reasons(sizing.flags),
        "actuators": [_load_data(load) for load in sizing.loads],
    }


def _load_data(load: Load) -> dict[str, Any]:
    figures = ("peak_force", "rms_force", "peak_speed", "peak_power", "lowest_power", "range")
    limits = ("force_limit", "speed_limit", "within")
    numbers = {name: getattr(load, name) for name in (*figures, *limits)}
    return {"actuator": load.name, "unit": "N*m" if load.revolute else "N", **numbers}


def reactions_data(result: PeakReactions) -> dict[str, Any]:
    """The largest loads of all joints along a motion, N and N m."""
    return {
        "robot": result.robot.name,
        "duration": float(result.times[-1]),
        "samples": len(result.times),
        "failed": int(np.count_nonzero(failed(result.reactions.flags))),
        "reasons": reasons(result.reactions.flags),
        "redundancy": result.reactions.redundancy,
        "joints": [dataclasses.asdict(peak) | {"determined": peak.determined} for peak in result.listed],
    }


def linear_data(model: LinearModel) -> dict[str, Any]:
    """A linear model around an equilibrium: matrices, poles in rad/s and Hz."""
    return {
        "robot": model.robot.name,
        "coordinates": model.coordinates,
        "state": list(model.state_names),
        "inputs": list(model.input_names),
        "x": model.x,
        "tau": model.tau,
        "smooth": model.smooth,
        **{name: getattr(model, name) for name in ("A", "B", "C", "D", "c")},
        "poles": [
            {
                "real": pole.value.real,
                "imaginary": pole.value.imag,
                "frequency": pole.frequency,
                "damping": pole.damping,
            }
            for pole in model.poles()
        ],
        "natural_frequencies": model.natural_frequencies,
    }
