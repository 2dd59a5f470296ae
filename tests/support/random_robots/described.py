"""Random robots made through the description format.

Two kinds:

- `any_tree`: a robot that only has to be built; its loops need not close.
- `closing`: a robot whose loops close in the reference pose with the guessed joint values. The
  tree is placed first; then the frames of the closures are put where the bodies are.

Each is a plain function of a seed and a hypothesis strategy. Structure (kinds of legs, joints, forms in
which frames are written) comes from `Choices`, so that hypothesis can shrink it; real numbers come
from a seeded generator.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.tree.spanning_tree import tree_kinematics
from support.random_robots.numbers import (
    Choices,
    DrawnChoices,
    SeededChoices,
    coordinates,
    random_position,
    random_rotation,
    relative_pose,
)

Array = np.ndarray
Data = dict[str, Any]

JOINT_TYPES = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "spherical",
    "planar-spherical",
    "spherical-planar",  # planar-spherical with `plane: child`
    "fixed",
)
DRIVEN_TYPES = ("revolute", "prismatic")
POINT_TYPES = ("revolute", "universal", "spherical")
LEG_SHAPES = ("serial", "serial", "branched", "parallelogram", "beyond", "base-loop")

# ---------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class BodyInertia:
    """Mass, centre of mass and inertia about it, as drawn (after a leg's reflection)."""

    mass: float
    com: Array
    about_com: Array


@dataclass(frozen=True)
class RandomRobot:
    """A random robot with what it was made from.

    Attributes:
        description: the data given to the reader.
        robot: the robot that the reader made of it.
        inertias: for each body of mass, by full name, what its inertia must be.
    """

    description: Data
    robot: Robot
    inertias: dict[str, BodyInertia]

    def __repr__(self) -> str:
        return f"RandomRobot({self.description!r})"


@dataclass
class _Cut:
    """A closure whose frame on one side is still to be found.

    Attributes:
        name: full name of the joint.
        written: the mapping that describes it.
        parent: full name of the parent body.
        child: full name of the child body.
        Q_parent: orthogonal matrix that takes translations as written to translations in the parent.
        Q_child: the same for the child.
        moves_parent: whether the frame on the parent is put in place, not the one on the child.
    """

    name: str
    written: Data
    parent: str
    child: str
    Q_parent: Array
    Q_child: Array
    moves_parent: bool = False


@dataclass
class _Work:
    """What is collected while a description is made."""

    choices: Choices
    rng: np.random.Generator
    inertias: dict[str, BodyInertia] = field(default_factory=dict)
    cuts: list[_Cut] = field(default_factory=list)
    driven: int = 0


# ---------------------------------------------------------------------------------------- writing


def write_rotation(form: str, R: Array) -> Data:
    """A rotation in one of the four written forms."""
    rotation = Rotation.from_matrix(R)
    if form == "matrix":
        return {"matrix": R.tolist()}
    if form == "rpy":
        return {"rpy": rotation.as_euler("xyz").tolist()}
    if form == "quat_xyzw":
        return {"quat_xyzw": rotation.as_quat().tolist()}
    vector = rotation.as_rotvec()
    angle = float(np.linalg.norm(vector))
    return {"axis": (vector / angle).tolist() if angle > 1e-8 else "z", "angle": angle}


def write_frame(choices: Choices, R: Array, p: Array) -> Data:
    form = choices.pick(("matrix", "rpy", "axis", "quat_xyzw"))
    return {"translation": p.tolist(), "rotation": write_rotation(form, R)}


def _any_frame(work: _Work) -> Any:
    """A random frame in a random form."""
    form = work.choices.pick(("frame", "frame", "vector", "none", "khalil_kleinfinger"))
    if form == "frame":
        return write_frame(work.choices, random_rotation(work.rng), random_position(work.rng))
    if form == "vector":
        return random_position(work.rng).tolist()
    if form == "none":
        return {}
    names = ("gamma", "b", "alpha", "d", "theta", "r")
    sizes = (3.0, 0.4, 3.0, 0.4, 3.0, 0.4)
    return {
        "khalil_kleinfinger": {n: float(work.rng.uniform(-s, s)) for n, s in zip(names, sizes, strict=True)}
    }


def _any_axis(work: _Work) -> Any:
    form = work.choices.pick(("z", "x", "-y", "-z", "vector"))
    return random_rotation(work.rng)[:, 0].tolist() if form == "vector" else form


def _body(work: _Work, name: str, mirror: Array, massless: bool = False) -> Data:
    """A body made of a cloud of mass points, so that its inertia is that of a body; or a massless one."""
    if massless or work.choices.count(0, 9) == 9:
        return {}
    weights = work.rng.uniform(0.1, 0.6, 6)
    points = random_position(work.rng, 0.2) + work.rng.uniform(-0.15, 0.15, (6, 3))
    mass = float(weights.sum())
    com = weights @ points / mass
    arms = points - com
    about_com = np.einsum("k,kij->ij", weights, _steiner(arms))
    work.inertias[name] = BodyInertia(mass, mirror @ com, mirror @ about_com @ mirror)
    form = work.choices.pick(("mapping", "six", "matrix", "frame"))
    entries = {"xx": (0, 0), "xy": (0, 1), "yy": (1, 1), "xz": (0, 2), "yz": (1, 2), "zz": (2, 2)}
    if form == "frame":
        about_frame = about_com + mass * _steiner(com[None])[0]
        inertia: Any = {n: float(about_frame[e]) for n, e in entries.items()} | {"about": "frame"}
        return {"mass": mass, "first_moment": (mass * com).tolist(), "inertia": inertia}
    if form == "mapping":
        inertia = {n: float(about_com[e]) for n, e in entries.items()}
    elif form == "six":
        inertia = [float(about_com[e]) for e in entries.values()]
    else:
        inertia = ((about_com + about_com.T) / 2).tolist()
    return {"mass": mass, "com": com.tolist(), "inertia": inertia}


def _steiner(arms: Array) -> Array:
    """Inertia (k, 3, 3) of unit masses at k points: |r|^2 1 - r r^T."""
    squares = np.einsum("ki,ki->k", arms, arms)
    return squares[:, None, None] * np.eye(3) - np.einsum("ki,kj->kij", arms, arms)


def _joint(
    work: _Work,
    parent: str,
    child: str,
    types: Sequence[str] = JOINT_TYPES,
    *,
    driven: bool = False,
    closes: bool = False,
) -> Data:
    """A joint with random frames and, in the tree, a random reference value."""
    kind = work.choices.pick(DRIVEN_TYPES if driven else types)
    written: Data = {
        "type": "planar-spherical" if kind == "spherical-planar" else kind,
        "parent": parent,
        "child": child,
        "at": _any_frame(work),
        "child_at": _any_frame(work),
    }
    if kind == "spherical-planar":
        written["plane"] = "child"
    if kind == "universal":
        if work.choices.pick((False, True)):
            R = random_rotation(work.rng)
            written["axes"] = [R[:, 0].tolist(), R[:, 1].tolist()]
    elif kind not in ("spherical", "fixed"):
        written["axis"] = _any_axis(work)
    # A C5 joint is written as two slides and a quaternion, whichever body has the plane.
    guess = coordinates("planar-spherical" if kind == "spherical-planar" else kind, work.rng)
    if guess and not closes:
        written["guess"] = guess if len(guess) > 1 else guess[0]
    if driven:
        written["active"] = True
        work.driven += 1
    return written


# ---------------------------------------------------------------------------------------- parts


def _side_placement(work: _Work) -> Data:
    """How one side of a leg is placed."""
    side: Data = {}
    form = work.choices.pick(("none", "angle", "axis", "rotation"))
    if form in ("angle", "axis"):
        side["angle"] = float(work.rng.uniform(-3, 3))
    if form == "axis":
        side["axis"] = random_rotation(work.rng)[:, 0].tolist()
    if form == "rotation":
        written = work.choices.pick(("matrix", "rpy", "axis", "quat_xyzw"))
        side["rotation"] = write_rotation(written, random_rotation(work.rng))
    if work.choices.pick((False, True)):
        side["translation"] = random_position(work.rng, 0.2).tolist()
    return side


def side_rotation(side: Data) -> Array:
    """Rotation matrix of a placement, with SciPy."""
    written = side.get("rotation")
    if written is None:
        axis = np.array(side.get("axis", [0.0, 0.0, 1.0]))
        return Rotation.from_rotvec(side.get("angle", 0.0) * axis).as_matrix()
    if "matrix" in written:
        return np.array(written["matrix"])
    if "rpy" in written:
        return Rotation.from_euler("xyz", written["rpy"]).as_matrix()
    if "quat_xyzw" in written:
        return Rotation.from_quat(written["quat_xyzw"]).as_matrix()
    axis = [0.0, 0.0, 1.0] if written["axis"] == "z" else written["axis"]
    return Rotation.from_rotvec(written["angle"] * np.array(axis)).as_matrix()


def mirror_matrix(placement: Data) -> Array:
    """The reflection of a placement, or the identity."""
    mirror = np.eye(3)
    if "mirror" in placement:
        axis = "xyz".index(placement["mirror"])
        mirror[axis, axis] = -1.0
    return mirror


def _placement(work: _Work) -> Data:
    placement = _side_placement(work)
    if work.choices.pick((False, True)):
        placement["platform"] = _side_placement(work)
    mirror = work.choices.pick(("none", "none", "x", "y", "z"))
    if mirror != "none":
        placement["mirror"] = mirror
    return placement


def _leg(work: _Work, name: str, platform_bodies: Sequence[str], point: bool) -> Data:
    """One leg of a random shape."""
    placement = _placement(work)
    S = mirror_matrix(placement)
    Q_base = side_rotation(placement) @ S
    Q_platform = side_rotation(placement["platform"]) @ S if "platform" in placement else Q_base
    leg: Data = {"name": name, "placement": placement, "bodies": {}, "joints": {}, "closures": {}}

    def body(key: str) -> str:
        leg["bodies"][key] = _body(work, f"{name}.{key}", S)
        return key

    def tree(parent: str, key: str, *, driven: bool = False, types: Sequence[str] = JOINT_TYPES) -> str:
        leg["joints"][f"j-{key}"] = _joint(work, parent, body(key), types, driven=driven)
        return key

    def cut(key: str, parent: str, child: str, types: Sequence[str] = JOINT_TYPES) -> None:
        on_platform = child in platform_bodies
        if on_platform and point:
            types = POINT_TYPES
        written = _joint(work, parent, child, types, closes=True)
        leg["closures"][key] = written
        Q_child = Q_base if child == "base" else Q_platform if on_platform else S
        full = child if child == "base" or on_platform else f"{name}.{child}"
        work.cuts.append(
            _Cut(f"{name}.{key}", written, f"{name}.{parent}", full, S, Q_child, on_platform and point)
        )
        if on_platform and point:
            # A point has no extent: the joint is at its origin.
            written["child_at"] = {}

    shapes = tuple(s for s in LEG_SHAPES if not (point and s == "beyond"))
    shape = work.choices.pick(shapes)
    target = work.choices.pick(tuple(platform_bodies))
    if shape in ("serial", "base-loop"):
        length = work.choices.count(1, 4) if shape == "serial" else work.choices.count(2, 3)
        active = work.choices.count(0, length - 1)
        parent = "base"
        for k in range(length):
            parent = tree(parent, f"b{k}", driven=k == active)
        cut("end", parent, target)
        if shape == "base-loop":
            cut("loop", f"b{work.choices.count(1, length - 1)}", "base", ("cylindrical", "spherical"))
    elif shape == "branched":
        arm = tree("base", "arm", driven=True)
        for k in range(2):
            rod = tree(arm, f"rod{k}", types=("spherical", "universal", "cylindrical"))
            cut(f"end{k}", rod, work.choices.pick(tuple(platform_bodies)))
    elif shape == "parallelogram":
        hub = tree("base", "hub", driven=True)
        first = tree(hub, "rod0", types=("revolute", "universal"))
        second = tree(hub, "rod1", types=("revolute", "universal"))
        end = tree(first, "end", types=("revolute", "spherical"))
        cut("fold", second, end, ("revolute", "spherical", "cylindrical"))
        cut("wrist", end, target)
    else:
        parent = "base"
        for k in range(work.choices.count(1, 2)):
            parent = tree(parent, f"b{k}", driven=k == 0)
        hanging = target
        for k in range(work.choices.count(1, 2)):
            hanging = tree(hanging, f"h{k}", types=("revolute", "universal", "spherical", "cylindrical"))
        cut("middle", parent, hanging)
    return leg


def _platform(work: _Work) -> tuple[Data, list[str]]:
    """A platform and the names of its bodies."""
    kind = work.choices.pick(("rigid", "point", "articulated", "articulated-loop"))
    unmoved = np.eye(3)
    if kind == "rigid":
        return {"name": "plate", **_body(work, "plate", unmoved)}, ["plate"]
    if kind == "point":
        mass = float(work.rng.uniform(0.1, 1.0))
        work.inertias["plate"] = BodyInertia(mass, np.zeros(3), np.zeros((3, 3)))
        return {"type": "point", "name": "plate", "mass": mass}, ["plate"]
    names = ["plate", "link", "half"]
    platform: Data = {
        "type": "articulated",
        "name": "plate",
        "joints": {
            "swing": _joint(work, "plate", "link", DRIVEN_TYPES),
            "fold": _joint(work, "link", "half"),
        },
    }
    if kind == "articulated-loop":
        names.append("twin")
        platform["joints"]["swing-2"] = _joint(work, "plate", "twin")
        written = _joint(work, "twin", "half", closes=True)
        platform["closures"] = {"fold-2": written}
        work.cuts.append(_Cut("fold-2", written, "twin", "half", unmoved, unmoved))
    platform["bodies"] = {name: _body(work, name, unmoved) for name in names}
    return platform, names


def _describe(choices: Choices) -> tuple[Data, _Work]:
    """A description whose closures have any frames."""
    work = _Work(choices, choices.numbers())
    platform, platform_bodies = _platform(work)
    point = platform.get("type") == "point"
    legs = [_leg(work, f"leg{k + 1}", platform_bodies, point) for k in range(choices.count(1, 4))]
    axes = ["x", "y", "z"] if point else ["x", "y", "z", "rx", "ry", "rz"]
    motion = axes[: choices.count(1, len(axes))]
    if platform.get("type") == "articulated" and choices.pick((False, True)):
        motion = [*motion, "swing"]
    description: Data = {
        "name": "random",
        "motion": motion,
        "platform": platform,
        "legs": legs,
        "gravity": random_position(work.rng, 9.0).tolist(),
        "reference": {
            "position": random_position(work.rng).tolist(),
            "rotation": write_rotation(
                choices.pick(("matrix", "rpy", "axis", "quat_xyzw")), random_rotation(work.rng)
            ),
        },
    }
    if len(legs) > 1:
        _join_legs(work, description, legs, point)
    return description, work


def _join_legs(work: _Work, description: Data, legs: list[Data], point: bool) -> None:
    """Sometimes a joint between two legs: at a point the platform's, otherwise it makes them one leg."""
    if not work.choices.pick((False, False, True)):
        return
    ends = []
    for leg in legs[:2]:
        on_point = [c["parent"] for c in leg["closures"].values() if c["child"] == "plate"]
        ends.append(f"{leg['name']}.{on_point[0] if point else next(iter(leg['bodies']))}")
    types = POINT_TYPES if point else ("spherical", "cylindrical", "planar-spherical", "spherical-planar")
    written = _joint(work, ends[0], ends[1], types, closes=True)
    if point:
        written["at"] = write_frame(work.choices, random_rotation(work.rng), np.zeros(3))
        description["platform"]["closures"] = {"hinge": written}
    else:
        description["closures"] = {"bridge": written}
    name = "hinge" if point else "bridge"
    work.cuts.append(_Cut(name, written, ends[0], ends[1], np.eye(3), np.eye(3)))


# ---------------------------------------------------------------------------------------- robots


def make_any_tree(choices: Choices) -> RandomRobot:
    """A robot that can be built; its loops are open."""
    description, work = _describe(choices)
    robot, _ = read_data(copy.deepcopy(description))
    return RandomRobot(description, robot, work.inertias)


def make_closed_robot(choices: Choices) -> RandomRobot:
    """A robot whose loops close in the reference pose with the joints at their guesses."""
    description, work = _describe(choices)
    for cut in work.cuts:
        if cut.moves_parent:
            cut.written["at"] = {}
        else:
            cut.written["child_at"] = {}
    draft, _ = read_data(copy.deepcopy(description))
    q = np.array([value for joint in draft.tree_joints for value in joint.guess])
    poses = tree_kinematics(draft, draft.reference, q).poses
    for cut in work.cuts:
        _close(work, draft, poses, cut)
    robot, _ = read_data(copy.deepcopy(description))
    return RandomRobot(description, robot, work.inertias)


def _close(work: _Work, draft: Robot, poses: Sequence[Pose], cut: _Cut) -> None:
    """Put the open frame of a closure where the bodies are.

    With F0 the frame as built from the identity, the frame A written becomes Q A Q^T F0: so the
    alignment of the joint's axes and what a reflection does to them need not be known here.
    """
    joint = draft.joints[draft.joint(cut.name)]
    parent, child = draft.body(cut.parent), draft.body(cut.child)
    q = coordinates(str(joint.kind), work.rng)
    M = relative_pose(str(joint.kind), q)
    straight = joint.predecessor == parent
    M_child_in_parent = M if straight else M.inverse()
    frame_parent = joint.frame_predecessor if straight else joint.frame_successor
    frame_child = joint.frame_successor if straight else joint.frame_predecessor
    if cut.moves_parent:
        target = poses[parent].inverse() @ poses[child] @ frame_child @ M_child_in_parent.inverse()
        built, Q, key = frame_parent, cut.Q_parent, "at"
    else:
        target = poses[child].inverse() @ poses[parent] @ frame_parent @ M_child_in_parent
        built, Q, key = frame_child, cut.Q_child, "child_at"
    R = Q.T @ target.R @ built.R.T @ Q
    cut.written[key] = write_frame(work.choices, R, Q.T @ (target.p - built.p))
    if joint.at_point:
        # Both ends of a joint at a point are at the point.
        for side, body in (("at", parent), ("child_at", child)):
            cut.written[side]["translation"] = (poses[body].inverse() @ draft.reference).p.tolist()


def any_tree(seed: int) -> RandomRobot:
    """A robot of the kind `any_tree` from a seed."""
    return make_any_tree(SeededChoices(seed))


def closed_robot(seed: int) -> RandomRobot:
    """A robot of the kind `closing` from a seed."""
    return make_closed_robot(SeededChoices(seed))


@st.composite
def any_trees(draw: Callable[[Any], Any]) -> RandomRobot:
    """Robots of the kind `any_tree`, as a strategy."""
    return make_any_tree(DrawnChoices(draw))


@st.composite
def closed_robots(draw: Callable[[Any], Any]) -> RandomRobot:
    """Robots of the kind `closing`, as a strategy."""
    return make_closed_robot(DrawnChoices(draw))
