"""Benchmark of inverse and forward dynamics: `make bench`.

For some robots, at states of their workspaces, in one run on this machine and on one thread, the time of a
state by nacelle's named models in a batch of 1e5 and in single calls, and by Pinocchio, MuJoCo and CasADi;
what each number contains is printed with them. All that is compared computes the same: nacelle, Pinocchio's
composition, `constraintDynamics`, `lcaba` and CasADi to 1e-9, MuJoCo's forces of the tree to Pinocchio's.
MuJoCo holds loops softly, so its accelerations are not compared.

What is measured is run in turn, round by round; times are the shortest, ratios those of the shortest times,
with the lowest ratio of a round given too. The core's peak of fused multiply-adds is measured among them.
Nothing is asserted about times.
"""

import argparse
import importlib.util
import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from casadi_code import CasadiProgram
from closed_loops import Mujoco, Pinocchio, trees_of
from native_code import fma_call
from timing import in_turn, processor, say

import nacelle
from nacelle.dynamics.models import model
from nacelle.program.cost import count
from nacelle.verify.loops import independent_rates
from nacelle.verify.states import random_states
from support.model_states import Sample, inputs_of

ROBOTS = ("palida", "gough-stewart", "delta-codourey", "delta", "fivebar")
STATES = 200
LOOPED = 2000
SINGLE = 1000

CONTAINS = {
    "nacelle, batch": "the whole model from the platform's pose, twist and acceleration or forces: "
    "kinematics of all legs, their bodies, the platform, the solve; results go to an array made before",
    "nacelle, single": "the same by a bound call from Python, ctypes included",
    "CasADi's C, batch": "the same minimised program, written as C by CasADi, gcc -O3 -march=native, in a "
    "loop in C",
    "CasADi's C, single": "the same, called from Python by ctypes",
    "CasADi's VM, single": "the same program by CasADi's interpreter on fixed buffers, called from Python",
    "rnea, loop in C++": "rneaInParallel on one thread: forces of the open tree alone, joint positions, "
    "rates and accelerations given; no kinematics of the loops, no actuator forces, no friction",
    "rnea, call": "the same by pin.rnea from Python, a call for each state, conversion of arrays included",
    "composition": "for forces rnea, Jacobians of the ends of the loops and one dense solve; for "
    "accelerations crba, nonLinearEffects, Jacobians and biases of these ends and one dense solve. Joint "
    "positions, rates and accelerations given; driven from Python, much of it NumPy; no friction",
    "constraintDynamics, call": "accelerations of the tree under its loops, joint positions and rates "
    "given; one factorisation; called from Python, conversion of arrays included; no friction",
    "constraintDynamics, inside": "the same less what a call of rnea costs in addition to rnea itself: "
    "an estimate of C++ alone",
    "lcaba, call": "the same by the loop-constrained articulated body algorithm, its iteration as long as it "
    "takes to the error that all have",
    "lcaba, inside": "the same less what a call of rnea costs in addition to rnea itself",
    "mj_inverse": "forces of the tree, joint positions, rates and accelerations given, with the rows of "
    "the loops where these are balls, else the tree alone; no actuator forces; contacts off; a call each",
    "mj_forward": "accelerations, loops as soft constraints, by iteration from the last solution; joint "
    "positions and rates given; contacts off; a call each",
}


class Case:
    """A robot at states of its workspace, and its peers."""

    def __init__(self, name):
        self.robot = robot = nacelle.load(name)
        drawn = random_states(robot, STATES, 0)
        self.drawn = replace(drawn, external=0.0 * drawn.external)
        force = nacelle.inverse_dynamics(
            robot, drawn.x, drawn.v, drawn.a, formulation="tree", friction=False
        ).tau
        y = np.zeros((STATES, nacelle.inverse_kinematics(robot, drawn.x[:1]).y.shape[-1]))
        self.force, tau = force, force * drawn.push
        self.states = Sample(robot, drawn.x, y, drawn.v, drawn.a, tau, drawn.condition)
        self.trees = trees_of(robot, self.drawn)
        self.pinocchio = Pinocchio(robot, self.trees, tau)
        self.mujoco = Mujoco(robot, self.trees, tau)
        self.constrained = self.pinocchio.constrained()
        self.articulated = self.pinocchio.articulated()

    def inverse_peers(self):
        """What inverse dynamics is compared with: a function, and how many states it does."""
        pinocchio, all_states = self.pinocchio, range(STATES)
        loop, result = pinocchio.pool(LOOPED)
        loop()
        for k in all_states:
            force = pinocchio.inverse(k)
            agree("composition", force, self.force[k])
            agree("rnea", result[:, k], pinocchio.rnea(k))
            # In MuJoCo rotors are inside.
            tree = pinocchio.D[k].T @ (pinocchio.rnea(k) + pinocchio.armature * pinocchio.a[k])
            agree("mj_inverse", self.mujoco.inverse(k), tree)
        return {
            "rnea, loop in C++": (loop, LOOPED),
            "rnea, call": (lambda: [pinocchio.rnea(k) for k in all_states], STATES),
            "composition": (lambda: [pinocchio.inverse(k) for k in all_states], STATES),
            "mj_inverse": (self.mujoco.inverse_all, STATES),
        }

    def forward_peers(self):
        pinocchio, all_states = self.pinocchio, range(STATES)
        tau = self.states.tau
        mine = nacelle.forward_dynamics(self.robot, self.states.x, self.states.v, tau, friction=False)
        places = independent_rates(self.robot)
        solvers = {
            "composition": pinocchio.forward,
            "constraintDynamics, call": self.constrained,
            "lcaba, call": self.articulated,
        }
        solvers = {name: solver for name, solver in solvers.items() if solver is not None}
        for name, solver in solvers.items():
            for k, tree in enumerate(self.trees):
                own = pinocchio.platform(k, np.array(solver(k)), tree.u)[places]
                agree(name, own, mine.a[k])
        loop, _ = pinocchio.pool(LOOPED)
        peers = {name: (lambda s=s: [s(k) for k in all_states], STATES) for name, s in solvers.items()}
        if self.constrained is not None:
            # What a call costs in addition to what it calls.
            peers["rnea, loop in C++"] = (loop, LOOPED)
            peers["rnea, call"] = (lambda: [pinocchio.rnea(k) for k in all_states], STATES)
        if self.mujoco.bound:
            peers["mj_forward"] = (self.mujoco.forward_all, STATES)
        return peers


def agree(name, one, two, tolerance=1e-9):
    scale = np.max(np.abs(two))
    worst = np.max(np.abs(one - two)) / scale
    if not worst < tolerance:
        raise SystemExit(f"{name} differs by {worst:.1e}: times of different things are not compared")


def ours(case, name, friction, samples, folder):
    """nacelle and CasADi: functions with their numbers of states, and the program."""
    found = model(case.robot, name, friction=friction)
    compiled = found.compile()
    few = inputs_of(found, case.states)
    many = {
        key: np.ascontiguousarray(np.tile(array, (-(-samples // STATES), *[1] * (array.ndim - 1)))[:samples])
        for key, array in few.items()
    }
    values = compiled(**few, threads=1)
    first = next(iter(compiled.outputs))
    mine = values[first] if isinstance(values, dict) else values
    s = case.states
    if name == "inverse_dynamics":
        wanted = nacelle.inverse_dynamics(
            case.robot, s.x, s.v, s.a, formulation="tree", friction=friction
        ).tau
    else:
        wanted = nacelle.forward_dynamics(case.robot, s.x, s.v, s.tau, friction=friction).a
    for k in range(STATES):
        agree(f"{case.robot.name} {name}", mine[k], wanted[k])
    bound = compiled.bind(**{key: array[0].copy() for key, array in few.items()})
    # Results go where they went before, as in the loop in C++: new memory costs as much as many operations.
    out = compiled(**many, threads=1)
    functions = {
        "nacelle, batch": (lambda: compiled(**many, out=out, threads=1), samples),
        "nacelle, single": (repeated(bound.call), SINGLE),
    }
    if folder is not None:
        functions |= casadi_functions(compiled.program, many, mine, first, folder)
    return functions, compiled.program, found.form


def casadi_functions(program, many, mine, first, folder):
    made = CasadiProgram(program)
    flat = np.concatenate([array.reshape(len(array), -1) for array in many.values()], axis=1)
    library = made.library(tempfile.mkdtemp(dir=folder))
    batch, out = made.native_call(library, flat)
    batch()
    start = 0
    for variable in program.outputs:
        if variable.name == first:
            agree("CasADi", out[:STATES, start : start + variable.size], mine)
        start += variable.size
    single, _ = made.native_call(library, flat[:1].copy())
    return {
        "CasADi's C, batch": (batch, len(flat)),
        "CasADi's C, single": (repeated(single), SINGLE),
        "CasADi's VM, single": (repeated(made.machine_call(flat[0])), SINGLE),
    }


def repeated(call):
    def run():
        for _ in range(SINGLE):
            call()

    return run


def measure(case, name, samples, rounds, folder, peak):
    """Times of a model with friction and without, and of its peers; one row for each of the two."""
    peers = case.inverse_peers() if name == "inverse_dynamics" else case.forward_peers()
    for friction in (True, False):
        say(case.robot.name, name, "with friction" if friction else "rigid", "...")
        functions, program, form = ours(case, name, friction, samples, folder)
        functions = functions | peers | ({} if peak is None else {"peak": peak})
        taken = in_turn({key: function for key, (function, _) in functions.items()}, rounds)
        ns = {key: 1e9 * np.array(taken[key]) / functions[key][1] for key in functions}
        # Operations per ns.
        top = None if peak is None else 1.0 / float(np.min(ns.pop("peak")))
        if "constraintDynamics, call" in ns:
            cost = np.min(ns.pop("rnea, call")) - np.min(ns.pop("rnea, loop in C++"))
            for peer in ("constraintDynamics", "lcaba"):
                if f"{peer}, call" in ns:
                    ns[f"{peer}, inside"] = ns[f"{peer}, call"] - max(cost, 0.0)
        yield row_of(case, name, friction, form, program, ns, top)


def row_of(case, name, friction, form, program, ns, top):
    best = {key: float(np.min(times)) for key, times in ns.items()}
    operations = count(program).total
    batch = ns["nacelle, batch"]
    return {
        "robot": case.robot.name,
        "model": name,
        "friction": friction,
        "form": form,
        "operations": operations,
        "GFLOP/s": operations / best["nacelle, batch"],
        "FMA peak, GFLOP/s": top,
        "part of the FMA peak": operations / best["nacelle, batch"] / top if top else None,
        "notes": notes_of(case, name),
        "ns": best,
        "over nacelle's batch": {key: value / best["nacelle, batch"] for key, value in best.items()},
        "over nacelle's single call": {key: value / best["nacelle, single"] for key, value in best.items()},
        "lowest of a round, over the batch": {key: float(np.min(ns[key] / batch)) for key in ns},
    }


def notes_of(case, name):
    """What a model is not compared with, and why."""
    if name == "inverse_dynamics":
        return [] if case.mujoco.bound else ["mj_inverse has the tree alone: not all closures are balls"]
    notes = list(case.pinocchio.engine.notes)
    return notes if case.mujoco.bound else [*notes, "mj_forward is left out: not all closures are balls"]


def show(row):
    kind = "with friction" if row["friction"] else "rigid"
    print(f"\n{row['robot']}, {row['model']}, {kind}: {row['operations']} operations, form {row['form']}")
    peak = row["part of the FMA peak"]
    share = "" if peak is None else f", {peak:.2f} of the FMA peak of {row['FMA peak, GFLOP/s']:.1f}"
    print(f"  nacelle's batch: {row['GFLOP/s']:.1f} GFLOP/s{share}")
    for note in row["notes"]:
        print(f"  {note}")
    print(f"  {'':28}{'ns':>10}{'/ batch':>10}{'lowest':>10}{'/ single':>10}")
    for key, value in row["ns"].items():
        cells = [
            row[column][key]
            for column in (
                "over nacelle's batch",
                "lowest of a round, over the batch",
                "over nacelle's single call",
            )
        ]
        print(f"  {key:28}{value:10.0f}" + "".join(f"{cell:10.1f}" for cell in cells), flush=True)


def bars(rows):
    """The ratios that were promised: PaLiDA's inverse dynamics, and every robot's forward dynamics.

    For forward dynamics the faster of `constraintDynamics` and `lcaba` counts, by its time inside.
    """
    lines = []
    for row in rows:
        inside = [key for key in row["ns"] if key.endswith(", inside")]
        if row["robot"] == "palida" and row["model"] == "inverse_dynamics":
            peer, bar = "rnea, loop in C++", 15.0
        elif row["model"] == "forward_dynamics" and inside:
            peer, bar = min(inside, key=row["ns"].get), 50.0
        else:
            continue
        lines.append(
            {
                "robot": row["robot"],
                "model": row["model"],
                "friction": row["friction"],
                "peer": peer,
                "ratio": row["over nacelle's batch"][peer],
                "lowest of a round": row["lowest of a round, over the batch"][peer],
                "bar": bar,
            }
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--samples", type=int, default=100_000, help="states of a batch")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=ROBOTS)
    options = parser.parse_args()
    rows = []
    if not options.json:
        print(processor())
    with tempfile.TemporaryDirectory() as folder:
        peak = fma_call(folder) if shutil.which("gcc") else None
        with_casadi = peak is not None and importlib.util.find_spec("casadi") is not None
        for name in options.robots:
            case = Case(name)
            for what in ("inverse_dynamics", "forward_dynamics"):
                made = folder if with_casadi else None
                for row in measure(case, what, options.samples, options.rounds, made, peak):
                    rows.append(row)
                    if not options.json:
                        show(row)
    lines = bars(rows)
    if options.json:
        named = {"processor": processor(), "contains": CONTAINS, "rows": rows, "bars": lines}
        print(json.dumps(named, indent=2))
        return
    print("\nWhat the numbers contain")
    for key, text in CONTAINS.items():
        print(f"  {key:28}{text}")
    print()
    for bar in lines:
        kind = "with friction" if bar["friction"] else "rigid"
        print(
            f"{bar['robot']}, {bar['model']}, {kind}: {bar['ratio']:.0f} x {bar['peer']} "
            f"(lowest of a round {bar['lowest of a round']:.0f}; bar {bar['bar']:.0f})"
        )


if __name__ == "__main__":
    main()
