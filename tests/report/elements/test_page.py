"""Robots as kinematic elements on a page: what the tables say holds, and LaTeX can read them."""

from __future__ import annotations

import dataclasses
import re

import pytest

from nacelle.errors import KinematicsError
from nacelle.report.elements.page import element_report
from support.element_pages import COVERED, SOME_CASES, robot_of
from support.uncompiled import any_robot

# ---- LaTeX


def latex_faults(text: str) -> list[str]:
    """What LaTeX would stumble over: braces, environments, dollars, special characters, rows of tables."""
    faults = []
    bare = re.sub(r"\\[\\{}$&#%_]", lambda found: r"\\" if found.group() == r"\\" else "", text)
    depth, dollars = 0, 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        dollars += character == "$"
        if depth < 0:
            faults.append("a brace too many")
            break
    if depth:
        faults.append(f"{depth} braces open")
    if dollars % 2:
        faults.append("a dollar open")
    if "#" in bare or "%" in bare:
        faults.append("a special character")
    stack: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", text):
        if kind == "begin":
            stack.append(name)
        elif not stack or stack.pop() != name:
            faults.append(f"environment {name}")
    faults += [f"{name} open" for name in stack]
    for columns, body in re.findall(r"\\begin\{longtable\}\{(l+)\}(.*?)\\end\{longtable\}", text, re.DOTALL):
        for row in re.findall(r"^(.*) \\\\$", body, re.MULTILINE):
            if len(re.findall(r"(?<!\\)&", row)) != len(columns) - 1:
                faults.append(f"row {row}")
    # Outside of formulas _ and ^ occur only escaped.
    outside = re.sub(r"\\begin\{align\*\}.*?\\end\{align\*\}|\$[^$]*\$", "", bare, flags=re.DOTALL)
    faults += ["a script outside of a formula"] if re.search(r"[_^]", outside) else []
    if not text.isascii():
        faults += [f"{c!r}" for c in text if not c.isascii() and not c.isalpha()]
    return faults


def test_the_checker_finds_faults() -> None:
    good = r"\begin{document} $a_{1}$ \end{document}"
    assert latex_faults(good) == []
    for bad in (good + "{", good + "}", good + "$", good + " a_b", good + "%", good + r"\begin{align*}"):
        assert latex_faults(bad), bad


@pytest.mark.parametrize("name", [*COVERED, *SOME_CASES])
def test_latex(name: str) -> None:
    report = element_report(robot_of(name))
    assert not set(report.text()) & set("\\{")
    text = report.latex()
    assert latex_faults(text) == []
    assert text.startswith(r"\documentclass")
    assert text.rstrip().endswith(r"\end{document}")
    assert "<" not in text.replace("->", "")


HOSTILE = '[a_b%c]&#$^~\\{d} γ é ☃ "<x1>@'


def test_hostile_names() -> None:
    robot = any_robot("delta")
    bodies = tuple(dataclasses.replace(b, name=f"{k}{HOSTILE}") for k, b in enumerate(robot.bodies))
    joints = tuple(dataclasses.replace(j, name=f"{HOSTILE}.{k}{HOSTILE}") for k, j in enumerate(robot.joints))
    legs = tuple(dataclasses.replace(leg, name=f"{HOSTILE}{k}") for k, leg in enumerate(robot.legs))
    drives = tuple(dataclasses.replace(a, name=f"{HOSTILE}{k}") for k, a in enumerate(robot.actuators))
    named = dataclasses.replace(
        robot, name=HOSTILE, title=HOSTILE, bodies=bodies, joints=joints, legs=legs, actuators=drives
    )
    report = element_report(named)
    assert latex_faults(report.latex()) == []
    assert HOSTILE in report.text()


def test_not_covered() -> None:
    """What the page says."""
    with pytest.raises(KinematicsError, match="URU"):
        element_report(any_robot("dymo"))
