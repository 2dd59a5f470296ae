"""General: closure step, plan."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.compact.closure_step import is_step_determined
from nacelle.compact.plan import plan_of, reason_for_tree
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.sample_states import closed_sample_states
from nacelle.kinematics.solve import newton_steps
from nacelle.model.robot import Robot
from nacelle.spatial.physics import Form, use_form
from support.random_robots import inner_loops
from support.rigid_robots import RIGID
from support.stress_robots import STRESS

# ---- closure step
#
# Newton's step of the compact form: the same as that of the tree up to the square of what is open.

# How far the pose is moved, over the robot's size or in rad.
MOVED = (1e-3, 1e-4)

# Robots with legs or platforms that have no closed form.
NAMES = (
    *("h4", "3rps", "delta4", "3-PRRRR", "3-PRS"),
    *("spherical 3-RRR, right angles", "spherical 3-RRR, any angles"),
    *("Delta with tolerances in one leg, loaded", "H4 with a rod 0.1 mm longer", "leg with an inner loop"),
    *("drives, springs and rotors at closures", "friction in every joint", "fixed joints", "tilting head"),
    *("platform with a loop", "shared carriage", "loop inside a leg", "cut at the motor"),
)


def robot_of(name: str) -> Robot:
    if name == "leg with an inner loop":
        return inner_loops.draw(1).robot
    if name in RIGID:
        return RIGID[name].make(1)
    return STRESS[name](1) if name in STRESS else nacelle.load(name)


def determined_unknowns(robot: Robot) -> np.ndarray:
    """Which unknowns the loops determine: all but the rotations of rods, which may spin."""
    mechanism, plan = mechanism_of(robot), plan_of(robot)
    kept = [True] * mechanism.dependent_count
    for j in mechanism.iterated_joints:
        kept += [robot.joints[j].successor not in plan.parts.rods] * robot.joints[j].nq
    return np.array(kept)


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
def test_step(name: str) -> None:
    """A step leaves the square of what was open, and is that of the tree."""
    robot = robot_of(name)
    mechanism, plan = mechanism_of(robot), plan_of(robot)
    assert is_step_determined(plan, len(mechanism.dependent))
    x0, y0 = closed_sample_states(robot)[1]
    way = np.random.default_rng(2).normal(size=x0.shape)
    way *= np.where(np.array(mechanism.layout.units) == "m", robot.size, 1.0)
    left, apart = [], []
    for h in MOVED:
        x = x0 + h * way
        if mechanism.layout.quaternion is not None:
            x[mechanism.layout.quaternion] /= np.linalg.norm(x[mechanism.layout.quaternion])
        step = newton_steps.loop_closing_step(robot, y0, x)
        after = newton_steps.loop_closing_step(robot, y0 + np.asarray(step["dy"], dtype=float), x)
        left.append(float(after["error"]) / float(step["error"]))
        with use_form(Form.TREE):
            dense = newton_steps.loop_closing_step(robot, y0, x)
        size = np.max(np.abs(np.asarray(dense["dy"], dtype=float)))
        off = np.abs(np.asarray(step["dy"] - dense["dy"], dtype=float))
        apart.append(np.max(off[determined_unknowns(robot)], initial=0.0) / size)
    assert left[1] < max(0.3 * left[0], 1e-10)
    assert left[1] < 0.05
    assert apart[1] < max(0.3 * apart[0], 1e-10)


# ---- Plans: which robots have a compact form


@pytest.mark.parametrize("count", [1, 5, 6, 7])
def test_arms_without_a_platform_have_the_general_form(count: int) -> None:
    """With any number of motions, six as of a hexapod among them."""
    names = ["base", *(f"b{k}" for k in range(count))]
    joints = {
        f"q{k}": {
            "type": "revolute",
            "parent": names[k],
            "child": names[k + 1],
            "axis": "zyx"[k % 3],
            "at": [0.1, 0.02 * k, 0.2],
            "active": True,
        }
        for k in range(count)
    }
    bodies = {name: {"mass": 1.0, "com": [0.1, 0.02, 0.03]} for name in names[1:]}
    arm = {"name": "arm", "bodies": bodies, "joints": joints}
    data = {"format": "nacelle/2", "name": "arm", "units": "SI", "motion": list(joints), "legs": [arm]}
    assert not reason_for_tree(nacelle.build(data))
