"""Snakes: planar cells of three bodies in a row, most of them coupled to the one before."""

from __future__ import annotations

import nacelle
from nacelle.model.robot import Robot


def snake_robot(cells: int, free: int = 6) -> Robot:
    """A robot without a platform of 3 cells bodies and a loop in every cell; every `free`-th cell has a
    drive.

    A cell is two bars side by side and the plate at their ends, not quite a parallelogram (40 and 41 mm).
    """
    driven = range(0, cells, free)
    bodies, joints, closures, couplings = [], [], [], []
    for k in range(cells):
        parent = f"c{k - 1}" if k else "base"
        angle = -75 if k == 0 else 5 if k % 2 else -5
        drive = ", actuator: {}" if k in driven else ", friction: {viscous: 0.01 N*m*s/rad}"
        pin = "type: revolute, axis: z"
        com = f"30 {k % 5} {k % 4 - 3} mm"
        bodies += [
            f"a{k}: {{mass: {0.2 + 0.01 * (k % 7)} kg, com: {com}, inertia: 1e-5 2e-4 2e-4 kg*m^2}}",
            f"b{k}: {{mass: 0.15 kg, com: 30 2 1 mm, inertia: 1e-5 2e-4 2e-4 kg*m^2}}",
            f"c{k}: {{mass: 0.1 kg, com: 20 20 3 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}}",
        ]
        joints += [
            f"q{k}: {{{pin}, guess: {angle} deg, parent: {parent}, child: a{k}{drive}}}",
            f"r{k}: {{{pin}, guess: {angle} deg, parent: {parent}, child: b{k}, at: 0 40 0 mm}}",
            f"s{k}: {{{pin}, guess: {-angle} deg, parent: a{k}, child: c{k}, at: 60 0 0 mm}}",
        ]
        ends = f"parent: b{k}, at: 60 0 0 mm, child: c{k}, child_at: 0 41 0 mm"
        closures.append(f"t{k}: {{{pin}, {ends}}}")
        if k not in driven:
            couplings.append(f"k{k}: {{joint: q{k}, follows: q{k - 1}, ratio: {-0.1 if k == 1 else -1}}}")
    groups = {"bodies": bodies, "joints": joints, "closures": closures, "couplings": couplings}
    lines = [
        "format: nacelle/2",
        "name: snake",
        f"motion: [{', '.join(f'q{k}' for k in driven)}]",
        "gravity: 0 -9.81 0 m/s^2",
        "legs:",
        "  - name: s",
    ]
    for name, entries in groups.items():
        lines += [f"    {name}:", *(f"      {entry}" for entry in entries)]
    return nacelle.loads("\n".join(lines))
