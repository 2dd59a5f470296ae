"""Bars as clouds of mass points, whose inertial forces need no formula of a bar.

A bar from A to B has the axes e_1 = a x r / |a x r|, e_2 = e_3 x e_1, e_3 = r / |r|, r = B - A and a the
first axis of its universal joint. Points p_k fixed in these axes, counted from A or from B, and points of the
cross, fixed in axes along a and e_1, move with r(t). Derivatives are central differences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from nacelle.kinematics.bars.form import ActuatedJoint, Carriage, LegForm, Passive
from nacelle.model.joint import JointKind
from nacelle.spatial.inertia import parameters_from_com
from nacelle.spatial.rotation import skew
from support.library import library_robot

Array = np.ndarray
AXIS = np.array([0.6, 0.0, 0.8])
NO_FRICTION = Passive((), (), (), 1.0, (), JointKind.SPHERICAL, 1.0)


def axes(r: Array) -> Array:
    """e_1, e_2, e_3 as columns (3, 3)."""
    e1 = np.cross(AXIS, r)
    e1 = e1 / np.linalg.norm(e1)
    e3 = r / np.linalg.norm(r)
    return np.stack([e1, np.cross(e3, e1), e3], axis=1)


def cross_axes(r: Array) -> Array:
    """Axes of the cross: a, e_1 and what completes them, as columns (3, 3)."""
    e1 = axes(r)[:, 0]
    return np.stack([AXIS, e1, np.cross(AXIS, e1)], axis=1)


@dataclasses.dataclass(frozen=True)
class Cloud:
    """Mass points: masses (k,), kg, and places (k, 3), m."""

    m: Array
    p: Array

    @classmethod
    def random(cls, rng: np.random.Generator, *, axisymmetric: bool = False) -> Cloud:
        """Some points; four around the line at each height where it is axisymmetric."""
        if not axisymmetric:
            return cls(rng.uniform(0.1, 1.0, 5), rng.normal(size=(5, 3)) * 0.2)
        height, radius, m = rng.normal(size=3) * 0.3, rng.uniform(0.05, 0.1, 3), rng.uniform(0.1, 1.0, 3)
        around = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], dtype=float)
        p = [[*(s * q), h] for h, s in zip(height, radius, strict=True) for q in around]
        return cls(np.repeat(m, 4), np.array(p))

    @property
    def parameters(self) -> Array:
        """Ten parameters about the origin of the places."""
        c = self.m @ self.p / self.m.sum()
        about = sum(m * skew(q - c).T @ skew(q - c) for m, q in zip(self.m, self.p, strict=True))
        return np.asarray(parameters_from_com(self.m.sum(), c, about))


def form_of(kind: str, *, rod: Array, tube: Array, cross: float, length: float = 0.0) -> LegForm:
    """A bar on a universal joint, without friction; its drive has neither rotor nor spring."""
    joint = library_robot("gough-stewart").joints[-1]
    joint = dataclasses.replace(joint, rotor_inertia=0.0, springs=(), friction=())
    return LegForm(
        name="bar",
        kind=kind,
        joint_at_a="U",
        A=np.zeros(3),
        B=np.zeros(3),
        body=1,
        axis=np.array([0.0, 1.0, 0.0]),
        first=AXIS,
        length=length,
        tube=tube,
        rod=rod,
        cross=cross,
        carriage=Carriage(),
        drive=ActuatedJoint(0, joint, revolute=False),
        passive=NO_FRICTION,
    )


def gradient(place: Callable[[Array], Array], z: Array, h: float = 1e-6) -> Array:
    """Derivatives (..., n) of places (...) over z (n,)."""
    return np.stack([(place(z + h * e) - place(z - h * e)) / (2 * h) for e in np.eye(len(z))], axis=-1)


def second_derivative(
    place: Callable[[Array], Array], z: Array, v: Array, a: Array, h: float = 1e-4
) -> Array:
    """Second derivative of places along z + v t + a t^2 / 2, at t = 0."""
    ahead, behind = (place(z + s * h * v + 0.5 * h * h * a) for s in (1.0, -1.0))
    return np.asarray((ahead - 2.0 * place(z) + behind) / (h * h))
