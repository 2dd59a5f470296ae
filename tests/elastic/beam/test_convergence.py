"""Shape functions of single beams against frequencies that textbooks give in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.elastic.beam.bending import Plane, bends
from nacelle.elastic.beam.ends import MomentsCarried
from nacelle.elastic.beam.shapes import AXIAL, BEND_Y, TORSION, ElasticCoordinate, Shapes
from nacelle.elastic.beam.shapes import _linear as linear
from nacelle.model.flexible import Beam, Section
from nacelle.spatial.pose import identity

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
    shapes = bends(Plane(L, s, pinned, ends, ends, hermite, number))
    coordinates = tuple(ElasticCoordinate(BEND_Y, bend.v, bend.psi) for bend in shapes)
    return Shapes(own, coordinates, (MomentsCarried(True, True, ends), MomentsCarried(True, True, ends)))


def frequencies(shapes: Shapes, held: np.ndarray | None = None) -> np.ndarray:
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
    return shapes.movement(1.0)[[1, 5]]


def root(f, low: float, high: float) -> float:
    """A root by bisection."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(low) * f(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)


# (k L) of the first three modes.
CLAMPED_FREE = [root(lambda b: math.cos(b) * math.cosh(b) + 1.0, a, c) for a, c in ((1, 3), (4, 5), (7, 8.5))]
CLAMPED_CLAMPED = [
    root(lambda b: math.cos(b) * math.cosh(b) - 1.0, a, c) for a, c in ((4, 6), (7, 8.5), (10, 12))
]
PINNED = [math.pi, 2.0 * math.pi, 3.0 * math.pi]


def order_of(errors: list[float]) -> float:
    """Order of convergence where the number of elements doubles."""
    return math.log2(errors[-2] / errors[-1])


@pytest.mark.costly
@pytest.mark.parametrize(
    ("pinned", "held", "exact"),
    [(True, False, PINNED), (False, False, CLAMPED_FREE), (False, True, CLAMPED_CLAMPED)],
    ids=["pinned-pinned", "clamped-free", "clamped-clamped"],
)
def test_bending_converges_with_order_four(pinned: bool, held: bool, exact: list[float]) -> None:
    c = math.sqrt(E * SLENDER.Iz / (RHO * SLENDER.area)) / L**2
    errors: list[list[float]] = []
    for number in (3, 6, 12):
        shapes = bending(SLENDER, number, pinned=pinned, ends=not pinned, hermite=True, shear=False)
        w = frequencies(shapes, held_end(shapes) if held else None)[:3]
        errors.append([wk / (c * b**2) - 1.0 for wk, b in zip(w, exact, strict=True)])
    for mode in range(3):
        column = [error[mode] for error in errors]
        assert all(error > 0.0 for error in column)  # from above: Rayleigh and Ritz
        assert order_of(column) == pytest.approx(4.0, abs=0.15)


@pytest.mark.parametrize("kind", [AXIAL, TORSION], ids=["axial", "torsion"])
def test_axial_and_torsion_converge_with_order_two(kind: int) -> None:
    c = math.sqrt(E / RHO if kind == AXIAL else G * SLENDER.J / (RHO * 2e-18))
    errors: list[float] = []
    for number in (8, 16):
        own = beam(SLENDER, number, shapes="hermite")
        functions = linear(own)
        coordinates = tuple(
            ElasticCoordinate(kind, f, None) if kind == AXIAL else ElasticCoordinate(kind, None, f)
            for f in functions
        )
        shapes = Shapes(own, coordinates, (MomentsCarried(True, True, True),) * 2)
        errors.append(frequencies(shapes)[0] / (0.5 * math.pi * c / L) - 1.0)
    assert order_of(errors) == pytest.approx(2.0, abs=0.05)


def test_modes_need_few_coordinates() -> None:
    """Craig and Bampton, three interior modes: those of held ends are exact, of a free end near."""
    c = math.sqrt(E * SLENDER.Iz / (RHO * SLENDER.area)) / L**2
    clamped = bending(SLENDER, 3, pinned=False, ends=True, hermite=False, shear=False)
    w = frequencies(clamped, held_end(clamped))
    np.testing.assert_allclose(w, c * np.array(CLAMPED_CLAMPED) ** 2, rtol=1e-7)
    np.testing.assert_allclose(frequencies(clamped)[:2], c * np.array(CLAMPED_FREE[:2]) ** 2, rtol=5e-4)
    sines = bending(SLENDER, 3, pinned=True, ends=False, hermite=False, shear=False)
    np.testing.assert_allclose(frequencies(sines), c * np.array(PINNED) ** 2, rtol=1e-7)


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
    np.testing.assert_allclose(frequencies(shapes)[:2], exact, rtol=1e-3)
    assert abs(frequencies(shapes)[0] / exact[0] - 1.0) < 1e-4
