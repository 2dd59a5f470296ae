"""Benchmark of simulation: `make bench`.

Robots on springs at their actuators, without friction, pushed at the start, so that they swing through
their workspace for ten seconds and nothing damps what an engine gets wrong; steps of 0.1 ms of RK4, on one
thread, in one run on this machine. Compared are:

- nacelle, without events and with the usual ones;
- MuJoCo's own step with its RK4, the loops held by `connect`, called for a thousand steps at once;
- RK4 around Pinocchio's `constraintDynamics`, driven from Python; so the time inside Pinocchio's own calls, a
  lower bound for any program around them, is given too. With its `integrate`, as its users write it, which
  makes the method one of order two where bodies turn; with its corrector of closures too; and of order four,
  on quaternions that are normalised at every stage.

For each: simulated seconds per second; the largest gap between the two ends of a closure at the end, and at
any tenth of a second, over the robot's size; and how far the platform is at the end from where nacelle's
method of order eight with step control has it, over the way that it goes. All engines run in turn, some
rounds, and the shortest time of each counts. Nothing is asserted: ratios within a run are what counts.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import mujoco as mj
import numpy as np
import pinocchio as pin

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from timing import results_in_turn

import nacelle
from nacelle.spatial.pose import Pose
from nacelle.verify.engine import TreeState
from support import mujoco_loops
from support.pinocchio_motion import PinocchioMotion
from support.sprung import sprung_robot

# Stiffness of the springs, and twist at the start.
ROBOTS = {
    "palida": (2e4, [0.8, -0.5, 0.4, 1.0, -1.5, 2.0]),
    "delta": (60.0, [1.5, 0.9, 0.6]),
}
STEP = 1e-4
BLOCK = 1000
# MuJoCo's usual bonds, and the hardest that it takes at this step.
BONDS = {
    "usual": mujoco_loops.ConstraintSettings(),
    "hardest": mujoco_loops.ConstraintSettings((2.0 * STEP, 1.0), (0.9999, 0.9999)),
}
# What calls Pinocchio's loops back, 1/s.
CORRECTOR = 100.0
_NOTHING = np.zeros(0)


class Case:
    """A robot on springs, its start, and what all runs of it are measured with."""

    def __init__(self, name, seconds):
        stiffness, push = ROBOTS[name]
        self.name, self.seconds, self.push = name, seconds, np.array(push)
        self.robot, self.x = sprung_robot(name, stiffness)
        self.plant = nacelle.simulation.rigid_plant(self.robot, friction=False)
        bodies = nacelle.inverse_kinematics(self.robot, self.x).bodies
        motion = nacelle.kinematics.joint_motion(self.robot, self.x, self.push)
        twist = nacelle.kinematics.body_motion(self.robot, self.x, self.push).twist[1]
        rates = np.concatenate([twist, motion.rate])
        self.start = TreeState(Pose(bodies.R[1], bodies.p[1]), motion.q_tree, rates, _NOTHING, _NOTHING)
        self.reference = nacelle.simulate(
            self.plant, self.x, self.push, until=seconds, samples=round(10.0 * seconds) + 1, events=[]
        )
        self.way = np.max(np.ptp(self.reference.x[:, :3], axis=0))

    def gap(self, R, p):
        """The largest gap between two ends of a closure, over the robot's size."""
        ends = [
            R[j.successor] @ j.frame_successor.p
            + p[j.successor]
            - R[j.predecessor] @ j.frame_predecessor.p
            - p[j.predecessor]
            for j in self.robot.closures
        ]
        return float(np.max(np.abs(ends))) / self.robot.size

    def row(self, engine, seconds, inside, gaps, place):
        return {
            "robot": self.name,
            "engine": engine,
            "simulated s per s": self.seconds / seconds,
            "the same, inside": self.seconds / inside if inside else None,
            "closure error at the end": gaps[-1],
            "at its largest": max(gaps),
            "platform off": float(np.max(np.abs(place - self.reference.x[-1, :3]))) / self.way,
        }


def ours(case, events):
    options = {} if events else {"events": []}

    def run(until):
        return nacelle.simulate(
            case.plant,
            case.x,
            case.push,
            until=until,
            integration=nacelle.simulation.Integration("rk4", step=STEP),
            **options,
        )

    run(10 * STEP)
    start = time.perf_counter()
    found = run(case.seconds)
    seconds = time.perf_counter() - start
    assert found.ok, found.message
    every = max(1, (len(found.t) - 1) // round(10.0 * case.seconds))
    bodies = nacelle.inverse_kinematics(case.robot, found.x[::every]).bodies
    gaps = [case.gap(R, p) for R, p in zip(bodies.R, bodies.p, strict=True)]
    name = "nacelle, events watched" if events else "nacelle"
    return case.row(name, seconds, None, gaps, found.x[-1, :3])


def mujoco(case, bonds):
    engine = mujoco_loops.build_engine(case.robot, BONDS[bonds])
    model = engine.model
    model.opt.timestep, model.opt.integrator = STEP, mj.mjtIntegrator.mjINT_RK4
    model.opt.tolerance = 1e-12
    data = mj.MjData(model)
    data.qpos[:], data.qvel[:] = engine.configuration(case.start), engine.axes(case.start) @ case.start.u
    sites, gaps, seconds = list(engine.sites), [], 0.0
    for _ in range(round(case.seconds / STEP / BLOCK)):
        start = time.perf_counter()
        mj.mj_step(model, data, BLOCK)
        seconds += time.perf_counter() - start
        mj.mj_kinematics(model, data)
        gaps.append(case.gap(data.site_xmat.reshape(-1, 3, 3)[sites], data.site_xpos[sites]))
    return case.row(f"MuJoCo, {bonds} bonds", seconds, None, gaps, data.qpos[:3])


class Pinocchio:
    """RK4 around Pinocchio's `constraintDynamics` and `integrate`."""

    def __init__(self, case, corrector):
        self.motion = PinocchioMotion(case.robot)
        engine, self.model = self.motion.engine, self.motion.model
        self.data = self.model.createData()
        for anchor in engine.anchors:
            # Critically damped.
            anchor.setBaumgarteCorrectorParameters(
                pin.BaumgarteCorrectorParameters(corrector**2, 2.0 * corrector)
            )
        self.anchors = pin.StdVec_RigidConstraintModel()
        self.anchors.extend(engine.anchors)
        self.datas = pin.StdVec_RigidConstraintData()
        self.datas.extend([anchor.createData() for anchor in engine.anchors])
        pin.initConstraintDynamics(self.model, self.data, self.anchors, self.datas)
        # No closure is redundant: one factorisation, the fastest that it has.
        self.settings = pin.ProximalSettings(1e-12, 0.0, 1)
        self.q, self.v = engine.configuration(case.start), engine.axes(case.start) @ case.start.u
        self.inside = 0.0

    def place(self):
        """Poses of all bodies."""
        pin.framesForwardKinematics(self.model, self.data, self.q)
        poses = [self.data.oMf[frame] for frame in self.motion.engine.frames]
        return [pose.rotation for pose in poses], [pose.translation for pose in poses]

    def acceleration(self, q, v):
        tau = np.zeros(self.model.nv)
        tau[self.motion.spring_v] = self.motion.stiffness * (self.motion.rest - q[self.motion.spring_q])
        start = time.perf_counter()
        a = pin.constraintDynamics(self.model, self.data, q, v, tau, self.anchors, self.datas, self.settings)
        self.inside += time.perf_counter() - start
        return a.copy()

    def integrate(self, step):
        start = time.perf_counter()
        q = pin.integrate(self.model, self.q, step)
        self.inside += time.perf_counter() - start
        return q

    def step(self):
        h, v = STEP, self.v
        a1 = self.acceleration(self.q, v)
        v2 = v + 0.5 * h * a1
        a2 = self.acceleration(self.integrate(0.5 * h * v), v2)
        v3 = v + 0.5 * h * a2
        a3 = self.acceleration(self.integrate(0.5 * h * v2), v3)
        v4 = v + h * a3
        a4 = self.acceleration(self.integrate(h * v3), v4)
        self.q = self.integrate(h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4))
        self.v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)


class FlatPinocchio(Pinocchio):
    """The same on quaternions as four numbers, by their rates."""

    def derivative(self, q, v):
        start = time.perf_counter()
        q = pin.normalize(self.model, q)
        self.inside += time.perf_counter() - start
        return np.concatenate([self.motion.rate(q, v), self.acceleration(q, v)])

    def step(self):
        h, nq = STEP, self.model.nq
        s = np.concatenate([self.q, self.v])
        k1 = self.derivative(self.q, self.v)
        k2 = self.derivative(*np.split(s + 0.5 * h * k1, [nq]))
        k3 = self.derivative(*np.split(s + 0.5 * h * k2, [nq]))
        k4 = self.derivative(*np.split(s + h * k3, [nq]))
        self.q, self.v = np.split(s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), [nq])
        self.q = pin.normalize(self.model, self.q)


def pinocchio(case, name, kind, corrector=0.0):
    loop, gaps, seconds = kind(case, corrector), [], 0.0
    for _ in range(round(case.seconds / STEP / BLOCK)):
        start = time.perf_counter()
        for _ in range(BLOCK):
            loop.step()
        seconds += time.perf_counter() - start
        gaps.append(case.gap(*loop.place()))
    return case.row(f"Pinocchio, {name}", seconds, loop.inside, gaps, loop.q[:3])


def measure(name, seconds, rounds):
    case = Case(name, seconds)
    runs = {
        "nacelle": lambda: ours(case, False),
        "events": lambda: ours(case, True),
        **{bonds: lambda bonds=bonds: mujoco(case, bonds) for bonds in BONDS},
        "integrate": lambda: pinocchio(case, "integrate", Pinocchio),
        "corrector": lambda: pinocchio(case, "and its corrector", Pinocchio, CORRECTOR),
        "quaternions": lambda: pinocchio(case, "quaternions", FlatPinocchio),
    }
    found = results_in_turn(runs, rounds)
    return [max(rows, key=lambda row: row["simulated s per s"]) for rows in found.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated seconds")
    parser.add_argument("--rounds", type=int, default=3, help="how often each engine has its turn")
    options = parser.parse_args()
    rows = []
    for name in ROBOTS:
        for row in measure(name, options.seconds, options.rounds):
            rows.append(row)
            if not options.json:
                show(row, first=len(rows) == 1)
    if options.json:
        print(json.dumps(rows, indent=2))


def show(row, first):
    """One line of the table, when its robot is done: the whole takes minutes."""
    if first:
        print("  ".join(f"{key:>{_width(key)}}" for key in row))
    entries = {key: "" if value is None else value for key, value in row.items()}
    cells = [f"{v:.3g}" if isinstance(v, float) else v for v in entries.values()]
    print("  ".join(f"{cell:>{_width(key)}}" for key, cell in zip(row, cells, strict=True)), flush=True)


def _width(key):
    return 28 if key == "engine" else max(len(key), 8)


if __name__ == "__main__":
    main()
