"""Frames and poses of SDF, and errors at their places."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.sdf.frames import frames_of
from nacelle.exchange.sdf.texts import pose_of
from nacelle.exchange.xml import parsed

# ---- Frames of SDF: placed in each other, attached to links, in nested models

TEXT = b"""<model name="m"><pose>0 0 1 0 0 0</pose>
<link name="a"><pose relative_to="f">1 0 0 0 0 0</pose></link>
<frame name="f"><pose degrees="true">0 2 0 0 0 90</pose></frame>
<frame name="g" attached_to="j"><pose>0 0 3 0 0 0</pose></frame>
<joint name="j" type="fixed"><parent>a</parent><child>inner::b</child><pose>0.5 0 0 0 0 0</pose></joint>
<model name="inner"><pose relative_to="a">0 0 0 0 0 0</pose>
  <link name="b"><pose rotation_format="quat_xyzw">0 0 4 0 0 0 1</pose></link>
  <frame name="h" attached_to="b"/></model>
</model>"""


def test_poses_follow_one_another() -> None:
    frames = frames_of(parsed(TEXT, "m.sdf"))
    # f is at (0, 2, 1) and turned by a quarter: its x axis is y of the world.
    np.testing.assert_allclose(frames.pose("a").p, [0, 3, 1], atol=1e-15)
    np.testing.assert_allclose(frames.pose("inner::b").p, [0, 3, 5], atol=1e-15)
    np.testing.assert_allclose(frames.pose("j").p, [0, 3.5, 5], atol=1e-15)
    np.testing.assert_allclose(frames.pose("g").p, [0, 3.5, 8], atol=1e-15)
    np.testing.assert_allclose(frames.pose("inner::h").p, frames.pose("inner::b").p)
    assert frames.link("g") == frames.link("inner::h") == frames.link("inner::__model__") == "inner::b"
    assert frames.link("f") == frames.link("__model__") == "a"
    assert frames.full("b", "inner::", parsed(TEXT, "m")) == "inner::b"
    assert list(frames.links) == ["a", "inner::b"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            b'<frame name="f">',
            b'<frame name="f" attached_to="a">',
            "m.sdf:2:1: the frame 'a' is placed in itself",
        ),
        (b'relative_to="f"', b'relative_to="x"', "m.sdf:2:1: there is no link, joint or frame 'x'"),
        (b'name="g"', b'name="f"', "m.sdf:4:1: two elements are called 'f'"),
        (b'<frame name="h"', b"<frame", "m.sdf:8:3: a <frame> has no name"),
        (b"0 2 0 0 0 90", b"0 2 0", "m.sdf:3:17: <pose> must be 6 numbers"),
    ],
)
def test_errors_name_the_place(old: bytes, new: bytes, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        frames_of(parsed(TEXT.replace(old, new), "m.sdf")).pose("a")
    assert message in str(caught.value)


# ---- Values in the texts of SDF elements


def test_poses_in_all_their_forms() -> None:
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    half = math.sqrt(0.5)
    for text in (
        f"<pose>1 2 3 0 0 {math.pi / 2}</pose>",
        '<pose degrees="true">1 2 3 0 0 90</pose>',
        f'<pose rotation_format="quat_xyzw">1 2 3 0 0 {half} {half}</pose>',
    ):
        pose = pose_of(parsed(text.encode(), "a"))
        np.testing.assert_allclose(pose.R, quarter, atol=1e-15)
        np.testing.assert_array_equal(pose.p, [1, 2, 3])
    with pytest.raises(DescriptionError, match="a quaternion of zeros"):
        pose_of(parsed(b'<pose rotation_format="quat_xyzw">1 2 3 0 0 0 0</pose>', "a"))
