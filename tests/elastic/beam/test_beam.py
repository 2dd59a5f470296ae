"""Beam: ends, functions, Newton-Euler, shapes, sums."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import nacelle
from nacelle.elastic.beam.functions import ONE, XI, Function, Piecewise, Wave, integral_of_product, polynomial
from nacelle.elastic.beam.newton_euler import (
    ElasticMotion,
    FrameMotion,
    beam_forces,
    elastic_forces,
    mass_matrix,
    strain_energy,
    sum_terms,
)
from nacelle.elastic.beam.shapes import (
    AXIAL,
    BEND_Y,
    BEND_Z,
    TORSION,
    CarriedMoments,
    Plane,
    Shapes,
    bending_shapes,
)
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.program.cost import count
from nacelle.program.trace import trace
from support.beam_lagrangian import FreeBeam, angular_velocity_map, rotation, to_mpmath
from support.beam_quadrature import integral, value
from support.flexible_robots import prrrp, with_flexible_links

# ---- Moments at the ends of flexible links follow from the joints there


def test_ends_carry_what_their_joints_lock() -> None:
    free, locked = CarriedMoments(False, False, False), CarriedMoments(True, True, True)
    ends = {
        shapes.beam.name: shapes.ends
        for shapes in flexible_tree(with_flexible_links("delta", ("arm", "rod"))).shapes
    }
    assert ends["leg1.rod-a"] == (free, free)  # between spherical joints
    # At a motor all; at the end both rods sit on its y axis, about which they give no moment.
    assert ends["leg1.arm"] == (locked, CarriedMoments(True, False, True))
    ends = {
        shapes.beam.name: shapes.ends for shapes in flexible_tree(with_flexible_links("orthoglide")).shapes
    }
    assert ends["x-leg.rod-a"] == (CarriedMoments(True, True, False), CarriedMoments(True, True, False))
    planar = flexible_tree(with_flexible_links("fivebar")).shapes
    assert [shapes.ends[0].z for shapes in planar if "proximal" in shapes.beam.name] == [True, True]
    assert [shapes.ends[1].z for shapes in planar] == [False] * 4


# ---- Exact integrals of products of shape functions, against quadrature in forty digits

PIECES = Piecewise(
    (Fraction(0), Fraction(1, 2), Fraction(1)),
    ((Fraction(1), Fraction(-2), Fraction(1, 3)), (Fraction(2), Fraction(0), Fraction(0), Fraction(-5))),
)

CUBIC = polynomial([1, -3, 0, 2])

# The highest mode of a beam clamped at both ends: coefficients of 1e7 that cancel each other.
MODE = bending_shapes(Plane(0.4, 0.0, True, True, True, False, 6))[-1].v

PAIRS: list[tuple[Function, Function]] = [
    (PIECES, PIECES),
    (PIECES, CUBIC),
    (CUBIC, XI),
    (Wave(2, 0.7), Wave(2, -1.3)),
    (Wave(1), Wave(3)),
    (Wave(2), Wave(5, 2.0, True)),
    (Wave(3, cosine=True), Wave(2)),
    (Wave(1, cosine=True), Wave(3, cosine=True)),
    (Wave(3), CUBIC),
    (Wave(3, 1.5, True), CUBIC),
    (Wave(1), ONE),
    (MODE, Wave(2)),
    (MODE, Wave(1)),
    (MODE.derivative(), Wave(1, cosine=True)),
    (MODE, MODE),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_integrals(pair: tuple[Function, Function]) -> None:
    f, g = pair
    with mpmath.workdps(40):
        expected = integral(f, g)
        size = mpmath.sqrt(integral(f, f) * integral(g, g))
        assert abs(integral_of_product(f, g) - expected) < 1e-14 * size
        assert abs(integral_of_product(g, f) - expected) < 1e-14 * size


@pytest.mark.parametrize("f", [PIECES, MODE, Wave(3, 0.6), Wave(2, 0.6, True)])
def test_derivatives_and_values(f: Function) -> None:
    xi, step = Fraction(3, 8), Fraction(1, 10**15)
    with mpmath.workdps(60):
        slope = (value(f, xi + step) - value(f, xi - step)) / (2 * mpmath.mpf(10) ** -15)
        assert abs(value(f.derivative(), xi) - slope) < 1e-15 * max(1, abs(slope))
        assert abs(f.at(float(xi)) - value(f, xi)) < 1e-14 * max(1, abs(value(f, xi)))


def test_sines_over_pieces_are_refused() -> None:
    with pytest.raises(ValueError, match="one piece"):
        integral_of_product(Wave(1), PIECES)


# ---- Integrals of the shape functions of beams: mass and stiffness against what is known of rods

Array = np.ndarray


def arm(**options: object) -> Shapes:
    """A beam that carries all moments at both ends."""
    return flexible_tree(
        with_flexible_links("delta", ("leg1.arm",), section={"rectangle": (0.01, 0.02)}, **options)
    ).shapes[0]


def frequencies(shapes: Shapes, kind: int) -> Array:
    """Angular frequencies (rad/s) of the coordinates of a kind."""
    places = [k for k, c in enumerate(shapes.coordinates) if c.kind == kind]
    part = np.ix_(places, places)
    return np.sqrt(
        np.sort(np.linalg.eigvals(np.linalg.solve(shapes.mass[part], shapes.linear_stiffness[part])).real)
    )


def test_axial_and_torsion_converge_with_the_second_power() -> None:
    for kind in (AXIAL, TORSION):
        errors = []
        for number in (3, 6):
            shapes = arm(shapes="hermite", number=number, frame="clamped")
            beam, section = shapes.beam, shapes.beam.section
            speed = np.sqrt(beam.E / beam.density)
            if kind == TORSION:
                speed = np.sqrt(beam.G * section.J / (beam.density * (section.Iy + section.Iz)))
            expected = speed / beam.length * np.pi * (np.arange(2) + 0.5)  # clamped and free
            errors.append(frequencies(shapes, kind)[:2] / expected - 1.0)
        np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2.0, atol=0.15)


@pytest.mark.parametrize("options", [{"shapes": "hermite", "number": 2}, {"number": 2}])
def test_bending_in_two_planes(options: dict[str, object]) -> None:
    shapes = arm(frame="clamped", **options)
    section = shapes.beam.section
    assert section.Iz != section.Iy
    w = np.array([frequencies(shapes, kind)[0] for kind in (BEND_Y, BEND_Z)])
    beam = shapes.beam
    slender = 1.875104068711961**2 * np.sqrt(
        beam.E * np.array([section.Iz, section.Iy]) / (beam.density * section.area * beam.length**4)
    )
    # The rotary inertia of the section lowers the frequency by about 2.3 (r / L)^2.
    slim = np.array([section.Iz, section.Iy]) / section.area / beam.length**2
    np.testing.assert_allclose(w, slender * (1.0 - 2.3 * slim), rtol=1e-3)


def test_movement_of_the_ends() -> None:
    shapes = arm(number=1)
    start, end = shapes.section_motion(0.0), shapes.section_motion(1.0)
    np.testing.assert_array_equal(start[:3], 0.0)
    # The frame passes through both ends: the end moves along only; sections turn by their coordinates.
    np.testing.assert_allclose(end[1:3], 0.0, atol=1e-9)
    assert end[0, 0] == 1.0
    bend_y, bend_z = (
        [k for k, c in enumerate(shapes.coordinates) if c.kind == kind] for kind in (BEND_Y, BEND_Z)
    )
    np.testing.assert_allclose([start[5, bend_y[:2]], end[5, bend_y[:2]]], np.eye(2), atol=1e-12)
    # About y only the start carries a moment: under it the end turns back by half.
    assert (start[4, bend_z[0]], end[4, bend_z[0]]) == (-1.0, 0.5)


# ---- Sums of scalars: values in order, and no operation for a zero


def test_values_and_operations() -> None:
    assert sum_terms([]) == 0.0
    values = np.random.default_rng(0).normal(size=6).tolist()
    assert sum_terms(values) == np.add.accumulate(values)[-1]
    program = trace(lambda x: {"y": sum_terms([x[0], x[1], x[2]])}, {"x": (3,)}).program()
    assert count(program).total == 2


# ---- The generalised Newton-Euler model of a beam against Lagrange's equations in forty digits

GRAVITY = np.array([3.0, -5.0, 7.0])


def beam_of(word: str, **beam: object) -> Shapes:
    """A beam of a robot: in the plane, or in space with moments about all axes at both ends."""
    if word == "plane":
        return flexible_tree(prrrp(**beam)).shapes[0]
    if word == "clamped-plane":
        return flexible_tree(with_flexible_links("fivebar", ("proximal",), **beam)).shapes[0]
    section = {"rectangle": (0.012, 0.02)}
    robot = with_flexible_links(
        nacelle.load("delta"), ("leg1.arm",) if word == "arm" else ("leg1.rod-a",), section=section, **beam
    )
    return flexible_tree(robot).shapes[0]


CASES = {
    "plane-modes": ("plane", {}),
    "plane-hermite-clamped": (
        "plane",
        {"shapes": "hermite", "number": 1, "frame": "clamped", "geometric": False},
    ),
    "plane-end-modes": ("clamped-plane", {"number": 1}),
    "arm-modes": ("arm", {"number": 1}),
    "arm-modes-clamped": ("arm", {"number": 1, "frame": "clamped", "shear": True}),
    "arm-hermite": ("arm", {"shapes": "hermite", "number": 2, "shear": True}),
    "arm-hermite-clamped": ("arm", {"shapes": "hermite", "number": 1, "frame": "clamped"}),
    "rod-modes": ("rod", {}),
}


def states(shapes: Shapes) -> tuple[Array, Array, Array]:
    """Coordinates [x; angles; q] with large deflections, their rates and accelerations."""
    random = np.random.default_rng(shapes.n)
    X, V, A = random.standard_normal((3, 6 + shapes.n))
    X[6:] *= 0.05
    return X, V, A


@pytest.mark.costly
@pytest.mark.parametrize("case", CASES)
def test_lagrange(case: str) -> None:
    word, options = CASES[case]
    shapes = beam_of(word, **options)
    assert shapes.n >= 2
    X, V, A = states(shapes)
    with mpmath.workdps(50):
        free = FreeBeam(shapes, to_mpmath(GRAVITY))
        x, v, a = to_mpmath(X), to_mpmath(V), to_mpmath(A)
        expected = free.required(x, v, a)
        energy, strain = free.kinetic(x, v), FreeBeam(shapes, to_mpmath(np.zeros(3))).potential(x)
        R, E = rotation(x[3:6]), angular_velocity_map(x[3:6])
        h = mpmath.mpf(10) ** -14
        E_dot = (angular_velocity_map(x[3:6] + h * v[3:6]) - angular_velocity_map(x[3:6] - h * v[3:6])) / (
            2 * h
        )
        w, w_dot = E @ v[3:6], E @ a[3:6] + E_dot @ v[3:6]
        # The model in forty digits: what differs are its integrals, rounded to sixteen.
        frame = FrameMotion(R.T @ (a[:3] - to_mpmath(GRAVITY)), w, w_dot)
        f, n, s = beam_forces(shapes, frame, ElasticMotion(x[6:], v[6:], a[6:]))
        own = elastic_forces(shapes, x[6:], v[6:])
        found = np.concatenate([R @ f, E.T @ n, s + own])
        for part in (slice(0, 3), slice(3, 6), slice(6, None)):
            size = max(abs(value) for value in expected[part])
            assert max(abs(found[part] - expected[part])) < 1e-12 * size
        rates = np.concatenate([R.T @ v[:3], w, v[6:]])
        assert abs(0.5 * rates @ mass_matrix(shapes, x[6:]) @ rates - energy) < 1e-13 * energy
        assert abs(strain_energy(shapes, x[6:]) - strain) < 1e-12 * strain


@pytest.mark.parametrize("case", ["plane-modes", "arm-modes-clamped", "arm-hermite"])
def test_mass_matrix_is_that_of_the_forces(case: str) -> None:
    word, options = CASES[case]
    shapes = beam_of(word, **options)
    X, _, A = states(shapes)
    q = X[6:]
    M = mass_matrix(shapes, q)
    np.testing.assert_allclose(M, M.T, rtol=1e-14)
    assert np.min(np.linalg.eigvalsh(M / np.sqrt(np.outer(np.diag(M), np.diag(M))))) > 0.0
    still = np.zeros(3)
    f, n, s = beam_forces(shapes, FrameMotion(A[:3], still, A[3:6]), ElasticMotion(q, 0.0 * q, A[6:]))
    np.testing.assert_allclose(
        np.concatenate([f, n, s]), M @ A, rtol=1e-12, atol=1e-14 * np.max(np.abs(M @ A))
    )


@pytest.mark.parametrize("damping", [{"ratio": 0.02}, {"rayleigh": {"mass": 3.0, "stiffness": 1e-5}}])
def test_damping(damping: dict[str, object]) -> None:
    shapes = beam_of("arm", number=2, damping=damping)
    own = shapes.damping
    np.testing.assert_allclose(own, own.T, rtol=1e-9, atol=1e-12 * np.max(np.abs(own)))
    values, vectors = np.linalg.eig(np.linalg.solve(shapes.mass, shapes.linear_stiffness))
    w = np.sqrt(values.real)
    for k in range(shapes.n):
        mode = vectors[:, k].real
        ratio = (mode @ own @ mode) / (2.0 * w[k] * (mode @ shapes.mass @ mode))
        expected = 0.02 if "ratio" in damping else 0.5 * (3.0 / w[k] + 1e-5 * w[k])
        assert ratio == pytest.approx(expected, rel=1e-9)
    q, rate = np.full(shapes.n, 1e-3), np.linspace(-1.0, 1.0, shapes.n)
    extra = elastic_forces(shapes, q, rate) - elastic_forces(shapes, q, 0.0 * rate)
    np.testing.assert_allclose(extra, own @ rate, rtol=1e-9, atol=1e-9 * np.max(np.abs(own @ rate)))
