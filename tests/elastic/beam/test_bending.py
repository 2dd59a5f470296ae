"""Shapes of a bending beam: ends, sections with and without shear, frequencies in closed form."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

from nacelle.elastic.beam.functions import Piecewise, Wave, integral_of_product
from nacelle.elastic.beam.shapes import (
    BEND_Y,
    Bend,
    CarriedMoments,
    ElasticCoordinate,
    Plane,
    Shapes,
    bending_shapes,
)
from nacelle.model.flexible import Beam, Section
from nacelle.spatial.pose import identity

Array = np.ndarray
LENGTH = 0.4
SHEARS = (0.0, 1.5e-3)
PLANES = [
    Plane(LENGTH, s, pinned, start, end, hermite, number)
    for s, pinned, start, end, (hermite, number) in product(
        SHEARS, (True, False), (True, False), (True, False), ((True, 3), (False, 0), (False, 1))
    )
]
# (beta L)^2 of beams: w = (beta L)^2 sqrt(E I / (rho A L^4)).
CLAMPED_CLAMPED = [4.730040744862704, 7.853204624095838, 10.995607838001671, 14.137165491257464]
CLAMPED_FREE = [1.875104068711961, 4.694091132974175, 7.854757438237613]


def matrices(shapes: Sequence[Bend], plane: Plane) -> tuple[Array, Array]:
    """K over E I and M over rho A of shapes, lengths in units of the beam's, without rotary inertia."""
    L = plane.length
    K = np.array(
        [[integral_of_product(a.psi.derivative(), b.psi.derivative()) * L**2 for b in shapes] for a in shapes]
    )
    if plane.s:
        slips = [slip(bend, L) for bend in shapes]
        K += np.array([[integral_of_product(a, b) for b in slips] for a in slips]) * L**4 / plane.s
    return K, np.array([[integral_of_product(a.v, b.v) for b in shapes] for a in shapes])


def slip(bend: Bend, L: float) -> Piecewise | Wave:
    """v' - psi."""
    slope = bend.v.derivative().scale(1.0 / L)
    if isinstance(slope, Wave):
        return Wave(slope.k, slope.factor - bend.psi.factor, slope.cosine)
    return slope.plus(bend.psi.scale(-1))


def frequencies(shapes: Sequence[Bend], plane: Plane) -> Array:
    """W sqrt(rho A L^4 / (E I)) of a beam with these shapes, lowest first."""
    K, M = matrices(shapes, plane)
    return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real))


@pytest.mark.parametrize(
    "plane", PLANES, ids=lambda plane: "-".join(map(str, dataclasses.astuple(plane)[1:]))
)
def test_ends_and_sections(plane: Plane) -> None:
    shapes = bending_shapes(plane)
    L = plane.length
    for v, psi in shapes:
        assert v.at(0.0) == 0.0
        assert (v if plane.pinned else psi).at(1.0 if plane.pinned else 0.0) == pytest.approx(0.0, abs=1e-12)
        # psi - s psi'' = v', between the nodes.
        curved = psi.derivative().derivative()
        for xi in (0.1, 0.45, 0.9):
            slope = v.derivative().at(xi) / L
            size = max(1.0, abs(slope))
            assert psi.at(xi) - plane.s / L**2 * curved.at(xi) == pytest.approx(slope, abs=1e-11 * size)
    if plane.hermite:
        assert len(shapes) == 2 * plane.number
        return
    moving = []
    if plane.pinned and plane.start:
        moving.append(lambda bend: bend.psi.at(0.0))
    if not plane.pinned:
        moving.append(lambda bend: bend.v.at(1.0))
    if plane.end:
        moving.append(lambda bend: bend.psi.at(1.0))
    values = np.array([[move(bend) for move in moving] for bend in shapes]).reshape(len(shapes), len(moving))
    expected = np.eye(len(shapes), len(moving))
    np.testing.assert_allclose(values, expected, atol=1e-7)  # modes are rounded to ten digits
    for xi, carries in ((0.0, plane.start or not plane.pinned), (1.0, plane.end)):
        if not carries:
            # Of boundary shapes exactly; modes meet the condition by their number.
            for bend in shapes[: len(moving)]:
                assert bend.psi.derivative().at(xi) == pytest.approx(0.0, abs=1e-12)


def test_sines_are_modes_with_and_without_shear() -> None:
    for s in SHEARS:
        plane = Plane(LENGTH, s, True, False, False, False, 3)
        k = np.pi * np.arange(1, 4)
        # Bending and shear in series.
        expected = k**2 / np.sqrt(1.0 + s * k**2 / LENGTH**2)
        np.testing.assert_allclose(frequencies(bending_shapes(plane), plane), expected, rtol=1e-12)


def test_shear_is_in_series_with_bending() -> None:
    s = SHEARS[1]
    L = LENGTH
    for hermite in (True, False):
        plane = Plane(L, s, False, True, False, hermite, 1 if hermite else 0)
        K, _ = matrices(bending_shapes(plane), plane)
        tip = np.linalg.inv(K)[0, 0]  # deflection of the tip, in units of F L^3 / (E I)
        assert tip == pytest.approx(1.0 / 3.0 + s / L**2, rel=1e-12)
    modes = Plane(L, s, True, True, True, False, 3)
    K, M = matrices(bending_shapes(modes)[2:], modes)
    found = np.sqrt(np.diag(K) / np.diag(M))[[0, 2]]
    np.testing.assert_allclose(found, symmetric_modes(s / L**2, [(15.0, 20.0), (65.0, 80.0)]), rtol=1e-6)


def symmetric_modes(sigma: float, between: list[tuple[float, float]]) -> list[float]:
    """W of symmetric modes of a clamped beam of length 1: psi - sigma psi'' = v', d3 psi = W^2 v."""

    def determinant(w: float) -> float:
        root = math.sqrt(sigma**2 * w**4 + 4.0 * w**2)
        a, b = math.sqrt((root - sigma * w**2) / 2.0), math.sqrt((root + sigma * w**2) / 2.0)
        up, down = (a * a + sigma * w**2) / a, (sigma * w**2 - b * b) / b
        return math.cosh(a / 2) * down * math.sin(b / 2) - math.cos(b / 2) * up * math.sinh(a / 2)

    return [brentq(determinant, *ends) for ends in between]


# ---- Shape functions of single beams against frequencies that textbooks give in closed form

L, E, G, RHO = 0.8, 70e9, 27e9, 2700.0
# So slender that the rotary inertia of the section does not count.
SLENDER = Section(1e-6, 1e-18, 1e-18, 2e-18, 0.9, 0.9)
THICK = Section(math.pi / 4 * 0.08**2, math.pi / 64 * 0.08**4, math.pi / 64 * 0.08**4, 1e-6, 0.9, 0.9)


def beam(section: Section, number: int, **options: object) -> Beam:
    """A beam with its own mass only."""
    return Beam(0, "beam", identity(), L, section, E, G, RHO, (), (), (None, None), number=number, **options)


def bending(section: Section, number: int, *, pinned: bool, ends: bool, hermite: bool, shear: bool) -> Shapes:
    """A beam that bends in y alone; its ends carry moments where `ends`."""
    own = beam(section, number, shapes="hermite" if hermite else "modes", pinned=pinned, shear=shear)
    s = E * section.Iz / (section.shear_y * G * section.area) if shear else 0.0
    shapes = bending_shapes(Plane(L, s, pinned, ends, ends, hermite, number))
    coordinates = tuple(ElasticCoordinate(BEND_Y, bend.v, bend.psi) for bend in shapes)
    return Shapes(own, coordinates, (CarriedMoments(True, True, ends), CarriedMoments(True, True, ends)))


def beam_frequencies(shapes: Shapes, held: np.ndarray | None = None) -> np.ndarray:
    """Angular frequencies in the shapes' own frame, some rows of movement held."""
    N = np.eye(shapes.n)
    if held is not None and len(held):
        N = np.linalg.svd(held / np.max(np.abs(held)))[2][len(held) :].T
    M, K = N.T @ shapes.mass @ N, N.T @ shapes.linear_stiffness @ N
    scale = 1.0 / np.sqrt(np.diag(M))
    F = np.linalg.inv(np.linalg.cholesky(M * np.outer(scale, scale)))
    return np.sqrt(np.linalg.eigvalsh(F @ (K * np.outer(scale, scale)) @ F.T))


def held_end(shapes: Shapes) -> np.ndarray:
    """Rows of deflection and rotation of the end."""
    return shapes.section_motion(1.0)[[1, 5]]


PINNED = [math.pi, 2.0 * math.pi, 3.0 * math.pi]


def order_of(errors: list[float]) -> float:
    """Order of convergence where the number of elements doubles."""
    return math.log2(errors[-2] / errors[-1])


@pytest.mark.costly
@pytest.mark.parametrize(
    ("pinned", "held", "exact"),
    [(True, False, PINNED), (False, False, CLAMPED_FREE), (False, True, CLAMPED_CLAMPED[:3])],
    ids=["pinned-pinned", "clamped-free", "clamped-clamped"],
)
def test_bending_converges_with_order_four(pinned: bool, held: bool, exact: list[float]) -> None:
    c = math.sqrt(E * SLENDER.Iz / (RHO * SLENDER.area)) / L**2
    errors: list[list[float]] = []
    for number in (3, 6, 12):
        shapes = bending(SLENDER, number, pinned=pinned, ends=not pinned, hermite=True, shear=False)
        w = beam_frequencies(shapes, held_end(shapes) if held else None)[:3]
        errors.append([wk / (c * b**2) - 1.0 for wk, b in zip(w, exact, strict=True)])
    for mode in range(3):
        column = [error[mode] for error in errors]
        assert all(error > 0.0 for error in column)  # from above: Rayleigh and Ritz
        assert order_of(column) == pytest.approx(4.0, abs=0.15)


def test_modes_need_few_coordinates() -> None:
    """Craig and Bampton, three interior modes: those of held ends are exact, of a free end near."""
    c = math.sqrt(E * SLENDER.Iz / (RHO * SLENDER.area)) / L**2
    clamped = bending(SLENDER, 3, pinned=False, ends=True, hermite=False, shear=False)
    w = beam_frequencies(clamped, held_end(clamped))
    np.testing.assert_allclose(w, c * np.array(CLAMPED_CLAMPED[:3]) ** 2, rtol=1e-7)
    np.testing.assert_allclose(beam_frequencies(clamped)[:2], c * np.array(CLAMPED_FREE[:2]) ** 2, rtol=5e-4)
    sines = bending(SLENDER, 3, pinned=True, ends=False, hermite=False, shear=False)
    np.testing.assert_allclose(beam_frequencies(sines), c * np.array(PINNED) ** 2, rtol=1e-7)


@pytest.mark.parametrize("hermite", [True, False], ids=["hermite", "modes"])
def test_timoshenko(hermite: bool) -> None:
    """Pinned thick beam: (S k^2 - m w^2)(B k^2 + S - J w^2) = S^2 k^2, S = kappa G A, B = E I, J = rho I."""
    S, B = THICK.shear_y * G * THICK.area, E * THICK.Iz
    m, J = RHO * THICK.area, RHO * THICK.Iz
    exact = []
    for mode in (1, 2):
        k = mode * math.pi / L
        a, b, c = m * J, -(S * k**2 * J + m * (B * k**2 + S)), S * k**2 * B * k**2
        exact.append(math.sqrt((-b - math.sqrt(b * b - 4 * a * c)) / (2 * a)))
    shapes = bending(THICK, 12 if hermite else 2, pinned=True, ends=False, hermite=hermite, shear=True)
    bernoulli = math.sqrt(B / m) * (math.pi / L) ** 2
    assert exact[0] < 0.99 * bernoulli
    # Sections turn as statics has it: right to (k r)^4, r the radius of gyration.
    np.testing.assert_allclose(beam_frequencies(shapes)[:2], exact, rtol=1e-3)
    assert abs(beam_frequencies(shapes)[0] / exact[0] - 1.0) < 1e-4
