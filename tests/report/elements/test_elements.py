"""Elements: equations, leg, page, partial, symbols."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from nacelle.dynamics.state import state_at
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot, body_parameters
from nacelle.papers.elements.projection import element_motion
from nacelle.papers.elements.structure import ElementGeometry, element_legs
from nacelle.report.elements import LegPage, coordinate_equations, element_report
from nacelle.report.formula import Formula
from nacelle.spatial.rotation import skew
from support.library import NAMES
from support.random_robots.legs import CASES
from support.random_robots.loads import with_random_friction, with_random_inertias
from support.uncompiled import named_robot

# ---- Robots whose elements are shown on a page

COVERED = tuple(name for name in NAMES if name != "dymo")
SOME_CASES = (
    "6 UPS with an offset slide",
    "6 RRPS",
    "6 PRRS",
    "3 RRPaR",
    "3 P[US|US]",
    "planar RRR + PRR + RPR",
    "3 UPU",
)


def robot_of(name: str) -> Robot:
    return named_robot(name) if name in COVERED else CASES[name](3).robot


# ---- A leg on a page: axes of its elements are right-handed, and masses are those of the bodies


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "orthoglide"])
def test_members(name: str) -> None:
    robot = named_robot(name)
    mechanism = mechanism_of(robot)
    at = ElementGeometry(robot, mechanism.assembly.motion.poses)
    mass = 0.0
    for number, leg in enumerate(element_legs(mechanism), start=1):
        page = LegPage(at, number, leg)
        assert len(page.lines) == len(leg.all_elements)
        assert len(page.drives()) >= 1
        for member in page.members:
            R = page.axes(member)
            np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-12)
            assert np.linalg.det(R) == pytest.approx(1.0)
            mass += page.parameters(member)[0]
    assert mass == pytest.approx(sum(body.mass for body in robot.bodies), rel=1e-12)


Array = np.ndarray

_TOKEN = re.compile(
    r"\[(?P<hat>\\mathbf\{(\w)\}_\{i,(\w+)\})\]_\{\\times\}"
    r"|\\mathbf\{(?P<vec>\w)\}_\{i,(?P<index>\w+)\}(?P<row>\^\{T\})?"
    r"|(?P<unit>\\mathbf\{I\})"
    r"|(?P<scalar>\\ell|d|s)_\{i,(?P<place>\w+)\}"
    r"|(?P<sign>[-+()])"
    r"|(?P<zero>0)"
)


def evaluate(latex: str, values: dict[str, Array | float], columns: int) -> Array:
    """The value of a kinematic coordinate (3, columns) as it is printed."""
    if latex == "0":
        return np.zeros((3, columns))
    words: list[str] = []
    for found in _TOKEN.finditer(latex):
        if found["hat"]:
            word = f"skew(V['{found[2]}{found[3]}'])"
        elif found["vec"]:
            word = f"V['{found['vec']}{found['index']}'].reshape({'1, 3' if found['row'] else '3, 1'})"
        elif found["unit"]:
            word = "np.eye(3)"
        elif found["scalar"]:
            word = f"(V['{found['scalar'][-1]}{found['place']}'] * np.eye(3))"
        else:
            word = found["sign"]
        if words and words[-1] not in ("+", "-", "(") and word not in ("+", "-", ")"):
            words.append("@")
        words.append(word)
    return np.asarray(eval(" ".join(words), {"V": values, "np": np, "skew": skew}))


def symbols(page: LegPage) -> dict[str, Array | float]:
    """What the symbols of a leg stand for in the reference pose."""
    leg, robot, at, poses = page.leg, page.robot, page.at, page.at.poses
    values: dict[str, Array | float] = {}
    for k, line in enumerate(page.lines):
        values[f"x{line.label}"] = line.x
        if k >= len(leg.elements):
            # On a part of the platform c counts from the input of the part before.
            values[f"c{line.label}"] = line.A - page.lines[len(leg.elements)].A
    for k, rod in enumerate(leg.rods if leg.form != "plane" else (), start=page.first):
        line = page.lines[k]
        if rod.hold.axes:
            a, b = (at.axis(axis) for axis in rod.hold.axes)
            values[f"a{line.label}"] = a
            if rod.hold.letter == "U":
                values[f"g{line.label}"] = (a - (a @ b) * b) / (1.0 - (a @ b) ** 2)
        E, B = at.ends(leg, rod)
        if leg.moving is not None:
            values[f"d{line.label}"] = line.x @ (B - line.A)
            values[f"c{line.label}"] = B - line.A - line.x * (line.x @ (B - line.A))
            continue
        values[f"l{line.label}"] = float(np.linalg.norm(B - E))
        if not page.starts_with_slider:
            first, _ = at.ends(leg, leg.rods[0])
            values["l1"] = page.lines[0].x @ (first - page.lines[0].A)
            values[f"c{line.label}"] = line.A - first
        else:
            values[f"c{line.label}"] = np.zeros(3)
    for member in page.members:
        ten = body_parameters(robot, member.body)
        S = poses[member.body].R @ (ten[1:4] / ten[0]) + poses[member.body].p
        x, arm = page.lines[member.line].x, S - member.origin
        values[f"s{member.mark}"] = x @ arm
        values[f"e{member.mark}"] = arm if member.role in ("cross", "end") else arm - x * (x @ arm)
    return values


@pytest.mark.parametrize("name", [*COVERED, *SOME_CASES])
def test_kinematic_coordinates_hold(name: str) -> None:
    """What Table 1 prints is what the model computes, for bodies with general inertias."""
    robot = with_random_friction(with_random_inertias(robot_of(name), 1), 2)
    mechanism = mechanism_of(robot)
    x, y = mechanism.reference
    state = state_at(robot, x, y, np.zeros(robot.motion.n))
    motion = element_motion(robot, state.now.motion, state.moving.U)
    poses = mechanism.assembly.motion.poses
    for number, moved in enumerate(motion, start=1):
        page = LegPage(ElementGeometry(robot, poses), number, moved.leg)
        values = symbols(page)
        grid = coordinate_equations(page)
        for k, member in enumerate(page.members):
            body = next(c.velocity for c in moved.carried if c.body == member.body)
            ten = body_parameters(robot, member.body)
            S = poses[member.body].R @ (ten[1:4] / ten[0]) + poses[member.body].p
            for row, rate in ((2 * k, body.at(S)), (2 * k + 1, body.w)):
                start = 0
                for (_, state_name, _), cell in zip(page.basis(), grid.rows[row][1:], strict=True):
                    assert isinstance(cell, Formula)
                    width = 3 if state_name in ("A", "x") else 1
                    expected = rate[:, start : start + width]
                    start += width
                    found = evaluate(cell.latex, values, width)
                    # As far as the element moves: x' is perpendicular to x, on a hinge also to its axis.
                    M = moved.M[start - width : start]
                    found, expected = found @ M, expected @ M
                    np.testing.assert_allclose(
                        found, expected, atol=1e-8, err_msg=f"{member} {state_name} {cell}"
                    )


# ---- Robots as kinematic elements on a page: what the tables say holds, and LaTeX can read them

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
    robot = named_robot("delta")
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
        element_report(named_robot("dymo"))
