"""The command `reactions`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.reactions.peak import PARTS
from nacelle.dynamics.reactions.reactions import joint_reactions
from support import described
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_peaks_of_a_robot_at_rest() -> None:
    found = run_json("reactions", "fivebar", "--trajectory", "rest", "--duration", "0.01")
    robot = nacelle.load("fivebar")
    expected = joint_reactions(robot, nacelle.reference_pose(robot))
    assert [row["name"] for row in found["joints"]] == [joint.name for joint in robot.joints]
    assert found["redundancy"] == expected.redundancy == 3
    assert found["failed"] == 0
    for row, wrench in zip(found["joints"], expected.wrench, strict=True):
        assert row["force"] == pytest.approx(np.linalg.norm(wrench[:3]), abs=1e-12)
        if row["kind"] == "point":
            assert row["axial"] is None
        else:
            assert row["axial"] == pytest.approx(abs(wrench[2]), abs=1e-12)
        assert row["determined"] is (row["open"] == [])
        assert row["moment"] == pytest.approx(np.linalg.norm(wrench[3:]), abs=1e-12)


def test_table() -> None:
    run("reactions", "fivebar", "--duration", "0.5", "--rate", "100", "--csv", "joints.csv")
    lines = Path("joints.csv").read_text().splitlines()
    robot = nacelle.load("fivebar")
    assert len(lines) == 52
    assert len(lines[0].split(",")) == 2 + 6 * len(robot.joints)
    assert lines[0].startswith(f"t [s],{robot.joints[0].name}.{PARTS[0]} [N]")
    assert "exists already" in run("reactions", "fivebar", "--csv", "joints.csv", code=1).stderr


def test_samples_out_of_reach_are_counted() -> None:
    far = run_json("reactions", "fivebar", "--radius", "400mm", "--duration", "0.1", "--rate", "100", code=3)
    assert 0 < far["failed"] < far["samples"]
    assert far["reasons"]["unreachable"] == far["failed"]


def test_only_joints_that_were_written_are_listed() -> None:
    """A robot without a nacelle has a ground that nobody wrote; couplings transmit through joints."""
    text = (Path(described.__file__).parent / "coupled_gripper.yaml").read_text()
    Path("gripper.yaml").write_text(text)
    robot = nacelle.loads(text)
    written = [robot.joints[j].name for j in robot.written_joints]
    assert robot.couplings
    assert not robot.has_nacelle
    assert len(written) == len(robot.joints) - len(robot.couplings) - 1
    command = ("reactions", "gripper.yaml", "--trajectory", "rest", "--duration", "0.01")
    assert [row["name"] for row in run_json(*command)["joints"]] == written
    shown = run(*command, "--csv", "joints.csv").stdout
    assert "coupling" not in shown
    assert "ground" not in shown
    assert len(Path("joints.csv").read_text().splitlines()[0].split(",")) == 2 + 6 * len(written)
