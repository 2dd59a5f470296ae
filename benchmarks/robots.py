"""Many robots in one call: a million sets of numbers with a state each, and one with a million states.

    python benchmarks/robots.py [ROBOT ...]

For every robot counts of constant form, body and prologue, and nanoseconds a sample of inverse dynamics for

    constant    one robot, its numbers folded in, many states
    one         one robot, its numbers an input, many states
    many        as many robots as states
"""

import sys

import numpy as np
from timing import once, say

import nacelle
from nacelle.export.states import model_inputs, random_states

SAMPLES = 1_000_000


def measure(name):
    robot = nacelle.load(name)
    found = nacelle.model(robot, "inverse_dynamics")
    constant = found.compile()
    general = found.compile(parameters="input")
    states = model_inputs(random_states(robot, 100), found.inputs)
    rows = {
        key: np.tile(states[key], (SAMPLES // 100, 1)).reshape(SAMPLES, *shape)
        for key, shape in found.inputs.items()
    }
    vector = robot.numbers.vector()
    robots = vector * np.random.default_rng(0).uniform(0.99, 1.01, (SAMPLES, len(vector)))
    times = []
    for call in (
        lambda: constant(**rows),
        lambda: general(vector, **rows),
        lambda: general(robots, **rows),
    ):
        call()
        times.append(once(call)[0] * 1e9 / SAMPLES)
    counts = [c.total for c in (constant.count, general.count, general.prologue.count)]
    print(
        f"{name:16s} {counts[0]:6d} {counts[1]:6d} {counts[2]:6d}   " + " ".join(f"{t:8.0f}" for t in times)
    )


def main(names):
    columns = " ".join(f"{word:>8s}" for word in ("constant", "one", "many"))
    print(f"{'robot':16s} {'const':>6s} {'body':>6s} {'prol.':>6s}   {columns}  ns")
    for name in names:
        say(name)
        measure(name)


if __name__ == "__main__":
    main(sys.argv[1:] or ["fivebar", "delta", "palida"])
