"""The robots of the library and random ones against Pinocchio and MuJoCo; damage is seen."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, JointKind
from nacelle.model.robot import Robot
from nacelle.verify import Report, VerifyError, verify
from nacelle.verify.comparison import compare
from support.library import NAMES, library_robot
from support.pairwise import ONE_OF_EACH
from support.random_robots import random_robot
from support.random_robots.legs import CASES
from support.random_robots.loads import with_friction_and_drives, with_random_loads, with_springs_and_stops
from support.rigid_robots import RIGID
from support.stress_robots import STRESS

BOTH = ("pinocchio", "mujoco")
DYNAMIC = ("inverse dynamics", "mass matrix", "forward dynamics", "kinetic energy", "potential energy")
ROBOTS = Path(__file__).parent.parent / "robots"
# A few of every family: these are traced in a second or so.
QUICK_LIBRARY = ("3rps", "3rrr", "c5", "delta", "dymo", "fivebar", "orthoglide", "palida", "prrrp", "space")
QUICK_RANDOM = (
    "6 P-C5 on the platform",
    "6 PSPP",
    "6 UPS + PUS + RUS + SPS + P-C5 + URS",
    "point RRR + PRR",
    "planar RRR + PRR + RPR",
    "3 P[US|US]",
    "3 URU",
)


def agrees(report: Report) -> None:
    assert report.ok, report.text()
    for engine in report.engines:
        names = [quantity.name for quantity in engine.quantities]
        assert {"gaps of the closures", "accelerations of joints", *DYNAMIC} <= set(names)


@pytest.mark.usefixtures("run_without_compiler")
class TestAgreement:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", QUICK_LIBRARY)
    def test_library(self, name: str) -> None:
        agrees(verify(library_robot(name), states=2, seed=1))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.thinned
    def test_library_with_everything(self, name: str) -> None:
        agrees(verify(with_friction_and_drives(library_robot(name), 1), states=10, seed=2))

    @pytest.mark.parametrize("name", ["fivebar"])
    def test_springs_between_bodies_end_stops_and_spherical_rotors(self, name: str) -> None:
        agrees(verify(with_springs_and_stops(library_robot(name)), states=3, seed=4))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["3rps", "delta", "gough-stewart", "h4", "space"])
    def test_more_springs_between_bodies_end_stops_and_spherical_rotors(self, name: str) -> None:
        agrees(verify(with_springs_and_stops(library_robot(name), 1), states=6, seed=4))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", QUICK_RANDOM)
    @pytest.mark.thinned
    def test_random_robots_with_springs_between_bodies_end_stops_and_spherical_rotors(
        self, name: str
    ) -> None:
        for seed in (1, 2):
            robot = with_springs_and_stops(with_random_loads(random_robot(name, seed), 2), seed)
            agrees(verify(robot, states=4, seed=seed))

    @pytest.mark.parametrize("name", ["c5", "fivebar", "prrrp", "delta-codourey"])
    def test_some_with_everything(self, name: str) -> None:
        agrees(verify(with_friction_and_drives(library_robot(name), 1), states=2, seed=2))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", QUICK_RANDOM)
    def test_random(self, name: str) -> None:
        robot = with_random_loads(random_robot(name, 0), 2)
        agrees(verify(robot, states=2))

    @pytest.mark.thinned(3)
    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "seed"), [(name, k % 2) for k, name in enumerate(CASES)])
    def test_all_random(self, name: str, seed: int) -> None:
        robot = with_random_loads(random_robot(name, seed), seed + 2)
        agrees(verify(robot, states=3, seed=seed))

    @pytest.mark.costly
    @pytest.mark.parametrize("file", ["redundant", "shared", "fivebar-mirror"])
    def test_special(self, file: str) -> None:
        """Redundant actuation, a body that two chains share, a mirrored leg."""
        agrees(verify(with_friction_and_drives(nacelle.load(ROBOTS / f"{file}.yaml"), 4), states=2))

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", [mode.name for mode in library_robot("dymo").modes])
    def test_modes(self, mode: str) -> None:
        agrees(verify(library_robot("dymo").in_mode(mode), states=5))

    @pytest.mark.slow
    def test_own_solver_of_pinocchio(self) -> None:
        """With balls as closures Pinocchio solves the loops itself, idle spins and friction included."""
        robot = with_random_loads(random_robot("3 P[SS|SS]", 0), 5)
        assert mechanism_of(robot).mobility.internal_freedoms
        report = verify(robot, "pinocchio", states=2)
        assert report["pinocchio"]["forward dynamics, own solver"].ok, report.text()

    @pytest.mark.slow
    def test_without_mass(self) -> None:
        """Massless robots: kinematics, and forces that hold external wrenches; nothing to accelerate."""
        report = verify(CASES["3 URU"](0).robot, states=2)
        assert report.ok, report.text()
        for engine in report.engines:
            assert "forward dynamics" not in [quantity.name for quantity in engine.quantities]
            assert any("no inertia" in note for note in engine.notes)

    def test_a_body_without_mass_that_turns(self) -> None:
        """Inertia without mass, and an inertia that no mass distribution has: identified numbers."""
        robot = library_robot("fivebar")
        bodies = list(robot.bodies)
        bodies[2] = dataclasses.replace(bodies[2], inertia=(0.0,) * 9 + (0.02,))
        agrees(verify(dataclasses.replace(robot, bodies=tuple(bodies)), states=2))


def test_compiled() -> None:
    """What users run: minimised programs as native code."""
    agrees(verify(library_robot("prrrp"), states=20))


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_library_compiled(name: str) -> None:
    agrees(verify(library_robot(name), states=20))


# ---- damage


def scaled_mass(robot: Robot) -> Robot:
    bodies = list(robot.bodies)
    k = max(range(1, len(bodies)), key=lambda k: bodies[k].mass)
    bodies[k] = dataclasses.replace(bodies[k], inertia=(bodies[k].mass * 1.001, *bodies[k].inertia[1:]))
    return dataclasses.replace(robot, bodies=tuple(bodies))


def scaled_payload(robot: Robot) -> Robot:
    load = robot.payload[0]
    changed = dataclasses.replace(load, inertia=(load.inertia[0] * 1.001, *load.inertia[1:]))
    return dataclasses.replace(robot, payload=(changed,))


def _with_joint(robot: Robot, index: int, **changes: object) -> Robot:
    joints = list(robot.joints)
    joints[index] = dataclasses.replace(joints[index], **changes)
    return dataclasses.replace(robot, joints=tuple(joints))


def moved_joint(robot: Robot) -> Robot:
    frame = robot.joints[0].frame_predecessor
    moved = frame._replace(p=frame.p + np.array([1e-6, 0.0, 0.0]))
    return _with_joint(robot, 0, frame_predecessor=moved)


def scaled_rotor(robot: Robot) -> Robot:
    index = robot.actuators[0].joint
    return _with_joint(robot, index, rotor_inertia=robot.joints[index].rotor_inertia * 1.001)


def scaled_closure_friction(robot: Robot) -> Robot:
    """Friction of a passive ball at the end of a leg."""
    index = next(
        j for j in range(robot.tree, len(robot.joints)) if robot.joints[j].kind is JointKind.SPHERICAL
    )
    first, *others = robot.joints[index].friction[0]
    changed = FrictionTerm(first.basis, first.coefficient * 1.001, first.scale)
    return _with_joint(robot, index, friction=((changed, *others),))


def scaled_spring(robot: Robot) -> Robot:
    spring = robot.joints[0].springs[0]
    assert spring is not None
    changed = dataclasses.replace(spring, stiffness=spring.stiffness * 1.001)
    return _with_joint(robot, 0, springs=(changed, *robot.joints[0].springs[1:]))


def tilted_gravity(robot: Robot) -> Robot:
    return dataclasses.replace(robot, gravity=(robot.gravity[0] + 1e-6, *robot.gravity[1:]))


@pytest.mark.usefixtures("run_without_compiler")
class TestSensitivity:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("damage", "seen"),
        [
            (scaled_mass, {"inverse dynamics", "mass matrix", "forward dynamics", "kinetic energy"}),
            (scaled_payload, {"inverse dynamics", "mass matrix", "potential energy"}),
            (moved_joint, {"gaps of the closures", "positions of bodies"}),
            (scaled_rotor, {"mass matrix", "kinetic energy"}),
            (scaled_closure_friction, {"inverse dynamics", "power of friction"}),
            (scaled_spring, {"inverse dynamics", "potential energy"}),
            (tilted_gravity, {"inverse dynamics", "forward dynamics", "potential energy"}),
        ],
    )
    def test_damage_is_seen(self, damage: Callable[[Robot], Robot], seen: set[str]) -> None:
        robot = with_friction_and_drives(library_robot("space"), 1)
        report = compare(robot, damage(robot), BOTH, states=2, seed=0)
        assert not report.ok
        assert "DOES NOT AGREE" in report.text()
        assert "FAILS" in report.text()
        for engine in report.engines:
            failed = {quantity.name for quantity in engine.quantities if not quantity.ok}
            assert seen <= failed
            if damage is not moved_joint:
                assert not any("bodies" in name or "joints" in name for name in failed)

    def test_external_wrenches_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A wrench that only one side feels is seen."""
        from nacelle.verify import ours

        felt = ours.Kinematics.tree_state

        def deaf(self: ours.Kinematics, k: int, states: object) -> object:
            state = felt(self, k, states)
            return dataclasses.replace(state, external=0.0 * state.external)

        monkeypatch.setattr(ours.Kinematics, "tree_state", deaf)
        report = verify(library_robot("c5"), states=2)
        for engine in report.engines:
            assert not engine["inverse dynamics"].ok
            assert engine["mass matrix"].ok


# ---- report


@pytest.fixture(scope="module")
def report() -> Report:
    return verify(library_robot("prrrp"), "all", states=3, seed=5)


class TestReport:
    def test_data(self, report: Report) -> None:
        data = json.loads(json.dumps(report.as_dict(), allow_nan=False))
        assert data["ok"] is True
        assert data["robot"] == "prrrp"
        assert [engine["engine"] for engine in data["engines"]] == list(BOTH)
        assert len(data["worst"]["x"]) == 2
        assert 1.0 <= data["condition"] < 1e3

    def test_same_seed_same_states(self, report: Report) -> None:
        again = verify(library_robot("prrrp"), "all", states=3, seed=5)
        assert again.as_dict() == report.as_dict()
        other = verify(library_robot("prrrp"), "all", states=3, seed=6)
        assert not np.array_equal(other.worst.x, report.worst.x)


class TestErrors:
    @pytest.mark.parametrize(
        ("engines", "states", "words"),
        [
            ((), 2, "no engine is named"),
            ("all", 0, "at least one state"),
            ("mojuco", 2, "did you mean 'mujoco'"),
        ],
    )
    def test_nothing_to_compare(self, engines: tuple[str, ...] | str, states: int, words: str) -> None:
        with pytest.raises(VerifyError, match=words):
            verify(library_robot("prrrp"), engines, states=states)

    def test_loops_that_do_not_close(self) -> None:
        robot = library_robot("fivebar")
        k = robot.tree
        frame = robot.joints[k].frame_successor
        joints = list(robot.joints)
        joints[k] = dataclasses.replace(joints[k], frame_successor=frame._replace(p=frame.p + 10.0))
        with pytest.raises(nacelle.errors.AssemblyError):
            verify(dataclasses.replace(robot, joints=tuple(joints)))

    def test_first_moment_without_mass(self) -> None:
        robot = library_robot("fivebar")
        bodies = list(robot.bodies)
        bodies[2] = dataclasses.replace(bodies[2], inertia=(0.0, 0.1) + (0.0,) * 8)
        with pytest.raises(VerifyError, match="first moment but no mass"):
            verify(dataclasses.replace(robot, bodies=tuple(bodies)))

    @pytest.mark.usefixtures("run_without_compiler")
    def test_motions_that_nothing_drives(self) -> None:
        robot = library_robot("prrrp")
        agrees(verify(dataclasses.replace(robot, actuators=robot.actuators[:1]), states=2))


def test_engines_are_loaded_late() -> None:
    """`import nacelle.verify` needs no engine."""
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['pinocchio'] = sys.modules['mujoco'] = None\n"
        "import nacelle.verify\n"
        "print(nacelle.verify.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "verify\n"


MAKERS = {name: counted.make for name, counted in RIGID.items()} | STRESS


# Drawing states takes seconds where legs have no closed form.
QUICK = (
    "redundant point on three legs",
    "drives, springs and rotors at closures",
    "planar-spherical joints",
    "sprung five-bar",
    "point on sliders",
    "one motion",
)


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.usefixtures("run_without_compiler")
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MAKERS]
)
def test_other_engines_agree(name: str) -> None:
    report = verify(MAKERS[name](1), states=2, seed=1)
    assert report.ok, report.text()
