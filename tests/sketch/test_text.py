"""The file that is written: names, comments, and masses of uniform rods."""

from __future__ import annotations

import re

import numpy as np

from nacelle.library import loads
from nacelle.sketch.sketch import sketch
from nacelle.spatial.inertia import inertia_about_com


def test_links_are_uniform_rods() -> None:
    robot = loads(sketch("planar", "3-RRR").text)
    for body in robot.bodies[2:]:
        ten = np.array(body.inertia)
        if not ten[0]:
            continue
        length = 2.0 * np.linalg.norm(ten[1:4]) / ten[0]
        expected = [0.5 * ten[0] * 0.02**2, *[ten[0] * (length**2 / 12.0 + 0.02**2 / 4.0)] * 2]
        np.testing.assert_allclose(np.linalg.eigvalsh(inertia_about_com(ten)), expected, rtol=5e-3)


def test_a_file_that_people_read() -> None:
    text = sketch("hexapod", "6-UPS").text
    assert text.startswith("# 6-U[P]S: ")
    assert max(map(len, text.splitlines())) <= 130
    assert len(text.splitlines()) < 70
    # Every length has its unit.
    assert not re.search(r"at: -?\d+ -?\d+ -?\d+(?! mm)\b", text)


def test_other_lengths_close_again() -> None:
    text = sketch("planar", "3-RPR").text
    robot = loads(text.replace("base_radius: 400 mm", "base_radius: 430 mm"))
    assert robot.hash != loads(text).hash
