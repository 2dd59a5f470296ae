"""What moves in a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.control.scenario.paths import CarriedMass
from nacelle.control.scenario.plants import drives_of, plants_of, robot_of_spec
from nacelle.control.scenario.spec import ChangeSpec, DrivesSpec, PlantSpec, RobotSpec
from nacelle.elastic.plant import ElasticPlant
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot


def _robot(robot: Robot, **given: Any) -> Robot:
    return robot_of_spec(robot, RobotSpec.model_validate(given), Path())


def test_true_robots(fivebar: Robot) -> None:
    assert _robot(fivebar).hash == fivebar.hash
    moved = _robot(fivebar, moved="20 %", seed=3)
    ratio = moved.parameter_vector("inertia") / np.where(
        fivebar.parameter_vector("inertia"), fivebar.parameter_vector("inertia"), np.nan
    )
    inside = ratio[np.isfinite(ratio)]
    assert 0.8 <= np.min(inside) < 0.95
    assert np.max(inside) <= 1.2
    assert _robot(fivebar, file="3rrr").name == "3rrr"
    heavier = _robot(nacelle.load("3rrr"), load={"mass": "2 kg"})
    assert heavier.payload[0].inertia[0] == 2.0


def test_drives(fivebar: Robot) -> None:
    cogging = {"amplitude": 0.1, "cycles": 7}
    given = {"bandwidth": "100 Hz", "limits": ["3 N*m", 4.0], "cogging": cogging, "stiction": True}
    spec = DrivesSpec.model_validate(given)
    robot, drives = drives_of(fivebar, spec)
    numbers = drives.numbers(robot)
    assert numbers.lag == pytest.approx([1.0 / (200.0 * np.pi)] * 2)
    assert numbers.limit == (3.0, 4.0)
    assert [term[:2] for term in numbers.cogging] == [(0.1, 7.0)] * 2
    # Coulomb friction has gone to the drives.
    assert robot.hash != fivebar.hash
    assert all(model is not None for model in numbers.stiction)
    assert drives_of(fivebar, DrivesSpec(limits="none"))[1].numbers(fivebar).limit == (np.inf, np.inf)


def test_loads_and_wrenches_over_time() -> None:
    robot = nacelle.load("3rrr")
    changes = [
        ChangeSpec.model_validate(
            {"at": 1.0, "until": 3.0, "wrench": {"force": "1 2 0 N", "torque": [0, 0, "3 N*m"]}}
        ),
        ChangeSpec.model_validate({"at": 2.0, "load": {"mass": "0.5 kg"}}),
    ]
    plan = plants_of(robot, PlantSpec(), changes, [CarriedMass(0.5, 1.0, 0.2)], None)
    assert [change.time for change in plan.changes] == [0.5, 1.0, 2.0, 3.0]
    inner: list[Any] = [plan.plant, *(change.plant for change in plan.changes)]
    masses = [sum(load.inertia[0] for load in plant.robot.payload) for plant in inner]
    assert masses == [0.0, 0.2, 0.0, 0.5, 0.5]
    forces = [plant.plant.external.get(robot.bodies[1].name, np.zeros(6)) for plant in inner]
    acting = [1.0, 2.0, 0.0, 0.0, 0.0, 3.0]
    assert np.array(forces).tolist() == [[0.0] * 6, [0.0] * 6, acting, acting, [0.0] * 6]


def test_flexible_plants() -> None:
    flexible = nacelle.load("fivebar-flexible")
    spec = PlantSpec.model_validate({"elastic": True})
    plan = plants_of(flexible, spec, [], [], ElasticPlant)
    assert isinstance(plan.plant, nacelle.DrivenPlant)
    assert isinstance(plan.plant.plant, ElasticPlant)
    with pytest.raises(KinematicsError, match="is handed over"):
        plants_of(flexible, spec, [], [], None)
    push = [ChangeSpec.model_validate({"at": 1.0, "wrench": {"force": [1.0, 0.0, 0.0]}})]
    with pytest.raises(KinematicsError, match="wrenches act on rigid robots"):
        plants_of(flexible, spec, push, [], ElasticPlant)
