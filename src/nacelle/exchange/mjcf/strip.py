"""MJCF without what is only seen, felt or measured: meshes, textures, lights, contacts, sensors.

None of it is part of the equations of motion, and all of it may name files that are not there. What is taken
away is counted; bodies that have their mass from meshes alone are named.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nacelle.exchange.graph import Report
from nacelle.exchange.xml import Element

# Sections that do not count in the dynamics of a robot in the air, and the words for them.
_SECTIONS = {
    "asset": "",
    "visual": "",
    "statistic": "",
    "custom": "",
    "size": "",
    "sensor": "sensors",
    "contact": "pairs and exclusions of contacts",
    "deformable": "deformable bodies",
}
_INSIDE = ("light", "camera", "composite", "flexcomp", "replicate", "attach", "frame")
_REFUSED = {"composite", "flexcomp", "plugin", "extension", "deformable"}
_SHAPELESS = ("mesh", "hfield", "sdf")
_ASSETS = ("mesh", "material", "texture", "hfield", "skin", "model")


@dataclass
class _Class:
    """What a class of defaults says of geoms."""

    kind: str = "sphere"
    mesh: bool = False
    contact: bool = True


def stripped(root: Element, report: Report) -> Element:
    """Take away what does not move, in place.

    Raises:
        DescriptionError: if the file has flexible or generated bodies.
    """
    if root.tag != "mujoco":
        raise root.fault(f"an MJCF file has <mujoco>, not <{root.tag}>, as its outermost element")
    for element in root.all():
        if element.tag in _REFUSED:
            raise element.fault(f"<{element.tag}> makes bodies that are not rigid or not in the file")
    counts: Counter[str] = Counter()
    for child in root.children:
        if _SECTIONS.get(child.tag):
            counts[_SECTIONS[child.tag]] += len(child.children)
    root.children = [child for child in root.children if child.tag not in _SECTIONS]
    classes: dict[str, _Class] = {"": _Class()}
    for defaults in root.named("default"):
        _classes(defaults, classes, _Class())
    for world in root.named("worldbody"):
        _body(world, classes, "", counts)
    for element in root.all():
        element.attributes.pop("material", None)
    for words, count in counts.items():
        if count:
            report.lost(f"{count} {words} left out")
    return root


def _classes(element: Element, classes: dict[str, _Class], above: _Class) -> None:
    """Note what defaults say of geoms, and drop those of assets."""
    own = _Class(above.kind, above.mesh, above.contact)
    for geom in element.named("geom"):
        own.kind = geom.get("type", own.kind)
        own.mesh = own.mesh or "mesh" in geom.attributes
        geom.attributes.pop("mesh", None)
        if geom.get("type") in _SHAPELESS:
            del geom.attributes["type"]
    name = element.get("class")
    classes[name] = own
    if not classes[""].mesh and name in ("", "main"):
        classes[""] = own
    element.children = [child for child in element.children if child.tag not in _ASSETS]
    for inner in element.named("default"):
        _classes(inner, classes, own)


def _body(element: Element, classes: dict[str, _Class], inherited: str, counts: Counter[str]) -> None:
    inherited = element.get("childclass", inherited)
    kept: list[Element] = []
    meshes = 0
    for child in element.children:
        if child.tag in ("light", "camera"):
            continue
        if child.tag == "geom" and _is_mesh(child, classes, inherited):
            meshes += 1
            continue
        if child.tag in ("body", "frame"):
            _body(child, classes, inherited, counts)
        kept.append(child)
    counts["meshes"] += meshes
    heavy = any(child.tag in ("inertial", "geom") for child in kept)
    if meshes and not heavy and element.tag == "body":
        words = f"meshes of the body {element.get('name')!r}, with the mass that they would give it,"
        counts[words] += meshes
        counts["meshes"] -= meshes
    element.children = kept


def _is_mesh(geom: Element, classes: dict[str, _Class], inherited: str) -> bool:
    own = classes.get(geom.get("class", inherited), classes[""])
    kind = geom.get("type", own.kind)
    return kind in _SHAPELESS or "mesh" in geom.attributes or "hfield" in geom.attributes
