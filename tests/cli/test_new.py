"""New robots: copies of others, and sketches from leg types."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacelle.library import check
from support.command import run, run_json


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
