"""Angular dampers as they are written: in the robot or a leg, with errors at their place."""

from __future__ import annotations

import pytest

import nacelle

_TEXT = """\
format: nacelle/2
name: damped
motion: [leg.turn, leg.bend]
legs:
  - name: leg
    bodies:
      upper: {mass: 0.4 kg, com: 80 0 0 mm, inertia: 0 0.001 0.001 kg*m^2}
      lower: {mass: 0.2 kg, com: 100 0 0 mm, inertia: 0 0.001 0.001 kg*m^2}
    joints:
      turn: {type: revolute, parent: base, child: upper, active: true, axis: z}
      bend: {type: revolute, parent: upper, child: lower, active: true, at: 160 0 0 mm, axis: z}
    dampers: {knee: {between: [lower, upper], damping: 0.2 N*m*s/rad}}
dampers:
  whole: {between: [leg.lower, base], damping: 0.5 N*m*s/rad}
"""


def test_dampers_of_the_robot_and_of_legs() -> None:
    robot = nacelle.loads(_TEXT)
    read = [(d.name, [robot.bodies[b].name for b in d.bodies], d.damping) for d in robot.dampers]
    assert read == [("whole", ["leg.lower", "base"], 0.5), ("leg.knee", ["leg.lower", "leg.upper"], 0.2)]
    # About one axis: 0.5 (q1' + q2') on both joints, 0.2 q2' on the second.
    v = [0.3, 0.4]
    still = [0.0, 0.0]
    forces = [
        nacelle.inverse_dynamics(robot, [0.2, 0.1], v, still, friction=on).force for on in (True, False)
    ]
    assert forces[0] - forces[1] == pytest.approx([0.35, 0.43], rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("nacelle/2", "nacelle/1", "dampers between bodies are not in nacelle/1"),
        ("[leg.lower, base]", "[leg.lower, leg.arm]", "no body is called 'leg.arm'"),
        ("[leg.lower, base]", "[base, base]", "both ends of the damper are on one body"),
        ("0.5 N*m*s/rad", "-0.5 N*m*s/rad", "must not be below 0"),
        ("0.5 N*m*s/rad", "0.5 N*s/m", "N*m*s/rad"),
    ],
)
def test_what_is_wrong_has_its_place(old: str, new: str, words: str) -> None:
    with pytest.raises(nacelle.DescriptionError) as caught:
        nacelle.loads(_TEXT.replace(old, new))
    assert any(words in str(problem) and problem.line for problem in caught.value.problems)
