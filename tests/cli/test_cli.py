"""Cli: common, exchange, help, new, observe, trajectory, versions, view; what they print: test_golden.py."""

from __future__ import annotations

import platform
import shlex
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import typer
import typer.main

from nacelle.cli.commands import COMMANDS as ALL_COMMANDS
from nacelle.cli.commands import app as help_app
from nacelle.cli.ops import MODELS
from nacelle.cli.trajectory import MotionOptions, make_trajectory
from nacelle.cli.versions import version_lines
from nacelle.dynamics.models import NAMES
from nacelle.elastic.named import ELASTIC_NAMES
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.library import check
from support.command import run, run_json
from support.golden import FOLDER
from support.uncompiled import named_robot
from support.urdf_files import ENDS, SIDE, TREE, robot_document, write_file

# ---- The command `import`: what it writes, and that it writes nothing where it fails


def test_import_writes_a_new_file() -> None:
    command = ("import", str(FOLDER / "cli" / "files" / "swing.xml"), "--out", "swing.yaml")
    run(*command)
    before = Path("swing.yaml").read_text()
    named = (*command, "--name", "arm")
    assert "exists already" in run_json(*named, code=1)["error"]
    assert Path("swing.yaml").read_text() == before
    answer = run_json(*named, "--overwrite")
    assert (answer["robot"], answer["losses"]) == ("arm", ["meshes left out (1)"])
    assert check("swing.yaml").require().robot.name == "arm"


def test_a_urdf_with_its_closure_file(tmp_path: Path) -> None:
    command = (
        "import",
        str(write_file(tmp_path, robot_document(TREE + ENDS))),
        "--out",
        "bars.yaml",
        "--closures",
    )
    wrong = write_file(tmp_path, SIDE.replace("tip_B", "tip_C"), "wrong.yaml")
    assert "no joint or link 'tip_C'" in " ".join(run(*command, str(wrong), code=1).output.split())
    assert not Path("bars.yaml").exists()
    run(*command, str(write_file(tmp_path, SIDE, "side.yaml")), "--floating")
    assert "motion: [se3, left_motor, right_motor, tip_A]" in Path("bars.yaml").read_text()


# ---- Every command has a subject and examples that could be typed


def test_every_command_has_a_subject_and_an_example() -> None:
    assert all(entry.subject and entry.line and entry.examples for entry in ALL_COMMANDS.values())
    assert len({entry.subject for entry in ALL_COMMANDS.values()}) == 9


def test_examples_name_options_that_exist() -> None:
    group = typer.main.get_command(help_app)
    for name, entry in ALL_COMMANDS.items():
        options = {option for parameter in group.get_command(None, name).params for option in parameter.opts}
        for line in entry.examples:
            first, second, *others = shlex.split(line)
            assert (first, second) == ("nacelle", name)
            assert {word for word in others if word.startswith("--")} <= options, line


def test_help_ends_with_examples() -> None:
    assert "Example: nacelle verify delta" in " ".join(run("verify", "--help").output.split())


def test_a_robot_from_its_leg_types() -> None:
    """New robots: copies of others, and sketches from leg types."""
    data = run_json("new", "lift", "--leg", "3-PPP", "--motion", "xyz")
    assert data == {"ok": True, "file": "lift.yaml", "name": "lift", "legs": ["[P]PP"] * 3, "motion": "xyz"}
    robot = check("lift.yaml").require().robot
    assert (robot.name, robot.motion.name, len(robot.actuators)) == ("lift", "xyz", 3)
    run("new", "lift", "--leg", "3-PRR", "--overwrite")
    assert check("lift.yaml").require().robot.motion.name == "xy+rz"


CAMERA = "position: 0 140 770 mm\nlooks at: 0 140 0 mm\nup: y\nsize: [400, 400]\n"


@pytest.mark.slow
def test_what_a_camera_sees() -> None:
    Path("camera.yaml").write_text(CAMERA)
    command = ("observe", "fivebar", "--camera", "camera.yaml", "--noise", "4", "--blur", "1.2")
    data = run_json(*command)
    assert [one["edges"] for one in data["cylinders"]] == [2] * 4
    assert max(abs(value) for value in data["pose"]["error"]) < 5.0 * max(data["pose"]["sigma"])
    run(*command, "--out", "seen.png")
    assert Path("seen.png").read_bytes().startswith(b"\x89PNG")
    assert "exists already" in run(*command, "--out", "seen.png", code=1).output


def options(kind: str, **changes: object) -> MotionOptions:
    return MotionOptions(kind, **changes)


def test_lines_circles_and_rest() -> None:
    """Motions that options describe: where they begin and end, and options that do not fit."""
    robot = named_robot("delta")
    line = make_trajectory(robot, options("line", at=["x=10mm"], to=["z=-650mm"]))
    np.testing.assert_allclose(line(0.0).x[0], 0.01, atol=1e-15)
    np.testing.assert_allclose(line(1.0).x, [0.01, line(0.0).x[1], -0.65], atol=1e-12)
    circle = make_trajectory(robot, options("circle", radius="50mm", duration=2.0))
    np.testing.assert_allclose(circle(0.0).x, circle(2.0).x, atol=1e-12)
    assert np.linalg.norm(circle(1.0).x - circle(0.0).x) == pytest.approx(0.1)
    rest = make_trajectory(robot, options("rest"))
    np.testing.assert_allclose(rest(0.5).x, mechanism_of(robot).reference[0])


def test_versions_are_those_of_what_is_installed() -> None:
    """What a report of a mistake needs to say."""
    first, python, packages = version_lines()
    assert first == f"nacelle {version('nacelle-robotics')}"
    assert platform.python_version() in python
    assert f"numpy {version('numpy')}," in packages
    assert run("--version").output.splitlines() == [first, python, packages]


def test_a_page_is_written_without_a_server(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("view", "fivebar", "--trajectory", "circle", "--radius", "20mm", "--out", str(page))
    assert "scene-data" in page.read_text(encoding="utf-8")
    assert "exists already" in run("view", "fivebar", "--out", str(page), code=1).stderr


# ---- Operations, pictures, other engines

# Operations of a rotation matrix from a quaternion: models take the pose with one.
QUATERNION = 24


@pytest.mark.slow
def test_operations() -> None:
    data = run_json("ops", "palida", "--friction")
    assert data["total"] == data["add"] + data["mul"] <= 1100 + QUATERNION
    assert (data["sqrt"], data["trig"], data["sign"], data["reason"]) == (12, 0, 18, "")
    assert [stage["name"] for stage in data["stages"]] == ["rigid", "friction"]
    assert data["published"][0]["total"] == 1987
    assert set(MODELS) == {*NAMES, *ELASTIC_NAMES}


def test_draw() -> None:
    run("draw", "fivebar", "--out", "d.svg", "--at", "x=50mm", "--names", "--frames")
    assert "<svg" in Path("d.svg").read_text()
    before = Path("d.svg").read_text()
    assert "--overwrite" in run("draw", "fivebar", "--out", "d.svg", code=1).stderr
    assert Path("d.svg").read_text() == before
    run("draw", "fivebar", "--out", "d.svg", "--overwrite")
    assert "<svg" in Path("d.svg").read_text() != before
    # It counts for one line.
    assert "exists already" in run("draw", "fivebar", "--out", "d.svg", code=1).stderr


@pytest.mark.slow
def test_verify_agrees() -> None:
    found = run_json("verify", "prrrp", "--states", "3")
    assert found["ok"] is True
    assert "agrees" in run("verify", "prrrp", "--against", "pinocchio", "--states", "2").stdout
