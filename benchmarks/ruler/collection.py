"""The thirty robots of the ruler: of nacelle's library, of robots/, with changed numbers, and random ones.

Every drive has a spring, by which the robot rests near its reference and swings about it. Friction is left
out, or smooth where a robot is listed with friction. Limits, end stops and shapes are left out.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import nacelle

HERE = Path(__file__).parent
# Rate over which Coulomb friction changes its sign, rad/s or m/s.
SCALE = 0.05


@dataclass(frozen=True)
class Entry:
    """How a robot of the ruler is obtained.

    Attributes:
        source: a robot of the library, a file of robots/, or "random".
        about: what it adds to the ruler.
        hertz: of a drive that swings alone on its spring; 0 without springs.
        light: factor of the masses and inertias of all bodies of legs.
        friction: whether its joints of one axis have their friction.
        legs: freedoms of the legs of a random robot.
        seed: of a random robot.
    """

    source: str
    about: str
    hertz: float = 6.0
    light: float = 1.0
    friction: bool = False
    legs: tuple[int, ...] = ()
    seed: int = 0


ROBOTS = {
    "gazebo-fourbar": Entry("file", "planar parallelogram, a pendulum", hertz=0.0),
    "slider-crank": Entry("file", "planar, friction", friction=True),
    "fivebar": Entry("library", "planar five-bar"),
    "fivebar-friction": Entry("fivebar", "planar, friction", friction=True),
    "spring-fivebar": Entry("file", "planar, springs in passive joints"),
    "prrrp": Entry("library", "planar, two sliders"),
    "3rrr": Entry("library", "planar 3-RRR"),
    "3rrr-friction": Entry("3rrr", "planar 3-RRR, friction", friction=True),
    "backhoe": Entry("file", "planar, four coupled loops, heavy"),
    "walkleg": Entry("file", "planar, knee on a four-bar"),
    "bennett": Entry("file", "spatial 4R, overconstrained"),
    "agile-eye": Entry("file", "spherical, overconstrained"),
    "3rps": Entry("library", "spatial, parasitic motion"),
    "delta": Entry("library", "rods between ball joints"),
    "delta-light": Entry("delta", "legs of a thousandth of the mass", light=1e-3),
    "delta-codourey": Entry("library", "Delta with lumped rods"),
    "dymo": Entry("library", "3-URU"),
    "upu3": Entry("file", "3-UPU, overconstrained"),
    "tricept": Entry("file", "3-UPS and a passive leg"),
    "orthoglide": Entry("library", "parallelograms, overconstrained"),
    "h4": Entry("library", "articulated platform"),
    "hexa": Entry("library", "6-RUS"),
    "hexaglide": Entry("library", "6-PUS"),
    "gough-stewart": Entry("library", "6-UPS"),
    "gough-stiff": Entry("gough-stewart", "6-UPS on drives of 300 Hz", hertz=300.0),
    "palida": Entry("library", "6-UPS, 19 bodies"),
    "space": Entry("library", "3-UPS, two drives a leg"),
    "random-7r": Entry("random", "single loop of seven revolute joints", legs=(3, 4), seed=7),
    "random-two": Entry("random", "two legs of four and five freedoms", legs=(4, 5), seed=9),
    "random-three": Entry("random", "three legs of five freedoms", legs=(5, 5, 5), seed=24),
}


def description(name):
    """The robot as YAML text."""
    entry = ROBOTS[name]
    if entry.source == "file":
        robot = nacelle.load(HERE / "robots" / f"{name}.yaml")
    elif entry.source == "random":
        robot = nacelle.build(random_description(name, entry))
    else:
        robot = nacelle.load(name if entry.source == "library" else entry.source)
    data = _data(robot)
    data |= {"name": name, "title": entry.about, "format": "nacelle/2"}
    for key in ("sources", "notes", "tools", "payload", "modes", "shared"):
        data.pop(key, None)
    for part in (data["platform"], *data["legs"]):
        _strip(part, entry)
    if entry.hertz:
        _add_springs(data, nacelle.build(data), entry.hertz)
    return nacelle.build(data).to_yaml()


def _data(robot):
    from ruamel.yaml import YAML

    return json.loads(json.dumps(YAML(typ="safe").load(robot.to_yaml())))


def _strip(part, entry):
    bodies = part.get("bodies", {}) if "legs" not in part else {}
    for body in (part, *bodies.values()):
        body.pop("display", None)
    for body in bodies.values() if entry.light != 1.0 else ():
        for key in ("mass", "first_moment", "inertia"):
            if key in body:
                body[key] = _scaled(body[key], entry.light)
    closures = part.get("closures", {}).values()
    balls = {joint["parent"] for joint in closures if joint["type"] == "spherical"}
    for joint in part.get("joints", {}).values():
        if joint["type"] == "spherical" and joint["child"] in balls:
            bodies[joint["child"]]["spin"] = "universal"
    for joint in (*part.get("joints", {}).values(), *closures):
        for key in ("limits", "stop"):
            joint.pop(key, None)
        joint.get("actuator", {}).pop("limits", None)
        terms = joint.pop("friction", None)
        if entry.friction and terms and len(terms) == 1 and joint["type"] in ("revolute", "prismatic"):
            smooth = {key: terms[0][key] for key in ("viscous",) if key in terms[0]}
            if "coulomb" in terms[0]:
                smooth |= {"coulomb_smooth": terms[0]["coulomb"], "scale": SCALE}
            joint["friction"] = smooth


def _scaled(value, factor):
    if isinstance(value, dict):
        return {key: _scaled(entry, factor) for key, entry in value.items()}
    if isinstance(value, list):
        return [_scaled(entry, factor) for entry in value]
    return value if isinstance(value, str) else factor * value


def _add_springs(data, robot, hertz):
    """Springs at the drives: each drive swings at `hertz` on its own, at rest near the reference."""
    x = nacelle.reference_pose(robot)
    J = np.array(nacelle.jacobian(robot, x).inverse)
    inertia = np.abs(np.diag(np.linalg.inv(J @ np.linalg.inv(nacelle.mass_matrix(robot, x)) @ J.T)))
    rest = nacelle.inverse_kinematics(robot, x).q
    joints = {f"{leg['name']}.{name}": joint for leg in data["legs"] for name, joint in leg["joints"].items()}
    for actuator, mass, q in zip(robot.actuators, inertia, rest, strict=True):
        stiffness = float(f"{mass * (2.0 * math.pi * hertz) ** 2:.1e}")
        spring = {"stiffness": stiffness, "rest": float(f"{q:.3f}")}
        joints[robot.joints[actuator.joint].name]["spring"] = [spring]


def random_description(name, entry):
    """A robot whose legs have joints of random kinds, places and directions; assembled with all at zero.

    All body frames are parallel to the base there, so that positions are sums of decimals.
    """
    rng = np.random.default_rng(entry.seed)
    platform = np.round(rng.uniform(-0.1, 0.1, 3) + np.array([0.0, 0.0, 0.6]), 3)
    freedoms = 6 - sum(6 - leg for leg in entry.legs)
    legs = []
    for number, count in enumerate(entry.legs):
        # The last joint closes the loop; in between, points on a bent line from the base to the platform.
        angle = 2.0 * math.pi * number / len(entry.legs) + rng.uniform(-0.3, 0.3)
        out = np.array([math.cos(angle), math.sin(angle), 0.0])
        end = np.round(platform + 0.15 * out, 3)
        kinds = _random_kinds(rng, count)
        points = [np.round(0.45 * out, 3)]
        for k in range(1, len(kinds)):
            part = k / (len(kinds) - 1)
            bend = rng.uniform(-0.15, 0.15, 3) + 0.2 * out * math.sin(math.pi * part)
            points.append(np.round((1.0 - part) * points[0] + part * end + bend, 3) if part < 1.0 else end)
        bodies, joints, parent, before = {}, {}, "base", np.zeros(3)
        for k, (kind, point) in enumerate(zip(kinds[:-1], points, strict=False)):
            joint = {"type": kind, "parent": parent, "child": f"b{k}", "at": _list(point - before)}
            joint |= _random_axes(rng, kind)
            if (k == 0 and number < freedoms) or (number == 0 and 0 < k <= freedoms - len(entry.legs)):
                joint["actuator"] = {}
            joints[f"j{k}"] = joint
            reach = points[k + 1] - point
            length2 = float(reach @ reach)
            mass = round(rng.uniform(0.5, 3.0), 2)
            moments = [round(mass * length2 * factor, 5) for factor in (0.1, 0.12, 0.09)]
            bodies[f"b{k}"] = {"mass": mass, "com": _list(0.5 * reach), "inertia": moments}
            parent, before = f"b{k}", point
        last = {"type": kinds[-1], "parent": parent, "at": _list(end - before), "child": "platform"}
        last |= {"child_at": _list(end - platform)} | _random_axes(rng, kinds[-1])
        legs.append(
            {"name": f"leg{number + 1}", "bodies": bodies, "joints": joints, "closures": {"end": last}}
        )
    return {
        "format": "nacelle/2",
        "name": name,
        "units": "SI",
        "motion": ["x", "y", "z", "rx", "ry", "rz"][:freedoms],
        "reference": {"position": _list(platform)},
        "platform": {
            "name": "platform",
            "mass": 4.0,
            "com": [0.01, -0.02, 0.03],
            "inertia": [0.05, 0.06, 0.08],
        },
        "legs": legs,
    }


def _random_kinds(rng, count):
    """Kinds of the joints of a leg with a count of freedoms: the first revolute, the last no stroke."""
    if count <= 4:
        return ["revolute"] * count
    last = str(rng.choice(["spherical", "universal"]))
    middle = count - 1 - {"spherical": 3, "universal": 2}[last]
    return ["revolute", *rng.choice(["revolute", "prismatic"], middle, p=[0.7, 0.3]), last]


def _random_axes(rng, kind):
    if kind == "spherical":
        return {}
    axis = np.round(rng.normal(size=3), 2)
    if kind == "universal":
        return {"axes": [axis.tolist(), np.cross(axis, np.round(rng.normal(size=3), 2)).tolist()]}
    return {"axis": axis.tolist()}


def _list(values):
    return [round(float(value), 6) for value in values]
