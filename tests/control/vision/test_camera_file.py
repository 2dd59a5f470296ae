"""Cameras written in YAML, and what is said of wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.vision.camera_file import read_camera
from nacelle.errors import DescriptionError

GOOD = """
position: 0 100 800 mm
looks at: 0 100 0 mm
up: y
size: [640, 480]
field: 40 deg
distortion: [-0.1, 0.02, 0, 0, 0]
shutter: {rate: 200 Hz, exposure: 1 ms, latency: 3 ms, clock offset: -2 ms}
pixels: {blur: 1, read noise: 4}
"""


def test_what_is_written_is_what_there_is() -> None:
    written = read_camera(GOOD)
    camera = written.camera(nacelle.load("fivebar"))
    np.testing.assert_allclose(camera.pose.p, [0.0, 0.1, 0.8])
    np.testing.assert_allclose(camera.pose.R, np.diag([1.0, -1.0, -1.0]), atol=1e-15)
    np.testing.assert_allclose(camera.project([0.0, 0.1, 0.0]), [319.5, 239.5])
    # The shorter side sees 40 degrees, without distortion.
    assert camera.focal[0] == pytest.approx(240.0 / np.tan(np.radians(20.0)))
    shutter, pixels = written.shutter, written.pixels
    assert (shutter.rate, shutter.latency, shutter.clock_offset) == (200.0, 3e-3, -2e-3)
    assert (pixels.blur, pixels.read_noise, pixels.leg) == (1.0, 4.0, 200.0)


def test_focal_and_centre_in_pixels() -> None:
    text = "position: 0 0 1 m\nlooks at: 0 0 0 m\nup: y\nfocal: [900, 910]\ncentre: [500, 520]\n"
    camera = read_camera(text).camera(nacelle.load("fivebar"))
    assert camera.focal == (900.0, 910.0)
    np.testing.assert_allclose(camera.project([0.1, 0.0, 0.0]), [590.0, 520.0])


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("position: 0 0 1 m\nlooks at: 0 0 0 kg\n", "2:1", "kg"),
        ("size: [640, 480]\nfeild: 40 deg\n", "2:1", "did you mean 'field'"),
        ("name: a\nposition: 0 0 1 m\n", "2:1", "go together"),
        ("name: a\nshutter: {rate: 500 Hz, exposure: 5 ms}\n", "2:", "does not fit into 2 ms"),
        ("name: a\nsize: [640, 48000000]\n", "2:", "16 to 16384"),
        ("name: a\npixels: {leg: 40}\n", "2:", "cannot be seen"),
        ("name: a\ndistortion: [.nan, 0, 0, 0, 0]\n", "2:", "finite number"),
        ("name: a\nfield: 40 deg\nfocal: [1, 1]\n", "3:1", "give one of them"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(text: str, place: str, words: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        read_camera(text)
    (problem,) = caught.value.problems
    assert f"{problem.line}:{problem.column}".startswith(place)
    assert words in f"{problem.message} ({problem.hint})"


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(DescriptionError, match="there is no such file"):
        read_camera(tmp_path / "camera.yaml")


def test_without_a_position_it_sees_all_legs() -> None:
    robot = nacelle.load("fivebar")
    camera = read_camera({"size": [512, 512]}).camera(robot)
    assert camera.size == (512, 512)
    assert nacelle.observe(robot, camera=camera).view.usable == (0, 1, 2, 3)
