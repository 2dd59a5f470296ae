"""The key `shared` of descriptions: read, written, and refused at its place."""

from __future__ import annotations

from importlib import resources

import pytest

import nacelle
from nacelle import robots
from support.bench import problems_of

FIVEBAR = (resources.files(robots) / "fivebar.yaml").read_text()
DELTA4 = (resources.files(robots) / "delta4.yaml").read_text()


@pytest.mark.parametrize(
    ("written", "shared"),
    [
        ("legs", "legs"),
        ("mirrored", "mirrored"),
        ("[[left, right]]", (("left", "right"),)),
        ("[[left, mirror right]]", (("left", "mirror right"),)),
    ],
)
def test_read_and_written(written, shared):
    robot = nacelle.loads(f"{FIVEBAR}\nshared: {written}\n")
    assert robot.shared == shared
    assert robot.hash == nacelle.loads(FIVEBAR).hash
    again = nacelle.loads(robot.to_yaml())
    assert (again.shared, again.hash) == (shared, robot.hash)


def test_without_the_key_nothing_is_written():
    robot = nacelle.loads(FIVEBAR)
    assert robot.shared is None
    assert "shared" not in robot.to_yaml()


@pytest.mark.parametrize(
    ("text", "written", "message"),
    [
        (FIVEBAR, "shared: [[left, §rigth]]", "no leg is called 'rigth'"),
        (FIVEBAR, "shared: [[left, right], [§left, right]]", "leg 'left' is listed twice"),
        (FIVEBAR, "shared: [§[left]]", "two legs or more"),
        (FIVEBAR, "shared: [[§mirror left, right]]", "the first leg of a list"),
        (FIVEBAR, "§shared: [left, right]", "one list for each"),
        (FIVEBAR, "§shared: leg", "shared is legs, mirrored or lists"),
        (DELTA4, "shared: [[leg1, leg2], [leg3, §leg4]]", "leg3 has"),
    ],
)
def test_mistakes_are_at_their_place(text, written, message):
    whole = f"{text}\n{written}\n"
    line, column = whole.count("\n"), written.index("§") + 1
    found = problems_of(whole.replace("§", ""))
    here = [p for p in found if (p.line, p.column) == (line, column) and message in p.message]
    assert here, [str(problem) for problem in found]
