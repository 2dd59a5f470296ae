"""Cli: common, exchange, golden, help, new, observe, outputs, trajectory, versions, view."""

from __future__ import annotations

import json
import platform
import shlex
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer
import typer.main
from typer.testing import CliRunner

from nacelle.cli import app
from nacelle.cli.commands import COMMANDS as ALL_COMMANDS
from nacelle.cli.commands import app as help_app
from nacelle.cli.common import check_new, print_error, print_json, write_new
from nacelle.cli.help import SUBJECTS, examples
from nacelle.cli.outputs import (
    FAILED_SAMPLES,
    ResultTable,
    actuator_units,
    all_flag_words,
    flag_names,
    for_people,
    joint_units,
    leave_if_failed,
)
from nacelle.cli.trajectory import MotionOptions, MotionRun, check_rate, make_trajectory
from nacelle.cli.versions import version_lines
from nacelle.errors import NacelleError
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.library import check
from nacelle.model.joint import Joint, JointKind
from support.command import run, run_json
from support.golden import assert_golden
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


def test_errors_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(NacelleError("no such robot"), True)
    assert json.loads(capsys.readouterr().out) == {"ok": False, "error": "no such robot"}


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


def test_nothing_is_written_for_a_broken_file(tmp_path: Path) -> None:
    file, out = tmp_path / "swing.xml", tmp_path / "swing.yaml"
    file.write_text(TEXT.replace("<worldbody>", "<worldbody><include file='../x.xml'/>"))
    result = CliRunner().invoke(app, ["import", str(file), "--out", str(out)])
    assert result.exit_code == 1
    assert "outside of the robot's folder" in result.output
    assert not out.exists()


def test_a_nacelle_that_there_is_not(tmp_path: Path) -> None:
    file, out = tmp_path / "swing.xml", tmp_path / "swing.yaml"
    file.write_text(TEXT)
    result = CliRunner().invoke(app, ["import", str(file), "--out", str(out), "--nacelle", "arms"])
    assert result.exit_code == 1
    assert "no body is called 'arms'" in result.output
    assert not out.exists()


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


# ---- What commands print, word by word, against golden files; `make golden` writes them again

COMMANDS = {
    "robots": "robots",
    "show-fivebar": "show fivebar",
    "show-palida": "show palida",
    "show-quattro": "show quattro",
    "check": "check fivebar delta",
    "ops-delta": "ops delta",
    "ik-delta": "ik delta --at x=0.02 --at z=-0.5",
    "ik-unreachable": "ik delta --at x=5",
    "fk-fivebar": "fk fivebar --q left.motor=2.2 --q right.motor=0.9",
    "dynamics-fivebar": "dynamics fivebar",
    "reactions-fivebar": "reactions fivebar",
    "linearise-fivebar": "linearise fivebar",
    "unknown-robot": "show fivebra",
    "unknown-option": "ik delta --att 0,0,0",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_prints(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    result = CliRunner().invoke(app, shlex.split(COMMANDS[name]))
    said = f"$ nacelle {COMMANDS[name]}\n{result.stdout}{result.stderr}exit {result.exit_code}"
    assert_golden(f"cli/{name}.txt", said)


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


def test_help_shows_subjects_and_examples() -> None:
    text = run("--help").output
    assert [text.index(f"{subject}:") for subject in SUBJECTS if f"{subject}:" in text] == sorted(
        text.index(f"{subject}:") for subject in SUBJECTS if f"{subject}:" in text
    )
    assert "Example: nacelle verify delta" in " ".join(run("verify", "--help").output.split())


# ---- New robots: copies of others, and sketches from leg types


def test_a_robot_from_its_leg_types() -> None:
    done = run("new", "planar", "--leg", "PRR", "--count", "3")
    assert "wrote planar.yaml: 3-[P]RR, motion xy+rz; next: nacelle check planar.yaml" in done.output
    robot = check("planar.yaml").require().robot
    assert (robot.name, robot.motion.name, len(robot.actuators)) == ("planar", "xy+rz", 3)
    assert Path("planar.yaml").read_text(encoding="utf-8").startswith("# 3-[P]RR: ")
    data = run_json("new", "lift", "--leg", "3-PPP", "--motion", "xyz")
    assert data == {"ok": True, "file": "lift.yaml", "name": "lift", "legs": ["[P]PP"] * 3, "motion": "xyz"}


def test_a_copy() -> None:
    assert run_json("new", "copy", "--from", "delta")["from"] == "delta"
    assert check("copy.yaml").require().robot.name == "copy"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("new robot --leg 6-UQS", "no joint is called 'Q'"),
        ("new robot --leg UPS --count 3 --motion se3", "need 6 actuators"),
        ("new robot --leg UPS --from delta", "give --leg or --from, not both"),
        ("new robot --count 3", "--count and --motion go with --leg"),
        ("new no/name --leg UPS", "is not a name"),
        ("new robot --from detla", "did you mean 'delta'?"),
    ],
)
def test_what_is_wrong(arguments: str, words: str) -> None:
    assert words in run(*arguments.split(), code=1).stderr
    assert not Path("robot.yaml").exists()


def test_a_file_that_exists_is_left_alone() -> None:
    Path("robot.yaml").write_text("mine", encoding="utf-8")
    assert "exists already" in run("new", "robot", "--leg", "3-PRR", code=1).stderr
    assert Path("robot.yaml").read_text(encoding="utf-8") == "mine"


def test_a_file_is_replaced_where_the_line_says_so() -> None:
    Path("robot.yaml").write_text("mine")
    run("new", "robot", "--leg", "3-PRR", "--overwrite")
    assert "repeat: leg, count: 3" in Path("robot.yaml").read_text()


# ---- The command `observe`

CAMERA = "position: 0 140 770 mm\nlooks at: 0 140 0 mm\nup: y\nsize: [400, 400]\n"


@pytest.fixture
def camera(tmp_path: Path) -> Path:
    path = tmp_path / "camera.yaml"
    path.write_text(CAMERA)
    return path


def run_of_observe(*arguments: object):
    return CliRunner().invoke(app, ["observe", *map(str, arguments)])


@pytest.mark.slow
def test_table_and_picture(camera: Path, tmp_path: Path) -> None:
    picture = tmp_path / "seen.png"
    result = run_of_observe("fivebar", "--camera", camera, "--at", "x=10mm", "--out", picture)
    assert result.exit_code == 0, result.output
    assert "image of 400 x 400 px from (0, 140, 770) mm" in result.output
    assert "left.distal" in result.output
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


def test_what_is_not_determined_is_said(tmp_path: Path) -> None:
    away = tmp_path / "away.yaml"
    away.write_text("position: 3 0 1 m\nlooks at: 3 0 0 m\nup: y\nsize: [64, 64]\n")
    result = run_of_observe("fivebar", "--camera", away)
    assert result.exit_code == 3
    assert "2 of 2 motions undetermined" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fivebar", "--noise", "-1"], "--noise is not negative"),
        (["fivebar", "--seeds", "5"], "go with --compare"),
        (["fivebar", "--compare", "--sweeps", "anchor"], "did you mean 'anchors'"),
        (["fivebar", "--camera", "nowhere.yaml"], "there is no such file"),
        (["fivebar", "--out", "seen.txt"], "write .png, .svg or .pdf"),
        (["fivebar", "--at", "x=5m"], "do not reach the pose"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], words: str) -> None:
    result = run_of_observe(*arguments)
    assert result.exit_code == 1
    assert words in result.output
    assert "Traceback" not in result.output


# ---- How commands write: units, flags in words, and tables that are read back


def test_units() -> None:
    assert for_people(np.pi, True) == "180.0000 deg"
    assert for_people(0.0123, False) == "12.3000 mm"
    assert actuator_units(any_robot("fivebar")) == ["rad", "rad"]
    assert actuator_units(any_robot("gough-stewart")) == ["m"] * 6
    assert joint_units(Joint("j", JointKind.PLANAR_SPHERICAL, 0, 1)) == ["m", "m", "", "", "", ""]


def test_flags_in_words() -> None:
    both = int(Flag.UNREACHABLE | Flag.NEAR_SINGULAR)
    assert len(flag_names(both)) == 2
    assert all_flag_words(np.array([0, both, 0])) == [[], flag_names(both), []]


def test_failed_samples_have_a_status() -> None:
    leave_if_failed(np.array([0, int(Flag.NEAR_SINGULAR)]))
    with pytest.raises(typer.Exit) as left:
        leave_if_failed(np.array([0, int(Flag.UNREACHABLE)]))
    assert left.value.exit_code == FAILED_SAMPLES


def test_a_table_has_its_columns_in_order_and_flags_last(tmp_path: Path) -> None:
    table, flags = ResultTable(), np.array([0, int(Flag.NEAR_SINGULAR)])
    table.add(["x", "y"], ["m", "m"], np.array([[1.0, 2.0], [3.0, 4.0]]).T)
    table.add(["q"], ["rad"], [np.array([0.5, 0.25])])
    table.deliver(SimpleNamespace(flags=flags, robot=any_robot("fivebar")), "poses", tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert [part.split()[0].split("[")[0] for part in lines[0].split(",")] == ["x", "y", "q", "flags"]
    rows = [[float(part) for part in line.split(",")] for line in lines if line[:1].isdigit()]
    assert rows == [[1.0, 2.0, 0.5, 0.0], [3.0, 4.0, 0.25, float(Flag.NEAR_SINGULAR)]]


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


@pytest.mark.parametrize(
    "given",
    [
        options("line"),
        options("circle", to=["x=0"]),
        options("nowhere"),
        options("circle", duration=0.0),
        options("rest", radius="10mm"),
    ],
)
def test_mistakes(given: MotionOptions) -> None:
    with pytest.raises(NacelleError):
        make_trajectory(any_robot("delta"), given)


def test_runs_are_prepared_once() -> None:
    robot, path, settings = MotionRun(trajectory="rest", duration=0.5, no_friction=True).prepared("fivebar")
    assert (robot.name, path.duration) == ("fivebar", 0.5)
    assert (settings["rate"], settings["friction"]) == (1000.0, False)
    with pytest.raises(NacelleError, match="rate"):
        check_rate(0.0)


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


def test_wrong_inputs(tmp_path: Path) -> None:
    out = str(tmp_path / "page.html")
    assert "nosuch" in run("view", "nosuch", "--out", out, code=1).stderr
    assert "write a page" in run("view", "fivebar", "--out", str(tmp_path / "page.png"), code=1).stderr
    table = tmp_path / "run.csv"
    table.write_text("t,x,y,z\n0,0,0,1\n1,0,0,1\n", encoding="utf-8")
    assert "no run of fivebar" in run("view", "fivebar", "--run", str(table), "--out", out, code=1).stderr
    both = run("view", "fivebar", "--run", str(table), "--trajectory", "circle", "--out", out, code=1)
    assert "take one of them" in both.stderr
