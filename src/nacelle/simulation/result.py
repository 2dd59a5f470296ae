"""What a simulation gives: states over time, energies and their balance, joints and bodies on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.kinematics.inverse import InverseKinematics, inverse_kinematics
from nacelle.kinematics.motion import JointMotion, joint_motion
from nacelle.kinematics.table import write_table
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.simulation.plant import RigidPlant
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Simulation:
    """A run, or as much of it as there is.

    Attributes:
        plant: what was driven.
        method: the integrator.
        t: times (N,), s.
        states: the plant's states (N, size).
        inputs: the actuators' forces at these times (N, actuators).
        status: "done", "event", "interrupted" or "failed".
        message: how the run ended, in words.
        evaluations: how often the plant's derivative was evaluated; 0 where nobody counted.
    """

    plant: RigidPlant
    method: str
    t: Array
    states: Array
    inputs: Array
    status: str
    message: str
    evaluations: int = 0

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.plant.robot

    @cached_property
    def _split(self) -> tuple[Array, Array]:
        return self.plant.split(self.states)

    @property
    def x(self) -> Array:
        """Reduced poses (N, nx)."""
        return self._split[0]

    @property
    def v(self) -> Array:
        """Reduced twists (N, n)."""
        return self._split[1]

    @property
    def ok(self) -> bool:
        """Whether the run came to its end."""
        return self.status == "done"

    @cached_property
    def joints(self) -> InverseKinematics:
        """All joints and bodies."""
        return inverse_kinematics(self.robot, self.x, limits=False)

    @cached_property
    def motion(self) -> JointMotion:
        """Rates of all joints."""
        return joint_motion(self.robot, self.x, self.v)

    @cached_property
    def energies(self) -> dict[str, Array]:
        """Kinetic and potential energy (N,), J, and the power that friction takes (N,), W."""
        return self.plant.energies(self.states)

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy together (N,), J."""
        return np.asarray(self.energies["kinetic"] + self.energies["potential"])

    @cached_property
    def closure_error(self) -> float:
        """What the loops leave open at the worst time, over the robot's size."""
        from nacelle.kinematics import functions
        from nacelle.kinematics.native import native

        y = self.plant.unknowns(self.states)
        found = native(functions.closure_equations, self.robot)(self.x, y)
        return float(np.max(np.abs(found["residual"] / self.plant.known.row_scale), initial=0.0))

    def _columns(self) -> tuple[list[str], list[str], Array]:
        layout = layout_of(self.robot.motion)
        names = ["t", *layout.x_names, *layout.v_names]
        names += [f"{actuator.name}.force" for actuator in self.robot.actuators]
        units = ["s", *layout.units, *[""] * (layout.n + len(self.robot.actuators))]
        return names, units, np.column_stack([self.t, self.x, self.v, self.inputs])

    def to_csv(self, path: str | Path) -> None:
        """Write times, poses, twists and forces as CSV."""
        write_table(Path(path), *self._columns())

    def to_npz(self, path: str | Path) -> None:
        """Write the same arrays, with the raw states, as npz."""
        np.savez(path, t=self.t, x=self.x, v=self.v, inputs=self.inputs, states=self.states)

    def resume(self, until: float, force: Any = None, **options: Any) -> Simulation:
        """Go on from the last state to a later time; the two runs are joined."""
        from nacelle.simulation.simulate import simulate

        if self.status == "failed":
            raise NacelleError("a run that failed cannot be resumed")
        more = simulate(
            self.plant,
            self.x[-1],
            self.v[-1],
            force,
            until=until,
            start=float(self.t[-1]),
            method=self.method,
            **options,
        )
        again = self.plant
        joined = [again.state(pose, twist) for pose, twist in zip(self.x[:-1], self.v[:-1], strict=True)]
        # Orientations are counted from one pose in both parts.
        first = np.array(joined).reshape(-1, self.states.shape[1])
        again.state(more.x[0], more.v[0])
        return Simulation(
            again,
            self.method,
            np.concatenate([self.t[:-1], more.t]),
            np.concatenate([first, more.states]),
            np.concatenate([self.inputs[:-1], more.inputs]),
            more.status,
            more.message,
            self.evaluations + more.evaluations,
        )

    def _repr_html_(self) -> str:
        """A short table for notebooks."""
        rows = {
            "robot": self.robot.name,
            "method": self.method,
            "time": f"{self.t[0]:g} to {self.t[-1]:g} s, {len(self.t)} samples",
            "status": f"{self.status}: {self.message}",
            "energy": f"{self.energy[0]:.6g} to {self.energy[-1]:.6g} J",
        }
        from html import escape

        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
        return f"<table>{cells}</table>"

    def __repr__(self) -> str:
        """Give robot, method, time and status."""
        return (
            f"<Simulation {self.robot.name}: {self.method}, {self.t[0]:g} to {self.t[-1]:g} s, "
            f"{len(self.t)} samples, {self.status}>"
        )
