"""How often the viewer moves a robot: poses solved, judged and written to the page, a second.

python benchmarks/view.py gough-stewart 3rps h4
"""

from __future__ import annotations

import sys
import time

import nacelle


def main(names: list[str], count: int = 200) -> None:
    for name in names:
        with nacelle.view(name) as viewer:
            first = nacelle.reference_pose(viewer.robots[0])
            second = first.copy()
            second[0] += 0.01
            viewer.show(second)
            start = time.perf_counter()
            for k in range(count):
                viewer.show(second if k % 2 else first)
            print(f"{name}: {count / (time.perf_counter() - start):.0f} updates/s")


if __name__ == "__main__":
    main(sys.argv[1:] or ["gough-stewart"])
