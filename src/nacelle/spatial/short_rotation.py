"""Constant rotations that cost little: about one coordinate axis, or none.

A product R u of a general rotation and a vector takes 9 multiplications and 6 additions. A rotation about a
coordinate axis has five entries that are not zero, one of them 1, and takes 4 and 2; a permutation of axes
with signs takes none. The axis e_k of a joint is taken to R e_k by R and by every R R_k(t), t an angle about
e_k: where R e_k lies in a coordinate plane, one of these is cheap, and t is added to the joint's angle.

Entries may be symbols of numbers that are given at run time; what is decided is decided at their sample.
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.scalar import Array, Scalar, at_sample, pack, product

# Entries of a constant unit vector below this are zero.
ALIGNED = 1e-12


def rotation(axis: int, c: Scalar, s: Scalar) -> Array:
    """Rotation matrix (3, 3) about a coordinate axis from cosine c and sine s of a constant angle."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3).astype(object)
    R[i, i], R[j, i], R[i, j], R[j, j] = c, s, -s, c
    return pack(R.tolist())


def rotation_cost(R: Array) -> int:
    """What a constant rotation of a vector takes, in operations."""
    return {3: 0, 5: 6}.get(int(np.count_nonzero(np.abs(at_sample(R)) > ALIGNED)), 15)


def even_entries(R: Array) -> Array:
    """A constant matrix (3, 3) that has zeros and ones where rounding has left nearly so."""
    try:
        number = at_sample(R)
    except TypeError:
        # Of a leg that hangs on the nacelle: it moves.
        return R
    whole = np.round(number)
    near = np.abs(number - whole) < ALIGNED
    return pack([[whole[i, j] if near[i, j] else R[i, j] for j in range(3)] for i in range(3)])


def shortest(R: Array, k: int) -> Array | None:
    """The cheapest constant rotation A (3, 3) with A e_k = R e_k; None if it is as long as R.

    A permutation of axes, and a rotation about the coordinate axis perpendicular to the image.
    """
    e = R[:, k]
    size = np.abs(at_sample(e))
    zero = [m for m in range(3) if size[m] < ALIGNED]
    if len(zero) == 2:
        j = int(np.argmax(size))
        turn = rotation((j + 1) % 3, 1.0 if at_sample(e)[j] > 0.0 else -1.0, 0.0)
        return turn @ np.roll(np.eye(3), j - k, axis=0)
    if len(zero) != 1:
        return None
    # The image lies in a coordinate plane, which holds k or an axis j that k is taken to.
    m = zero[0]
    j = (m + 1) % 3 if k == m else k
    c, s = e[j], e[3 - j - m] * (1.0 if (m + 1) % 3 == j else -1.0)
    return product(rotation(m, c, s), np.roll(np.eye(3), j - k, axis=0))
