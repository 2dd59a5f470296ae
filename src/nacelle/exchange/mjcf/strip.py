"""MJCF without what is only seen, felt or measured: meshes, textures, lights, contacts, sensors.

None of it is part of the equations of motion, and all of it may name files that are not there. What is taken
away is counted; bodies that have their mass from meshes alone are named.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from nacelle.exchange.graph import ExchangeReport
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
}
# Attributes that may be anything: names, ends of ranges, numbers for users.
_ANY = (
    *("name", "class", "childclass", "user", "range", "ctrlrange", "forcerange", "actuatorfrcrange"),
    *("actrange", "lengthrange"),
)
_REFUSED = {"composite", "flexcomp", "plugin", "extension", "deformable"}
_SHAPELESS = ("mesh", "hfield", "sdf")
_ASSETS = ("mesh", "material", "texture", "hfield", "skin", "model")


@dataclass
class _Class:
    """What a class of defaults says of geoms."""

    kind: str = "sphere"
    mesh: bool = False
    heavy: bool = True


def stripped(root: Element, report: ExchangeReport) -> Element:
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
    for element in root.all():
        element.require_sound(_ANY)
    for child in root.children:
        if _SECTIONS.get(child.tag):
            counts[_SECTIONS[child.tag]] += len(child.children)
    root.children = [child for child in root.children if child.tag not in _SECTIONS]
    classes: dict[str, _Class] = {"": _Class()}
    for defaults in root.named("default"):
        _classes(defaults, classes, _Class())
    by_shape = any(section.get("inertiafromgeom") == "true" for section in root.named("compiler"))
    stripper = _Stripper(classes, counts, by_shape)
    for world in root.named("worldbody"):
        stripper.body(world, "")
    for element in root.all():
        element.attributes.pop("material", None)
    for words, count in counts.items():
        if count:
            report.lost(f"{words} left out ({count})")
    return root


def _classes(element: Element, classes: dict[str, _Class], above: _Class) -> None:
    """Note what defaults say of geoms, and drop those of assets."""
    own = replace(above)
    for geom in element.named("geom"):
        own.kind = geom.get("type", own.kind)
        own.mesh = own.mesh or "mesh" in geom.attributes
        own.heavy = _is_heavy(geom, own.heavy)
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


@dataclass
class _Stripper:
    """Takes meshes, lights and cameras out of bodies.

    Attributes:
        classes: of defaults.
        counts: what was taken away.
        by_shape: whether bodies have their inertia from shapes even where it is written.
    """

    classes: dict[str, _Class]
    counts: Counter[str]
    by_shape: bool

    def body(self, element: Element, inherited: str) -> None:
        """Strip a body and all in it; `inherited` is the class of defaults from above."""
        inherited = element.get("childclass", inherited)
        kept: list[Element] = []
        meshes = heavy = 0
        for child in element.children:
            if child.tag in ("light", "camera"):
                continue
            if child.tag == "geom" and self.is_mesh(child, inherited):
                meshes += 1
                heavy += _is_heavy(child, self.own(child, inherited).heavy)
                continue
            if child.tag in ("body", "frame", "replicate"):
                self.body(child, inherited)
            kept.append(child)
        element.children = kept
        written = any(child.tag == "inertial" for child in kept) and not self.by_shape
        if heavy and not written and element.tag == "body":
            words = f"meshes of the body {element.get('name')!r}, with the mass that they would give it,"
            self.counts[words] += meshes
        else:
            self.counts["meshes"] += meshes

    def own(self, geom: Element, inherited: str) -> _Class:
        """What the defaults say of a geom."""
        return self.classes.get(geom.get("class", inherited), self.classes[""])

    def is_mesh(self, geom: Element, inherited: str) -> bool:
        """Whether the shape of a geom is in another file."""
        kind = geom.get("type", self.own(geom, inherited).kind)
        return kind in _SHAPELESS or "mesh" in geom.attributes or "hfield" in geom.attributes


def _is_heavy(geom: Element, default: bool) -> bool:
    """Whether a geom has a mass: it is 0 where mass or density is."""
    given = [geom.get(name) for name in ("mass", "density") if name in geom.attributes]
    return not any(_is_zero(text) for text in given) if given else default


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0.0
    except ValueError:
        return False
