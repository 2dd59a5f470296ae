"""Figures of docs/control_laws.md: `python benchmarks/control_laws.py [poles observer impedance ...]`.

- poles: errors of a run that starts a millimetre or more off the desired motion, at rest and in motion;
  frequency and damping by least squares, and those stated;
- margins: the least damping of all poles of the loop around rest, with a model whose masses are wrong;
- defaults: the same over the workspace, with the gains that are chosen if nothing is stated;
- bandwidths: what `sj` takes if nothing is stated, and the least damping at other poses;
- observer: a step of force on the platform; when 63 % and 99 % of it are found, and the stated poles;
- impedance: constant wrenches on the platform along each of its coordinates, over displacements; with
  stiction in the robot, what is left of the way;
- operations: of a sample of each law.

Nothing is asserted; tests/control/ asserts less.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from nacelle.compile import compile_function
from nacelle.control.blocks.desired import friction_along_twist
from nacelle.control.controller import law_function
from nacelle.control.gains import effective_masses, smallest_damping_ratio
from nacelle.control.laws.computed_torque import OBSERVER_RATIO
from nacelle.control.named import controller
from nacelle.control.poles import loop_poles
from nacelle.dynamics.jacobian import sample_poses
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.program.cost import count
from nacelle.simulation.driven_plant import driven_plant
from nacelle.simulation.drives import Drives, stiction_of
from nacelle.simulation.rigid_plant import rigid_plant
from support.control_loops import Loop, observed_disturbance, platform_wrench, stiffness
from support.uncompiled import named_robot

T = 5e-4
BANDWIDTH, DAMPING = 10.0, 0.7
ROBOTS = ("fivebar", "redundant", "delta", "palida", "quattro", "3rps")
# Stiffness, N/m and N m/rad, and wrenches, N and N m, along each coordinate.
SPRINGS = {
    "fivebar": ((2e3, 5e3), {"x": 4.0, "y": 10.0}),
    "redundant": ((2e3, 5e3), {"x": 4.0, "y": 10.0}),
    "delta": ((3e3, 5e3, 8e3), {"x": 6.0, "y": 10.0, "z": 16.0}),
    "palida": (
        (2e4, 3e4, 4e4, 1500.0, 2e3, 2500.0),
        {"x": 40.0, "y": 60.0, "z": 80.0, "rx": 15.0, "ry": 20.0, "rz": 25.0},
    ),
}


def row(*entries):
    print("| " + " | ".join(str(entry) for entry in entries) + " |", flush=True)


def head(*entries):
    row(*entries)
    row(*("---" for _ in entries))


def poles():
    head("robot", "law", "delay, ms", "reference", "frequency off by", "damping off by")
    for name in ROBOTS:
        robot = named_robot(name)
        n = robot.motion.n
        start = 1e-3 * (1.0 + 0.3 * np.arange(n))
        for law in ("ct-cartesian", "ct-actuator"):
            for delay in (0.0, T / 2.0, T):
                own = controller(robot, law, period=T, bandwidth=BANDWIDTH, damping=DAMPING, delay=delay)
                swings = {"at rest": None, "in motion": np.full(n, 0.01)}
                if mechanism_of(robot).parasitic:
                    del swings["in motion"]
                for words, swing in swings.items():
                    found = Loop(own, delay, swing).poles(start, actuators=law == "ct-actuator")
                    off = [max(abs(p.frequency / BANDWIDTH - 1.0) for p in found)]
                    off.append(max(abs(p.damping / DAMPING - 1.0) for p in found))
                    row(name, law, f"{1e3 * delay:g}", words, *(f"{100.0 * value:.1g} %" for value in off))


def margins():
    factors = (0.5, 0.7, 1.0, 1.4, 2.0)
    head("robot", "law", *(f"masses x {factor:g}" for factor in factors))
    for name in ("fivebar", "delta"):
        robot = named_robot(name)
        x = mechanism_of(robot).reference[0]
        for law in ("ct-cartesian", "ct-actuator", "ct-observer", "impedance"):
            found = []
            for factor in factors:
                model = robot.with_parameters(factor * robot.parameter_vector("inertia"), "inertia")
                own = controller(model, law, period=T, bandwidth=25.0, delay=T / 2.0)
                s = loop_poles(own, x, delay=T / 2.0, true=robot).values[0]
                # What is gone within two samples does not count.
                s = s[s.real > -1.5 / T]
                found.append(np.min(-s.real / np.abs(s)))
            row(name, law, *(f"{value:.2f}" for value in found))


def defaults():
    laws = ("ct-cartesian", "ct-observer", "impedance")
    head("robot", *(f"{law}, delay {1e3 * delay:g} ms" for law in laws for delay in (0.0, T)))
    for name in ("fivebar", "3rrr", "delta", "palida", "quattro", "orthoglide", "gough-stewart"):
        found = []
        for law in laws:
            for delay in (0.0, T):
                own = controller(named_robot(name), law, period=T, delay=delay)
                found.append(f"{smallest_damping_ratio(own, delay=delay):.2f}")
        row(name, *found)


def bandwidths():
    """What `sj` takes without a bandwidth at half a sample of delay, and its damping at 100 other poses."""
    head("robot", "bandwidth, Hz", "smallest damping ratio")
    for name in ("fivebar", "3rrr", "delta", "palida", "quattro", "orthoglide", "gough-stewart"):
        robot = named_robot(name)
        own = controller(robot, "sj", period=T, delay=T / 2.0)
        w = math.sqrt(own.gain("stiffness")[0] / effective_masses(robot)[0].held[0])
        poles = loop_poles(own, sample_poses(robot, 100, seed=11), delay=T / 2.0)
        row(name, f"{w / 2.0 / math.pi:.1f}", f"{np.min(poles.damping):.2f}")


def observer():
    w = 2.0 * math.pi * OBSERVER_RATIO * BANDWIDTH
    print(f"two poles at {w:.0f} rad/s: 63 % at {2.146e3 / w:.1f} ms, 99 % at {6.638e3 / w:.1f} ms")
    head("robot", "force", "delay, ms", "63 % at, ms", "99 % at, ms", "off in the end by")
    for name, coordinate, size in (
        ("fivebar", "x", 5.0),
        ("delta", "z", 10.0),
        ("palida", "y", 50.0),
        ("palida", "rx", 10.0),
    ):
        robot = named_robot(name)
        for delay in (0.0, T / 2.0):
            own = controller(robot, "ct-observer", period=T, bandwidth=BANDWIDTH, delay=delay)
            t, d, step = observed_disturbance(
                Loop(own, delay), platform_wrench(robot, coordinate, size), rest=0.05, seconds=0.2
            )
            k = int(np.argmax(np.abs(step)))
            part = d[:, k] / step[k]
            times = [t[np.argmax(part > 0.632)], t[np.flatnonzero(np.abs(part - 1.0) > 0.01)[-1] + 1]]
            off = np.max(np.abs(d[-1] - step)) / abs(step[k])
            unit = "N m" if coordinate.startswith("r") else "N"
            row(
                name,
                f"{coordinate}, {size:g} {unit}",
                f"{1e3 * delay:g}",
                *(f"{1e3 * time:.1f}" for time in times),
                f"{100.0 * off:.1g} %",
            )


def impedance():
    head("robot", "stiffness, N/m and N m/rad", "off by, at most", "others, at most")
    for name, (stated, loads) in SPRINGS.items():
        own = controller(
            named_robot(name), "impedance", period=T, delay=T / 2.0, damping=DAMPING, stiffness=stated
        )
        K = stiffness(Loop(own, T / 2.0), loads, 0.6)
        off = np.max(np.abs(np.diag(K) / stated - 1.0))
        others = np.max(np.abs(K - np.diag(np.diag(K))) / np.min(stated))
        row(name, ", ".join(f"{k:g}" for k in stated), f"{100.0 * off:.1g} %", f"{100.0 * others:.1g} %")
    print()
    head(
        "robot", "force, N", "force over stiffness, mm", "way, mm", "band, mm", "friction over stiffness, mm"
    )
    for name, sizes in (("fivebar", (0.5, 1.0, 2.0, 4.0, 8.0)), ("palida", (50.0, 100.0, 200.0))):
        robot = named_robot(name)
        sticking = stiction_of(robot)
        k = SPRINGS[name][0][0]
        own = controller(robot, "impedance", period=T, damping=DAMPING, stiffness=SPRINGS[name][0])
        loop = Loop(own)
        # Friction of a slow motion along x.
        slow = 1e-2 * np.eye(robot.motion.n)[0]
        band = friction_along_twist(robot, *loop.reference, slow, 1e-5)[0] / k
        for size in sizes:
            rigid = rigid_plant(sticking.robot, smooth=1e-3, external=platform_wrench(robot, "x", size))
            run = loop.run(0.6, plant=driven_plant(rigid, Drives(stiction=sticking.friction)))
            way = -loop.errors(run, loop.rows(0.6))[-1][0]
            row(name, f"{size:g}", *(f"{1e3 * v:.3f}" for v in (size / k, way, size / k - way, band)))


def operations():
    head("robot", "law", "additions", "products", "roots, sines", "numbers remembered")
    for name in ("fivebar", "delta", "palida"):
        robot = named_robot(name)
        for law in ("cf-rb", "cf-rb-friction", "ct-cartesian", "ct-actuator", "ct-observer", "impedance"):
            kind = controller(robot, law).kind
            own = count(compile_function(law_function(kind), robot).program)
            row(name, law, own.add, own.mul, own.sqrt + own.trig, kind.memory(robot).size)


SECTIONS = {f.__name__: f for f in (poles, margins, defaults, bandwidths, observer, impedance, operations)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), metavar="SECTION")
    chosen = parser.parse_args().sections
    for name in chosen:
        print(f"\n{name}\n")
        SECTIONS[name]()


if __name__ == "__main__":
    main()
