"""The fastest motion along a path: against trapezoids of each segment, CasADi with IPOPT, and toppra.

toppra (where it is installed: it has wheels for x86_64 alone) solves the same problem on the same nodes. Its
forces come from Pinocchio's recursion over the spanning tree, projected to the actuators, a call for each
node as its interface has it; the loops are closed by nacelle's kinematics.

CasADi with IPOPT (where installed: requirements/bench.txt) transcribes the motion with friction: squared
speeds at equally spaced nodes, the whole inverse dynamics as an expression at the middle of every interval,
derivatives by CasADi. Its time is of first order in the distance of the nodes: two distances give the limit.

Motions are sampled densely; forces are those of `inverse_dynamics`, and at fewer samples those of Pinocchio's
recursion over the spanning tree with the friction of all joints, projected by the loops.

    python benchmarks/fastest_motion.py
"""

import importlib.util
import itertools
import time

import numpy as np

import nacelle
from nacelle.kinematics.jacobian import _rate_maps
from nacelle.motion import DriveLimits, PlatformLimits
from nacelle.simulation.driven_plant import driven_plant
from nacelle.simulation.drives import Drives
from nacelle.trajectory import Path, RoundedLines, Trapezoid, pick_and_place
from nacelle.trajectory.sampling import sample_trajectory

ROBOTS = ("delta", "delta4", "quattro", "fivebar")
HOPS = {"fivebar": "25-200-25"}
# Intervals of the transcription, and samples whose forces Pinocchio computes.
INTERVALS, SAMPLES = (200, 400), 2000


def hop(robot, name):
    """The pick-and-place path of a robot about its reference pose."""
    distances = HOPS.get(name, "25-305-25")
    x = nacelle.reference_pose(robot).copy()
    x[0] -= 0.5e-3 * float(distances.split("-")[1])
    return pick_and_place(x, distances, motion=robot.motion)


def median_time(run, repeats=5):
    """Seconds of the processor for a call, warm: other work on the machine counts less than in wall time."""
    run()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


# ---- CasADi and IPOPT


def bend(robot):
    """A path of two lines for the 3-RRR robot, along which its platform turns."""
    points = np.tile(nacelle.reference_pose(robot), (3, 1))
    points[1:] += [[0.05, 0.02, 0.2], [0.03, 0.07, -0.1]]
    return RoundedLines(points, motion=robot.motion)


def transcribe(robot, path, intervals):
    """Time (s) by direct transcription with friction, limits of force and speed of the description."""
    import casadi
    from casadi_code import CasadiProgram

    compiled = nacelle.model(robot, "inverse_dynamics").compile()
    force = CasadiProgram(compiled.program).function
    s = np.linspace(0.0, path.length, intervals + 1)
    d, middle = s[1], path(0.5 * (s[1:] + s[:-1]))
    passive = np.asarray(nacelle.inverse_kinematics(robot, middle.x, limits=False).y)
    limit = np.array([actuator.force for actuator in robot.actuators])
    fastest = np.array([actuator.speed for actuator in robot.actuators])
    rate = nacelle.kinematics.joint_motion(robot, *path(s)).actuators[1]

    z = casadi.MX.sym("z", intervals + 1)
    u, here = (z[1:] - z[:-1]) / (2.0 * d), 0.5 * (z[1:] + z[:-1])
    root = casadi.sqrt(here)
    states = casadi.vertcat(
        casadi.DM(np.concatenate([middle.x, passive], axis=1).T),
        casadi.DM(middle.v.T) * casadi.repmat(root.T, robot.motion.n, 1),
        casadi.DM(middle.v.T) * casadi.repmat(u.T, robot.motion.n, 1)
        + casadi.DM(middle.a.T) * casadi.repmat(here.T, robot.motion.n, 1),
    )
    names = [variable.name for variable in compiled.program.outputs]
    assert names[0] == "force", names
    tau = force.map(intervals)(states)[: len(limit), :] / casadi.repmat(casadi.DM(limit), 1, intervals)
    time_ = casadi.sum1(2.0 * d / (casadi.sqrt(z[1:]) + casadi.sqrt(z[:-1])))
    upper = np.min((fastest / np.maximum(np.abs(rate), 1e-12)) ** 2, axis=1)
    upper[[0, -1]] = 1e-12
    start = np.minimum(np.maximum(1e-2 * path.length**2 * 4.0 * s * (path.length - s), 1e-12), 0.5 * upper)
    solver = casadi.nlpsol(
        "motion",
        "ipopt",
        {"x": z, "f": time_, "g": casadi.vec(tau)},
        {
            "print_time": False,
            "ipopt.print_level": 0,
            "ipopt.tol": 1e-9,
            # Scaled by the gradients at the slow start, the time would be too small to count.
            "ipopt.nlp_scaling_method": "none",
        },
    )
    found = solver(x0=start, lbx=1e-12, ubx=np.maximum(upper, 1e-12), lbg=-1.0, ubg=1.0)
    return float(found["f"]) if solver.stats()["success"] else float("nan")


def against_transcription(name):
    """Durations, s, of nacelle and by direct transcription on two grids, with friction."""
    robot = nacelle.load(name)
    path = Path(bend(robot) if name == "3rrr" else hop(robot, name))
    result = nacelle.time_optimal(robot, path)
    coarse, fine = (transcribe(robot, path, intervals) for intervals in INTERVALS)
    limit = 2.0 * fine - coarse
    return {
        "robot": name,
        "nacelle": result.duration,
        "lower bound": result.lower_bound,
        **{f"IPOPT, {count}": value for count, value in zip(INTERVALS, (coarse, fine), strict=True)},
        "difference to IPOPT's limit": result.duration / limit - 1.0,
    }


# ---- forces by Pinocchio, with friction


def pinocchio_forces(robot, sample):
    """Forces of the actuators (m, actuators): Pinocchio's recursion over the tree, loops projected."""
    from nacelle.spatial.pose import Pose
    from nacelle.verify.comparison import _engine_view
    from nacelle.verify.engine import TreeState
    from nacelle.verify.engines.pinocchio import build
    from nacelle.verify.loops import joint_efforts

    engine, count = build(robot), robot.platform_nv
    ik = nacelle.inverse_kinematics(robot, sample.x, limits=False)
    motion = nacelle.kinematics.joint_motion(robot, *sample)
    body = nacelle.kinematics.body_motion(robot, *sample)
    u = np.concatenate([body.twist[:, 1, :count], motion.rate], axis=1)
    u_dot = np.concatenate([body.acceleration[:, 1, :count], motion.acceleration], axis=1)
    still, rows = np.zeros((len(robot.bodies), 6)), []
    for k in range(len(u)):
        pose = Pose(ik.bodies.R[k, 1], ik.bodies.p[k, 1])
        view = _engine_view(engine, robot, TreeState(pose, motion.q_tree[k], u[k], u_dot[k], still))
        extra = joint_efforts(robot, view.now, view.axes, u[k], engine.includes_rotors)
        force = view.now.force + extra.rotor_matrix @ u_dot[k] + extra.friction + extra.springs
        G = view.projection.G
        A = view.actuator_rows(robot) @ G
        rows.append(np.linalg.lstsq(A.T, G.T @ (force + extra.rotor_bias), rcond=None)[0])
    return np.array(rows)


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


def toppra_problem(robot, path, nodes, limits, scheme):
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
        discretization_scheme=getattr(toppra.constraint.DiscretizationType, scheme),
    )
    return toppra.algorithm.TOPPRA([constraint], Geometry(), gridpoints=nodes, solver_wrapper="seidel")


def against_toppra(name, intervals):
    """Durations, s, and seconds of the processor of both, warm, on the same nodes; friction off.

    nacelle's with limits at the points of these intervals alone, as toppra's, and with limits verified
    everywhere, which cuts some of the intervals.
    """
    robot = nacelle.load(name)
    path = Path(hop(robot, name))
    limits = np.array([actuator.force for actuator in robot.actuators])
    options = {"drives": DriveLimits(speed=None), "friction": False, "intervals": intervals}

    def whole():
        return nacelle.time_optimal(robot, path, **options)

    def quick():
        return nacelle.time_optimal(robot, path, **options, verify=False)

    nodes = quick().trajectory.s
    row = {"robot": name, "nodes": len(nodes), "nacelle": quick().duration}
    row["nacelle seconds"] = median_time(quick, 15)
    for scheme in ("Collocation", "Interpolation"):

        def solve(scheme=scheme):
            problem = toppra_problem(robot, path, nodes, limits, scheme)
            speed = problem.compute_parameterization(0.0, 0.0)[1]
            return (
                float("nan")
                if speed is None
                else float(np.sum(2.0 * np.diff(nodes) / (speed[1:] + speed[:-1])))
            )

        row[f"toppra {scheme}"], row[f"toppra {scheme} seconds"] = solve(), median_time(solve, 1)
    row["verified"], row["verified seconds"] = whole().duration, median_time(whole, 15)
    row["ratio"] = row["toppra Collocation seconds"] / row["nacelle seconds"]
    row["ratio, verified"] = row["toppra Collocation seconds"] / row["verified seconds"]
    return row


def against_trapezoids(name):
    """The hop with friction, against the best trapezoid of each segment from rest to rest, same limits."""
    robot = nacelle.load(name)
    path = Path(hop(robot, name))
    result = nacelle.time_optimal(robot, path)
    force = np.array([actuator.force for actuator in robot.actuators])
    speed = np.array([actuator.speed for actuator in robot.actuators])

    def use(sample):
        rate = nacelle.kinematics.joint_motion(robot, *sample).actuators[1]
        return max(
            np.max(np.abs(nacelle.inverse_dynamics(robot, *sample).tau) / force), np.max(np.abs(rate) / speed)
        )

    points, total = path.parts[0].trajectory.points, 0.0
    for start, end in itertools.pairwise(points):
        best = np.inf
        for ramp in np.linspace(0.05, 0.5, 19):
            low, high = 1e-3, 3.0
            for _ in range(30):
                T = 0.5 * (low + high)
                line = nacelle.Line(start, end, motion=robot.motion, timing=Trapezoid(T, ramp * T))
                jumps = np.array([0.0, ramp, 1.0 - ramp, 1.0])
                times = T * np.clip(
                    np.concatenate([np.linspace(0, 1, 201), jumps - 1e-9, jumps + 1e-9]), 0, 1
                )
                low, high = (low, T) if use(line(times)) <= 1.0 else (T, high)
            best = min(best, high)
        total += best
    _, sample = result.trajectory.sample(100_001)
    times = np.linspace(0.0, result.duration, SAMPLES)
    few = sample_trajectory(robot, result.trajectory, times)
    tau, ours = pinocchio_forces(robot, few), nacelle.inverse_dynamics(robot, *few).tau
    return {
        "robot": name,
        "duration": result.duration,
        "trapezoids": total,
        "change": result.duration / total - 1.0,
        "largest use of 100001 samples": use(sample),
        f"largest force / limit of {SAMPLES} samples, Pinocchio": np.max(np.abs(tau) / force),
        "largest difference of the forces / limit": np.max(np.abs(tau - ours) / force),
    }


def followed(name, period, jerk=None):
    """Share of samples at which drives saturate as a controller follows the hop; 5 % of force held back."""
    robot = nacelle.load(name)
    result = nacelle.time_optimal(
        robot,
        hop(robot, name),
        drives=DriveLimits(reserve=0.05),
        platform=PlatformLimits(jerk=jerk),
    )
    law = nacelle.control.controller(robot, "cf-rb-friction", period)
    run = nacelle.control.closed_loop(driven_plant(robot, Drives()), law, result.trajectory)
    row = {"robot": name, "period": period, "jerk": jerk, "duration": result.duration}
    return {**row, "saturated": float(np.max(run.saturation))}


if __name__ == "__main__":
    for robot_name in ("delta", "fivebar"):
        for sampling, largest in ((1e-4, None), (1e-3, None), (1e-3, 20e3), (1e-3, 30e3)):
            print(followed(robot_name, sampling, largest), flush=True)
    for robot_name in ROBOTS:
        print(against_trapezoids(robot_name), flush=True)
    if importlib.util.find_spec("casadi") is None:
        print("CasADi is not installed: its comparison is left out")
    else:
        for robot_name in (*ROBOTS, "3rrr"):
            print(against_transcription(robot_name), flush=True)
    if importlib.util.find_spec("toppra") is None:
        print("toppra is not installed: its comparison is left out")
    else:
        fine = nacelle.time_optimal(
            nacelle.load("delta"),
            hop(nacelle.load("delta"), "delta"),
            drives=DriveLimits(speed=None),
            friction=False,
            intervals=2000,
        )
        print({"reference": fine.duration, "lower bound": fine.lower_bound}, flush=True)
        for count in (50, 100, 200, 500, 1000, 2000):
            print(against_toppra("delta", count), flush=True)
