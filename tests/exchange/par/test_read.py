"""Parameter files as graphs: frames are products of the table's transforms, inertia is Pinocchio's."""

import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.par import Expression, read_par
from support.urdf_files import write_file

# A palletiser: column, arm and forearm, and a crank with a rod that hold the forearm as a parallelogram.
TABLE = {
    "ant": [0, 1, 2, 1, 4, 5, 3],
    "sigma": [0, 0, 0, 0, 0, 0, 2],
    "mu": [1, 1, 0, 1, 0, 0, 0],
    "gamma": [0.2, 0, 0, 0, 0, 0, 0],
    "b": [0.5, 0, 0, 0, 0, 0, 0],
    "alpha": [0, -math.pi / 2, 0, -math.pi / 2, 0, 0, 0],
    "d": [0, 0.1, 0.4, 0.1, 0.2, 0.4, -0.2],
    "theta": [0.7, 0.3, 1.0, 1.3 + math.pi, -1.0 - math.pi, 0.4, 0],
    "r": [0, 0, 0.05, 0, 0.02, 0.03, 0],
}
BODIES = {
    "XX": [0.3, 0.4, 0.3, 0.2, 0.25], "XY": [0.01, 0.02, 0.03, 0.01, 0.02],
    "XZ": [0.02, 0.01, 0.02, 0.03, 0.01],
    "YY": [0.3, 0.5, 0.6, 0.2, 0.3], "YZ": [0.01, 0.01, 0.02, 0.01, 0.03], "ZZ": [0.2, 0.5, 0.6, 0.3, 0.3],
    "MX": [0.1, 0.4, 0.3, 0.1, 0.2], "MY": [0.1, 0.05, 0.02, 0.03, 0.01], "MZ": [0.2, 0.1, 0.03, 0.02, 0.01],
    "M": [5, 3, 2, 1.5, 1], "IA": [0.3, 0.2, 0, 0.25, 0], "FV": [1.5, 0.4, 0.1, 0.3, 0.2],
    "FS": [2, 0.3, 0, 0.1, 0],
}  # fmt: skip


def text(**changed: str) -> str:
    """The file, with some of its lines changed."""
    lines = {name: "{" + ",".join(repr(v) for v in values) + "}" for name, values in (TABLE | BODIES).items()}
    lines = {"NL": "5", "NJ": "6", "NF": "7", "Type": "2"} | lines | {"G": "{0,0,-9.81}"} | changed
    return "(* Robotname = 'pallet' *)\n" + "".join(f"{name} = {value}\n" for name, value in lines.items())


def transform(j: int) -> pin.SE3:
    """Frame j in the one before it, as the tables of Khalil and Kleinfinger say."""
    row = {name: float(values[j - 1]) for name, values in TABLE.items()}
    made = pin.SE3.Identity()
    for axis, angle, step in (("z", "gamma", "b"), ("x", "alpha", "d"), ("z", "theta", "r")):
        unit = np.eye(3)["xyz".index(axis)]
        made = made * pin.SE3(pin.exp3(unit * row[angle]), unit * row[step])
    return made


def test_frames_and_inertia(tmp_path: Path) -> None:
    graph = read_par(write_file(tmp_path, text(), "pallet.par"))
    placed, frames = graph.poses(), {0: pin.SE3.Identity()}
    for j in range(1, 8):
        frames[j] = frames[int(TABLE["ant"][j - 1])] * transform(j)
    for j in range(1, 6):
        here, solid = placed[f"link{j}"], graph.bodies[f"link{j}"]
        np.testing.assert_allclose(here.R, frames[j].rotation, atol=1e-14)
        np.testing.assert_allclose(here.p, frames[j].translation, atol=1e-14)
        order = ("M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ")
        wanted = pin.Inertia.FromDynamicParameters(np.array([float(BODIES[name][j - 1]) for name in order]))
        np.testing.assert_allclose(solid.com, wanted.lever, atol=1e-15)
        np.testing.assert_allclose(solid.inertia, wanted.inertia, atol=1e-15)
    (closure,) = graph.closures
    at, to = placed["link5"] @ closure.at, placed["link3"] @ closure.child_at
    np.testing.assert_allclose(to.p, frames[7].translation, atol=1e-14)
    np.testing.assert_allclose(at.p, frames[6].translation, atol=1e-14)
    # The joints' offsets along their axes add up, so the loop is closed as drawn.
    assert closure.kind == "revolute"
    drive = next(joint for joint in graph.joints if joint.name == "joint2")
    assert drive.motor is not None
    assert (drive.axes[0].armature, drive.axes[0].damping, drive.axes[0].coulomb) == (0.2, 0.4, 0.3)


def test_a_palletiser_is_imported(tmp_path: Path) -> None:
    done = nacelle.import_robot(write_file(tmp_path, text(), "pallet.par"))
    assert done.robot.motion.coordinates == ("pallet.joint1", "pallet.joint2", "pallet.joint4")
    assert done.losses == ()


def test_variables_may_have_names(tmp_path: Path) -> None:
    theta = "{th1,th2,th3,th4 + Pi,th5 - Pi,th6,0}"
    graph = read_par(write_file(tmp_path, text(theta=theta), "pallet.par"))
    assert graph.joints[0].axes[0].value == 0.0
    crank = next(joint for joint in graph.joints if joint.name == "joint4")
    x = graph.poses()["link4"].R[:, 0] @ graph.poses()["link2"].R[:, 0]
    assert math.isclose(x, -1.0)
    assert crank.axes[0].value == 0.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"M": "{5,3,M3,1.5,1}"}, "'M3' has the symbol M3, which has no value"),
        ({"d": "{0,0.1,L,0.1,0.2,0.4,-0.2}"}, "'L' has the symbol L"),
        ({"G": "{0,0,G3}"}, "'G3' has the symbol G3"),
        ({"ant": "{0,1,2,1,9,5,3}"}, "ant of frame 5 is 9, not a whole number from 0 to 7"),
        ({"sigma": "{0,0,0,0,0,0,0}"}, "frame 7 closes a loop and must be fixed"),
        ({"XX": "{1,2}"}, "XX has 2 entries and needs 5"),
        ({"is_floating": "True"}, "a base that moves is not read"),
        ({"M": "{5,3,0,1.5,1}"}, "link 3 has first moments and no mass"),
        ({"d": "{0,0.1,1.4,0.1,0.2,0.4,-0.2}"}, "the loops do not close"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    content = text(**changed)
    path = write_file(tmp_path, content, "pallet.par")
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path)
    (problem,) = caught.value.problems
    assert message in str(problem)
    if "do not close" not in message:
        (name, value), *_ = changed.items()
        assert content.splitlines()[problem.line - 1] == f"{name} = {value}"


def test_what_is_no_parameter_file(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="NL links"):
        read_par(write_file(tmp_path, "nothing", "a.par"))
    with pytest.raises(DescriptionError, match="there is no such file"):
        read_par(tmp_path / "b.par")


# ---- Entries of parameter files that are no numbers


@pytest.mark.parametrize(
    "text", ["", "1 +", "9**9**9**9", "__import__('os')", "1e999", "(-8)**0.5", "'a'", "[1]", "True"]
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(DescriptionError, match="f:3:1"):
        _ = Expression(text, "f", 3).number
