"""Three robots, each twice: as MJCF for MuJoCo and as a description for nacelle, from the same numbers.

Neither is made from the other. The inverse kinematics, which place a plant at its start and give the controller
its references, are closed forms of this file.

    numbers                name -> SI value; geometry and everything that identification has to find
    Plant.mjcf(numbers)    text of the plant: hinges, slides and ball joints; loops closed by `connect`
    Plant.described(...)   the same robot as data for `nacelle.build`
    Plant.qpos(x, numbers) coordinates of MuJoCo at a pose of the platform

Dry friction of the drives is MuJoCo's `frictionloss`, viscous friction `damping`, the rotor `armature`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

Array = np.ndarray
Numbers = Mapping[str, float]

# RK4 at a quarter of a millisecond, constraints with a time constant of two steps: loops open by some nm.
STEP = 2.5e-4
_STIFF = 'solref="0.0005 1" solimp="0.9999 0.9999 0.001"'
_OPTION = (
    f'<option timestep="{STEP}" integrator="RK4" solver="Newton" iterations="100" tolerance="1e-14" '
    'gravity="{gravity}"><flag contact="disable" limit="disable" warmstart="enable"/></option>'
)


@dataclass(frozen=True)
class Plant:
    """A robot of the bench.

    Attributes:
        name: of the robot.
        legs: names of its legs; each has an actuator "motor".
        numbers: nominal SI values; those that `geometry` does not name are uncertain by 5 to 15 %.
        geometry: names of numbers that are exact.
        mjcf: gives the text of the plant.
        described: gives the description as data.
        qpos: gives coordinates of MuJoCo at poses x (..., n): m, and a rotation vector for a hexapod.
        centre: pose about which the robot moves.
        size: amplitude of the first harmonic in every coordinate, m and rad.
        gear: ratio, and torque constant in N m/A.
        inertia: about what a drive feels, kg m^2 or kg: gains of the controller.
        force_noise: standard deviation of the currents' noise over their rms.
    """

    name: str
    legs: tuple[str, ...]
    numbers: Numbers
    geometry: frozenset[str]
    mjcf: Callable[[Numbers], str]
    described: Callable[[Numbers], dict[str, Any]]
    qpos: Callable[[Array, Numbers], Array]
    centre: Array
    size: Array
    gear: float
    inertia: float
    torque_constant: float = 0.1
    force_noise: float = 0.01

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the actuators, which are those of the joints in MuJoCo."""
        return tuple(f"{leg}.motor" for leg in self.legs)

    def perturbed(self, seed: int) -> dict[str, float]:
        """The numbers of one machine: uncertain ones 5 to 15 % off."""
        rng = np.random.default_rng([seed, 17])
        factors = 1.0 + rng.choice([-1.0, 1.0], len(self.numbers)) * rng.uniform(0.05, 0.15, len(self.numbers))
        return {
            name: value if name in self.geometry else value * factor
            for (name, value), factor in zip(self.numbers.items(), factors, strict=True)
        }


def _text(*numbers: float) -> str:
    return " ".join(f"{value:.17g}" for value in numbers)


def _inertial(mass: float, com: Any, inertia: Any) -> str:
    return f'<inertial mass="{mass:.17g}" pos="{_text(*com)}" diaginertia="{_text(*inertia)}"/>'


def _body(mass: float, com: Any, inertia: Any) -> dict[str, Any]:
    return {"mass": mass, "com": [*map(float, com)], "inertia": [*map(float, inertia)]}


def _drive(n: Numbers, leg: str, gear: float) -> str:
    """Attributes of a driven joint."""
    return (
        f'armature="{n[f"{leg}.rotor"] * gear**2:.17g}" damping="{n[f"{leg}.viscous"]:.17g}" '
        f'frictionloss="{n[f"{leg}.coulomb"]:.17g}" solreffriction="0.0005 1" solimpfriction="0.9999 0.9999 0.001"'
    )


def _motor(n: Numbers, leg: str, gear: float, constant: float) -> dict[str, Any]:
    """The same as keys of a joint."""
    return {
        "actuator": {
            "name": "motor",
            "gear_ratio": gear,
            "rotor_inertia": n[f"{leg}.rotor"],
            "torque_constant": constant,
        },
        "friction": {"viscous": n[f"{leg}.viscous"], "coulomb": n[f"{leg}.coulomb"]},
    }


def _world(n: Numbers, bodies: str, closures: str) -> str:
    gravity = _text(n.get("gx", 0.0), n.get("gy", 0.0), n.get("gz", 0.0))
    return (
        f"<mujoco>{_OPTION.format(gravity=gravity)}<compiler angle='radian' autolimits='true'/>"
        f"<worldbody>{bodies}</worldbody><equality>{closures}</equality></mujoco>"
    )


def _connect(site: str, target: str) -> str:
    return f'<connect site1="{site}" site2="{target}" {_STIFF}/>'


# ---- A planar five-bar in a vertical plane: two hinges driven, a weight at the tip

_FIVEBAR_LEGS = ("left", "right")
_FIVEBAR_GEAR = 12.0
_FIVEBAR = {"half_base": 0.1, "proximal": 0.2, "distal": 0.25, "gx": 0.0, "gy": -9.81, "gz": 0.0, "tip": 0.3}
for _leg in _FIVEBAR_LEGS:
    _FIVEBAR |= {
        f"{_leg}.{key}": value
        for key, value in {
            **{"arm.mass": 0.4, "arm.com": 0.09, "arm.inertia": 1.4e-3},
            **{"rod.mass": 0.2, "rod.com": 0.12, "rod.inertia": 1.1e-3, "rod.viscous": 4e-3},
            **{"rotor": 3e-5, "viscous": 0.04, "coulomb": 0.08},
        }.items()
    }


def _fivebar_x(n: Numbers, leg: str) -> float:
    return n["half_base"] * (-1.0 if leg == "left" else 1.0)


def _fivebar_mjcf(n: Numbers) -> str:
    bodies = ""
    for leg in _FIVEBAR_LEGS:
        arm = _inertial(n[f"{leg}.arm.mass"], (n[f"{leg}.arm.com"], 0, 0), [n[f"{leg}.arm.inertia"]] * 3)
        rod = _inertial(n[f"{leg}.rod.mass"], (n[f"{leg}.rod.com"], 0, 0), [n[f"{leg}.rod.inertia"]] * 3)
        weight = f"<body pos='{n['distal']} 0 0'>{_inertial(n['tip'], (0, 0, 0), [1e-9] * 3)}</body>"
        bodies += (
            f"<body pos='{_text(_fivebar_x(n, leg), 0, 0)}'>{arm}"
            f"<joint name='{leg}.motor' type='hinge' axis='0 0 1' {_drive(n, leg, _FIVEBAR_GEAR)}/>"
            f"<body pos='{n['proximal']} 0 0'>{rod}"
            f"<joint name='{leg}.elbow' type='hinge' axis='0 0 1' damping='{n[f'{leg}.rod.viscous']:.17g}'/>"
            f"<site name='{leg}.tip' pos='{n['distal']} 0 0'/>{weight if leg == 'left' else ''}</body></body>"
        )
    return _world(n, bodies, _connect("left.tip", "right.tip"))


def _fivebar_described(n: Numbers) -> dict[str, Any]:
    legs = []
    for leg, branch in zip(_FIVEBAR_LEGS, (-1, 1), strict=True):
        angles = (2.27, -1.4) if leg == "left" else (0.87, 1.4)
        legs.append(
            {
                "name": leg,
                "branch": branch,
                "bodies": {
                    part: _body(n[f"{leg}.{part}.mass"], (n[f"{leg}.{part}.com"], 0, 0), [inertia] * 3)
                    for part in ("arm", "rod")
                    for inertia in [n[f"{leg}.{part}.inertia"]]
                },
                "joints": {
                    "motor": {
                        **{"type": "revolute", "parent": "base", "child": "arm", "axis": "z"},
                        "at": [_fivebar_x(n, leg), 0.0, 0.0],
                        "guess": angles[0],
                        **_motor(n, leg, _FIVEBAR_GEAR, 0.1),
                    },
                    "elbow": {
                        **{"type": "revolute", "parent": "arm", "child": "rod", "axis": "z"},
                        "at": [n.get(f"{leg}.proximal", n["proximal"]), 0.0, 0.0],
                        "guess": angles[1],
                        "friction": {"viscous": n[f"{leg}.rod.viscous"]},
                    },
                },
                "closures": {
                    "tip": {
                        **{"type": "revolute", "parent": "rod", "child": "platform", "axis": "z"},
                        "at": [n["distal"], 0.0, 0.0],
                    }
                },
            }
        )
    return {
        "motion": "xy",
        "reference": {"position": [0.0, 0.28, 0.0]},
        "platform": {"type": "point", "mass": n["tip"]},
        "legs": legs,
    }


def _fivebar_qpos(x: Array, n: Numbers) -> Array:
    angles = []
    for leg, sign in zip(_FIVEBAR_LEGS, (1.0, -1.0), strict=True):
        to_tip = x - np.array([_fivebar_x(n, leg), 0.0])
        reach = np.linalg.norm(to_tip, axis=-1)
        cosine = (n["proximal"] ** 2 + reach**2 - n["distal"] ** 2) / (2.0 * n["proximal"] * reach)
        first = np.arctan2(to_tip[..., 1], to_tip[..., 0]) + sign * np.arccos(cosine)
        elbow = to_tip - n["proximal"] * np.stack([np.cos(first), np.sin(first)], axis=-1)
        second = np.arctan2(elbow[..., 1], elbow[..., 0]) - first
        angles += [first, np.mod(second + np.pi, 2.0 * np.pi) - np.pi]
    return np.stack(angles, axis=-1)


# ---- A Delta: three driven arms, six rods on ball joints

_DELTA_LEGS = ("leg1", "leg2", "leg3")
_DELTA_GEAR = 15.0
_DELTA = {"base": 0.2, "arm": 0.24, "rod": 0.6, "width": 0.045, "plate": 0.05, "gx": 0.0, "gy": 0.0, "gz": -9.81}
_DELTA |= {"tilt": 0.0, "mass": 0.6, "inertia": 1e-3, "rod.mass": 0.08, "rod.inertia": 2.4e-3}
for _leg in _DELTA_LEGS:
    _DELTA |= {
        f"{_leg}.{key}": value
        for key, value in {
            **{"mass": 0.8, "com": 0.09, "inertia": 6e-3, "rotor": 1.2e-4, "viscous": 0.15, "coulomb": 0.6}
        }.items()
    }


def _delta_yaw(leg: str) -> float:
    return 2.0 * np.pi / 3.0 * _DELTA_LEGS.index(leg)


def _delta_rods(n: Numbers) -> list[tuple[str, float]]:  # name and offset across the arm
    return [("a", n["width"]), ("b", -n["width"])]


def _delta_mjcf(n: Numbers) -> str:
    bodies, closures, sites = "", "", ""
    for leg in _DELTA_LEGS:
        yaw = _delta_yaw(leg)
        rotation = Rotation.from_euler("z", yaw)
        arm = _inertial(n[f"{leg}.mass"], (n[f"{leg}.com"], 0, 0), (4e-4, *[n[f"{leg}.inertia"]] * 2))
        rods = ""
        for name, across in _delta_rods(n):
            inertial = _inertial(n["rod.mass"], (n["rod"] / 2, 0, 0), (2e-6, *[n["rod.inertia"]] * 2))
            rods += (
                f"<body pos='{_text(n['arm'], across, 0)}'>{inertial}<joint name='{leg}.{name}' type='ball'/>"
                f"<site name='{leg}.{name}' pos='{n['rod']} 0 0'/></body>"
            )
            point = rotation.apply([n["plate"], across, 0.0])
            sites += f"<site name='plate.{leg}.{name}' pos='{_text(*point)}'/>"
            closures += _connect(f"{leg}.{name}", f"plate.{leg}.{name}")
        # The tilt of the first shoulder, about the arm's radius.
        axis = (0.0, np.cos(n["tilt"]), np.sin(n["tilt"])) if leg == "leg1" else (0.0, 1.0, 0.0)
        bodies += (
            f"<body pos='{_text(*rotation.apply([n['base'], 0, 0]))}' euler='0 0 {yaw:.17g}'>{arm}"
            f"<joint name='{leg}.motor' type='hinge' axis='{_text(*axis)}' {_drive(n, leg, _DELTA_GEAR)}/>"
            f"{rods}</body>"
        )
    plate = _inertial(n["mass"], (0, 0, 0), [n["inertia"]] * 3)
    return _world(n, bodies + f"<body name='platform'><freejoint/>{plate}{sites}</body>", closures)


def _delta_described(n: Numbers) -> dict[str, Any]:
    legs = []
    for leg in _DELTA_LEGS:
        bodies = {"arm": _body(n[f"{leg}.mass"], (n[f"{leg}.com"], 0, 0), (4e-4, *[n[f"{leg}.inertia"]] * 2))}
        turn = {"rpy": [0.0, 0.0, _delta_yaw(leg)]}
        at = Rotation.from_euler("z", _delta_yaw(leg)).apply([n.get(f"{leg}.base", n["base"]), 0.0, 0.0])
        joints = {
            "motor": {
                **{"type": "revolute", "parent": "base", "child": "arm", "axis": "y", "guess": 0.4},
                "at": {"translation": at.tolist(), "rotation": turn},
                **_motor(n, leg, _DELTA_GEAR, 0.1),
            }
        }
        closures = {}
        for name, across in _delta_rods(n):
            rod = n["rod"]
            bodies[name] = _body(n["rod.mass"], (rod / 2, 0, 0), (2e-6, *[n["rod.inertia"]] * 2))
            joints[f"elbow-{name}"] = {
                **{"type": "spherical", "parent": "arm", "child": name},
                "at": [n.get(f"{leg}.arm", n["arm"]), across, 0.0],
                "guess": [0.0, 0.6, 0.0, 0.8],
            }
            point = Rotation.from_euler("z", _delta_yaw(leg)).apply([n["plate"], across, 0.0])
            closures[f"wrist-{name}"] = {
                **{"type": "spherical", "parent": name, "child": "platform"},
                "at": [rod, 0.0, 0.0],
                "child_at": point.tolist(),
            }
        legs.append({"name": leg, "bodies": bodies, "joints": joints, "closures": closures})
    return {
        "motion": "xyz",
        "reference": {"position": [0.0, 0.0, -0.6]},
        "platform": _body(n["mass"], (0, 0, 0), [n["inertia"]] * 3),
        "legs": legs,
    }


def _delta_qpos(x: Array, n: Numbers) -> Array:
    parts = []
    for leg in _DELTA_LEGS:
        wrist = Rotation.from_euler("z", -_delta_yaw(leg)).apply(x.reshape(-1, 3)) + [n["plate"] - n["base"], 0, 0]
        # |wrist - arm (cos q, 0, -sin q)| = rod
        square = np.sum(wrist**2, axis=-1) + n["arm"] ** 2 - n["rod"] ** 2
        radius = np.hypot(wrist[:, 0], wrist[:, 2])
        q = np.arctan2(-wrist[:, 2], wrist[:, 0]) - np.arccos(square / (2.0 * n["arm"] * radius))
        elbow = n["arm"] * np.stack([np.cos(q), 0.0 * q, -np.sin(q)], axis=-1)
        along = Rotation.from_rotvec(np.outer(-q, [0.0, 1.0, 0.0])).apply(wrist - elbow) / n["rod"]
        # The shortest rotation of x to the rod.
        quaternion = np.stack([1.0 + along[:, 0], 0.0 * q, -along[:, 2], along[:, 1]], axis=-1)
        quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
        parts += [q[:, None], quaternion, quaternion]
    upright = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(parts[0]), 4))
    qpos = np.concatenate([*parts, x.reshape(-1, 3), upright], axis=-1)
    return qpos.reshape(*x.shape[:-1], qpos.shape[-1])


# ---- A hexapod, 6-UPS: legs of equal parts

_HEXAPOD_LEGS = tuple(f"leg{k}" for k in range(1, 7))
_HEXAPOD_GEAR = 628.318530717959
_HEXAPOD = {"gx": 0.0, "gy": 0.0, "gz": -9.81, "tilt": 0.0, "mass": 9.0, "com.x": 0.01, "com.z": 0.03, "inertia": 0.11}
_HEXAPOD |= {"tube.mass": 3.0, "tube.com": 0.16, "tube.inertia": 0.06, "joint.viscous": 0.05}
_HEXAPOD |= {"rod.mass": 1.5, "rod.com": -0.2, "rod.inertia": 0.03}
for _k, _leg in enumerate(_HEXAPOD_LEGS):
    _low, _high = np.deg2rad([-15, 14, 107, 134, 223, 257])[_k], np.deg2rad([-47, 43, 76, 168, 197, 283])[_k]
    _d, _e = [0.5, 0.515, 0.485, 0.51, 0.495, 0.505][_k], 0.2
    _HEXAPOD |= {f"{_leg}.bx": _d * np.cos(_low), f"{_leg}.by": _d * np.sin(_low)}
    _HEXAPOD |= {f"{_leg}.bz": [0, 0.015, -0.01, 0.005, 0.02, -0.005][_k]}
    _HEXAPOD |= {f"{_leg}.px": _e * np.cos(_high), f"{_leg}.py": _e * np.sin(_high)}
    _HEXAPOD |= {f"{_leg}.pz": [0, -0.008, 0.005, -0.006, 0.01, -0.004][_k]}
_HEXAPOD |= {"rotor": 8e-5, "viscous": 150.0, "coulomb": 30.0}


def _hexapod_drive(n: Numbers, leg: str) -> dict[str, float]:
    return {f"{leg}.{key}": n[key] for key in ("rotor", "viscous", "coulomb")}


def _points(n: Numbers, leg: str, end: str) -> list[float]:
    return [n[f"{leg}.{end}{axis}"] for axis in "xyz"]


def _hexapod_inertia(n: Numbers) -> list[float]:
    return [n["inertia"], 1.1 * n["inertia"], 1.8 * n["inertia"]]


def _hexapod_mjcf(n: Numbers) -> str:
    bodies, closures, sites = "", "", ""
    for leg in _HEXAPOD_LEGS:
        tube = _inertial(n["tube.mass"], (0, 0, n["tube.com"]), (*[n["tube.inertia"]] * 2, 4e-3))
        rod = _inertial(n["rod.mass"], (0, 0, n["rod.com"]), (*[n["rod.inertia"]] * 2, 5e-4))
        # The slide of the first leg may be tilted against its universal joint.
        axis = (np.sin(n["tilt"]), 0.0, np.cos(n["tilt"])) if leg == "leg1" else (0.0, 0.0, 1.0)
        hinges = "".join(
            f"<joint name='{leg}.{name}' type='hinge' axis='{line}' damping='{n['joint.viscous']:.17g}'/>"
            for name, line in (("u", "1 0 0"), ("v", "0 1 0"))
        )
        bodies += (
            f"<body pos='{_text(*_points(n, leg, 'b'))}'>{tube}{hinges}<body>{rod}"
            f"<joint name='{leg}.motor' type='slide' axis='{_text(*axis)}' "
            f"{_drive(_hexapod_drive(n, leg), leg, _HEXAPOD_GEAR)}/><site name='{leg}'/></body></body>"
        )
        sites += f"<site name='platform.{leg}' pos='{_text(*_points(n, leg, 'p'))}'/>"
        closures += _connect(leg, f"platform.{leg}")
    plate = _inertial(n["mass"], (n["com.x"], 0, n["com.z"]), _hexapod_inertia(n))
    return _world(n, bodies + f"<body name='platform'><freejoint/>{plate}{sites}</body>", closures)


def _hexapod_described(n: Numbers) -> dict[str, Any]:
    legs = []
    for leg in _HEXAPOD_LEGS:
        legs.append(
            {
                "name": leg,
                "bodies": {
                    "tube": _body(n["tube.mass"], (0, 0, n["tube.com"]), (*[n["tube.inertia"]] * 2, 4e-3)),
                    "rod": _body(n["rod.mass"], (0, 0, n["rod.com"]), (*[n["rod.inertia"]] * 2, 5e-4)),
                },
                "joints": {
                    "cardan": {
                        **{"type": "universal", "parent": "base", "child": "tube"},
                        "at": _points(n, leg, "b"),
                        "friction": {"viscous": n["joint.viscous"]},
                    },
                    "motor": {
                        **{"type": "prismatic", "parent": "tube", "child": "rod", "axis": "z", "guess": 0.78},
                        **_motor(_hexapod_drive(n, leg), leg, _HEXAPOD_GEAR, 0.1),
                    },
                },
                "closures": {
                    "ball": {"type": "spherical", "parent": "rod", "child": "platform", "child_at": _points(n, leg, "p")}
                },
            }
        )
    return {
        "motion": "se3",
        "reference": {"position": [0.03, -0.02, 0.7]},
        "platform": _body(n["mass"], (n["com.x"], 0, n["com.z"]), _hexapod_inertia(n)),
        "legs": legs,
        "shared": "legs",
    }


def _hexapod_qpos(x: Array, n: Numbers) -> Array:
    poses = x.reshape(-1, 6)
    rotation = Rotation.from_rotvec(poses[:, 3:])
    parts = []
    for leg in _HEXAPOD_LEGS:
        along = poses[:, :3] + rotation.apply(_points(n, leg, "p")) - _points(n, leg, "b")
        length = np.linalg.norm(along, axis=-1)
        unit = along / length[:, None]
        parts += [np.arctan2(-unit[:, 1], unit[:, 2])[:, None], np.arcsin(unit[:, 0])[:, None], length[:, None]]
    qpos = np.concatenate([*parts, poses[:, :3], rotation.as_quat(scalar_first=True)], axis=-1)
    return qpos.reshape(*x.shape[:-1], qpos.shape[-1])


_GRAVITY = frozenset({"gx", "gy", "gz", "tilt"})
PLANTS = {
    "fivebar": Plant(
        *("fivebar", _FIVEBAR_LEGS, _FIVEBAR, _GRAVITY | {"half_base", "proximal", "distal"}),
        *(_fivebar_mjcf, _fivebar_described, _fivebar_qpos, np.array([0.0, 0.28]), np.array([0.05, 0.05])),
        *(_FIVEBAR_GEAR, 0.03),
    ),
    "delta": Plant(
        *("delta", _DELTA_LEGS, _DELTA, _GRAVITY | {"base", "arm", "rod", "width", "plate"}),
        *(_delta_mjcf, _delta_described, _delta_qpos, np.array([0.0, 0.0, -0.6]), np.full(3, 0.06)),
        *(_DELTA_GEAR, 0.08),
    ),
    "hexapod": Plant(
        "hexapod",
        _HEXAPOD_LEGS,
        _HEXAPOD,
        _GRAVITY | {f"{leg}.{end}{axis}" for leg in _HEXAPOD_LEGS for end in "bp" for axis in "xyz"},
        *(_hexapod_mjcf, _hexapod_described, _hexapod_qpos),
        np.array([0.03, -0.02, 0.7, 0.0, 0.0, 0.0]),
        np.array([0.04, 0.04, 0.04, 0.1, 0.1, 0.1]),
        *(_HEXAPOD_GEAR, 40.0),
    ),
}


def description(plant: Plant, numbers: Numbers) -> dict[str, Any]:
    """The whole description of a plant with some numbers, for `nacelle.build`."""
    gravity = [float(numbers[axis]) for axis in ("gx", "gy", "gz")]
    return {"format": "nacelle/1", "name": f"bench-{plant.name}", "gravity": gravity, **plant.described(numbers)}
