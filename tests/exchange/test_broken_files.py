"""Files broken at random: one error that names the file, or a graph; never anything else."""

import random
import re
from pathlib import Path

import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.par.read import read_par
from nacelle.exchange.sdf.read import read_sdf
from nacelle.exchange.urdf.gepetto import read_side
from nacelle.exchange.urdf.read import Options, read_urdf
from nacelle.exchange.xml import read_xml
from support.sdf_files import sdf
from support.urdf_files import DRIVES, ENDS, LOOPS, SIDE, TREE, robot, written

PAR = (
    "NL = 2\nNJ = 2\nant = {0,1}\nsigma = {0,1}\nd = {0,Pi/2}\ntheta = {th1,0}\nM = {1,2}\nG = {0,0,-9.81}\n"
)
SEEDS = {
    "robot.urdf": robot(TREE + ENDS + "".join(LOOPS.values()) + DRIVES),
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
    whole = written(tmp_path, SEEDS["robot.urdf"])
    refused = 0
    for _ in range(60):
        path = written(tmp_path, broken(SEEDS[name], chance), name)
        try:
            if name == "robot.par":
                read_par(path)
            elif name == "robot.sdf":
                read_sdf(read_xml(path), path)
            else:
                side = read_side(path if name == "side.yaml" else written(tmp_path, SIDE, "side.yaml"))
                file = whole if name == "side.yaml" else path
                read_urdf(read_xml(file), file, Options(side=side))
        except DescriptionError as error:
            (problem,) = error.problems
            assert problem.file == str(path)
            refused += 1
    assert 20 < refused <= 60
