"""The equations of five robots a second time, from their YAML, for the checker of proofs; no code of nacelle.

Each robot has a function from its description (plain YAML) to the coordinates of its actuators at a pose, in
mpmath. What they say of the limits of the actuators, and the Jacobian by differences of them with 60 digits,
is compared with the text of the equations in a proof (`compare`).
"""

from __future__ import annotations

import random
import re

import mpmath
from mpmath import mpf
from ruamel.yaml import YAML

from support.proof_checker import RejectedError, evaluate

_UNITS = {"mm": mpf(1) / 1000, "m": mpf(1), "deg": mpmath.pi / 180, "rad": mpf(1)}


def quantity(text):
    """A number of a description with its unit, SI."""
    match = re.fullmatch(r"\s*(-?[\d.eE+-]+)\s*(\w*)\s*", str(text))
    return mpf(match[1]) * _UNITS[match[2] or "m"]


def lengths(text):
    """The numbers of a text such as "136 -146 0 mm", m."""
    *numbers, unit = str(text).split()
    return [mpf(number) * _UNITS[unit] for number in numbers]


def rotation(r):
    """The rotation of a vector r, rad (Rodrigues)."""
    angle = mpmath.sqrt(sum(v * v for v in r))
    if not angle:
        return mpmath.eye(3)
    x, y, z = (v / angle for v in r)
    K = mpmath.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return mpmath.eye(3) + mpmath.sin(angle) * K + (1 - mpmath.cos(angle)) * (K * K)


def roll_pitch_yaw(angles):
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    a, b, c = angles
    return rotation([0, 0, c]) * rotation([0, b, 0]) * rotation([a, 0, 0])


def crank(x, y, first, second, sign):
    """The angle of the first of two bars to a point; `sign` of the elbow, positive counterclockwise."""
    square = x * x + y * y
    inner = mpmath.acos((square + first**2 - second**2) / (2 * first * mpmath.sqrt(square)))
    return mpmath.atan2(y, x) - sign * inner


def fivebar(text):
    """Bars from two motors at (-b, 0) and (b, 0) to a point; elbows outwards."""
    b, first, second = (quantity(text["constants"][key]) for key in ("half_base", "proximal", "distal"))
    limits = text["templates"]["arm"]["elements"][0]["input"]["actuator"]["limits"]["position"]

    def q(pose):
        x, y = pose["x"], pose["y"]
        return [crank(x + b, y, first, second, -1), crank(x - b, y, first, second, 1)]

    return q, limits


def three_rrr(text):
    """Cranks at 0, 120 and 240 deg, couplers to a plate."""
    base, plate, first, second = (
        quantity(text["constants"][key]) for key in ("base_radius", "plate_radius", "crank", "coupler")
    )
    limits = text["templates"]["leg"]["elements"][0]["input"]["actuator"]["limits"]["position"]

    def q(pose):
        result = []
        for k in range(3):
            turn = 2 * mpmath.pi * k / 3
            angle = turn + pose["rz"]
            x = pose["x"] + plate * mpmath.cos(angle) - base * mpmath.cos(turn)
            y = pose["y"] + plate * mpmath.sin(angle) - base * mpmath.sin(turn)
            c, s = mpmath.cos(turn), mpmath.sin(turn)
            result.append(crank(c * x + s * y, c * y - s * x, first, second, 1))
        return result

    return q, limits


def delta(text):
    """Arms about y at 0, 120 and 240 deg, positive downwards; rods to a plate that does not turn."""
    base, arm, rod, plate = (
        quantity(text["constants"][key])
        for key in ("base_radius", "arm_length", "rod_length", "plate_radius")
    )
    limits = text["templates"]["leg"]["joints"]["shoulder"]["actuator"]["limits"]["position"]

    def q(pose):
        result = []
        for k in range(3):
            turn = 2 * mpmath.pi * k / 3
            c, s = mpmath.cos(turn), mpmath.sin(turn)
            x, y, z = c * pose["x"] + s * pose["y"] + plate - base, c * pose["y"] - s * pose["x"], pose["z"]
            # (x - a cos q)^2 + y^2 + (z + a sin q)^2 = l^2, the elbow outwards.
            far = (x * x + y * y + z * z + arm**2 - rod**2) / (2 * arm)
            result.append(mpmath.atan2(-z, x) - mpmath.acos(far / mpmath.sqrt(x * x + z * z)))
        return result

    return q, limits


def orthoglide(text):
    """Slides along x, y and z, rods ahead of them."""
    rod, platform, rail = (quantity(text["constants"][key]) for key in ("rod", "platform", "rail"))
    limits = text["templates"]["leg"]["joints"]["slide"]["actuator"]["limits"]["position"]

    def q(pose):
        p = [pose[name] for name in "xyz"]
        return [
            p[k] - platform - rail - mpmath.sqrt(rod**2 - p[(k + 1) % 3] ** 2 - p[(k + 2) % 3] ** 2)
            for k in range(3)
        ]

    return q, limits


def gough_stewart(text):
    """Lengths of the struts."""
    limits = text["templates"]["leg"]["joints"][3]["actuator"]["limits"]["position"]
    degrees = text["reference"]["rotation"]["rpy"].split()[:3]
    reference = roll_pitch_yaw([mpf(value) * mpmath.pi / 180 for value in degrees])
    anchors = []
    for row in text["legs"][0]["table"]:
        angle, height, radius = (quantity(row[key]) for key in ("γ_i", "b_i", "d_i"))
        base = mpmath.matrix([radius * mpmath.cos(angle), radius * mpmath.sin(angle), height])
        anchors.append((base, mpmath.matrix(lengths(row["P"]))))

    def q(pose):
        R = rotation([pose[name] for name in ("rx", "ry", "rz")]) * reference
        p = mpmath.matrix([pose[name] for name in "xyz"])
        return [mpmath.norm(p + R * there - here) for here, there in anchors]

    return q, limits


ROBOTS = {
    "fivebar": (fivebar, "angle of '(left|right)"),
    "3rrr": (three_rrr, r"angle of '.*\.crank"),
    "delta": (delta, "angle of"),
    "orthoglide": (orthoglide, "slide' (above|below)"),
    "gough-stewart": (gough_stewart, r"\.3' (above|below)"),
}


class Number:
    """An mpmath number with the functions of `evaluate`."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Number(self.value + other.value)

    def __sub__(self, other):
        return Number(self.value - other.value)

    def __mul__(self, other):
        return Number(self.value * other.value)

    def __neg__(self):
        return Number(-self.value)

    def reciprocal(self):
        return Number(1 / self.value)

    def sqrt(self):
        return Number(mpmath.sqrt(self.value))

    def maximum(self, other):
        return Number(max(self.value, other.value))

    def sin(self):
        return Number(mpmath.sin(self.value))

    def cos(self):
        return Number(mpmath.cos(self.value))


def compare(proof, description, count=20, seed=0):
    """Compare a proof's equations with a robot's own, at random poses of its box that are taken.

    Signs of the limits of actuators have to agree; of J every row up to its scale, and columns up to theirs.

    Returns:
        At how many poses they were compared, and the largest difference, relative.

    Raises:
        RejectedError: if they disagree.
    """
    make, pattern = ROBOTS[proof.header["robot"]]
    q, limits = make(YAML(typ="safe").load(description))
    low, high = (quantity(end) for end in limits)
    names, rng, compared, worst = proof.header["coordinates"], random.Random(seed), 0, 0.0
    rows = [k for k, name in enumerate(proof.header["signs"]) if re.search(pattern, name)]
    actuators = proof.header["jacobian"][0]
    with mpmath.workdps(60):
        for _ in range(50 * count):
            if compared == count:
                break
            u = [mpf(rng.uniform(*ends)) for ends in proof.box.tolist()]
            pose = dict(zip(names, u, strict=True))
            values = [Number(value) for value in u]
            signs = evaluate(proof.steps["signs"], values, Number(mpf(0)), lambda v: Number(mpf(v)))
            signs = [signs[f"signs[{k}]"].value for k in range(len(proof.header["signs"]))]
            if any(isinstance(value, mpmath.mpc) or value < 0 for value in signs):
                continue
            own = q(pose)
            for k, value in enumerate(own):
                if len(rows) == actuators:
                    expected = [mpmath.cos(value - (low + high) / 2) - mpmath.cos((high - low) / 2)]
                else:
                    expected = [value - low, high - value]
                given = [signs[r] for r in rows[k * len(expected) : (k + 1) * len(expected)]]
                worst = max(worst, *(float(abs(a - b)) for a, b in zip(expected, given, strict=True)))
            worst = max(worst, jacobian_difference(proof, q, pose, values))
            compared += 1
    if compared < count or not worst < 1e-9:
        raise RejectedError(f"the equations are not those of the robot: {worst:g} at {compared} poses")
    return compared, worst


def jacobian_difference(proof, q, pose, values):
    """The largest difference of J from the derivatives of q, lengths in units of one size, relative."""
    m, n = proof.header["jacobian"]
    found = evaluate(proof.steps["rates"], values, Number(mpf(0)), lambda v: Number(mpf(v)))
    J = [[found[f"J[{i * n + k}]"].value for k in range(n)] for i in range(m)]
    step = mpf(10) ** -20
    own = mpmath.matrix(m, n)
    names, turn = list(pose), [mpf(pose.get(name, 0)) for name in ("rx", "ry", "rz")]
    for k, name in enumerate(names):
        ends = []
        for sign in (1, -1):
            moved = dict(pose)
            if n == 6 and name in ("rx", "ry", "rz"):
                # Rates are angular velocities: a small rotation before the other one.
                small = [sign * step if other == name else mpf(0) for other in ("rx", "ry", "rz")]
                moved |= dict(zip(("rx", "ry", "rz"), vector(rotation(small) * rotation(turn)), strict=True))
            else:
                moved[name] = pose[name] + sign * step
            ends.append(q(moved))
        for i in range(m):
            own[i, k] = (ends[0][i] - ends[1][i]) / (2 * step)
    # The size by which lengths are counted follows from the first entries; all others have to agree with it.
    units = proof.header["units"]
    lengths_first = [k for k, unit in enumerate(units) if unit == "m"]
    ratio = next(J[i][k] / own[i, k] for i in range(m) for k in lengths_first if abs(own[i, k]) > 1e-3)
    angular = next((k for k, unit in enumerate(units) if unit == "rad"), None)
    turning = ratio
    if angular is not None:
        turning = next(J[i][angular] / own[i, angular] for i in range(m) if abs(own[i, angular]) > 1e-3)
    scales = [ratio if unit == "m" else turning for unit in units]
    largest = max(abs(J[i][k]) for i in range(m) for k in range(n))
    return float(max(abs(J[i][k] - scales[k] * own[i, k]) for i in range(m) for k in range(n)) / largest)


def vector(R):
    """The rotation vector of a rotation, rad."""
    axis = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    sine = mpmath.sqrt(sum(v * v for v in axis)) / 2
    if not sine:
        return [mpf(0)] * 3
    angle = mpmath.atan2(sine, (R[0, 0] + R[1, 1] + R[2, 2] - 1) / 2)
    return [v * angle / (2 * sine) for v in axis]
