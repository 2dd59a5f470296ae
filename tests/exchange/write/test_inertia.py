"""Inertias that engines take: what does not count is chosen, what counts is kept or its change reported."""

from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import ExchangeReport, Graph, Solid
from nacelle.exchange.write.inertia import completed, heavy_enough, is_sound
from nacelle.kinematics.mechanism.assembly import assemble
from nacelle.model.robot import Robot
from support.coupled_robots import coupled_robot
from support.library import library_robot


def test_planar_links_get_the_moments_that_they_never_feel() -> None:
    robot = library_robot("fivebar")
    about_z = np.diag([0.0, 0.0, 0.02])
    solids = [Solid(1.0, np.zeros(3), about_z) for _ in robot.bodies]
    report = ExchangeReport()
    for solid in completed(robot, assemble(robot), solids, report)[2:]:
        assert is_sound(solid)
        np.testing.assert_allclose(solid.inertia[2], [0.0, 0.0, 0.02], atol=1e-15)
    assert "never turns" in report.steps[0]


def test_what_slides_alone_may_have_any_moments() -> None:
    robot = coupled_robot("cart_pole")
    cart = robot.body("cart.cart")
    made = completed(robot, assemble(robot), _solids(robot), ExchangeReport())
    assert is_sound(made[cart])


def test_a_body_that_turns_keeps_its_moments() -> None:
    robot = library_robot("delta")
    solids = [Solid(1.0, np.zeros(3), np.diag([0.0, 1.0, 1.0])) for _ in robot.bodies]
    made = completed(robot, assemble(robot), solids, ExchangeReport())
    rod = robot.body("leg1.rod-a")
    np.testing.assert_array_equal(made[rod].inertia, solids[rod].inertia)


def test_the_least_that_an_engine_takes_is_reported() -> None:
    point = Solid(2.0, np.zeros(3), np.zeros((3, 3)))
    graph = Graph("r", "r", np.zeros(3), {"point": point, "none": Solid(), "sound": _SOUND}, ())
    made = heavy_enough(graph, list(graph.bodies), "Engine")
    assert all(is_sound(solid) for solid in made.bodies.values())
    assert made.bodies["sound"] is _SOUND
    assert made.bodies["point"].mass == 2.0
    assert np.max(made.bodies["point"].inertia) < 1e-11
    assert made.bodies["none"].mass < 1e-9
    assert len(made.report.losses) == 2


_SOUND = Solid(1.0, np.zeros(3), np.eye(3))


def _solids(robot: Robot) -> list[Solid]:
    return [replace(Solid(), mass=body.mass) for body in robot.bodies]
