"""The command `observe`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nacelle.cli import app

CAMERA = "position: 0 140 770 mm\nlooks at: 0 140 0 mm\nup: y\nsize: [400, 400]\n"


@pytest.fixture
def camera(tmp_path: Path) -> Path:
    path = tmp_path / "camera.yaml"
    path.write_text(CAMERA)
    return path


def run(*arguments: object):
    return CliRunner().invoke(app, ["observe", *map(str, arguments)])


def test_table_and_picture(camera: Path, tmp_path: Path) -> None:
    picture = tmp_path / "seen.png"
    result = run("fivebar", "--camera", camera, "--at", "x=10mm", "--out", picture)
    assert result.exit_code == 0, result.output
    assert "image of 400 x 400 px from (0, 140, 770) mm" in result.output
    assert "left.distal" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = run("fivebar", "--camera", camera, "--out", picture)
    assert again.exit_code == 1
    assert "exists already" in again.output


def test_json(camera: Path) -> None:
    result = run("fivebar", "--camera", camera, "--noise", "4", "--blur", "1.2", "--json")
    data = json.loads(result.stdout)
    assert len(data["cylinders"]) == 4
    assert all(one["edges"] == 2 for one in data["cylinders"])
    assert max(abs(value) for value in data["pose"]["error"]) < 5.0 * max(data["pose"]["sigma"])


def test_what_is_not_determined_is_said(tmp_path: Path) -> None:
    away = tmp_path / "away.yaml"
    away.write_text("position: 3 0 1 m\nlooks at: 3 0 0 m\nup: y\nsize: [64, 64]\n")
    result = run("fivebar", "--camera", away)
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
    result = run(*arguments)
    assert result.exit_code == 1
    assert words in result.output
    assert "Traceback" not in result.output
