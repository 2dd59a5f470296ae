"""Inverse dynamics from elements, pose and encoders: `python benchmarks/elements.py [ROBOT ...]`.

For every robot of the library whose legs are made of kinematic elements the operations of inverse dynamics
with friction from three inputs, as [OAM] Table 3 compares two of them for the five-bar: from the state of the
elements ("vision"), from the pose, and from encoders. Where the pose follows from the actuators in closed
form, encoders have a program of their own; elsewhere the pose is found by Newton's method, and the table has
the operations of one step and the steps that it takes from the pose one millisecond before, at one robot
size (1 rad) a second. Forces from elements are compared with those from the pose at random states.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from timing import say

import nacelle
from nacelle.compile import make_program
from nacelle.dynamics.models import model
from nacelle.errors import KinematicsError
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.newton_steps import pose_step
from nacelle.program.cost import count
from nacelle.spatial.physics import input_shapes
from nacelle.verify.states import integrate_poses, random_states
from support.library import NAMES, library_robot

_PERIOD = 1e-3
_STATES = 100


def row(name):
    """Counts of a robot, and how far elements and pose are apart; None without elements."""
    robot = library_robot(name)
    try:
        elements = count(model(robot, input="elements").program())
    except KinematicsError as reason:
        say(f"{name}: {reason}")
        return None
    pose = count(model(robot).program())
    drawn = random_states(robot, _STATES, 1)
    state = nacelle.papers.element_state(robot, drawn.x, drawn.v, drawn.a)
    exact = nacelle.inverse_dynamics(robot, drawn.x, drawn.v, drawn.a).tau
    apart = float(np.max(np.abs(nacelle.inverse_dynamics(robot, state).tau - exact)) / np.max(np.abs(exact)))
    say(f"{name}: elements {elements.total}, pose {pose.total}, apart {apart:.1e}")
    return {"robot": name, "elements": elements, "pose": pose, "apart": apart, **encoders(robot, drawn)}


def encoders(robot, drawn):
    """Operations from encoders in closed form; else those of a step of Newton's method, and the steps."""
    try:
        return {"encoders": count(model(robot, input="encoders").program()).total}
    except KinematicsError:
        pass
    step = count(make_program(pose_step, robot, input_shapes(pose_step, robot))).total
    direction = np.sign(drawn.v) * twist_scales(robot)
    before = integrate_poses(robot, drawn.x, -_PERIOD * direction)
    q = nacelle.inverse_kinematics(robot, drawn.x, limits=False).q
    found = [
        nacelle.forward_kinematics(robot, q[k], guess=before[k]).iterations for k in range(min(20, len(q)))
    ]
    return {"step": step, "steps": float(np.median(found))}


def line(found):
    """A line of the table."""
    e, p = found["elements"].total, found["pose"].total
    if "encoders" in found:
        own, ratio = str(found["encoders"]), found["encoders"] / e
    else:
        total = p + found["steps"] * found["step"]
        own, ratio = f"{p} + {found['steps']:.0f} x {found['step']}", total / e
    return (
        f"| `{found['robot']}` | {e} ({found['elements'].add} + {found['elements'].mul}) | {p} | {own} | "
        f"{p / e:.2f} | {ratio:.1f} | {found['apart']:.0e} |"
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=list(NAMES))
    given = parser.parse_args()
    rows = [found for found in map(row, given.robots) if found is not None]
    heads = ("robot", "elements (additions + products)", "pose", "encoders", "pose / elements")
    print("| " + " | ".join((*heads, "encoders / elements", "apart")) + " |")
    print("|---|---|---|---|---|---|---|")
    for found in sorted(rows, key=lambda found: found["pose"].total):
        print(line(found))


if __name__ == "__main__":
    main()
