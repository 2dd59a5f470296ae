"""The truth: accelerations, forces, energies and frequencies of the ruler's robots to 50 digits.

    python benchmarks/ruler/truth.py [NAME ...]     write benchmarks/ruler/truth/NAME.json again

A file has the robot's numbers, an equilibrium with its frequencies, and states. q, v and tau of a state are
doubles, and count as exact for independent joints; the others follow from the loops at 50 digits and are
given rounded. Forces of the drives are those of the state: an engine that is given the accelerations finds
them again. Everything is solved at twice the digits by `mechanism.py`.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import mpmath
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from mechanism import Digits, Mechanism

FOLDER = Path(__file__).parent / "truth"
DIGITS = 50
STATES = 2


def read(name):
    """The kept truth of a robot."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def text(values):
    """Numbers as texts of 50 digits."""
    return [mpmath.nstr(value, DIGITS, strip_zeros=False) for value in np.ravel(values)]


def doubles(values):
    """Numbers rounded to doubles."""
    return [float(value) if abs(value) > 1e-40 else 0.0 for value in values]


def make(robot, states=STATES):
    """The truth of a robot that `describe.py` has written as numbers."""
    mechanism, near = Mechanism(robot, Digits), Mechanism(robot)
    rest = mechanism.equilibrium(mechanism.column("value"))
    frequencies = mechanism.frequencies(rest)
    record = {"robot": robot, "independent": [robot["joints"][k]["name"] for k in mechanism.independent]}
    record["equilibrium"] = {"q": doubles(rest), "frequencies": text(frequencies)}
    rng = np.random.default_rng(sum(map(ord, robot["name"])))
    slowest = 2.0 * math.pi * float(frequencies[0])
    record["states"] = [_state(mechanism, near, doubles(rest), slowest, rng) for _ in range(states)]
    return record


def _state(mechanism, near, rest, slowest, rng):
    """A state that swings about the rest at rates of about 1 rad/s or 0.3 m/s, with forces of the drives."""
    robot, free = mechanism.robot, mechanism.independent
    size = np.array([1.0 if joint["turns"] else 0.3 for joint in robot["joints"]])
    q, v = np.array(rest), np.zeros(mechanism.n)
    v[free] = np.round(rng.uniform(-1.0, 1.0, len(free)) * size[free], 3)
    q[free] += np.round(rng.uniform(-1.0, 1.0, len(free)) * size[free] / slowest, 6)
    q = mechanism.close(near.close(q))
    v = mechanism.compatible(q, v)
    # Forces as large as those that the motion takes.
    bias = np.abs(near.state(np.array(doubles(q)), np.array(doubles(v))).h).max()
    tau = [float(f"{force:.3g}") for force in rng.uniform(-1.0, 1.0, len(mechanism.drives)) * bias]
    a = mechanism.accelerations(q, v, Digits.array(tau))
    kinetic, potential = mechanism.energies(q, v)
    return {"q": doubles(q), "v": doubles(v), "tau": tau, "accelerations": text(a)} | {
        "kinetic": text([kinetic])[0],
        "potential": text([potential])[0],
    }


def write(name):
    """Make the truth of a robot again and keep it."""
    from describe import describe

    FOLDER.mkdir(exist_ok=True)
    record = make(describe(name))
    # A line for each body, joint, loop and state.
    lines = json.dumps(record).replace(', {"name"', ',\n{"name"').replace(', {"q"', ',\n{"q"')
    (FOLDER / f"{name}.json").write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    from collection import ROBOTS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(ROBOTS))
    for name in parser.parse_args().names:
        write(name)
        print(name, flush=True)
