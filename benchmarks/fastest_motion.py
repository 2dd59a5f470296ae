"""The fastest motion along a path: against toppra, a direct transcription, and trapezoids of each segment.

toppra (where it is installed: it has wheels for x86_64 alone) solves the same problem on the same nodes. Its
forces come from Pinocchio's recursion over the spanning tree, projected to the actuators, a call for each
node as its interface has it; the loops are closed by nacelle's compiled kinematics. CasADi and IPOPT solve a
transcription with friction: z piecewise quadratic on twice as many nodes, limits at five places of each
interval.
"""

import time

import numpy as np

import nacelle
from nacelle.kinematics.jacobian import _rate_maps
from nacelle.motion import DriveLimits
from nacelle.trajectory import Path, pick_and_place

ROBOTS = ("delta", "delta4", "quattro", "fivebar")
HOPS = {"fivebar": "25-200-25"}


def hop(robot, name):
    """The pick-and-place path of a robot about its reference pose."""
    distances = HOPS.get(name, "25-305-25")
    x = nacelle.reference_pose(robot).copy()
    x[0] -= 0.5e-3 * float(distances.split("-")[1])
    return pick_and_place(x, distances, motion=robot.motion)


def median_time(run, repeats=7):
    run()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


# ---- toppra, with Pinocchio's recursion projected to the actuators


class ProjectedTree:
    """Inverse dynamics of a robot without friction: Pinocchio's recursion on its tree, projected."""

    def __init__(self, robot):
        import pinocchio as pin

        from nacelle.verify.engine import TreeState
        from nacelle.verify.engines.pinocchio import build

        self.pin, self.State, self.robot, self.engine = pin, TreeState, robot, build(robot)
        self.model, self.data = self.engine.with_rotors, self.engine.with_rotors.createData()
        self.unit = np.zeros(robot.motion.n)

    def __call__(self, x, v, a):
        robot, engine, pin = self.robot, self.engine, self.pin
        ik = nacelle.inverse_kinematics(robot, x, limits=False)
        motion = nacelle.kinematics.joint_motion(robot, x, v, a)
        U = _rate_maps(robot, x)
        from nacelle.spatial.pose import Pose

        platform = Pose(ik.bodies.R[1], ik.bodies.p[1])
        body = nacelle.kinematics.body_motion(robot, x, v, a)
        count = robot.platform_nv
        u = np.concatenate([body.twist[1][:count], motion.rate])
        u_dot = np.concatenate([body.acceleration[1][:count], motion.acceleration])
        state = self.State(platform, motion.q_tree, u, u_dot, np.zeros((len(robot.bodies), 6)))
        D = engine.axes(state)
        rate = engine._accelerations(state, u_dot)
        q = engine.configuration(state)
        tau = D.T @ pin.rnea(self.model, self.data, q, D @ u, rate)
        A = nacelle.jacobian(robot, x).inverse
        return np.linalg.lstsq(A.T, U.T @ tau, rcond=None)[0]


def toppra_problem(robot, path, nodes, limits):
    """toppra's problem in the coordinates of the platform: path by nacelle, forces by the projected tree."""
    import toppra
    import toppra.algorithm
    import toppra.constraint
    import toppra.interpolator

    toppra.setup_logging("ERROR")

    class Geometry(toppra.interpolator.AbstractGeometricPath):
        def __call__(self, s, order=0):
            sample = path(np.atleast_1d(np.asarray(s, dtype=float)))
            value = (sample.x, sample.v, sample.a)[order]
            return value[0] if np.ndim(s) == 0 else value

        @property
        def dof(self):
            return robot.motion.n

        @property
        def path_interval(self):
            return np.array([0.0, path.length])

        @property
        def waypoints(self):
            return None

    tree = ProjectedTree(robot)
    bounds = np.stack([-limits, limits], axis=1)
    constraint = toppra.constraint.JointTorqueConstraint(
        tree,
        bounds,
        np.zeros(len(limits)),
        discretization_scheme=toppra.constraint.DiscretizationType.Interpolation,
    )
    return toppra.algorithm.TOPPRA([constraint], Geometry(), gridpoints=nodes, solver_wrapper="seidel")


def against_toppra(name, intervals):
    """Times and seconds of both, warm, on the same nodes; friction off."""
    robot = nacelle.load(name)
    path = Path(hop(robot, name))
    limits = np.array([actuator.force for actuator in robot.actuators])
    drives = DriveLimits(speed=None)
    result = nacelle.time_optimal(robot, path, drives=drives, friction=False, intervals=intervals)
    nodes = result.trajectory.s
    ours = median_time(
        lambda: nacelle.time_optimal(robot, path, drives=drives, friction=False, intervals=intervals)
    )

    def solve():
        profile = toppra_problem(robot, path, nodes, limits).compute_parameterization(0.0, 0.0)
        speed = profile[1]
        return float(np.sum(2.0 * np.diff(nodes) / (speed[1:] + speed[:-1])))

    theirs = solve()
    seconds = median_time(solve, 3)
    return result.duration, theirs, ours, seconds, len(nodes)


if __name__ == "__main__":
    import sys

    for intervals in map(int, sys.argv[1:] or ["100"]):
        for name in ROBOTS:
            print(name, *against_toppra(name, intervals))
