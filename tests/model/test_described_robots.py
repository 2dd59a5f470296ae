"""Robots described in every way that the format offers, with their known types and mobilities."""

from pathlib import Path

import pytest

import nacelle

FOLDER = Path(__file__).parent.parent / "robots"

# file: leg types, motions of the nacelle, idle motions, overconstraint, actuators
EXPECTED = {
    "3rrr": (["RRR"] * 3, 3, 0, 6, 3),
    "gough-stewart-elements": (["UPS"] * 6, 6, 0, 0, 6),
    "gough-stewart-joints": (["UPS"] * 6, 6, 0, 0, 6),
    "gough-stewart-table": (["UPS"] * 6, 6, 0, 0, 6),
    "space": (["UPS"] * 3, 6, 0, 0, 6),
    "prrrp": (["PRR"] * 2, 2, 0, 1, 2),
    "h4": (["R[SS|SS]"] * 4, 4, 8, None, 4),
    "delta4": (["R[SS|SS]"] * 3 + ["RUPU"], 4, 6, None, 4),
    "hexaglide": (["PUS"] * 6, 6, 0, 0, 6),
    "hexa": (["RUS"] * 6, 6, 0, 0, 6),
    "dymo": (["URU"] * 3, 3, 0, 0, 3),
    "3rps": (["RPS"] * 3, 3, 0, 0, 3),
    "c5-slides": (["PSPP"] * 6, 6, 0, 0, 6),
    "fivebar-mirror": (["RRR"] * 2, 2, 0, None, 2),
    "redundant": (["RRR"] * 3, 2, 0, None, 3),
    "shared": (None, 2, 0, None, 2),
    "everything": (None, 6, 0, None, 6),
}


@pytest.fixture(scope="module", params=EXPECTED)
def case(request):
    check = nacelle.check(FOLDER / f"{request.param}.yaml")
    assert not check.errors
    return check, EXPECTED[request.param]


def test_every_file_has_an_expectation():
    assert {file.stem for file in FOLDER.glob("*.yaml")} == set(EXPECTED)


def test_types_and_mobility(case):
    check, (types, platform, idle, overconstrained, actuators) = case
    robot, m = check.robot, check.mobility
    if types is not None:
        assert [nacelle.leg_type(robot, leg).name for leg in robot.legs] == types
    assert (m.platform, m.idle_count, m.actuators) == (platform, idle, actuators)
    assert m.controlled == platform
    if overconstrained is not None:
        assert m.overconstrained == overconstrained
    # Counting and rank differ by the superfluous equations.
    assert m.true - m.counted == m.overconstrained


def test_round_trip(case):
    robot = case[0].robot
    text = robot.to_yaml()
    again = nacelle.loads(text)
    assert again.hash == robot.hash
    assert again.to_yaml() == text


def test_closed_forms(case):
    robot = case[0].robot
    for leg in robot.legs:
        kind = nacelle.leg_type(robot, leg)
        closed = kind.name in ("RRR", "PRR", "UPS", "PUS", "RUS", "URU", "PSPP", "R[SS|SS]")
        assert kind.closed_form == closed


def test_elements_and_joints_are_the_same_gough_stewart_platform():
    by_elements = nacelle.load(FOLDER / "gough-stewart-elements.yaml")
    by_joints = nacelle.load(FOLDER / "gough-stewart-joints.yaml")
    assert by_elements == by_joints


def test_legs_that_share_a_body_are_one_leg():
    assert len(nacelle.load(FOLDER / "shared.yaml").legs) == 1
