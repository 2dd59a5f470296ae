"""Commands about forces: dynamics, reactions, linearise, balance, modes; --tool, --payload, --external."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle import robots
from nacelle.cli.dynamics import linearise as linearise_command
from nacelle.cli.outputs import print_parts
from nacelle.dynamics.reactions import WRENCH_COMPONENTS, joint_reactions
from support import described
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_samples_out_of_reach_along_a_motion() -> None:
    options = ("--radius", "260mm", "--duration", "0.1", "--rate", "200")
    found = run_json("dynamics", "fivebar", *options, code=3)
    assert 0 < found["failed"] == found["reasons"]["unreachable"] < found["samples"]


def test_dynamics_sizes_motors() -> None:
    found = run_json("dynamics", "fivebar", "--radius", "50mm", "--duration", "0.4", "--rate", "200")
    assert found["samples"] == 81
    assert [row["unit"] for row in found["actuators"]] == ["N*m", "N*m"]
    robot = nacelle.load("fivebar")
    course = nacelle.Circle(nacelle.reference_pose(robot), 0.05, motion=robot.motion, duration=0.4)
    loads = nacelle.dynamics.size_motors(robot, course, rate=200.0).loads
    assert [row["peak_force"] for row in found["actuators"]] == [load.peak_force for load in loads]
    run("dynamics", "fivebar", "--trajectory", "line", "--to", "x=50mm", "--csv", "out.csv")
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0].startswith("t [s],x [m],y [m],v_x,v_y,a_x,a_y,")
    assert len(lines) == 1002
    Path("way.csv").write_text("t,x,y\n0,0,0.28\n0.5,0.05,0.3\n1,0,0.28\n")
    assert run_json("dynamics", "fivebar", "--trajectory", "way.csv")["duration"] == 1.0


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
    assert lines[0].startswith(f"t [s],{robot.joints[0].name}.{WRENCH_COMPONENTS[0]} [N]")
    assert "exists already" in run("reactions", "fivebar", "--csv", "joints.csv", code=1).stderr


def test_samples_out_of_reach_are_counted() -> None:
    far = run_json("reactions", "fivebar", "--radius", "400mm", "--duration", "0.1", "--rate", "100", code=3)
    assert 0 < far["failed"] < far["samples"]
    assert far["reasons"]["unreachable"] == far["failed"]


@pytest.mark.slow
def test_only_joints_that_were_written_are_listed() -> None:
    """A robot without a platform has a ground that nobody wrote; couplings transmit through joints."""
    text = (Path(described.__file__).parent / "coupled_gripper.yaml").read_text()
    Path("gripper.yaml").write_text(text)
    robot = nacelle.loads(text)
    written = [robot.joints[j].name for j in robot.described_joints]
    assert robot.couplings
    assert not robot.has_platform
    assert len(written) == len(robot.joints) - len(robot.couplings) - 1
    command = ("reactions", "gripper.yaml", "--trajectory", "rest", "--duration", "0.01")
    assert [row["name"] for row in run_json(*command)["joints"]] == written
    shown = run(*command, "--csv", "joints.csv").stdout
    assert "coupling" not in shown
    assert "ground" not in shown
    assert len(Path("joints.csv").read_text().splitlines()[0].split(",")) == 2 + 6 * len(written)


def test_linear_models_are_those_of_python() -> None:
    found = run_json("linearise", "fivebar", "--at", "x=20mm")
    robot = nacelle.load("fivebar")
    model = nacelle.dynamics.linearise(robot, nacelle.pose(robot, x=0.02))
    for name in "ABCD":
        np.testing.assert_allclose(found[name], getattr(model, name), rtol=1e-12)
    assert found["state"] == ["x", "y", "v_x", "v_y"]
    assert [pole["real"] for pole in found["poles"]] == pytest.approx(model.eigenvalues.real)
    assert found["smooth"] == 0.01


def test_a_pose_without_equilibrium_is_reported() -> None:
    """Nothing holds the pole of a cart beside the vertical; hanging down it rests."""
    path = str(Path(described.__file__).parent / "cart_pole.yaml")
    robot = described.mechanism("cart_pole")
    name = nacelle.kinematics.mobility(robot).undriven[0]
    output = run("linearise", path, "--at", f"{name}=30deg").output
    assert f"no equilibrium: {name} without actuators" in output
    there = nacelle.dynamics.equilibrium_pose(robot, free=name)[robot.motion.coordinates.index(name)]
    assert "no equilibrium" not in run("linearise", path, "--at", f"{name}={there}").output
    data = run_json("linearise", path, "--at", f"{name}=30deg")
    assert abs(np.array(data["c"])).max() > 1.0


def test_wide_matrices_keep_all_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty columns do not fit beside each other: they follow below, and no name is cut."""
    names = tuple(f"v_leg{k}.some-joint" for k in range(20))
    rows = [f"d/dt {name}" for name in names]
    print_parts(linearise_command._matrix_tables("A", np.arange(400.0).reshape(20, 20), rows, names))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 160
    heads = [line.split() for line in lines if line.startswith("A ")]
    assert len(heads) > 1
    assert [name for head in heads for name in head[1:]] == list(names)
    for k, name in enumerate(names):
        rows = [line.split() for line in lines if line.startswith(f"d/dt {name} ")]
        assert [float(cell.replace(".", "0")) for row in rows for cell in row[2:]] == [
            20.0 * k + c for c in range(20)
        ]


@pytest.mark.slow
def test_a_counterweight_and_the_robot_that_has_it() -> None:
    Path("pendulum.yaml").write_text(described.description_text("pendulum"))
    Path("poses.csv").write_text("rz [rad]\n-0.5\n0\n0.5\n")
    arguments = ("balance", "pendulum.yaml", "--counterweight", "arm=-200mm,0,0", "--csv", "poses.csv")
    found = run_json(*arguments)
    assert found["poses"] == 3
    assert found["counterweights"][0]["mass"] == pytest.approx(3.0)
    assert found["springs"] == []
    assert found["max_after"][0] < 1e-12 < found["rms_before"][0]
    run(*arguments, "--out", "balanced.yaml")
    balanced = nacelle.load("balanced.yaml")
    assert np.max(np.abs(nacelle.dynamics.equilibrium(balanced, [[0.1], [0.7]]))) < 1e-12


def test_modes_at_a_pose() -> None:
    found = run_json("modes", "prrrp", "--at", "x=320mm", "--modes", "4")
    robot = nacelle.load("prrrp")
    x = nacelle.pose(robot, None, x=0.32)
    result = nacelle.elastic.natural_frequencies(robot, x, modes=4)
    np.testing.assert_allclose(found["frequencies"], result.frequencies)
    np.testing.assert_allclose(found["effective_mass"], result.effective_mass, atol=1e-12)
    assert found["buckling_factor"] is None
    text = run("modes", "prrrp", "--unlocked", "--plot", "mode.png", "--shape", "3").stdout
    assert text.count("rigid motion") == 2
    assert "28.34 Hz" in text
    assert Path("mode.png").read_bytes().startswith(b"\x89PNG")


def test_paths_and_maps() -> None:
    line = ("--along", "line", "--at", "x=250mm", "--to", "x=350mm", "--points", "5", "--modes", "3")
    found = run_json("modes", "prrrp", *line)
    assert np.shape(found["frequencies"]) == (5, 3)
    assert "mode" in run("modes", "prrrp", *line, "--plot", "path.svg").stdout
    over = ("--map", "x=0.2:0.41:6", "--map", "z=0.2:0.3:3", "--modes", "2")
    found = run_json("modes", "prrrp", *over)
    assert np.shape(found["frequencies"]) == (6, 3, 2)
    assert found["frequencies"][-1][0][0] is None
    text = run("modes", "prrrp", *over, "--plot", "map.png", "--shape", "2").stdout
    assert "18 poses over x, z, 12 within limits" in text
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")


def test_buckling_is_reported() -> None:
    text = robots.text("prrrp").replace("gravity: 0 0 0 m/s^2", "gravity: 0 0 -9.81 m/s^2")
    Path("heavy.yaml").write_text(text, encoding="utf-8")
    result = run("modes", "heavy.yaml")
    assert "28.34 Hz" in result.stdout
    assert "the robot has buckled; buckling load factor of gravity and external wrenches: 0.77" in " ".join(
        result.stderr.split()
    )


# ---- Options of several commands: --tool, --payload, --external


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
    tips = nacelle.kinematics.tool_pose(robot, x, "spindle").p
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
    expected = nacelle.inverse_dynamics(heavy, x, external=external).tau
    np.testing.assert_allclose(
        [row["peak_force"] for row in found["actuators"]], np.abs(expected), rtol=1e-12
    )
    # Units say what a vector is: a moment alone.
    found = run_json("dynamics", "gough-stewart", *rest, "--external", "1 2 3 N*m")
    expected = nacelle.inverse_dynamics(robot, x, external={robot.bodies[1].name: [0, 0, 0, 1, 2, 3]}).tau
    np.testing.assert_allclose(
        [row["peak_force"] for row in found["actuators"]], np.abs(expected), rtol=1e-12
    )
    peaks = run_json("reactions", "gough-stewart", *rest, *options)
    wrench = nacelle.joint_reactions(heavy, x, external=external).wrench
    np.testing.assert_allclose(
        [joint["force"] for joint in peaks["joints"]], np.linalg.norm(wrench[:, :3], axis=1), rtol=1e-9
    )
    linear = run_json("linearise", "gough-stewart", *options)
    np.testing.assert_allclose(
        linear["tau"], nacelle.dynamics.linearise(heavy, x, external=external).tau, rtol=1e-12
    )
    held = run_json("simulate", "gough-stewart", "--until", "0.02", "--samples", "3", "--hold", *options)
    np.testing.assert_allclose(held["pose"], x, atol=1e-9)


@pytest.mark.slow
def test_verify_takes_a_payload() -> None:
    bare = run_json("verify", "fivebar", "--states", "2", "--against", "pinocchio")
    heavy = run_json("verify", "fivebar", "--states", "2", "--against", "pinocchio", "--payload", "3kg")
    assert bare["ok"] is heavy["ok"] is True
    assert bare["hash"] != heavy["hash"]
