"""Flexible links in descriptions: what cannot be a beam is refused with its place."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle import robots
from nacelle.errors import DescriptionError
from nacelle.model.flexible import beam_of, section_of
from support.flexible.references import flexible_robot

SECTION = "section: {square: 2 mm}"
MATERIAL = "material: {name: aluminium, E: 70 GPa, density: 2800 kg/m^3}"
MASS = "mass: 4.48 g"


def prrrp(old: str, new: str) -> str:
    text = robots.text("prrrp")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SECTION, "section: {square: 0 mm}", "above zero"),
        (SECTION, "section: {tube: 4 6 mm}", "outer diameter is not above the inner one"),
        (SECTION, "section: {area: 4 mm^2}", "area, Iy, Iz and J belong together"),
        (SECTION, "section: {area: 4 mm^2, Iy: 0 mm^4, Iz: 1 mm^4, J: 1 mm^4}", "a beam without a section"),
        (MATERIAL, "material: {E: 0 GPa, density: 2800 kg/m^3}", "must be above zero"),
        (MATERIAL, "display: []", "material"),
        (MASS, "mass: 9 g", "the mass is 0.009 kg, density x area x length"),
        ("com: [$l/2, 0, 0]", "com: [$l/3, 0, 0]", "neither curved nor tapered"),
        (SECTION, SECTION + "\n        beam: {shapes: hermite, number: 0}", "at least one element"),
        (SECTION, SECTION + "\n        beam: {damping: {ratio: -0.1}}", "must not be negative"),
    ],
)
def test_refused(old: str, new: str, message: str) -> None:
    text = prrrp(old, new)
    if "display: []" in new:
        text = text.replace("        display: [{box: {size: 400 2 2 mm, at: 200 0 0 mm}}]\n", "")
    with pytest.raises(DescriptionError) as error:
        nacelle.loads(text)
    said = [problem for problem in error.value.problems if message in f"{problem.message} {problem.hint}"]
    assert said, error.value.problems
    line = next(k for k, words in enumerate(text.splitlines(), 1) if new.splitlines()[0] in words)
    assert all(line - 3 <= problem.line <= line + 3 for problem in said)


def test_a_body_that_cannot_be_a_beam_is_refused_where_it_is_used() -> None:
    text = prrrp(SECTION, SECTION + "\n        beam: {to: [800 mm, 0, 0]}")
    # Twice as long and as heavy, with its joint in the middle.
    text = text.replace(MASS, "").replace("com: [$l/2, 0, 0]", "")
    text = text.replace("inertia: 0.00298666666666667 59.7348266666667 59.7348266666667 kg*mm^2", "mass: 1 g")
    robot = nacelle.loads(text)
    with pytest.raises(
        nacelle.KinematicsError, match=r"'leg1\.tip' sits at 50% of its length, not at an end"
    ):
        nacelle.natural_frequencies(robot, nacelle.reference_pose(robot))


def test_masses_may_be_left_out() -> None:
    text = prrrp(MASS, "").replace("com: [$l/2, 0, 0]", "")
    text = text.replace("inertia: 0.00298666666666667 59.7348266666667 59.7348266666667 kg*mm^2", "")
    robot, given = nacelle.loads(text), nacelle.load("prrrp")
    for own, other in zip(robot.bodies, given.bodies, strict=True):
        np.testing.assert_allclose(own.inertia, other.inertia, atol=1e-12)


def test_tips_and_options_are_written_and_read() -> None:
    robot = flexible_robot("fivebar-flexible")
    index = robot.body("left.distal")
    beam = beam_of(robot, index)
    options = {
        "shapes": "hermite",
        "number": 3,
        "frame": "clamped",
        "shear": True,
        "geometric": False,
        "damping": {"ratio": 0.01},
    }
    bodies = list(robot.bodies)
    bodies[index] = dataclasses.replace(bodies[index], beam=options)
    changed = dataclasses.replace(robot, bodies=tuple(bodies))
    again = nacelle.loads(changed.to_yaml())
    read = beam_of(again, again.body("left.distal"))
    assert (read.shapes, read.number, read.pinned, read.shear) == ("hermite", 3, False, True)
    assert (read.geometric, read.ratio, read.length) == (False, 0.01, beam.length)
    assert again.hash == changed.hash != robot.hash


def test_sections() -> None:
    square, rectangle = section_of({"square": 2e-3}), section_of({"rectangle": (2e-3, 2e-3)})
    assert square == rectangle
    tube, circle = section_of({"tube": (5e-3, 1e-9)}), section_of({"circle": 5e-3})
    np.testing.assert_allclose(tube[:4], circle[:4])
    flat = section_of({"rectangle": (1e-4, 1e-1)})
    np.testing.assert_allclose(flat.J, 1e-1 * 1e-12 / 3.0, rtol=1e-3)
    assert flat.Iy > flat.Iz
