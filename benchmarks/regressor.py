"""Benchmark of regressors: `make bench`.

The regressor of PaLiDA in its base parameters, rigid, over 1e5 states in one
call on one thread, and Pinocchio with the same loops: `computeJointTorqueRegressor` of the tree, then in
NumPy the rows of the actuators, by one dense solve with the Jacobians of the loops, and the columns of its
base parameters. Pinocchio is given joint positions, rates and accelerations, nacelle finds them from the pose
in the time that is measured. Both give the same forces to 1e-9, and have as many base parameters.

Both are run in turn, round by round; times are the shortest, ratios those of the shortest times, with the
lowest ratio of a round given too. Nothing is asserted about times. Then the operations of regressors in base
parameters, with friction, counted from their programs.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.linalg import qr

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from closed_loops import Pinocchio, trees_of
from timing import in_turn, say

import nacelle
from nacelle.program.cost import count
from nacelle.verify.states import random_states

STATES = 200
# A planar 3-RRR with friction, made by a symbolic tool of HybrDyn's kind.
PUBLISHED = {"3rrr": 8146}
COUNTED = ("3rrr", "fivebar", "delta", "palida")


class Composition:
    """The regressor of actuator forces from Pinocchio's regressor of the tree, at some states."""

    def __init__(self, robot, drawn):
        self.loops = Pinocchio(robot, trees_of(robot, drawn), np.zeros((len(drawn.x), len(robot.actuators))))
        self.model = self.loops.model
        self.own = np.concatenate(
            [inertia.toDynamicParameters() for inertia in list(self.model.inertias)[1:]]
        )
        self.columns = slice(None)

    def regressor(self, k):
        """Y (actuators, columns) of state k."""
        loops = self.loops
        tree = pin.computeJointTorqueRegressor(self.model, loops.data, loops.q[k], loops.v[k], loops.a[k])
        return self.projected(k, tree)[:, self.columns]

    def projected(self, k, tree):
        """Rows of the actuators from rows (nv, columns) of the tree: loops and actuators balance them."""
        loops, n = self.loops, len(self.loops.drives)
        J, _ = loops._loops(k, bias=False)
        K = np.zeros((self.model.nv, loops.unknowns))
        K[loops.drives, np.arange(n)] = 1.0
        K[:, n:] = J.T
        if loops.unknowns == self.model.nv:
            return np.linalg.solve(K, tree)[:n]
        return np.linalg.lstsq(K, tree, rcond=None)[0][:n]

    def forces(self, k):
        """Forces of the actuators from the regressor with all columns, and from the rotors."""
        loops = self.loops
        rotors = (loops.armature * loops.a[k])[:, None]
        return self.regressor(k) @ self.own + self.projected(k, rotors)[:, 0]

    def choose_columns(self):
        """Find columns that depend on no others, once; how many there are."""
        Y = np.concatenate([self.regressor(k) for k in range(len(self.loops.q))])
        size = np.linalg.norm(Y, axis=0)
        scaled = Y / np.where(size > 0.0, size, 1.0)
        _, R, order = qr(scaled, pivoting=True, mode="economic")
        diagonal = np.abs(np.diag(R))
        self.columns = np.sort(order[: int(np.sum(diagonal > 1e-9 * diagonal[0]))])
        return len(self.columns)


def agree(name, one, two, tolerance=1e-9):
    worst = np.max(np.abs(one - two)) / np.max(np.abs(two))
    if not worst < tolerance:
        raise SystemExit(f"{name} differs by {worst:.1e}: times of different things are not compared")


def measure(name, samples, rounds):
    """Times of a state of both."""
    robot = nacelle.load(name)
    drawn = random_states(robot, STATES, 0)
    drawn = replace(drawn, external=0.0 * drawn.external)
    peer = Composition(robot, drawn)
    force = nacelle.inverse_dynamics(robot, drawn.x, drawn.v, drawn.a, friction=False).tau
    base = nacelle.base_parameters(robot)
    Y = nacelle.regressor(robot, drawn.x, drawn.v, drawn.a, friction=False, parameters=base).Y
    for k in range(STATES):
        agree("Pinocchio", peer.forces(k), force[k])
        agree("nacelle", Y[k] @ base.values, force[k])
    columns = peer.choose_columns()
    many = -(-samples // STATES)
    x, v, a = (np.tile(array, (many, 1))[:samples] for array in (drawn.x, drawn.v, drawn.a))
    compiled = nacelle.model(robot, "regressor", friction=False, parameters=base).compile()
    program = compiled.program
    functions = {
        "nacelle": lambda: compiled(x=x, v=v, a=a, threads=1),
        "nacelle.regressor": lambda: nacelle.regressor(robot, x, v, a, friction=False, parameters=base),
        "Pinocchio": lambda: [peer.regressor(k) for k in range(STATES)],
    }
    states = {"nacelle": samples, "nacelle.regressor": samples, "Pinocchio": STATES}
    for function in functions.values():
        function()
    taken = in_turn(functions, rounds)
    ns = {key: 1e9 * np.array(taken[key]) / states[key] for key in functions}
    return {
        "robot": name,
        "base parameters": len(base.rigid),
        "columns": columns,
        "operations": count(program).total,
        "ns": {key: float(np.min(times)) for key, times in ns.items()},
        "ratio": float(np.min(ns["Pinocchio"]) / np.min(ns["nacelle"])),
        "lowest of a round": float(np.min(ns["Pinocchio"] / ns["nacelle"])),
    }


def counted(name):
    """Operations of the regressor with friction, in all base parameters."""
    robot = nacelle.load(name)
    base = nacelle.base_parameters(robot)
    say(f"{name}, {len(base)} base parameters ...")
    total = count(nacelle.model(robot, "regressor", parameters=base).program()).total
    return {"robot": name, "parameters": len(base), "operations": total, "published": PUBLISHED.get(name)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="palida")
    parser.add_argument("--samples", type=int, default=100_000, help="states of a batch")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--counted", nargs="*", default=list(COUNTED), help="robots whose regressor is counted"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    row = measure(options.robot, options.samples, options.rounds)
    if not options.json:
        print(
            f"{row['robot']}: {row['base parameters']} rigid base parameters, {row['columns']} columns of "
            f"Pinocchio's regressor that depend on no others; {row['operations']} operations"
        )
        for key, value in row["ns"].items():
            print(f"  {key:20}{value:12.0f} ns a state")
        print(f"  {row['ratio']:.0f} times as fast (lowest of a round {row['lowest of a round']:.0f})")
    counts = [counted(name) for name in options.counted]
    if options.json:
        print(json.dumps({"measured": row, "counts": counts}, indent=2))
        return
    print(f"\n{'regressor of':16}{'parameters':>12}{'operations':>12}{'published':>12}")
    for line in counts:
        other = line["published"] or "-"
        print(f"{line['robot']:16}{line['parameters']:>12}{line['operations']:>12}{other:>12}")


if __name__ == "__main__":
    main()
