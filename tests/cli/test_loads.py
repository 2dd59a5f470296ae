"""Options of several commands: --tool, --payload, --external."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_ik_and_fk_of_a_tool() -> None:
    robot = nacelle.load("delta")
    found = run_json("ik", "delta", "--tool", "flange", "--at", "x=100mm", "--at", "z=-0.6")
    assert found["pose"] == pytest.approx({"x": 0.1, "y": 0.0, "z": -0.57})
    assert found["tool"]["position"] == pytest.approx([0.1, 0.0, -0.6])
    given = [f"--q={name}={value!r}" for name, value in found["actuators"].items()]
    back = run_json("fk", "delta", "--tool", "flange", *given)
    assert back["tool"]["position"] == pytest.approx([0.1, 0.0, -0.6])
    assert back["tool"]["quat_xyzw"] == pytest.approx([0, 0, 0, 1])
    Path("tips.csv").write_text("x,y,z\n0.1,0,-0.6\n0,0.05,-0.62\n9,0,0\n")
    # The third pose is out of reach.
    run("ik", "delta", "--tool", "flange", "--csv", "tips.csv", "--out", "joints.csv", code=3)
    run("fk", "delta", "--tool", "flange", "--csv", "joints.csv", "--out", "back.csv", code=3)
    header, *lines = Path("back.csv").read_text().splitlines()
    names = [name.partition(" ")[0] for name in header.split(",")]
    assert names[-8:] == [*(f"flange.{n}" for n in ("x", "y", "z", "qx", "qy", "qz", "qw")), "flags"]
    values = np.array([[float(v) for v in line.split(",")] for line in lines])
    tips = values[:, names.index("flange.x") :][:, :3]
    np.testing.assert_allclose(tips[:2], [[0.1, 0, -0.6], [0, 0.05, -0.62]], atol=1e-14)
    assert np.all(np.isnan(tips[2]))
    x = nacelle.pose(robot, x=0.1, z=-0.6, tool="flange")
    np.testing.assert_allclose(values[0, names.index("x") : names.index("x") + 3], x, atol=1e-14)


@pytest.mark.slow
def test_motions_of_a_tool() -> None:
    """A circle of the flange is the circle of the plate, shifted; a hexapod turns about its tool."""
    circle = ("--trajectory", "circle", "--radius", "50mm", "--rate", "50")
    tool = run_json("dynamics", "delta", *circle, "--tool", "flange", "--at", "z=-0.63")
    plate = run_json("dynamics", "delta", *circle, "--at", "z=-0.6")
    for a, b in zip(tool["actuators"], plate["actuators"], strict=True):
        assert a["peak_force"] == pytest.approx(b["peak_force"], rel=1e-9)
    line = ("--trajectory", "line", "--at", "z=0.76", "--to", "rx=10deg", "--rate", "50")
    run("dynamics", "gough-stewart", *line, "--tool", "spindle", "--csv", "out.csv")
    header, *lines = Path("out.csv").read_text().splitlines()
    names = [name.partition(" ")[0] for name in header.split(",")]
    x = np.array([[float(v) for v in line.split(",")] for line in lines])[:, names.index("x") :][:, :7]
    robot = nacelle.load("gough-stewart")
    tips = nacelle.tool_pose(robot, x, "spindle").p
    assert np.ptp(tips, axis=0).max() < 1e-12
    assert np.ptp(x[:, :3], axis=0).max() > 1e-3
    Path("way.csv").write_text("t,x,y,z\n0,0,0,-0.6\n0.5,0.05,0,-0.6\n1,0.05,0.05,-0.6\n")
    assert run_json("dynamics", "delta", "--trajectory", "way.csv", "--tool", "flange")["failed"] == 0
    peaks = run_json("reactions", "delta", *circle, "--tool", "flange", "--at", "z=-0.63")
    assert peaks["failed"] == 0


@pytest.mark.slow
def test_payload_and_external_are_those_of_python() -> None:
    robot = nacelle.load("gough-stewart")
    x = nacelle.reference_pose(robot)
    load, pull = (
        "mass=2kg; com=0 0 50 mm; inertia=0.01 0.01 0.01 kg*m^2; on=spindle",
        "spindle=0 10 -50 N; 0 0 2 N*m",
    )
    heavy = nacelle.with_payload(robot, 2.0, com=[0, 0, 0.05], inertia=[0.01] * 3, on="spindle")
    external = {"spindle": [0, 10, -50, 0, 0, 2]}
    options = ("--payload", load, "--external", pull)
    rest = ("--trajectory", "rest", "--duration", "0.02", "--rate", "100")
    found = run_json("dynamics", "gough-stewart", *rest, *options)
    expected = nacelle.inverse_dynamics(heavy, x, external=external).force
    np.testing.assert_allclose(
        [row["peak_force"] for row in found["actuators"]], np.abs(expected), rtol=1e-12
    )
    # Units say what a vector is: a moment alone.
    found = run_json("dynamics", "gough-stewart", *rest, "--external", "1 2 3 N*m")
    expected = nacelle.inverse_dynamics(robot, x, external={robot.bodies[1].name: [0, 0, 0, 1, 2, 3]}).force
    np.testing.assert_allclose(
        [row["peak_force"] for row in found["actuators"]], np.abs(expected), rtol=1e-12
    )
    peaks = run_json("reactions", "gough-stewart", *rest, *options)
    wrench = nacelle.joint_reactions(heavy, x, external=external).wrench
    np.testing.assert_allclose(
        [joint["force"] for joint in peaks["joints"]], np.linalg.norm(wrench[:, :3], axis=1), rtol=1e-9
    )
    linear = run_json("linearise", "gough-stewart", *options)
    np.testing.assert_allclose(linear["tau"], nacelle.linearise(heavy, x, external=external).tau, rtol=1e-12)
    held = run_json("simulate", "gough-stewart", "--until", "0.02", "--samples", "3", "--hold", *options)
    np.testing.assert_allclose(held["pose"], x, atol=1e-9)


@pytest.mark.slow
def test_verify_takes_a_payload() -> None:
    bare = run_json("verify", "fivebar", "--states", "2", "--against", "pinocchio")
    heavy = run_json("verify", "fivebar", "--states", "2", "--against", "pinocchio", "--payload", "3kg")
    assert bare["ok"] is heavy["ok"] is True
    assert bare["hash"] != heavy["hash"]
