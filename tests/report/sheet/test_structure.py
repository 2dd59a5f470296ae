"""Types of legs by letters, with the drive underlined."""

from __future__ import annotations

from pathlib import Path

import pytest

import nacelle
from nacelle.report.sheet.structure import leg_letters, structure
from nacelle.report.sheet.subject import subject_of
from support import described


@pytest.mark.parametrize(
    ("name", "letters"), [("gough-stewart", "U(P)S"), ("delta", "(R)[SS|SS]"), ("fivebar", "(R)RR")]
)
def test_letters_of_legs(name: str, letters: str) -> None:
    robot = nacelle.load(name)
    shown = "".join(f"({a.sign})" if a.active else a.sign for a in leg_letters(robot, robot.legs[0]))
    assert shown == letters


def test_the_drive_is_underlined_and_active_joints_are_named() -> None:
    made = structure(subject_of("gough-stewart"))
    assert "U<u>P</u>S" in made.markup()
    assert all(len(names) == 1 for names in made.active)


def test_a_robot_without_legs_has_no_table_of_them() -> None:
    made = structure(subject_of(str(Path(described.__file__).with_name("differential_wrist.yaml"))))
    page = made.markup()
    assert "0 legs" not in page
    assert "<th" not in page.partition("<details>")[0]
    assert "there is no nacelle" in page
