"""Files broken at random: one error that names the file, or a graph; never anything else."""

import random
import re
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.par import read_par
from nacelle.exchange.sdf.read import read_sdf
from nacelle.exchange.urdf.gepetto import read_closure_file
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from support import described
from support.sdf_files import sdf
from support.urdf_files import DRIVES, ENDS, LOOPS, SIDE, TREE, robot_document, write_file

PAR = (
    "NL = 2\nNJ = 2\nant = {0,1}\nsigma = {0,1}\nd = {0,Pi/2}\ntheta = {th1,0}\nM = {1,2}\nG = {0,0,-9.81}\n"
)
SEEDS = {
    "robot.urdf": robot_document(TREE + ENDS + "".join(LOOPS.values()) + DRIVES),
    "robot.sdf": sdf('<frame name="f" attached_to="left_rod"/><model name="m"><link name="x"/></model>'),
    "robot.par": PAR,
    "side.yaml": SIDE + "joint_name: [left_pin]\njoint_type: [UJOINT_YZ]\n",
}
WORDS = ("nan", "1e400", "-1", '""', '"world"', "<", "{", "\0", "é", '"fixed"', "[", ": ", "]")


def broken(text: str, chance: random.Random) -> str:
    """A text with some of its words exchanged, doubled or left out."""
    words = re.findall(r'"[^"]*"|<[^\s>]+|[\w.\-]+|.', text, re.DOTALL)
    for _ in range(chance.choice((1, 1, 2, 4))):
        k, j = chance.randrange(len(words)), chance.randrange(len(words))
        kind = chance.randrange(4)
        if kind == 0:
            words[k] = chance.choice((*WORDS, words[j]))
        elif kind == 1:
            words[k], words[j] = words[j], words[k]
        elif kind == 2:
            words[k] = ""
        else:
            words[k:k] = words[max(0, k - 30) : k]
    return "".join(words)


@pytest.mark.parametrize("name", SEEDS)
def test_one_error_that_names_the_file(tmp_path: Path, name: str) -> None:
    chance = random.Random(name)
    whole = write_file(tmp_path, SEEDS["robot.urdf"])
    refused = 0
    for _ in range(60):
        path = write_file(tmp_path, broken(SEEDS[name], chance), name)
        try:
            if name == "robot.par":
                read_par(path)
            elif name == "robot.sdf":
                read_sdf(read_xml(path), path)
            else:
                side = read_closure_file(
                    path if name == "side.yaml" else write_file(tmp_path, SIDE, "side.yaml")
                )
                file = whole if name == "side.yaml" else path
                read_urdf(read_xml(file), file, side=side)
        except DescriptionError as error:
            (problem,) = error.problems
            assert problem.file == str(path)
            refused += 1
    assert 20 < refused <= 60


# ---- whole imports of files with numbers that no robot has

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")
NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-400",
    "1e308",
    "-1e200",
    "1e155",
    "1e-310",
    "1e30",
    "1e-12",
    "0",
)
NUMBERS += ("-1", "", "x", "1,5", "0x10", "9" * 400)
ARM = (
    "NL = 2\nNJ = 2\nant = {0,1}\nsigma = {0,0}\nmu = {1,1}\nalpha = {0,Pi/2}\nd = {0,0.3}\n"
    "theta = {0.2,0.4}\nr = {0.1,0}\nXX = {0.3,0.4}\nYY = {0.3,0.5}\nZZ = {0.2,0.5}\nXY = {0.01,0.02}\n"
    "MX = {0.1,0.4}\nMY = {0.1,0.05}\nM = {5,3}\nIA = {0.3,0.2}\nFV = {1.5,0.4}\nG = {0,0,-9.81}\n"
)
WHOLE = {
    "robot.urdf": SEEDS["robot.urdf"],
    "robot.sdf": sdf('<frame name="f" attached_to="left_rod"/>'),
    "robot.xml": Path(described.__file__).with_name("cassie_leg.xml").read_text(encoding="utf-8"),
    "robot.par": ARM,
    "robot.yaml": nacelle.robots.text("fivebar"),
}


def with_wild_numbers(text: str, chance: random.Random) -> str:
    """A text with numbers exchanged, and sometimes an element, a list or an attribute less."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = list(NUMBER.finditer(text))
        new = chance.choice(NUMBERS)
        if chance.random() < 0.3:
            places = list(re.finditer(r'<[^>?!]*>|\s[\w:]+="[^"]*"|\{[^{}]*\}', text))
            new = ""
        if places:
            place = chance.choice(places)
            text = text[: place.start()] + new + text[place.end() :]
    return text


def import_text(path: Path) -> nacelle.Robot:
    return nacelle.load(str(path)) if path.suffix == ".yaml" else nacelle.import_robot(path).robot


@pytest.mark.costly
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", WHOLE)
def test_numbers_that_no_robot_has(tmp_path: Path, name: str) -> None:
    """A robot with finite numbers, or errors that name the file; nothing of other libraries."""
    chance, named = random.Random(name), []
    for _ in range(50):
        path = write_file(tmp_path, with_wild_numbers(WHOLE[name], chance), name)
        try:
            robot = import_text(path)
        except DescriptionError as error:
            named.append({problem.file for problem in error.problems} == {str(path)})
        else:
            assert np.all(np.isfinite(robot.parameter_vector("geometry", "inertia")))
    assert all(named)
    assert 15 < len(named) < 50


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("robot.sdf", "<mass>0.5</mass>", "<mass>inf</mass>", "<mass> must be a number, not 'inf'"),
        ("robot.sdf", "<mass>0.5</mass>", "<mass>1e300</mass>", "<mass> is 1e300: it must be within 1e+12"),
        ("robot.urdf", 'ixx="2e-3"', 'ixx="1e200"', "'ixx' of <inertia> is 1e200: it must be within 1e+12"),
        ("robot.par", "M = {5,", "M = {1e200,", "'1e200' must be finite and within 1e+12"),
        ("robot.par", "M = {5,", "M = {" + "9" * 400 + ",", "is no number"),
        ("robot.par", "M = {5,", "M = {1e-310,", "the mass 1e-310 kg is nothing to its first moments"),
        ("robot.par", "XX = {0.3,", "XX = {1e-400^-2,", "is no number"),
    ],
)
def test_the_number_is_named(tmp_path: Path, name: str, old: str, new: str, words: str) -> None:
    assert old in WHOLE[name]
    path = write_file(tmp_path, WHOLE[name].replace(old, new), name)
    with pytest.raises(DescriptionError, match=re.escape(words)) as caught:
        import_text(path)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line > 0) == (str(path), True)


@pytest.mark.parametrize("limit", ["1e16", "inf", "1e308"])
def test_large_limits_switch_them_off(tmp_path: Path, limit: str) -> None:
    axis = "<axis><xyz>0 1 0</xyz>"
    assert axis in WHOLE["robot.sdf"]
    bounds = f"<limit><lower>-{limit}</lower><upper>{limit}</upper><effort>{limit}</effort></limit>"
    text = WHOLE["robot.sdf"].replace(axis, axis + bounds)
    assert import_text(write_file(tmp_path, text, "robot.sdf")).joints
