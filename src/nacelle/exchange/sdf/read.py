"""SDF to a graph of bodies and joints.

A model is a graph: joints may form loops, and a link has a pose of its own. The spanning tree is chosen here;
what is welded, driven, sprung or coupled is in it first. A model that no joint holds to the world floats,
with its canonical link as the nacelle.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nacelle.exchange.fields import finite_numbers, possible_solid, symmetric
from nacelle.exchange.graph import BASE, ExchangeReport, Graph, Solid
from nacelle.exchange.names import Names
from nacelle.exchange.sdf.frames import WORLD, Frames, frames_of
from nacelle.exchange.sdf.joints import driven, joints_of
from nacelle.exchange.sdf.shapes import shapes_of
from nacelle.exchange.sdf.texts import is_true, pose_of, value
from nacelle.exchange.tree import massless, spanned
from nacelle.exchange.xml import Element
from nacelle.spatial.pose import identity
from nacelle.spatial.scalar import Array

# What a world has if it does not say.
GRAVITY = (0.0, 0.0, -9.8)
# Versions whose axes are in the frame of the model.
_OLD = ("1.0", "1.2", "1.3", "1.4")
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_READ = {"link", "joint", "frame", "model", "pose", "plugin", "static", "self_collide", "allow_auto_disable"}
_READ_OF_LINKS = {"pose", "inertial", "visual", "collision", "plugin", "gravity", "self_collide", "kinematic"}


def read_sdf(root: Element, path: Path) -> Graph:
    """Read the model of a document.

    Args:
        root: the element `sdf`.
        path: its file.

    Raises:
        DescriptionError: with the place of what is wrong.
    """
    report = ExchangeReport()
    worlds = root.named("world")
    models = [model for place in (root, *worlds) for model in place.named("model")]
    for place in (root, *worlds):
        for include in place.named("include"):
            raise include.fault("<include> is not read", "write the included model in its place")
    moving = [model for model in models if not is_true(model, "static")]
    if len(moving) != 1:
        raise root.fault(
            f"the file has {len(moving)} models that move, and one is read", "leave one <model> in it"
        )
    for model in models:
        if model is not moving[0]:
            report.lost(f"the static model {model.get('name')!r} left out")
    return _graph(moving[0], path, _gravity(worlds), report, root.get("version") in _OLD)


def _gravity(worlds: list[Element]) -> Array:
    for world in worlds:
        found = world.first("gravity")
        if found is not None:
            return finite_numbers(found, found.text, 3, "<gravity>")
    return np.array(GRAVITY)


def _graph(model: Element, path: Path, gravity: Array, report: ExchangeReport, in_model: bool) -> Graph:
    frames = frames_of(model)
    if not frames.links:
        raise model.fault("the model has no link")
    names = Names()
    bodies = {WORLD: BASE} | {full: names.new(full.replace("::", "-"), "body") for full in frames.links}
    solids = {bodies[full]: _solid(element, report) for full, element in frames.links.items()}
    joints = joints_of(frames, bodies, names, in_model)
    solids |= massless(joints.carriers)
    elements = {full: element for full, (element, _) in frames.joints.items()}
    plugins = [element for element in model.all() if element.tag == "plugin"]
    links = driven(joints, elements, plugins)
    held = any(BASE in (link.parent, link.child) for link in links)
    floating = None if held else frames.link("__model__")
    _note_losses(model, frames, report)
    graph = Graph(
        name=Names().new(model.get("name"), path.stem),
        file=str(path),
        gravity=gravity,
        bodies=solids,
        joints=tuple(links),
        couplings=tuple(joints.couplings),
        floating=None if floating is None else bodies[floating],
        pose=identity() if floating is None else frames.pose(floating),
        report=report,
    )
    return spanned(graph)


def _solid(element: Element, report: ExchangeReport) -> Solid:
    """A body; without `inertial` it has 1 kg and 1 kg m^2, as the format says."""
    inertial = element.first("inertial")
    shapes = shapes_of(element, report)
    if inertial is None:
        report.done(
            f"the link {element.get('name')!r} has no <inertial>: 1 kg and 1 kg m^2, as the format says"
        )
        return Solid(1.0, np.zeros(3), np.eye(3), shapes)
    if inertial.get("auto") in ("1", "true"):
        raise inertial.fault("inertia from shapes (auto) is not read", "write mass and inertia")
    placed = pose_of(inertial.first("pose"))
    moments = inertial.first("inertia")
    given = [value(moments, name, float(name in ("ixx", "iyy", "izz"))) for name in _MOMENTS]
    inertia = placed.R @ symmetric(np.array(given)) @ placed.R.T
    solid = Solid(value(inertial, "mass", 1.0), placed.p, 0.5 * (inertia + inertia.T), shapes)
    return possible_solid(solid, inertial.fault)


def _note_losses(model: Element, frames: Frames, report: ExchangeReport) -> None:
    lost = report.lost
    if any(link.named("collision") for link in frames.links.values()):
        lost("collision shapes left out: nothing stops bodies that meet")
    if any(element.tag == "plugin" for element in model.all()):
        lost("plugins left out, but for the joints that they drive")
    inner = {child.tag for link in frames.links.values() for child in link.children}
    others = sorted(({child.tag for child in model.children} - _READ) | (inner - _READ_OF_LINKS))
    if others:
        lost(f"elements left out: {', '.join(f'<{tag}>' for tag in others)}")
    for link in frames.links.values():
        inertial = link.first("inertial")
        if inertial is not None and inertial.first("fluid_added_mass") is not None:
            lost("added mass of a fluid left out")
        if link.first("gravity") is not None and not is_true(link, "gravity"):
            lost(f"the link {link.get('name')!r} has weight here: <gravity>false</gravity> left out")
