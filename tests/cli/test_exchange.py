"""The command `import`: what it prints and writes, and that it writes nothing where it fails."""

import json
from pathlib import Path

from typer.testing import CliRunner

from nacelle.cli import app
from support.urdf_files import ENDS, SIDE, TREE, robot, written

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
