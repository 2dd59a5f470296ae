"""Cli: common, exchange, help, new, observe, trajectory, versions, view; what they print: test_golden.py."""

from __future__ import annotations

import json
import platform
import shlex
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import typer
import typer.main
from typer.testing import CliRunner

from nacelle.cli import app
from nacelle.cli.commands import COMMANDS as ALL_COMMANDS
from nacelle.cli.commands import app as help_app
from nacelle.cli.common import check_new, print_json, write_new
from nacelle.cli.help import SUBJECTS, examples
from nacelle.cli.trajectory import MotionOptions, make_trajectory
from nacelle.cli.versions import version_lines
from nacelle.errors import NacelleError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.library import check
from support.command import run, run_json
from support.uncompiled import any_robot
from support.urdf_files import ENDS, SIDE, TREE, robot, written

# ---- What commands share: JSON without NaN, files that are never overwritten, errors in one form


def test_json_has_null_where_there_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": np.array([1.0, np.nan]), "b": float("inf"), "c": [np.float64(2.0)], "d": {"e": True}})
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": None, "c": [2.0], "d": {"e": True}}


def test_new_files_only(tmp_path: Path) -> None:
    place = tmp_path / "table.csv"
    check_new(None)
    check_new(place)
    write_new(place, "1,2\n")
    assert place.read_text() == "1,2\n"
    with pytest.raises(NacelleError, match=r"table\.csv"):
        check_new(place)
    with pytest.raises(NacelleError):
        write_new(place, "other")
    assert place.read_text() == "1,2\n"
    with pytest.raises(NacelleError):
        check_new(tmp_path / "picture.txt", (".png", ".svg"))
    with pytest.raises(NacelleError):
        check_new(tmp_path / "nowhere" / "table.csv")


# ---- The command `import`: what it prints and writes, and that it writes nothing where it fails

TEXT = """<mujoco model="swing"><worldbody>
  <body name="arm"><joint name="turn" axis="0 1 0"/><inertial mass="1" pos="0 0 0.1" diaginertia="1 1 1"/>
    <geom type="mesh" mesh="a"/></body>
</worldbody></mujoco>"""


def test_import_reports_and_writes(tmp_path: Path) -> None:
    file, out = tmp_path / "swing.xml", tmp_path / "swing.yaml"
    file.write_text(TEXT)
    result = CliRunner().invoke(app, ["import", str(file), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "lost: meshes left out (1)" in result.output
    before = out.read_text()
    again = ["import", str(file), "--out", str(out), "--name", "arm", "--json"]
    refused = CliRunner().invoke(app, again)
    assert refused.exit_code == 1
    assert "exists already" in json.loads(refused.stdout)["error"]
    assert out.read_text() == before
    result = CliRunner().invoke(app, [*again, "--overwrite"])
    answer = json.loads(result.stdout)
    assert (answer["robot"], answer["losses"]) == ("arm", ["meshes left out (1)"])
    assert out.read_text().startswith("format: nacelle/2\nname: arm\n")
    assert CliRunner().invoke(app, ["check", str(out)]).exit_code == 0


def test_a_urdf_with_its_closure_file(tmp_path: Path) -> None:
    file, out = written(tmp_path, robot(TREE + ENDS)), tmp_path / "bars.yaml"
    command = ["import", str(file), "--out", str(out), "--closures"]
    wrong = written(tmp_path, SIDE.replace("tip_B", "tip_C"), "wrong.yaml")
    result = CliRunner().invoke(app, [*command, str(wrong)])
    assert result.exit_code == 1
    assert "the URDF has no joint or link 'tip_C'" in " ".join(result.output.split())
    assert not out.exists()
    side = written(tmp_path, SIDE, "side.yaml")
    assert CliRunner().invoke(app, [*command, str(side), "--floating"]).exit_code == 0
    assert "motion: [se3, left_motor, right_motor, tip_A]" in out.read_text()


# ---- Every command has a subject and examples that could be typed


def test_every_command_has_one_subject_and_an_example() -> None:
    listed = [name for entries in SUBJECTS.values() for name in entries]
    assert len(set(listed)) == len(listed)
    assert set(ALL_COMMANDS) <= set(listed)
    assert all(examples(name) for name in ALL_COMMANDS)


def test_examples_name_options_that_exist() -> None:
    group = typer.main.get_command(help_app)
    for name in ALL_COMMANDS:
        options = {option for parameter in group.get_command(None, name).params for option in parameter.opts}
        for line in examples(name):
            first, second, *others = shlex.split(line)
            assert (first, second) == ("nacelle", name)
            assert {word for word in others if word.startswith("--")} <= options, line


def test_help_ends_with_examples() -> None:
    assert "Example: nacelle verify delta" in " ".join(run("verify", "--help").output.split())


# ---- New robots: copies of others, and sketches from leg types


def test_a_robot_from_its_leg_types() -> None:
    data = run_json("new", "lift", "--leg", "3-PPP", "--motion", "xyz")
    assert data == {"ok": True, "file": "lift.yaml", "name": "lift", "legs": ["[P]PP"] * 3, "motion": "xyz"}
    robot = check("lift.yaml").require().robot
    assert (robot.name, robot.motion.name, len(robot.actuators)) == ("lift", "xyz", 3)
    run("new", "lift", "--leg", "3-PRR", "--overwrite")
    assert check("lift.yaml").require().robot.motion.name == "xy+rz"


# ---- The command `observe`

CAMERA = "position: 0 140 770 mm\nlooks at: 0 140 0 mm\nup: y\nsize: [400, 400]\n"


@pytest.fixture
def camera(tmp_path: Path) -> Path:
    path = tmp_path / "camera.yaml"
    path.write_text(CAMERA)
    return path


def run_of_observe(*arguments: object):
    return CliRunner().invoke(app, ["observe", *map(str, arguments)])


def test_table_and_picture(camera: Path, tmp_path: Path) -> None:
    picture = tmp_path / "seen.png"
    result = run_of_observe("fivebar", "--camera", camera, "--at", "x=10mm", "--out", picture)
    assert result.exit_code == 0, result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = run_of_observe("fivebar", "--camera", camera, "--out", picture)
    assert again.exit_code == 1
    assert "exists already" in again.output


def test_json(camera: Path) -> None:
    result = run_of_observe("fivebar", "--camera", camera, "--noise", "4", "--blur", "1.2", "--json")
    data = json.loads(result.stdout)
    assert len(data["cylinders"]) == 4
    assert all(one["edges"] == 2 for one in data["cylinders"])
    assert max(abs(value) for value in data["pose"]["error"]) < 5.0 * max(data["pose"]["sigma"])


# ---- Motions that options describe: where they begin and end, and options that do not fit


def options(kind: str, **changes: object) -> MotionOptions:
    return MotionOptions(kind, None, None, "", 1.0, "")._replace(**changes)


def test_lines_circles_and_rest() -> None:
    robot = any_robot("delta")
    line = make_trajectory(robot, options("line", at=["x=10mm"], to=["z=-650mm"]))
    np.testing.assert_allclose(line(0.0).x[0], 0.01, atol=1e-15)
    np.testing.assert_allclose(line(1.0).x, [0.01, line(0.0).x[1], -0.65], atol=1e-12)
    circle = make_trajectory(robot, options("circle", radius="50mm", duration=2.0))
    np.testing.assert_allclose(circle(0.0).x, circle(2.0).x, atol=1e-12)
    assert np.linalg.norm(circle(1.0).x - circle(0.0).x) == pytest.approx(0.1)
    rest = make_trajectory(robot, options("rest"))
    np.testing.assert_allclose(rest(0.5).x, mechanism_of(robot).reference[0])


# ---- What a report of a mistake needs to say


def test_versions_are_those_of_what_is_installed() -> None:
    first, python, packages = version_lines()
    assert first == f"nacelle {version('nacelle')}"
    assert platform.python_version() in python
    assert f"numpy {version('numpy')}," in packages
    assert run("--version").output.splitlines() == [first, python, packages]


# ----


def test_a_page_is_written_without_a_server(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("view", "fivebar", "--trajectory", "circle", "--radius", "20mm", "--out", str(page))
    assert "scene-data" in page.read_text(encoding="utf-8")
    assert "exists already" in run("view", "fivebar", "--out", str(page), code=1).stderr
