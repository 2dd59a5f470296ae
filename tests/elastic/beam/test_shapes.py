"""Integrals of the shape functions of beams: mass and stiffness against what is known of rods."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.elastic.beam.shapes import AXIAL, BEND_Y, BEND_Z, TORSION, Shapes
from nacelle.elastic.extended import extended
from support.flexible_robots import flexible

Array = np.ndarray


def arm(**options: object) -> Shapes:
    """A beam that carries all moments at both ends."""
    return extended(flexible("delta", ("leg1.arm",), section={"rectangle": (0.01, 0.02)}, **options)).shapes[
        0
    ]


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
    start, end = shapes.movement(0.0), shapes.movement(1.0)
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
