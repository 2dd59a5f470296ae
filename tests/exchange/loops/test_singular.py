"""Poses of files in which loops have more motions than in others."""

from __future__ import annotations

from pathlib import Path

import nacelle
from support.urdf_files import LIMIT, joint_text, link_text, robot_document, write_file

# A four-bar that lies flat at zero: its bars could fold there in two ways.
FLAT = (
    link_text("ground", 5.0, 0.0)
    + link_text("crank", 0.4, 0.1)
    + link_text("coupler", 0.3, 0.4)
    + link_text("rocker", 0.5, 0.1)
    + joint_text("motor", ("ground", "crank"), 'xyz="0 0 0"', LIMIT.format(9))
    + joint_text("elbow", ("crank", "coupler"), 'xyz="0.2 0 0"', kind="continuous")
    + joint_text("pivot", ("ground", "rocker"), 'xyz="0.7 0 0"', kind="continuous")
    + '<loop name="pin" type="revolute"><predecessor link="coupler"><origin xyz="0.7 0 0"/></predecessor>'
    '<successor link="rocker"><origin xyz="0.2 0 0"/></successor><axis xyz="0 1 0"/></loop>'
)


def test_a_flat_four_bar_has_one_motion(tmp_path: Path) -> None:
    done = nacelle.import_robot(write_file(tmp_path, robot_document(FLAT)))
    assert done.robot.motion.coordinates == ("bars.motor",)
    sentence = "the pose of the file is singular, with 2 motions of loops at 'pin' where others have 1"
    assert any(step.startswith(sentence) for step in done.steps)
