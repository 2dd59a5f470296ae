"""Robots described in every way that the format offers, with their known types and mobilities."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle import robots
from nacelle.errors import UnknownRobotError
from nacelle.kinematics.mechanism.assembly import assemble
from nacelle.kinematics.mechanism.mobility import mobility
from nacelle.spatial.inertia import inertia_about_com
from support.library import NAMES, library_robot

FOLDER = Path(__file__).parent / "robots"

# robot: leg types, motions of the platform, idle motions, overconstraint, actuators
LIBRARY = {
    "3rps": (["RPS"] * 3, 3, 0, 0, 3),
    "3rrr": (["RRR"] * 3, 3, 0, 6, 3),
    "c5": (["PC5"] * 6, 6, 0, 0, 6),
    "delta": (["R[SS|SS]"] * 3, 3, 6, 0, 3),
    "delta-codourey": (["RUS"] * 3, 3, 0, 0, 3),
    "delta4": (["R[SS|SS]"] * 3 + ["RUPU"], 4, 6, 0, 4),
    "dymo": (["URU"] * 3, 3, 0, 0, 3),
    "fivebar": (["RRR"] * 2, 2, 0, 3, 2),
    "gough-stewart": (["UPS"] * 6, 6, 0, 0, 6),
    "h4": (["R[SS|SS]"] * 4, 4, 8, 0, 4),
    "hexa": (["RUS"] * 6, 6, 0, 0, 6),
    "hexaglide": (["PUS"] * 6, 6, 0, 0, 6),
    "orthoglide": (["PRPaR"] * 3, 3, 0, 12, 3),
    "palida": (["UPS"] * 6, 6, 0, 0, 6),
    "prrrp": (["PRR"] * 2, 2, 0, 1, 2),
    "quattro": (["R[SS|SS]"] * 4, 4, 8, 4, 4),
    "space": (["UPS"] * 3, 6, 0, 0, 6),
}
FILES = {
    "gough-stewart-elements": (["UPS"] * 6, 6, 0, 0, 6),
    "gough-stewart-joints": (["UPS"] * 6, 6, 0, 0, 6),
    "gough-stewart-table": (["UPS"] * 6, 6, 0, 0, 6),
    "c5-slides": (["PSPP"] * 6, 6, 0, 0, 6),
    "fivebar-mirror": (["RRR"] * 2, 2, 0, None, 2),
    "redundant": (["RRR"] * 3, 2, 0, None, 3),
    "shared": (None, 2, 0, None, 2),
    "everything": (None, 6, 0, None, 6),
    "backhoe": (["RRRPRPRRPR-RRRRR"], 3, 0, 12, 3),
    "walkleg": (["RRRR-RS"], 2, 0, 3, 2),
}


@pytest.fixture(scope="module", params=[*LIBRARY, *FILES])
def case(request):
    if request.param in LIBRARY:
        check = nacelle.check(request.param)
        # The library holds nothing that its own checks would warn of.
        assert not check.problems
        return check, LIBRARY[request.param]
    check = nacelle.check(FOLDER / f"{request.param}.yaml")
    assert not check.errors
    return check, FILES[request.param]


def test_every_robot_has_an_expectation():
    assert {file.stem for file in FOLDER.glob("*.yaml")} == set(FILES)
    assert set(NAMES) == set(LIBRARY)


def test_types_and_mobility(case):
    check, (types, platform, idle, overconstrained, actuators) = case
    robot, m = check.robot, check.mobility
    if types is not None:
        assert [nacelle.kinematics.leg_type(robot, leg).name for leg in robot.legs] == types
    assert (m.platform, m.internal_count, m.actuators) == (platform, idle, actuators)
    assert m.controlled == platform
    if overconstrained is not None:
        assert m.overconstrained == overconstrained
    # Counting and rank differ by the superfluous equations.
    assert m.true - m.counted == m.overconstrained


def test_elements_and_joints_are_the_same_gough_stewart_platform():
    by_elements = nacelle.load(FOLDER / "gough-stewart-elements.yaml")
    by_joints = nacelle.load(FOLDER / "gough-stewart-joints.yaml")
    assert by_elements == by_joints


def test_legs_that_share_a_body_are_one_leg():
    assert len(nacelle.load(FOLDER / "shared.yaml").legs) == 1


def test_repeated_legs_are_named_after_a_prefix():
    assert [leg.name for leg in nacelle.load(FOLDER / "redundant.yaml").legs] == ["arm-1", "arm-2", "arm-3"]


# ---- the library


@pytest.mark.parametrize("name", NAMES)
def test_drives_have_limits_that_hold_the_reference(name):
    robot = library_robot(name)
    found = assemble(robot)
    for actuator in robot.actuators:
        low, high = actuator.position
        assert np.isfinite([low, high, actuator.speed, actuator.force]).all()
        # Not at the rim either.
        value = found.q_tree[robot.q_slices[actuator.joint]][0]
        assert low + 0.05 * (high - low) < value < high - 0.05 * (high - low)


@pytest.mark.parametrize("name", NAMES)
def test_bodies_with_mass_have_inertia_and_a_shape(name):
    robot = library_robot(name)
    for body in robot.bodies[1:]:
        ten = np.array(body.inertia)
        if ten[0] and (robot.platform.kind != "point" or body is not robot.bodies[1]):
            assert np.linalg.eigvalsh(inertia_about_com(ten)).min() > 0.0, body.name
            assert body.display, body.name


@pytest.mark.parametrize(
    ("mode", "free", "locked", "coupled"),
    [
        ("translational", "x y z", "rx ry rz", ""),
        ("orientational", "rx ry rz", "x y z", ""),
        ("planar", "x y rz", "z rx ry", ""),
        ("mixed", "", "", "x y z rx ry rz"),
    ],
)
def test_modes_of_the_dymo(mode, free, locked, coupled):
    """Three motions in every mode, of different kinds, all controlled, none at a singularity."""
    own = library_robot("dymo").in_mode(mode)
    found = assemble(own)
    assert not found.open
    np.testing.assert_allclose(found.platform.p, own.reference.p, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.platform.R, own.reference.R, rtol=0, atol=1e-9)
    m = mobility(own, found)
    assert m.fits
    assert m.fits_reference
    assert not m.singular_reference
    assert (m.platform, m.true, m.controlled) == (3, 3, 3)
    assert set(m.free) == set(free.split())
    assert set(m.locked) == set(locked.split())
    assert set(m.coupled) == set(coupled.split())


def test_the_mixed_mode_of_the_dymo_is_a_mirror_image():
    """The plate is the image, in the plane that halves d, of a plate on the base with its face down."""
    mode = next(m for m in library_robot("dymo").modes if m.name == "mixed")
    d = mode.reference.p
    n = d / np.linalg.norm(d)
    mirror = np.eye(3) - 2.0 * np.outer(n, n)
    np.testing.assert_allclose(mode.reference.R, mirror @ np.diag([1.0, 1.0, -1.0]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("angle", [-100.0, -20.0, 0.0, 30.0, 140.0])
def test_the_tool_of_the_delta4_turns_as_its_motor(angle):
    robot = library_robot("delta4")
    turned = {robot.joint("turn"), robot.joint("leg4.spin")}
    joints = tuple(
        dataclasses.replace(joint, guess=(np.radians(angle),)) if k in turned else joint
        for k, joint in enumerate(robot.joints)
    )
    found = assemble(dataclasses.replace(robot, joints=joints))
    assert not found.open
    motor = found.q_tree[robot.q_slices[robot.joint("leg4.spin")]][0]
    assert np.degrees(motor) == pytest.approx(angle, abs=1e-9)


def test_the_bar_of_the_h4_turns_against_both_sides():
    robot = library_robot("h4")
    found = assemble(robot)
    turn, back = (found.q_tree[robot.q_slices[robot.joint(name)]][0] for name in ("turn", "turn-2"))
    assert back == pytest.approx(-turn, abs=1e-12)
    assert turn == pytest.approx(np.radians(10.0))


def test_the_lumped_delta_has_the_masses_of_the_delta():
    """[CB1997]: two thirds of a forearm at the elbow, one third at the plate."""
    full, lumped = library_robot("delta"), library_robot("delta-codourey")

    def inertia(robot, name):
        return np.array(robot.bodies[robot.body(name)].inertia)

    arm, rod, plate = (inertia(full, name) for name in ("leg1.arm", "leg1.rod-a", "plate"))
    forearm, elbow = 2.0 * rod[0], 0.24
    expected = arm.copy()
    expected[0] += 2.0 / 3.0 * forearm
    expected[1] += 2.0 / 3.0 * forearm * elbow
    got = inertia(lumped, "leg1.arm")
    np.testing.assert_allclose(got[:4], expected[:4], rtol=1e-14)
    about_y = np.array([0.0, 1.0, 0.0])
    moments = [
        about_y
        @ (inertia_about_com(ten) + ten[0] * np.diag([0.0, 1.0, 1.0]) * (ten[1] / ten[0]) ** 2)
        @ about_y
        for ten in (got, arm)
    ]
    assert moments[0] == pytest.approx(moments[1] + 2.0 / 3.0 * forearm * elbow**2, rel=1e-14)
    assert inertia(lumped, "plate")[0] == pytest.approx(plate[0] + forearm, rel=1e-14)
    assert not inertia(lumped, "leg1.forearm").any()
    assert lumped.actuators[0].position == full.actuators[0].position
    # The same motor angles for the same place.
    angles = [assemble(r).q_tree[r.q_slices[r.joint("leg2.shoulder")]][0] for r in (full, lumped)]
    assert angles[0] == pytest.approx(angles[1], abs=1e-12)


def test_the_beams_of_the_prrrp_are_as_their_section_and_material_say():
    robot = library_robot("prrrp")
    length, side = 0.4, 2e-3
    for name in ("leg1.2", "leg2.2"):
        body = robot.bodies[robot.body(name)]
        mass = 2800.0 * side**2 * length
        assert body.inertia[0] == pytest.approx(mass)
        long, across = mass * (length**2 + side**2) / 12.0, mass * 2.0 * side**2 / 12.0
        expected = np.diag([across, long, long])
        np.testing.assert_allclose(
            inertia_about_com(np.array(body.inertia)), expected, rtol=1e-12, atol=1e-20
        )
        assert body.section == {"square": side}
        assert body.material is not None
        assert (body.material["E"], body.material["density"]) == (70e9, 2800.0)


@pytest.mark.parametrize("ending", ["", ".yaml"])
@pytest.mark.parametrize("name", ["delt", "nowhere/robot", "a" * 5000, "a\0b", "\ud800"])
@pytest.mark.filterwarnings("error")
def test_robots_that_do_not_exist(
    name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for function in (nacelle.load, nacelle.check):
        with pytest.raises(
            UnknownRobotError, match=r"there is no file|no file is called|is a folder"
        ) as caught:
            function(name + ending)
        assert len(str(caught.value)) < 500


def test_a_mistyped_file_is_answered_with_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "my-delta.yaml").write_text(robots.text("delta"), encoding="utf-8")
    with pytest.raises(UnknownRobotError, match=r"there is no file .*; did you mean 'my-delta\.yaml'\?$"):
        nacelle.load(str(tmp_path / "my-delt.yaml"))
    with pytest.raises(UnknownRobotError, match=r"there is no file '[^;]*'$"):
        nacelle.load(str(tmp_path / "hexapod.yaml"))
