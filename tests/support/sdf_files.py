"""A closed five-bar as SDF and as URDF, written from one list of links in the drawn pose."""

from __future__ import annotations

import numpy as np

from nacelle.exchange.graph import BASE, Graph
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy
from nacelle.spatial.scalar import Array

# Links: origin and turn about y in the drawn pose, centre of mass in the world, mass.
LINKS: dict[str, tuple[tuple[float, ...], float, tuple[float, ...], float]] = {
    "left_crank": ((0.0, 0.0, 0.1), 0.4, (0.01, 0.02, 0.2), 0.5),
    "left_rod": ((0.0, 0.0, 0.4), -0.7, (0.1, 0.01, 0.45), 0.3),
    "right_crank": ((0.4, 0.0, 0.1), 1.1, (0.42, -0.01, 0.2), 0.4),
    "right_rod": ((0.4, 0.0, 0.4), 0.2, (0.3, 0.03, 0.45), 0.2),
}
JOINTS = {
    "left_motor": ("world", "left_crank"),
    "left_pin": ("left_crank", "left_rod"),
    "right_motor": ("world", "right_crank"),
    "right_pin": ("right_crank", "right_rod"),
}
MOMENTS = np.array([[2e-3, 1e-4, 2e-4], [1e-4, 3e-3, 3e-4], [2e-4, 3e-4, 4e-3]])
TIP = (0.2, 0.0, 0.55)


def link_pose(name: str) -> Pose:
    """A link in the drawn pose."""
    if name == "world":
        return Pose(np.eye(3), np.zeros(3))
    origin, pitch, _, _ = LINKS[name]
    return Pose(rotation_rpy(np.array([0.0, pitch, 0.0])), np.array(origin))


def number_text(values: Array) -> str:
    """Numbers in full."""
    return " ".join(repr(float(value)) for value in values)


def sdf(contents: str = "", motor: str = "<limit><effort>9</effort></limit>") -> str:
    """The five-bar as SDF, on links whose frames are turned; more contents at the end of the model."""
    pieces = []
    for name, (origin, pitch, com, mass) in LINKS.items():
        here = link_pose(name)
        centre = here.R.T @ (np.array(com) - here.p)
        moments = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), MOMENTS[np.triu_indices(3)], strict=True)
        inertia = "".join(f"<{key}>{value!r}</{key}>" for key, value in ((k, float(v)) for k, v in moments))
        pieces.append(
            f'<link name="{name}"><pose>{number_text(np.array(origin))} 0 {pitch!r} 0</pose><inertial>'
            f"<pose>{number_text(centre)} 0 {-pitch!r} 0</pose><mass>{mass}</mass>"
            f"<inertia>{inertia}</inertia></inertial></link>"
        )
    for name, (parent, child) in JOINTS.items():
        limit = motor if name.endswith("motor") else ""
        axis = f"<axis><xyz>0 1 0</xyz>{limit}</axis>"
        pieces.append(_hinge(name, (parent, child), axis))
    tip = f'<pose relative_to="__model__">{number_text(np.array(TIP))} 0 0 0</pose>'
    pieces.append(_hinge("tip", ("left_rod", "right_rod"), f"{tip}<axis><xyz>0 1 0</xyz></axis>"))
    inner = "\n".join(pieces)
    return f'<sdf version="1.9"><model name="bars">\n{inner}\n{contents}</model></sdf>\n'


def _hinge(name: str, ends: tuple[str, str], inner: str) -> str:
    parent, child = ends
    return (
        f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>{inner}</joint>'
    )


def world_properties(graph: Graph) -> dict[str, Array]:
    """What dynamics see of a graph as assembled: masses, centres, inertia in the world, ends of closures."""
    placed = graph.poses()
    found = {}
    for name, solid in graph.bodies.items():
        X = placed[name]
        inertia = X.R @ solid.inertia @ X.R.T
        found[name] = np.concatenate([[solid.mass], X.R @ solid.com + X.p, inertia.ravel()])
    for closure in graph.closures:
        for end, body, at in (("at", closure.parent, closure.at), ("to", closure.child, closure.child_at)):
            X = placed[body] @ at
            found[f"{closure.name}-{end}"] = np.concatenate(
                [X.p, *(X.R @ axis.direction for axis in closure.axes)]
            )
    assert BASE in placed
    return found
