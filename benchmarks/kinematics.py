"""Benchmark of kinematics: `make bench`.

For some robots, in one run on this machine and on one thread: the time per pose of the inverse kinematics
with the inverse Jacobian, and of the forward kinematics along a trajectory; compared with Pinocchio's loop
closure on the same tree: Newton's iteration on the closures (forward kinematics, Jacobians of the joints and
of the ends of the loops, a least-squares step, integration), as in Pinocchio's examples, started from the
pose before, to the same tolerance. It is driven from Python; so the time spent inside Pinocchio's own calls,
a lower bound for any program around them, is given too. All run in turn, several rounds, and the shortest
time of each counts. Nothing is asserted: ratios within a run are what counts.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from timing import once, results_in_turn

import nacelle
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.forward import PoseSearch
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.spatial.pose import Pose
from nacelle.verify.engine import TreeState

ROBOTS = ("palida", "gough-stewart", "delta", "fivebar", "hexa")
TOLERANCE = 1e-12


def path(robot, count, reach=0.03):
    """Poses, one after the other, on a smooth closed path around the reference; reach in robot sizes, rad."""
    x0 = nacelle.reference_pose(robot)
    rng = np.random.default_rng(1)
    n = robot.motion.n
    scale = np.array([robot.size if name in "xyz" else 1.0 for name in robot.motion.coordinates])
    a, b = reach * scale * rng.uniform(-1, 1, (2, n)), reach * scale * rng.uniform(-1, 1, (2, n))
    course = nacelle.trajectory.Fourier(x0, a, b, motion=robot.motion, frequency=1.0)
    return course(np.linspace(0.0, course.duration, count)).x


class Pinocchio:
    """Newton's iteration on the closures of a robot in Pinocchio."""

    def __init__(self, robot):
        import pinocchio as pin

        from nacelle.verify.engines.pinocchio import build
        from support.pinocchio_tree import se3

        self.pin, self.robot = pin, robot
        self.tree = build(robot)
        self.model = self.tree.model
        self.ends = []
        for number, joint in enumerate(robot.closures):
            if joint.at_point:
                continue
            frames = []
            for body, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            ):
                own = self.model.frames[self.tree.frames[body]]
                made = pin.Frame(
                    f"end-{number}-{body}", own.parentJoint, 0, own.placement * se3(frame), pin.OP_FRAME
                )
                frames.append(self.model.addFrame(made))
            self.ends.append(frames)
        self.data = self.model.createData()
        m = robot.platform_nv
        self.platform = list(range(m))
        self.active = [m + robot.v_slices[a.joint].start for a in robot.actuators]
        self.active_q = [(3 if m == 3 else 7) + robot.q_slices[a.joint].start for a in robot.actuators]
        self.inside = 0.0
        self.iterations = 0

    def solve(self, q, held):
        """Close the loops from q; the velocities `held` do not move."""
        pin = self.pin
        free = [k for k in range(self.model.nv) if k not in held]
        for _ in range(30):
            start = time.perf_counter()
            pin.computeJointJacobians(self.model, self.data, q)
            pin.updateFramePlacements(self.model, self.data)
            J = [
                [pin.getFrameJacobian(self.model, self.data, k, pin.LOCAL_WORLD_ALIGNED) for k in pair]
                for pair in self.ends
            ]
            self.inside += time.perf_counter() - start
            oMf = self.data.oMf
            r = np.concatenate(
                [oMf[second].translation - oMf[first].translation for first, second in self.ends]
            )
            J = np.concatenate([second[:3] - first[:3] for first, second in J])
            if np.max(np.abs(r)) < TOLERANCE * self.robot.size:
                return q
            self.iterations += 1
            step = np.zeros(self.model.nv)
            step[free] = np.linalg.lstsq(J[:, free], -r, rcond=1e-12)[0]
            q = pin.integrate(self.model, q, step)
        raise RuntimeError("Pinocchio's iteration does not converge")

    def along(self, starts, wanted, held):
        """Solve for all samples, each from the one before with its held coordinates replaced."""
        self.inside, self.iterations = 0.0, 0
        q = starts.copy()
        start = time.perf_counter()
        for values, places in wanted:
            q = q.copy()
            q[places] = values
            q = self.solve(q, held)
        return time.perf_counter() - start, self.inside, q


def measure(name, count, rounds):
    robot = nacelle.load(name)
    mechanism = mechanism_of(robot)
    x = path(robot, count)
    found = nacelle.inverse_kinematics(robot, x)
    y = found.y
    inverse = compile_native(kinematic_model.inverse_jacobian, robot)
    row = {"robot": name, "operations (inverse and Jacobian)": inverse.count.total}
    active = np.ascontiguousarray(found.q)
    search = PoseSearch(mechanism)
    solver, start = search.equations.solver, search.start(x[:1])

    def run():
        return solver.solve(start, active, tolerance=TOLERANCE, follow=True)

    few = min(count, 300)
    pinocchio = Pinocchio(robot)
    size = 3 if robot.platform_nv == 3 else 7
    bodies = found.bodies
    rest, no_load = np.zeros(robot.platform_nv + robot.nv), np.zeros((len(robot.bodies), 6))

    def configuration(k):
        platform = Pose(bodies.R[k, 1], bodies.p[k, 1])
        return pinocchio.tree.configuration(TreeState(platform, found.q_tree[k], rest, rest, no_load))

    poses = [configuration(k)[:size] for k in range(few)]
    places = list(range(size))
    wanted = {
        "inverse": ([(pose, places) for pose in poses], set(pinocchio.platform)),
        "forward": ([(active[k], pinocchio.active_q) for k in range(few)], set(pinocchio.active)),
    }

    def theirs(kind):
        return (*pinocchio.along(configuration(0), *wanted[kind]), pinocchio.iterations / few)

    results = results_in_turn(
        {
            "inverse": lambda: once(lambda: inverse(x, y, threads=1)),
            "Pinocchio inverse": lambda: theirs("inverse"),
            "forward": lambda: once(run),
            "Pinocchio forward": lambda: theirs("forward"),
        },
        rounds,
    )
    for kind in wanted:
        row[f"{kind}, ns"] = 1e9 / count * min(seconds for seconds, _ in results[kind])
        seconds, inside, _, steps = min(results[f"Pinocchio {kind}"], key=lambda result: result[0])
        row[f"Pinocchio {kind}, ns"] = 1e9 * seconds / few
        row[f"Pinocchio {kind}, inside, ns"] = 1e9 * inside / few
        row[f"Pinocchio {kind}, steps"] = steps
    row["forward, steps"] = float(np.mean(results["forward"][0][1].iterations))
    assert np.max(np.abs(results["Pinocchio inverse"][0][2][pinocchio.active_q] - active[few - 1])) < 1e-9
    assert np.max(np.abs(results["Pinocchio forward"][0][2][:3] - bodies.p[few - 1, 1])) < 1e-9
    for kind in ("inverse", "forward"):
        row[f"Pinocchio / nacelle, {kind}"] = row[f"Pinocchio {kind}, ns"] / row[f"{kind}, ns"]
        row[f"the same, inside only, {kind}"] = row[f"Pinocchio {kind}, inside, ns"] / row[f"{kind}, ns"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = [measure(name, options.samples, options.rounds) for name in ROBOTS]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print()
        for key, value in row.items():
            print(f"  {key:36} {value:.4g}" if isinstance(value, float) else f"  {key:36} {value}")


if __name__ == "__main__":
    main()
