"""Places in URDF: origins, axes, names of links."""

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.urdf.places import Links, axis_of, pose_of
from nacelle.exchange.xml import parsed


def test_origins_and_axes() -> None:
    turned = pose_of(parsed(b'<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>', "a"))
    c, s = np.cos, np.sin
    # Roll, pitch and yaw about fixed axes: the first column of Rz(0.3) Ry(0.2).
    np.testing.assert_allclose(turned.R[:, 0], [c(0.3) * c(0.2), s(0.3) * c(0.2), -s(0.2)], atol=1e-15)
    half = pose_of(parsed(b'<origin quat_xyzw="0 0 2 0"/>', "a"))
    np.testing.assert_allclose(half.R, np.diag([-1.0, -1.0, 1.0]), atol=1e-15)
    np.testing.assert_allclose(axis_of(None), [1, 0, 0])
    np.testing.assert_allclose(axis_of(parsed(b'<axis xyz="0 3 4"/>', "a")), [0, 0.6, 0.8])


def test_links_by_name() -> None:
    links = Links({"left arm": "left-arm"})
    owner = parsed(b'<joint name="j"><parent link="left arm"/><child link="left_arm"/></joint>', "a.urdf")
    assert links.body(owner.first("parent"), owner) == "left-arm"
    with pytest.raises(DescriptionError, match=r"a\.urdf:1:42.*no link 'left_arm'.*did you mean 'left arm'"):
        links.body(owner.first("child"), owner)
    with pytest.raises(DescriptionError, match="<joint> 'j' does not say which links it joins"):
        links.body(None, owner)
