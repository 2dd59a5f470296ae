"""Benchmark of single calls of the Python API, as a control loop makes them: `make bench`.

For every robot the time of one call at one state, in microseconds: of the functions of the API, with a
solution as a guess where legs have no closed form; of inverse dynamics without it; and of its program
alone, bound to buffers (`.bind()`). Programs are compiled before anything is timed. Nothing is asserted.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from timing import best, say

import nacelle


def calls(robot):
    """The calls of a robot at a state near its reference, by name."""
    x = nacelle.reference_pose(robot)
    v = np.full(robot.motion.n, 0.1)
    a = 2.0 * v
    before = nacelle.inverse_dynamics(robot, x, v, a)
    guess = before if before.y.size else None
    tau, q = before.tau, nacelle.inverse_kinematics(robot, x).q
    return {
        "inverse": lambda: nacelle.inverse_dynamics(robot, x, v, a, guess=guess),
        "no guess": lambda: nacelle.inverse_dynamics(robot, x, v, a),
        "bound": nacelle.model(robot, "inverse_dynamics").compile().bind().call,
        "forward": lambda: nacelle.forward_dynamics(robot, x, v, tau, guess=guess),
        "ik": lambda: nacelle.inverse_kinematics(robot, x, guess=guess),
        "fk": lambda: nacelle.forward_kinematics(robot, q, x),
        "jacobian": lambda: nacelle.jacobian(robot, x, guess=guess),
        "mass": lambda: nacelle.mass_matrix(robot, x, guess=guess),
        "bias": lambda: nacelle.bias_forces(robot, x, v, guess=guess),
        "gravity": lambda: nacelle.gravity_forces(robot, x, guess=guess),
        "energy": lambda: nacelle.kinetic_energy(robot, x, v, guess=guess),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", default=",".join(nacelle.robot_names()), help="names, with commas")
    options = parser.parse_args()
    heads = None
    for name in filter(None, options.robots.split(",")):
        say(name)
        functions = calls(nacelle.load(name))
        if heads is None:
            heads = list(functions)
            print(f"{'us a call':<16}" + "".join(f"{head:>9}" for head in heads))
        times = [1e6 * best(functions[head]) for head in heads]
        print(f"{name:<16}" + "".join(f"{time:>9.1f}" for time in times), flush=True)


if __name__ == "__main__":
    main()
