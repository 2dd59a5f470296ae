"""Natural frequencies compared with [BK2013] and Exudyn: `python benchmarks/elastic_frequencies.py`.

Table II of the paper (rows "model": what it prints, what one Hermite element a beam in a clamped frame gives,
and what 16 elements give), then the largest difference from Exudyn over the first ten modes of flexible
robots of the library at three poses each, by interior modes a plane. Nothing is asserted here.
"""

import dataclasses
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np

import nacelle
from support.flexible import prrrp
from support.flexible.references import flexible_robot, frequencies

PAPER = {"shapes": "hermite", "number": 1, "frame": "clamped"}
FINE = {"shapes": "hermite", "number": 16}


def with_beams(robot, **options):
    bodies = [
        dataclasses.replace(body, beam={**(body.beam or {}), **options}) if body.section else body
        for body in robot.bodies
    ]
    return dataclasses.replace(robot, bodies=tuple(bodies))


def table_2() -> None:
    print("| q_4 (m) | | f_1 | f_2 | f_3 | f_4 | f_5 | f_6 (Hz) |\n|---|---|---|---|---|---|---|---|")
    for q_4, printed in prrrp.TABLE_2.items():
        robot, x = prrrp.robot_at(0.0, q_4)
        rows = {"printed": printed}
        for name, options in (("one element", PAPER), ("default", {}), ("16 elements", FINE)):
            modes = nacelle.elastic.natural_frequencies(with_beams(robot, **options), x, modes=6)
            rows[name] = modes.frequencies
        for name, row in rows.items():
            print(f"| {q_4:g} | {name} | {' | '.join(f'{f:.3f}' for f in row)} |")


def exudyn() -> None:
    print("\n| robot | 2 interior modes | 3 | 4 |\n|---|---|---|---|")
    kept: dict[str, list] = {}
    for row in frequencies():
        kept.setdefault(row["robot"], []).append(row)
    for name, rows in kept.items():
        cells = []
        for number in (2, 3, 4):
            robot = with_beams(flexible_robot(name), number=number)
            poses = [row["x"] for row in rows]
            found = nacelle.elastic.natural_frequencies(robot, poses, modes=10).frequencies
            cells.append(np.max(np.abs(found / [row["exudyn"] for row in rows] - 1.0)))
        print(f"| {name} | {' | '.join(f'{cell:.1e}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    table_2()
    exudyn()
