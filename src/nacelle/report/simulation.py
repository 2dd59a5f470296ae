"""The end of a simulation: as plain data, and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.simulation.plant import Plant
from nacelle.simulation.protocol import has_joints, require_joints
from nacelle.simulation.simulate import Simulation


def run_data(run: Simulation) -> dict[str, Any]:
    """The end of a run; after Ctrl-C without the sums over all of it, which take as long as many steps."""
    data: dict[str, Any] = {
        "robot": run.plant.name,
        "method": run.method,
        "status": run.status,
        "message": run.message,
        "time": [float(run.t[0]), float(run.t[-1])],
        "samples": len(run.t),
        "pose": run.x[-1].tolist(),
        "twist": run.v[-1].tolist(),
    }
    if run.status == "interrupted":
        return data
    return data | {
        "energy": [float(run.energy[0]), float(run.energy[-1])],
        "work": float(run.work[-1]),
        "dissipated": float(run.dissipated_energy[-1]),
        "balance": float(run.balance[-1]),
        **_plant_data(run),
    }


def _plant_data(run: Simulation) -> dict[str, Any]:
    """What a rigid plant leaves open in its loops; of a flexible one the largest elastic coordinates."""
    plant, states = run.plant, run.states
    if isinstance(plant, Plant) and plant.labels.elastic:
        largest = np.max(np.abs(plant.signal(states, "elastic")), axis=0)
        return {"elastic": dict(zip(plant.labels.elastic, largest.tolist(), strict=True))}
    return {"closure_error": require_joints(plant).closure_error(states)} if has_joints(plant) else {}


def run_lines(run: Simulation) -> list[str]:
    """The same for people."""
    data = run_data(run)
    lines = [
        f"{run.plant.name}: {run.method}, {run.t[0]:g} to {run.t[-1]:.6g} s; {run.status}: {run.message}",
        "pose   " + " ".join(f"{value:.6g}" for value in data["pose"]),
        "twist  " + " ".join(f"{value:.6g}" for value in data["twist"]),
    ]
    if "energy" in data:
        first, last = data["energy"]
        lines += [
            f"energy {first:.6g} J to {last:.6g} J; work of forces {data['work']:.6g} J, dissipated "
            f"{data['dissipated']:.6g} J, balance error {data['balance']:.1e} J"
        ]
    if "closure_error" in data:
        lines.append(f"loop-closure error {data['closure_error']:.1e} of the robot's size")
    if "elastic" in data:
        name = max(data["elastic"], key=lambda key: data["elastic"][key])
        lines.append(f"largest elastic coordinate: {name}, {data['elastic'][name]:.3g} (m or rad)")
    return lines
