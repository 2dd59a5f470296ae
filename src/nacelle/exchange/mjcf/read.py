"""MJCF to a graph of bodies and joints, through the compiled model of `mujoco`.

Frames of bodies, their inertia and the coordinates of joints are those of MuJoCo: a joint that stands at
`ref` in the drawn pose keeps that number, its frame is turned back by it.

What acts along the hinges and slides of an MJCF file: friction, springs, rotors, limits, actuators.

An actuator with the gain of a motor gives the force gear times control; one with a law of its own
(position, velocity, general) is a drive whose law belongs to a controller and is left out. Inertia at the
joint (`armature`) becomes that of a rotor behind the gear; inertia and damping of the actuator itself count
with the square of the gear, its quadratic and cubic damping with rates of the joint or tendon that it
pulls. A tendon that is a sum of joints is driven through the one that the others follow. A negative gear
stays negative: forces are those at the joint, along its axis.

Equalities and tendons of MJCF: closures, couplings, springs between bodies.

A `connect` is a spherical closure, a `weld` a fixed one; a `joint` equality

    q1 - q1_0 = a0 + a1 (q2 - q2_0) + a2 (q2 - q2_0)^2 + ...

is a coupling where a2 and all later coefficients vanish, and likewise for the lengths of fixed tendons; a
polynomial is refused at its place.

Fixed tendons of MJCF: sums of joint coordinates, length = sum of coef q.

Where all joints of a sum follow one of them by linear couplings, the length is that of the leader alone,

    L = ratio (q - q_0) + L_0

and what acts along the tendon acts along the leader: with stiffness k, damping c, dry friction f and armature
a of the tendon  ratio^2 k, ratio^2 c, |ratio| f  and  ratio^2 a;  quadratic and cubic damping count with
|ratio|^3 and ratio^4. A spring that is slack between two lengths is an end stop of the leader beyond them,
and a range of the length one of the leader.

An MJCF file stripped of what is only seen and compiled by `mujoco`, with its names and places.

Names are those that its bodies and joints get in the graph. Textures, lights, contacts, sensors and the
meshes that give no mass are taken away before. None of it is part of the equations of motion, and all of it
may name files that are not there. What is taken away is counted. Masses and inertias are MuJoCo's, with all
settings of its compiler; a mesh that gives a moving body its mass must be there.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import mujoco as mj
import numpy as np

from nacelle.errors import DescriptionError
from nacelle.exchange.closing import hint_message, loop_hints
from nacelle.exchange.digits import frame_elements, last_digit
from nacelle.exchange.graph import (
    BASE,
    Axis,
    Coupling,
    Digits,
    ExchangeReport,
    Graph,
    Link,
    Motor,
    Shape,
    Solid,
    Strut,
    UniqueNames,
)
from nacelle.exchange.xml import Element, read_xml, text_of, with_includes
from nacelle.model.joint import UNBOUNDED, Interval
from nacelle.model.source.node import file_error
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# ---- without what is only seen, felt or measured


# Sections that do not count in the dynamics of a robot in the air, and the words for them.
_SECTIONS = {
    "extension": "",
    "visual": "",
    "statistic": "",
    "custom": "",
    "size": "",
    "sensor": "sensors",
    "contact": "pairs and exclusions of contacts",
}
# Attributes that may be anything: names, ends of ranges, numbers for users.
_FREE_ATTRIBUTES = (
    *("name", "class", "childclass", "user", "range", "ctrlrange", "forcerange", "actuatorfrcrange"),
    *("actrange", "lengthrange"),
)
_REFUSED_TAGS = {"attach", "composite", "flexcomp", "deformable"}
# Elements that are drawn, or give what is drawn, wherever they are.
_VISUAL_TAGS = ("light", "camera", "material", "texture", "hfield", "skin", "model")
# What may have a plugin, which says what it touches, measures or commands.
_PLUGIN_TAGS = ("geom", "mesh", "sensor", "actuator", "extension")
_MESH_TYPES = (mj.mjtGeom.mjGEOM_MESH, mj.mjtGeom.mjGEOM_HFIELD, mj.mjtGeom.mjGEOM_SDF)


def rigid_specification(root: Element, report: ExchangeReport) -> mj.MjSpec:
    """MuJoCo's specification of a document without what does not move, which is taken out of the document.

    Raises:
        DescriptionError: if the file has flexible or generated bodies, or the mesh of a mass is missing.
        ValueError: by MuJoCo, if it cannot read the document.
    """
    if root.tag != "mujoco":
        raise root.fault(f"an MJCF file has <mujoco>, not <{root.tag}>, as its outermost element")
    for element in root.all():
        for child in element.children:
            if child.tag in _REFUSED_TAGS or (child.tag == "plugin" and element.tag not in _PLUGIN_TAGS):
                raise child.fault(f"<{child.tag}> makes bodies that are not rigid or not in the file")
    for element in root.all():
        element.require_finite(_FREE_ATTRIBUTES)
    counts: Counter[str] = Counter()
    for child in root.children:
        if _SECTIONS.get(child.tag):
            counts[_SECTIONS[child.tag]] += len(child.children)
    root.children = [child for child in root.children if child.tag not in _SECTIONS]
    for element in root.all():
        element.attributes.pop("material", None)
        element.children = [child for child in element.children if child.tag not in (*_VISUAL_TAGS, "plugin")]
    meshes = _find_mesh_files(root)
    spec = mj.MjSpec.from_string(text_of(root))
    masses = _MeshMasses(root, spec, meshes, counts)
    masses.delete_others(spec.worldbody, is_static=True)
    for mesh in spec.meshes:
        if mesh.name not in masses.used:
            spec.delete(mesh)
    if masses.bodies:
        report.add_step(
            f"masses of meshes as MuJoCo computes them: {', '.join(dict.fromkeys(masses.bodies))}"
        )
    for what, count in counts.items():
        if count:
            report.add_loss(f"{what} left out ({count})")
    return spec


def _find_mesh_files(root: Element) -> dict[str, Element]:
    """The meshes of a document by their names; files that are there have their absolute paths."""
    settings: dict[str, str] = {}
    for compiler in root.children_named("compiler"):
        settings |= compiler.attributes
    folder = Path(root.file).parent / (settings.get("meshdir") or settings.get("assetdir", ""))
    meshes: dict[str, Element] = {}
    for asset in root.children_named("asset"):
        for mesh in asset.children_named("mesh"):
            file = mesh.get("file")
            if meshes.setdefault(mesh.get("name") or Path(file).stem, mesh) is not mesh:
                continue
            if settings.get("strippath") == "true":
                file = re.split(r"[/\\]", file)[-1]
            if file and (path := (folder / file).resolve()).is_file():
                mesh.attributes["file"] = str(path)
        asset.children = [mesh for mesh in asset.children if mesh in meshes.values()]
    return meshes


@dataclass
class _MeshMasses:
    """Which meshes of a specification give mass to a body that moves.

    Attributes:
        root: the document.
        spec: the specification.
        meshes: its meshes by name.
        counts: of the shapes that are deleted.
        bodies: names of the bodies that have their mass from meshes.
        used: names of the meshes that give mass.
    """

    root: Element
    spec: mj.MjSpec
    meshes: dict[str, Element]
    counts: Counter[str]
    bodies: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def delete_others(self, body: mj.MjsBody, is_static: bool) -> None:
        """Delete the shapes by meshes that give no mass, of a body and of all that it carries."""
        compiler = self.spec.compiler
        by_shape = compiler.inertiafromgeom == mj.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
        never = compiler.inertiafromgeom == mj.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        has_inertia = never or (body.explicitinertial and not by_shape)
        # A mass for all bodies is shared by the masses of those that stand still, too.
        counts_at_rest = compiler.settotalmass > 0.0
        low, high = compiler.inertiagrouprange
        for geom in list(body.geoms):
            if geom.type not in _MESH_TYPES and not geom.meshname and not geom.hfieldname:
                continue
            # Without a mass of its own, which is not a number then, a geom has that of its density.
            gives = geom.mass != 0.0 and geom.density != 0.0 and low <= geom.group <= high
            if gives and not has_inertia and (counts_at_rest or not is_static):
                self._require_file(geom, body)
                self.used.add(geom.meshname)
                self.bodies.append(body.name)
            else:
                self.counts["meshes"] += 1
                self.spec.delete(geom)
        for child in body.bodies:
            self.delete_others(child, is_static and not child.joints)

    def _require_file(self, geom: mj.MjsGeom, body: mj.MjsBody) -> None:
        """Check that MuJoCo can read the mesh of a body's mass."""
        name = geom.meshname or geom.hfieldname
        mesh = self.meshes.get(geom.meshname)
        geoms = (element for element in self.root.all() if element.tag == "geom")
        element = mesh or next((g for g in geoms if name in (g.get("mesh"), g.get("hfield"))), self.root)
        owner = f"the body {body.name!r}" if body.name else "a body without a name"
        what = f"the mass of {owner} comes from the shape {name!r}"
        if mesh is None or geom.type in (mj.mjtGeom.mjGEOM_HFIELD, mj.mjtGeom.mjGEOM_SDF):
            raise element.fault(f"{what}, which is no mesh of the file", "give the body an <inertial>")
        file = mesh.get("file")
        if file and not (Path(file).is_absolute() and Path(file).is_file()):
            raise element.fault(
                f"{what}, and there is no file {file!r}", "put the file there, or give the body an <inertial>"
            )


# ---- compiled


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
    taken: UniqueNames
    report: ExchangeReport

    def name(self, kind: str, number: int) -> str:
        """The name that something has in the file; empty if it has none."""
        return mj.mj_id2name(self.model, getattr(mj.mjtObj, f"mjOBJ_{kind}"), number) or ""

    def equality(self, k: int) -> Element:
        """The element of an equality."""
        elements = [child for section in self.root.children_named("equality") for child in section.children]
        return elements[k] if len(elements) == self.model.neq else self.root

    def drawn_coordinate(self, joint: int) -> float:
        """The coordinate of a hinge or slide in the drawn pose."""
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])


def compile_mjcf(path: Path, report: ExchangeReport) -> CompiledMjcf:
    """Compile a file, without what is only seen.

    Raises:
        DescriptionError: with the place of what is wrong.
    """
    root = with_includes(read_xml(path), path.parent)
    remarks: list[str] = []
    # Without a listener MuJoCo writes its warnings to a file in the current folder.
    mj.set_mju_user_warning(remarks.append)
    try:
        with warnings.catch_warnings(record=True) as caught:
            model = rigid_specification(root, report).compile()
    except (ValueError, RuntimeError, mj.FatalError) as error:
        raise _compile_error(path, str(error)) from None
    finally:
        mj.set_mju_user_warning(None)
    for remark in (*remarks, *(str(warning.message) for warning in caught)):
        report.add_step(f"MuJoCo warns: {' '.join(str(remark).split())}")
    body_names, joint_names = UniqueNames(), UniqueNames()

    def name_in_file(kind: mj.mjtObj, number: int) -> str:
        return mj.mj_id2name(model, kind, number) or ""

    bodies = [
        body_names.new(name_in_file(mj.mjtObj.mjOBJ_BODY, b), f"body{b}") for b in range(1, model.nbody)
    ]
    joints = [joint_names.new(name_in_file(mj.mjtObj.mjOBJ_JOINT, j), f"joint{j}") for j in range(model.njnt)]
    return CompiledMjcf(model, path, root, [BASE, *bodies], joints, body_names, report)


def _compile_error(path: Path, error: str) -> DescriptionError:
    """What MuJoCo says against a file, at its line."""
    text = " ".join(error.split())
    line = re.search(r"line (\d+)", text)
    message = re.sub(r"^(XML )?Error: ", "", text)
    return file_error(str(path), f"MuJoCo cannot read it: {message}", "", int(line[1]) if line else 0)


def quaternion_rotation(quat_wxyz: Array) -> Array:
    """The rotation (3, 3) of a quaternion in MuJoCo's order."""
    R = np.zeros(9)
    mj.mju_quat2Mat(R, np.asarray(quat_wxyz, dtype=float) / np.linalg.norm(quat_wxyz))
    return R.reshape(3, 3)


# ---- fixed tendons


_JOINT = int(mj.mjtWrap.mjWRAP_JOINT)
# Ends of a range beyond this, rad or m, mean that there is no limit.
UNLIMITED = 1e6


@dataclass(frozen=True)
class TendonLeader:
    """The joint that a fixed tendon moves with.

    Attributes:
        joint: its number.
        ratio: the tendon's rate over the joint's.
        length: of the tendon where the joint is drawn.
    """

    joint: int
    ratio: float
    length: float


def fixed_terms(model: mj.MjModel, tendon: int) -> dict[int, float] | None:
    """Joints and coefficients of a fixed tendon; None of a spatial one."""
    first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    if any(int(model.wrap_type[k]) != _JOINT for k in range(first, first + count)):
        return None
    terms: dict[int, float] = {}
    for k in range(first, first + count):
        joint = int(model.wrap_objid[k])
        terms[joint] = terms.get(joint, 0.0) + float(model.wrap_prm[k])
    return terms


def tendon_leader(model: mj.MjModel, terms: dict[int, float]) -> TendonLeader | None:
    """The joint of a sum that all others of it follow by linear couplings; None without one."""
    couplings: dict[int, tuple[int, float, float]] = {}
    for k in range(model.neq):
        linear = int(model.eq_type[k]) == int(mj.mjtEq.mjEQ_JOINT) and not any(model.eq_data[k, 2:5])
        if linear and model.eq_active0[k] and int(model.eq_obj2id[k]) >= 0:
            offset, ratio = (float(v) for v in model.eq_data[k, :2])
            couplings[int(model.eq_obj1id[k])] = int(model.eq_obj2id[k]), ratio, offset
    total: dict[int, float] = {}
    length = 0.0
    for start, coefficient in terms.items():
        joint, factor, visited = start, coefficient, {start}
        length += coefficient * float(model.qpos0[model.jnt_qposadr[start]])
        while joint in couplings and couplings[joint][0] not in visited:
            leader, ratio, offset = couplings[joint]
            length += factor * offset
            joint, factor = leader, factor * ratio
            visited.add(joint)
        total[joint] = total.get(joint, 0.0) + factor
    if len(total) != 1:
        return None
    ((joint, ratio),) = total.items()
    return TendonLeader(joint, ratio, length) if ratio else None


def add_tendon_forces(model: mj.MjModel, axes: dict[int, Axis], report: ExchangeReport) -> None:
    """Put what acts along fixed tendons on the axes of their leaders."""
    for tendon in range(model.ntendon):
        terms = fixed_terms(model, tendon)
        if terms is None:
            continue
        acts = any(
            np.any(getattr(model, f"tendon_{what}")[tendon])
            for what in ("stiffness", "damping", "dampingpoly", "frictionloss", "armature")
        )
        limited = bool(model.tendon_limited[tendon])
        name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_TENDON, tendon) or f"tendon{tendon}"
        leader = tendon_leader(model, terms) if acts or limited else None
        if leader is None or leader.joint not in axes:
            why = "its joints do not follow one of them"
            if acts:
                report.add_loss(f"spring, damper and friction of the tendon {name!r} left out: {why}")
            if limited:
                report.add_loss(f"the limit of the tendon {name!r} left out: {why}")
            continue
        drive = _TendonDrive(model, tendon, name, leader)
        axes[leader.joint] = drive.with_range(
            drive.with_spring(drive.with_damping(axes[leader.joint]), report), report
        )


@dataclass(frozen=True)
class _TendonDrive:
    """A fixed tendon and the joint that it moves with."""

    model: mj.MjModel
    tendon: int
    name: str
    leader: TendonLeader

    def at(self, length: float) -> float:
        """The coordinate of the leader at a length of the tendon."""
        joint = self.leader.joint
        reference = float(self.model.qpos0[self.model.jnt_qposadr[joint]])
        return reference + (length - self.leader.length) / self.leader.ratio

    def with_damping(self, axis: Axis) -> Axis:
        model, k, ratio = self.model, self.tendon, abs(self.leader.ratio)
        quadratic, cubic = (float(v) for v in model.tendon_dampingpoly[k])
        return replace(
            axis,
            damping=axis.damping + ratio**2 * float(model.tendon_damping[k]),
            quadratic=axis.quadratic + ratio**3 * quadratic,
            cubic=axis.cubic + ratio**4 * cubic,
            coulomb=axis.coulomb + ratio * float(model.tendon_frictionloss[k]),
            armature=axis.armature + ratio**2 * float(model.tendon_armature[k]),
        )

    def with_spring(self, axis: Axis, report: ExchangeReport) -> Axis:
        """With the spring; one with a slack is an end stop beyond both ends of the slack."""
        k = self.leader.ratio**2 * float(self.model.tendon_stiffness[self.tendon])
        ends = [float(v) for v in self.model.tendon_lengthspring[self.tendon]]
        if not k:
            return axis
        if ends[0] == ends[1]:
            total = axis.stiffness + k
            rest = (axis.stiffness * axis.rest + k * self.at(ends[0])) / total
            return replace(axis, stiffness=total, rest=rest)
        lower, upper = sorted((self.at(ends[0]), self.at(ends[1])))
        free = limits_within(lower, upper)
        if axis.limits not in (UNBOUNDED, free) or (axis.stop and axis.limits != free):
            report.add_loss(
                f"the slack spring of the tendon {self.name!r} left out: its joint has other limits than "
                f"{lower:g} and {upper:g}"
            )
            return axis
        return replace(axis, limits=free, stop=axis.stop + k)

    def with_range(self, axis: Axis, report: ExchangeReport) -> Axis:
        """With the tendon's range, which is one of the joint where that has no end stops."""
        if not self.model.tendon_limited[self.tendon]:
            return axis
        lower, upper = sorted(self.at(float(end)) for end in self.model.tendon_range[self.tendon])
        if axis.stop:
            report.add_loss(f"the limit of the tendon {self.name!r} left out: its joint has end stops")
            return axis
        low, high = limits_within(lower, upper)
        return replace(axis, limits=Interval(max(axis.limits.lower, low), min(axis.limits.upper, high)))


def limits_within(lower: float, upper: float) -> Interval:
    """Ends of a range; infinite where they are farther than any joint goes."""
    return Interval(lower if lower > -UNLIMITED else -math.inf, upper if upper < UNLIMITED else math.inf)


# ---- friction, springs, rotors, limits and actuators of hinges and slides


_HINGE, _SLIDE = int(mj.mjtJoint.mjJNT_HINGE), int(mj.mjtJoint.mjJNT_SLIDE)


def axes_by_joint(read: CompiledMjcf) -> dict[int, Axis]:
    """The axes of all hinges and slides by the numbers of their joints; the values are not set."""
    model, report = read.model, read.report
    axes = {
        joint: _axis(model, joint)
        for joint in range(model.njnt)
        if int(model.jnt_type[joint]) in (_HINGE, _SLIDE)
    }
    add_tendon_forces(model, axes, report)
    names = UniqueNames()
    for actuator in range(model.nu):
        name = read.name("ACTUATOR", actuator) or f"actuator{actuator}"
        target = _driven_joint(model, actuator)
        if target is None or target[0] not in axes:
            report.add_loss(f"the actuator {name!r} left out: it drives no single hinge or slide")
            continue
        joint, gear, ratio = target
        if axes[joint].motor is not None:
            driven = read.joints[joint]
            report.add_loss(f"the actuator {name!r} left out: another one drives the joint {driven!r}")
            continue
        unique = names.new(name, f"actuator{actuator}")
        quadratic, cubic = (float(c) for c in model.actuator_dampingpoly[actuator])
        axes[joint] = replace(
            axes[joint],
            motor=_motor(read, actuator, unique, joint, gear),
            damping=axes[joint].damping + gear**2 * float(model.actuator_damping[actuator]),
            quadratic=axes[joint].quadratic + gear**2 * abs(ratio) * quadratic,
            cubic=axes[joint].cubic + gear**2 * ratio**2 * cubic,
            armature=axes[joint].armature + gear**2 * float(model.actuator_armature[actuator]),
        )
    return axes


def _axis(model: mj.MjModel, joint: int) -> Axis:
    v, q = int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
    limits = UNBOUNDED
    if model.jnt_limited[joint]:
        limits = limits_within(float(model.jnt_range[joint, 0]), float(model.jnt_range[joint, 1]))
    quadratic, cubic = (float(c) for c in model.dof_dampingpoly[v])
    return Axis(
        direction=np.array(model.jnt_axis[joint]),
        turns=int(model.jnt_type[joint]) == _HINGE,
        damping=float(model.dof_damping[v]),
        coulomb=float(model.dof_frictionloss[v]),
        quadratic=quadratic,
        cubic=cubic,
        armature=float(model.dof_armature[v]),
        stiffness=float(model.jnt_stiffness[joint]),
        rest=float(model.qpos_spring[q]),
        limits=limits,
    )


def _driven_joint(model: mj.MjModel, actuator: int) -> tuple[int, float, float] | None:
    """The joint that an actuator drives, the force at it for one of the actuator, the rate of its target."""
    kind, target = int(model.actuator_trntype[actuator]), int(model.actuator_trnid[actuator, 0])
    gear = float(model.actuator_gear[actuator, 0])
    if kind in (int(mj.mjtTrn.mjTRN_JOINT), int(mj.mjtTrn.mjTRN_JOINTINPARENT)):
        return target, gear, 1.0
    if kind != int(mj.mjtTrn.mjTRN_TENDON):
        return None
    terms = fixed_terms(model, target)
    leader = None if terms is None else tendon_leader(model, terms)
    return None if leader is None else (leader.joint, gear * leader.ratio, leader.ratio)


def _motor(read: CompiledMjcf, actuator: int, name: str, joint: int, gear: float) -> Motor:
    model, report = read.model, read.report
    plain = (
        int(model.actuator_gaintype[actuator]) == int(mj.mjtGain.mjGAIN_FIXED)
        and int(model.actuator_biastype[actuator]) == int(mj.mjtBias.mjBIAS_NONE)
        and int(model.actuator_dyntype[actuator]) == int(mj.mjtDyn.mjDYN_NONE)
    )
    if not plain:
        report.add_loss(
            f"the law of the actuator {name!r} left out: it drives its joint with the force given to it"
        )
    ends: list[tuple[float, float]] = []
    if model.actuator_forcelimited[actuator]:
        ends.append(tuple(gear * model.actuator_forcerange[actuator]))
    if plain and model.actuator_ctrllimited[actuator]:
        gain = float(model.actuator_gainprm[actuator, 0])
        with np.errstate(over="ignore"):  # beyond all numbers: no limit
            ends.append(tuple(gear * gain * model.actuator_ctrlrange[actuator]))
    if model.jnt_actfrclimited[joint]:
        ends.append(tuple(model.jnt_actfrcrange[joint]))
    for lower, upper in ends:
        if not np.isclose(-lower, upper):
            report.add_loss(f"the force of the actuator {name!r} is limited alike in both directions")
    force = min((max(abs(lower), abs(upper)) for lower, upper in ends), default=np.inf)
    return Motor(name, gear or 1.0, float(force))


# ---- equalities and tendons: closures, couplings, springs between bodies


_SITE = int(mj.mjtObj.mjOBJ_SITE)
# Where a weld has the weight of its angular residual.
_TORQUE_SCALE = 10


def read_equalities(read: CompiledMjcf) -> Equalities:
    """Read all equalities and tendons.

    Raises:
        DescriptionError: if one is no joint of rigid bodies.
    """
    equalities = Equalities(read)
    for k in range(read.model.neq):
        equalities.equality(k)
    for tendon in range(read.model.ntendon):
        equalities.tendon(tendon)
    return equalities


class Equalities:
    """What ties bodies and joints together in addition to the tree: closures, couplings and struts."""

    def __init__(self, read: CompiledMjcf) -> None:
        """None yet."""
        self.read, self.model, self.report = read, read.model, read.report
        self.bodies, self.joints = read.bodies, read.joints
        self.names = UniqueNames()
        self.closures: list[Link] = []
        self.couplings: list[Coupling] = []
        self.struts: list[Strut] = []

    def equality(self, k: int) -> None:
        """Read an equality."""
        model = self.model
        kind = int(model.eq_type[k])
        name = self.read.name("EQUALITY", k)
        first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        if not model.eq_active0[k]:
            self.report.add_loss(f"the equality {name or k} left out: it is not active")
        elif kind in (int(mj.mjtEq.mjEQ_CONNECT), int(mj.mjtEq.mjEQ_WELD)):
            self._add_closure(k, name)
        elif kind == int(mj.mjtEq.mjEQ_JOINT):
            self._add_coupling(k, name, {first: 1.0}, {} if second < 0 else {second: 1.0})
        elif kind == int(mj.mjtEq.mjEQ_TENDON):
            left = fixed_terms(model, first)
            right = {} if second < 0 else fixed_terms(model, second)
            if left is None or right is None:
                raise self.read.equality(k).fault(
                    "an equality holds the length of a spatial tendon, which is no joint of rigid bodies",
                    "write it as a rod between two ball joints",
                )
            self._add_coupling(k, name, left, right)
        else:
            self.report.add_loss(f"the equality {name or k} left out: it does not constrain rigid bodies")

    def _add_closure(self, k: int, own_name: str) -> None:
        model = self.model
        first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        data = np.array(model.eq_data[k])
        # A weld whose angular residual has no weight holds a point alone.
        is_weld = int(model.eq_type[k]) == int(mj.mjtEq.mjEQ_WELD) and data[_TORQUE_SCALE] != 0.0
        if int(model.eq_objtype[k]) == _SITE:
            at, child_at = self._site_pose(first), self._site_pose(second)
            if not is_weld:
                at, child_at = Pose(np.eye(3), at.p), Pose(np.eye(3), child_at.p)
            first, second = int(model.site_bodyid[first]), int(model.site_bodyid[second])
        elif int(model.eq_type[k]) == int(mj.mjtEq.mjEQ_WELD):
            R = quaternion_rotation(data[6:10]) if is_weld else np.eye(3)
            at, child_at = Pose(R, data[3:6]), Pose(np.eye(3), data[:3])
        else:
            at, child_at = Pose(np.eye(3), data[:3]), Pose(np.eye(3), data[3:6])
        word = "weld" if is_weld else "connect"
        parent, child = self.bodies[first], self.bodies[second]
        if model.body_mocapid[first] >= 0 or model.body_mocapid[second] >= 0:
            self.report.add_loss(f"the equality {own_name or k} left out: a user moves its mocap body")
            return
        name = self.names.new(own_name or f"{parent}-to-{child}", f"{word}{k}")
        line = self.read.equality(k).line
        self.closures.append(Link(name, parent, child, at, child_at, spherical=not is_weld, line=line))

    def _site_pose(self, site: int) -> Pose:
        return Pose(quaternion_rotation(self.model.site_quat[site]), np.array(self.model.site_pos[site]))

    def _add_coupling(self, k: int, own_name: str, left: dict[int, float], right: dict[int, float]) -> None:
        """Left - left_0 = a0 + a1 (right - right_0), solved for the first joint of the left side."""
        model = self.model
        a = [float(value) for value in model.eq_data[k, :5]]
        joint, *_ = left
        name = self.names.new(own_name or f"{self.joints[joint]}-coupling", f"coupling{k}")
        if any(a[2:]) and right:
            raise self.read.equality(k).fault(
                f"the joint {self.joints[joint]!r} follows another by a polynomial: couplings are linear",
                "keep its first two coefficients, or model the mechanism that makes the polynomial",
            )
        slope = a[1] if right else 0.0
        terms: dict[int, float] = {}
        for index, factor in left.items():
            terms[index] = terms.get(index, 0.0) + factor
        for index, factor in right.items():
            terms[index] = terms.get(index, 0.0) - slope * factor
        # sum terms (q - q0) = a0
        offset = a[0] + sum(factor * self.read.drawn_coordinate(index) for index, factor in terms.items())
        factor_of_joint = terms.pop(joint)
        follows = {self.joints[index]: -factor / factor_of_joint for index, factor in terms.items() if factor}
        self.couplings.append(Coupling(name, self.joints[joint], follows, offset / factor_of_joint))

    def tendon(self, tendon: int) -> None:
        """Read a spatial tendon."""
        model = self.model
        name = self.read.name("TENDON", tendon) or f"tendon{tendon}"
        if fixed_terms(model, tendon) is not None:
            return
        if model.tendon_limited[tendon]:
            low, high = model.tendon_range[tendon]
            self.report.add_loss(f"the limit of the tendon {name!r} left out: {low:g} m to {high:g} m")
        if np.any(model.tendon_dampingpoly[tendon]):
            self.report.add_loss(f"higher terms of the damping of the tendon {name!r} left out")
        if model.tendon_frictionloss[tendon] or model.tendon_armature[tendon]:
            self.report.add_loss(f"dry friction and armature of the tendon {name!r} left out")
        stiffness, damping = float(model.tendon_stiffness[tendon]), float(model.tendon_damping[tendon])
        if not stiffness and not damping:
            return
        first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
        kinds = [int(model.wrap_type[k]) for k in range(first, first + count)]
        lower, upper = (float(v) for v in model.tendon_lengthspring[tendon])
        straight = kinds == [int(mj.mjtWrap.mjWRAP_SITE)] * 2
        if not straight or (stiffness and lower != upper):
            why = (
                f"it is slack from {lower:g} m to {upper:g} m" if straight else "it is not one straight line"
            )
            self.report.add_loss(f"spring and damper of the tendon {name!r} left out: {why}")
            return
        sites = [int(model.wrap_objid[k]) for k in (first, first + 1)]
        ends = [int(model.site_bodyid[site]) for site in sites]
        points = [np.array(model.site_pos[site]) for site in sites]
        self.struts.append(
            Strut(
                self.names.new(name, f"tendon{tendon}"),
                (self.bodies[ends[0]], self.bodies[ends[1]]),
                (points[0], points[1]),
                stiffness,
                lower,
                damping,
            )
        )


# ---- the graph


_FREE, _BALL = int(mj.mjtJoint.mjJNT_FREE), int(mj.mjtJoint.mjJNT_BALL)


def read_mjcf(path: Path, keyframe: str | None = None) -> Graph:
    """Read a file as a graph.

    Args:
        path: the file.
        keyframe: name of the keyframe that is the assembly; the first if None, the drawn pose if "".
    """
    return _Reader(compile_mjcf(path, ExchangeReport()), keyframe).graph()


class _Reader:
    def __init__(self, read: CompiledMjcf, keyframe: str | None) -> None:
        self.read, self.model, self.report = read, read.model, read.report
        self.bodies, self.joints = read.bodies, read.joints
        self.qpos = self._assembly_coordinates(keyframe)
        self.links: list[Link] = []
        self.solids: dict[str, Solid] = {}
        self.free_bodies: dict[str, Pose] = {}

    def _assembly_coordinates(self, keyframe: str | None) -> Array:
        """Coordinates in which the robot is assembled."""
        names = [self.read.name("KEY", k) for k in range(self.model.nkey)]
        if keyframe:
            if keyframe not in names:
                file = str(self.read.file)
                raise file_error(file, f"no keyframe is called {keyframe!r}", f"there are {names}")
            return np.array(self.model.key_qpos[names.index(keyframe)])
        if keyframe is None and names:
            self.report.add_step(f"assembled as in the keyframe {names[0]!r}")
            return np.array(self.model.key_qpos[0])
        self.report.add_step("assembled in the drawn pose")
        return np.array(self.model.qpos0)

    def graph(self) -> Graph:
        """The whole file."""
        model = self.model
        axes = axes_by_joint(self.read)
        for body in range(1, model.nbody):
            self._add_body(body, axes)
        equalities = read_equalities(self.read)
        self._note_losses()
        names = [
            self.read.name(kind, k)
            for kind, n in (("BODY", model.nbody), ("SITE", model.nsite))
            for k in range(n)
        ]
        hints = loop_hints(names)
        if hints and not model.neq:
            message = f"{hint_message(hints)}: what is read is a tree"
            self.report.warn(self.read.root.fault(message, "close them by <connect> or <weld> in <equality>"))
        return Graph(
            name=UniqueNames().new(_model_name(model), self.read.file.stem),
            file=str(self.read.file),
            gravity=self._gravity(),
            bodies=self.solids,
            joints=tuple(self.links),
            closures=tuple(equalities.closures),
            couplings=tuple(equalities.couplings),
            struts=tuple(equalities.struts),
            free_bodies=self.free_bodies,
            shapes=self._shapes(0),
            digits=_digits(self.read.root),
            other_starts=tuple(self._starts()),
            report=self.report,
        )

    def _starts(self) -> list[dict[str, Array]]:
        """Coordinates of hinges, slides and balls in the drawn pose and in all keyframes."""
        model, width = self.model, {_BALL: 4, _FREE: 0}
        indices = {
            self.joints[j]: slice(q, q + width.get(int(model.jnt_type[j]), 1))
            for j, q in enumerate(model.jnt_qposadr)
        }
        balls = {self.joints[j] for j in range(model.njnt) if int(model.jnt_type[j]) == _BALL}
        starts = [qpos for qpos in (model.qpos0, *model.key_qpos) if not np.array_equal(qpos, self.qpos)]
        return [
            {
                name: _quat_xyzw(qpos[entries]) if name in balls else np.array(qpos[entries])
                for name, entries in indices.items()
                if entries.start < entries.stop
            }
            for qpos in starts
        ]

    def _gravity(self) -> Array:
        """The acceleration of gravity, zero where it is switched off."""
        off = int(self.model.opt.disableflags) & int(mj.mjtDisableBit.mjDSBL_GRAVITY)
        return np.zeros(3) if off else np.array(self.model.opt.gravity)

    def _add_body(self, body: int, axes: dict[int, Axis]) -> None:
        model, name = self.model, self.bodies[body]
        R = quaternion_rotation(model.body_iquat[body])
        inertia = R @ np.diag(model.body_inertia[body]) @ R.T
        solid = Solid(
            float(model.body_mass[body]), np.array(model.body_ipos[body]), inertia, self._shapes(body)
        )
        pose = Pose(quaternion_rotation(model.body_quat[body]), np.array(model.body_pos[body]))
        parent = self.bodies[int(model.body_parentid[body])]
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        if count == 1 and int(model.jnt_type[first]) == _FREE:
            at = int(model.jnt_qposadr[first])
            self.solids[name] = solid
            self.free_bodies[name] = Pose(
                quaternion_rotation(self.qpos[at + 3 : at + 7]), self.qpos[at : at + 3].copy()
            )
            return
        if count == 0:
            self.solids[name] = solid
            self.links.append(Link(f"{name}-weld", parent, name, pose))
            return
        for joint in range(first, first + count):
            last = joint == first + count - 1
            child = name if last else self.read.taken.new(f"{name}-{self.joints[joint]}", f"{name}-carrier")
            self.solids[child] = solid if last else Solid()
            self.links.append(self._link(joint, parent, child, pose, axes.get(joint)))
            parent, pose = child, Pose(np.eye(3), np.zeros(3))

    def _link(self, joint: int, parent: str, child: str, pose: Pose, drive: Axis | None) -> Link:
        model, name = self.model, self.joints[joint]
        here = Pose(np.eye(3), np.array(model.jnt_pos[joint]))
        at = pose @ here
        q, v = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if int(model.jnt_type[joint]) == _BALL:
            quat = _quat_xyzw(self.qpos[q : q + 4])
            if model.jnt_stiffness[joint] or model.dof_frictionloss[v] or model.jnt_limited[joint]:
                self.report.add_loss(f"spring, dry friction or limit of the ball joint {name!r} left out")
            return Link(
                name, parent, child, at, here, (), True, quat,
                float(model.dof_damping[v]), float(model.dof_armature[v]),
            )  # fmt: skip
        assert drive is not None
        ref = float(model.qpos0[q])
        axis = replace(drive, value=float(self.qpos[q]))
        return Link(name, parent, child, at @ axis.pose(-ref), here, (axis,))

    def _shapes(self, body: int) -> tuple[Shape, ...]:
        model = self.model
        shapes = []
        first = int(model.body_geomadr[body])
        for geom in range(first, first + int(model.body_geomnum[body])):
            at = Pose(quaternion_rotation(model.geom_quat[geom]), np.array(model.geom_pos[geom]))
            kind, size = int(model.geom_type[geom]), [float(v) for v in model.geom_size[geom]]
            if kind == int(mj.mjtGeom.mjGEOM_SPHERE):
                shapes.append(Shape("sphere", (size[0],), at))
            elif kind in (int(mj.mjtGeom.mjGEOM_CAPSULE), int(mj.mjtGeom.mjGEOM_CYLINDER)):
                shapes.append(Shape("cylinder", (size[0], 2.0 * size[1]), at))
            elif kind == int(mj.mjtGeom.mjGEOM_BOX):
                shapes.append(Shape("box", (2 * size[0], 2 * size[1], 2 * size[2]), at))
            else:
                word = mj.mjtGeom(kind).name.removeprefix("mjGEOM_").lower()
                self.report.add_loss(f"shapes of the type {word} left out: they are not drawn")
        return tuple(shapes)

    def _note_losses(self) -> None:
        """What the compiled model has in addition to the robot's rigid dynamics."""
        model, lost = self.model, self.report.add_loss
        if any(model.geom_contype[g] or model.geom_conaffinity[g] for g in range(model.ngeom)):
            lost("contacts left out: shapes are drawn, nothing stops them")
        if model.opt.density or model.opt.viscosity or np.any(model.opt.wind):
            lost("forces of the medium (density, viscosity, wind) left out")
        if np.any(model.body_gravcomp):
            lost("compensation of gravity (gravcomp) left out")
        for tendon in range(model.ntendon):
            if np.any(model.tendon_stiffnesspoly[tendon]):
                name = self.read.name("TENDON", tendon) or f"tendon{tendon}"
                higher = _joined_numbers(model.tendon_stiffnesspoly[tendon])
                lost(f"higher terms {higher} of the stiffness of the tendon {name!r} left out")
        for joint in range(model.njnt):
            v, name = int(model.jnt_dofadr[joint]), self.joints[joint]
            if np.any(model.jnt_stiffnesspoly[joint]):
                higher = _joined_numbers(model.jnt_stiffnesspoly[joint])
                lost(f"higher terms {higher} of the stiffness of the joint {name!r} left out")
            if int(model.jnt_type[joint]) in (_FREE, _BALL) and np.any(model.dof_dampingpoly[v]):
                higher = _joined_numbers(model.dof_dampingpoly[v])
                lost(f"higher terms {higher} of the damping of the joint {name!r} left out")
            for what in ("damping", "armature", "frictionloss"):
                if int(model.jnt_type[joint]) == _FREE and np.any(getattr(model, f"dof_{what}")[v : v + 6]):
                    lost(f"{what} of the free joint {self.joints[joint]!r} left out")


def _quat_xyzw(quat_wxyz: Array) -> Array:
    """A quaternion of unit length in the order x y z w."""
    w, x, y, z = quat_wxyz / np.linalg.norm(quat_wxyz)
    return np.array([x, y, z, w])


def _digits(root: Element) -> Digits:
    """The last digits of frames; euler angles and axes with an angle are in the unit of the file."""
    elements = list(frame_elements(root))

    def digit(*names: str) -> float:
        return last_digit(
            word for element in elements for name in names for word in element.get(name).split()
        )

    in_radians = any(element.get("angle") == "radian" for element in root.children_named("compiler"))
    angle = digit("euler", "axisangle") * (1.0 if in_radians else math.radians(1.0))
    return Digits(digit("pos", "anchor"), max(angle, digit("quat", "axis", "xyaxes", "zaxis")))


def _joined_numbers(values: Array) -> str:
    return " ".join(f"{value:g}" for value in values)


def _model_name(model: mj.MjModel) -> str:
    """The name of a model: the first of the compiled names."""
    end = bytes(model.names).index(b"\0")
    return bytes(model.names)[:end].decode("utf-8", "replace")
