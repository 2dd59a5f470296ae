"""The command export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nacelle
from support.command import run as run_command

pytestmark = pytest.mark.filterwarnings("error")


def run(*arguments: str, code: int = 0) -> str:
    return str(run_command("export", *arguments, code=code).output)


@pytest.mark.slow
def test_a_users_own_robot(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(nacelle.robots.text("fivebar").replace("name: fivebar", "name: mine"), encoding="utf-8")
    out = str(tmp_path / "package")
    reported = run(str(file), "--model", "inverse_dynamics, jacobian", "--bare", "--out", out)
    assert "mine inverse_dynamics:" in reported
    assert "wrote 10 files" in reported
    assert (tmp_path / "package" / "include" / "mine.h").is_file()
    assert "not empty" in run(str(file), "--out", out, code=1)
    again = run(str(file), "--out", out, "--force", "--target", "numpy", "--json")
    data = json.loads(again)
    assert data["files"] == ["README.md", "mine.py", "mine_self_test.py", "nacelle.json"]
    assert data["functions"]["inverse_dynamics"]["total"] > 100
    assert not list((tmp_path / "package").rglob("*.h"))


@pytest.mark.slow
def test_a_controller_and_its_plant(tmp_path: Path) -> None:
    out = tmp_path / "package"
    asked = ["fivebar", "--controller", "sj", "--bandwidth", "10", "--period", "1e-3", "--plant"]
    data = json.loads(run(*asked, "--out", str(out), "--json"))
    assert {"controller_law", "plant"} <= set(data["functions"])
    assert "inverse_dynamics" not in data["functions"]
    assert "FIVEBAR_CONTROLLER_PERIOD 0.001" in (out / "include" / "fivebar_controller.h").read_text()


@pytest.mark.slow
def test_an_fmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = str(tmp_path / "one.fmu")
    options = ("fivebar", "--target", "fmi", "--model", "gravity_forces", "--bare", "--out", out)
    assert "FMI 3.0, sources and a binary for" in run(*options)
    assert "there already" in run(*options, code=1)
    monkeypatch.setenv("CC", "no-such-cc")
    assert "no binary, as there is no C compiler" in run(*options, "--force").replace("\n", " ")
    files = json.loads(run(*options, "--force", "--json"))["files"]
    assert files[:2] == ["modelDescription.xml", "sources/buildDescription.xml"]


def test_a_robot_for_another_engine(tmp_path: Path) -> None:
    out = tmp_path / "fivebar.urdf"
    run("fivebar", "--target", "urdf", "--out", str(out))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fivebar.urdf", "fivebar.yaml"]
    assert "is there already" in run("fivebar", "--target", "urdf", "--out", str(out), code=1)
    data = json.loads(run("fivebar", "--target", "mjcf", "--name", "mine", "--out", str(tmp_path), "--json"))
    assert data["files"] == [str(tmp_path / "fivebar.xml")]
    assert '<mujoco model="mine">' in (tmp_path / "fivebar.xml").read_text()
    assert "lost: largest rates" in f"lost: {data['losses'][0]}"
