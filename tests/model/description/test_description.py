"""Mistakes in descriptions: each is found at its line and column, with its path and a hint.

A case is one edit of a robot that is right. "§" marks where the problem must be reported; where it is
reported elsewhere, `at` gives the text that is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle import DescriptionError, robots
from support.bench import BENCH, problems_of

pytestmark = pytest.mark.filterwarnings("error")


@dataclass(frozen=True)
class Mistake:
    """One edit, and what must be said about it."""

    old: str
    new: str
    path: str
    message: str
    hint: str = ""
    at: str = ""
    base: str = BENCH

    def text(self) -> tuple[str, int, int]:
        """The text with the mistake, and the line and column where it is to be found."""
        assert self.base.count(self.old) == 1, self.old
        text = self.base.replace(self.old, self.new)
        mark = self.at or "§"
        assert text.count(mark) == 1 or self.at, self.new
        place = text.index(mark)
        line = text.count("\n", 0, place) + 1
        column = place - text.rfind("\n", 0, place)
        return text.replace("§", ""), line, column


def check_mistake(mistake: Mistake) -> None:
    text, line, column = mistake.text()
    problems = problems_of(text)
    here = [p for p in problems if (p.line, p.column) == (line, column) and mistake.message in p.message]
    listing = "\n".join(str(problem) for problem in problems)
    assert here, f"expected {line}:{column} {mistake.path}: {mistake.message}; found\n{listing}"
    assert mistake.path in here[0].path
    assert mistake.hint in here[0].hint
    assert str(here[0]).startswith(f"<text>:{line}:{column}: ")


KEYS = [
    Mistake("  mass: 1 kg", "  §mas: 1 kg", "platform.mas", "unknown key 'mas'", "did you mean 'mass'?"),
    Mistake("axis: z # of the d", "§axs: z # of the d", "joints.shoulder.axs", "unknown key", "mean 'axis'?"),
    Mistake("constants:", "§constant:", "constant", "unknown key", "did you mean 'constants'?"),
    Mistake("templates:", "§template:", "template", "unknown key", "did you mean 'templates'?"),
    Mistake("parameters:", "§parameter:", "legs[0].parameter", "unknown key", "did you mean 'parameters'?"),
    Mistake("- repeat:", "- §repeats:", "legs[0].repeats", "unknown key", "did you mean 'repeat'?"),
    Mistake("    angles:", "    §angels:", "legs[0].angels", "unknown key", "did you mean 'angles'?"),
    Mistake("format: nacelle/1\n", "", "format", "missing key 'format'", at="name: bench"),
    Mistake("format: nacelle/1", "§format: nacelle/3", "format", "expected 'nacelle/1' or", "'nacelle/2'"),
    Mistake("name: bench\n", "", "name", "missing key 'name'", at="format"),
    Mistake("        type: revolute\n", "", "shoulder.type", "missing key 'type'", at="shoulder:"),
    Mistake("name: bench", "§name: my robot", "name", "'my robot' is not a name", "letters, digits"),
    Mistake("  name: plate", "  name: plate\n  §name: disc", "", "the key 'name' is given twice", "remove"),
    Mistake("name: bench", "name: bench\n? [a]\n: b", "", "a key must be a plain name", at="[a]"),
]

UNITS = [
    Mistake(
        "  mass: 1 kg", "  §mass: 1", "platform.mass", "the mass 1 has no unit", "write for example '1.2 kg'"
    ),
    Mistake("  mass: 1 kg", "  §mass: 1 mm", "platform.mass", "'mm' is not a unit of mass", "'1.2 kg'"),
    Mistake("  mass: 1 kg", "  §mass: 1 kgs", "platform.mass", "unknown unit 'kgs'", "did you mean 'kg'?"),
    Mistake("  mass: 1 kg", "  §mass: -1 kg", "platform.mass", "must not be below 0"),
    Mistake("  mass: 1 kg", "  §mass: heavy", "platform.mass", "'heavy' is not a mass", "'1.2 kg'"),
    Mistake("  mass: 1 kg", "  §mass: [1 kg]", "platform.mass", "expected a mass, got a list", "'1.2 kg'"),
    Mistake("  mass: 1 kg", "  §mass:", "platform.mass", "expected a mass, got nothing", "'1.2 kg'"),
    Mistake("  mass: 1 kg", "  §mass: .nan", "platform.mass", "not finite"),
    Mistake("-9.81 0 m/s^2", "-9.81 0 N", "gravity", "'N' is not a unit of acceleration", at="gravity"),
    Mistake("-9.81 0 m/s^2", "-9.81 m/s^2", "gravity", "expected 3 numbers, got 2", "0 0", at="gravity"),
    Mistake("0 -9.81 0 m/s^2", "1e14 0 0 m/s^2", "gravity", "beyond any robot", "its unit", at="gravity"),
    Mistake("guess: 120 deg", "§guess: 120 mm", "shoulder.guess", "'mm' is not a unit of angle", "'20 deg'"),
    Mistake("guess: 120 deg", "§guess: 120", "shoulder.guess", "the angle 120 has no unit", "'20 deg'"),
    Mistake(
        "viscous: 0.01 N*m*s/rad", "§viscous: 1 N*s/m", "friction", "not a unit of angular damping", "N*m*s"
    ),
    Mistake("speed: 300 rpm", "§speed: 3 m/s", "actuator.limits.speed", "not a unit of angular speed", "rpm"),
    Mistake("force: 5 N*m", "§force: 5 N", "actuator.limits.force", "not a unit of torque", "5 N*m"),
    Mistake(
        "rotor_inertia: 0.0001 kg*m^2", "§rotor_inertia: 1 kg", "actuator.rotor_inertia", "unit of inertia"
    ),
    Mistake("name: bench", "name: bench\n§units: metric", "units", "units is SI or a mapping", "units: SI"),
    Mistake("name: bench", "name: bench\nunits: {§lenght: mm}", "units.lenght", "unknown kind", "'length'?"),
    Mistake(
        "name: bench", "name: bench\nunits: {§length: kg}", "units.length", "'kg' is not a unit of length"
    ),
]

SHAPES = [
    Mistake("com: 0 0 0 mm", "§com: [0 mm, 0 mm]", "platform.com", "expected 3 numbers, got 2", "0 0 300 mm"),
    Mistake("tools: {tip: {body: plate, at: 0 0 50 mm}}", "§tools: [tip]", "tools", "expected a mapping"),
    Mistake(
        "payload: {part: {mass: 0.1 kg}}", "payload: {§part: heavy}", "payload.part", "expected a mapping"
    ),
    Mistake("type: revolute\n", "§type: revolut\n", "shoulder.type", "got 'revolut'", "mean 'revolute'?"),
    Mistake("  - repeat: leg\n", "    repeat: leg\n", "legs", "legs is a list", "- name", at="legs:"),
    Mistake(
        "axis: z # of the d", "§axis: up # of the d", "shoulder.axis", "expected an axis, got 'up'", "-x"
    ),
    Mistake("axis: z # of the d", "§axis: [0, 0, 0] # of the d", "shoulder.axis", "the axis has no length"),
    Mistake("axis: z # of the e", "§axes: [x, y] # of the e", "elbow.axes", "a revolute joint has one axis"),
    Mistake("angles: [90 deg, 210 deg, 330 deg]", "§count: 3.5", "legs[0].count", "a whole number from 1"),
    Mistake(
        "    angles: [90 deg, 210 deg, 330 deg]\n", "", "legs[0]", "how many legs?", "count", at="repeat: l"
    ),
    Mistake(
        "330 deg]", "330 deg]\n    names: [a, b]", "legs[0]", "differ in length", "one entry", at="repeat: l"
    ),
    Mistake("- repeat: leg", "- 5\n  - repeat: leg", "legs[0]", "a leg is a mapping", at="5\n  - repeat"),
]

INERTIA = [
    Mistake(
        "zz: 0.002", "zz: -0.002", "platform.inertia", "is not positive", "units and axes", at="inertia: {xx"
    ),
    Mistake("zz: 0.002", "zz: 0.02", "platform.inertia", "breaks the triangle inequality", at="inertia: {xx"),
    Mistake("  mass: 1 kg\n", "", "platform.inertia", "the mass is zero but", at="inertia: {xx"),
    Mistake("inertia: 0.0001 0.001 0.001 kg", "§inertia: 1 1 kg", "arm.inertia", "3 numbers (xx yy zz) or 6"),
    Mistake(
        "  com: 0 0 0 mm", "  §first_moment: 0 0 0 kg*m\n  com: 0 0 0 mm", "platform", "say the same", "one"
    ),
    Mistake(
        "mass: 0.1 kg", "mass: 0.1 kg, §inertia: 1 1 9 kg*m^2", "payload.part.inertia", "triangle inequality"
    ),
    Mistake("mass: 0.1 kg", "§inertia: 1 1 1 kg*m^2", "payload.part.inertia", "the mass is zero but"),
]

NAMES = [
    Mistake("parent: arm", "§parent: amr", "elbow.parent", "no body is called 'amr'", "did you mean 'arm'?"),
    Mistake(
        "child: plate", "§child: plaet", "wrist.child", "no body is called 'plaet'", "did you mean 'plate'?"
    ),
    Mistake(
        "repeat: leg", "§repeat: lge", "legs[0].repeat", "no template is called 'lge'", "did you mean 'leg'?"
    ),
    Mistake("[$arm, 0, 0]", "[§$amr, 0, 0]", "elbow.at[0]", "nothing is called $amr", "did you mean 'arm'?"),
    Mistake("[$arm, 0, 0]", "[§$arm*2, 0, 0]", "elbow.at[0]", "'$arm*2' is not a reference", "2*$name"),
    Mistake("[$arm, 0, 0]", "[§$arm/0, 0, 0]", "elbow.at[0]", "division by zero"),
    Mistake("{arm: 150 mm,", "{§a b: 1, arm: 150 mm,", "constants.a b", "'a b' is not a name", "letters"),
    Mistake(
        "330 deg]", "330 deg]\n    with: {§sid: 1 mm}", "legs[0].with.sid", "no parameter 'sid'", "'side'?"
    ),
    Mistake(
        "side: 60 mm", "side: null", "legs[0]", "parameter 'side' is not given", "side: ...", at="repeat: l"
    ),
    Mistake("body: plate", "§body: arm", "tools.tip.body", "the platform has no body 'arm'", "known: plate"),
    Mistake("{leg1: 1}", "{§leg9: 1}", "modes.upper.branch.leg9", "no leg is called 'leg9'", "did you mean"),
    Mistake("{leg1: 1}", "{§leg1: 2}", "modes.upper.branch.leg1", "expected 1 or -1"),
    Mistake("branch: {leg1: 1}", "guess: {§leg1.elbo: 3 deg}", "modes.upper.guess", "no joint", "leg1.elbow"),
    Mistake("motion: xy+rz,", "§motion: xyw,", "modes.upper.motion", "'xyw' is not a motion type", "se3"),
    Mistake(
        "330 deg]", "330 deg]\n    names: [a, b, §a]", "legs[2].name", "the name 'a' is taken", "its own"
    ),
    Mistake("330 deg]", "330 deg]\n    names: [a, b, §plate]", "legs[2].name", "the name 'plate' is taken"),
    Mistake(
        "legs:\n", "§actuators: [leg1.motor, leg2.motor]\nlegs:\n", "actuators", "not in the order: leg3"
    ),
    Mistake("legs:\n", "actuators: [§leg4.motor]\nlegs:\n", "actuators[0]", "no actuator", "did you mean"),
    Mistake("legs:\n", "actuators: [leg1.motor, §leg1.motor]\nlegs:\n", "actuators[1]", "is given twice"),
]

GRAPH = [
    Mistake("child: rod", "child: arm", "joints.elbow", "joins 'leg1.arm' to itself", at="elbow:"),
    Mistake(
        "      rod: {", "      §free: {}\n      rod: {", "bodies.free", "no joint places the body", "as child"
    ),
    Mistake(
        "parent: base", "parent: rod", "shoulder", "hang on each other", "under closures", at="shoulder:"
    ),
    Mistake(
        "    closures:\n",
        "      weld: {type: fixed, parent: base, §child: rod}\n    closures:\n",
        "joints.weld.child",
        "'leg1.rod' is placed twice, by 'elbow' and by 'weld'",
        "under closures",
    ),
    Mistake(
        "child: rod", "§child: base", "elbow.child", "the base is nobody's child", "swap parent and child"
    ),
    Mistake(
        "child: plate", "child: base", "legs[0]", "does not end on the platform", "closure", at="repeat: l"
    ),
]

DRIVES = [
    Mistake(
        "limits: [0 deg, 300 deg]", "§limits: [30 deg, 0 deg]", "shoulder.limits", "is not below the upper"
    ),
    Mistake("limits: [0 deg, 300 deg]", "§limits: [0 deg]", "shoulder.limits", "a limit is a pair", "30 deg"),
    Mistake(
        "position: [10 deg, 290 deg]", "§position: [2 deg, 1 deg]", "limits.position", "not below the upper"
    ),
    Mistake(
        "friction: {viscous: 0.01 N*m*s/rad, coulomb: 0.1 N*m}",
        "§friction: [{coulomb: 1 N*m}, {coulomb: 1 N*m}]",
        "shoulder.friction",
        "2 entries for the 1 axes of a revolute joint",
        "rotation about z",
    ),
    Mistake(
        "viscous: 0.01 N*m*s/rad", "§viscous: -1 N*m*s/rad", "friction.viscous", "friction must not push"
    ),
    Mistake(
        "viscous: 0.01 N*m*s/rad", "§stribeck: 1 N*m", "friction.stribeck", "needs a rate", "scale: 300 rpm"
    ),
    Mistake(
        "viscous: 0.01 N*m*s/rad", "§viscos: 1 N*m*s/rad", "viscos", "unknown key", "did you mean 'viscous'?"
    ),
    Mistake(
        "gear_ratio: 5", "§gear_ratio: 0", "actuator.gear_ratio", "the gear ratio is zero", "direct drive"
    ),
    Mistake("speed: 300 rpm", "§speed: 0 rpm", "limits.speed", "must be positive"),
    Mistake("name: motor", "encoder: {§sign: 2}", "encoder.sign", "expected 1 or -1"),
    Mistake("guess: 90 deg", "§rotor_inertia: -1 kg*m^2", "elbow.rotor_inertia", "is negative"),
    Mistake("guess: 90 deg", "§guess: [90 deg, 0 deg]", "elbow.guess", "2 numbers for a revolute joint"),
    Mistake("guess: 90 deg", "§spring: [null, null]", "elbow.spring", "2 springs for the 1 axes"),
    Mistake("guess: 90 deg", "§spring: {rest: 1 deg}", "spring", "missing key 'stiffness'"),
]

SPHERICAL = BENCH.replace("revolute # passive", "spherical").replace("        axis: z # of the elbow\n", "")
UNIVERSAL = BENCH.replace("revolute # passive", "universal").replace("axis: z # of the elbow", "axes: [x, y]")
ROTATIONS = [
    Mistake(
        "quat_xyzw: 0 0 0 1", "§quat_xyzw: 0 0 0 2", "rotation.quat_xyzw", "has length 2, not 1", "x y z w"
    ),
    Mistake("quat_xyzw: 0 0 0 1", "§matrix: [x, y]", "rotation.matrix", "3 rows of 3 numbers"),
    Mistake("quat_xyzw: 0 0 0 1", "§matrix: [1 0 0, 0 1 0, 0 0 -1]", "rotation.matrix", "a reflection"),
    Mistake(
        "quat_xyzw: 0 0 0 1", "§matrix: [1 .1 0, 0 1 0, 0 0 1]", "rotation.matrix", "not a rotation matrix"
    ),
    Mistake("quat_xyzw: 0 0 0 1", "axis: z", "rotation", "belong together", "{axis: z,", at="rotation: {"),
    Mistake("quat_xyzw: 0", "rpy: 0 0 0 deg, quat_xyzw: 0", "rotation", "exactly one of", at="rotation: {"),
    Mistake(
        "250 0 0 mm}",
        "250 0 0 mm, khalil_kleinfinger: {d: 1 m}}",
        "at",
        "excludes other keys",
        at="at: {tran",
    ),
    Mistake(
        "axes: [x, y]", "§axes: [x, [1, 1, 0]]", "elbow.axes", "perpendicular to each other", base=UNIVERSAL
    ),
    Mistake("axes: [x, y]", "§axis: x", "elbow.axis", "a universal joint has two axes", base=UNIVERSAL),
    Mistake("axes: [x, y]", "§axes: [x]", "elbow.axes", "at least 2", base=UNIVERSAL),
    Mistake(
        "guess: 90 deg", "§active: true", "elbow.active", "spherical joint cannot be active", base=SPHERICAL
    ),
    Mistake("guess: 90 deg", "§guess: [0, 0, 0, 2]", "elbow.guess", "has length 2, not 1", base=SPHERICAL),
    Mistake("guess: 90 deg", "§guess: [.7071, 0, 0, .71]", "guess", "has length 1.00", base=SPHERICAL),
    Mistake(
        "guess: 90 deg", "§axis: x", "elbow.axis", "a spherical joint has no axis", "remove", base=SPHERICAL
    ),
]

PLATFORMS = [
    Mistake(
        "  name: plate",
        "  name: plate\n  type: point",
        "platform",
        "a point has no",
        "only a mass",
        at="platform:",
    ),
    Mistake(
        "  name: plate",
        "  name: plate\n  type: articulated",
        "platform",
        "place the body 'plate'",
        at="platform:",
    ),
    Mistake("  name: plate", "  bodies: {a: {}}", "platform", "has no bodies", "articulated", at="platform:"),
    Mistake("xy+rz\ng", "x+w\ng", "motion", "'x+w' is not a motion type", "se3, xyz", at="motion"),
    Mistake("xy+rz\ng", "[x, x]\ng", "motion", "a coordinate is given twice", at="motion"),
    Mistake("xy+rz\ng", "[x, y, q]\ng", "motion", "'q' is not a coordinate", "known: x, y, z", at="motion"),
]

WHOLE = [
    Mistake(
        "{position: 0 0 0 m", "{position: 5 0 0 m", "legs[0]", "does not reach", "reference", at="repeat: l"
    ),
    Mistake("xy+rz\ng", "xyz\ng", "motion", "the motion xyz does not fit", "[x, y, rz]", at="motion"),
    Mistake("xy+rz\ng", "xy\ng", "motion", "the motion xy does not fit", "[x, y, rz]", at="motion"),
    Mistake("revolute # at the end", "prismatic", "legs[0]", "does not reach the platform", at="repeat: l"),
]

FIVEBAR = robots.text("fivebar")
C5 = robots.text("c5")
PALIDA = robots.text("palida")
LIBRARY = [
    Mistake("motion: xy", "§motion: xy+rz", "motion", "a point does not turn", "xy", base=FIVEBAR),
    Mistake("branch: -1", "§branch: 0", "legs[0].branch", "expected 1 or -1", base=FIVEBAR),
    Mistake(
        "distal-input: -80 deg", "§distal-inpt: 1 deg", "guess", "no joint", "distal-input", base=FIVEBAR
    ),
    Mistake(
        "type: revolute, axis: z}", "type: fixed}", "end", "cannot end on a point", at="end:", base=FIVEBAR
    ),
    Mistake(
        "        length: $distal\n", "", "elements[1]", "needs a length", at="name: distal", base=FIVEBAR
    ),
    Mistake(
        "        at: $P\n", "        §spin: {}\n", "elements[0]", "does not spin", at="name: p", base=FIVEBAR
    ),
    Mistake("{name: left, P:", "{name: left, §Q: 1, P:", "legs[0].Q", "no parameter 'Q'", base=FIVEBAR),
    Mistake(
        "{name: leg3, axis: y, B", "§{name: leg3, B", "legs[0]", "parameter 'axis' is not given", base=C5
    ),
    Mistake(
        "        plane: child\n", "        §plane: both\n", "face.plane", "expected 'parent' or", base=C5
    ),
    Mistake(
        "          - {coulomb: 0.02 N*m}\n",
        "",
        "face.friction",
        "2 entries for the 3",
        at="friction:\n",
        base=C5,
    ),
    Mistake(
        "- {coulomb: 0.02 N*m}", "- {§coulomb: 1 N}", "face.friction[2]", "not a unit of torque", base=C5
    ),
    Mistake(
        "2  1     0  0  0  0",
        "2  1     0  7  0  0",
        "table",
        "σ of joint 2 is '7'",
        at="      2  1",
        base=PALIDA,
    ),
    Mistake("θ      r\n", "θ\n", "table", "missing or repeated columns: r", at="      j  a(j)", base=PALIDA),
    Mistake("α-π/2  0\n", "α-π/2\n", "table", "9 cells under 10 columns", at="      1  0", base=PALIDA),
    Mistake(
        "0  α-π/2", "x  α-π/2", "table", "nothing is called 'x'", "constants", at="      1  0", base=PALIDA
    ),
]

MISTAKES = [
    *(*KEYS, *UNITS, *SHAPES, *INERTIA, *NAMES, *GRAPH),
    *(*DRIVES, *ROTATIONS, *PLATFORMS, *WHOLE, *LIBRARY),
]


def test_the_bench_is_a_robot() -> None:
    robot = nacelle.loads(BENCH)
    assert (robot.name, len(robot.legs), len(robot.actuators)) == ("bench", 3, 3)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.path} {mistake.message}"[:60])
def test_one_mistake(mistake: Mistake) -> None:
    check_mistake(mistake)


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    text = BENCH
    for old, new in (
        ("gravity: 0 -9.81 0 m/s^2", "gravity: 0 -9.81 m/s^2"),
        ("quat_xyzw: 0 0 0 1", "quat_xyzw: 0 0 0 2"),
        ("  mass: 1 kg", "  mas: 1 kg"),
        ("tip: {body", "tip: {bdy"),
        ("com: [$rod/2", "com: [$rood/2"),
        ("        axis: z # of the wrist", "        axis: up"),
        ("speed: 300 rpm", "speed: 3 m/s"),
        ("        type: revolute # passive\n", "        typ: revolute # passive\n"),
        ("    angles: [90 deg, 210 deg, 330 deg]", "    angels: [1]\n    angles: [90 deg, 210 deg, 330 deg]"),
    ):
        text = text.replace(old, new)
    assert [(p.line, p.column, p.path) for p in problems_of(text)] == [
        (4, 1, "gravity"),
        (5, 43, "reference.rotation.quat_xyzw"),
        (9, 3, "platform.mas"),
        (12, 15, "tools.tip.bdy"),
        (20, 33, "legs[0].bodies.rod.com[0]"),
        (34, 49, "legs[0].joints.shoulder.actuator.limits.speed"),
        (36, 7, "legs[0].joints.elbow.type"),
        (37, 9, "legs[0].joints.elbow.typ"),
        (50, 9, "legs[0].closures.wrist.axis"),
        (53, 5, "legs[0].angels"),
    ]


def test_the_digits_of_a_quaternion_decide_how_close_to_1_it_is() -> None:
    """Rounded to four digits sqrt(1/2) makes a length of 0.99999; it is a guess all the same."""

    def read(guess: str) -> nacelle.Robot:
        return nacelle.loads(SPHERICAL.replace("guess: 90 deg", f"guess: {guess}"))

    for guess in ("[0.7071, 0, 0, 0.7071]", "[0.71, 0, 0, 0.71]"):
        elbow = next(joint for joint in read(guess).joints if joint.name.endswith("elbow"))
        np.testing.assert_allclose(elbow.guess, [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)], atol=1e-15)
    for guess in ("[0.7071, 0, 0, 0.7061]", "[1, 0, 0, 1]"):
        with pytest.raises(DescriptionError, match=r"elbow\.guess: the quaternion has length"):
            read(guess)


def test_a_bad_reference_hides_no_missing_key() -> None:
    """Errors that only follow from a bad reference are left out, others are not."""
    text = BENCH.replace("motion: xy+rz\n", "").replace("[$arm, 0, 0]", "[$amr, 0, 0]")
    text = text.replace("        type: revolute # passive\n", "")
    assert [(p.line, p.column, p.message) for p in problems_of(text)] == [
        (1, 1, "missing key 'motion'"),
        (35, 7, "missing key 'type'"),
        (38, 14, "nothing is called $amr"),
    ]


def test_mistakes_of_a_template_are_told_once() -> None:
    """Not once for each leg."""
    text = BENCH.replace("parent: arm", "parent: amr").replace("child: plate", "child: plaet")
    assert [(p.line, p.message) for p in problems_of(text)] == [
        (38, "no body is called 'amr'"),
        (47, "no body is called 'plaet'"),
    ]


def test_many_mistakes_are_counted() -> None:
    text = BENCH + "".join(f"key{k}: 1\n" for k in range(500))
    with pytest.raises(nacelle.DescriptionError) as caught:
        nacelle.loads(text)
    problems = caught.value.problems
    assert len(problems) == 500
    assert (problems[0].line, problems[0].message) == (54, "unknown key 'key0'")
    lines = str(caught.value).splitlines()
    assert lines[0] == "500 problems, the first 100:"
    assert len(lines) == 101


def test_too_many_entries_are_counted() -> None:
    modes = ", ".join(f"m{k}: {{}}" for k in range(20))
    (problem,) = problems_of(
        BENCH.replace("modes: {upper: {motion: xy+rz, branch: {leg1: 1}}}", f"modes: {{{modes}}}")
    )
    assert (problem.line, problem.path) == (14, "modes")
    assert "None" not in str(problem)


def test_the_error_lists_every_problem() -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.loads("name: 5 5\n")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{len(caught.value.problems)} problems:"
    assert lines[1:] == [f"  {problem}" for problem in caught.value.problems]


def test_problems_in_a_file_carry_its_name(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(BENCH.replace("  mass: 1 kg", "  mass: 1"), encoding="utf-8")
    with pytest.raises(DescriptionError) as caught:
        nacelle.load(file)
    assert str(caught.value.problems[0]).startswith(f"{file}:9:3: platform.mass: ")


def test_problems_of_data_carry_their_path() -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.build({"name": "a", "motion": "xyz", "platform": {"mas": 1}, "legs": [{"name": "b"}]})
    assert [str(problem) for problem in caught.value.problems] == [
        "<python>: platform.mas: unknown key 'mas' (did you mean 'mass'?)"
    ]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes(BENCH.replace("name: bench", "name: b\xe9nch").encode("latin-1"))
    with pytest.raises(DescriptionError) as caught:
        nacelle.check(file)
    assert [str(problem) for problem in caught.value.problems] == [
        f"{file}:2:1: the file is not UTF-8 text (save it as UTF-8)"
    ]


def test_warnings_do_not_stop_a_robot(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(BENCH.replace("limits: [0 deg, 300 deg]", "limits: [0 deg, 1 deg]"), encoding="utf-8")
    found = nacelle.check(file)
    assert found.errors == ()
    assert {(p.severity, p.line) for p in found.problems} == {("warning", 22)}
    assert all("outside its limits" in p.message and str(p).count(" warning: ") == 1 for p in found.problems)
    assert nacelle.load(file).name == "bench"
