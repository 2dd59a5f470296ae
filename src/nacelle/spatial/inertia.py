"""Rigid-body inertia as ten parameters, linear in the equations of motion.

Of a body with mass elements dm at r (3,) in its frame, three sums enter its wrench and its energy:

    m = sum dm,      h = sum r dm = m c,      I = -sum r^ r^ dm          r^ = skew(r)

c the centre of mass, I (3, 3) the inertia about the frame's origin, in its axes. Seen from another frame,
r -> R r + p with R (3, 3) and p (3,),

    h -> R h + m p,      I -> R I R^T - (p^ (R h)^ + (R h)^ p^) - m p^ p^

which from the centre of mass (h = 0) is Steiner's I = I_c - m c^ c^. The order is Pinocchio's:
[m, m c_x, m c_y, m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz], kg, kg m, kg m^2.
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, pack, plus, product

_ROWS = (0, 0, 1, 0, 1, 2)
_COLUMNS = (0, 1, 1, 2, 2, 2)
# Part of the largest moment by which moments of a body may break their inequalities.
_CONSISTENT = 1e-9


def inertia_matrix(parameters: Array) -> Array:
    """Give I (3, 3), kg m^2, about the origin of the body frame, in its axes, from the ten parameters."""
    xx, xy, yy, xz, yz, zz = parameters[4:]
    return pack([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def parameters_from_frame(mass: float, first_moment: Array, about_frame: Array) -> Array:
    """Ten parameters from m, kg, m c (3,), kg m, and the inertia (3, 3) about the frame's origin, kg m^2."""
    return pack([mass, *first_moment, *about_frame[_ROWS, _COLUMNS]])


def parameters_from_com(mass: float, com: Array, about_com: Array) -> Array:
    """Ten parameters from m, c and the inertia about the centre of mass, all in frame axes.

    I = I_c - m c^ c^, with c^ the skew matrix of c (Steiner).
    """
    c_hat = skew(com)
    return parameters_from_frame(mass, mass * com, plus(about_com, -mass * product(c_hat, c_hat)))


def inertia_about_com(parameters: Array) -> Array:
    """Give I_c = I + h^ h^ / m (3, 3), kg m^2, about the centre of mass; for a massless body I as it is."""
    mass = parameters[0]
    if mass == 0.0:
        return inertia_matrix(parameters)
    c_hat = skew(parameters[1:4])
    return np.asarray(plus(inertia_matrix(parameters), product(c_hat, c_hat) / mass))


def transform_parameters(R: Array, p: Array, parameters: Array) -> Array:
    """Ten parameters of the same body seen from another frame, r_new = R r_old + p.

    h -> R h + m p,      I -> R I R^T - (p^ (R h)^ + (R h)^ p^) - m p^ p^

    Args:
        R: R_new_old (3, 3), takes old coordinates to new ones.
        p: origin of the old frame in the new one (3,), m.
        parameters: about the old frame (10,).
    """
    mass = parameters[0]
    first = product(R, parameters[1:4])
    p_hat, first_hat = skew(p), skew(first)
    about_old_origin = product(product(R, inertia_matrix(parameters)), R.T)
    shifted = plus(product(p_hat, first_hat), product(first_hat, p_hat))
    about_new = plus(plus(about_old_origin, -shifted), -mass * product(p_hat, p_hat))
    return parameters_from_frame(mass, plus(first, mass * p), about_new)


def is_axisymmetric(parameters: Array, axis: Array, size: float, tolerance: float) -> bool:
    """Whether a body (floats) does not feel a spin about an axis through its frame's origin.

    Args:
        parameters: ten parameters.
        axis: direction of the axis (3,), of unit length.
        size: length of the body, m.
        tolerance: how far the centre of mass may be off the axis, over the size, and how much moments of
            inertia may differ, over the largest of them and m size^2.
    """
    I, along = inertia_matrix(parameters), np.outer(axis, axis)
    across = np.eye(3) - along
    axisymmetric = 0.5 * float(np.trace(across @ I)) * across + float(axis @ I @ axis) * along
    return bool(
        np.max(np.abs(across @ parameters[1:4])) <= tolerance * parameters[0] * size
        and np.max(np.abs(I - axisymmetric))
        <= tolerance * max(np.max(np.abs(I)), parameters[0] * size * size)
    )


def inertia_faults(parameters: Array) -> list[str]:
    """Messages that say why ten parameters (floats) cannot belong to a body; empty if they can.

    A body has m >= 0, an inertia about its centre of mass that is positive semidefinite, and principal
    moments that obey the triangle inequality: J_1 <= J_2 + J_3, with equality for a flat body; within 1e-9 of
    the largest moment.
    """
    mass = float(parameters[0])
    if not np.all(np.isfinite(parameters)):
        return ["the mass, the first moment or the inertia is not finite"]
    if mass < 0.0:
        return [f"the mass is negative: {mass:g} kg"]
    if mass == 0.0:
        if np.any(parameters[1:] != 0.0):
            return ["the mass is zero but the first moment or the inertia is not"]
        return []
    moments = np.linalg.eigvalsh(inertia_about_com(parameters))
    # Moving the inertia to the centre of mass loses digits when the frame is far from it.
    scale = max(float(np.max(np.abs(moments))), float(np.max(np.abs(parameters[4:]))) * 1e-6, 1e-300)
    listing = ", ".join(f"{moment:.6g}" for moment in moments)
    if moments[0] < -_CONSISTENT * scale:
        return [f"the inertia about the centre of mass is not positive: principal moments {listing} kg m^2"]
    if moments[2] > moments[0] + moments[1] + _CONSISTENT * scale:
        return [
            "the inertia breaks the triangle inequality: principal moments about the centre of mass "
            f"{listing} kg m^2, the largest is more than the sum of the other two"
        ]
    return []
