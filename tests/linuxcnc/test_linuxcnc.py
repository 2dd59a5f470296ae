"""Exported kinematics in the real LinuxCNC: modules, programs through its planner, targets out of reach."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.export.export import select_target
from nacelle.export.linuxcnc.axes import LETTERS, unit_of
from nacelle.export.linuxcnc.machine import Machine, pose_of_axes
from nacelle.export.linuxcnc.module import hal_name
from nacelle.model.reduced import layout_of
from support.library import NAMES, library_robot
from support.linuxcnc_runs import MODULES, Run, as_user, build, missing, run_machine, user_folder

Array = np.ndarray
OWN = Path(__file__).parent / "tilt.yaml"
EXACT = 1e-9

pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(bool(missing()), reason=f"{missing()}; see make test-linuxcnc"),
]


@dataclasses.dataclass(frozen=True)
class Ran:
    """A machine, what the tools have said, and its runs."""

    machine: Machine
    built: str
    loaded: str
    run: Run
    blocked: bool


@pytest.fixture(scope="module", params=[*NAMES, "tilt", "hexaglide, other geometry"])
def ran(request: pytest.FixtureRequest) -> Iterator[Ran]:
    """A robot exported, its module built, loaded in halrun, and run in LinuxCNC."""
    name, _, other = request.param.partition(", ")
    robot = nacelle.load(OWN) if name == "tilt" else library_robot(name)
    with user_folder() as folder:
        out = folder / "machine"
        target = select_target("linuxcnc", {"parameters": "geometry" if other else ""})
        done = nacelle.export(robot, target=target, out=out)
        machine = Machine(robot, f"{done.name}_kins", done.name)
        if other:
            machine = with_other_geometry(machine, out / f"{done.name}.hal")
        module = MODULES / f"{machine.module}.so"
        try:
            built = build(out / f"{machine.module}.comp")
            (folder / "load.hal").write_text(load_file(machine))
            loaded = as_user(["halrun", "load.hal"], folder, {})
            blocked = blocked_move(machine)
            programs = {
                f"{machine.name}.ngc": (out / f"{machine.name}.ngc").read_text(),
                "far.ngc": far(machine),
            }
            if blocked:
                programs["blocked.ngc"] = blocked
            yield Ran(machine, built, loaded, run_machine(machine, out, programs), bool(blocked))
        finally:
            module.unlink(missing_ok=True)


def with_other_geometry(machine: Machine, hal: Path) -> Machine:
    """The machine of a robot with other numbers, which its HAL file sets."""
    numbers = machine.robot.numbers.vector("geometry")
    numbers *= np.random.default_rng(6).uniform(0.999, 1.001, len(numbers))
    pins = hal_name(machine.module)
    values = dict(zip(machine.robot.numbers.names("geometry"), numbers, strict=True))
    lines = [f"setp {pins}.geometry.{re.sub('[._]', '-', name)} {float(v)!r}" for name, v in values.items()]
    hal.write_text("\n".join([hal.read_text(), *lines, f"setp {pins}.geometry.apply 1", ""]))
    return dataclasses.replace(machine, robot=machine.robot.with_numbers(numbers, "geometry"))


def load_file(machine: Machine) -> str:
    lines = ["loadrt tpmod", "loadrt homemod", f"loadrt {machine.module}"]
    lines += [f"loadrt motmod servo_period_nsec=1000000 num_joints={len(machine.robot.actuators)}"]
    lines += ["addf motion-command-handler servo-thread", "addf motion-controller servo-thread", "start"]
    return "\n".join([*lines, f"show pin {hal_name(machine.module)}", ""])


def words(machine: Machine, values: Array) -> str:
    return " ".join(f"{axis.letter}{v:.6f}" for axis, v in zip(machine.axes, values, strict=True))


def far(machine: Machine) -> str:
    """A move that can be made, and one to three robot sizes away."""
    k = next(k for k, axis in enumerate(machine.axes) if not axis.angle)
    near, away = machine.home.copy(), machine.home.copy()
    near[k] += 0.1 * machine.ranges[k, 1]
    away[k] += 3000.0 * machine.robot.size
    return f"G21 G90\nG1 {words(machine, near)} F10000\nG1 {words(machine, away)} F10000\nM2\n"


def blocked_move(machine: Machine) -> str:
    """A circle whose other side is out of reach, or a line over what is; empty where none is seen."""
    linear = [axis.letter for axis in machine.axes if axis.letter in "XYZ"]
    if len(linear) > 1:
        plane = {"XY": "G17", "XZ": "G18", "YZ": "G19"}["".join(linear[:2])]
        center = {"X": "I", "Y": "J", "Z": "K"}[linear[0]]
        radius = f"{center}{1500.0 * machine.robot.size:.3f} {'K' if linear[1] == 'Z' else 'J'}0"
        home = words(machine, np.round(machine.home, 4))
        return f"G21 G90\nG1 {home} F60000\n{plane} G2 {home} {radius}\nM2\n"
    n = len(machine.axes)
    ways = np.random.default_rng(5).uniform(machine.ranges[:, 0], machine.ranges[:, 1], (3000, 2, n))
    ends = np.round(machine.home + ways, 6)
    ends = ends[machine.reaches(ends).all(axis=1)]
    s = np.linspace(0.0, 1.0, 21)[:, None]
    first, last = ends[:, None, 0], ends[:, None, 1]
    to, over = machine.home + s * (first - machine.home), first + s * (last - first)
    blocked = ends[machine.reaches(to).all(axis=1) & ~machine.reaches(over).all(axis=1)]
    if not len(blocked):
        return ""
    return "\n".join(["G21 G90", *(f"G1 {words(machine, end)} F10000" for end in blocked[0]), "M2", ""])


def si(values: Array, machine: Machine) -> Array:
    return np.asarray(values / [unit_of(turns) for turns in machine.robot.revolute_actuators])


def poses(machine: Machine, axes: Array) -> Array:
    columns = [LETTERS.index(axis.letter) for axis in machine.axes]
    return pose_of_axes(machine.robot, axes[:, columns])


def test_a_module_builds_without_warnings_and_loads(ran: Ran) -> None:
    assert "warning" not in ran.built.lower()
    assert f"{hal_name(ran.machine.module)}.inverse.status" in ran.loaded
    assert "error" not in ran.loaded.lower()


def test_a_program_runs_to_its_end(ran: Ran) -> None:
    result = ran.run.results[0]
    assert result["messages"] == []
    assert result["enabled"]
    assert max(result["ferror"]) < 1e-12
    assert result["reason"] == 0
    text = (ran.machine.program()).splitlines()
    assert result["line"] >= len(text) - 2
    columns = [LETTERS.index(axis.letter) for axis in ran.machine.axes]
    for place in ("position", "actual"):
        np.testing.assert_allclose(np.array(result[place])[columns], ran.machine.home, atol=2e-4)


def test_joints_of_poses_are_those_of_nacelle(ran: Ran) -> None:
    calls, machine = ran.run.calls, ran.machine
    good = (calls.kind == 1) & (calls.status == 0)
    assert np.sum(good) > 2000
    q = nacelle.inverse_kinematics(machine.robot, poses(machine, calls.axes[good])).q
    wrapped = si(calls.joints[good], machine) - q
    wrapped -= np.where(
        machine.robot.revolute_actuators, 2.0 * np.pi * np.round(wrapped / (2.0 * np.pi)), 0.0
    )
    assert np.max(np.abs(wrapped)) < EXACT


def test_poses_of_joints_are_those_of_nacelle(ran: Ran) -> None:
    calls, machine = ran.run.calls, ran.machine
    good = (calls.kind == 0) & (calls.status == 0)
    assert np.sum(good) > 2000
    x = nacelle.forward_kinematics(machine.robot, si(calls.joints[good], machine), follow=True).x
    seen = poses(machine, calls.axes[good])
    quaternion = layout_of(machine.robot.motion).quaternion
    if quaternion is not None:
        same = np.sum(x[:, quaternion] * seen[:, quaternion], axis=1, keepdims=True) > 0.0
        seen[:, quaternion] *= np.where(same, 1.0, -1.0)
    assert np.max(np.abs(x - seen)) < EXACT


def test_motors_get_the_joints_through_the_interpolator(ran: Ran) -> None:
    """LinuxCNC's cubic interpolator gives (q[k-1] + 4 q[k] + q[k+1]) / 6, fed back two periods later."""
    calls = ran.run.calls
    cycle = np.flatnonzero((calls.kind[1:] == 1) & (calls.kind[:-1] == 0) & (calls.status[1:] == 0))
    commanded, fed_back = calls.joints[cycle + 1], calls.joints[cycle]
    filtered = (commanded[:-2] + 4.0 * commanded[1:-1] + commanded[2:]) / 6.0
    late = fed_back[4 : 4 + len(filtered)]
    error = np.max(np.abs(late - filtered[: len(late)]), axis=1)
    # It begins anew where LinuxCNC does: at the first period of a program.
    assert np.mean(error < EXACT) > 0.999


def test_a_target_out_of_reach_stops_the_program(ran: Ran) -> None:
    result = ran.run.results[1]
    pins = hal_name(ran.machine.module)
    assert result["refused"] == "TRUE"
    assert result["reason"] in (1, 3, 4)
    assert any(
        f"{pins}: pose refused" in text and f"(status {result['reason']})" in text
        for text in result["messages"]
    )
    assert any("fails kinematicsInverse" in text for text in result["messages"])
    assert result["line"] < 3
    assert np.max(np.abs(np.array(result["position"]))) < 3000.0 * ran.machine.robot.size


def test_a_move_over_what_cannot_be_reached_stops_there(ran: Ran) -> None:
    if not ran.blocked:
        pytest.skip("no such move is seen")
    result = ran.run.results[2]
    pins = hal_name(ran.machine.module)
    assert result["refused"] == "TRUE"
    assert any(f"{pins}: pose refused" in text for text in result["messages"])
    assert any("kinematicsInverse failed" in text for text in result["messages"])
    assert not result["enabled"]
