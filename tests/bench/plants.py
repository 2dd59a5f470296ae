"""Three robots, each twice: as MJCF for MuJoCo and as a description for nacelle, from the same numbers.

Neither is made from the other: both are templates of this file. The inverse kinematics, which place a plant
at its start and give the controller its references, are closed forms of this file, too.

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

# RK4 at a quarter of a millisecond. Constraints have a time constant of four steps (at two they chatter, and
# forces are off by 2e-4): loops open by some nm.
STEP = 2.5e-4
_STIFF = 'solref="0.001 1" solimp="0.9999 0.9999 0.001"'
_WORLD = f"""<mujoco>
  <option timestep="{STEP}" integrator="RK4" solver="Newton" iterations="100" tolerance="1e-14"
    gravity="%(gx)s %(gy)s %(gz)s"><flag contact="disable" limit="disable"/></option>
  <compiler angle="radian"/>
"""
_DRIVE = (
    'armature="%(armature)s" damping="%(viscous)s" frictionloss="%(coulomb)s" '
    'solreffriction="0.0005 1" solimpfriction="0.9999 0.9999 0.001"'
)
_HEAD = """format: nacelle/1
units: SI
name: bench
gravity: [%(gx)s, %(gy)s, %(gz)s]
"""
_MOTOR = """friction: {viscous: %(viscous)s%(dry)s}, actuator: {name: motor, gear_ratio: %(gear)s,
        rotor_inertia: %(rotor)s, torque_constant: %(constant)s}"""


@dataclass(frozen=True)
class Templates:
    """Texts in which %(NAME)s is a number; those of legs see the numbers of their leg without its name.

    Attributes:
        bodies: MJCF of a leg.
        sites: MJCF of its points on the platform.
        closures: MJCF of its closures.
        world: MJCF of all, around the texts of all legs.
        leg: description of a leg.
        robot: description of all, around the texts of all legs.
    """

    bodies: str
    sites: str
    closures: str
    world: str
    leg: str
    robot: str


@dataclass(frozen=True)
class Plant:
    """A robot of the bench.

    Attributes:
        name: of the robot.
        legs: names of its legs; each has an actuator "motor".
        numbers: nominal SI values, of one leg as LEG.NAME.
        geometry: those that are exact; others are uncertain by 5 to 15 %.
        templates: texts for both engines.
        derived: numbers that follow from those of a leg, by its index; from all with the index -1.
        qpos: gives coordinates of MuJoCo at poses x (..., n): m, and a rotation vector for a hexapod.
        centre: pose about which the robot moves.
        size: amplitude of the first harmonic in every coordinate, m and rad.
        gear: ratio.
        inertia: about what a drive feels, kg m^2 or kg: gains of the controller.
        torque_constant: N m/A.
        force_noise: standard deviation of the currents' noise over their rms.
    """

    name: str
    legs: tuple[str, ...]
    numbers: Numbers
    geometry: frozenset[str]
    templates: Templates
    derived: Callable[[Numbers, int], dict[str, Any]]
    qpos: Callable[[Array, Numbers], Array]
    centre: Array
    size: Array
    gear: float
    inertia: float
    torque_constant: float = 0.1
    force_noise: float = 0.01

    @property
    def ratio_unit(self) -> str:
        """Unit of the gear ratio."""
        return "rad/m" if self.name == "hexapod" else ""

    @property
    def length(self) -> float:
        """What a shift of 1 is at a joint: rad, or the hexapod's size in m."""
        return 0.7 if self.name == "hexapod" else 1.0

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the actuators, which are those of the joints in MuJoCo."""
        return tuple(f"{leg}.motor" for leg in self.legs)

    def perturbed(self, seed: int) -> dict[str, float]:
        """The numbers of one machine: uncertain ones 5 to 15 % off."""
        rng, count = np.random.default_rng([seed, 17]), len(self.numbers)
        factors = 1.0 + rng.choice([-1.0, 1.0], count) * rng.uniform(0.05, 0.15, count)
        return {
            name: value if name in self.geometry else value * factor
            for (name, value), factor in zip(self.numbers.items(), factors, strict=True)
        }

    def _filled(self, template: str, n: Numbers, **more: Any) -> str:
        values = {**n, **more}
        return template % {k: v if isinstance(v, str) else repr(float(v)) for k, v in values.items()}

    def _of_legs(self, template: str, n: Numbers) -> str:
        """The text of all legs."""
        text = ""
        for k, leg in enumerate(self.legs):
            own = {
                **n,
                **{key.removeprefix(f"{leg}."): v for key, v in n.items() if key.startswith(f"{leg}.")},
            }
            own |= {
                "armature": own["rotor"] * self.gear**2,
                "gear": self.gear,
                "constant": self.torque_constant,
            }
            dry = f", coulomb: {float(own['coulomb'])!r}" if "coulomb" in own else ""
            text += self._filled(template, own, leg=leg, dry=dry, **self.derived(own, k))
        return text

    def mjcf(self, n: Numbers) -> str:
        """The plant with some numbers."""
        parts = ("bodies", "sites", "closures")
        texts = {part: self._of_legs(getattr(self.templates, part), n) for part in parts}
        return self._filled(_WORLD + self.templates.world, n, **texts, **self.derived(n, -1))

    def description(self, n: Numbers) -> str:
        """The description with some numbers; without dry friction in the drives if there is no `coulomb`."""
        legs = self._of_legs(self.templates.leg, n)
        return self._filled(_HEAD + self.templates.robot, n, legs=legs, **self.derived(n, -1))


def _geometry(numbers: Numbers) -> frozenset[str]:
    return frozenset({*numbers, "gx", "gy", "gz", "tilt"})


# ---- A planar five-bar in a vertical plane: two hinges driven, a weight at the tip

_SIDES = ("left", "right")
_FIVEBAR_SIZE = {"half_base": 0.1, "proximal": 0.2, "distal": 0.25}
_FIVEBAR = {**_FIVEBAR_SIZE, "gx": 0.0, "gy": -9.81, "gz": 0.0, "tip": 0.3}
for _leg in _SIDES:
    _FIVEBAR |= {f"{_leg}.arm.mass": 0.4, f"{_leg}.arm.com": 0.09, f"{_leg}.arm.inertia": 1.4e-3}
    _FIVEBAR |= {f"{_leg}.rod.mass": 0.2, f"{_leg}.rod.com": 0.12, f"{_leg}.rod.inertia": 1.1e-3}
    _FIVEBAR |= {f"{_leg}.rod.viscous": 4e-3}
    _FIVEBAR |= {f"{_leg}.rotor": 3e-5, f"{_leg}.viscous": 0.04, f"{_leg}.coulomb": 0.08}

_FIVEBAR_TEXTS = Templates(
    bodies=f"""
    <body pos="%(x)s 0 0">
      <inertial mass="%(arm.mass)s" pos="%(arm.com)s 0 0"
        diaginertia="%(arm.inertia)s %(arm.inertia)s %(arm.inertia)s"/>
      <joint name="%(leg)s.motor" type="hinge" axis="0 0 1" {_DRIVE}/>
      <body pos="%(proximal)s 0 0">
        <inertial mass="%(rod.mass)s" pos="%(rod.com)s 0 0"
          diaginertia="%(rod.inertia)s %(rod.inertia)s %(rod.inertia)s"/>
        <joint name="%(leg)s.elbow" type="hinge" axis="0 0 1" damping="%(rod.viscous)s"/>
        <site name="%(leg)s.tip" pos="%(distal)s 0 0"/>%(weight)s
      </body>
    </body>""",
    sites="",
    closures="",
    world=f"""  <worldbody>%(bodies)s</worldbody>
  <equality><connect site1="left.tip" site2="right.tip" {_STIFF}/></equality>
</mujoco>""",
    leg=f"""
  - name: %(leg)s
    branch: %(branch)s
    bodies:
      arm: {{mass: %(arm.mass)s, com: [%(arm.com)s, 0, 0],
        inertia: [%(arm.inertia)s, %(arm.inertia)s, %(arm.inertia)s]}}
      rod: {{mass: %(rod.mass)s, com: [%(rod.com)s, 0, 0],
        inertia: [%(rod.inertia)s, %(rod.inertia)s, %(rod.inertia)s]}}
    joints:
      motor: {{type: revolute, parent: base, child: arm, at: [%(x)s, 0, 0], axis: z, guess: %(first)s,
        {_MOTOR}}}
      elbow: {{type: revolute, parent: arm, child: rod, at: [%(proximal)s, 0, 0], axis: z, guess: %(second)s,
        friction: {{viscous: %(rod.viscous)s}}}}
    closures:
      tip: {{type: revolute, parent: rod, at: [%(distal)s, 0, 0], child: platform, axis: z}}""",
    robot="""motion: xy
reference: {position: [0, 0.28, 0]}
platform: {type: point, mass: %(tip)s}
legs:%(legs)s
""",
)


def _fivebar_derived(n: Numbers, k: int) -> dict[str, Any]:
    mass = f'<inertial mass="{float(n["tip"])!r}" pos="0 0 0" diaginertia="1e-9 1e-9 1e-9"/>'
    weight = f'<body pos="{n["distal"]} 0 0">{mass}</body>'
    first, second, branch = ((2.27, -1.4, "-1"), (0.87, 1.4, "1"))[k]
    return {
        **{"x": n["half_base"] * (-1.0, 1.0)[k], "weight": "" if k else weight},
        **{"first": first, "second": second, "branch": branch},
    }


def _fivebar_qpos(x: Array, n: Numbers) -> Array:
    angles = []
    for sign in (1.0, -1.0):
        to_tip = x - np.array([-sign * n["half_base"], 0.0])
        reach = np.linalg.norm(to_tip, axis=-1)
        cosine = (n["proximal"] ** 2 + reach**2 - n["distal"] ** 2) / (2.0 * n["proximal"] * reach)
        first = np.arctan2(to_tip[..., 1], to_tip[..., 0]) + sign * np.arccos(cosine)
        elbow = to_tip - n["proximal"] * np.stack([np.cos(first), np.sin(first)], axis=-1)
        second = np.arctan2(elbow[..., 1], elbow[..., 0]) - first
        angles += [first, np.mod(second + np.pi, 2.0 * np.pi) - np.pi]
    return np.stack(angles, axis=-1)


# ---- A Delta: three driven arms, six rods on ball joints; the axis of the first shoulder may be tilted

_ARMS = ("leg1", "leg2", "leg3")
_DELTA_SIZE = {"base": 0.2, "arm": 0.24, "rod": 0.6, "width": 0.045, "plate": 0.05}
_DELTA = {**_DELTA_SIZE, "gx": 0.0, "gy": 0.0, "gz": -9.81, "tilt": 0.0}
_DELTA |= {"mass": 0.6, "inertia": 1e-3, "rod.mass": 0.08, "rod.inertia": 2.4e-3}
for _leg in _ARMS:
    _DELTA |= {f"{_leg}.mass": 0.8, f"{_leg}.com": 0.09, f"{_leg}.inertia": 6e-3}
    _DELTA |= {f"{_leg}.rotor": 1.2e-4, f"{_leg}.viscous": 0.15, f"{_leg}.coulomb": 0.6}

_ROD = """
      <body pos="%(arm)s {side}%(width)s 0">
        <inertial mass="%(rod.mass)s" pos="%(half_rod)s 0 0"
          diaginertia="2e-6 %(rod.inertia)s %(rod.inertia)s"/>
        <joint type="ball"/>
        <site name="%(leg)s.{name}" pos="%(rod)s 0 0"/>
      </body>"""
_CONNECT = f'<connect site1="%(leg)s.{{name}}" site2="plate.%(leg)s.{{name}}" {_STIFF}/>'
_DELTA_TEXTS = Templates(
    bodies=f"""
    <body pos="%(ax)s %(ay)s 0" euler="0 0 %(yaw)s">
      <inertial mass="%(mass)s" pos="%(com)s 0 0" diaginertia="4e-4 %(inertia)s %(inertia)s"/>
      <joint name="%(leg)s.motor" type="hinge" axis="0 %(axis_y)s %(axis_z)s" {_DRIVE}/>
      {_ROD.format(name="a", side="")}{_ROD.format(name="b", side="-")}
    </body>""",
    sites="""
      <site name="plate.%(leg)s.a" pos="%(ux)s %(uy)s 0"/>
      <site name="plate.%(leg)s.b" pos="%(wx)s %(wy)s 0"/>""",
    closures=_CONNECT.format(name="a") + _CONNECT.format(name="b"),
    world="""  <worldbody>%(bodies)s
    <body name="platform"><freejoint/>%(sites)s
      <inertial mass="%(mass)s" pos="0 0 0" diaginertia="%(inertia)s %(inertia)s %(inertia)s"/>
    </body>
  </worldbody>
  <equality>%(closures)s</equality>
</mujoco>""",
    leg=f"""
  - name: %(leg)s
    bodies:
      arm: {{mass: %(mass)s, com: [%(com)s, 0, 0], inertia: [4e-4, %(inertia)s, %(inertia)s]}}
      a: &rod-%(leg)s {{mass: %(rod.mass)s, com: [%(half_rod)s, 0, 0],
        inertia: [2e-6, %(rod.inertia)s, %(rod.inertia)s]}}
      b: *rod-%(leg)s
    joints:
      motor: {{type: revolute, parent: base, child: arm, axis: y, guess: 0.4,
        at: {{translation: [%(ax)s, %(ay)s, 0], rotation: {{rpy: [0, 0, %(yaw)s]}}}}, {_MOTOR}}}
      elbow-a: {{type: spherical, parent: arm, child: a, at: [%(arm)s, %(width)s, 0],
        guess: [0, 0.6, 0, 0.8]}}
      elbow-b: {{type: spherical, parent: arm, child: b, at: [%(arm)s, -%(width)s, 0],
        guess: [0, 0.6, 0, 0.8]}}
    closures:
      wrist-a: {{type: spherical, parent: a, at: [%(rod)s, 0, 0], child: platform,
        child_at: [%(ux)s, %(uy)s, 0]}}
      wrist-b: {{type: spherical, parent: b, at: [%(rod)s, 0, 0], child: platform,
        child_at: [%(wx)s, %(wy)s, 0]}}""",
    robot="""motion: xyz
reference: {position: [0, 0, -0.6]}
platform: {mass: %(mass)s, com: [0, 0, 0], inertia: [%(inertia)s, %(inertia)s, %(inertia)s]}
legs:%(legs)s
""",
)


def _delta_derived(n: Numbers, k: int) -> dict[str, Any]:
    yaw, tilt = 2.0 * np.pi / 3.0 * k, 0.0 if k else n["tilt"]
    points = [[n["base"], 0.0, 0.0], [n["plate"], n["width"], 0.0], [n["plate"], -n["width"], 0.0]]
    (ax, ay, _), (ux, uy, _), (wx, wy, _) = Rotation.from_euler("z", yaw).apply(points)
    return {
        **{
            "yaw": yaw,
            "ax": ax,
            "ay": ay,
            "ux": ux,
            "uy": uy,
            "wx": wx,
            "wy": wy,
            "half_rod": n["rod"] / 2.0,
        },
        **{"axis_y": np.cos(tilt), "axis_z": np.sin(tilt)},
    }


def _delta_qpos(x: Array, n: Numbers) -> Array:
    parts = []
    for k in range(len(_ARMS)):
        wrist = Rotation.from_euler("z", -2.0 * np.pi / 3.0 * k).apply(x.reshape(-1, 3))
        wrist[:, 0] += n["plate"] - n["base"]
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


# ---- A hexapod, 6-UPS: legs of equal parts; the slide of the first may be tilted against its universal joint

_STRUTS = tuple(f"leg{k}" for k in range(1, 7))
_HEXAPOD = {"gx": 0.0, "gy": 0.0, "gz": -9.81, "tilt": 0.0}
_HEXAPOD |= {"mass": 9.0, "com.x": 0.01, "com.z": 0.03, "inertia": 0.11}
_HEXAPOD |= {"tube.mass": 3.0, "tube.com": 0.16, "tube.inertia": 0.06, "joint.viscous": 0.05}
_HEXAPOD |= {"rod.mass": 1.5, "rod.com": -0.2, "rod.inertia": 0.03}
# Radius in m and angle in degrees of the anchors on the base, angle on the platform, heights in m.
_ANCHORS = """
0.500 -15 -47  0.000  0.000
0.515  14  43  0.015 -0.008
0.485 107  76 -0.010  0.005
0.510 134 168  0.005 -0.006
0.495 223 197  0.020  0.010
0.505 257 283 -0.005 -0.004"""
_ANCHOR_NAMES = ("bx", "by", "bz", "px", "py", "pz")
for _leg, _row in zip(_STRUTS, _ANCHORS.split("\n")[1:], strict=True):
    _d, _low, _high, _b, _p = map(float, _row.split())
    _x, _y = np.cos(np.deg2rad([_low, _high])), np.sin(np.deg2rad([_low, _high]))
    _points = (_d * _x[0], _d * _y[0], _b, 0.2 * _x[1], 0.2 * _y[1], _p)
    _HEXAPOD |= {f"{_leg}.{name}": float(v) for name, v in zip(_ANCHOR_NAMES, _points, strict=True)}
_HEXAPOD |= {"rotor": 8e-5, "viscous": 150.0, "coulomb": 30.0}

_HEXAPOD_TEXTS = Templates(
    bodies=f"""
    <body pos="%(bx)s %(by)s %(bz)s">
      <inertial mass="%(tube.mass)s" pos="0 0 %(tube.com)s"
        diaginertia="%(tube.inertia)s %(tube.inertia)s 4e-3"/>
      <joint name="%(leg)s.u" type="hinge" axis="1 0 0" damping="%(joint.viscous)s"/>
      <joint name="%(leg)s.v" type="hinge" axis="0 1 0" damping="%(joint.viscous)s"/>
      <body>
        <inertial mass="%(rod.mass)s" pos="0 0 %(rod.com)s"
          diaginertia="%(rod.inertia)s %(rod.inertia)s 5e-4"/>
        <joint name="%(leg)s.motor" type="slide" axis="%(axis_x)s 0 %(axis_z)s" {_DRIVE}/>
        <site name="%(leg)s"/>
      </body>
    </body>""",
    sites='<site name="platform.%(leg)s" pos="%(px)s %(py)s %(pz)s"/>',
    closures=f'<connect site1="%(leg)s" site2="platform.%(leg)s" {_STIFF}/>',
    world="""  <worldbody>%(bodies)s
    <body name="platform"><freejoint/>%(sites)s
      <inertial mass="%(mass)s" pos="%(com.x)s 0 %(com.z)s"
        diaginertia="%(inertia)s %(inertia_y)s %(inertia_z)s"/>
    </body>
  </worldbody>
  <equality>%(closures)s</equality>
</mujoco>""",
    leg=f"""
  - name: %(leg)s
    bodies:
      tube: {{mass: %(tube.mass)s, com: [0, 0, %(tube.com)s],
        inertia: [%(tube.inertia)s, %(tube.inertia)s, 4e-3]}}
      rod: {{mass: %(rod.mass)s, com: [0, 0, %(rod.com)s], inertia: [%(rod.inertia)s, %(rod.inertia)s, 5e-4]}}
    joints:
      cardan: {{type: universal, parent: base, child: tube, at: [%(bx)s, %(by)s, %(bz)s],
        friction: {{viscous: %(joint.viscous)s}}}}
      motor: {{type: prismatic, parent: tube, child: rod, axis: z, guess: 0.78, {_MOTOR}}}
    closures:
      ball: {{type: spherical, parent: rod, child: platform, child_at: [%(px)s, %(py)s, %(pz)s]}}""",
    robot="""motion: se3
reference: {position: [0.03, -0.02, 0.7]}
platform: {mass: %(mass)s, com: [%(com.x)s, 0, %(com.z)s],
  inertia: [%(inertia)s, %(inertia_y)s, %(inertia_z)s]}
legs:%(legs)s
shared: legs
""",
)


def _hexapod_derived(n: Numbers, k: int) -> dict[str, Any]:
    if k < 0:
        return {"inertia_y": 1.1 * n["inertia"], "inertia_z": 1.8 * n["inertia"]}
    tilt = 0.0 if k else n["tilt"]
    return {"axis_x": np.sin(tilt), "axis_z": np.cos(tilt)}


def _hexapod_qpos(x: Array, n: Numbers) -> Array:
    poses = x.reshape(-1, 6)
    rotation = Rotation.from_rotvec(poses[:, 3:])
    parts = []
    for leg in _STRUTS:
        base, platform = np.reshape([n[f"{leg}.{name}"] for name in _ANCHOR_NAMES], (2, 3))
        along = poses[:, :3] + rotation.apply(platform) - base
        length = np.linalg.norm(along, axis=-1)
        x_, y_, z_ = along.T / length
        parts += [np.arctan2(-y_, z_)[:, None], np.arcsin(x_)[:, None], length[:, None]]
    qpos = np.concatenate([*parts, poses[:, :3], rotation.as_quat(scalar_first=True)], axis=-1)
    return qpos.reshape(*x.shape[:-1], qpos.shape[-1])


PLANTS = {
    "fivebar": Plant(
        *("fivebar", _SIDES, _FIVEBAR, _geometry(_FIVEBAR_SIZE), _FIVEBAR_TEXTS),
        *(_fivebar_derived, _fivebar_qpos, np.array([0.0, 0.28]), np.full(2, 0.06), 12.0, 0.03),
    ),
    "delta": Plant(
        *("delta", _ARMS, _DELTA, _geometry(_DELTA_SIZE), _DELTA_TEXTS),
        *(_delta_derived, _delta_qpos, np.array([0.0, 0.0, -0.6]), np.full(3, 0.06), 15.0, 0.08),
    ),
    "hexapod": Plant(
        *("hexapod", _STRUTS, _HEXAPOD),
        _geometry({f"{leg}.{name}": 0.0 for leg in _STRUTS for name in _ANCHOR_NAMES}),
        *(_HEXAPOD_TEXTS, _hexapod_derived, _hexapod_qpos, np.array([0.03, -0.02, 0.7, 0.0, 0.0, 0.0])),
        *(np.array([0.04, 0.04, 0.04, 0.1, 0.1, 0.1]), 628.318530717959, 40.0),
    ),
}
