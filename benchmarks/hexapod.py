"""A hexapod-like model for the benchmarks of the compiler: inverse dynamics with friction.

Six struts on universal joints, each with a stator and a slider, a rigid platform, dry and viscous friction
in the drives; written body by body (Newton and Euler at each strut's joint), not organised for few
operations. Inputs: rotation matrix, position, twist and acceleration of the platform.
"""

import numpy as np

from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import cross, dot, norm, pack, sign
from nacelle.spatial.solve import solve

INPUTS = {"R": (3, 3), "p": (3,), "V": (6,), "A": (6,)}
_rng = np.random.default_rng(7)
_base = np.radians([20, 100, 140, 220, 260, 340])
_top = np.radians([45, 75, 165, 195, 285, 315])
BASE = np.stack([0.5 * np.cos(_base), 0.5 * np.sin(_base), 0.02 * _rng.normal(size=6)], axis=1)
TOP = np.stack([0.16 * np.cos(_top), 0.16 * np.sin(_top), 0.01 * _rng.normal(size=6)], axis=1)
STATOR = [(5.5 + 0.1 * k, 0.15 + 0.01 * k, 0.045, 0.008) for k in range(6)]
SLIDER = [(2.6 + 0.1 * k, 0.38 + 0.01 * k, 0.12, 0.0015) for k in range(6)]
DRY = 38.0 + _rng.normal(size=6)
VISCOUS = 62.0 + _rng.normal(size=6)
MASS, COM = 9.0, np.array([0.002, -0.003, -0.02])
INERTIA = np.array([[0.09, 0.001, 0.002], [0.001, 0.11, 0.0005], [0.002, 0.0005, 0.16]])
GRAVITY = np.array([0.0, 0.0, -9.81])


def strut(k, r, v, a):
    """Direction, rate along it, and the force that a strut's inertia and weight ask at its end."""
    length = norm(r)
    x = r / length
    rate = dot(x, v)
    w = cross(x, v) / length
    w_dot = (cross(x, a) - 2.0 * rate * w) / length
    second = dot(x, a) + length * dot(w, w)
    moment = pack([0.0, 0.0, 0.0])
    along = 0.0
    for (mass, reach, across, axial), end in ((STATOR[k], False), (SLIDER[k], True)):
        s = length - reach if end else reach
        c = s * x
        c_dot2 = cross(w_dot, c) + cross(w, cross(w, c))
        if end:
            c_dot2 = c_dot2 + second * x + 2.0 * rate * cross(w, x)
        force = mass * (c_dot2 - GRAVITY)
        turning = across * w_dot + (axial - across) * dot(w, x) * cross(w, x)
        moment = moment + cross(c, force) + turning
        along = along + (dot(force, x) if end else 0.0)
    return x, rate, cross(moment, x) / length, along


def inverse_dynamics(R, p, V, A):
    """Forces of the six drives, N."""
    v, w, a, w_dot = V[:3], V[3:], A[:3], A[3:]
    c = R @ COM
    c_dot2 = a + cross(w_dot, c) + cross(w, cross(w, c))
    J = R @ INERTIA @ R.T
    force = MASS * (c_dot2 - GRAVITY)
    moment = cross(c, force) + J @ w_dot + cross(w, J @ w)
    columns, shares = [], []
    for k in range(6):
        b = R @ TOP[k]
        r = p + b - BASE[k]
        speed = v + skew(w) @ b
        acceleration = a + cross(w_dot, b) + cross(w, cross(w, b))
        x, rate, across, along = strut(k, r, speed, acceleration)
        force = force + across
        moment = moment + cross(b, across)
        columns.append(pack([*x, *cross(b, x)]))
        shares.append(along + DRY[k] * sign(rate) + VISCOUS[k] * rate)
    forces = solve(np.stack(columns, axis=1), pack([*force, *moment]), "fixed")
    return {"forces": pack([forces[k] + shares[k] for k in range(6)])}


def states(count, seed=0):
    """Random states inside the workspace, as a list of arrays in the order of the inputs."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(seed)
    R = Rotation.from_rotvec(rng.uniform(-0.3, 0.3, (count, 3))).as_matrix()
    p = np.array([0.0, 0.0, -0.7]) + rng.uniform(-0.08, 0.08, (count, 3))
    return [R, p, rng.normal(size=(count, 6)), 5.0 * rng.normal(size=(count, 6))]
