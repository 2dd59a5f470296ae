"""A map of natural frequencies is the frequencies of its poses, one by one."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.elastic.linear.maps import frequency_map
from support.flexible_robots import prrrp


def test_a_map_is_its_poses() -> None:
    robot = prrrp()
    x, z = nacelle.reference_pose(robot)
    found = frequency_map(robot, {"z": (z - 0.1, z + 0.1, 3)}, modes=2)
    assert found.frequencies.shape == (3, 2)
    for k, height in enumerate((z - 0.1, z, z + 0.1)):
        alone = nacelle.natural_frequencies(robot, [x, height], modes=2)
        np.testing.assert_allclose(found.frequencies[k], alone.frequencies, rtol=1e-9)
    lowest, pose = found.lowest(1)
    assert lowest == np.nanmin(found.frequencies[:, 1])
    np.testing.assert_array_equal(pose, found.modes.x[int(np.nanargmin(found.frequencies[:, 1]))])
