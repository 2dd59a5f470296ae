"""Pages of robots from poses and from results."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nacelle
from nacelle.errors import NacelleError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.scene.animate import _motion, animate


def test_pages_are_written_once(tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    place = animate(robot, out=tmp_path / "a.html")
    before = place.read_text(encoding="utf-8")
    assert 'class="scene3d"' in before
    with pytest.raises(NacelleError, match="exists already"):
        animate(robot, out=place)
    assert place.read_text(encoding="utf-8") == before
    animate(robot, reference_pose(robot) + 0.01, out=place, overwrite=True)
    assert place.read_text(encoding="utf-8") != before


def test_results_give_their_times() -> None:
    robot = nacelle.load("fivebar")
    x = np.tile(reference_pose(robot), (1300, 1))
    result = SimpleNamespace(t=np.linspace(0.0, 2.6, 1300), x=x)
    motion = _motion(robot, result, None)
    assert len(motion.times) <= 600
    assert motion.times[0] == 0.0
    assert motion.times[-1] == pytest.approx(2.6, abs=0.01)
    assert _motion(robot, x[:3], None).times[1] == pytest.approx(0.04)
    with pytest.raises(NacelleError, match="shape"):
        _motion(robot, np.zeros((2, 2, 2)), None)
