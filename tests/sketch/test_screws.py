"""Motions of platforms whose legs textbooks discuss."""

from __future__ import annotations

import math

import numpy as np

from nacelle.sketch.letters import read_legs
from nacelle.sketch.posture import ALONG, UP, RobotLengths, Vector, cross, posture
from nacelle.sketch.screws import LegPlacement, LegScrews, leg_screws, motion_on_legs

SHAPE = RobotLengths(500, 200, 600, 0.0, cross(ALONG, (-300, 0, 600)))
THREE = [LegPlacement(120.0 * k) for k in range(3)]


def leg(letters: str, *axes: tuple[Vector, ...]) -> LegScrews:
    return leg_screws(posture(read_legs(letters)[0], SHAPE), axes)


def test_three_rps_lift_and_tilt() -> None:
    rps = leg("RPS", (ALONG,), ((-300, 0, 600),), ())
    motion = motion_on_legs([rps] * 3, THREE, (2, 3, 4))
    assert (motion.freedoms, motion.spanned, motion.pure) == (3, True, True)
    assert motion.conditioning > 0.1
    assert not motion_on_legs([rps] * 3, THREE, (0, 1, 2)).spanned


def test_a_regular_hexapod_is_singular_and_a_semiregular_one_is_not() -> None:
    """Fichter 1986: similar hexagons of anchors leave a motion uncontrolled."""
    ups = leg("UPS", (ALONG, (2, 0, 1)), ((-300, 0, 600),), ())
    regular = motion_on_legs([ups] * 6, [LegPlacement(60.0 * k) for k in range(6)], tuple(range(6)))
    assert regular.freedoms == 6
    assert regular.conditioning < 1e-12
    shape = RobotLengths(500, 200, 600, 30.0, ALONG)
    place = posture(read_legs("UPS")[0], shape)
    ups = leg_screws(place, ((ALONG, cross(ALONG, place.links[0])), (place.links[1],), ()))
    pairs = [LegPlacement(120.0 * k + 15.0 * s, s < 0) for k in range(3) for s in (-1, 1)]
    assert motion_on_legs([ups] * 6, pairs, tuple(range(6))).conditioning > 0.05


def test_the_spin_of_a_rod_is_idle() -> None:
    sps = leg("SPS", (), ((-300, 0, 600),), ())
    assert (sps.idle, len(sps.locked)) == (1, 0)


def test_a_mirrored_leg_moves_as_its_image() -> None:
    """The twist of the image of a moving body is the image of its twist, reflected as a pseudovector."""
    turn = LegPlacement(0.0, mirrored=True).twist_map
    point, spin, speed = np.array([0.3, -0.2, 0.5]), np.array([0.4, 0.1, -0.7]), np.array([1.0, 2.0, 3.0])
    image = turn @ np.concatenate([speed, spin])
    F = np.diag([1.0, -1.0, 1.0])
    np.testing.assert_allclose(
        image[:3] + np.cross(image[3:], F @ point), F @ (speed + np.cross(spin, point)), atol=1e-15
    )


def test_a_revolute_joint_turns_the_origin_about_its_axis() -> None:
    rrr = leg("RRR", (UP,), (UP,), (UP,))
    arm = np.array([-500.0, 0.0, 600.0]) / 200.0
    np.testing.assert_allclose(rrr.twists[:, 0], [*np.cross([0.0, 0.0, 1.0], arm), 0.0, 0.0, 1.0])
    assert math.isclose(np.linalg.norm(rrr.twists[3:, 1]), 1.0)
