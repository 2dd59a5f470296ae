"""A search for silent errors: robots placed, turned, scaled and weighed at random, at states far and near.

    PYTHONPATH=tests python -m support.far_states --robots 25 --states 40000

Each robot of the library in turn has its numbers changed (`varied_library`) and is put somewhere
(`transformed.random_transform`). Forces by the smallest program are compared with those by the tree and with
those by Pinocchio (`far_pinocchio`) at every state that is not flagged, and all quantities of `verify` at
some. A silent error is one beyond 1e-9 for a scaled condition below 1e3, growing with it beyond, and the
rounding of the robot's coordinates. States that are flagged are not compared; the search counts them.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.verify import verify
from support.far_pinocchio import PinocchioForces
from support.library import NAMES
from support.random_robots.varied import varied_library_robot
from support.transformed import RobotTransform, random_transform

Array = np.ndarray


def random_states(robot: Robot, count: int, seed: int) -> tuple[Array, Array, Array]:
    """Poses up to half the robot's size and 1 rad from its reference, twists and accelerations."""
    rng = np.random.default_rng(seed)
    layout = mechanism_of(robot).layout
    reach = rng.uniform(0.02, 1.0, (count, 1))
    units = np.array([robot.size if unit == "m" else 1.0 for unit in layout.units])
    x = mechanism_of(robot).reference[0] + 0.5 * reach * units * rng.uniform(-1.0, 1.0, (count, layout.nx))
    if layout.quaternion is not None:
        rotation = Rotation.from_rotvec(reach * rng.uniform(-1.0, 1.0, (count, 3)))
        start = Rotation.from_quat(mechanism_of(robot).reference[0][layout.quaternion])
        x[:, layout.quaternion] = (rotation * start).as_quat()
    scale = np.array([robot.size if name in ("x", "y", "z") else 1.0 for name in robot.motion.coordinates])
    v, a = rng.normal(size=(2, count, robot.motion.n)) * scale
    return x, v, 3.0 * a


class SearchResult(NamedTuple):
    """What was found of a robot.

    Attributes:
        unflagged_count: states without a flag, all of which were compared.
        silent_errors: states without a flag whose forces are wrong by the tree or by Pinocchio.
        worst: the largest error over what is allowed, by the tree.
        worst_by_pinocchio: the same by Pinocchio.
        worst_of_all_quantities: the same of all quantities of `verify`, at some states in the workspace.
        robot: which it was.
    """

    unflagged_count: int
    silent_errors: int
    worst: float
    worst_by_pinocchio: float
    worst_of_all_quantities: float
    robot: str


def search(seed: int, states: int, engine_states: int) -> SearchResult:
    """Look at one robot at states, at some others with all that `verify` compares."""
    name = NAMES[seed % len(NAMES)]
    change: RobotTransform = random_transform(varied_library_robot(name, seed), seed)
    robot = change.robot(varied_library_robot(name, seed))
    report = verify(robot, "pinocchio", engine_states, seed)
    of_all_quantities = max(
        quantity.error / _error_bound(robot, quantity.tolerance, report.condition)
        for quantity in report.engines[0].quantities
    )
    x, v, a = random_states(robot, states, seed)
    ours = nacelle.inverse_dynamics(robot, x, v, a)
    theirs = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree")
    good = ours.flags == 0
    condition = 1.0 / np.maximum(nacelle.jacobian(robot, x).conditioning, 1e-300)
    allowed = _error_bound(robot, 1e-9, condition)
    by_tree = np.where(good, _force_error(robot, ours.tau, theirs.tau) / allowed, 0.0)
    engine = PinocchioForces(robot).forces(x[good], v[good], a[good])
    # Forces at a state whose loops are open are of another state.
    apart = np.maximum(_force_error(robot, ours.tau[good], engine.force), engine.gap)
    by_pinocchio = np.zeros(states)
    by_pinocchio[good] = apart / allowed[good]
    silent = ~(by_tree <= 1.0) | ~(by_pinocchio <= 1.0)
    away = float(np.linalg.norm(change.t))
    label = f"{name} {seed}: {change.length:.1e} long, {change.mass:.1e} heavy, {away:.1e} m away"
    count = int(silent.sum()) + (not of_all_quantities <= 1.0)
    worst = (float(np.max(errors)) for errors in (by_tree, by_pinocchio, of_all_quantities))
    return SearchResult(int(good.sum()), count, *worst, label)


def _force_error(robot: Robot, ours: Array, theirs: Array) -> Array:
    """The largest difference of forces at each state over the largest force there; moments over the size."""
    scale = np.array([1.0 if turns else 1.0 / robot.size for turns in robot.revolute_actuators])
    with np.errstate(all="ignore"):
        error = np.max(np.abs(ours - theirs) / scale, axis=-1)
        return np.asarray(error / np.maximum(np.max(np.abs(theirs) / scale, axis=-1), 1e-300))


def _error_bound(robot: Robot, tolerance: float, condition: Array | float) -> Any:
    return tolerance * np.maximum(1.0, condition / 1e3) + 1e3 * robot.coordinate_rounding * condition


def main() -> None:
    """Search, a line a robot."""
    parser = argparse.ArgumentParser(description="a search for silent errors")
    parser.add_argument("--robots", type=int, default=25)
    parser.add_argument("--states", type=int, default=40_000)
    parser.add_argument(
        "--engine-states", type=int, default=200, help="states at which `verify` compares all quantities"
    )
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args()
    unflagged = silent = 0
    for seed in range(chosen.first, chosen.first + chosen.robots):
        start = time.perf_counter()
        found = search(seed, chosen.states, chosen.engine_states)
        unflagged, silent = unflagged + found.unflagged_count, silent + found.silent_errors
        print(
            f"{found.robot}: {found.unflagged_count} unflagged, {found.silent_errors} silent errors, "
            f"worst of allowed {found.worst:.2g} by the tree, {found.worst_by_pinocchio:.2g} by Pinocchio, "
            f"{found.worst_of_all_quantities:.2g} of all quantities, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )
    print(f"{chosen.robots * chosen.states} states, {unflagged} unflagged, {silent} silent errors")


if __name__ == "__main__":
    main()
