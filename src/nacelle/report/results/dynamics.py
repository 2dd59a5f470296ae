"""Quantities of dynamic results: forces, accelerations, reactions, simulations."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics.derivatives.linear import LinearModel
from nacelle.dynamics.forward import ForwardDynamics
from nacelle.dynamics.gravity_balance import GravityBalance
from nacelle.dynamics.inverse import InverseDynamics
from nacelle.dynamics.reactions import PeakReactions, Reactions
from nacelle.dynamics.regressor import Regressor
from nacelle.dynamics.sizing import Sizing
from nacelle.report.results import names
from nacelle.report.results.quantity import TIME, ResultQuantity, alone, quantity_of_rows
from nacelle.simulation.simulate import Simulation


def inverse_dynamics(result: InverseDynamics) -> list[ResultQuantity]:
    """Forces of the actuators."""
    return [quantity_of_rows("forces", names.actuators(result.robot), result.force)]


def forward_dynamics(result: ForwardDynamics) -> list[ResultQuantity]:
    """Accelerations of the nacelle."""
    labels = names.twist(result.robot.motion, "acceleration", result.robot)
    return [quantity_of_rows("acceleration", labels, result.acceleration)]


def regressor(result: Regressor) -> list[ResultQuantity]:
    """Forces by the robot's own parameters."""
    return [quantity_of_rows("forces", names.actuators(result.robot), result.Y @ result.parameters.values)]


def reactions(result: Reactions, **over: Any) -> list[ResultQuantity]:
    """Sizes of the forces and moments that joints transmit."""
    wrench = np.asarray(result.wrench, dtype=float)[..., list(result.robot.written_joints), :]
    force, moment = (np.linalg.norm(wrench[..., part], axis=-1) for part in (slice(3), slice(3, 6)))
    return [
        quantity_of_rows("forces", names.joints(result.robot, "N"), force, **over),
        quantity_of_rows("moments", names.joints(result.robot, "N m"), moment, words="moment", **over),
    ]


def peak_reactions(result: PeakReactions) -> list[ResultQuantity]:
    """The same along a motion."""
    return reactions(result.reactions, across=TIME, places=result.times)


def sizing(result: Sizing) -> list[ResultQuantity]:
    """Forces, rates and coordinates of the actuators along a motion."""
    over = {"across": TIME, "places": result.times}
    return [
        quantity_of_rows("forces", names.actuators(result.robot), result.force, **over),
        quantity_of_rows("rates", names.actuators(result.robot, "rate"), result.rate, **over),
        quantity_of_rows("coordinates", names.actuators(result.robot, "coordinate"), result.q, **over),
    ]


def gravity_balance(result: GravityBalance) -> list[ResultQuantity]:
    """Forces that hold the poses, before and after."""
    labels = names.actuators(result.robot)
    return [
        quantity_of_rows("before", labels, result.before),
        quantity_of_rows("after", labels, result.after),
    ]


def linear_model(result: LinearModel) -> list[ResultQuantity]:
    """Undamped natural frequencies."""
    values = np.asarray(result.natural_frequencies, dtype=float)
    labels = [(f"mode {k + 1}", "Hz") for k in range(values.shape[-1])]
    return [quantity_of_rows("natural frequencies", labels, values, words="natural frequency")]


def simulation(run: Simulation) -> list[ResultQuantity]:
    """Pose, twist, forces, energies since the start and what is missing of them."""
    labels, over = run.plant.labels, {"across": TIME, "places": run.t}
    forces = [(name.removesuffix(".force"), unit) for name, unit in labels.inputs]
    quantities = [
        quantity_of_rows("pose", list(labels.x), run.x, **over),
        quantity_of_rows("twist", list(labels.v), run.v, **over),
        quantity_of_rows("forces", forces, run.inputs, **over),
    ]
    if not run.t.size:
        return quantities
    energies = {**{name: run.energies[name] for name in ("kinetic", "potential")}, "together": run.energy}
    energies |= {"work of forces": run.work, "dissipated": run.dissipated}
    # Only changes mean something: heights are counted from anywhere.
    since = np.column_stack([values - values[0] for values in energies.values()])
    named = [(name, "J") for name in energies]
    quantities.append(quantity_of_rows("energies", named, since, words="energy since start", **over))
    return [*quantities, alone("balance", "J", run.balance, words="missing energy", **over)]
