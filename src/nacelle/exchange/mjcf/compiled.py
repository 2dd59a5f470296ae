"""An MJCF file stripped of what is only seen and compiled by `mujoco`, with its names and places.

Names are those that its bodies and joints get in the graph. Meshes, textures, lights, contacts and sensors
are taken away before. None of it is part of the equations of motion, and all of it may name files that are
not there. What is taken away is counted; bodies that have their mass from meshes alone are named.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco as mj
import numpy as np

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, ExchangeReport, Names, broken
from nacelle.exchange.xml import Element, read_xml, text_of, with_includes
from nacelle.spatial.scalar import Array

# ---- without what is only seen, felt or measured


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


# ---- compiled


_MESHES = "give the bodies whose mass comes from meshes, which are not read, an <inertial>"


@dataclass(frozen=True, eq=False)
class CompiledMjcf:
    """A compiled file.

    Attributes:
        model: the model.
        file: its path.
        root: the file as XML, without what is only seen.
        bodies: names of the bodies, the base first.
        joints: names of the joints.
        taken: the names of bodies, to make others.
        report: what was done and lost.
    """

    model: mj.MjModel
    file: Path
    root: Element
    bodies: list[str]
    joints: list[str]
    taken: Names
    report: ExchangeReport

    def name(self, kind: str, number: int) -> str:
        """The name that something has in the file; empty if it has none."""
        return mj.mj_id2name(self.model, getattr(mj.mjtObj, f"mjOBJ_{kind}"), number) or ""

    def equality(self, k: int) -> Element:
        """The element of an equality."""
        listed = [child for section in self.root.named("equality") for child in section.children]
        return listed[k] if len(listed) == self.model.neq else self.root

    def drawn(self, joint: int) -> float:
        """The coordinate of a hinge or slide in the drawn pose."""
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])


def compile_mjcf(path: Path, report: ExchangeReport) -> CompiledMjcf:
    """Compile a file, without what is only seen.

    Raises:
        DescriptionError: with the place of what is wrong.
    """
    root = stripped(with_includes(read_xml(path), path.parent), report)
    warnings: list[str] = []
    # Without a listener MuJoCo writes its warnings to a file in the current folder.
    mj.set_mju_user_warning(warnings.append)
    try:
        model = mj.MjModel.from_xml_string(text_of(root))
    except (ValueError, RuntimeError, mj.FatalError) as error:
        raise _refused(path, str(error), report) from None
    finally:
        mj.set_mju_user_warning(None)
    for warning in warnings:
        report.done(f"MuJoCo warns: {' '.join(str(warning).split())}")
    taken, names = Names(), Names()

    def given(kind: mj.mjtObj, number: int) -> str:
        return mj.mj_id2name(model, kind, number) or ""

    bodies = [taken.new(given(mj.mjtObj.mjOBJ_BODY, b), f"body{b}") for b in range(1, model.nbody)]
    joints = [names.new(given(mj.mjtObj.mjOBJ_JOINT, j), f"joint{j}") for j in range(model.njnt)]
    return CompiledMjcf(model, path, root, [BASE, *bodies], joints, taken, report)


def _refused(path: Path, error: str, report: ExchangeReport) -> DescriptionError:
    """What MuJoCo says against a file, at its line."""
    words = " ".join(error.split())
    line = re.search(r"line (\d+)", words)
    message = re.sub(r"^(XML )?Error: ", "", words)
    without_mass = "mjMINVAL" in words and any("with the mass" in loss for loss in report.losses)
    hint = _MESHES if without_mass else ""
    return broken(str(path), f"MuJoCo cannot read it: {message}", hint, int(line[1]) if line else 0)


def quaternion_rotation(quat_wxyz: Array) -> Array:
    """The rotation (3, 3) of a quaternion in MuJoCo's order."""
    R = np.zeros(9)
    mj.mju_quat2Mat(R, np.asarray(quat_wxyz, dtype=float) / np.linalg.norm(quat_wxyz))
    return R.reshape(3, 3)
