"""Random planar robots with flexible links: cranks and sliders mixed, no two legs alike, frames turned."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from support.random_robots.written import Data, leg, prismatic, random_friction, revolute

Array = np.ndarray


def random_planar(seed: int, *, point: bool = False, turned_plate: bool = False) -> Robot:
    """A robot in the plane of x and y with gravity in any direction.

    Args:
        seed: of its numbers.
        point: whether two legs carry a point; else three carry a plate.
        turned_plate: whether the plate's z is not the plane's normal in the reference pose.
    """
    rng = np.random.default_rng(seed)
    position = rng.uniform(-0.05, 0.05, 2)
    heading_change = float(rng.uniform(-0.3, 0.3))
    R = Rotation.from_euler("z", heading_change).as_matrix()
    if turned_plate:
        R = R @ Rotation.from_euler("x", 90, degrees=True).as_matrix()
    count = 2 if point else 3
    legs = []
    for k in range(count):
        angle = 2.0 * np.pi * k / count + rng.uniform(-0.3, 0.3) + (0.4 if point else 0.0)
        along = np.array([np.cos(angle), np.sin(angle)])
        across = np.array([-along[1], along[0]])
        tip = np.array([*position, 0.0]) + (
            0.0 if point else np.array([*(rng.uniform(0.06, 0.1) * along), 0.0])
        )
        elbow = tip[:2] + rng.uniform(0.2, 0.3) * along + rng.uniform(0.05, 0.15) * across
        at = R.T @ (tip - np.array([*position, 0.0]))
        legs.append(_leg(f"leg{k}", rng, elbow, tip[:2], at, point))
    body: Data = {"mass": float(rng.uniform(0.5, 1.5))}
    if not point:
        body |= {"inertia": [0.004, 0.005, 0.006], "com": rng.uniform(-0.01, 0.01, 3).tolist()}
    robot = nacelle.build(
        {
            "name": f"random-planar-{seed}",
            "motion": "xy" if point else "xy+rz",
            "gravity": rng.uniform(-6.0, 6.0, 3).tolist(),
            "reference": {
                "position": [*position.tolist(), 0.0],
                **({} if point else {"rotation": {"matrix": R.tolist()}}),
            },
            "platform": {"name": "plate", **body, **({"type": "point"} if point else {})},
            "legs": legs,
        }
    )
    return with_rotated_links(robot, rng)


def _beam(rng: np.random.Generator) -> Data:
    d = float(rng.uniform(0.004, 0.008))
    section = [{"circle": d}, {"rectangle": [d, 1.5 * d]}, {"tube": [1.5 * d, d]}][rng.integers(3)]
    options = {"damping": {"ratio": float(rng.uniform(0.0, 0.02))}, "number": int(rng.integers(1, 4))}
    return {
        "section": section,
        "material": {"E": float(rng.uniform(3e9, 2e11)), "density": float(rng.uniform(1500.0, 8000.0))},
        "beam": options,
    }


def _leg(name: str, rng: np.random.Generator, elbow: Array, tip: Array, at: Array, point: bool) -> Data:
    """A crank or a slider at an elbow, and a flexible coupler from there to a tip."""
    span = tip - elbow
    length, heading = float(np.hypot(*span)), float(np.arctan2(span[1], span[0]))
    base = float(rng.uniform(-3.0, 3.0))  # heading of the leg's first frame
    frame: Data = {"rotation": {"axis": "z", "angle": base}}
    rubbing = {"friction": random_friction(rng, 0.01)}
    if rng.integers(2):
        angle = float(rng.uniform(-3.0, 3.0))
        crank = float(rng.uniform(0.12, 0.2))
        start = elbow - crank * np.array([np.cos(angle), np.sin(angle)])
        rigid = {"mass": 0.4, "com": [crank / 2, 0, 0.01], "inertia": [0.0001, 0.001, 0.001]}
        motor = {"actuator": {"rotor_inertia": 0.002}, "guess": angle - base}
        drive = revolute("base", "arm", frame, "z", **motor, **rubbing)
        body, arm, direction = (_beam(rng) if rng.integers(2) else rigid), crank, angle
    else:
        travel = float(rng.uniform(-0.1, 0.1))
        start = elbow - travel * np.array([np.cos(base), np.sin(base)])
        drive = prismatic("base", "arm", frame, "x", guess=travel, active=True, **rubbing)
        body = {"mass": 0.7, "com": [0.01, 0.02, 0.0], "inertia": [0.001, 0.001, 0.001]}
        arm, direction = 0.0, base
    frame["translation"] = [*start.tolist(), 0.0]
    turn = float((heading - direction + np.pi) % (2.0 * np.pi) - np.pi)
    rubbing = {"friction": random_friction(rng, 0.01)}
    joints = {"drive": drive, "elbow": revolute("arm", "coupler", [arm, 0, 0], "z", guess=turn, **rubbing)}
    end = {} if point else {"child_at": {"translation": at.tolist(), "rotation": _upright(at)}}
    wrist = revolute("coupler", "plate", [length, 0, 0], "z", **end)
    return leg(name, {"arm": body, "coupler": _beam(rng)}, joints, {"wrist": wrist})


def _upright(at: Array) -> Data:
    """Rotation of a frame of the plate whose z is the plane's normal, where the plate is turned about x."""
    rotation = Rotation.from_euler("x", 0 if abs(at[2]) < 1e-12 else -90, degrees=True)
    return {"matrix": rotation.as_matrix().tolist()}


def with_rotated_links(robot: Robot, rng: np.random.Generator, *, planar: bool = True) -> Robot:
    """The same robot with frames of its flexible bodies turned and moved, of a planar one in its plane."""
    for k, body in enumerate(robot.bodies):
        if body.section:
            rotation = Rotation.from_euler("zx", [rng.uniform(-3.0, 3.0), np.pi * rng.integers(2)])
            if not planar:
                rotation = Rotation.from_rotvec(rng.uniform(-1.0, 1.0, 3))
            robot = with_other_frames(robot, k, Pose(rotation.as_matrix(), rng.uniform(-0.1, 0.1, 3)))
    return robot


def with_other_frames(robot: Robot, body: int, change: Pose) -> Robot:
    """The same robot with another frame of a body: what was at p is at change.R p + change.p."""
    joints = []
    for joint in robot.joints:
        if joint.predecessor == body:
            joint = dataclasses.replace(joint, frame_predecessor=change @ joint.frame_predecessor)
        if joint.successor == body:
            joint = dataclasses.replace(joint, frame_successor=change @ joint.frame_successor)
        joints.append(joint)
    own = robot.bodies[body]
    inertia = transform_parameters(change.R, change.p, np.array(own.inertia))
    bodies = list(robot.bodies)
    bodies[body] = dataclasses.replace(own, inertia=tuple(np.asarray(inertia).tolist()))
    return dataclasses.replace(robot, bodies=tuple(bodies), joints=tuple(joints), declaration=None)
