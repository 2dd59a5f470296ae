"""A robot with flexible links at rest: where it settles, and its fastest vibration.

With the actuators held, the other independent rates z have accelerations a(p) at positions p and no velocity:

    M_zz z' = -c_z(p)          c_z: weight, springs and strain of the links

At rest a = 0, found by Newton's iteration, dz = -(da/dp)^-1 a with differences for da/dp per step of the
rates. There M_zz z'' = -K z, so that da/dp = -M^-1 K (1/s^2) has the eigenvalues -w^2 of the vibrations, w in
rad/s. A positive one means that the rest pose is not stable: a link has buckled.
"""

from __future__ import annotations

import numpy as np

from nacelle.elastic.extended import extended
from nacelle.elastic.forms import ElasticForm, Options
from nacelle.errors import BucklingError
from nacelle.spatial.scalar import Array

_SHIFT = 1e-6
_SMALL, _STEPS = 1e-10, 60


def rest_accelerations(form: ElasticForm, p: Array, options: Options) -> Array:
    """Accelerations (n - na,) at rest, at positions p (size,), of the rates but the actuators', held."""
    hold = np.zeros(len(form.robot.actuators))
    return np.asarray(form.inverse(p, np.zeros(form.n), hold, options)["acceleration"])


def rest_tangent(form: ElasticForm, p: Array, options: Options) -> Array:
    """Derivative (others, others) of these accelerations by steps of the rates, by central differences.

    The others are all independent rates but the actuators', which are held: -M^-1 K, 1/s^2.
    """
    na = len(form.robot.actuators)
    columns = []
    for k in range(na, form.n):
        step = np.zeros(form.n)
        step[k] = _SHIFT
        ahead, behind = (
            rest_accelerations(form, form.stepped(p, sign * step), options) for sign in (1.0, -1.0)
        )
        columns.append((ahead - behind) / (2.0 * _SHIFT))
    return np.stack(columns, axis=1)


def fastest_vibration(form: ElasticForm, p: Array, options: Options) -> float:
    """Angular frequency (rad/s) of the fastest vibration with the actuators held."""
    values = np.linalg.eigvals(rest_tangent(form, p, options))
    return float(np.sqrt(np.max(np.abs(values))))


def vibrations(form: ElasticForm, p: Array, options: Options) -> tuple[Array, Array]:
    """Vibrations with the actuators held: angular frequencies (m,), rad/s, and how much they stretch links.

    Returns:
        The frequencies, rising, and of the strain energy of each the part (m,) in the stretch of beams; the
        rest of it is in bending, shear, torsion and the springs of drives.
    """
    whole = extended(form.robot)
    values, shapes = np.linalg.eig(rest_tangent(form, p, options))
    order = np.argsort(np.abs(values))
    columns = []
    for mode in shapes.T[order]:
        step = np.zeros(form.n)
        # Of a pair of complex modes, which a robot that is not at rest may have, the real part counts.
        step[len(form.robot.actuators) :] = _SHIFT * np.real(mode) / np.max(np.abs(mode))
        ahead, behind = (form.elastic(form.stepped(p, sign * step)) for sign in (1.0, -1.0))
        columns.append((ahead - behind) / (2.0 * _SHIFT))
    e = np.stack(columns)
    stretch, other = np.zeros(len(e)), np.zeros(len(e))
    for own, place in zip(whole.shapes, whole.slices, strict=False):
        part = e[:, place]
        other += np.einsum("mi,ij,mj->m", part, own.stiffness, part)
        for along in own.stretches:
            stretch += along.stiffness * (part @ along.row) ** 2
    for spring, place in zip(whole.springs, whole.slices[len(whole.shapes) :], strict=True):
        other += spring.stiffness * e[:, place.start] ** 2
    frequencies = np.sqrt(np.abs(values[order]))
    return frequencies, stretch / np.maximum(stretch + other, np.finfo(float).tiny)


def rest_positions(form: ElasticForm, p: Array, options: Options) -> Array:
    """Positions at rest under gravity and springs, the actuators where they are.

    Raises:
        BucklingError: if there is no rest pose near, or it is not stable.
    """
    p = form.closed(p)
    na = len(form.robot.actuators)
    for _ in range(_STEPS):
        J = rest_tangent(form, p, options)
        step = np.zeros(form.n)
        step[na:] = -np.linalg.solve(J, rest_accelerations(form, p, options))
        p = form.stepped(p, step)
        size = float(np.max(np.abs(step)))
        if not np.isfinite(size) or size > form.robot.size:
            break
        if size < _SMALL * form.robot.size:
            if np.max(np.linalg.eigvals(J).real) > 0.0:
                raise BucklingError(
                    f"{form.robot.name} is not stable at rest in this pose: a flexible link buckles under "
                    "the load that it carries; make it thicker, or start undeformed",
                    float("nan"),
                )
            return p
    raise BucklingError(
        f"{form.robot.name} has no rest pose near this one: a flexible link buckles under the load that it "
        "carries",
        float("nan"),
    )
