"""Benchmark of single calls of the Python API, as a control loop makes them: `make bench`.

For every robot the median time of one call, in microseconds, over states spread around the reference pose,
each call at the next of them: of the functions of the API without a guess, of some with the solution of the
state before as one, and of the program of inverse dynamics alone, bound to buffers (`.bind()`), shortest of
many. Programs are compiled before anything is timed. Nothing is asserted.
"""

import argparse
import gc
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from timing import best, say

import nacelle
from kinematics import path

STATES = 400
REACH = 0.15


def calls(robot):
    """The calls of a robot by name, each with the arguments of all states."""
    rng = np.random.default_rng(4)
    x = path(robot, STATES, REACH)
    x = x[nacelle.inverse_kinematics(robot, x).flags == 0]
    v = rng.uniform(-0.5, 0.5, (len(x), robot.motion.n))
    a, joints = 2.0 * v, nacelle.inverse_kinematics(robot, x)
    tau = nacelle.inverse_dynamics(robot, x, v, a).tau
    guess = joints.y if joints.y.size else None
    near = [None if guess is None else guess[k - 1] for k in range(len(x))]

    def each(function, *arrays):
        return function, [tuple(array[k] for array in arrays) for k in range(len(x))]

    def with_guess(function, *arrays):
        calls = each(function, *arrays)[1]
        return lambda *given: function(*given[:-1], guess=given[-1]), [
            (*one, y) for one, y in zip(calls, near, strict=True)
        ]

    def of_robot(function):
        return lambda *arguments, **options: function(robot, *arguments, **options)

    inverse, ik, fk = (
        of_robot(function)
        for function in (nacelle.inverse_dynamics, nacelle.inverse_kinematics, nacelle.forward_kinematics)
    )
    return {
        "inverse": each(inverse, x, v, a),
        "guessed": with_guess(inverse, x, v, a),
        "forward": each(of_robot(nacelle.forward_dynamics), x, v, tau),
        "ik": each(ik, x),
        "fk": each(fk, joints.q),
        "fk guessed": (fk, [(q, pose) for q, pose in zip(joints.q[1:], x[:-1], strict=True)]),
        "jacobian": each(of_robot(nacelle.jacobian), x),
        "mass": each(of_robot(nacelle.mass_matrix), x),
        "bias": each(of_robot(nacelle.bias_forces), x, v),
        "gravity": each(of_robot(nacelle.gravity_forces), x),
        "energy": each(of_robot(nacelle.kinetic_energy), x, v),
    }


def median(function, arguments, rounds=3):
    """Median time of a call in seconds, the least of some rounds."""
    for one in arguments:
        function(*one)
    result = np.inf
    gc.disable()
    for _ in range(rounds):
        times = []
        for one in arguments:
            start = time.perf_counter()
            function(*one)
            times.append(time.perf_counter() - start)
        result = min(result, float(np.median(times)))
    gc.enable()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", default=",".join(nacelle.robot_names()), help="names, with commas")
    options = parser.parse_args()
    heads = None
    for name in filter(None, options.robots.split(",")):
        say(name)
        robot = nacelle.load(name)
        functions = calls(robot)
        if heads is None:
            heads = [*functions, "bound"]
            print(f"{'us a call':<16}" + "".join(f"{head:>11}" for head in heads))
        times = [1e6 * median(*call) for call in functions.values()]
        times.append(1e6 * best(nacelle.model(robot, "inverse_dynamics").compile().bind().call))
        print(f"{name:<16}" + "".join(f"{time:>11.1f}" for time in times), flush=True)


if __name__ == "__main__":
    main()
